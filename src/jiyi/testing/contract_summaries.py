"""What `ports.Summaries` promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given

from jiyi.domain.memory import Language
from jiyi.domain.scope import Scope
from jiyi.domain.summary import Point, PointKind, SessionSummary
from jiyi.errors import StoreError
from jiyi.ports import Store
from jiyi.testing.contract_base import ME, NAMESAKE, NOW, YOU, Contract, fresh_scope, later, shared_store
from jiyi.testing.strategies import summaries

POINT = Point(PointKind.PROBLEM, "部署报错 502", 1, 0, 8)


def summary(
    seq: int, session: str = "s1", block: int = 0, messages: Sequence[int] = (1, 2), **more: Any
) -> SessionSummary:
    fields: dict[str, Any] = {
        "first_at": NOW.astimezone(UTC),
        "last_at": later(5).astimezone(UTC),
        "language": Language.ZH,
        "points": (POINT,),
        "made_at": later(9).astimezone(UTC),
        "method": "rules/1",
    }
    return SessionSummary(seq=seq, session=session, block=block, messages=tuple(messages), **(fields | more))


def put(store: Store, *items: SessionSummary, scope: Scope = ME) -> None:
    store.write(lambda unit: unit.summaries.write(scope, items))


def listed(store: Store, scope: Scope = ME, session: str | None = None) -> list[SessionSummary]:
    with store.read() as unit:
        return unit.summaries.listing(scope, session=session)


class SummariesContract(Contract):
    def test_what_was_written_is_read_by_number(self, store: Store, reopen: Callable[[], Store]) -> None:
        items = [summary(2), summary(1, "s2", messages=(4,)), summary(7, "s1", 1, points=())]
        put(store, *items)
        expected = sorted(items, key=lambda s: s.seq)
        assert listed(store) == listed(reopen()) == expected
        assert listed(store, session="s1") == [items[0], items[2]]
        with store.read() as unit:
            assert unit.summaries.get(ME, [7, 1, 99]) == [items[1], items[2]]
            assert unit.summaries.get(ME, []) == []

    def test_nothing_is_there_at_first(self, store: Store) -> None:
        with store.read() as unit:
            assert unit.summaries.listing(ME) == []
            assert unit.summaries.last_block(ME, "s1") is None
            assert unit.summaries.containing(ME, ["x"], 5) == []
            assert unit.summaries.last_seq(ME) == 0
        assert store.write(lambda unit: unit.summaries.erase(ME, [1])) == []

    def test_writing_a_number_again_replaces_it(self, store: Store) -> None:
        put(store, summary(1, messages=(1, 2, 3)))
        again = summary(1, messages=(3, 4), points=(), language=Language.EN)
        put(store, again)
        assert listed(store) == [again]
        assert store.write(lambda unit: unit.summaries.erase(ME, [1])) == []

    def test_numbers_are_never_used_twice(self, store: Store) -> None:
        def take(_: int = 0) -> int:
            return store.write(lambda unit: unit.summaries.next_seq(ME))

        assert [take(), take()] == [1, 2]
        put(store, summary(5))
        store.write(lambda unit: unit.summaries.remove(ME, [5]))
        assert take() == 6
        store.write(lambda unit: unit.summaries.skip_to(ME, 9))
        store.write(lambda unit: unit.summaries.skip_to(ME, 3))
        assert take() == 10
        with store.read() as unit:
            assert (unit.summaries.last_seq(ME), unit.summaries.last_seq(YOU)) == (10, 0)

    def test_the_last_block_of_a_session(self, store: Store) -> None:
        blocks = [summary(1), summary(2, block=2), summary(3, block=1), summary(4, "s2", 3)]
        put(store, *blocks)
        with store.read() as unit:
            assert unit.summaries.last_block(ME, "s1") == blocks[1]
            assert unit.summaries.last_block(ME, "s3") is None

    def test_what_is_covered(self, store: Store) -> None:
        put(store, summary(1), summary(2, block=1), summary(3, "s2", messages=(4, 5, 6), points=()))
        with store.read() as unit:
            assert unit.summaries.covered(ME) == {"s1": (2, later(5)), "s2": (3, later(5))}
            assert unit.summaries.covered(YOU) == {}

    def test_erasing_takes_what_rests_on_a_message_and_nothing_else(self, store: Store) -> None:
        items = [summary(1, messages=(1, 2, 3)), summary(2, block=1, messages=(1, 2)), summary(3, "s2", messages=(4,))]
        put(store, *items)
        for scope in (YOU, NAMESAKE):
            put(store, *items, scope=scope)
        # It need not be quoted: what was read to make it counts.
        assert store.write(lambda unit: unit.summaries.erase(ME, [3, 99])) == [items[0]]
        assert listed(store) == items[1:]
        assert listed(store, YOU) == listed(store, NAMESAKE) == items
        assert store.write(lambda unit: unit.summaries.erase(ME, [1, 4])) == items[1:]
        assert listed(store) == []

    def test_removing_by_number(self, store: Store) -> None:
        put(store, summary(1), summary(2, "s2"))
        store.write(lambda unit: unit.summaries.remove(ME, [1, 50]))
        store.write(lambda unit: unit.summaries.remove(YOU, [2]))
        assert [s.seq for s in listed(store)] == [2]

    def test_points_are_looked_through_for_letters(self, store: Store) -> None:
        items = [
            summary(n, f"s{n}", points=(replace(POINT, text=text),))
            for n, text in enumerate(("a 502 b", "x", 'q"502'), 1)
        ]
        put(store, *items)
        with store.read() as unit:
            assert unit.summaries.containing(ME, ["502"], 5) == [items[2], items[0]]
            assert unit.summaries.containing(ME, ["502"], 1) == [items[2]]
            assert unit.summaries.containing(ME, ['"', "x"], 5) == [items[2], items[1]]
            # What only the store's own writing of a point holds is no letter of it.
            assert unit.summaries.containing(ME, ["problem", "\\"], 5) == []
            assert unit.summaries.containing(YOU, ["502"], 5) == []

    def test_a_reading_unit_changes_nothing(self, store: Store) -> None:
        with store.read() as unit:
            for change in (
                lambda: unit.summaries.write(ME, [summary(1)]),
                lambda: unit.summaries.remove(ME, [1]),
                lambda: unit.summaries.erase(ME, [1]),
                lambda: unit.summaries.next_seq(ME),
            ):
                with pytest.raises(StoreError):
                    change()

    @shared_store
    @given(item=summaries())
    def test_any_summary_comes_back_as_it_was(self, store: Store, item: SessionSummary) -> None:
        scope = fresh_scope()
        put(store, item, scope=scope)
        assert listed(store, scope) == [item]
