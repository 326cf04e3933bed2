"""Vectors found by the extension pgvector, where the database has it (SPEC O2, R11; migration 0610).

A memory that is made where the extension is uses it from the start. Otherwise `jiyi doctor --fix` begins:
the server keeps the copy that the extension reads equal from that moment on, what was there before is copied owner by owner, and
searches go by it once it is whole. Until then they look through the vectors as they do without the extension, and so they do when it was
dropped: that takes what the extension reads along, also when it has come back since.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors, sql

from jiyi.errors import StoreBusy
from jiyi.ports import Check
from jiyi.stores.numbering import Row
from jiyi.stores.postgres.connection import ROLE, Place

LOCK = 0x6A697976  # "jiyv": one program at a time begins or ends it
PATIENCE = "10s"
"""How long to wait for whoever writes at this moment."""
FIX = "run `jiyi doctor --fix` as the role that owns the tables"

_EXTENSION = """
    SELECT extversion, quote_ident(nspname),
           EXISTS (SELECT 1 FROM pg_type WHERE typnamespace = extnamespace AND typname = 'halfvec'),
           has_schema_privilege(%s, nspname, 'USAGE')
    FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
"""
# Where the type is that the copy is made of; dropped with it, the column has another name.
_COPY = """
    SELECT quote_ident(nspname), has_schema_privilege(%s, nspname, 'USAGE')
    FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid JOIN pg_namespace ON pg_namespace.oid = typnamespace
    WHERE attrelid = to_regclass(%s) AND attname = 'numbers'
"""
_DIFFERING = """
    SELECT DISTINCT coalesce(v.owner, n.owner)
    FROM (SELECT * FROM vector WHERE length(numbers) <= most_near()) AS v
    FULL JOIN vector_near AS n ON n.owner = v.owner AND n.vset = v.vset AND n.kind = v.kind AND n.seq = v.seq
    WHERE v.owner IS NULL OR n.owner IS NULL OR v.square <> n.square ORDER BY 1
"""


def begin_where_free(connection: psycopg.Connection[Row], place: Place) -> None:
    """Use the extension where nothing has to be copied for it: there are no vectors yet."""
    vectors = sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(place.policy.schema, "vector"))
    if _may_begin(connection, place) and connection.execute(vectors).fetchone() is None:
        _use(connection, place.policy.schema)


def put_right(connection: psycopg.Connection[Row], place: Place) -> list[str]:
    """Use the extension as the settings say, and make its copy whole; what was done, one line each. Nothing where this role does
    not own the tables.

    Raises:
        StoreBusy: others write vectors all the time.
    """
    schema = place.policy.schema
    if not _owns(connection, schema):
        return []
    if not place.policy.pgvector or not _version(connection):
        return _ended(connection, schema)
    ended = _ended(connection, schema) if is_lost(connection, schema) else []
    if _may_begin(connection, place):
        return [f"pgvector finds vectors from now on: {_use(connection, schema):,} copied for it"]
    if ended:
        return ended
    wrong = differing(connection, schema)
    copied = sum(_fill(connection, schema, owner) for owner in wrong)
    return [f"{copied:,} vectors of {len(wrong)} users copied for pgvector anew"] if wrong else []


def is_used(connection: psycopg.Connection[Row], schema: str) -> bool:
    return _is_there(connection, schema, "to_regproc", "nearest")


def is_lost(connection: psycopg.Connection[Row], schema: str) -> bool:
    """Whether the extension was dropped since it was begun to be used: what is left of the copy is of no use, also to a new one."""
    return _is_begun(connection, schema) and _copy(connection, schema) is None


def check(connection: psycopg.Connection[Row], place: Place) -> Check:
    """A line of the health check: what finds vectors."""
    schema = place.policy.schema
    version = _version(connection)
    if is_lost(connection, schema):
        detail = "pgvector, which found them, was dropped" + (" and is there anew" if version else "")
        fix = f"{FIX}{'' if version else ', after CREATE EXTENSION vector where it is to find them again'}"
        return Check("vector index", False, f"{detail}: jiyi looks through them itself", fix)
    if is_used(connection, schema):
        wrong = differing(connection, schema) if _owns(connection, schema) else []
        if wrong:
            return Check("vector index", False, f"those of {len(wrong)} users are not the same for pgvector", FIX)
        moved = _copy(connection, schema)
        if moved is not None and not moved[1]:
            detail = f"pgvector is in the schema {moved[0]}, which {ROLE} may not use: jiyi looks through them itself"
            return Check("vector index", False, detail, f"GRANT USAGE ON SCHEMA {moved[0]} TO {ROLE}")
        return Check("vector index", True, f"found by pgvector {version}")
    detail = "looked through by jiyi"
    if version and place.policy.pgvector:
        detail += f"; pgvector is there, to use it: {_obstacle(connection) or FIX}"
    return Check("vector index", True, detail)


def differing(connection: psycopg.Connection[Row], schema: str) -> list[int]:
    """The owners whose copy is not what it should be: only what is done past the server's triggers leads there."""
    if not is_used(connection, schema):
        return []
    with connection.transaction():
        _enter(connection, schema)
        return [owner for (owner,) in connection.execute(_DIFFERING).fetchall()]


def _may_begin(connection: psycopg.Connection[Row], place: Place) -> bool:
    return place.policy.pgvector and _obstacle(connection) == "" and not is_used(connection, place.policy.schema)


def _version(connection: psycopg.Connection[Row]) -> str:
    """Of the extension in this database; empty where it is not."""
    found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    return str(found[0]) if found else ""


def _obstacle(connection: psycopg.Connection[Row]) -> str:
    """What has to be done before the extension can be used; empty where nothing has."""
    found = connection.execute(_EXTENSION, (ROLE,)).fetchone()
    if found is None:
        return "CREATE EXTENSION vector"
    version, schema, has_type, may_use = found
    if not has_type:
        return f"version {version} is too old, ALTER EXTENSION vector UPDATE first"
    return "" if may_use else f"GRANT USAGE ON SCHEMA {schema} TO {ROLE} first"


def _use(connection: psycopg.Connection[Row], schema: str) -> int:
    """Begin to use it, or go on where that was stopped; returns how many vectors were copied. Readers and writers go on."""
    with _altering(connection, schema):
        if not _is_there(connection, schema, "to_regclass", "vector_near"):
            connection.execute("SELECT begin_pgvector()")
    owners = sql.SQL("SELECT DISTINCT owner FROM {} ORDER BY owner").format(sql.Identifier(schema, "vector_set"))
    copied = sum(_fill(connection, schema, owner) for (owner,) in connection.execute(owners).fetchall())
    with _altering(connection, schema):
        if not is_used(connection, schema):
            connection.execute("SELECT use_pgvector()")
    return copied


def _fill(connection: psycopg.Connection[Row], schema: str, owner: int) -> int:
    """Copy the vectors of an owner anew; returns how many."""
    with connection.transaction():
        _enter(connection, schema)
        # Held as a writer holds it, so that nothing is taken out meanwhile that is copied here.
        connection.execute("SELECT 1 FROM owner WHERE number = %s FOR NO KEY UPDATE", (owner,))
        [(copied,)] = connection.execute("SELECT fill_near(%s)", (owner,)).fetchall()
    return int(copied)


def _ended(connection: psycopg.Connection[Row], schema: str) -> list[str]:
    """Use it no longer: afterwards the extension can be dropped."""
    with _altering(connection, schema):
        if not _is_begun(connection, schema):
            return []
        connection.execute("SELECT end_pgvector()")
    return ["pgvector finds vectors no longer"]


@contextmanager
def _altering(connection: psycopg.Connection[Row], schema: str) -> Iterator[None]:
    """One program at a time."""
    try:
        with connection.transaction():
            _enter(connection, schema)
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            connection.execute(f"SET LOCAL lock_timeout TO '{PATIENCE}'")
            yield
    except errors.LockNotAvailable:
        raise StoreBusy("other programs write vectors all the time: try again when there is less to do") from None


def _enter(connection: psycopg.Connection[Row], schema: str) -> None:
    connection.execute(sql.SQL("SET LOCAL search_path TO {}, pg_temp").format(sql.Identifier(schema)))


def _is_there(connection: psycopg.Connection[Row], schema: str, function: str, name: str) -> bool:
    place = sql.Identifier(schema, name).as_string()
    [(there,)] = connection.execute(sql.SQL("SELECT {}(%s) IS NOT NULL").format(sql.SQL(function)), (place,)).fetchall()
    return bool(there)


def _is_begun(connection: psycopg.Connection[Row], schema: str) -> bool:
    return _is_there(connection, schema, "to_regclass", "vector_near") or is_used(connection, schema)


def _copy(connection: psycopg.Connection[Row], schema: str) -> tuple[str, bool] | None:
    """In which schema the type of the copy is, and whether the application may look there; None where there is none."""
    place = sql.Identifier(schema, "vector_near").as_string()
    found = connection.execute(_COPY, (ROLE, place)).fetchone()
    return (str(found[0]), bool(found[1])) if found else None


def _owns(connection: psycopg.Connection[Row], schema: str) -> bool:
    query = "SELECT pg_has_role(relowner, 'MEMBER') FROM pg_class WHERE oid = to_regclass(%s)"
    [(owns,)] = connection.execute(query, (sql.Identifier(schema, "vector").as_string(),)).fetchall()
    return bool(owns)
