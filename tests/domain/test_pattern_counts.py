"""Counting what repeats over sessions (SPEC G5)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.memory import Evidence, Language
from jiyi.domain.patterns import Case, Pair, Pattern, PatternPolicy, Seen, counted

POLICY, PAIR = PatternPolicy(), Pair("competitor", "parameters")
START = datetime(2026, 3, 1, tzinfo=UTC)


def seen(day: int, what: str) -> Seen:
    """A session of a day: `+` is a case, `-` the occasion alone, `o` the wish elsewhere, `.` neither."""
    at, session = START + timedelta(days=day), f"s{day}"
    case = Case(session, at, (Evidence(day + 1, 0, 1, at, session),), Language.EN)
    return Seen(
        session,
        {PAIR.condition: at} if what in "+-" else {},
        frozenset({PAIR.consequence} if what in "+o" else ()),
        {PAIR: case} if what == "+" else {},
    )


def of(course: str) -> Pattern:
    [pattern] = counted(seen(day, what) for day, what in enumerate(course))
    return pattern


@pytest.mark.parametrize(
    ("course", "holds"),
    [
        ("+++", True),
        ("++", False),
        ("++..", False),
        ("+++--", True),  # 60 % exactly
        ("+++---", False),
        ("-+-+-+", False),
        ("+++....", True),
        ("+++oo", True),  # too few others to tell
        ("+++ooo", False),  # wanted on no occasion, but always
        ("+++oo.", True),  # in all of three, against two of three
        ("+++-ooo...", True),
        ("+++--oooo..", False),  # 60 % against two thirds
    ],
)
def test_three_sessions_three_in_five_and_more_than_elsewhere(course: str, holds: bool) -> None:
    assert (of(course).why_not(POLICY) == "") is holds


def test_why_it_is_none_is_told_in_numbers() -> None:
    assert "2 session" in of("++").why_not(POLICY)
    assert "3 of 6 sessions, below 60%" in of("+++---").why_not(POLICY)
    assert "3 of 3 other sessions" in of("+++ooo").why_not(POLICY)


def test_more_cases_make_it_surer_up_to_a_bound() -> None:
    trusts = [of("+" * n).trust(POLICY) for n in (3, 4, 8, 40)]
    assert trusts == sorted(trusts)
    assert (trusts[0], trusts[-1]) == (POLICY.start, POLICY.surest)


@pytest.mark.parametrize(
    ("course", "day"), [("+++---", 5), ("+++-----.--", 5), ("+++---+", 6), ("---+++", 5), ("+++-+----", 6)]
)
def test_it_fell_with_the_session_that_brought_it_below(course: str, day: int) -> None:
    pattern = of(course)
    assert pattern.why_not(POLICY)
    assert pattern.fell_at(POLICY) == START + timedelta(days=day)


def test_sessions_can_be_left_out() -> None:
    pattern = of("+-++-")
    left = pattern.without(pattern.cases[:1])
    assert (left.support, left.held, pattern.support, pattern.held) == (2, 4, 3, 5)
    assert left == of(".-++-").without(()) or left.others == pattern.others


@given(
    st.lists(st.sampled_from("+-o."), min_size=1, max_size=12).flatmap(
        lambda c: st.tuples(st.just(c), st.permutations(range(len(c))))
    )
)
def test_the_order_in_which_sessions_come_counts_for_nothing(drawn: tuple[list[str], list[int]]) -> None:
    course, order = drawn
    sessions = [seen(day, what) for day, what in enumerate(course)]
    assert counted(sessions) == counted([sessions[i] for i in order])
    for pattern in counted(sessions):
        assert pattern.support == course.count("+")
        assert pattern.held == course.count("+") + course.count("-")
        if not pattern.why_not(POLICY):
            assert pattern.support >= 3
            assert pattern.share >= 0.6
        # When it fell, no case came later: else it would stand again.
        assert all(case.at <= pattern.fell_at(POLICY) for case in pattern.cases)


def test_a_pair_is_read_back_from_its_value() -> None:
    assert Pair.of(PAIR.value) == PAIR
    assert Pair.of("competitor") is None
