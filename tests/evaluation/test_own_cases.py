"""The cases that ship with jiyi hold on every store."""

import re

import pytest

from jiyi.evaluation.case_files import load_cases
from jiyi.evaluation.harness import OWN_CASES, Outcome, run_case
from tests.evaluation.stores import STORES

CASES = load_cases(OWN_CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.parametrize("store", STORES)
def test_own_case(case, store):
    result = run_case(case, STORES[store])
    allowed = {Outcome.PASSED}
    if store == "reference" and any(step.verb == "stored" for step in case.steps):
        allowed = {Outcome.NOT_SUPPORTED}
    assert result.outcome in allowed, "\n".join(map(str, result.findings))


def test_every_behaviour_is_told_in_both_languages():
    names = {case.id for case in CASES}
    assert all(re.search(r"-(zh|en)$", name) for name in names)
    pairs = {re.sub(r"-(zh|en)$", "", name) for name in names}
    assert names == {f"{pair}-{language}" for pair in pairs for language in ("zh", "en")}
    assert len(pairs) >= 30
