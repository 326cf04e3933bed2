from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.heat import Heat, HeatPolicy, visited
from tests.domain.observations import day

POLICY = HeatPolicy()
VISITS = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 400)), min_size=1, max_size=8)


def test_heat_halves_every_thirty_days() -> None:
    heat = Heat(8.0, day(0))
    assert [heat.value(day(days), POLICY) for days in (0, 30, 60)] == [8.0, 4.0, 2.0]
    assert heat.value(day(15), POLICY) == pytest.approx(8 * 0.5**0.5)


def test_time_before_the_last_visit_counts_as_none() -> None:
    assert Heat(8.0, day(0)).value(day(-30), POLICY) == 8.0


def test_visits_add_up_after_decay() -> None:
    assert visited(None, 2, day(0), POLICY) == Heat(2.0, day(0))
    assert visited(Heat(2.0, day(0)), 1, day(30), POLICY) == Heat(2.0, day(30))


def test_a_late_batch_counts_for_what_is_left_of_it() -> None:
    assert visited(Heat(1.0, day(30)), 4, day(0), POLICY) == Heat(3.0, day(30))


def test_the_half_life_is_a_setting() -> None:
    assert Heat(8.0, day(0)).value(day(1), HeatPolicy(timedelta(days=1))) == 4.0


@given(VISITS, st.randoms(use_true_random=False))
def test_batches_may_arrive_in_any_order(visits: list[tuple[int, int]], random: Random) -> None:
    shuffled = list(visits)
    random.shuffle(shuffled)
    values = []
    for order in (visits, shuffled):
        heat = None
        for times, on in order:
            heat = visited(heat, times, day(on), POLICY)
        assert heat is not None
        assert heat.at == day(max(on for _, on in visits))
        values.append(heat.value(day(500), POLICY))
    assert values[0] == pytest.approx(values[1])


@given(st.floats(0, 1e6), st.timedeltas(timedelta(0), timedelta(days=3000)))
def test_heat_never_rises_by_waiting(visits: float, past: timedelta) -> None:
    value = Heat(visits, day(0)).value(day(0) + past, POLICY)
    assert 0.0 <= value <= visits
