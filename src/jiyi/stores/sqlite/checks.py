"""The health check of a SQLite store, one line each."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from jiyi.domain.memory import Memory, Message
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.errors import StoreCorrupt
from jiyi.ports import Check, Document, Kind
from jiyi.stores.sqlite import native
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.care import FIRST_OF_QUEUE, NUMBERED, highest_seq
from jiyi.stores.sqlite.connection import connect_reader
from jiyi.stores.sqlite.schema import expected_schema, schema_text, shipped
from jiyi.stores.sqlite.text_index import Fingerprint, KindIndex
from jiyi.stores.sqlite.unit import SqliteUnit
from jiyi.stores.sqlite.writer import Writer

TermsOf = Callable[[Kind, Memory | Message | SessionSummary], Document]

_RESTORE = "restore a backup: `jiyi restore`"
_REPAIR = "run `jiyi doctor --fix`"
_REINDEX = "run `jiyi reindex`"
CHUNK = 500


def check(path: Path, make_unit: Callable[[Access], SqliteUnit], writer: Writer, terms_of: TermsOf) -> Iterator[Check]:
    """Go through the whole file; everything but FTS5's own check is read from one snapshot."""
    yield from _native_tables(writer)
    with contextlib.closing(connect_reader(path)) as connection:
        connection.execute("BEGIN")
        access = Access(connection, {}, writable=False)
        unit = make_unit(access)
        yield (file := _file(access))
        if not file.ok:
            return  # what a damaged file says of itself means nothing
        yield _schema(connection)
        yield _foreign_keys(access)
        yield _numbers(access)
        yield _ledger(access)
        for kind, index in unit.text.indexes.items():
            yield from _texts(unit, kind, index, terms_of)
        yield _queue(access)
        yield _dead_letters(access)


def _line(name: str, problems: list[str], fix: str, detail: str = "") -> Check:
    if not problems:
        return Check(name, True, detail)
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    return Check(name, False, "; ".join(problems[:5]) + more, fix)


def _native_tables(writer: Writer) -> Iterator[Check]:
    """FTS5 checks itself by a statement that counts as writing."""
    for table in writer.write(native.tables_of):
        problems = []
        try:
            statement = f"INSERT INTO {table} ({table}) VALUES ('integrity-check')"
            writer.write(lambda access, statement=statement: access.change(statement))  # type: ignore[misc]
        except StoreCorrupt as error:
            problems = [str(error)]
        yield _line(table, problems, _REPAIR)


def _file(access: Access) -> Check:
    problems = [str(row[0]) for row in access.rows("PRAGMA integrity_check(20)")]
    if problems == ["ok"]:
        return Check("file", True)
    # An index can be made again from its table; a damaged table cannot be made from anything.
    only_indexes = all("index" in problem for problem in problems)
    return _line("file", problems, f"{_REPAIR}, else {_RESTORE}" if only_indexes else _RESTORE)


def _schema(connection: sqlite3.Connection) -> Check:
    found, expected = set(schema_text(connection)), set(expected_schema(shipped()))
    problems = [f"{name} is not as this jiyi makes it" for _, name, _ in sorted(found ^ expected)]
    return _line("schema", list(dict.fromkeys(problems)), _RESTORE)


def _foreign_keys(access: Access) -> Check:
    rows = access.rows("PRAGMA foreign_key_check")
    return _line("foreign keys", [f"a row of {row[0]} has no {row[2]}" for row in rows], _RESTORE)


def _numbers(access: Access) -> Check:
    problems = []
    for (owner,) in access.rows("SELECT number FROM owner ORDER BY number"):
        for name, table in NUMBERED.items():
            highest, given = highest_seq(access, owner, table), access.counter(owner, name)
            if highest > given:
                problems.append(f"owner {owner}: {name} {highest} exists, but only {given} were given out")
        if access.counter(owner, "indexed") > access.counter(owner, "message"):
            problems.append(f"owner {owner}: indexed further than there are messages")
    return _line("counters", problems, _REPAIR)


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
    return _line("ledger", problems, _RESTORE)


def _texts(unit: SqliteUnit, kind: Kind, index: KindIndex, terms_of: TermsOf) -> Iterator[Check]:
    """The index must hold every text that belongs there, exactly as it is segmented now, and nothing else."""
    wrong, miscounted, texts = [], [], 0
    for scope in unit.scopes():
        owner = unit.access.owner(scope)
        assert owner is not None
        held = index.held(owner)
        expected = _expected(unit, scope, kind, index, terms_of)
        texts += len(expected)
        for seq in sorted(held.keys() | expected.keys()):
            if held.get(seq) != expected.get(seq):
                wrong.append(f"{scope}: {kind.value} {seq} {_what(seq, held, expected)}")
        documents, length = (unit.access.counter(owner, f"{kind.value}.{name}") for name in ("documents", "length"))
        if (documents, length) != (len(held), sum(fingerprint[0] for fingerprint in held.values())):
            miscounted.append(f"{scope}: {documents} texts of {length} terms counted, {len(held)} texts indexed")
    yield _line(f"{kind.value} text index", wrong, _REINDEX, f"{texts} texts")
    yield _line(f"{kind.value} text index counters", miscounted, _REPAIR)


def _what(seq: int, held: Mapping[int, Fingerprint], expected: Mapping[int, Fingerprint]) -> str:
    if seq not in held:
        return "is not indexed"
    return "is indexed otherwise than it reads" if seq in expected else "is indexed but should not be"


def _expected(
    unit: SqliteUnit, scope: Scope, kind: Kind, index: KindIndex, terms_of: TermsOf
) -> dict[int, Fingerprint]:
    items: Iterable[Memory | Message | SessionSummary]
    match kind:
        case Kind.MEMORY:
            items = unit.memories.listing(scope, status=None)
        case Kind.SUMMARY:
            items = unit.summaries.listing(scope)
        case Kind.MESSAGE:
            items = _indexed_messages(unit, scope)
    documents = (terms_of(kind, item) for item in items)
    return {document.seq: index.fingerprint(document) for document in documents if document.terms}


def _indexed_messages(unit: SqliteUnit, scope: Scope) -> Iterator[Message]:
    seq, mark = 0, unit.text.indexed_up_to(scope)
    while batch := [m for m in unit.messages.after_seq(scope, seq, CHUNK) if m.seq <= mark]:
        yield from batch
        seq = batch[-1].seq


def _queue(access: Access) -> Check:
    sql = f"SELECT id FROM job WHERE (due_at IS NOT NULL) <> (id IN ({FIRST_OF_QUEUE}))"
    return _line("job queue", [f"job {job} has a wrong place" for (job,) in access.rows(sql)], _REPAIR)


def _dead_letters(access: Access) -> Check:
    dead = access.rows("SELECT id, kind, error FROM job WHERE state = 'dead' ORDER BY id")
    problems = [f"job {job} ({kind}) gave up: {error}" for job, kind, error in dead]
    return _line("dead letters", problems, "mend what they say, then `jiyi work --retry-dead ID`")
