"""What `ports.Schedule` promises."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.scope import Scope
from jiyi.ports import Due, Store, Unit
from jiyi.testing.contract_base import ME, NAMESAKE, NOW, YOU, Contract, fresh_scope, later, shared_store, utc


def put(store: Store, at: datetime, scope: Scope = ME, kind: str = "upkeep") -> None:
    store.write(lambda unit: unit.schedule.put(scope, kind, at))


def take(store: Store, minutes: float = 0, limit: int = 99) -> list[Due]:
    return store.write(lambda unit: unit.schedule.take(later(minutes), limit))


def due_at(store: Store, scope: Scope = ME, kind: str = "upkeep") -> datetime | None:
    with store.read() as unit:
        return unit.schedule.get(scope, kind)


class ScheduleContract(Contract):
    def test_nothing_is_due_at_first(self, store: Store) -> None:
        assert take(store, 9e6) == []
        assert due_at(store) is None
        store.write(lambda unit: unit.schedule.drop(ME, "upkeep"))
        with store.read() as unit:
            assert list(unit.scopes()) == []

    def test_what_is_due_is_taken_once_the_earliest_first(self, store: Store) -> None:
        put(store, later(3))
        put(store, later(1), kind="summaries")
        put(store, later(2), YOU)
        put(store, later(9), NAMESAKE)
        assert take(store, 0.5) == []
        assert take(store, 3, limit=2) == [Due(ME, "summaries", utc(later(1))), Due(YOU, "upkeep", utc(later(2)))]
        assert take(store, 3) == [Due(ME, "upkeep", utc(later(3)))]
        assert take(store, 3) == []
        assert due_at(store) is None
        assert due_at(store, NAMESAKE) == later(9)

    def test_putting_again_moves_it(self, store: Store) -> None:
        for minutes in (5, 2, 8):
            put(store, later(minutes))
            assert due_at(store) == later(minutes)
        assert take(store, 7) == []
        assert len(take(store, 8)) == 1

    def test_sooner_only_moves_it_forward(self, store: Store) -> None:
        for minutes, expected in ((5, 5), (8, 5), (2, 2), (2, 2)):
            store.write(lambda unit, m=minutes: unit.schedule.sooner(ME, "upkeep", later(m)))  # type: ignore[misc]
            assert due_at(store) == later(expected)

    def test_dropping_touches_no_other(self, store: Store) -> None:
        for scope in (ME, YOU):
            for kind in ("upkeep", "summaries"):
                put(store, NOW, scope, kind)
        store.write(lambda unit: unit.schedule.drop(ME, "upkeep"))
        assert due_at(store) is None
        assert {(d.scope, d.kind) for d in take(store)} == {(ME, "summaries"), (YOU, "upkeep"), (YOU, "summaries")}

    def test_it_outlives_the_handle(self, store: Store, reopen: Callable[[], Store]) -> None:
        put(store, later(4))
        store.close()
        again = reopen()
        assert due_at(again) == later(4)
        assert [d.kind for d in take(again, 5)] == ["upkeep"]

    def test_a_failed_write_takes_nothing(self, store: Store) -> None:
        put(store, NOW)

        def work(unit: Unit) -> None:
            assert unit.schedule.take(NOW, 9)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.write(work)
        assert len(take(store)) == 1

    @shared_store
    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(["put", "sooner", "drop", "take"]), st.sampled_from("ab"), st.integers(0, 9)),
            max_size=12,
        )
    )
    def test_it_is_a_table_of_instants(self, store: Store, steps: list[tuple[str, str, int]]) -> None:
        scope = fresh_scope()
        store.write(lambda unit: unit.schedule.take(later(60 * 24 * 9), 999))
        expected: dict[str, datetime] = {}
        for verb, kind, minutes in steps:
            at = later(minutes)
            if verb == "put":
                store.write(lambda unit, k=kind, at=at: unit.schedule.put(scope, k, at))  # type: ignore[misc]
                expected[kind] = at
            elif verb == "sooner":
                store.write(lambda unit, k=kind, at=at: unit.schedule.sooner(scope, k, at))  # type: ignore[misc]
                expected[kind] = min(at, expected.get(kind, at))
            elif verb == "drop":
                store.write(lambda unit, k=kind: unit.schedule.drop(scope, k))  # type: ignore[misc]
                expected.pop(kind, None)
            else:
                due = {k for k, when in expected.items() if when <= at}
                assert {d.kind for d in take(store, minutes)} == due
                expected = {k: when for k, when in expected.items() if k not in due}
            assert {k: due_at(store, scope, k) for k in "ab"} == {k: expected.get(k) for k in "ab"}
