"""The health check of a SQLite store, one line each."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from jiyi.errors import StoreCorrupt
from jiyi.ports import Check
from jiyi.stores.checking import REPAIR, RESTORE, TermsOf, line, texts
from jiyi.stores.sqlite import native
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.care import FIRST_OF_QUEUE, NUMBERED, highest_seq
from jiyi.stores.sqlite.connection import connect_reader
from jiyi.stores.sqlite.schema import expected_schema, schema_text, shipped
from jiyi.stores.sqlite.unit import SqliteUnit
from jiyi.stores.sqlite.writer import Writer


def check(path: Path, make_unit: Callable[[Access], SqliteUnit], writer: Writer, terms_of: TermsOf) -> Iterator[Check]:
    """Go through the whole file; everything but FTS5's own check is read from one snapshot."""
    yield from _native_tables(writer)
    with contextlib.closing(connect_reader(path)) as connection:
        connection.execute("BEGIN")
        access = Access(connection, writable=False)
        unit = make_unit(access)
        yield (file := _file(access))
        if not file.ok:
            return  # what a damaged file says of itself means nothing
        yield _schema(connection)
        yield _foreign_keys(access)
        yield _numbers(access)
        yield _ledger(access)
        for kind, index in unit.text.indexes.items():
            yield from texts(unit, kind, index, terms_of)
        yield _queue(access)
        yield _dead_letters(access)


def _native_tables(writer: Writer) -> Iterator[Check]:
    """FTS5 checks itself by a statement that counts as writing."""
    for table in writer.write(native.tables_of):
        problems = []
        try:
            statement = f"INSERT INTO {table} ({table}) VALUES ('integrity-check')"
            writer.write(lambda access, statement=statement: access.change(statement))  # type: ignore[misc]
        except StoreCorrupt as error:
            problems = [str(error)]
        yield line(table, problems, REPAIR)


def _file(access: Access) -> Check:
    problems = [str(row[0]) for row in access.rows("PRAGMA integrity_check(20)")]
    if problems == ["ok"]:
        return Check("file", True)
    # An index can be made again from its table; a damaged table cannot be made from anything.
    only_indexes = all("index" in problem for problem in problems)
    return line("file", problems, f"{REPAIR}, else {RESTORE}" if only_indexes else RESTORE)


def _schema(connection: sqlite3.Connection) -> Check:
    found, expected = set(schema_text(connection)), set(expected_schema(shipped()))
    problems = [f"{name} is not as this jiyi makes it" for _, name, _ in sorted(found ^ expected)]
    return line("schema", list(dict.fromkeys(problems)), RESTORE)


def _foreign_keys(access: Access) -> Check:
    rows = access.rows("PRAGMA foreign_key_check")
    return line("foreign keys", [f"a row of {row[0]} has no {row[2]}" for row in rows], RESTORE)


def _numbers(access: Access) -> Check:
    problems = []
    for (owner,) in access.rows("SELECT number FROM owner ORDER BY number"):
        for name, table in NUMBERED.items():
            highest, given = highest_seq(access, owner, table), access.counter(owner, name)
            if highest > given:
                problems.append(f"owner {owner}: {name} {highest} exists, but only {given} were given out")
        if access.counter(owner, "indexed") > access.counter(owner, "message"):
            problems.append(f"owner {owner}: indexed further than there are messages")
    return line("counters", problems, REPAIR)


def _ledger(access: Access) -> Check:
    """Plans are numbered without gaps: a missing one was taken out by other means than jiyi."""
    sql = """
        SELECT key >> 24 AS owner, count(*), max(key & 0xFFFFFF),
               (SELECT value FROM counter AS c WHERE c.owner = ledger.key >> 24 AND c.name = 'plan')
        FROM ledger GROUP BY owner
    """
    problems = [
        f"owner {owner}: {count} of {max(highest, given or 0)} plans are there"
        for owner, count, highest, given in access.rows(sql)
        if not count == highest == given
    ]
    return line("ledger", problems, RESTORE)


def _queue(access: Access) -> Check:
    sql = f"SELECT id FROM job WHERE (due_at IS NOT NULL) <> (id IN ({FIRST_OF_QUEUE}))"
    return line("job queue", [f"job {job} has a wrong place" for (job,) in access.rows(sql)], REPAIR)


def _dead_letters(access: Access) -> Check:
    dead = access.rows("SELECT id, kind, error FROM job WHERE state = 'dead' ORDER BY id")
    problems = [f"job {job} ({kind}) gave up: {error}" for job, kind, error in dead]
    return line("dead letters", problems, "mend what they say, then `jiyi work --retry-dead ID`")
