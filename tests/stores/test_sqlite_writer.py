"""One writer thread: group commit, savepoints, closing, forking, interrupting."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, StoreClosed, StoreError
from jiyi.ports import Unit
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from tests.stores.facts import ME, NOW, YOU, failures, learn, terms_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_sqlite(tmp_path / "memory.db")
    yield store
    store.close()


def say(unit: Unit, scope: Scope, message_id: str, text: str = "我们用 PostgreSQL") -> int:
    [(message, _)] = unit.messages.add(scope, [IncomingMessage(message_id, "s1", Role.USER, text, NOW)])
    return message.seq


class Batch:
    """Requests that are certain to share one transaction: the first waits until all are queued."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._begun, self._queued = threading.Event(), threading.Event()

    def run(self, *works: Callable[[Unit], object]) -> list[object]:
        """What each gave back or raised."""
        with ThreadPoolExecutor(len(works) + 1) as pool:
            gate = pool.submit(self._store.write, self._wait)
            assert self._begun.wait(10)
            waiting = []
            for work in works:
                queued = self._store._writer._queue.qsize()
                waiting.append(pool.submit(self._store.write, work))
                while self._store._writer._queue.qsize() == queued:
                    pass
            self._queued.set()
            gate.result()
            return [future.exception() or future.result() for future in waiting]

    def _wait(self, unit: Unit) -> None:
        self._begun.set()
        assert self._queued.wait(10)


def test_eight_threads_lose_nothing(store: SqliteStore) -> None:
    def write(thread: int) -> None:
        for number in range(25):
            scope = Scope(f"u{number % 3}")
            store.write(partial(learn, scope=scope, message_id=f"{thread}-{number}", text=f"事实 fact {thread}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    with store.read() as unit:
        assert sum(unit.messages.last_seq(scope) for scope in unit.scopes()) == 200
        assert sum(len(unit.memories.listing(scope)) for scope in unit.scopes()) == 200
    assert failures(store) == []


def test_waiting_requests_share_a_transaction(store: SqliteStore) -> None:
    def committed_and_seen(unit: Unit) -> tuple[int, int]:
        with store.read() as outside:
            return outside.messages.last_seq(ME), unit.messages.last_seq(ME)

    answers = Batch(store).run(lambda unit: say(unit, ME, "a"), lambda unit: say(unit, ME, "b"), committed_and_seen)
    # The third sees what the first two did, and nobody else does yet: it is one uncommitted transaction.
    assert answers == [1, 2, (0, 2)]


def test_a_failing_request_takes_nobody_with_it(store: SqliteStore) -> None:
    def fail(unit: Unit) -> None:
        say(unit, YOU, "lost")
        say(unit, ME, "lost")
        raise RuntimeError("stop")

    def spoil(unit: Unit) -> None:
        say(unit, ME, "surrogate", "\ud800")

    first, failed, spoilt, last = Batch(store).run(
        lambda unit: say(unit, ME, "a"), fail, spoil, lambda unit: say(unit, ME, "b")
    )
    assert (first, last) == (1, 2)
    assert isinstance(failed, RuntimeError)
    assert isinstance(spoilt, InputError)
    with store.read() as unit:
        assert [m.id for m in unit.messages.window(ME)] == ["a", "b"]
        assert list(unit.scopes()) == [ME]


def test_an_owner_made_in_a_failed_request_is_forgotten(store: SqliteStore) -> None:
    def fail(unit: Unit) -> None:
        say(unit, YOU, "lost")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        store.write(fail)
    # ME gets the number that YOU would have had: a number kept from the failed request would mix the two up.
    store.write(lambda unit: say(unit, ME, "mine"))
    store.write(lambda unit: say(unit, YOU, "yours"))
    with store.read() as unit:
        assert [m.id for m in unit.messages.window(ME)] == ["mine"]
        assert [m.id for m in unit.messages.window(YOU)] == ["yours"]


def test_close_finishes_what_is_queued(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db")
    acknowledged: list[str] = []

    def write(thread: int) -> None:
        for number in range(1000):
            message_id = f"{thread}-{number}"
            try:
                store.write(partial(say, scope=ME, message_id=message_id))
            except StoreClosed:
                return
            acknowledged.append(message_id)

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(write, thread) for thread in range(4)]
        while len(acknowledged) < 20:
            pass
        store.close()
        for future in running:
            future.result()
    again = open_sqlite(tmp_path / "memory.db")
    with again.read() as unit:
        assert {m.id for m in unit.messages.window(ME, limit=5000)} == set(acknowledged)
    again.close()


def test_a_closed_store_says_so(store: SqliteStore, tmp_path: Path) -> None:
    store.write(lambda unit: say(unit, ME, "a"))
    with store.read() as unit:
        store.close()
        # A read that had begun may end in peace.
        assert unit.messages.last_seq(ME) == 1
    store.close()
    for use in (
        lambda: store.write(lambda unit: None),
        lambda: store.read().__enter__(),
        lambda: store.meta("segmenter"),
        lambda: store.set_meta("segmenter", "x"),
        lambda: list(store.check(terms_of)),
        lambda: store.backup(str(tmp_path / "copy.db")),
        store.purge,
        store.info,
        store.repair,
    ):
        with pytest.raises(StoreClosed):
            use()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["memory.db"]


def test_close_inside_a_write_is_refused(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="after the write"):
        store.write(lambda unit: store.close())
    assert store.write(lambda unit: say(unit, ME, "a")) == 1


def test_ctrl_c_while_waiting_leaves_a_whole_store(store: SqliteStore) -> None:
    def interrupted(unit: Unit) -> int:
        say(unit, ME, "a")
        os.kill(os.getpid(), signal.SIGINT)
        return say(unit, ME, "b")

    with pytest.raises(KeyboardInterrupt):
        store.write(interrupted)
    assert store.write(lambda unit: say(unit, ME, "c")) == 3
    with store.read() as unit:
        assert [m.id for m in unit.messages.window(ME)] == ["a", "b", "c"]


FORK = """
import os, sys
from jiyi.errors import StoreError
from jiyi.stores.sqlite.store import open_sqlite
store = open_sqlite(sys.argv[1])
child = os.fork()
if child == 0:
    refused = 0
    for use in (lambda: store.write(lambda unit: None), lambda: store.read().__enter__()):
        try:
            use()
        except StoreError as error:
            refused += "fork" in str(error)
    store.close()
    os._exit(0 if refused == 2 else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
store.set_meta("after", "fork")
store.close()
sys.exit(code)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, str(tmp_path / "memory.db")], timeout=60, check=False)
    assert done.returncode == 0


def test_a_thread_that_ends_lets_go_of_its_connection(store: SqliteStore) -> None:
    def read() -> None:
        with store.read() as unit:
            unit.messages.last_seq(ME)

    for _ in range(5):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert len(store._readers._all) == 0


FORK_WHILE_READS_ARE_WRITTEN = """
import os, sys, threading
from jiyi.assembly import open_memory
memory = open_memory(sys.argv[1], worker=False)
me = memory.scope("u")
me.remember("我住在苏州")
me.recall("苏州")
inside, go_on = threading.Event(), threading.Event()
def slow(unit):
    inside.set()
    go_on.wait()
gathered = memory._engine.reads._gathered
gathered._write = lambda unit, notes: slow(unit)
threading.Thread(target=gathered.flush, daemon=True).start()
inside.wait()
child = os.fork()
if child == 0:
    memory.close()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
memory.close()
sys.exit(code)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_can_close_what_was_open_while_reads_were_written(tmp_path: Path) -> None:
    """The thread that holds the lock is not in the child."""
    command = [sys.executable, "-c", FORK_WHILE_READS_ARE_WRITTEN, str(tmp_path / "m.db")]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0


def test_another_database_in_the_place_of_this_one_gives_nobody_anothers_memories(tmp_path: Path) -> None:
    """An old backup, put into the file while it is open: the number of a user who came later is somebody else's then."""
    path, backup = tmp_path / "m.db", tmp_path / "backup.db"
    with closing(open_sqlite(path)) as store:
        store.write(lambda unit: learn(unit, ME, "a", "mine"))
        store.backup(str(backup))
        store.write(lambda unit: learn(unit, YOU, "b", "yours"))
        with store.read() as unit:
            assert [m.text for m in unit.messages.window(YOU)] == ["yours"]
        with closing(sqlite3.connect(backup)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        other = Scope("u003")
        with closing(open_sqlite(path)) as second:
            second.write(lambda unit: learn(unit, other, "c", "others"))
        with store.read() as unit:
            assert list(unit.messages.window(YOU)) == []
        with store.read(YOU) as unit:
            assert list(unit.messages.window(YOU)) == []
            assert [m.text for m in unit.messages.window(other)] == ["others"]
        store.write(lambda unit: learn(unit, YOU, "d", "yours again"))
        with store.read() as unit:
            assert [m.text for m in unit.messages.window(other)] == ["others"]
