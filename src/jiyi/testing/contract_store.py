"""What `ports.Store` and `ports.Unit` promise: transactions, snapshots, reopening, threads, care."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from jiyi.domain.heat import Heat
from jiyi.domain.memory import Memory, Message, Triple
from jiyi.domain.relations import USER
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Detail, Standing
from jiyi.domain.summary import SessionSummary
from jiyi.errors import StoreClosed, StoreError
from jiyi.ports import Document, JobCounts, Kind, Store, Unit
from jiyi.testing.contract_base import (
    ME,
    NAMESAKE,
    NOW,
    YOU,
    Contract,
    added,
    blot,
    evidence,
    later,
    memory,
    message,
    plan,
    put_memories,
    put_messages,
)
from jiyi.testing.contract_served import done, service_key
from jiyi.testing.contract_summaries import summary
from jiyi.testing.contract_traces import trace

DOCUMENT = Document(1, {"绿茶": 2, "tea": 1}, 3)
LIKES_TEA = memory(1, "喜欢绿茶", triple=Triple(USER, "LIKES", "绿茶"), evidence=(evidence(1),))

CHANGES: dict[str, Callable[[Unit], object]] = {
    "messages.add": lambda unit: unit.messages.add(ME, [message("new")]),
    "messages.rewrite": lambda unit: blot(unit, ME, 1, "x"),
    "memories.write": lambda unit: unit.memories.write(ME, added(memory(2))),
    "memories.next_seq": lambda unit: unit.memories.next_seq(ME),
    "memories.set_heat": lambda unit: unit.memories.set_heat(ME, {1: Heat(9.0, NOW)}),
    "text.add": lambda unit: unit.text.add(ME, Kind.MESSAGE, [Document(9, {"tea": 1}, 1)]),
    "text.remove": lambda unit: unit.text.remove(ME, Kind.MEMORY, [DOCUMENT]),
    "text.mark_indexed_up_to": lambda unit: unit.text.mark_indexed_up_to(ME, 9),
    "text.clear": lambda unit: unit.text.clear(ME),
    "ledger.append": lambda unit: unit.ledger.append(ME, plan()),
    "ledger.erase": lambda unit: unit.ledger.erase(ME, [1]),
    "standings.set": lambda unit: unit.standings.set(ME, Standing(Detail.MINIMAL, NOW)),
    "jobs.put": lambda unit: unit.jobs.put(ME, "index", {}, NOW),
    "traces.add": lambda unit: unit.traces.add(ME, [trace(9)]),
    "traces.trim": lambda unit: unit.traces.trim(ME, 0, NOW),
    "traces.clear": lambda unit: unit.traces.clear(ME),
    "once.add": lambda unit: unit.once.add(ME, done(9)),
    "once.trim": lambda unit: unit.once.trim(ME, 0, NOW),
    "once.blank": lambda unit: unit.once.blank(ME),
    "service_keys.add": lambda unit: unit.service_keys.add(service_key(9)),
    "service_keys.revoke": lambda unit: unit.service_keys.revoke("k1", NOW),
    "schedule.put": lambda unit: unit.schedule.put(ME, "upkeep", later(7)),
    "schedule.sooner": lambda unit: unit.schedule.sooner(ME, "upkeep", later(1)),
    "schedule.drop": lambda unit: unit.schedule.drop(ME, "upkeep"),
    "schedule.take": lambda unit: unit.schedule.take(later(6), 1),
    "jobs.claim": lambda unit: unit.jobs.claim(NOW, later(5)),
}
"""Every kind of change, each of which does something to a store after `fill`."""


def fill(store: Store) -> None:
    """Something of everything."""

    def work(unit: Unit) -> None:
        unit.messages.add(ME, [message("a", "我喜欢绿茶")])
        unit.memories.next_seq(ME)
        unit.memories.write(ME, added(LIKES_TEA))
        unit.memories.set_heat(ME, {1: Heat(2.0, NOW)})
        unit.summaries.write(ME, [summary(1, messages=(1,))])
        for kind in Kind:
            unit.text.add(ME, kind, [DOCUMENT])
        unit.text.mark_indexed_up_to(ME, 1)
        unit.ledger.append(ME, plan(*added(LIKES_TEA)))
        unit.jobs.put(ME, "distil", {"upto": 1}, NOW)
        unit.schedule.put(ME, "upkeep", later(5))
        unit.traces.add(ME, [trace(1)])
        unit.once.add(ME, done(1))
        unit.service_keys.add(service_key(1))

    store.write(work)


def picture(store: Store) -> list[object]:
    """Everything of the scope ME, to compare with."""
    with store.read() as unit:
        return [
            list(unit.scopes()),
            unit.messages.get(ME, range(99)),
            unit.memories.listing(ME, status=None),
            unit.memories.resting_on(ME, range(99)),
            unit.memories.heat(ME, range(99)),
            unit.summaries.listing(ME),
            [unit.text.search(ME, kind, [("绿茶", 1.0), ("tea", 1.0)], 99) for kind in Kind],
            [unit.text.frequencies(ME, kind, ["绿茶", "tea"]) for kind in Kind],
            unit.text.indexed_up_to(ME),
            unit.ledger.entries(ME),
            unit.standings.get(ME),
            unit.jobs.counts(None, NOW),
            unit.schedule.get(ME, "upkeep"),
            unit.traces.latest(ME, 99),
            [unit.once.get(ME, done(n).key) for n in (1, 9)],
            unit.service_keys.all(),
        ]


def terms_of(kind: Kind, item: Memory | Message | SessionSummary) -> Document:
    return Document(item.seq, DOCUMENT.terms, DOCUMENT.length)


class StoreContract(Contract):
    """Two more fixtures: `backup_target`, a name where a backup can go, and `open_backup`, which opens one."""

    @pytest.fixture
    def backup_target(self, tmp_path: Path) -> str:
        return str(tmp_path / "copy.db")

    @pytest.fixture
    def open_backup(self) -> Callable[[str], Store]:
        raise NotImplementedError("the suite needs an `open_backup` fixture: a callable that opens a backup by name")

    # ------------------------------------------------------------------ transactions

    def test_write_gives_back_the_result(self, store: Store) -> None:
        assert store.write(lambda unit: ("answer", 42)) == ("answer", 42)
        assert store.write(lambda unit: None) is None

    def test_a_write_sees_what_it_wrote(self, store: Store) -> None:
        def work(unit: Unit) -> None:
            unit.messages.add(ME, [message("a", "我喜欢绿茶")])
            unit.memories.write(ME, added(LIKES_TEA))
            unit.text.add(ME, Kind.MEMORY, [DOCUMENT])
            unit.ledger.append(ME, plan())
            assert unit.messages.last_seq(ME) == 1
            assert unit.memories.resting_on(ME, [1]) == {1: [1]}
            assert [hit.seq for hit in unit.text.search(ME, Kind.MEMORY, [("tea", 1.0)], 5)] == [1]
            assert [entry.seq for entry in unit.ledger.entries(ME)] == [1]
            assert list(unit.scopes()) == [ME]

        store.write(work)

    @pytest.mark.parametrize("change", CHANGES)
    def test_every_change_changes_something(self, store: Store, change: str) -> None:
        fill(store)
        before = picture(store), store.write(lambda unit: unit.memories.next_seq(ME))
        store.write(CHANGES[change])
        after = picture(store), store.write(lambda unit: unit.memories.next_seq(ME)) - 1
        assert after != before

    @pytest.mark.parametrize("change", CHANGES)
    def test_an_error_keeps_nothing_and_comes_back(self, store: Store, change: str) -> None:
        fill(store)
        before = picture(store)
        stop = RuntimeError("stop")

        def work(unit: Unit) -> None:
            for made in CHANGES.values():
                made(unit)
                if made is CHANGES[change]:
                    raise stop

        with pytest.raises(RuntimeError) as raised:
            store.write(work)
        assert raised.value is stop
        assert picture(store) == before
        assert store.write(lambda unit: unit.memories.next_seq(ME)) == 2

    @pytest.mark.parametrize("change", CHANGES)
    def test_a_reading_unit_refuses_to_change(self, store: Store, change: str) -> None:
        fill(store)
        before = picture(store)
        with store.read() as unit, pytest.raises(StoreError):
            CHANGES[change](unit)
        assert picture(store) == before

    def test_write_inside_write_is_refused(self, store: Store) -> None:
        fill(store)
        before = picture(store)

        def outer(unit: Unit) -> None:
            unit.messages.add(ME, [message("outer")])
            store.write(lambda inner: inner.messages.add(ME, [message("inner")]))

        with pytest.raises(StoreError, match="write"):
            store.write(outer)
        assert picture(store) == before
        put_messages(store, ME, message("next"))

    def test_a_unit_that_is_over_cannot_be_used(self, store: Store) -> None:
        fill(store)
        before = picture(store)
        kept = [store.write(lambda unit: unit)]
        with store.read() as unit:
            kept.append(unit)
        for unit in kept:
            with pytest.raises(StoreError):
                unit.messages.add(ME, [message("late")])
            with pytest.raises(StoreError):
                unit.messages.last_seq(ME)
        assert picture(store) == before

    # ------------------------------------------------------------------ snapshots

    def test_a_snapshot_does_not_move(self, store: Store) -> None:
        fill(store)
        with store.read() as unit:
            assert unit.messages.last_seq(ME) == 1
            store.write(lambda writer: [made(writer) for made in CHANGES.values()])
            assert unit.messages.last_seq(ME) == 1
            assert unit.memories.listing(ME, status=None) == [LIKES_TEA]
            assert unit.memories.heat(ME, [1]) == {1: Heat(2.0, NOW)}
            assert [hit.seq for hit in unit.text.search(ME, Kind.MEMORY, [("tea", 1.0)], 5)] == [1]
            assert [entry.forgotten for entry in unit.ledger.entries(ME)] == [False]
            assert unit.jobs.counts(None, NOW) == JobCounts(1, 0, 0, NOW)
        with store.read() as unit:
            assert unit.messages.last_seq(ME) == 2
            assert [entry.forgotten for entry in unit.ledger.entries(ME)] == [True, False]

    def test_what_is_written_is_seen_by_the_next_read_of_any_thread(self, store: Store) -> None:
        def read() -> int:
            with store.read() as unit:
                return unit.messages.last_seq(ME)

        with ThreadPoolExecutor(2) as pool:
            for number in range(1, 6):
                put_messages(store, ME, message(str(number)))
                assert [pool.submit(read).result() for _ in range(2)] == [number, number]

    def test_snapshots_may_overlap(self, store: Store) -> None:
        with store.read() as first:
            assert first.messages.last_seq(ME) == 0
            put_messages(store, ME, message("a"))
            with store.read() as second:
                put_messages(store, ME, message("b"))
                assert [u.messages.last_seq(ME) for u in (first, second)] in ([0, 1], [0, 0])
            assert first.messages.last_seq(ME) == 0

    # ------------------------------------------------------------------ reopening

    def test_reopening_finds_everything(self, store: Store, reopen: Callable[[], Store]) -> None:
        fill(store)
        store.set_meta("segmenter", "jiyi-1 用户词典")
        before, secret = picture(store), store.secret
        store.close()
        again = reopen()
        assert picture(again) == before
        assert (again.meta("segmenter"), again.secret) == ("jiyi-1 用户词典", secret)
        assert put_messages(again, ME, message("b")) == [2]
        assert again.write(lambda unit: unit.memories.next_seq(ME)) == 2
        assert again.write(lambda unit: unit.ledger.append(ME, plan())).seq == 2
        job = again.write(lambda unit: unit.jobs.claim(later(1), later(2)))
        assert job is not None
        assert (job.kind, job.payload, job.attempt) == ("distil", {"upto": 1}, 1)

    def test_a_lease_outlives_its_worker(self, store: Store, reopen: Callable[[], Store]) -> None:
        fill(store)
        job = store.write(lambda unit: unit.jobs.claim(NOW, later(5)))
        store.close()
        again = reopen()
        assert again.write(lambda unit: unit.jobs.claim(later(4), later(9))) is None
        taken = again.write(lambda unit: unit.jobs.claim(later(6), later(9)))
        assert job is not None
        assert taken is not None
        assert (taken.id, taken.attempt) == (job.id, 2)

    def test_two_handles_share_the_data(self, store: Store, reopen: Callable[[], Store]) -> None:
        other = reopen()
        put_messages(store, ME, message("a"))
        assert put_messages(other, ME, message("b")) == [2]
        store.set_meta("who", "me")
        for handle in (store, other):
            with handle.read() as unit:
                assert [m.id for m in unit.messages.window(ME)] == ["a", "b"]
            assert handle.meta("who") == "me"
        assert store.secret == other.secret

    # ------------------------------------------------------------------ meta, secret, scopes

    def test_meta_keeps_names_and_values(self, store: Store) -> None:
        assert store.meta("segmenter") is None
        values = {"segmenter": "一", "Segmenter": "二", "%": "", "'": "quote'\"", "e\u0301": "\u00e9"}
        for name, value in values.items():
            store.set_meta(name, value)
        assert {name: store.meta(name) for name in values} == values
        store.set_meta("segmenter", "三")
        assert store.meta("segmenter") == "三"

    def test_the_secret_is_32_bytes_and_stays(self, store: Store) -> None:
        assert isinstance(store.secret, bytes)
        assert len(store.secret) == 32
        assert len(set(store.secret)) > 8
        put_messages(store, ME, message("a"))
        assert store.secret == store.secret

    def test_scopes_come_in_order_of_creation(self, store: Store) -> None:
        names = ["李明", "b", "a", "%", "é", "e\u0301", "B"]
        expected = [Scope(name, tenant) for name in names for tenant in ("default", "其他")]
        with store.read() as unit:
            assert list(unit.scopes()) == []
        for scope in expected:
            put_messages(store, scope, message("a"))
        put_messages(store, expected[0], message("b"))
        with store.read() as unit:
            assert list(unit.scopes()) == expected
            assert [unit.messages.last_seq(scope) for scope in expected] == [2] + [1] * (len(expected) - 1)

    def test_a_scope_begins_with_its_first_write_of_any_kind(self, store: Store) -> None:
        writes: list[Callable[[Scope, Unit], object]] = [
            lambda scope, unit: unit.jobs.put(scope, "index", {}, NOW),
            lambda scope, unit: unit.ledger.append(scope, plan()),
            lambda scope, unit: unit.text.add(scope, Kind.MEMORY, [DOCUMENT]),
            lambda scope, unit: unit.memories.write(scope, added(memory(1))),
            lambda scope, unit: unit.text.mark_indexed_up_to(scope, 3),
        ]
        expected = [Scope(f"u{i}") for i in range(len(writes))]
        for write, scope in zip(writes, expected, strict=True):
            store.write(partial(write, scope))
        with store.read() as unit:
            assert list(unit.scopes()) == expected

    def test_reading_or_failing_begins_no_scope(self, store: Store) -> None:
        def work(unit: Unit) -> None:
            unit.messages.add(YOU, [message("a")])
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(work)
        with store.read() as unit:
            unit.messages.window(NAMESAKE)
            unit.memories.listing(NAMESAKE)
        put_messages(store, ME, message("a"))
        with store.read() as unit:
            assert list(unit.scopes()) == [ME]

    # ------------------------------------------------------------------ threads

    def test_threads_that_write_at_once_lose_nothing(self, store: Store) -> None:
        start = threading.Barrier(6)

        def record(scope: Scope, unit: Unit) -> None:
            unit.ledger.append(scope, plan())

        def work(worker: int) -> list[int]:
            start.wait()
            numbers = []
            for i in range(15):
                scope, name = (ME, YOU)[worker % 2], f"{worker}-{i}"
                numbers += put_messages(store, scope, message(name, f"{name} said"))
                store.write(partial(record, scope))
            return numbers

        with ThreadPoolExecutor(6) as pool:
            given = list(pool.map(work, range(6)))
        assert all(numbers == sorted(numbers) for numbers in given)
        with store.read() as unit:
            for i, scope in enumerate((ME, YOU)):
                assert sorted(n for numbers in given[i::2] for n in numbers) == list(range(1, 46))
                stored = unit.messages.get(scope, range(99))
                assert {m.id for m in stored} == {f"{w}-{n}" for w in range(i, 6, 2) for n in range(15)}
                assert all(m.text == f"{m.id} said" for m in stored)
                assert [e.seq for e in unit.ledger.entries(scope)] == list(range(1, 46))

    def test_an_error_in_one_thread_harms_no_other(self, store: Store) -> None:
        start = threading.Barrier(4)

        def half(i: int, unit: Unit) -> float:
            unit.messages.add(ME, [message(f"bad{i}")])
            return 1 / 0

        def work(worker: int) -> None:
            start.wait()
            for i in range(15):
                if worker % 2:
                    put_messages(store, ME, message(f"{worker}-{i}"))
                    continue
                with pytest.raises(ZeroDivisionError):
                    store.write(partial(half, i))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        with store.read() as unit:
            stored = unit.messages.get(ME, range(99))
        assert [m.seq for m in stored] == list(range(1, 31))
        assert {m.id for m in stored} == {f"{worker}-{i}" for worker in (1, 3) for i in range(15)}

    def test_workers_share_the_queue_without_taking_a_job_twice(self, store: Store) -> None:
        scopes = [Scope(f"u{i}") for i in range(20)]
        store.write(lambda unit: [unit.jobs.put(scope, "index", {}, NOW) for scope in scopes])

        def work(_: int) -> list[Scope]:
            taken = []
            while job := store.write(lambda unit: unit.jobs.claim(NOW, later(5))):
                taken.append(job.scope)
            return taken

        with ThreadPoolExecutor(4) as pool:
            taken = [scope for batch in pool.map(work, range(4)) for scope in batch]
        assert sorted(taken) == sorted(scopes)

    # ------------------------------------------------------------------ care

    def test_info_says_what_it_is(self, store: Store) -> None:
        info = store.info()
        assert info.kind
        assert info.place
        assert info.schema_version >= 1

    def test_a_sound_store_passes_every_check(self, store: Store) -> None:
        assert all(check.ok for check in store.check(terms_of))
        fill(store)
        checks = list(store.check(terms_of))
        assert checks
        assert [check for check in checks if not check.ok] == []
        assert all(check.name for check in checks)

    @pytest.mark.parametrize("wrong", ["missing", "strange", "other terms"])
    def test_a_check_finds_a_wrong_index_and_says_what_to_do(self, store: Store, wrong: str) -> None:
        fill(store)

        def spoil(unit: Unit) -> None:
            if wrong != "strange":
                unit.text.remove(ME, Kind.MEMORY, [DOCUMENT])
            if wrong == "strange":
                unit.text.add(ME, Kind.MEMORY, [Document(9, DOCUMENT.terms, DOCUMENT.length)])
            if wrong == "other terms":
                unit.text.add(ME, Kind.MEMORY, [Document(1, {"coffee": 1}, 1)])

        store.write(spoil)
        failed = [check for check in store.check(terms_of) if not check.ok]
        assert failed
        assert all(check.fix for check in failed)

    def test_purging_loses_nothing_that_was_kept(self, store: Store) -> None:
        store.purge()
        fill(store)
        before = picture(store)
        store.purge()
        assert picture(store) == before

    def test_what_was_erased_is_known_until_it_is_purged(self, store: Store, reopen: Callable[[], Store]) -> None:
        fill(store)
        assert not store.erased()

        def stopped(unit: Unit) -> None:
            blot(unit, ME, 1)
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(stopped)
        assert not store.erased()
        store.write(lambda unit: blot(unit, ME, 1))
        assert store.erased()
        assert reopen().erased()
        store.purge()
        assert not store.erased()
        store.write(lambda unit: unit.ledger.append(ME, plan(*added(memory(7)))))
        store.write(lambda unit: unit.ledger.erase(ME, [99]))
        assert not store.erased()
        store.write(lambda unit: unit.ledger.erase(ME, [7]))
        assert store.erased()

    def test_a_backup_is_a_database_of_its_own(
        self, store: Store, backup_target: str, open_backup: Callable[[str], Store]
    ) -> None:
        fill(store)
        store.set_meta("segmenter", "jiyi-1")
        before = picture(store)
        with store.read() as unit:
            assert unit.messages.last_seq(ME) == 1
            store.backup(backup_target)
        put_messages(store, ME, message("later"))
        copy = open_backup(backup_target)
        assert picture(copy) == before
        assert (copy.meta("segmenter"), copy.secret) == ("jiyi-1", store.secret)
        put_messages(copy, ME, message("only here"))
        with store.read() as unit:
            assert unit.messages.by_id(ME, "only here") is None

    def test_a_backup_overwrites_nothing(
        self, store: Store, backup_target: str, open_backup: Callable[[str], Store]
    ) -> None:
        put_memories(store, ME, memory(1))
        store.backup(backup_target)
        put_memories(store, ME, memory(2))
        with pytest.raises(StoreError):
            store.backup(backup_target)
        with open_backup(backup_target).read() as unit:
            assert unit.memories.listing(ME) == [memory(1)]

    # ------------------------------------------------------------------ closing

    def test_closing_twice_is_fine(self, store: Store) -> None:
        store.close()
        store.close()

    def test_a_closed_store_says_so(self, store: Store, backup_target: str) -> None:
        fill(store)
        store.close()
        uses: list[Callable[[], object]] = [
            lambda: store.read().__enter__(),
            lambda: store.write(lambda unit: None),
            lambda: store.meta("segmenter"),
            lambda: store.set_meta("segmenter", "x"),
            lambda: list(store.check(terms_of)),
            store.purge,
            store.erased,
            lambda: store.backup(backup_target),
        ]
        for use in uses:
            with pytest.raises(StoreClosed):
                use()

    def test_closing_one_handle_leaves_the_other(self, store: Store, reopen: Callable[[], Store]) -> None:
        other = reopen()
        put_messages(store, ME, message("a"))
        store.close()
        assert put_messages(other, ME, message("b")) == [2]
