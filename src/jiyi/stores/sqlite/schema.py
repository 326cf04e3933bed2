"""Recognising a jiyi file and bringing its schema up to date, or back."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from jiyi.errors import MigrationError, StoreCorrupt, StoreError
from jiyi.stores.migrations import Applied, Migration, pending, shipped_migrations, way_back
from jiyi.stores.sqlite.access import is_busy, store_error
from jiyi.stores.sqlite.connection import PATIENCE_SECONDS, begin_immediate, connect, copy_database

APPLICATION_ID = 0x6A697969  # "jiyi"

_RECORDS = (
    "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT"
)


def shipped() -> tuple[Migration, ...]:
    return shipped_migrations("sqlite")


def applied_migrations(connection: sqlite3.Connection, path: Path) -> list[Applied]:
    """What this file has had; nothing for an empty file.

    Raises:
        StoreError: it is not a database of jiyi.
    """
    try:
        [(tables,)] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        [(application,)] = connection.execute("PRAGMA application_id").fetchall()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise StoreError(f"{path} is not a SQLite database: give another path, it was left as it is") from error
        raise store_error(error) from error
    except UnicodeDecodeError as error:  # SQLite quotes the damaged schema, and its words are no text
        raise StoreCorrupt(f"the schema in {path} is damaged: restore a backup") from error
    if application != APPLICATION_ID:
        if tables or application:
            raise StoreError(f"{path} is a SQLite database of another program: give another path, it was left as it is")
        return []
    try:
        rows = connection.execute("SELECT number, name, sha256 FROM migration ORDER BY number").fetchall()
    except sqlite3.Error as error:
        raise store_error(error) from error
    return [Applied(*row) for row in rows]


def migrate_up(path: Path, migrations: Sequence[Migration]) -> None:
    """Build or update the schema of an existing, perhaps empty, file. Each migration is one transaction.

    A file that already holds something is copied beside itself first, as `memory.db.before-NNNN`.

    Raises:
        StoreError: not a database of jiyi, or one of a newer or edited jiyi; it was left as it is.
        MigrationError: a migration failed; the file is as it was before that one.
    """
    with contextlib.closing(connect(path)) as connection:
        # A new file has nothing to lose or to keep yet; switching to WAL below makes it durable in one go.
        is_new = not applied_migrations(connection, path)
        if is_new:
            connection.execute("PRAGMA synchronous = OFF")
        copied = is_new
        while pending(migrations, applied_migrations(connection, path)):
            begin_immediate(connection)
            try:
                # Again, now that nobody else can change it.
                steps = pending(migrations, applied_migrations(connection, path))
                if steps:
                    if not copied:
                        _copy_beside(path, f"before-{steps[0].number:04d}")
                        copied = True
                    _apply(connection, steps[0])
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise store_error(error) from error
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        connection.execute("PRAGMA synchronous = FULL")
        _use_write_ahead_log(connection, path)


def migrate_down(path: Path, to: int, migrations: Sequence[Migration]) -> None:
    """Take the schema back to number `to`. Close every program that uses the file first.

    The file is copied beside itself first, as `memory.db.before-down-NNNN`.

    Raises:
        MigrationError: there is no way back that far, or a step failed.
    """
    with contextlib.closing(connect(path)) as connection:
        copied = False
        while way_back(migrations, applied_migrations(connection, path), to):
            begin_immediate(connection)
            try:
                steps = way_back(migrations, applied_migrations(connection, path), to)
                if steps:
                    if not copied:
                        _copy_beside(path, f"before-down-{to:04d}")
                        copied = True
                    _take_back(connection, steps[0])
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    """Run a migration and record it, in the open transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(_RECORDS)
    _run(connection, migration, migration.up)
    connection.execute("INSERT INTO migration VALUES (?, ?, ?)", (migration.number, migration.name, migration.sha256))


def _take_back(connection: sqlite3.Connection, migration: Migration) -> None:
    assert migration.down is not None
    _run(connection, migration, migration.down)
    connection.execute("DELETE FROM migration WHERE number = ?", (migration.number,))


def _run(connection: sqlite3.Connection, migration: Migration, sql: str) -> None:
    try:
        for statement in statements(sql):
            connection.execute(statement).fetchall()
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.Error as error:
        raise MigrationError(f"migration {migration} failed ({error}): the database is as it was before it") from error
    if broken:
        raise MigrationError(
            f"migration {migration} would leave {len(broken)} rows pointing nowhere: the database is as it was before it"
        )


def statements(sql: str) -> Iterator[str]:
    """The single statements of a script. (`executescript` would commit before the first.)"""
    statement = ""
    for piece in sql.split(";"):
        statement += f"{piece};"
        if sqlite3.complete_statement(statement):
            if statement.strip() != ";":
                yield statement
            statement = ""
    rest = "\n".join(line for line in statement.removesuffix(";").splitlines() if not line.lstrip().startswith("--"))
    if rest.strip():
        raise MigrationError(f"a migration ends in the middle of a statement: {rest.strip()[:60]!r}")


def _copy_beside(path: Path, suffix: str) -> None:
    """Keep the file as it is now. A copy of that name from an attempt that failed is older: it gives way."""
    part = path.with_name(f"{path.name}.{suffix}.part")
    part.unlink(missing_ok=True)
    with contextlib.closing(connect(path)) as source:
        copy_database(source, part)
    part.replace(path.with_name(f"{path.name}.{suffix}"))


def _use_write_ahead_log(connection: sqlite3.Connection, path: Path) -> None:
    """Switch to WAL, once in the life of a file. That needs the file for itself for a moment."""
    if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
        return
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            [(mode,)] = connection.execute("PRAGMA journal_mode = WAL").fetchall()
            break
        except sqlite3.OperationalError as error:
            # Another process that opens the file at the same moment may have done it, or be about to.
            if not is_busy(error) or time.monotonic() > give_up:
                raise store_error(error) from error
        time.sleep(random.uniform(0.001, 0.05))
    if mode != "wal":
        raise StoreError(
            f"{path} cannot use a write-ahead log ({mode}): put it on a local disk, not on a network share"
        )


def schema_text(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Every table and index as it was declared, but for the FTS5 tables, which depend on the settings."""
    sql = """
        SELECT type, name, sql FROM sqlite_schema
        WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name NOT LIKE 'fts!_%' ESCAPE '!' ORDER BY type, name
    """
    return [(kind, name, text or "") for kind, name, text in connection.execute(sql)]


def expected_schema(migrations: Sequence[Migration]) -> list[tuple[str, str, str]]:
    """The same for a database that was made this moment."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        for migration in migrations:
            _apply(fresh, migration)
        return schema_text(fresh)
