"""What `ports.Segments` and `ports.ModelCalls` promise."""

from __future__ import annotations

from collections.abc import Callable

from jiyi.domain.asking import OK, ModelCall, Spent
from jiyi.domain.scope import Scope
from jiyi.ports import Store
from jiyi.testing.contract_base import ME, NAMESAKE, NOW, YOU, Contract, later, message, utc


def say(store: Store, scope: Scope, *ids: str, session: str = "s1") -> None:
    store.write(lambda unit: unit.messages.add(scope, [message(i, session=session) for i in ids]))


def open_from(store: Store, scope: Scope, session: str) -> int | None:
    with store.read() as unit:
        return unit.segments.open_from(scope, session)


class SegmentsContract(Contract):
    def test_a_session_that_was_never_opened_is_open_from_nowhere(self, store: Store) -> None:
        say(store, ME, "a")
        assert open_from(store, ME, "s1") is None
        assert open_from(store, YOU, "s1") is None

    def test_the_last_mark_counts_in_each_session_and_scope(self, store: Store) -> None:
        for scope in (ME, YOU, NAMESAKE):
            say(store, scope, "a", "b")
            say(store, scope, "c", session="s2")
            say(store, scope, "d", "e")
        store.write(lambda unit: unit.segments.open_at(ME, 1))
        assert open_from(store, ME, "s1") == 1
        store.write(lambda unit: unit.segments.cut_after(ME, 2))
        assert open_from(store, ME, "s1") == 3
        store.write(lambda unit: unit.segments.open_at(ME, 3))
        assert (open_from(store, ME, "s1"), open_from(store, ME, "s2")) == (3, 3)
        store.write(lambda unit: unit.segments.cut_after(ME, 4))
        store.write(lambda unit: unit.segments.cut_after(ME, 4))
        assert (open_from(store, ME, "s1"), open_from(store, ME, "s2")) == (5, 3)
        assert open_from(store, YOU, "s1") is None
        assert open_from(store, NAMESAKE, "s1") is None

    def test_sessions_with_an_open_segment_are_listed(self, store: Store) -> None:
        say(store, ME, "a")
        say(store, ME, "b", session="s2")
        say(store, ME, "c")
        say(store, YOU, "d", session="s3")
        for seq in (2, 1):
            store.write(lambda unit, seq=seq: unit.segments.open_at(ME, seq))  # type: ignore[misc]
        store.write(lambda unit: unit.segments.open_at(YOU, 1))
        with store.read() as unit:
            assert unit.segments.opened(ME) == ["s1", "s2"]
            assert unit.segments.opened(NAMESAKE) == []
        store.write(lambda unit: unit.segments.cut_after(ME, 3))
        with store.read() as unit:
            assert unit.segments.opened(ME) == ["s2"]

    def test_an_opened_segment_can_be_cut_at_once(self, store: Store) -> None:
        say(store, ME, "a")
        store.write(lambda unit: unit.segments.open_at(ME, 1))
        store.write(lambda unit: unit.segments.cut_after(ME, 1))
        assert open_from(store, ME, "s1") == 2

    def test_marks_last(self, store: Store, reopen: Callable[[], Store]) -> None:
        say(store, ME, "a", "b")
        store.write(lambda unit: unit.segments.cut_after(ME, 2))
        assert open_from(reopen(), ME, "s1") == 3


def call(minutes: float, outcome: str = OK, job: int = 1) -> ModelCall:
    tokens = (1000, 50) if outcome == OK else (0, 0)
    return ModelCall(later(minutes), job, "model", "acme/m1", *tokens, 0.25, 1.5, outcome)


def add(store: Store, scope: Scope | None, one: ModelCall) -> None:
    store.write(lambda unit: unit.model_calls.add(scope, one))


class ModelCallsContract(Contract):
    def test_nothing_was_asked_at_first(self, store: Store) -> None:
        with store.read() as unit:
            assert unit.model_calls.spent(NOW) == Spent()
            assert unit.model_calls.latest() == []

    def test_calls_of_all_scopes_add_up_from_an_instant_on(self, store: Store) -> None:
        made = [(ME, call(0)), (YOU, call(1, "ModelUnavailable", 2)), (None, call(2, job=0)), (ME, call(3, job=4))]
        for scope, one in made:
            add(store, scope, one)
        with store.read() as unit:
            assert unit.model_calls.spent(NOW) == Spent(4, 1, 3000, 150, 1.0, 6.0)
            assert unit.model_calls.spent(later(2)) == Spent(2, 0, 2000, 100, 0.5, 3.0)
            assert unit.model_calls.spent(later(2)).tokens == 2100
            assert unit.model_calls.spent(NOW, "nobody") == Spent()
            [name] = {c.model for c in unit.model_calls.latest(9)}
            assert unit.model_calls.spent(NOW, name).calls == 4
            latest = unit.model_calls.latest(2)
        assert [(utc(c.at), c.job) for c in latest] == [(utc(later(3)), 4), (utc(later(2)), 0)]

    def test_calls_last(self, store: Store, reopen: Callable[[], Store]) -> None:
        add(store, ME, call(0))
        with reopen().read() as unit:
            [kept] = unit.model_calls.latest()
        assert (kept.model, kept.tokens_in, kept.tokens_out, kept.cost, kept.seconds) == (
            "acme/m1",
            1000,
            50,
            0.25,
            1.5,
        )
