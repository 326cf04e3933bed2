"""When a thing was true, and when we learnt it (SPEC B6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.bitemporal import AsOf, known, status_at, was_true
from jiyi.domain.memory import Memory, Status
from jiyi.domain.plans import Change, LedgerEntry, replay
from jiyi.domain.profile import ProfilePolicy, diff_profiles, render_profile
from jiyi.testing.contract_base import NOW, added, later, memory, over, plan
from jiyi.testing.strategies import instants, memories, plans

MOMENT = timedelta(microseconds=1)


@st.composite
def ledgers(draw: st.DrawFn) -> list[LedgerEntry]:
    """Plans that fit one on the other, made at any instants, as clocks give them."""
    entries: list[LedgerEntry] = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        entries.append(LedgerEntry(number, draw(plans(replay(entries)))))
    return entries


@given(ledgers())
def test_what_is_known_at_the_end_is_everything_and_before_the_beginning_nothing(ledger: list[LedgerEntry]) -> None:
    at = [e.plan.at for e in ledger]
    assert known(ledger, max(at)) == replay(ledger)
    assert known(ledger, min(at) - MOMENT) == {}


@given(ledgers(), instants())
def test_what_is_known_is_always_a_state_that_once_was(ledger: list[LedgerEntry], at: datetime) -> None:
    states = [replay(ledger[:n]) for n in range(len(ledger) + 1)]
    assert known(ledger, at) in states


def test_knowledge_grows_plan_by_plan() -> None:
    first, second = memory(1, "住在无锡"), memory(2, "住在常州", at=later(60))
    ended = replace(first, **over(), successor=2)
    ledger = [
        LedgerEntry(1, plan(*added(first))),
        LedgerEntry(2, plan(Change(None, second), Change(first, ended), at=later(60))),
        LedgerEntry(3, plan(Change(second, None), at=later(90))),
    ]
    assert known(ledger, NOW) == known(ledger, later(60) - MOMENT) == {1: first}
    assert known(ledger, later(60)) == {1: ended, 2: second}
    assert known(ledger, later(90)) == {1: ended}


def test_a_clock_that_was_set_back_tears_no_plan_from_those_it_builds_on() -> None:
    first = memory(1)
    ledger = [
        LedgerEntry(1, plan(*added(first), at=later(60))),
        LedgerEntry(2, plan(Change(first, replace(first, importance=5)), at=NOW)),
    ]
    assert known(ledger, NOW) == {1: replace(first, importance=5)}
    assert known(ledger, NOW - MOMENT) == {}


@given(memories(), instants())
def test_true_means_live_there_and_not_over(one: Memory, at: datetime) -> None:
    over = at >= one.valid_to if one.valid_to else False
    assert was_true(one, at) is (status_at(one, at) is Status.LIVE and not over)


@pytest.mark.parametrize(
    ("one", "true_until"),
    [
        (memory(1), None),
        (memory(1, **over()), later(60)),
        (memory(1, valid_to=later(60)), later(60)),  # expires by itself
    ],
)
def test_a_memory_is_true_from_its_beginning_to_before_its_end(one: Memory, true_until: datetime | None) -> None:
    assert not was_true(one, NOW - MOMENT)
    assert status_at(one, NOW - MOMENT) is None
    assert was_true(one, NOW)
    assert was_true(one, later(60) - MOMENT)
    assert was_true(one, later(60)) is (true_until is None)
    assert status_at(one, later(60)) is one.status


@given(instants())
def test_a_mistake_was_never_true(at: datetime) -> None:
    mistake = memory(1, **over(Status.RETRACTED))
    assert not was_true(mistake, at)
    assert status_at(mistake, at) is Status.RETRACTED


@pytest.mark.parametrize(
    ("as_of", "age_at"),
    [
        (AsOf(), later(60)),
        (AsOf(known_at=NOW), NOW),
        (AsOf(known_at=later(90)), later(60)),
        (AsOf(valid_at=NOW), NOW),
        (AsOf(valid_at=later(90)), later(90)),
        (AsOf(valid_at=later(30), known_at=NOW), later(30)),
    ],
)
def test_memories_age_up_to_the_instant_that_is_asked_about(as_of: AsOf, age_at: datetime) -> None:
    assert as_of.age_at(later(60)) == age_at


def test_the_difference_of_two_profiles() -> None:
    policy = ProfilePolicy()
    kept, gone, new = (memory(n, text) for n, text in ((1, "住在无锡"), (2, "likes tea"), (3, "likes coffee")))
    before, after = (render_profile(some, NOW, policy) for some in ([kept, gone], [kept, new]))
    difference = diff_profiles(before, after)
    assert [line.memory for line in difference.added] == [new]
    assert [line.memory for line in difference.removed] == [gone]
    assert diff_profiles(after, before).added == difference.removed
    same = diff_profiles(before, before)
    assert (same.added, same.removed) == ((), ())
