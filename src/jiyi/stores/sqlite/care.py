"""Looking after a database: what it is, making it right, leaving nothing behind."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

from jiyi.errors import StoreBusy
from jiyi.ports import Kind, StoreInfo
from jiyi.settings import TextIndexName
from jiyi.stores.numbering import MAX_SEQ, SEQ_BITS
from jiyi.stores.sqlite import native
from jiyi.stores.sqlite.access import ERASED, Access, is_busy, store_error
from jiyi.stores.sqlite.connection import PATIENCE_SECONDS, Synchronous
from jiyi.stores.text_index import KIND_NUMBERS, KindIndex

CHECKPOINT_SECONDS = 30.0
VACUUM_IN_MEMORY_BYTES = 256 << 20

NUMBERED = {"message": "message", "memory": "memory", "plan": "ledger", "summary": "summary", "name": "graph_name"}
"""Counters of numbers given out, and the table whose keys hold them."""


def info(access: Access, path: Path, synchronous: Synchronous) -> StoreInfo:
    settings: dict[str, str] = dict(access.rows("SELECT name, value FROM store_setting WHERE name LIKE 'text.%'"))
    details = {
        "memory index": settings["text.memory"],
        "message index": settings["text.message"],
        "synchronous": synchronous,
        "sqlite": sqlite3.sqlite_version,
        "bytes": str(access.value("PRAGMA page_count") * access.value("PRAGMA page_size")),
    }
    return StoreInfo("sqlite", str(path), int(access.value("SELECT max(number) FROM migration")), details)


def empty_text_index(access: Access, names: Mapping[Kind, TextIndexName]) -> None:
    """Drop what the index of these kinds holds, for all owners, and note which index to use from now on."""
    for kind, name in names.items():
        access.change("DELETE FROM posting WHERE kind = ?", (KIND_NUMBERS[kind],))
        native.drop_table(access, kind.value)
        if name == "native":
            native.create_table(access, kind.value)
        access.change("UPDATE store_setting SET value = ? WHERE name = ?", (name, f"text.{kind.value}"))
        counters = (f"{kind.value}.documents", f"{kind.value}.length")
        access.change("UPDATE counter SET value = 0 WHERE name IN (?, ?)", counters)
    if Kind.MESSAGE in names:
        access.change("UPDATE counter SET value = 0 WHERE name = 'indexed'")


# ---------------------------------------------------------------------------------- purge


def purge(connection: sqlite3.Connection, patience: float = CHECKPOINT_SECONDS) -> None:
    """Leave no byte of what was erased in the database or its log (SPEC F6).

    `secure_delete` zeroes a deleted cell where it lies, but not the copies that stay in the free space of
    pages when the b-tree moves cells to a neighbour: measured, a few words in thousands. Only VACUUM, which
    writes every page anew from what is alive, is sure to drop them. It reads and writes the whole file, so
    one purge should serve many erasures.

    Raises:
        StoreBusy: a reader held an old snapshot for `patience` seconds, or another process wrote for too long.
    """
    noted = connection.execute("SELECT value FROM store_setting WHERE name = ?", (ERASED,)).fetchone()
    for table in native.tables(connection):
        # FTS5 keeps the words of deleted rows until its segments are merged into one.
        _patiently(connection, f"INSERT INTO {table} ({table}) VALUES ('optimize')")
    _vacuum(connection)
    give_up = time.monotonic() + patience
    while True:
        [(blocked, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if not blocked:
            break
        if time.monotonic() > give_up:
            raise StoreBusy(
                "a reader still sees what was erased: end long reads and backups, then run `jiyi doctor --fix`"
            )
        time.sleep(0.05)
    if noted is not None:
        # Not what another process erased meanwhile.
        _patiently(connection, "DELETE FROM store_setting WHERE name = ? AND value = ?", (ERASED, *noted))


def _vacuum(connection: sqlite3.Connection) -> None:
    """VACUUM builds the new database beside the old one first: in memory while that is cheap, else in a temporary file."""
    [(pages,)], [(page,)] = (connection.execute(f"PRAGMA page_{what}").fetchall() for what in ("count", "size"))
    if pages * page <= VACUUM_IN_MEMORY_BYTES:
        _patiently(connection, "VACUUM")
        return
    connection.execute("PRAGMA temp_store = FILE")
    try:
        _patiently(connection, "VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")


def _patiently(connection: sqlite3.Connection, statement: str, arguments: tuple[str, ...] = ()) -> None:
    """Run a statement that is a transaction of its own, waiting for writers of other processes."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection.execute(statement, arguments).fetchall()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > give_up:
                raise store_error(error) from error
        else:
            return


# ---------------------------------------------------------------------------------- repair


def repair(access: Access, indexes: Mapping[Kind, KindIndex]) -> list[str]:
    """Make again what follows from the rows: SQLite's indexes, counters, queue heads; drop orphaned index entries."""
    access.change("REINDEX")
    done = ["made every index of the file again"]
    for table in native.tables_of(access):
        access.change(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
        done.append(f"built {table} again from its own rows")
    for (owner,) in access.rows("SELECT number FROM owner ORDER BY number"):
        done += _repair_numbers(access, owner)
        for kind, index in indexes.items():
            done += _repair_texts(access, owner, kind, index)
    if moved := _repair_queue(access):
        done.append(f"jobs: {moved} due times set right")
    return done


def _repair_numbers(access: Access, owner: int) -> list[str]:
    done = []
    for name, table in NUMBERED.items():
        highest = highest_seq(access, owner, table)
        if highest > access.counter(owner, name):
            access.raise_counter(owner, name, highest)
            done.append(f"owner {owner}: counter {name} set to {highest}")
    return done


def highest_seq(access: Access, owner: int, table: str) -> int:
    sql = f"SELECT max(key) FROM {table} WHERE key > ? AND key < ?"
    highest = access.value(sql, (owner << SEQ_BITS, (owner + 1) << SEQ_BITS))
    return 0 if highest is None else int(highest) & MAX_SEQ


def _repair_texts(access: Access, owner: int, kind: Kind, index: KindIndex) -> list[str]:
    done = []
    if orphans := index.held(owner).keys() - indexable(access, owner, kind):
        index.drop(owner, orphans)
        done.append(f"owner {owner}: {len(orphans)} entries without a {kind.value} taken out of the text index")
    held = index.held(owner)
    for name, value in (
        (f"{kind.value}.documents", len(held)),
        (f"{kind.value}.length", sum(f[0] for f in held.values())),
    ):
        if access.counter(owner, name) != value:
            access.set_counter(owner, name, value)
            done.append(f"owner {owner}: counter {name} set to {value}")
    return done


def indexable(access: Access, owner: int, kind: Kind) -> set[int]:
    """The numbers that the text index may hold: every memory and summary; messages up to the mark that are not forgotten."""
    base = owner << SEQ_BITS
    if kind is not Kind.MESSAGE:
        rows = access.rows(f"SELECT key FROM {kind.value} WHERE key > ? AND key <= ?", (base, base | MAX_SEQ))
    else:
        sql = "SELECT key FROM message WHERE key > ? AND key <= ? AND forgotten = 0"
        rows = access.rows(sql, (base, base | access.counter(owner, "indexed")))
    return {key & MAX_SEQ for (key,) in rows}


FIRST_OF_QUEUE = """
    SELECT id FROM job AS first WHERE state <> 'dead' AND turn =
        (SELECT min(turn) FROM job AS other WHERE other.owner = first.owner AND other.lane = first.lane AND other.state <> 'dead')
"""


def _repair_queue(access: Access) -> int:
    """Only the first job of each queue may have a due time, and it must have one."""
    extra = access.change(f"UPDATE job SET due_at = NULL WHERE due_at IS NOT NULL AND id NOT IN ({FIRST_OF_QUEUE})")
    missing = access.change(f"UPDATE job SET due_at = queued_at WHERE due_at IS NULL AND id IN ({FIRST_OF_QUEUE})")
    return extra + missing
