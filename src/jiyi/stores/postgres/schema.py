"""Making the schema in a PostgreSQL database, and bringing it up to date (SPEC O4)."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import errors, sql

from jiyi.errors import MigrationError, StoreError
from jiyi.stores.migrations import Applied, Migration, pending, shipped_migrations, way_back
from jiyi.stores.numbering import Row
from jiyi.stores.postgres import pgvector
from jiyi.stores.postgres.access import store_error
from jiyi.stores.postgres.connection import ROLE, Place

LOCK = 0x6A697969  # "jiyi": one program at a time changes schemas of a server

_RECORDS = """
    CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL);
    GRANT SELECT ON migration TO jiyi_app;
"""


def shipped() -> tuple[Migration, ...]:
    return shipped_migrations("postgres")


def applied_migrations(connection: psycopg.Connection[Row], schema: str) -> list[Applied]:
    """What the schema has had; nothing where there is none.

    Raises:
        MigrationError: its records are not jiyi's.
    """
    there = connection.execute("SELECT to_regclass(%s)", (f"{_quoted(schema)}.migration",)).fetchone()
    if there == (None,):
        return []
    table = sql.Identifier(schema, "migration")
    try:
        rows = connection.execute(
            sql.SQL("SELECT number, name, sha256 FROM {} ORDER BY number").format(table)
        ).fetchall()
    except errors.UndefinedColumn:
        raise _foreign(schema) from None
    return [Applied(*row) for row in rows]


def migrate_up(connection: psycopg.Connection[Row], place: Place, migrations: Sequence[Migration]) -> None:
    """Build or update the schema. Each migration is one transaction; programs that do it at once wait for each other.

    Raises:
        MigrationError: a newer or edited jiyi was here, or a migration failed, or this role may not change the schema.
        StoreError: the application role is missing and cannot be made.
    """
    schema = place.policy.schema
    try:
        if not pending(migrations, applied_migrations(connection, schema)):
            return
        _make_role(connection, place)
        while _step(connection, schema, migrations):
            pass
        if migrations == shipped():
            pgvector.begin_where_free(connection, place)
    except errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"the database needs a migration that this role may not make ({_said(error)}): open it once as the role that "
            "owns the database, for example with `jiyi --db … doctor`"
        ) from None
    except psycopg.Error as error:
        raise store_error(error) from error


def _step(connection: psycopg.Connection[Row], schema: str, migrations: Sequence[Migration]) -> bool:
    """Apply the first migration that is pending; false when there is none."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        applied = applied_migrations(connection, schema)
        steps = pending(migrations, applied)
        if not steps:
            return False
        if not applied and _holds_tables(connection, schema):
            raise _foreign(schema)
        connection.execute(
            sql.SQL("CREATE SCHEMA IF NOT EXISTS {0}; GRANT USAGE ON SCHEMA {0} TO jiyi_app").format(
                sql.Identifier(schema)
            )
        )
        _use(connection, schema)
        apply(connection, steps[0])
    return True


def _holds_tables(connection: psycopg.Connection[Row], schema: str) -> bool:
    """Whether the schema holds more than the records of its migrations."""
    found = connection.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p', 'v') "
        "AND relname <> 'migration' LIMIT 1",
        (_quoted(schema),),
    )
    return found.fetchone() is not None


def _foreign(schema: str) -> MigrationError:
    return MigrationError(
        f"the schema {schema} holds tables that are not jiyi's: name another with postgres.schema in the settings"
    )


def apply(connection: psycopg.Connection[Row], migration: Migration) -> None:
    """Run a migration and record it, in the open transaction, in the schema of its search path."""
    connection.execute(_RECORDS)
    _run(connection, migration, migration.up)
    connection.execute(
        "INSERT INTO migration VALUES (%s, %s, %s)", (migration.number, migration.name, migration.sha256)
    )


def migrate_down(connection: psycopg.Connection[Row], place: Place, to: int, migrations: Sequence[Migration]) -> None:
    """Take the schema back to number `to`. Stop every program that uses the database, and back it up, first.

    Raises:
        MigrationError: there is no way back that far, or a step failed.
    """
    schema = place.policy.schema
    while True:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            steps = way_back(migrations, applied_migrations(connection, schema), to)
            if not steps:
                return
            _use(connection, schema)
            assert steps[0].down is not None
            _run(connection, steps[0], steps[0].down)
            connection.execute("DELETE FROM migration WHERE number = %s", (steps[0].number,))


def _run(connection: psycopg.Connection[Row], migration: Migration, script: str) -> None:
    try:
        connection.execute(script)
    except errors.InsufficientPrivilege:
        raise
    except psycopg.Error as error:
        raise MigrationError(
            f"migration {migration} failed ({_said(error)}): the database is as it was before it"
        ) from error


def _make_role(connection: psycopg.Connection[Row], place: Place) -> None:
    """The role that owns nothing, and the right to act as it."""
    me = connection.info.user
    advice = f"run as an administrator of the server: CREATE ROLE {ROLE} NOLOGIN; GRANT {ROLE} TO {_quoted(me)}"
    try:
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone() is None:
            connection.execute(f"CREATE ROLE {ROLE} NOLOGIN")
    except (errors.DuplicateObject, errors.UniqueViolation):
        pass  # Another database of the same server made it this moment.
    except errors.InsufficientPrivilege:
        raise StoreError(f"the role {ROLE} is missing, and {me} may not make roles: {advice}") from None
    try:
        if not _may_act(connection):
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(ROLE)))
    except errors.InsufficientPrivilege:
        raise StoreError(f"{me} may not act as {ROLE}: {advice}") from None


def _may_act(connection: psycopg.Connection[Row]) -> bool:
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL ROLE {ROLE}")
    except errors.InsufficientPrivilege:
        return False
    return True


def _use(connection: psycopg.Connection[Row], schema: str) -> None:
    connection.execute(sql.SQL("SET LOCAL search_path TO {}, pg_temp").format(sql.Identifier(schema)))


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string()


def _said(error: psycopg.Error) -> str:
    return " ".join(str(error).split())


# ---------------------------------------------------------------------------------- what it looks like

_SHAPE = r"""
    WITH here AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = %(schema)s::regnamespace)
    SELECT 'column', relname || '.' || attname,
           concat_ws(' ', regexp_replace(format_type(atttypid, atttypmod), '^.*\.', ''), attnotnull, attidentity,
                     (SELECT collname FROM pg_collation WHERE oid = attcollation))
    FROM here JOIN pg_attribute ON attrelid = here.oid AND attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p')
    UNION ALL
    SELECT 'index', here.relname, replace(pg_get_indexdef(here.oid), %(schema)s || '.', '')
    FROM here WHERE relkind IN ('i', 'I')
    UNION ALL
    SELECT 'policy', here.relname || '.' || polname, replace(pg_get_expr(polqual, polrelid), %(schema)s || '.', '')
    FROM here JOIN pg_policy ON polrelid = here.oid
    UNION ALL
    SELECT 'security', relname, (SELECT relrowsecurity::text FROM pg_class WHERE pg_class.oid = here.oid)
    FROM here WHERE relkind = 'p'
    UNION ALL
    SELECT 'function', proname, md5(prosrc) || ' ' || prosecdef FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace
    ORDER BY 1, 2, 3
"""


def shape(connection: psycopg.Connection[Row], schema: str) -> list[Row]:
    """Every column, index, policy and function of a schema, for comparing."""
    return connection.execute(_SHAPE, {"schema": schema}).fetchall()


_EXPECTED: dict[tuple[int, tuple[Migration, ...], bool], list[Row]] = {}
"""What is expected of a version of the server. Making it takes seconds, and it never changes."""


def expected_shape(
    connection: psycopg.Connection[Row], migrations: Sequence[Migration], *, with_pgvector: bool = False
) -> list[Row]:
    """The same of a schema that is made this moment, and taken back."""
    key = (connection.info.server_version, tuple(migrations), with_pgvector)
    if key not in _EXPECTED:
        _EXPECTED[key] = _made_shape(connection, migrations, with_pgvector)
    return _EXPECTED[key]


def _made_shape(connection: psycopg.Connection[Row], migrations: Sequence[Migration], with_pgvector: bool) -> list[Row]:
    name = "jiyi_expected"
    with connection.transaction(force_rollback=True):
        connection.execute(f"CREATE SCHEMA {name}")
        _use(connection, name)
        for migration in migrations:
            apply(connection, migration)
        if with_pgvector:
            connection.execute("SELECT begin_pgvector(), use_pgvector()")
        return shape(connection, name)
