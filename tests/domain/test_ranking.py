"""Relevance by words and by meaning as one number (SPEC R1)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.ranking import COVERS, RankingPolicy, fused, meanings, relevance, yardstick

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


def test_the_best_hit_by_a_chance_word_is_no_half_answer() -> None:
    assert relevance(2.0, yardstick(2.0, 0.06), 0.06) < 0.15
    assert relevance(2.0, yardstick(2.0, COVERS), COVERS) == relevance(2.0, 2.0, COVERS)


@given(st.floats(0.01, 50), share)
def test_what_covers_enough_is_measured_as_ever(best: float, covered: float) -> None:
    assert yardstick(best, covered) >= best
    assert (covered and covered < COVERS) or yardstick(best, covered) == best
