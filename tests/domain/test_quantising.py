"""Directions as int8."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jiyi.domain.vectors import LARGEST, MAX_DIMENSION, quantise
from jiyi.errors import InputError

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(FINITE, min_size=1, max_size=40))
def test_each_number_is_its_share_of_the_largest(values: list[float]) -> None:
    largest = max(abs(v) for v in values)
    assume(largest > 1e-30)
    found = quantise(values)
    numbers = list(memoryview(found.numbers).cast("b"))
    assert numbers == [round(v * (LARGEST / largest)) for v in values]
    assert found.square == sum(n * n for n in numbers) >= LARGEST**2


@given(st.lists(FINITE, max_size=6), st.sampled_from([math.nan, math.inf, -math.inf]), st.lists(FINITE, max_size=6))
def test_what_is_no_number_gives_no_direction(before: list[float], odd: float, after: list[float]) -> None:
    with pytest.raises(InputError, match="no direction"):
        quantise([*before, odd, *after])


@pytest.mark.parametrize("values", [[], [0.0, -0.0], [1.0] * (MAX_DIMENSION + 1)])
def test_nothing_and_too_much_give_no_direction(values: list[float]) -> None:
    with pytest.raises(InputError, match="no direction"):
        quantise(values)
