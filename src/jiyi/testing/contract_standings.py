"""What `ports.Standings` promises, and what a pause means to `ports.Jobs`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.scope import Scope
from jiyi.domain.standing import UNDECIDED, Consent, Detail, Standing, StandingChange
from jiyi.errors import StoreError
from jiyi.ports import Job, Store, Unit
from jiyi.testing.contract_base import (
    ME,
    NOW,
    OTHERS,
    YOU,
    Contract,
    evidence,
    fresh_scope,
    later,
    memory,
    plan,
    shared_store,
)
from jiyi.testing.contract_base import added as additions
from jiyi.testing.strategies import standings

DECIDED = Standing(Detail.MINIMAL, NOW, later(1), Consent(True, "第 3 版 / v3", later(2)))


def decide(store: Store, standing: Standing, scope: Scope = ME) -> None:
    store.write(lambda unit: unit.standings.set(scope, standing))


def standing_of(store: Store, scope: Scope = ME) -> Standing:
    with store.read() as unit:
        return unit.standings.get(scope)


def claim(store: Store, minutes: float = 0) -> Job | None:
    return store.write(lambda unit: unit.jobs.claim(later(minutes), later(minutes + 5)))


class StandingsContract(Contract):
    def test_nothing_was_decided_at_first(self, store: Store) -> None:
        assert standing_of(store) == UNDECIDED

    def test_the_last_one_counts_on_every_handle(self, store: Store, reopen: Callable[[], Store]) -> None:
        decide(store, DECIDED)
        assert standing_of(store) == standing_of(reopen()) == DECIDED
        decide(store, replace(DECIDED, paused_at=None))
        assert standing_of(store) == standing_of(reopen()) == replace(DECIDED, paused_at=None)
        decide(store, UNDECIDED)
        assert standing_of(store) == standing_of(reopen()) == UNDECIDED

    @given(st.data())
    @shared_store
    def test_any_standing_comes_back(self, store: Store, data: st.DataObject) -> None:
        scope = fresh_scope()
        for _ in range(3):
            standing = data.draw(standings())
            decide(store, standing, scope)
            assert standing_of(store, scope) == standing

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_stay_apart(self, store: Store, other: Scope) -> None:
        decide(store, DECIDED)
        assert standing_of(store, other) == UNDECIDED
        decide(store, UNDECIDED, other)
        assert standing_of(store) == DECIDED

    def test_a_failed_write_changes_nothing(self, store: Store) -> None:
        def work(unit: Unit) -> None:
            unit.standings.set(ME, DECIDED)
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(work)
        assert standing_of(store) == UNDECIDED
        with store.read() as unit, pytest.raises(StoreError, match="for reading"):
            unit.standings.set(ME, DECIDED)

    def test_the_ledger_keeps_it_when_memories_are_erased(self, store: Store) -> None:
        turn = StandingChange(UNDECIDED, DECIDED)
        made = plan(*additions(memory(1, evidence=(evidence(1),))), standing=turn)
        store.write(lambda unit: unit.ledger.append(ME, made))
        store.write(lambda unit: unit.ledger.erase(ME, [1]))
        with store.read() as unit:
            [entry] = unit.ledger.entries(ME)
        assert entry.forgotten
        assert entry.plan == replace(made, reason="", changes=())

    # ------------------------------------------------------------------ jobs

    def test_the_jobs_of_a_paused_scope_wait(self, store: Store) -> None:
        first = store.write(lambda unit: unit.jobs.put(ME, "a", {}, NOW))
        second = store.write(lambda unit: unit.jobs.put(YOU, "b", {}, NOW))
        decide(store, DECIDED)
        job = claim(store)
        assert job is not None
        assert job.id == second
        assert claim(store) is None
        decide(store, replace(DECIDED, paused_at=None))
        job = claim(store)
        assert job is not None
        assert (job.id, job.attempt) == (first, 1)

    def test_what_is_due_in_a_paused_scope_waits(self, store: Store) -> None:
        store.write(lambda unit: unit.schedule.put(ME, "upkeep", NOW))
        decide(store, DECIDED)
        assert store.write(lambda unit: unit.schedule.take(later(9), 9)) == []
        decide(store, UNDECIDED)
        assert [d.scope for d in store.write(lambda unit: unit.schedule.take(later(9), 9))] == [ME]

    def test_a_lost_lease_is_not_taken_up_while_paused(self, store: Store) -> None:
        store.write(lambda unit: unit.jobs.put(ME, "a", {}, NOW))
        assert claim(store) is not None
        decide(store, DECIDED)
        assert claim(store, 60) is None
        decide(store, UNDECIDED)
        job = claim(store, 60)
        assert job is not None
        assert job.attempt == 2
