"""Opening SQLite files the way jiyi uses them."""

from __future__ import annotations

import math
import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Literal

from jiyi.errors import StoreBusy, StoreCorrupt, StoreError
from jiyi.stores.sqlite.access import is_busy, store_error

Synchronous = Literal["FULL", "NORMAL"]

BUSY_MILLISECONDS = 5_000
PATIENCE_SECONDS = 60.0
MMAP_BYTES = 1 << 30
LOG_BYTES = 64 << 20
"""A write-ahead log that grew beyond this is cut when it starts again."""


def connect(path: Path, *, any_thread: bool = False) -> sqlite3.Connection:
    """A connection to an existing file, with transactions left to the caller. Changes nothing in the file."""
    try:
        # mode=rw: a mistyped path must not leave an empty file behind.
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,
            check_same_thread=not any_thread,
            cached_statements=256,
            timeout=BUSY_MILLISECONDS / 1000,
        )
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} cannot be opened ({error}): check that it is a file you may read and write"
        ) from error
    # temp_store: sorting and savepoints must not spill memory text into files in /tmp.
    # secure_delete: what is deleted is overwritten with zeros at once (SPEC F6).
    _set_up(connection, "temp_store = MEMORY", "secure_delete = ON")
    _add_missing_functions(connection)
    return connection


def connect_writer(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """The one connection that changes the file. It is made here and then belongs to the writer's thread."""
    connection = connect(path, any_thread=True)
    _set_up(
        connection,
        f"synchronous = {synchronous}",
        "foreign_keys = ON",
        f"mmap_size = {MMAP_BYTES}",
        "cache_size = -32768",
        "wal_autocheckpoint = 1000",
        f"journal_size_limit = {LOG_BYTES}",
    )
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot change anything."""
    connection = connect(path, any_thread=True)
    _set_up(connection, "query_only = ON", f"mmap_size = {MMAP_BYTES}", "cache_size = -8192")
    return connection


def _set_up(connection: sqlite3.Connection, *pragmas: str) -> None:
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except sqlite3.Error as error:
        connection.close()
        raise store_error(error) from error


def _add_missing_functions(connection: sqlite3.Connection) -> None:
    """BM25 needs ln(), which only builds with SQLITE_ENABLE_MATH_FUNCTIONS have."""
    try:
        connection.execute("SELECT ln(2.0)").fetchall()
    except sqlite3.OperationalError:
        connection.create_function("ln", 1, math.log, deterministic=True)


def make_file(path: Path) -> bool:
    """An empty file that only its owner may read, with the folders above it. False if there is one already.

    Raises:
        StoreError: it cannot be made, or what is there is no file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be made ({error.strerror}): choose a path you may write to") from error
    try:
        # Never open an existing database beside SQLite: closing our handle would drop SQLite's locks on it.
        # SQLite gives its log the mode of the file itself.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        if path.is_dir():
            raise StoreError(f"{path} is a folder: give the path of a file, such as {path / 'memory.db'}") from None
        if not path.is_file():
            raise StoreError(f"{path} is a device, a pipe or a link to nothing: give the path of a file") from None
        return False
    except OSError as error:
        raise StoreError(f"{path} cannot be made ({error.strerror}): choose a path you may write to") from error
    return True


def begin_immediate(connection: sqlite3.Connection, patience: float = PATIENCE_SECONDS) -> None:
    """Begin a writing transaction, waiting for other processes.

    SQLite's own waiting is not fair: a process can starve behind eager writers. So what it gives up after
    five seconds is tried again, at random moments.

    Raises:
        StoreBusy: not within `patience` seconds.
    """
    give_up = time.monotonic() + patience
    pause = 0.005
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise store_error(error) from error
            if time.monotonic() > give_up:
                raise StoreBusy(
                    f"other processes held the write lock for {patience:.0f} seconds: stop the one that hangs, or try later"
                ) from error
        else:
            return
        time.sleep(random.uniform(0, pause))
        pause = min(pause * 2, 0.5)


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """Copy everything `source` sees into `target`, one plain file without a log beside it. Writers go on meanwhile.

    Raises:
        StoreError: the target cannot be written, or the copy does not pass SQLite's own check.
    """
    make_file(target)
    copy = connect(target)
    try:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        [(verdict,)] = copy.execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.Error as error:
        raise StoreError(f"{target} could not be written ({error}): the copy is of no use") from error
    finally:
        copy.close()
    if verdict != "ok":
        raise StoreCorrupt(f"the database is damaged ({verdict}), so its copy is too: run `jiyi doctor`")


def flush_to_disk(path: Path) -> None:
    """Make sure that a file, or the names in a folder, survive a power loss."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
