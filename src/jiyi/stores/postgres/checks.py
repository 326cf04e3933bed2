"""The health check of a PostgreSQL store, one line each."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg

from jiyi.ports import Check
from jiyi.stores.checking import REPAIR, RESTORE, TermsOf, line, texts
from jiyi.stores.numbering import Row
from jiyi.stores.postgres import pgvector
from jiyi.stores.postgres.care import MISPLACED, NUMBERED, highest_seq
from jiyi.stores.postgres.connection import ROLE, Place
from jiyi.stores.postgres.schema import expected_shape, shape, shipped
from jiyi.stores.postgres.unit import PostgresUnit

_UNLOCKED = """
    SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND NOT relrowsecurity AND relname <> 'migration'
"""
_TOO_MIGHTY = """
    SELECT rolsuper OR rolbypassrls OR EXISTS (
        SELECT 1 FROM pg_class WHERE relnamespace = %s::regnamespace AND pg_has_role(pg_roles.oid, relowner, 'MEMBER'))
    FROM pg_roles WHERE rolname = %s
"""
_PARTITIONS = """
    SELECT relname, (SELECT count(*) FROM pg_inherits WHERE inhparent = pg_class.oid) FROM pg_class
    WHERE relnamespace = %s::regnamespace AND relkind = 'p'
"""
_BLOAT = """
    SELECT relname, n_dead_tup FROM pg_stat_user_tables
    WHERE schemaname = %s AND n_dead_tup > 100000 AND n_dead_tup > n_live_tup ORDER BY n_dead_tup DESC
"""


def check_server(connection: psycopg.Connection[Row], place: Place) -> Iterator[Check]:
    """What only the role of the URL can see: the schema and the locks."""
    schema = place.policy.schema
    ctype = connection.execute("SELECT datctype FROM pg_database WHERE datname = current_database()").fetchone()
    yield Check("locale", True, f"{ctype[0] if ctype else '?'}; text is compared by its bytes, whatever it is")
    may = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
    if may == (True,) and not pgvector.is_lost(connection, schema):
        used = pgvector.is_used(connection, schema)
        found, expected = set(shape(connection, schema)), set(expected_shape(connection, shipped(), with_pgvector=used))
        wrong = sorted({f"{kind} {name}" for kind, name, _ in found ^ expected if name != "migration"})
        yield line("schema", [f"{name} is not as this jiyi makes it" for name in wrong], RESTORE)
    open_tables = [name for (name,) in connection.execute(_UNLOCKED, (schema,))]
    yield line(
        "row-level security", [f"off for {name}" for name in open_tables],
        "ALTER TABLE … ENABLE ROW LEVEL SECURITY for each, as the owner", "on for every table",
    )  # fmt: skip
    mighty = connection.execute(_TOO_MIGHTY, (schema, ROLE)).fetchone() == (True,)
    yield line(
        "application role", [f"{ROLE} owns tables or passes row-level security"] if mighty else [],
        f"ALTER ROLE {ROLE} NOSUPERUSER NOBYPASSRLS, and give its tables to another owner", f"{ROLE} owns nothing",
    )  # fmt: skip
    parts = connection.execute(_PARTITIONS, (schema,)).fetchall()
    yield line("partitions", [f"{name} has {count} of 16" for name, count in parts if count != 16], RESTORE)
    yield pgvector.check(connection, place)
    dead = connection.execute(_BLOAT, (schema,)).fetchall()
    yield line(
        "bloat", [f"{name} has {count:,} dead rows" for name, count in dead],
        "let autovacuum run, or VACUUM them; end transactions that stay open",
    )  # fmt: skip


def check(unit: PostgresUnit, terms_of: TermsOf) -> Iterator[Check]:
    """Go through every scope, from one snapshot."""
    yield _numbers(unit)
    yield _ledger(unit)
    yield _orphans(unit)
    for kind, index in unit.text.indexes.items():
        yield from texts(unit, kind, index, terms_of)
    unit.access.operate()
    wrong = unit.access.rows(f"SELECT id FROM job WHERE {MISPLACED}")
    yield line("job queue", [f"job {job} has a wrong place" for (job,) in wrong], REPAIR)
    dead = unit.access.rows("SELECT id, kind, error FROM job WHERE state = 'dead' ORDER BY id")
    problems = [f"job {job} ({kind}) gave up: {error}" for job, kind, error in dead]
    yield line("dead letters", problems, "mend what they say, then `jiyi work --retry-dead ID`")


def _numbers(unit: PostgresUnit) -> Check:
    problems = []
    for scope in unit.scopes():
        owner = unit.access.owner(scope) or 0
        for name, table in NUMBERED.items():
            highest, given = highest_seq(unit.access, owner, table), unit.access.counter(owner, name)
            if highest > given:
                problems.append(f"{scope}: {name} {highest} exists, but only {given} were given out")
        if unit.access.counter(owner, "indexed") > unit.access.counter(owner, "message"):
            problems.append(f"{scope}: indexed further than there are messages")
    return line("counters", problems, REPAIR)


def _ledger(unit: PostgresUnit) -> Check:
    """Plans are numbered without gaps: a missing one was taken out by other means than jiyi."""
    problems = []
    for scope in unit.scopes():
        owner = unit.access.owner(scope) or 0
        sql = "SELECT count(*), coalesce(max(seq), 0) FROM ledger WHERE owner = %s"
        [(count, highest)] = unit.access.rows(sql, (owner,))
        if not count == highest == unit.access.counter(owner, "plan"):
            problems.append(f"{scope}: {count} of {max(highest, unit.access.counter(owner, 'plan'))} plans are there")
    return line("ledger", problems, RESTORE)


def _orphans(unit: PostgresUnit) -> Check:
    """Rows of something that is not there: no foreign key holds them, since those would reach across partitions."""
    problems = []
    for scope in unit.scopes():
        owner = unit.access.owner(scope) or 0
        for table, column, whole in (
            ("evidence", "memory", "memory"), ("heat", "memory", "memory"), ("summary_message", "summary", "summary"),
            ("ledger_words", "plan", "ledger"), ("ledger_change", "plan", "ledger"), ("segment", "message", "message"),
        ):  # fmt: skip
            sql = f"""
                SELECT count(*) FROM {table} AS part WHERE owner = %(owner)s AND NOT EXISTS (
                    SELECT 1 FROM {whole} AS whole WHERE whole.owner = %(owner)s AND whole.seq = part.{column})
            """
            if count := unit.access.value(sql, {"owner": owner}):
                problems.append(f"{scope}: {count} rows of {table} have no {whole}")
    return line("rows", problems, RESTORE)
