"""One writer thread for a store, with group commit.

Callers hand in closures. The thread takes what has come in, up to 64, into one transaction, each in a
savepoint of its own, and answers after the COMMIT: eight callers share the price of one fsync, and no
caller is told that something is stored before it is.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

from jiyi.errors import StoreBusy, StoreClosed, StoreCorrupt, StoreError
from jiyi.stores.sqlite.access import Access, store_error
from jiyi.stores.sqlite.connection import begin_immediate

T = TypeVar("T")

MAX_BATCH = 64


class _Request:
    """`alone` runs outside of any transaction, with the bare connection (checkpoints, VACUUM)."""

    __slots__ = ("_done", "abandoned", "alone", "error", "result", "work")

    def __init__(
        self, work: Callable[[Access], Any] | None = None, alone: Callable[[sqlite3.Connection], Any] | None = None
    ) -> None:
        self.work = work
        self.alone = alone
        self.result: Any = None
        self.error: BaseException | None = None
        self.abandoned = False
        self._done = threading.Lock()
        self._done.acquire()

    def answer(self, error: BaseException | None = None) -> None:
        """Let the caller go on; only the first answer counts."""
        if self._done.locked():
            self.error = error
            self._done.release()

    def wait(self) -> None:
        try:
            self._done.acquire()
        except BaseException:
            # Ctrl-C while waiting: not run if it has not begun; committed or rolled back as a whole if it has.
            self.abandoned = True
            raise


class _TransactionLost(Exception):
    """SQLite has rolled back the whole transaction by itself, as it does when the disk is full."""

    def __init__(self, error: StoreError) -> None:
        super().__init__(str(error))
        self.error = error


class Writer:
    """Owns the one connection that writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._ahead: deque[_Request | None] = deque()
        self._running: list[_Request] = []
        self._gate = threading.Lock()
        self._closed = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="jiyi-writer", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------------------ for callers

    def write(self, work: Callable[[Access], T]) -> T:
        """Run `work` in a transaction; return its result once it is durable.

        Raises:
            StoreClosed, StoreBusy, StoreError: and nothing of it was kept. Errors of `work` come back as they are.
        """
        return cast(T, self._submit(_Request(work=work)))

    def alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` between transactions, with the bare connection."""
        return cast(T, self._submit(_Request(alone=work)))

    def _submit(self, request: _Request) -> Any:
        if threading.current_thread() is self._thread:
            raise StoreError("write() inside write(): do it all in one write, or one after the other")
        if os.getpid() != self._process:
            raise StoreError("this memory was opened before the process forked: open it again in the new process")
        with self._gate:
            if self._closed:
                raise StoreClosed
            self._queue.put(request)
        request.wait()
        if request.error is not None:
            try:
                raise request.error
            finally:
                # The traceback holds this frame, and the frame would hold the error.
                request.error = None
        return request.result

    def close(self) -> None:
        """Finish what is queued and let go of the connection. Closing twice is fine."""
        if threading.current_thread() is self._thread:
            raise StoreError("close() inside write(): close the memory after the write")
        with self._gate:
            if self._closed or os.getpid() != self._process:
                return
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    # ------------------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        try:
            while (request := self._next()) is not None:
                if request.alone is not None:
                    self._run_alone(request, request.alone)
                else:
                    self._run_batch(request)
        finally:
            with self._gate:
                self._closed = True
            # Nobody may wait for ever, even if this thread has ended through a mistake of ours.
            for request in [*self._running, *self._drain_all()]:
                request.answer(StoreClosed())
            self._connection.close()

    def _next(self) -> _Request | None:
        return self._ahead.popleft() if self._ahead else self._queue.get()

    def _drain(self, first: _Request) -> Iterator[_Request]:
        """The first request and those that come in meanwhile, up to the first that is not for a transaction."""
        yield first
        for _ in range(MAX_BATCH - 1):
            try:
                request = self._ahead.popleft() if self._ahead else self._queue.get_nowait()
            except Empty:
                return
            if request is None or request.work is None:
                self._ahead.appendleft(request)
                return
            yield request

    def _run_alone(self, request: _Request, alone: Callable[[sqlite3.Connection], Any]) -> None:
        try:
            request.result = alone(self._connection)
        except sqlite3.Error as error:
            self._roll_back()
            request.answer(store_error(error))
        except BaseException as error:  # noqa: BLE001 - the edge of a request: its caller gets whatever it was
            self._roll_back()
            request.answer(error)
        else:
            request.answer()

    def _run_batch(self, first: _Request) -> None:
        try:
            begin_immediate(self._connection)
        except StoreError as error:
            # Those behind it would wait for the same lock just as long.
            self._refuse([first, *self._drain_all()], error)
            return
        done = self._running = []
        try:
            for request in self._drain(first):
                done.append(request)
                if not self._run_one(request):
                    done.pop()
            self._connection.execute("COMMIT")
        except _TransactionLost as lost:
            self._refuse(done, lost.error)
            return
        except sqlite3.Error as error:
            self._roll_back()
            self._refuse(done, store_error(error))
            return
        for request in done:
            request.answer()

    def _run_one(self, request: _Request) -> bool:
        """Run one request in its savepoint; whether it is to be committed. If not, it has been answered.

        Raises:
            _TransactionLost, sqlite3.Error: nothing of the transaction can be kept.
        """
        if request.abandoned:
            request.answer()
            return False
        assert request.work is not None
        self._connection.execute("SAVEPOINT request")
        access = Access(self._connection, writable=True)
        try:
            request.result = request.work(access)
        except BaseException as error:  # noqa: BLE001 - the edge of a request: its caller gets whatever it was
            self._check_transaction(error)
            self._connection.execute("ROLLBACK TO request")
            self._connection.execute("RELEASE request")
            request.answer(error)
            return False
        finally:
            access.end()
        self._check_transaction(None)
        self._connection.execute("RELEASE request")
        return True

    def _check_transaction(self, error: BaseException | None) -> None:
        if not self._connection.in_transaction:
            lost = "the database gave up a transaction (disk full, or a read error): nothing of it was kept, try again"
            raise _TransactionLost(error if isinstance(error, StoreError) else StoreError(lost))

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _drain_all(self) -> list[_Request]:
        waiting: list[_Request] = []
        while not self._queue.empty() or self._ahead:
            request = self._next()
            if request is None:
                self._ahead.append(None)
                break
            waiting.append(request)
        return waiting

    def _refuse(self, requests: list[_Request], error: StoreError) -> None:
        for request in requests:
            # One error object each: raising in several threads at once would mix their tracebacks.
            kind = type(error) if isinstance(error, StoreBusy | StoreCorrupt) else StoreError
            request.answer(kind(str(error)))
