"""Relevance by words and by meaning as one number (SPEC R1)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.ranking import RankingPolicy, fused, meanings

POLICY = RankingPolicy()
share = st.floats(0, 1)


@given(share, share)
def test_it_stays_in_bounds_and_neither_channel_hides_the_other(words: float, meant: float) -> None:
    total = sum(value for _, value in fused(words, meant))
    assert max(words, meant) - 1e-9 <= total <= 1 + 1e-9


@given(share)
def test_without_vectors_words_stand_as_they_are(words: float) -> None:
    assert fused(words, 0.0) == ((("words", words),) if words else ())


@given(share, share, share)
def test_the_nearer_counts_more_and_more_where_it_stands_out(one: float, other: float, nearness: float) -> None:
    shares = sorted((one, other))
    low, high = meanings(shares, nearness, POLICY)
    assert low <= high <= POLICY.meaning
    assert meanings(shares, None, POLICY) == meanings(shares, 0.0, POLICY)
    assert meanings(shares, None, POLICY)[1] <= high
