"""What reading leaves behind is gathered and written together: reading never waits for a write (SPEC F5, R10)."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from jiyi.errors import StoreClosed, StoreError
from jiyi.ports import Store, Unit

T = TypeVar("T")

MOST = 100_000
"""Notes that are kept while the store takes none; the oldest go first."""
LINGER_SECONDS = 5.0
"""A thread that has written waits so long for more: to begin one costs a reader more than what it writes."""

log = logging.getLogger("jiyi.reads")


class Gathered(Generic[T]):
    """Notes that are not written yet. A crash loses at most `flush_after` of them, never a memory."""

    def __init__(self, store: Store, flush_after: int, write: Callable[[Unit, Sequence[T]], None], what: str) -> None:
        """`write` puts notes into the store; `what` names them in the log."""
        self._store, self._flush_after, self._write, self._what = store, flush_after, write, what
        self._lock = threading.Lock()
        self._notes: list[T] = []
        self._one_writes = threading.Lock()
        self._wake: SimpleQueue[bool] = SimpleQueue()
        self._aside: threading.Thread | None = None
        self._busy = False
        self._process = os.getpid()

    def note(self, notes: Iterable[T]) -> None:
        """Take notes; has them written aside when enough have gathered."""
        with self._lock:
            self._notes.extend(notes)
            if len(self._notes) < self._flush_after or self._busy:
                return
            self._busy = True
            self._wake.put(True)
            if self._aside is None:
                self._aside = threading.Thread(target=self._write_aside, name="jiyi-reads", daemon=True)
                self._aside.start()

    def flush(self) -> None:
        """Write what has gathered, also what is being written aside. Raises: StoreError, and then it is kept for the next time."""
        if os.getpid() != self._process:
            return  # A thread that is not here may hold the lock. What has gathered is the parent's to write.
        with self._one_writes:
            with self._lock:
                notes, self._notes = self._notes, []
            if not notes:
                return
            try:
                # Again also where it may have been kept: a read that is counted twice is worth less than a read that fails.
                self._store.write(lambda unit: self._write(unit, notes), again=True)
            except StoreError:
                with self._lock:
                    self._notes = [*notes, *self._notes][-MOST:]
                raise

    def close(self) -> None:
        """Write what has gathered, if the store still takes it."""
        self._wake.put(False)
        self._try_to_flush()

    def _write_aside(self) -> None:
        """Write each time it is woken, until nobody does for a while."""
        try:
            while self._woken():
                self._try_to_flush()
                with self._lock:
                    self._busy = False
        except BaseException:
            with self._lock:
                self._aside, self._busy = None, False  # the next note begins another one
            raise

    def _woken(self) -> bool:
        try:
            return self._wake.get(timeout=LINGER_SECONDS)
        except Empty:
            pass
        with self._lock:
            # Whoever wakes it holds the lock: either that came before, or finds no thread.
            if self._wake.empty():
                self._aside = None
                return False
        return self._wake.get()

    def _try_to_flush(self) -> None:
        """Notes are never worth failing a read, or leaving a store open, for."""
        try:
            self.flush()
        except StoreClosed:
            return
        except StoreError as error:
            log.warning("%s could not be written, they will be with the next ones: %s", self._what, error)
