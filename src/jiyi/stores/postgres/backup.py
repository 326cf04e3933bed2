"""Backups of a PostgreSQL database in one file, while it is in use, and bringing one back (SPEC O1).

A zip: `manifest.json`, and for each table what COPY gives, one line a row. It goes into a database of any server that jiyi
runs on. For large databases use the server's own means, pg_basebackup with an archive of its log (docs/postgresql.md).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors, sql

from jiyi.errors import StoreCorrupt, StoreError
from jiyi.settings import PostgresPolicy
from jiyi.stores.migrations import Applied, check_applied
from jiyi.stores.moving import META, check_whole
from jiyi.stores.numbering import Row
from jiyi.stores.postgres.connection import Place, check_unused, connect, place_of
from jiyi.stores.postgres.schema import applied_migrations, migrate_up, shipped

FORMAT = "jiyi postgresql backup 1"
MANIFEST = "manifest.json"
PIECE = 1 << 20

_TABLES = """
    SELECT relname::text, (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
                           WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped)
    FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname NOT IN ('migration', 'vector_near') ORDER BY relname
"""
_OF_ITSELF = (META, "store_setting")
"""What a database says of itself, from the first time it is opened."""
_SEQUENCES = (
    "SELECT relname::text FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'S' ORDER BY relname"
)


def back_up(connection: psycopg.Connection[Row], place: Place, target: Path) -> None:
    """Copy everything committed so far to a new file. Readers and writers go on.

    Raises:
        StoreError: the target exists or cannot be written, or this role does not own the tables.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise StoreError(f"{target} exists already: choose another name for the backup") from None
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written ({error.strerror}): choose another name for the backup"
        ) from error
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            _write(connection, place.policy.schema, archive)
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        target.unlink(missing_ok=True)
        if isinstance(error, errors.InsufficientPrivilege):
            raise StoreError("a backup needs the role that owns the tables: connect as that one") from None
        if isinstance(error, OSError):
            raise StoreError(f"{target} cannot be written ({error.strerror}): choose another place") from error
        raise


def _write(connection: psycopg.Connection[Row], schema: str, archive: zipfile.ZipFile) -> None:
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        # Without it a role that row-level security holds would copy nothing, and say nothing.
        connection.execute("SET LOCAL row_security TO off")
        tables: dict[str, Any] = {}
        for table, columns in connection.execute(_TABLES, (schema,)).fetchall():
            digest, rows = hashlib.sha256(), 0
            copy = _copy("COPY (SELECT {columns} FROM {table}) TO STDOUT", schema, table, columns)
            with archive.open(f"tables/{table}", "w", force_zip64=True) as out, connection.cursor().copy(copy) as data:
                for piece in data:
                    out.write(piece)
                    digest.update(piece)
                    rows += bytes(piece).count(b"\n")
            tables[table] = {"columns": columns, "rows": rows, "sha256": digest.hexdigest()}
        sequences = {}
        for (name,) in connection.execute(_SEQUENCES, (schema,)).fetchall():
            query = sql.SQL("SELECT last_value, is_called FROM {}").format(sql.Identifier(schema, name))
            sequences[name] = connection.execute(query).fetchone()
        applied = [[a.number, a.name, a.sha256] for a in applied_migrations(connection, schema)]
        manifest = {"format": FORMAT, "migrations": applied, "tables": tables, "sequences": sequences}
        archive.writestr(MANIFEST, json.dumps(manifest))
    finally:
        connection.execute("ROLLBACK")


def restore(source: Path, url: str, policy: PostgresPolicy) -> None:
    """Put a backup into a database that holds nothing of jiyi yet, in one transaction.

    Raises:
        StoreError: the source is no backup of a PostgreSQL store, or the database holds something already.
        StoreBusy: another program has the database open.
        StoreCorrupt: the backup is damaged.
    """
    place = place_of(url, policy)
    try:
        with zipfile.ZipFile(source) as archive, contextlib.closing(connect(place)) as connection:
            manifest = json.loads(archive.read(MANIFEST))
            if manifest.get("format") != FORMAT:
                raise StoreError(f"{source} is a backup of another kind: give one that was made of a PostgreSQL store")
            check_applied(shipped(), [Applied(*row) for row in manifest["migrations"]])
            if len(manifest["migrations"]) != len(shipped()):
                raise StoreError(
                    f"{source} comes from another version of the schema: restore it with the jiyi that made it"
                )
            migrate_up(connection, place, shipped())
            check_unused(connection, place)
            with connection.transaction():
                _empty(connection, place)
                _read(connection, policy.schema, archive, manifest)
    except (OSError, zipfile.BadZipFile, LookupError, ValueError, psycopg.DataError) as error:
        raise StoreCorrupt(f"{source} cannot be read ({type(error).__name__}): restore another backup") from error


def _empty(connection: psycopg.Connection[Row], place: Place) -> None:
    """Take away what opening a database writes of itself, where it holds nothing else.

    Raises:
        StoreError: it does, or a move into it was not ended.
    """
    schema = place.policy.schema
    for table, _ in connection.execute(_TABLES, (schema,)).fetchall():
        some = sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(schema, table))
        if table not in _OF_ITSELF and connection.execute(some).fetchone():
            raise StoreError(
                "the database holds a memory already, and that of a server is not replaced: restore into a new database, or "
                f"another schema of it (postgres.schema); or take this one away first, with DROP SCHEMA {schema} CASCADE"
            )
    settings = sql.SQL("SELECT name, value FROM {}").format(sql.Identifier(schema, "store_setting"))
    check_whole(dict(connection.execute(settings).fetchall()), place.shown)
    for table in _OF_ITSELF:
        connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(schema, table)))


def _read(
    connection: psycopg.Connection[Row], schema: str, archive: zipfile.ZipFile, manifest: Mapping[str, Any]
) -> None:
    for table, entry in manifest["tables"].items():
        digest = hashlib.sha256()
        copy = _copy("COPY {table} ({columns}) FROM STDIN", schema, table, entry["columns"])
        with archive.open(f"tables/{table}") as data, connection.cursor().copy(copy) as into:
            while piece := data.read(PIECE):
                digest.update(piece)
                into.write(piece)
        if digest.hexdigest() != entry["sha256"]:
            raise StoreCorrupt(f"the backup of table {table} is damaged: restore another backup")
    for name, (value, called) in manifest["sequences"].items():
        connection.execute("SELECT setval(%s::regclass, %s, %s)", (f'"{schema}"."{name}"', value, called))


def _copy(statement: str, schema: str, table: str, columns: list[str]) -> sql.Composed:
    named = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL(statement).format(table=sql.Identifier(schema, table), columns=named)
