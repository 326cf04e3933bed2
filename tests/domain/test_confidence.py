from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.confidence import ConfidencePolicy, Curve, confidence
from jiyi.domain.memory import Memory, Source
from jiyi.testing.strategies import memories
from tests.domain.observations import believe_all, day, said

POLICY = ConfidencePolicy()
SPANS = st.timedeltas(timedelta(0), timedelta(days=3000))


def remembered(source: Source) -> Memory:
    return believe_all([said("PostgreSQL", 0, source=source)])[1]


@pytest.mark.parametrize(
    ("source", "days", "expected"),
    [
        (Source.DECLARED, 0, 0.95),
        (Source.DECLARED, 30, 0.90),
        (Source.DECLARED, 15, 0.925),
        (Source.DECLARED, 10_000, 0.0),
        (Source.INFERRED, 0, 0.70),
        (Source.INFERRED, 7, 0.60),
        (Source.INFERRED, 21, 0.40),
        (Source.INFERRED, 49, 0.0),
        (Source.IMPORTED, 30, 0.55),
        (Source.TOOL, 7, 0.40),
        # Good for 30 days, then a declaration that awaits confirmation.
        (Source.VERIFIED, 0, 0.99),
        (Source.VERIFIED, 30, 0.99),
        (Source.VERIFIED, 30.0001, 0.95),
        (Source.VERIFIED, 60, 0.90),
    ],
)
def test_the_curves_of_spec_b1(source: Source, days: float, expected: float) -> None:
    assert confidence(remembered(source), day(days), POLICY) == pytest.approx(expected, abs=1e-4)


def test_a_clock_set_back_does_no_harm() -> None:
    assert confidence(remembered(Source.DECLARED), day(-99), POLICY) == 0.95


def test_restating_refreshes() -> None:
    beliefs = believe_all([said("PostgreSQL", 0), said("PostgreSQL", 60)])
    assert len(beliefs) == 1
    assert confidence(beliefs[1], day(60), POLICY) == 0.95


def test_a_lower_start_runs_down_the_same_curve() -> None:
    hearsay = replace(remembered(Source.DECLARED), start=POLICY.hearsay)
    assert confidence(hearsay, day(0), POLICY) == 0.70
    assert confidence(hearsay, day(60), POLICY) == pytest.approx(0.60)
    verified = replace(remembered(Source.VERIFIED), start=0.5)
    assert confidence(verified, day(60), POLICY) == pytest.approx(0.45)


def test_another_policy_is_followed() -> None:
    steady = ConfidencePolicy(curves={source: Curve(0.5, 0.0, timedelta(days=1)) for source in Source})
    assert confidence(remembered(Source.TOOL), day(1000), steady) == 0.5
    assert steady.start(Source.TOOL) == 0.5


@given(memories(), SPANS, SPANS)
def test_confidence_stays_in_bounds_and_never_rises_with_time(
    memory: Memory, first: timedelta, more: timedelta
) -> None:
    before = confidence(memory, memory.affirmed_at + first, POLICY)
    after = confidence(memory, memory.affirmed_at + first + more, POLICY)
    assert 0.0 <= after <= before <= 1.0
    assert before <= memory.start


@given(memories(), SPANS)
def test_confidence_does_not_jump_within_a_curve(memory: Memory, past: timedelta) -> None:
    moment = memory.affirmed_at + past
    fall = confidence(memory, moment, POLICY) - confidence(memory, moment + timedelta(minutes=1), POLICY)
    # A verification that runs out falls to a declaration's start at once, everything else falls evenly.
    limit = 1.0 if memory.source is Source.VERIFIED else 1e-4
    assert 0.0 <= fall <= limit
