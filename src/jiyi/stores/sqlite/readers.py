"""Reading: one connection per thread, one snapshot at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jiyi.domain.scope import Scope
from jiyi.errors import StoreClosed, StoreError
from jiyi.stores.sqlite.access import Access, store_error
from jiyi.stores.sqlite.connection import connect_reader
from jiyi.stores.sqlite.unit import SqliteUnit

MakeUnit = Callable[[Access, Scope | None], SqliteUnit]


class _Reader:
    """The connection of one thread. `busy` is held while it reads, so that nobody closes it meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection: sqlite3.Connection | None = connection
        self.busy = threading.RLock()
        self.unit: SqliteUnit | None = None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def __del__(self) -> None:
        self.close()


class Readers:
    """The reading connections of a store. One goes with its thread, all go with `close()`."""

    def __init__(self, path: Path, make_unit: MakeUnit) -> None:
        self._path = path
        self._make_unit = make_unit
        self._of_thread = threading.local()
        self._all: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._gate = threading.Lock()
        self._closed = False
        self._process = os.getpid()

    @contextmanager
    def snapshot(self, scope: Scope | None = None) -> Iterator[SqliteUnit]:
        """A consistent view, mostly of this scope; inside another one of the same thread, that one."""
        reader = self._reader()
        with reader.busy:
            if reader.unit is not None:
                yield reader.unit
                return
            access = self._begin(reader)
            try:
                reader.unit = self._make_unit(access, scope)
                yield reader.unit
            finally:
                self._end(reader, access)

    def _reader(self) -> _Reader:
        if self._closed:
            raise StoreClosed
        if os.getpid() != self._process:
            raise StoreError("this memory was opened before the process forked: open it again in the new process")
        reader: _Reader | None = getattr(self._of_thread, "reader", None)
        if reader is None:
            reader = _Reader(connect_reader(self._path))
            with self._gate:
                self._all.add(reader)
            self._of_thread.reader = reader
        return reader

    def _begin(self, reader: _Reader) -> Access:
        # close() may have come between finding the reader and holding it.
        if self._closed or reader.connection is None:
            reader.close()
            raise StoreClosed
        try:
            reader.connection.execute("BEGIN")
        except sqlite3.Error as error:
            raise store_error(error) from error
        return Access(reader.connection, writable=False)

    def _end(self, reader: _Reader, access: Access) -> None:
        reader.unit = None
        access.end()
        try:
            if reader.connection is not None and reader.connection.in_transaction:
                reader.connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise store_error(error) from error
        finally:
            if self._closed:
                reader.close()

    def close(self) -> None:
        """Close every connection; one that is reading right now is closed by its thread when it is done."""
        with self._gate:
            self._closed = True
            if os.getpid() != self._process:
                return
            for reader in list(self._all):
                if reader.busy.acquire(blocking=False):
                    try:
                        if reader.unit is None:
                            reader.close()
                    finally:
                        reader.busy.release()
