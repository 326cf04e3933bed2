from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.belief import Observation
from jiyi.domain.memory import Memory, Mode, Source
from jiyi.domain.plans import (
    Actor,
    Change,
    GatewayPolicy,
    Impact,
    LedgerEntry,
    Plan,
    Verb,
    check_limit,
    impact,
    replay,
    undo,
)
from jiyi.errors import InputError, PlanRefused
from jiyi.testing.contract_base import added, memory, over, plan
from jiyi.testing.strategies import changes, plans
from tests.domain.observations import DATABASE, LEARNT, USES, believe_all, entries_of, observations, said

POLICY = GatewayPolicy()
ME = Actor("李明", "cli")


def ended(one: Memory) -> Change:
    return Change(one, replace(one, **over()))


def fact(seq: int, start: float = 0.95) -> Memory:
    triple = said("MySQL").triple
    return memory(seq, triple=triple, start=start)


def applied(state: dict[int, Memory], made: Plan) -> dict[int, Memory]:
    """What is stored after a plan, made the way a store does it."""
    after = dict(state)
    for change in made.changes:
        after.pop(change.seq, None)
        if change.after is not None:
            after[change.seq] = change.after
    return after


# ---------------------------------------------------------------------------------- changes


def test_a_change_is_about_one_memory() -> None:
    with pytest.raises(InputError, match="before or after"):
        Change(None, None)
    with pytest.raises(InputError, match="one memory"):
        Change(memory(1), memory(2))
    assert [Change(None, memory(3)).seq, Change(memory(3), None).seq, ended(memory(3)).seq] == [3, 3, 3]


def test_a_change_turned_round_twice_is_itself() -> None:
    change = ended(memory(1))
    assert change.reversed() == Change(change.after, change.before)
    assert change.reversed().reversed() == change


def test_what_ends_belief() -> None:
    live, past = memory(1), memory(1, **over())
    assert Change(live, None).ends_belief
    assert Change(live, past).ends_belief
    assert not Change(live, replace(live, importance=5)).ends_belief
    assert not Change(past, None).ends_belief
    assert not Change(None, past).ends_belief
    assert not Change(past, live).ends_belief


# ---------------------------------------------------------------------------------- impact and limit


def test_impact_counts_what_a_plan_touches() -> None:
    made = plan(
        *added(fact(1), memory(2)),
        ended(fact(3)),
        ended(fact(4, start=0.8)),
        ended(memory(5)),
        Change(fact(6), None),
        Change(memory(7), replace(memory(7), importance=5)),
    )
    assert impact(made, POLICY) == Impact(added=2, altered=1, ended=3, removed=1, confident_relations=2)
    assert impact(plan(), POLICY) == Impact(0, 0, 0, 0, 0)


def test_five_confident_relations_may_end_and_six_may_not() -> None:
    six = [ended(fact(seq)) for seq in range(1, 7)]
    check_limit(plan(*six[:5]), POLICY)
    with pytest.raises(PlanRefused, match=r"end 6 relations .* limit is 5"):
        check_limit(plan(*six), POLICY)
    with pytest.raises(PlanRefused, match="distil"):
        check_limit(plan(*six, verb=Verb.DISTIL), POLICY)


def test_only_confident_relations_count_to_the_limit() -> None:
    check_limit(plan(*(ended(fact(seq, start=0.8)) for seq in range(1, 20))), POLICY)
    check_limit(plan(*(ended(memory(seq)) for seq in range(1, 20))), POLICY)
    check_limit(plan(*(Change(replace(fact(s), **over()), None) for s in range(1, 20))), POLICY)


@pytest.mark.parametrize("verb", [Verb.FORGET, Verb.UNDO])
def test_forgetting_and_undoing_are_exempt(verb: Verb) -> None:
    check_limit(plan(*(ended(fact(seq)) for seq in range(1, 20)), verb=verb), POLICY)


def test_the_limit_is_a_setting() -> None:
    strict = GatewayPolicy(max_confident_relations=0, confident=0.5)
    with pytest.raises(PlanRefused):
        check_limit(plan(ended(fact(1, start=0.6))), strict)


# ---------------------------------------------------------------------------------- undo


def test_undo_is_the_plan_turned_round() -> None:
    entry = LedgerEntry(7, plan(*added(memory(2)), ended(memory(1)), verb=Verb.CORRECT))
    current = applied({1: memory(1)}, entry.plan)
    back = undo(entry, current, ME, LEARNT)
    assert back == Plan(
        Verb.UNDO, ME, LEARNT, "undo of p7", (ended(memory(1)).reversed(), Change(memory(2), None)), undoes=7
    )
    assert applied(current, back) == {1: memory(1)}


def test_undo_of_an_undo_is_the_plan_again() -> None:
    first = LedgerEntry(1, plan(*added(memory(1))))
    back = LedgerEntry(2, undo(first, {1: memory(1)}, ME, LEARNT))
    assert undo(back, {}, ME, LEARNT).changes == first.plan.changes


@pytest.mark.parametrize(
    ("entry", "current", "reason"),
    [
        (LedgerEntry(3, plan(Change(memory(1), None), verb=Verb.FORGET)), {}, "p3 cannot be undone: .* forgotten"),
        (LedgerEntry(3, plan(), forgotten=True), {}, "p3 cannot be undone: .* forgotten"),
        (LedgerEntry(3, plan()), {}, "p3 changed nothing"),
        (LedgerEntry(3, plan(*added(memory(1), memory(2)))), {1: memory(1)}, "m2 changed since"),
        (LedgerEntry(3, plan(*added(memory(1)))), {1: memory(1, importance=5)}, "m1 changed since"),
        (LedgerEntry(3, plan(Change(memory(1), None))), {1: memory(1)}, "p3 is undone already"),
    ],
)
def test_what_cannot_be_undone_says_why(entry: LedgerEntry, current: dict[int, Memory], reason: str) -> None:
    with pytest.raises(PlanRefused, match=reason):
        undo(entry, current, ME, LEARNT)


ALL_TALK = observations(tuple(Source), tuple(Mode), (DATABASE, USES))


@given(st.lists(ALL_TALK, min_size=1, max_size=6))
def test_undoing_what_was_judged_restores_the_exact_state(talk: list[Observation]) -> None:
    *entries, last = entries_of(talk)
    if not last.plan.changes:
        return
    before = replay(entries)
    state = applied(before, last.plan)
    assert applied(state, undo(last, state, ME, LEARNT)) == before


@given(st.lists(ALL_TALK, max_size=6))
def test_undoing_everything_from_the_end_leaves_nothing(talk: list[Observation]) -> None:
    state = believe_all(talk)
    for entry in reversed(entries_of(talk)):
        if entry.plan.changes:
            state = applied(state, undo(entry, state, ME, LEARNT))
    assert state == {}


@given(st.data())
def test_undoing_any_plan_restores_the_exact_state(data: st.DataObject) -> None:
    before = replay([LedgerEntry(1, plan(*data.draw(changes({}))))])
    after = {c.seq: c.after for c in data.draw(changes(before))}
    pairs = [Change(before.get(seq), one) for seq, one in after.items() if (before.get(seq), one) != (None, None)]
    state = applied(before, plan(*pairs))
    if pairs:
        assert applied(state, undo(LedgerEntry(2, plan(*pairs)), state, ME, LEARNT)) == before


# ---------------------------------------------------------------------------------- replay


def test_replaying_nothing_gives_nothing() -> None:
    assert replay([]) == {}


def test_replaying_reads_the_second_pictures_in_order() -> None:
    entries = [
        LedgerEntry(1, plan(*added(memory(1), memory(2)))),
        LedgerEntry(2, plan(ended(memory(1)), Change(memory(2), None))),
        LedgerEntry(3, plan()),
    ]
    assert replay(entries) == {1: replace(memory(1), **over())}


@given(st.lists(ALL_TALK, max_size=6))
def test_replaying_the_ledger_gives_what_is_believed(talk: list[Observation]) -> None:
    assert replay(entries_of(talk)) == believe_all(talk)


@given(st.data())
def test_replaying_any_plans_gives_what_they_left(data: st.DataObject) -> None:
    state: dict[int, Memory] = {}
    entries: list[LedgerEntry] = []
    for seq in range(1, 4):
        made = data.draw(plans(state))
        state = applied(state, made)
        entries.append(LedgerEntry(seq, made))
    assert replay(entries) == state
