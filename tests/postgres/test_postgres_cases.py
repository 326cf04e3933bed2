"""The cases that ship with jiyi hold on PostgreSQL, and the articles' own where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jiyi.evaluation.case_files import Case, load_cases
from jiyi.evaluation.harness import OWN_CASES, TIMEZONE, OpenLayer, Outcome, run_case, run_folder
from jiyi.jobs import Clock as AnyClock
from jiyi.memory_layer import MemoryLayer
from tests.conftest import FULL, Clock, outside
from tests.golden.test_article_cases import PROMISED
from tests.golden.test_update_chains import CHAINS, assert_told, chain
from tests.postgres.server import Emptied
from tests.postgres.stores import newer_server, open_on

CASES = load_cases(OWN_CASES)
CASES = (
    CASES if FULL else CASES[::7]
)  # Each costs many round trips; an odd step, since they come in pairs of languages.

pytestmark = newer_server


@pytest.fixture
def open_fresh(emptied: Emptied, tmp_path: Path) -> Callable[[], OpenLayer]:
    """How a case opens its memory: empty at first, and as it was left after that."""

    def open_fresh() -> OpenLayer:
        emptied.empty()

        def open_layer(path: Path, clock: AnyClock) -> MemoryLayer:
            # What is kept beside the database is not in the case's folder: the files of a server are not looked into.
            return open_on(emptied.url, tmp_path, clock, timezone=TIMEZONE, synchronous="NORMAL")

        return open_layer

    return open_fresh


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_own_case(case: Case, open_fresh: Callable[[], OpenLayer]) -> None:
    result = run_case(case, open_fresh())
    looks_into_files = any(step.verb == "stored" for step in case.steps)
    assert result.outcome is (Outcome.NOT_SUPPORTED if looks_into_files else Outcome.PASSED), result.findings


def test_article_cases(open_fresh: Callable[[], OpenLayer]) -> None:
    folder = outside("JIYI_CASES", "cases")
    outcomes = {}
    for name in sorted(PROMISED):
        [result] = run_folder(folder, open_layer=open_fresh(), only=[name]).results
        looks_into_files = any(step.verb == "stored" for step in result.case.steps)
        outcomes[name] = result.outcome is (Outcome.NOT_SUPPORTED if looks_into_files else Outcome.PASSED)
    assert outcomes == dict.fromkeys(sorted(PROMISED), True)


@pytest.mark.parametrize("number", range(0, CHAINS, 1 if FULL else 50))
def test_only_the_current_value_is_told_as_current(
    number: int, open_fresh: Callable[[], OpenLayer], tmp_path: Path, clock: Clock
) -> None:
    with open_fresh()(tmp_path, clock) as layer:
        assert_told(layer, clock, chain(number))
