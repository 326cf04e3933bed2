"""`jiyi eval silence`: the shipped talks are well formed, and what is measured is what the block holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from jiyi.domain.memory import Language
from jiyi.errors import InputError
from jiyi.evaluation.silence import DEVELOPER, HALVES, HELD_OUT, MORE, Asked, Kind, Measured, load_people, measure
from tests.surfaces.cli import Cli

SMALL = """
[[people]]
id = "ana"
language = "en"
half = "developer"
sessions = [
  { at = 2025-03-01T09:00:00+00:00, turns = [
    ["a1", "user", "My name is Ottilie, and I turned fifty."],
    ["a2", "assistant", "Pleased to meet you."],
    ["a3", "user", "I left the umbrella in the greenhouse."],
  ] },
  { at = 2025-03-05T09:00:00+00:00, turns = [["a4", "user", "The carpenter wants eighty pounds for the shelf."]] },
]
answerable = [
  ["Where is my umbrella?", "in the greenhouse", "a3"],
  ["Which person am I?", "Ottilie", "a1", "a2"],
  ["How expensive is the joinery?", "eighty | 80", "a4"],
  ["How old was I on that day?", "fifty", "a1"],
]
off_topic = ["Which planets have rings?"]
never_mentioned = ["What did Zebedee pay?"]
unsaid = ["What colour is the umbrella?"]

[[people]]
id = "lan"
language = "zh"
half = "held-out"
sessions = [{ at = 2025-03-01T09:00:00+08:00, turns = [["l1", "user", "钥匙放在鞋柜的抽屉里"]] }]
answerable = [["钥匙放在哪里", "鞋柜", "l1"], ["藏宝的地方是哪", "抽屉", "l1"]]
off_topic = ["土星有光环吗"]
unsaid = ["钥匙是什么颜色的"]
"""


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "talks.toml"
    path.write_text(SMALL, "utf-8")
    return path


@pytest.fixture
def found(talks: Path) -> Measured:
    return measure(load_people(talks))


def asked(found: Measured, text: str) -> Asked:
    [one] = [a for a in found.asked if a.question.text == text]
    return one


# ------------------------------------------------------------------ the shipped talks


def test_the_shipped_talks_are_enough_of_everything() -> None:
    people = load_people()
    assert Counter(p.half for p in people) == {DEVELOPER: 4, HELD_OUT: 4}
    assert {p.language for p in people} == {"zh", "en", "mixed"}
    assert all(40 <= len(p.messages) <= 80 for p in people)
    kinds = Counter(q.kind for p in people for q in p.questions)
    least = {Kind.ANSWERABLE: 150, Kind.OFF_TOPIC: 80, Kind.NEVER_MENTIONED: 50, Kind.UNSAID: 50}
    assert all(kinds[kind] >= count for kind, count in least.items())
    spread = Counter((q.half, q.language, q.kind) for p in people for q in p.questions)
    assert all(spread[half, tongue, kind] >= 10 for half in HALVES for tongue in Language for kind in Kind)


def test_what_weights_are_fitted_to_are_other_people_in_both_languages() -> None:
    people, measured = load_people(MORE), load_people()
    assert {p.half for p in people} == {DEVELOPER}
    assert not {p.id for p in people} & {p.id for p in measured}
    spread = Counter((q.language, q.kind) for p in people for q in p.questions)
    assert all(spread[tongue, kind] >= 15 for tongue in Language for kind in Kind)


def test_the_shipped_talks_go_forward_in_time_and_ask_nothing_twice() -> None:
    for person in [*load_people(), *load_people(MORE)]:
        times = [m.at for m in person.messages]
        assert times == sorted(times)
        assert len({m.session for m in person.messages}) >= 3
        texts = [q.text for q in person.questions]
        assert len(set(texts)) == len(texts)
        assert not set(texts) & {m.text for m in person.messages}


# ------------------------------------------------------------------ what is measured


def test_evidence_is_a_turn_in_the_block(found: Measured) -> None:
    kept = asked(found, "Where is my umbrella?")
    assert (kept.kept, kept.found, kept.by_memory, kept.silent, kept.right) == (True, True, False, False, True)
    assert asked(found, "钥匙放在哪里").kept


def test_a_turn_that_is_cut_before_the_answer_is_no_evidence(talks: Path) -> None:
    shelf = "The carpenter wants eighty pounds for the shelf."
    for padded, kept in (
        (f"{shelf} {'So it goes. ' * 40}", True),
        (f"The carpenter is slow. {'Well. ' * 60}{shelf}", False),
    ):
        talks.write_text(
            SMALL.replace(shelf, padded).replace("How expensive is the joinery?", "What did the carpenter say?"),
            "utf-8",
        )
        assert asked(measure(load_people(talks)), "What did the carpenter say?").kept is kept


def test_a_line_of_the_profile_is_evidence_and_silence_at_once(found: Measured) -> None:
    named = asked(found, "Which person am I?")
    assert (named.kept, named.by_memory, named.silent, named.right) == (True, True, True, True)


def test_a_memory_of_something_else_in_the_turn_is_no_evidence(found: Measured) -> None:
    """The profile has the name of this turn, and the question is for the age."""
    beside = asked(found, "How old was I on that day?")
    assert (beside.kept, beside.beside, beside.found) == (False, True, False)


def test_evidence_that_is_not_there_says_where_it_was_lost(found: Measured) -> None:
    lost = asked(found, "How expensive is the joinery?")
    assert (lost.kept, lost.found, lost.right) == (False, False, False)
    assert lost.lost == "nothing here holds these words"


def test_nothing_beyond_the_profile_is_silence(found: Measured) -> None:
    for text in ("Which planets have rings?", "What did Zebedee pay?", "土星有光环吗"):
        assert asked(found, text).silent
        assert asked(found, text).shown == ()
    told = asked(found, "What colour is the umbrella?")
    assert not told.silent
    assert "umbrella in the greenhouse" in told.shown[0]
    assert "matches" in told.shown[0]


def test_no_question_changes_what_the_next_one_finds(talks: Path) -> None:
    [ana, lan] = load_people(talks)
    forward = measure([ana, lan]).asked
    back = measure([type(p)(p.id, p.language, p.half, p.messages, p.questions[::-1]) for p in (lan, ana)]).asked
    assert forward == back[::-1]


def test_rows_count_by_half_and_by_the_language_of_the_question(found: Measured) -> None:
    rows = {(r.half, r.language): r for r in found.rows()}
    assert set(rows) == {
        ("developer", "en"), ("developer", "both"), ("held-out", "zh"), ("held-out", "both"),
        ("both", "zh"), ("both", "en"), ("both", "both"),
    }  # fmt: skip
    row = rows["developer", "en"]
    assert row.share(Kind.ANSWERABLE) == 0.5
    assert row.share(Kind.OFF_TOPIC) == 1.0
    assert row.share(Kind.UNSAID) == 0.0
    assert rows["held-out", "zh"].share(Kind.NEVER_MENTIONED) is None
    assert rows["both", "both"].data()["answerable"]["questions"] == 6


def test_nobody_looks_into_the_held_out_half(found: Measured) -> None:
    missed = [a for a in found.asked if not a.right]
    assert {a.question.half for a in missed} == {DEVELOPER, HELD_OUT}
    shown = [a for of_kind in found.misses(100).values() for a in of_kind]
    assert all(a.question.half == DEVELOPER for a in shown)
    assert {a.question.text for a in shown} == {
        "How expensive is the joinery?", "How old was I on that day?", "What colour is the umbrella?"
    }  # fmt: skip
    assert not any(found.misses(0).values())


# ------------------------------------------------------------------ the file


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"a3"],', '"a9"],', r"person 1 \(ana\), answerable 1: no turn a9"),
        ('"in the greenhouse", "a3"]', '"a3"]', "answerable 1: it must be"),
        ('"in the greenhouse", "a3"]', '"in the shed", "a3"]', "answerable 1: turn a3 does not say 'in the shed'"),
        ('["Which planets have rings?"]', "[7]", "off_topic 1: it must be a text"),
        ('"a2", "assistant"', '"a2", "robot"', "session 1, turn 2: it must be"),
        ('"a2", "assistant"', '"a1", "assistant"', "two turns have the same id"),
        ('"lan"', '"ana"', "two people have the same id"),
        ('"ana"', '""', "person 1: id must be a name"),
        ('"held-out"', '"other"', "half must be developer or held-out"),
        ('"zh"', '"fr"', "language must be zh, en, mixed"),
        ("2025-03-05T09:00:00+00:00", "2025-03-05T09:00:00", "session 2: at must be a time with its zone"),
        ('turns = [["l1", "user", "钥匙放在鞋柜的抽屉里"]]', "turns = []", "session 1: turns must be a list"),
        ('["What did Zebedee pay?"]', '"What did Zebedee pay?"', "never_mentioned must be a list"),
        ("[[people]]", "[[persons]]", "must hold"),
        ("[[people]]", "[people", "no talks that can be read"),
    ],
)
def test_a_file_that_is_wrong_says_where(talks: Path, old: str, new: str, message: str) -> None:
    assert old in SMALL
    talks.write_text(SMALL.replace(old, new), "utf-8")
    with pytest.raises(InputError, match=message):
        load_people(talks)


# ------------------------------------------------------------------ the command


def test_the_command_prints_a_table_and_what_went_wrong(jiyi: Cli, talks: Path) -> None:
    shown = jiyi("eval", "silence", str(talks), "--misses", "5").stdout
    assert "| developer | en | 50.0% (2/4) | 100.0% (1/1) | 100.0% (1/1) | 0.0% (0/1) | 1 | 1 | 2 | 3 |" in shown
    assert "| held-out | zh | 50.0% (1/2) | 100.0% (1/1) | – (0/0) | 0.0% (0/1) |" in shown
    assert "| **target** | | ≥ 95.0% | ≥ 95.0% | ≥ 80.0% | stated |" in shown
    assert (
        "- ana: How expensive is the joinery? (eighty | 80, a4: nothing here holds these words)\n  - (silent)" in shown
    )
    assert "藏宝" not in shown
    assert not jiyi.database.exists()  # the user's own memory is not touched


def test_the_command_as_json_for_one_half(jiyi: Cli, talks: Path) -> None:
    document = jiyi.json("eval", "silence", str(talks), "--half", "developer", "--misses", "1")
    assert [(r["half"], r["language"]) for r in document["rows"]] == [("developer", "en"), ("developer", "both")]
    assert document["rows"][0]["unsaid"]["right"] == 0
    assert document["rows"][0]["answerable"]["tokens"] > 0
    assert document["turns"] == 4
    assert [m["kind"] for m in document["misses"]] == ["answerable", "unsaid"]
    assert document["misses"][0]["evidence"] == ["a4"]


def test_what_is_missing_is_said(jiyi: Cli, talks: Path) -> None:
    assert "choose developer, held-out or all" in jiyi("eval", "silence", "--half", "x", code=1).stderr
    assert "no talks that can be read" in jiyi("eval", "silence", str(talks / "nowhere"), code=1).stderr
