"""Backups while the database is in use, and bringing one back (SPEC O1)."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from jiyi.errors import StoreBusy, StoreCorrupt, StoreError
from jiyi.stores.migrations import check_applied
from jiyi.stores.sqlite.access import is_busy
from jiyi.stores.sqlite.connection import connect, copy_database, flush_to_disk, make_file
from jiyi.stores.sqlite.schema import applied_migrations, shipped


def back_up(source: Path, target: Path) -> None:
    """Copy a database, with everything committed so far, to a new file. Readers and writers go on.

    Raises:
        StoreError: the target exists or cannot be written.
        StoreCorrupt: the database is damaged; no file is left.
    """
    part = _claim(target)
    try:
        with contextlib.closing(connect(source)) as connection:
            copy_database(connection, part)
        flush_to_disk(part)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        target.unlink(missing_ok=True)
        raise
    flush_to_disk(target.parent)


_LONGEST_BESIDE = ".forgotten.00000000.part"
"""What comes to stand beside a database has longer names than itself: they must fit as well."""


def _claim(target: Path) -> Path:
    """Take a name that is free, so that two backups at once cannot both take it; returns where to write first."""
    part = target.with_name(f"{target.name}.part")
    try:
        target.with_name(f"{target.name}{_LONGEST_BESIDE}").unlink(missing_ok=True)
        part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written ({error.strerror}): choose another name for the backup"
        ) from error
    if not make_file(target):
        raise StoreError(f"{target} exists already: choose another name for the backup")
    return part


def restore(source: Path, target: Path, *, replace: bool = False) -> Path | None:
    """Put a backup in the place of a database. Close every program that uses the target first.

    Args:
        source: a database of jiyi, of this schema or an older one (opening brings it up to date).
        replace: allow an existing target; it is kept beside as `memory.db.before-restore`.

    Returns:
        Where the old file went, None if there was none.

    Raises:
        StoreError: the source is no healthy database of jiyi, or the target exists.
        StoreBusy: the target is in use.
    """
    _check_source(source)
    if target.exists() and not replace:
        raise StoreError(
            f"{target} exists already: ask for it to be replaced (`--replace`) to put the backup in its place"
        )
    part = target.with_name(f"{target.name}.restoring")
    part.unlink(missing_ok=True)
    try:
        with contextlib.closing(connect(source)) as connection:
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_database(connection, part)
        flush_to_disk(part)
        kept = _set_aside(target) if target.exists() else None
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    flush_to_disk(target.parent)
    return kept


def secret_of(path: Path) -> bytes:
    """The secret of a closed database; nothing for one that was never opened."""
    with contextlib.closing(connect(path)) as connection:
        found = connection.execute("SELECT value FROM store_setting WHERE name = 'secret'").fetchall()
    return bytes.fromhex(found[0][0]) if found else b""


def _check_source(source: Path) -> None:
    if not source.is_file():
        raise StoreError(f"there is no file {source}: give the path of a backup")
    with contextlib.closing(connect(source)) as connection:
        applied = applied_migrations(connection, source)
        if not applied:
            raise StoreError(f"{source} is empty: give the path of a backup")
        check_applied(shipped(), applied)
        try:
            [(verdict,)] = connection.execute("PRAGMA integrity_check(1)").fetchall()
        except sqlite3.Error as error:
            verdict = str(error)
    if verdict != "ok":
        raise StoreCorrupt(f"{source} is damaged ({verdict}): restore another backup")


def _set_aside(target: Path) -> Path:
    """Give the old file a second name, its log included. Until it is replaced it also keeps its own."""
    kept = _free_name(target.with_name(f"{target.name}.before-restore"))
    _fold_log(target)
    log = target.with_name(f"{target.name}-wal")
    if log.exists():
        # A log that could not be folded in goes with its file: beside the new one it would be poison.
        log.replace(kept.with_name(f"{kept.name}-wal"))
    target.with_name(f"{target.name}-shm").unlink(missing_ok=True)
    try:
        os.link(target, kept)
    except OSError:
        target.replace(kept)  # a file system without hard links
    return kept


def _fold_log(target: Path) -> None:
    """Bring the log into the file. A file that is too damaged for that is left as it is.

    Raises:
        StoreBusy: another connection has the file open.
    """
    try:
        with contextlib.closing(connect(target)) as connection:
            # Leaving WAL mode is only granted to the last connection, so it also tells whether we are alone.
            [(mode,)] = connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as error:
        if not is_busy(error):
            return
        mode = "in use"
    if mode != "delete":
        raise StoreBusy(f"{target} is in use: close every program that has it open and try again")


def _free_name(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free
