"""Relevance: several signals decide together whether a block may speak (SPEC R4)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.relevance import RelevancePolicy, Signals, judge, standing_out

POLICY = RelevancePolicy()
shares = st.floats(0, 1)


def test_chance_is_silent_and_what_is_covered_speaks() -> None:
    assert not judge(Signals(0.02, own=True), POLICY).relevant
    assert judge(Signals(0.5), POLICY).relevant
    assert not judge(Signals(0.02, 0.1, words=3), POLICY).relevant
    assert judge(Signals(0.5, 0.2, words=3), POLICY).relevant


def test_a_question_about_the_user_needs_less_than_one_that_anybody_might_ask() -> None:
    between = Signals((POLICY.own + POLICY.general) / 2)
    assert judge(replace(between, own=True), POLICY).relevant
    assert not judge(between, POLICY).relevant


def test_what_is_put_as_one_asks_of_the_world_needs_more() -> None:
    between = Signals(0.1, 0.25, words=3)
    assert judge(between, POLICY).relevant
    assert not judge(replace(between, worldly=True), POLICY).relevant


def test_what_leans_to_questions_of_the_world_needs_more() -> None:
    between = Signals(0.1, 0.2, words=3)
    assert judge(replace(between, leaning=-0.1), POLICY).relevant
    assert not judge(replace(between, leaning=0.1), POLICY).relevant


def test_one_word_in_common_tells_less_the_more_is_asked() -> None:
    assert judge(Signals(0.1, 0.19, words=2), POLICY).relevant
    assert not judge(Signals(0.1, 0.19, words=5), POLICY).relevant
    assert judge(Signals(0.1, 0.19, words=5), POLICY) == judge(Signals(0.1, 0.19, words=50), POLICY)


def test_words_and_meaning_make_up_for_each_other() -> None:
    assert not judge(Signals(0.1, 0.05, words=3), POLICY).relevant
    assert not judge(Signals(0.0, 0.22, words=3), POLICY).relevant
    assert judge(Signals(0.1, 0.22, words=3), POLICY).relevant


@given(shares, st.none() | shares, st.booleans(), st.booleans(), st.booleans())
def test_a_name_never_mentioned_always_silences(
    coverage: float, nearness: float | None, own: bool, keyed: bool, timely: bool
) -> None:
    verdict = judge(Signals(coverage, nearness, ("Zoe",), own, keyed, timely), POLICY)
    assert not verdict.relevant
    assert "Zoe" in verdict.reason


@given(shares, shares, shares, shares, st.booleans(), st.integers(0, 30))
def test_more_of_a_signal_never_silences(
    one: float, two: float, near: float, nearer: float, worldly: bool, words: int
) -> None:
    less = Signals(min(one, two), min(near, nearer), worldly=worldly, words=words)
    more = Signals(max(one, two), max(near, nearer), worldly=worldly, words=words)
    assert judge(more, POLICY).relevant or not judge(less, POLICY).relevant


def test_what_stands_out_is_told_from_what_is_near_to_everything() -> None:
    assert standing_out([]) is None
    assert standing_out([0.9, 0.89, 0.88]) < standing_out([0.5, 0.1, 0.0])  # type: ignore[operator]
