"""Reading cases: a typing error is an error that names file, case and step, never a behaviour."""

import pytest

from jiyi.errors import InputError
from jiyi.evaluation.case_files import load_cases

GOOD = "memories = true, max = 0"


def test_cases_come_by_file_and_in_their_order(cases):
    text = '[[case]]\nid = "{}"\nrows = ["R1"]\nsteps = [{{ recall = "茶", lacks = ["tea"], k = 2 }}]\n'
    folder = cases(b=text.format("b1") + text.format("b0"), a=text.format("a1"))
    found = load_cases(folder)
    assert [case.id for case in found] == ["a1", "b1", "b0"]
    assert found[0].file == "a.toml"
    assert found[0].rows == ("R1",)
    (step,) = found[0].steps
    assert (step.number, step.verb, step.value, step.args) == (1, "recall", "茶", {"lacks": ["tea"], "k": 2})
    assert step.expects


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ('shout = "hi"', "unknown action shout"),
        ('say = "hi", recall = "hi"', "has say and recall in one step"),
        ('say = "hi", volume = 3', "unknown field volume; say takes at, id, name"),
        ('say = ""', "say must be a text"),
        ('say = "hi", role = "narrator"', "role must be one of user, assistant"),
        ('say = "hi", at = "2026-03-02T09:00:00"', "at '2026-03-02T09:00:00' has no time zone"),
        ('remember = "hi", category = "gossip"', "category must be one of profile"),
        ('advance = "soon"', "is not a length of time"),
        ("undo = 3", "undo must be true"),
        ("undo = false", "undo must be true"),
        ('correct = "tea"', "correct needs to"),
        ('forget = { colour = "red" }', "unknown field colour; forget takes everything, memory"),
        ("forget = {}", "forget needs one of memory"),
        ('recall = "tea"', "recall checks nothing: give some of top, lacks, exactly"),
        ('recall = "tea", top = "tea"', "top must be a list of texts"),
        ('recall = "tea", top = []', "top must be a list of texts"),
        ('recall = "tea", top = ["tea"], k = 0', "k must be 1 or more"),
        ('recall = "tea", top = ["tea"], kinds = ["rumour"]', "kinds must be some of fact, memory, message, summary"),
        ("memories = true", "memories checks nothing"),
        ("memories = true, min = true", "min must be 0 or more"),
        ('memories = true, triples = [["a", "B"]]', "triples must be"),
        ('memories = true, confidence = ["tea", "high"]', "confidence must be"),
        ('history_of = "tea"', "history_of needs values"),
        ('context = "tea", has = ["tea"], max_tokens = "few"', "max_tokens must be 0 or more"),
        ("stored = true", "stored checks nothing"),
        ('session = 5', "session must be a text"),
    ],
)  # fmt: skip
def test_malformed_step(one, step, complaint):
    with pytest.raises(InputError) as raised:
        load_cases(one('say = "hello"', step, GOOD))
    assert str(raised.value).startswith("story.toml, case c1, step 2: ")
    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[case]\n", "story.toml"),
        ("[scene]\n", "only [[case]] tables"),
        ('[[case]]\nrows = ["R1"]\nsteps = []\n', "case number 1: needs an id"),
        ('[[case]]\nid = "c1"\nsteps = []\n', "case c1: rows must be"),
        ('[[case]]\nid = "c1"\nrows = ["R1"]\nsteps = []\n', "case c1: needs steps"),
        ('[[case]]\nid = "c1"\nrows = ["R1"]\nsteps = [3]\n', "case c1, step 1: a step is a table"),
        ('[[case]]\nid = "c1"\nrows = ["R1"]\nsteps = [{ say = "hi" }]\n', "case c1: expects nothing"),
        ('[[case]]\nid = "c1"\nrows = ["R1"]\nmood = "good"\nsteps = []\n', "case c1: unknown field mood"),
        ("", "no [[case]]"),
    ],
)
def test_malformed_file(cases, text, complaint):
    with pytest.raises(InputError) as raised:
        load_cases(cases(story=text))
    assert complaint in str(raised.value)


def test_an_id_used_twice_is_an_error(cases):
    text = '[[case]]\nid = "same"\nrows = ["R1"]\nsteps = [{ memories = true, max = 0 }]\n'
    with pytest.raises(InputError, match="the id same is used more than once"):
        load_cases(cases(a=text, b=text))


def test_an_empty_folder_is_an_error_and_not_a_pass(tmp_path):
    with pytest.raises(InputError, match=r"no \*\.toml files"):
        load_cases(tmp_path)
    with pytest.raises(InputError, match=r"no \*\.toml files"):
        load_cases(tmp_path / "nowhere")
