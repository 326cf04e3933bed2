"""What `graphs.GraphFeed` promises."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jiyi.domain.graph import Followed
from jiyi.domain.scope import Scope
from jiyi.errors import StoreError
from jiyi.ports import Store, Unit
from jiyi.testing.contract_base import ME, OTHERS, YOU, Contract


def note(store: Store, *memories: int, scope: Scope = ME) -> None:
    store.write(lambda unit: unit.graph_feed.note(scope, memories))


def state(store: Store, scope: Scope = ME) -> Followed:
    with store.read() as unit:
        found = unit.graph_feed.state(scope)
    assert found is not None
    return found


def waiting(store: Store, scope: Scope = ME, limit: int = 99) -> dict[int, str]:
    with store.read() as unit:
        return unit.graph_feed.waiting(scope, limit)


def follow(store: Store, scope: Scope = ME) -> None:
    """An engine follows, and has everything."""

    def work(unit: Unit) -> None:
        unit.graph_feed.begin(scope)
        followed = unit.graph_feed.state(scope)
        assert followed is not None
        unit.graph_feed.told(scope, followed.version, unit.graph_feed.waiting(scope, 1000))

    store.write(work)


class GraphFeedContract(Contract):
    def test_where_no_engine_follows_nothing_is_noted(self, store: Store) -> None:
        note(store, 1, 2)
        store.write(lambda unit: unit.graph_feed.restart(ME))
        store.write(lambda unit: unit.graph_feed.told(ME, "v", {}))
        with store.read() as unit:
            assert unit.graph_feed.state(ME) is None
            assert unit.graph_feed.waiting(ME, 9) == {}
            assert (unit.graph_feed.count(), unit.graph_feed.lagging(), unit.graph_feed.following()) == (0, [], {})

    def test_an_engine_that_begins_to_follow_has_to_be_told_everything(self, store: Store) -> None:
        store.write(lambda unit: unit.graph_feed.begin(ME))
        first = state(store)
        assert not first.told
        assert not first.level
        note(store, 5)
        assert waiting(store) == {}
        assert state(store).version != first.version
        with store.read() as unit:
            assert unit.graph_feed.lagging() == [ME]
        follow(store)
        assert state(store).level
        assert state(store).version == state(store).told != first.version

    def test_what_changes_waits_with_the_version_of_its_last_change(self, store: Store) -> None:
        follow(store)
        note(store, 1, 2, 2)
        early = state(store).version
        note(store, 2, 3)
        late = state(store).version
        assert waiting(store) == {1: early, 2: late, 3: late}
        assert waiting(store, limit=2) == {1: early, 2: late}
        assert waiting(store, limit=0) == {}
        with store.read() as unit:
            assert unit.graph_feed.count() == 3
            assert unit.graph_feed.following() == {ME: state(store)}

    def test_what_changed_again_while_it_was_told_waits_on(self, store: Store) -> None:
        follow(store)
        note(store, 1, 2)
        told, heard = state(store).version, waiting(store)
        note(store, 2)
        store.write(lambda unit: unit.graph_feed.told(ME, told, heard))
        assert set(waiting(store)) == {2}
        assert state(store).told == told
        assert not state(store).level

    def test_everything_has_to_be_told_again_after_a_restart(self, store: Store) -> None:
        follow(store)
        note(store, 1)
        before = state(store).version
        store.write(lambda unit: unit.graph_feed.restart(ME))
        assert waiting(store) == {}
        assert state(store).told == ""
        assert state(store).version != before

    def test_to_begin_twice_changes_nothing(self, store: Store) -> None:
        follow(store)
        note(store, 7)
        before = state(store)
        store.write(lambda unit: unit.graph_feed.begin(ME))
        assert (state(store), set(waiting(store))) == (before, {7})

    def test_scopes_never_mix(self, store: Store) -> None:
        for scope in (ME, *OTHERS):
            follow(store, scope)
        before = {scope: state(store, scope) for scope in OTHERS}
        note(store, 1, 2)
        store.write(lambda unit: unit.graph_feed.restart(ME))
        note(store, 3, scope=YOU)
        assert waiting(store) == {}
        assert set(waiting(store, YOU)) == {3}
        assert state(store, OTHERS[1]) == before[OTHERS[1]]
        with store.read() as unit:
            assert unit.graph_feed.lagging() == [ME, YOU]

    def test_it_is_there_after_reopening(self, store: Store, reopen: Callable[[], Store]) -> None:
        follow(store)
        note(store, 4)
        before = state(store), waiting(store)
        other = reopen()
        assert (state(other), waiting(other)) == before

    def test_a_reading_unit_changes_nothing(self, store: Store) -> None:
        follow(store)
        with store.read() as unit:
            changes: list[Callable[[], None]] = [
                lambda: unit.graph_feed.begin(ME),
                lambda: unit.graph_feed.restart(ME),
                lambda: unit.graph_feed.note(ME, [1]),
                lambda: unit.graph_feed.told(ME, "v", {}),
            ]
            for change in changes:
                with pytest.raises(StoreError, match="for reading"):
                    change()
