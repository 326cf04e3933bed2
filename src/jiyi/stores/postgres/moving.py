"""A PostgreSQL database as the source or the target of a move (see `stores.moving`)."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import psycopg
from psycopg import errors, sql

from jiyi.domain.encoding import micros
from jiyi.domain.forgetting import Copy
from jiyi.errors import StoreBusy, StoreError
from jiyi.settings import PostgresPolicy
from jiyi.stores.moving import (
    APART,
    META,
    MOVING,
    TURN,
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
from jiyi.stores.numbering import Row
from jiyi.stores.postgres.access import from_text, into_text, store_error
from jiyi.stores.postgres.connection import Place, check_unused, connect, place_of
from jiyi.stores.postgres.schema import applied_migrations, migrate_up, shipped

PATIENCE = "10s"
"""How long to wait for whoever writes to the source at this moment."""
FETCHED = 2_000
"""Rows that the server sends at once."""

_COLUMNS = """
    SELECT relname::text, attname::text, atttypid = 'boolean'::regtype, attidentity <> '',
           (SELECT array_position(indkey::int2[], attnum) FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
    WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
"""


class _Form:
    """How the rows of one table are read and written."""

    def __init__(self, schema: str, name: str, columns: Sequence[tuple[str, bool, bool, int | None]]) -> None:
        self.table = table_of(name, (column for column, *_ in columns))
        self.place = sql.Identifier(schema, name)
        booleans = {column for column, boolean, *_ in columns if boolean}
        self.names = sql.SQL(", ").join(map(sql.Identifier, self.table.columns))
        self.select = sql.SQL(", ").join(
            sql.SQL("{}::int" if column in booleans else "{}").format(sql.Identifier(column))
            for column in self.table.columns
        )
        self.primary = [c for place, c in sorted((p, c) for c, _, _, p in columns if p is not None)]
        self.numbered = next((c for c, _, identity, _ in columns if identity), None)
        self.whose = None if self.table.owner is None else self.table.columns[self.table.owner]

    def read(self, after: Mark, owners: Collection[int] | None) -> tuple[sql.Composed, list[object]]:
        """The rows with their primary key behind them, and its arguments."""
        key = sql.SQL(", ").join(map(sql.Identifier, self.primary))
        conditions: list[sql.Composable] = [sql.SQL("true")]
        arguments = list[object](after)
        if after:
            marks = sql.SQL(", ").join(sql.SQL("%s") for _ in after)
            conditions.append(sql.SQL("({}) > ({})").format(key, marks))
        if owners is not None and self.whose is not None:
            conditions.append(sql.SQL("{} = ANY(%s::bigint[])").format(sql.Identifier(self.whose)))
            arguments.append(sorted(owners))
        query = sql.SQL("SELECT {}, {} FROM {} WHERE {} ORDER BY {}").format(
            self.select, key, self.place, sql.SQL(" AND ").join(conditions), key
        )
        return query, arguments


class PostgresMoving:
    """Both sides of a move. Make it with `open_source` or `open_target`."""

    def __init__(self, connection: psycopg.Connection[Row], place: Place) -> None:
        self._connection = connection
        self._place = place
        self._schema = place.policy.schema
        self._settings_table = sql.Identifier(self._schema, "store_setting")
        columns: dict[str, list[tuple[str, bool, bool, int | None]]] = {}
        with _told():
            for name, *column in connection.execute(_COLUMNS, (self._schema,)).fetchall():
                if name not in APART:
                    columns.setdefault(name, []).append((column[0], column[1], column[2], column[3]))
        self._forms = {name: _Form(self._schema, name, found) for name, found in columns.items()}

    @cached_property
    def tables(self) -> Sequence[Table]:
        return sorted((form.table for form in self._forms.values()), key=lambda table: table.name)

    @cached_property
    def secret(self) -> bytes:
        return bytes.fromhex(self.settings.get("secret", ""))

    @property
    def progress(self) -> Progress | None:
        text = self.settings.get(MOVING)
        return None if text is None else Progress.of(text)

    @property
    def settings(self) -> dict[str, str]:
        query = sql.SQL("SELECT name, value FROM {}").format(self._settings_table)
        with _told():
            return dict(map(from_text, self._connection.execute(query).fetchall()))

    def native(self) -> list[str]:
        return native_kinds(self.settings)

    # ------------------------------------------------------------------------------ reading

    def count(self, table: Table) -> int:
        query = sql.SQL("SELECT count(*) FROM {}").format(self._forms[table.name].place)
        with _told():
            [(count,)] = self._connection.execute(query).fetchall()
        return int(count)

    def batches(self, table: Table, after: Mark = (), owners: Collection[int] | None = None) -> Iterator[Batch]:
        form = self._forms[table.name]
        yield from in_batches(self._streamed(*form.read(after, owners)), len(form.primary))

    def _streamed(self, query: sql.Composed, arguments: Sequence[object]) -> Iterator[Row]:
        with _told(), self._connection.transaction(), self._connection.cursor("moving") as cursor:
            cursor.itersize = FETCHED
            cursor.execute(query, arguments)
            for row in cursor:
                yield from_text(row)

    def sequences(self) -> Mapping[str, int]:
        found = {}
        with _told():
            for name, sequence in self._sequences().items():
                query = sql.SQL("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}").format(sequence)
                [(found[name],)] = self._connection.execute(query).fetchall()
        return found

    def _sequences(self) -> dict[str, sql.Identifier]:
        """The sequence that numbers the rows of a table, by the name of the table."""
        found = {TURN: sql.Identifier(self._schema, TURN)}
        for name, form in self._forms.items():
            if form.numbered is not None:
                query = "SELECT relname::text FROM pg_class WHERE oid = pg_get_serial_sequence(%s, %s)::regclass"
                quoted = form.place.as_string(self._connection)
                [(sequence,)] = self._connection.execute(query, (quoted, form.numbered)).fetchall()
                found[name] = sql.Identifier(self._schema, sequence)
        return found

    # ------------------------------------------------------------------------------ writing

    def is_empty(self) -> bool:
        with _told():
            return not any(
                self._connection.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(form.place)).fetchone()
                for name, form in self._forms.items()
                if name != META
            )

    def begin(self, secret: bytes, progress: Progress) -> None:
        with _told():
            check_unused(self._connection, self._place)
        with _told(), self._connection.transaction():
            for table in (self._forms[META].place, self._settings_table):
                self._connection.execute(sql.SQL("DELETE FROM {}").format(table))
            insert = sql.SQL("INSERT INTO {} (name, value) VALUES (%s, %s)").format(self._settings_table)
            for setting in (("secret", secret.hex()), (MOVING, progress.text())):
                self._connection.execute(insert, into_text(setting))

    def put(self, table: Table, rows: Sequence[Row], before: Progress, now: Progress) -> None:
        with _told():
            try:
                with self._connection.transaction():
                    self._insert(table, rows)
                    self._note(before, now)
            except errors.UniqueViolation:
                with self._connection.transaction():
                    self._delete(table)
                    self._insert(table, rows)
                    self._note(before, now)

    def replace(self, table: Table, owners: Collection[int], batches: Iterable[Batch]) -> None:
        with _told(), self._connection.transaction():
            self._delete(table, owners)
            for rows, _ in batches:
                self._insert(table, rows)

    def finish(self, sequences: Mapping[str, int], meta: Mapping[str, str], copy: Copy | None) -> None:
        with _told():
            with self._connection.transaction():
                for name, sequence in self._sequences().items():
                    if sequences.get(name):
                        quoted = sequence.as_string(self._connection)
                        self._connection.execute("SELECT setval(%s::regclass, %s)", (quoted, sequences[name]))
                update = sql.SQL("UPDATE {} SET value = %s WHERE name = %s").format(self._forms[META].place)
                for name, value in meta.items():
                    self._connection.execute(update, into_text((value, name)))
                if copy is not None:
                    insert = sql.SQL("INSERT INTO {} (owner, kind, path, at) VALUES (0, %s, %s, %s)")
                    values = into_text((copy.kind, copy.path, micros(copy.at)))
                    self._connection.execute(insert.format(self._forms["copy"].place), values)
                delete = sql.SQL("DELETE FROM {} WHERE name = %s").format(self._settings_table)
                # All before it did not wait for the disk; this commit does, and what comes before it in the log with it.
                self._connection.execute("SET LOCAL synchronous_commit TO on")
                self._connection.execute(delete, (MOVING,))
            for form in self._forms.values():  # A planner that knows nothing of so many rows reads them all.
                self._connection.execute(sql.SQL("ANALYZE {}").format(form.place))

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        form = self._forms[table.name]
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(form.place, form.names)
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(into_text(row))

    def _delete(self, table: Table, owners: Collection[int] | None = None) -> None:
        form = self._forms[table.name]
        if owners is None or form.whose is None:
            self._connection.execute(sql.SQL("DELETE FROM {}").format(form.place))
            return
        query = sql.SQL("DELETE FROM {} WHERE {} = ANY(%s::bigint[])").format(form.place, sql.Identifier(form.whose))
        self._connection.execute(query, (sorted(owners),))

    def _note(self, before: Progress, now: Progress) -> None:
        query = sql.SQL("UPDATE {} SET value = %s WHERE name = %s AND value = %s").format(self._settings_table)
        values = into_text((now.text(), MOVING, before.text()))
        if self._connection.execute(query, values).rowcount != 1:
            raise another()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"a migration needs the role that owns the tables ({error.diag.message_primary}): connect as that one"
        ) from None
    except psycopg.Error as error:
        raise store_error(error) from error


# ---------------------------------------------------------------------------------- opening


@contextlib.contextmanager
def open_source(url: str, policy: PostgresPolicy) -> Iterator[PostgresMoving]:
    """A database to be read. Other programs can read it too; those that write to it wait until the end.

    Raises:
        StoreError: it holds no memory, or this role does not own it. StoreBusy: another program goes on writing to it.
    """
    place = place_of(url, policy)
    with contextlib.closing(connect(place)) as connection:
        if not applied_migrations(connection, policy.schema):
            raise StoreError(f"{place.shown} holds no memory: name the database that is to be moved")
        migrate_up(connection, place, shipped())
        moving = PostgresMoving(connection, place)
        check_whole(moving.settings, place.shown)
        with _told():
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            for setting in ("row_security TO off", f"lock_timeout TO '{PATIENCE}'", *_PATIENT):
                connection.execute(f"SET LOCAL {setting}")
        names = sql.SQL(", ").join(sql.Identifier(policy.schema, table.name) for table in moving.tables)
        try:
            # Readers go on. Before the first statement that reads: what it sees is what was written until now.
            connection.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(names))
        except errors.LockNotAvailable:
            raise StoreBusy(
                f"another program is writing to {place.shown}: stop it, so that nothing is written that is not moved"
            ) from None
        except psycopg.Error as error:
            raise store_error(error) from None
        yield moving


@contextlib.contextmanager
def open_target(url: str, policy: PostgresPolicy) -> Iterator[PostgresMoving]:
    """A database to be written. Its schema is made when there is none.

    Raises:
        StoreError: it cannot be reached, or this role may not make the schema.
    """
    place = place_of(url, policy)
    with contextlib.closing(connect(place)) as connection:
        migrate_up(connection, place, shipped())
        with _told():
            for setting in ("row_security TO off", "synchronous_commit TO off", *_PATIENT):
                connection.execute(f"SET {setting}")
        yield PostgresMoving(connection, place)


_PATIENT = ("statement_timeout TO 0", "idle_in_transaction_session_timeout TO 0")
