"""The harness reports what fails, says what it cannot judge, and takes neither for a pass."""

import json

import pytest

from jiyi.errors import InputError
from jiyi.evaluation.harness import Outcome, run_folder
from tests.evaluation.stores import STORES


def findings(folder, store="reference"):
    (result,) = run_folder(folder, open_layer=STORES[store]).results
    return result.outcome, [(f.step, f.expected, f.got) for f in result.findings]


@pytest.fixture(params=STORES)
def store(request):
    return request.param


REMEMBERED = 'remember = "The kettle is in the pantry"'


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ('recall = "kettle", top = ["attic"]', "'attic' in the first 3"),
        ('recall = "kettle", lacks = ["PANTRY"]', "lacks 'PANTRY'"),
        ('recall = "kettle", kinds = ["message"], exactly = ["x1"]', "exactly the messages x1"),
        ('context = "kettle", has = ["attic"]', "has 'attic'"),
        ('context = "kettle", lacks = ["pantry"]', "lacks 'pantry'"),
        ('context = "kettle", max_tokens = 5', "at most 5 tokens"),
        ('memories = true, has = ["attic | cellar"]', "has 'attic | cellar'"),
        ('memories = true, lacks = ["attic | pantry"]', "lacks 'attic | pantry'"),
        ("memories = true, min = 2", "2 memories or more"),
        ("memories = true, max = 0", "0 memories or fewer"),
        ('memories = true, triples = [["User", "OWNS", "kettle"]]', "User – OWNS – kettle"),
        ('memories = true, confidence = ["kettle", 0.1, 0.2]', "confidence of 'kettle' in 0.1–0.2"),
        ('memories = true, confidence = ["teapot", 0.1, 0.2]', "a memory with 'teapot'"),
        ('history_of = "kettle", values = ["pantry", "attic"]', "the versions pantry → attic"),
        ('history_of = "kettle", values = ["pantry", "pantry"]', "the versions pantry → pantry"),
        ('profile = true, has = ["kettle"]', "has 'kettle'"),
    ],
)
def test_each_expectation_can_fail(one, step, expected):
    outcome, found = findings(one(REMEMBERED, step))
    assert outcome is Outcome.FAILED
    assert [(number, said) for number, said, _ in found] == [(2, expected)]


def test_each_expectation_can_pass(one, store):
    folder = one(
        'remember = "花房的水壶放在储物间，编号 ＡＢ－12", category = "profile"',
        'recall = "水壺", top = ["儲物間 | 阁楼", "ab-12"], lacks = ["地下室"], k = 1',
        'recall = "水壶", kinds = ["message"], exactly = []',
        'context = "水壶在哪", has = ["储物间"], lacks = ["地下室"], max_tokens = 200',
        'memories = true, has = ["储物间"], min = 1, max = 1, confidence = ["水壶", 0.94, 0.96]',
        'history_of = "水壶", values = ["储物间"]',
        'profile = true, has = ["水壶"], lacks = ["地下室"], max_chars = 400',
    )
    assert findings(folder, store) == (Outcome.PASSED, [])


def test_a_failed_expectation_does_not_hide_the_next(one):
    outcome, found = findings(one(REMEMBERED, 'memories = true, has = ["attic", "cellar"]', "memories = true, max = 0"))
    assert outcome is Outcome.FAILED
    assert [number for number, _, _ in found] == [2, 2, 3]
    assert "The kettle is in the pantry" in found[0][2]


def test_a_failed_action_ends_the_case(one):
    outcome, found = findings(one("undo = true", "memories = true, min = 1"))
    assert outcome is Outcome.FAILED
    assert found == [(1, "a plan to undo", "the ledger holds none")]

    outcome, found = findings(one(REMEMBERED, 'correct = "teapot", to = "x"', "memories = true, min = 5"))
    assert [(number, said) for number, said, _ in found] == [(2, "one memory with 'teapot'")]


def test_an_error_of_the_memory_is_a_failure_that_names_it(one):
    outcome, found = findings(one('forget = { memory = "m9" }', "memories = true, max = 0"))
    assert outcome is Outcome.FAILED
    assert found == [(1, "no error", "NotFound: no memory m9 here")]


def test_a_policy_that_no_step_sets_is_never_a_pass(one):
    folder = one("memories = true, max = 0", extra='policy = "detail = minimal"\n')
    outcome, found = findings(folder)
    assert outcome is Outcome.NOT_BUILT
    assert found == [(0, "detail = minimal", "")]
    report = run_folder(folder, open_layer=STORES["reference"])
    assert report.counts == {"passed": 0, "failed": 0, "not built": 1, "not supported": 0}
    assert "not built: detail = minimal" in report.text()


def test_a_policy_that_a_step_sets_is_run(one):
    step = 'retention = { detail = "minimal" }'
    outcome, found = findings(one(step, "memories = true, min = 1", extra='policy = "detail = minimal"\n'))
    assert outcome is Outcome.FAILED
    assert [number for number, _, _ in found] == [2]


def test_the_clock_moves_with_messages_and_with_advance(one, store):
    folder = one(
        'say = "first words", session = "a"',
        'say = "second words", session = "a"',
        'advance = "2d"',
        'say = "third words", session = "a"',
        'say = "fourth words", session = "a", at = "2026-04-01T00:30:00+08:00"',
        'say = "fifth words", session = "a", at = "2026-01-01T00:30:00+08:00"',
        'say = "sixth words", session = "a"',
        'context = "words", session = "a", has = ["[2026-03-02] user: first", "[2026-03-02] user: second"]',
        'context = "words", session = "a", has = ["[2026-03-04] user: third", "[2026-04-01] user: fourth"]',
        'context = "words", session = "a", has = ["[2026-01-01] user: fifth", "[2026-04-01] user: sixth"]',
    )
    assert findings(folder, store) == (Outcome.PASSED, [])


def test_sessions_and_users_of_a_case(one, store):
    folder = one(
        'say = "the ladder is blue", id = "a"',
        'session = "s2"',
        'say = "the ladder is heavy", id = "b"',
        'say = "the ladder is mine", id = "c", user = "u002"',
        'recall = "ladder", kinds = ["message"], exactly = ["a", "b"]',
        'recall = "ladder", kinds = ["message"], session = "s2", exactly = ["b"]',
        'recall = "ladder", kinds = ["message"], user = "u002", exactly = ["c"]',
        'context = "go on", has = ["the ladder is heavy"], lacks = ["blue", "mine"]',
    )
    assert findings(folder, store) == (Outcome.PASSED, [])


def test_undo_goes_back_plan_by_plan(one, store):
    folder = one(
        'remember = "the hall is booked"',
        'remember = "the band is booked"',
        'remember = "the cook is booked", user = "u002"',
        "undo = true",
        'memories = true, has = ["hall"], lacks = ["band"]',
        "undo = true",
        "memories = true, max = 0",
        'memories = true, user = "u002", has = ["cook"]',
    )
    assert findings(folder, store) == (Outcome.PASSED, [])


def test_the_bytes_of_the_store_are_looked_into(one):
    folder = one(
        REMEMBERED,
        'stored = true, has = ["kettle is in"], lacks = ["teapot"]',
        'stored = true, lacks = ["The Kettle"]',
        'stored = true, has = ["teapot"]',
        'memories = true, has = ["kettle"]',
    )
    outcome, found = findings(folder, "postings")
    assert outcome is Outcome.FAILED
    assert [(number, said) for number, said, _ in found] == [
        (3, "no bytes of 'The Kettle' in the store"),
        (4, "bytes of 'teapot' in the store"),
    ]


def test_a_store_without_files_cannot_show_its_bytes(one):
    report = run_folder(one(REMEMBERED, 'stored = true, lacks = ["teapot"]'), open_layer=STORES["reference"])
    assert report.counts == {"passed": 0, "failed": 0, "not built": 0, "not supported": 1}


def test_report_for_people_and_machines(cases):
    text = (
        '[[case]]\nid = "{}"\nrows = ["B3", "B6"]\nsteps = [{{ remember = "tea" }}, {{ memories = true, max = {} }}]\n'
    )
    folder = cases(a=text.format("good", 1), b=text.format("bad", 0))
    report = run_folder(folder, open_layer=STORES["reference"])
    assert not report.ok
    assert report.text() == (
        "FAILED  bad  (B3, B6; b.toml)\n"
        "  step 2, memories: expected 0 memories or fewer\n"
        "    got: 1: tea\n"
        f"{folder}: 2 cases: 1 passed, 1 failed"
    )
    data = json.loads(json.dumps(report.data()))
    assert data["counts"] == {"passed": 1, "failed": 1, "not built": 0, "not supported": 0}
    assert data["cases"][0] == {
        "id": "good", "file": "a.toml", "rows": ["B3", "B6"], "outcome": "passed", "findings": [],
    }  # fmt: skip
    assert data["cases"][1]["findings"] == [
        {"outcome": "failed", "step": 2, "what": "memories", "expected": "0 memories or fewer", "got": "1: tea"}
    ]


def test_only_some_cases(cases):
    text = '[[case]]\nid = "{}"\nrows = ["B3"]\nsteps = [{{ memories = true, max = 0 }}]\n'
    folder = cases(a=text.format("one") + text.format("two"))
    report = run_folder(folder, open_layer=STORES["reference"], only={"two"})
    assert [result.case.id for result in report.results] == ["two"]
    assert report.ok
    with pytest.raises(InputError, match="no case three; there are one, two"):
        run_folder(folder, only={"three"})


def test_default_is_a_sqlite_file_of_default_settings(one):
    report = run_folder(one(REMEMBERED, 'stored = true, has = ["kettle"]'))
    assert report.counts["passed"] == 1, report.text()
