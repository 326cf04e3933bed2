"""Looking after a PostgreSQL database: what it is, making it right, leaving nothing behind."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import psycopg
from psycopg import sql

from jiyi.domain.scope import Scope
from jiyi.ports import Kind, StoreInfo
from jiyi.settings import TextIndexName
from jiyi.stores.numbering import Row
from jiyi.stores.postgres.access import ERASED, PostgresAccess
from jiyi.stores.postgres.connection import Place
from jiyi.stores.postgres.unit import PostgresUnit
from jiyi.stores.text_index import CHOSEN_KINDS, INDEXED, KindIndex, index_setting

PURGE_SECONDS = 30
NUMBERED = {"message": "message", "memory": "memory", "plan": "ledger", "summary": "summary", "name": "graph_name"}
"""Counters of numbers given out, and the table whose rows have them."""

log = logging.getLogger("jiyi.postgres")


def info(access: PostgresAccess, place: Place) -> StoreInfo:
    access.operate()
    version = access.value("SELECT max(number) FROM migration")
    details = {
        "vector index": access.vector_index,
        **{f"{kind.value} index": access.text_index(kind) for kind in CHOSEN_KINDS},
        "postgresql": str(access.value("SHOW server_version")),
        "schema": place.policy.schema,
        "bytes": str(access.value("SELECT pg_database_size(current_database())")),
    }
    return StoreInfo("postgresql", place.shown, int(version), details)


# ---------------------------------------------------------------------------------- text index


def choose_indexes(access: PostgresAccess, names: Mapping[Kind, TextIndexName]) -> None:
    """Note which index to use for a kind of text from now on."""
    access.operate()
    sql = "INSERT INTO store_setting (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    access.change_many(sql, [(index_setting(kind), name) for kind, name in names.items()])


def empty_text_index(unit: PostgresUnit, scope: Scope) -> None:
    """Drop what any index holds of a scope. Who added to the one that was used before held the scope: it is there by now."""
    owner = unit.access.make_owner(scope)
    for table in ("posting", "native_text"):
        unit.access.change(f"DELETE FROM {table} WHERE owner = %s", (owner,))
    counters = [f"{kind.value}.{what}" for kind in Kind for what in ("documents", "length")]
    sql = "UPDATE counter SET value = 0 WHERE owner = %s AND name = ANY(%s)"
    unit.access.change(sql, (owner, [*counters, INDEXED]))


# ---------------------------------------------------------------------------------- purge

_PARTITIONS = """
    SELECT DISTINCT part.oid::regclass::text, pg_has_role(part.relowner, 'MEMBER')
    FROM pg_class AS whole JOIN pg_inherits ON inhparent = whole.oid JOIN pg_class AS part ON part.oid = inhrelid
    JOIN unnest(%(owners)s::bigint[]) AS owner
      ON satisfies_hash_partition(whole.oid, 16, substring(part.relname FROM '[0-9]+$')::integer, owner)
    WHERE whole.relkind = 'p' AND whole.relnamespace = %(schema)s::regnamespace ORDER BY 1
"""


def purge(connection: psycopg.Connection[Row], place: Place) -> None:
    """Leave no byte of what was erased in the files of the tables (SPEC F6).

    PostgreSQL marks a row that goes, and a vacuum gives its place free with the bytes still in it. Only writing the table anew
    from what is alive drops them; that is done for the partitions of the owners of whom something was erased.
    """
    with connection.transaction():
        connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(place.policy.schema)))
        connection.execute("SET LOCAL jiyi.operator TO 'on'")
        noted = connection.execute(
            "SELECT name, value FROM store_setting WHERE starts_with(name, %s)", (f"{ERASED}.",)
        ).fetchall()
    if not noted:
        return
    owners = [int(name.rpartition(".")[2]) for name, _ in noted]
    tables = connection.execute(_PARTITIONS, {"owners": owners, "schema": place.policy.schema}).fetchall()
    if not all(ours for _, ours in tables):
        log.warning(
            "what was erased is still in the tables' files: their owner must write them anew, `jiyi doctor --fix` as that role"
        )
        return
    connection.execute(f"SET lock_timeout TO '{PURGE_SECONDS}s'")
    for table, _ in tables:
        connection.execute(f"VACUUM (FULL) {table}")
    table = sql.Identifier(place.policy.schema, "store_setting")
    # Not what was erased meanwhile.
    connection.cursor().executemany(sql.SQL("DELETE FROM {} WHERE name = %s AND value = %s").format(table), noted)
    connection.execute(sql.SQL("VACUUM (FULL) {}").format(table))


# ---------------------------------------------------------------------------------- repair


def repair(unit: PostgresUnit, scope: Scope) -> list[str]:
    """Make again what follows from the rows of a scope: counters, queue heads; drop orphaned index entries."""
    owner = unit.access.owner(scope)
    assert owner is not None
    done = []
    for name, table in NUMBERED.items():
        highest = highest_seq(unit.access, owner, table)
        if highest > unit.access.counter(owner, name):
            unit.access.raise_counter(owner, name, highest)
            done.append(f"{scope}: counter {name} set to {highest}")
    for kind, index in unit.text.indexes.items():
        done += _repair_texts(unit.access, scope, owner, kind, index)
    moved = unit.access.change(REPAIR_QUEUE, {"owner": owner})
    return [*done, f"{scope}: {moved} due times of jobs set right"] if moved else done


def highest_seq(access: PostgresAccess, owner: int, table: str) -> int:
    return int(access.value(f"SELECT max(seq) FROM {table} WHERE owner = %s", (owner,)) or 0)


def _repair_texts(access: PostgresAccess, scope: Scope, owner: int, kind: Kind, index: KindIndex) -> list[str]:
    done = []
    if orphans := index.held(owner).keys() - indexable(access, owner, kind):
        index.drop(owner, orphans)
        done.append(f"{scope}: {len(orphans)} entries without a {kind.value} taken out of the text index")
    held = index.held(owner)
    for name, value in (
        (f"{kind.value}.documents", len(held)),
        (f"{kind.value}.length", sum(f[0] for f in held.values())),
    ):
        if access.counter(owner, name) != value:
            access.set_counter(owner, name, value)
            done.append(f"{scope}: counter {name} set to {value}")
    return done


def indexable(access: PostgresAccess, owner: int, kind: Kind) -> set[int]:
    """The numbers that the text index may hold: every memory and summary; messages up to the mark that are not forgotten."""
    if kind is not Kind.MESSAGE:
        rows = access.rows(f"SELECT seq FROM {kind.value} WHERE owner = %s", (owner,))
    else:
        upto = access.counter(owner, "indexed")
        rows = access.rows("SELECT seq FROM message WHERE owner = %s AND seq <= %s AND NOT forgotten", (owner, upto))
    return {seq for (seq,) in rows}


_FIRST = """
    id = (SELECT id FROM job AS first WHERE first.owner = job.owner AND first.lane = job.lane AND first.state <> 'dead'
          ORDER BY turn LIMIT 1)
"""
MISPLACED = f"(state <> 'dead' OR due_at IS NOT NULL) AND (due_at IS NOT NULL) <> coalesce({_FIRST}, false)"
"""Only the first job of each queue may have a due time, and it must have one."""
REPAIR_QUEUE = f"""
    UPDATE job SET due_at = CASE WHEN due_at IS NULL THEN queued_at END WHERE owner = %(owner)s AND {MISPLACED}
"""
