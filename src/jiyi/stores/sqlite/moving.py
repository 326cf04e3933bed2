"""A SQLite file as the source or the target of a move (see `stores.moving`)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from jiyi.domain.encoding import micros
from jiyi.domain.forgetting import Copy
from jiyi.domain.vectors import Vector
from jiyi.errors import StoreBusy, StoreError
from jiyi.stores.moving import (
    APART,
    META,
    MOVING,
    OWNERS,
    TURN,
    VECTOR,
    Batch,
    Mark,
    Progress,
    Table,
    another,
    check_whole,
    in_batches,
    native_kinds,
    table_of,
)
from jiyi.stores.numbering import MAX_SEQ, SEQ_BITS, Row
from jiyi.stores.sqlite.access import Access, is_busy, store_error
from jiyi.stores.sqlite.connection import begin_immediate, connect, flush_to_disk, make_file
from jiyi.stores.sqlite.hot_vectors import HotVectors
from jiyi.stores.sqlite.schema import applied_migrations, migrate_up, shipped
from jiyi.stores.sqlite.vectors import SqliteVectors, VectorRules
from jiyi.stores.text_index import KIND_NUMBERS

PATIENCE_SECONDS = 10.0
"""How long to wait for whoever writes to the source at this moment."""
KEYED: Mapping[str, Sequence[str]] = {
    "evidence": ("memory", "message"),
    "heat": ("memory",),
    "summary_message": ("summary", "message"),
    "segment": ("message",),
    "ledger_words": ("plan",),
    "ledger_change": ("plan", "memory"),
    "ledger_standing": ("plan",),
    "graph_name": ("node",),
    "graph_edge": ("memory", "subject", "object"),
    "graph_outbox": ("memory",),
}
"""Columns that hold the key of a row, owner and number, where the one form has the number. A table that names no owner has it
in the first."""
RENAMED = {"user": "usr"}
NOTHING_KEPT = HotVectors(0, 0.0)
VECTOR_TABLES = frozenset({"vector_fresh", "vector_chunk", "vector_version", "vector_outbox"})
"""How this store keeps what is one row each in `vector`. The outbox is made again by an engine that follows."""
VECTOR_INSERT = "INSERT INTO vector_fresh (vset, kind, seq, square, numbers) VALUES (" + ", ".join(
    f"?{VECTOR.columns.index(name) + 1}" for name in ("vset", "kind", "seq", "square", "numbers")
) + ")"  # fmt: skip
SLICE = 2_048
"""Vectors that are looked for at once: most lie in the same few chunks."""


class _Form:
    """How the rows of one table are read and written in the one form."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        info = connection.execute(f"PRAGMA table_info({name})").fetchall()
        keyed = list(KEYED.get(name, ()))
        # In a table of things done once, `key` is a word of its own.
        numbered = [column for _, column, kind, *_ in info if (column, kind) == ("key", "INTEGER")]
        said = {RENAMED.get(c, c): f"{c} & {MAX_SEQ}" if c in keyed else c for _, c, *_ in info if c not in numbered}
        if numbered:
            said["seq"] = f"key & {MAX_SEQ}"
        if "owner" not in said and numbered + keyed:
            said["owner"] = f"{(numbered + keyed)[0]} >> {SEQ_BITS}"
        optional = {c for _, c, _, required, _, primary in info if not required and not primary}
        if "owner" in optional:  # What is nobody's is the owner 0's.
            said["owner"] = "coalesce(owner, 0)"
        self.table = table_of(name, said)
        self.primary = [column for _, column, *_, place in sorted(info, key=lambda row: row[5]) if place]
        self.select = ", ".join(said[column] for column in self.table.columns)
        self.whose = said.get("number" if name == OWNERS else "owner")
        self.insert = self._insert([c for _, c, *_ in info], numbered, keyed, optional)

    def _insert(self, columns: list[str], numbered: list[str], keyed: list[str], optional: set[str]) -> str:
        place = {column: f"?{i}" for i, column in enumerate(self.table.columns, 1)}

        def value(column: str) -> str:
            if column in numbered:
                return f"{place['owner']} << {SEQ_BITS} | {place['seq']}"
            if column in keyed:
                return f"{place['owner']} << {SEQ_BITS} | {place[column]}"
            if column == "owner" and column in optional:
                return f"nullif({place['owner']}, 0)"
            return place[RENAMED.get(column, column)]

        return f"INSERT INTO {self.table.name} ({', '.join(columns)}) VALUES ({', '.join(map(value, columns))})"

    def read(self, after: Mark, owners: Collection[int] | None) -> tuple[str, list[object]]:
        """The rows with their primary key behind them, and its arguments."""
        key = ", ".join(self.primary)
        conditions, arguments = ["true"], list[object](after)
        if after:
            conditions.append(f"({key}) > ({', '.join('?' * len(after))})")
        if owners is not None and self.whose is not None:
            conditions.append(f"{self.whose} IN (SELECT value FROM json_each(?))")
            arguments.append(json.dumps(sorted(owners)))
        where = " AND ".join(conditions)
        return f"SELECT {self.select}, {key} FROM {self.table.name} WHERE {where} ORDER BY {key}", arguments


class SqliteMoving:
    """Both sides of a move. Make it with `open_source` or `open_target`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        sql = (
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'fts_%'"
        )
        names = {name for (name,) in connection.execute(sql).fetchall()} - APART - VECTOR_TABLES
        forms = (_Form(connection, name) for name in names)
        self._forms = {form.table.name: form for form in forms}

    @cached_property
    def tables(self) -> Sequence[Table]:
        return sorted([VECTOR, *(form.table for form in self._forms.values())], key=lambda table: table.name)

    @cached_property
    def secret(self) -> bytes:
        return bytes.fromhex(self.settings.get("secret", ""))

    @property
    def progress(self) -> Progress | None:
        text = self.settings.get(MOVING)
        return None if text is None else Progress.of(text)

    def native(self) -> list[str]:
        return native_kinds(self.settings)

    @property
    def settings(self) -> dict[str, str]:
        return dict(self._rows("SELECT name, value FROM store_setting"))

    def _rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        try:
            return self._connection.execute(sql, arguments).fetchall()
        except sqlite3.Error as error:
            raise store_error(error) from error

    # ------------------------------------------------------------------------------ reading

    def count(self, table: Table) -> int:
        if table == VECTOR:
            sql = "SELECT (SELECT count(*) FROM vector_fresh) + (SELECT coalesce(sum(length(seqs)) / 4, 0) FROM vector_chunk)"
            return int(self._rows(sql)[0][0])
        return int(self._rows(f"SELECT count(*) FROM {table.name}")[0][0])

    def batches(self, table: Table, after: Mark = (), owners: Collection[int] | None = None) -> Iterator[Batch]:
        if table == VECTOR:
            yield from in_batches(self._vectors(after, owners), 3)
            return
        form = self._forms[table.name]
        sql, arguments = form.read(after, owners)
        yield from in_batches(self._streamed(sql, arguments), len(form.primary))

    def _streamed(self, sql: str, arguments: Sequence[object] = ()) -> Iterator[Row]:
        try:
            yield from self._connection.execute(sql, arguments)
        except sqlite3.Error as error:
            raise store_error(error) from error

    def _vectors(self, after: Mark, owners: Collection[int] | None) -> Iterator[Row]:
        """One row for each vector, also of those that lie side by side in chunks, with what it is named by."""
        wanted = None if owners is None else set(owners)
        vset, kind, last = after or (0, 0, 0)
        index = SqliteVectors(Access(self._connection, writable=False), VectorRules(), NOTHING_KEPT)
        for number, owner in self._rows(
            "SELECT number, owner FROM vector_set WHERE number >= ? ORDER BY number", (vset,)
        ):
            if wanted is not None and owner not in wanted:
                continue
            for text in KIND_NUMBERS.values():
                if (number, text) < (vset, kind):
                    continue
                held = index.seqs(number, text, after=last if (number, text) == (vset, kind) else 0)
                for some in (held[i : i + SLICE] for i in range(0, len(held), SLICE)):
                    found = index.some(number, text, some)
                    for seq in some:
                        yield self._vector(owner, number, text, seq, found[seq])

    @staticmethod
    def _vector(owner: int, vset: int, kind: int, seq: int, vector: Vector) -> Row:
        fields = {
            "owner": owner,
            "vset": vset,
            "kind": kind,
            "seq": seq,
            "square": vector.square,
            "numbers": vector.numbers,
        }
        return (*(fields[name] for name in VECTOR.columns), vset, kind, seq)

    def sequences(self) -> Mapping[str, int]:
        turn = self._rows("SELECT coalesce(max(turn), 0) FROM job")[0][0]
        return {**dict(self._rows("SELECT name, seq FROM sqlite_sequence")), TURN: turn}

    # ------------------------------------------------------------------------------ writing

    def is_empty(self) -> bool:
        return not any(self._rows(f"SELECT 1 FROM {name} LIMIT 1") for name in self._forms if name != META)

    def begin(self, secret: bytes, progress: Progress) -> None:
        settings = {
            "secret": secret.hex(),
            "text.memory": "postings",
            "text.message": "postings",
            MOVING: progress.text(),
        }
        with self._transaction():
            for name in (META, "store_setting"):
                self._connection.execute(f"DELETE FROM {name}")
            self._connection.executemany("INSERT INTO store_setting (name, value) VALUES (?, ?)", settings.items())

    def put(self, table: Table, rows: Sequence[Row], before: Progress, now: Progress) -> None:
        try:
            with self._transaction():
                self._insert(table, rows)
                self._note(before, now)
        except sqlite3.IntegrityError:
            with self._transaction():
                self._delete(table)
                self._insert(table, rows)
                self._note(before, now)

    def replace(self, table: Table, owners: Collection[int], batches: Iterable[Batch]) -> None:
        with self._transaction():
            self._delete(table, owners)
            for rows, _ in batches:
                self._insert(table, rows)

    def finish(self, sequences: Mapping[str, int], meta: Mapping[str, str], copy: Copy | None) -> None:
        with self._transaction():
            numbers = SqliteVectors(Access(self._connection, writable=True), VectorRules(), NOTHING_KEPT)
            for vset, kind in self._rows("SELECT DISTINCT vset, kind FROM vector_fresh"):
                numbers.fold(vset, kind)
            for name, last in sequences.items():
                if name != TURN:
                    self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
                    self._connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last))
            for entry in meta.items():
                self._connection.execute("UPDATE meta SET value = ?2 WHERE name = ?1", entry)
            if copy is not None:
                insert = "INSERT INTO copy (owner, kind, path, at) VALUES (NULL, ?, ?, ?)"
                self._connection.execute(insert, (copy.kind, copy.path, micros(copy.at)))
            self._connection.execute("DELETE FROM store_setting WHERE name = ?", (MOVING,))
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise store_error(error) from error
        flush_to_disk(self._path)

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        insert = VECTOR_INSERT if table == VECTOR else self._forms[table.name].insert
        self._connection.executemany(insert, rows)

    def _delete(self, table: Table, owners: Collection[int] | None = None) -> None:
        name = "vector_fresh" if table == VECTOR else table.name
        whose = json.dumps(sorted(owners or ()))
        if owners is None or table.owner is None:
            self._connection.execute(f"DELETE FROM {name}")
            return
        if table == VECTOR:
            sets = "SELECT number FROM vector_set WHERE owner IN (SELECT value FROM json_each(?))"
            self._connection.execute(f"DELETE FROM vector_fresh WHERE vset IN ({sets})", (whose,))
            return
        form = self._forms[table.name]
        self._connection.execute(
            f"DELETE FROM {table.name} WHERE {form.whose} IN (SELECT value FROM json_each(?))", (whose,)
        )

    def _note(self, before: Progress, now: Progress) -> None:
        sql = "UPDATE store_setting SET value = ? WHERE name = ? AND value = ?"
        if self._connection.execute(sql, (now.text(), MOVING, before.text())).rowcount != 1:
            raise another()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        begin_immediate(self._connection)
        try:
            yield
            self._connection.execute("COMMIT")
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise store_error(error) from error
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


# ---------------------------------------------------------------------------------- opening


@contextlib.contextmanager
def open_source(path: Path, patience: float = PATIENCE_SECONDS) -> Iterator[SqliteMoving]:
    """A file to be read. Other programs can read it too; those that write to it wait until the end.

    Raises:
        StoreError: it holds no memory, or half of one. StoreBusy: another program goes on writing to it.
    """
    if not path.is_file():
        raise StoreError(f"there is no file {path}: name the database that is to be moved")
    with contextlib.closing(connect(path)) as connection:
        if not applied_migrations(connection, path):
            raise StoreError(f"{path} is empty: name the database that is to be moved")
    migrate_up(path, shipped())
    with contextlib.closing(connect(path)) as connection:
        try:
            begin_immediate(connection, patience)
        except StoreBusy:
            raise StoreBusy(
                f"another program is writing to {path}: stop it, so that nothing is written that is not moved"
            ) from None
        moving = SqliteMoving(connection, path)
        check_whole(moving.settings, path)
        yield moving


@contextlib.contextmanager
def open_target(path: Path) -> Iterator[SqliteMoving]:
    """A file to be written, made when there is none.

    Raises:
        StoreError: it is no database of jiyi, or cannot be made. StoreBusy: another program has it open.
    """
    made = make_file(path)
    migrate_up(path, shipped())
    with contextlib.closing(connect(path)) as connection:
        # Safe when this process is killed; what a power cut takes is noted as not moved with it.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -65536")
        target = SqliteMoving(connection, path)
        if not made and target.progress is None:
            _check_alone(connection, path)
        yield target


def _check_alone(connection: sqlite3.Connection, path: Path) -> None:
    """Who has the file open would go on with the secret that it had, and find nothing any more by its words.

    Raises:
        StoreBusy: somebody has.
    """
    try:
        for mode in ("DELETE", "WAL"):  # only who is alone may change it
            connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    except sqlite3.Error as error:
        if not is_busy(error):
            raise store_error(error) from error
        raise StoreBusy(f"{path} is open in another program: end that first, or name another target") from error
