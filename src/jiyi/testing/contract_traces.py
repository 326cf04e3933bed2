"""What `ports.Traces` promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.scope import Scope
from jiyi.domain.traces import Considered, LeftOut, Trace
from jiyi.errors import StoreError
from jiyi.ports import Store
from jiyi.testing.contract_base import ME, NOW, OTHERS, Contract, fresh_scope, shared_store
from jiyi.testing.strategies import traces

AT = NOW.astimezone(UTC)


def trace(number: int, minutes: float = 0) -> Trace:
    ranked = Considered("m1", 1.25, (("fact", 1.0), ("importance", 0.25)), "asked for by '数据库'", shown=True)
    left = LeftOut("h2", "is the evidence of m1")
    at = AT + timedelta(minutes=minutes)
    return Trace(f"t{number}", at, "recall", "数据库是什么", ("数据库",), 8, ("fact",), (ranked,), (left,))


def keep(store: Store, *some: Trace, scope: Scope = ME) -> None:
    store.write(lambda unit: unit.traces.add(scope, some))


def latest(store: Store, scope: Scope = ME, limit: int = 99) -> list[Trace]:
    with store.read() as unit:
        return unit.traces.latest(scope, limit)


class TracesContract(Contract):
    def test_nothing_is_known_at_first(self, store: Store) -> None:
        assert latest(store) == []
        with store.read() as unit:
            assert unit.traces.get(ME, "t1") is None

    def test_the_newest_come_first_on_every_handle(self, store: Store, reopen: Callable[[], Store]) -> None:
        first, second, third = trace(1, 5), trace(2, 1), trace(3, 5)
        keep(store, first, second)
        keep(store, third)
        assert latest(store) == latest(reopen()) == [third, first, second]
        assert latest(store, limit=2) == [third, first]
        assert latest(store, limit=0) == []
        with store.read() as unit:
            assert unit.traces.get(ME, "t2") == second

    def test_the_same_id_again_takes_its_place(self, store: Store) -> None:
        keep(store, trace(1))
        again = replace(trace(1, 9), query="Wo liegt die Datenbank?")
        keep(store, again)
        assert latest(store) == [again]

    @given(st.data())
    @shared_store
    def test_any_trace_comes_back(self, store: Store, data: st.DataObject) -> None:
        scope = fresh_scope()
        told = data.draw(traces())
        keep(store, told, scope=scope)
        assert latest(store, scope) == [told]

    def test_what_is_many_or_old_goes(self, store: Store) -> None:
        keep(store, *(trace(n, n) for n in range(1, 7)))
        store.write(lambda unit: unit.traces.trim(ME, 4, AT))
        assert [t.id for t in latest(store)] == ["t6", "t5", "t4", "t3"]
        store.write(lambda unit: unit.traces.trim(ME, 4, AT + timedelta(minutes=5)))
        assert [t.id for t in latest(store)] == ["t6", "t5"]
        store.write(lambda unit: unit.traces.trim(ME, 0, AT))
        assert latest(store) == []

    def test_clearing_drops_all(self, store: Store) -> None:
        keep(store, trace(1), trace(2))
        assert store.write(lambda unit: unit.traces.clear(ME)) == 2
        assert store.write(lambda unit: unit.traces.clear(ME)) == 0
        assert latest(store) == []

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_stay_apart(self, store: Store, other: Scope) -> None:
        keep(store, trace(1))
        keep(store, trace(1, 7), scope=other)
        with store.read() as unit:
            assert unit.traces.get(ME, "t1") == trace(1)
        store.write(lambda unit: unit.traces.trim(other, 0, AT))
        store.write(lambda unit: unit.traces.clear(other))
        assert latest(store) == [trace(1)]

    def test_a_reading_unit_changes_nothing(self, store: Store) -> None:
        with store.read() as unit:
            for change in (
                lambda: unit.traces.add(ME, [trace(1)]),
                lambda: unit.traces.trim(ME, 0, AT),
                lambda: unit.traces.clear(ME),
            ):
                with pytest.raises(StoreError, match="for reading"):
                    change()
