"""How the ports of one unit of work reach PostgreSQL: statements, the scope they are about, counters.

Two things are this module's own. Text: PostgreSQL holds no NUL character, so it goes in as another and comes out as it was.
Scope: `owner` enters a scope for the transaction, which row-level security then holds every statement to; in a writing unit
it also waits for the other writers of that scope, so that writes of one scope come one after another, as in SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import errors

from jiyi.domain.scope import Scope
from jiyi.errors import InputError, StoreBusy, StoreCorrupt, StoreError, StoreLost
from jiyi.ports import Kind
from jiyi.settings import TextIndexName
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, Arguments, Row
from jiyi.stores.postgres.hot import VERSION, HotScopes, Kept
from jiyi.stores.text_index import CHOSEN_KINDS, known_index

ESCAPE = "\ufdd0"
"""A code point that Unicode keeps for such uses. What it stands for: NUL, and itself."""
_NUL, _SELF = f"{ESCAPE}0", f"{ESCAPE}1"

PASSING = (errors.SerializationFailure, errors.DeadlockDetected)
"""Conflicts after which the same work can be run again."""


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, or the server does not take one now: not that it refuses what was asked."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    # Without a code it comes from the driver. 08: connection; 57P: shutting down, starting up, crashed; 53300: too many.
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P")) or error.sqlstate == "53300"


def store_error(error: psycopg.Error) -> StoreError | InputError:
    """Our error for one of PostgreSQL's, saying what to do. It quotes what the server said, which is no password."""
    said = " ".join(str(error).split())
    if is_lost(error):
        return StoreLost(f"the database server was lost ({said}): nothing was kept, try again")
    match error:
        case errors.NumericValueOutOfRange():
            return InputError("a number is above what a database can hold (2^63): nothing was stored")
        case errors.DeadlockDetected() | errors.SerializationFailure() | errors.LockNotAvailable():
            return StoreBusy(f"other programs held what this write needs ({said}): try again")
        case errors.QueryCanceled():
            return StoreBusy(f"the server gave up a statement ({said}): raise postgres.statement_seconds, or try later")
        case errors.DiskFull():
            return StoreError(f"the server's disk is full ({said}): free some space, nothing of this write was kept")
        case errors.ReadOnlySqlTransaction():
            return StoreError(
                f"this unit or server is for reading only ({said}): change the store inside store.write(...), on the primary"
            )
        case errors.InsufficientPrivilege():
            return StoreError(
                f"the role may not do that ({said}): connect as the role that made the database, or ask it for the right"
            )
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreCorrupt(f"the database is damaged ({said}): restore a backup")
    return StoreError(f"the database could not do that ({said}); run `jiyi doctor` if it happens again")


class PostgresAccess:
    """The connection of one unit of work. `stores.access.Access` in PostgreSQL's dialect."""

    __slots__ = (
        "_connection", "_counters", "_entered", "_hot", "_indexes", "_is_open", "_kept", "_operating", "_owners",
        "_writable", "changed",
    )  # fmt: skip

    def __init__(self, connection: psycopg.Connection[Row], *, writable: bool, hot: HotScopes | None = None) -> None:
        """
        Args:
            hot: where what is read may come from, and is kept.
        """
        self._connection = connection
        self._writable = writable
        self._is_open = True
        self._entered: Scope | None = None
        self._operating = False
        self._owners: dict[Scope, int] = {}
        self._counters: dict[int, dict[str, int]] = {}
        self._hot = hot
        self._kept: dict[int, Kept] = {}
        self.changed: dict[int, Scope] = {}
        """The scopes that were written to, by their owner."""
        self._indexes = ""

    def end(self) -> None:
        """The unit is over: nothing can be done through it any more."""
        self._is_open = False

    # ------------------------------------------------------------------------------ statements

    def rows(self, sql: str, arguments: Arguments = (), *, binary: bool = False) -> list[Row]:
        """All rows of a SELECT. With `binary` they come as the server holds them: as text, bytes are twice as long."""
        if not self._is_open:
            raise StoreError(
                "this unit of work is over: read inside `with store.read()`, write inside store.write(...)"
            )
        with _Reaching(self._connection) as cursor:
            cursor.execute(sql, _into(arguments), binary=binary)
            found = cursor.fetchall()
        return [from_text(row) for row in found]

    def value(self, sql: str, arguments: Arguments = ()) -> Any:
        """The first column of the first row, or None."""
        found = self.rows(sql, arguments)
        return found[0][0] if found else None

    def change(self, sql: str, arguments: Arguments = ()) -> int:
        self._change()
        with _Reaching(self._connection) as cursor:
            cursor.execute(sql, _into(arguments))
            return cursor.rowcount

    def change_returning(self, sql: str, arguments: Arguments = ()) -> list[Row]:
        """The same for a statement with RETURNING."""
        self._change()
        return self.rows(sql, arguments)

    def change_many(self, sql: str, arguments: Iterable[Arguments]) -> int:
        self._change()
        return self.note_many(sql, arguments)

    def note_many(self, sql: str, arguments: Iterable[Arguments]) -> int:
        """The same for what is never kept of a scope, such as what reading leaves behind: it has no new version for it."""
        self.check_writable()
        if not (sets := [_into(some) for some in arguments]):
            return 0
        with _Reaching(self._connection) as cursor:
            cursor.executemany(sql, sets)
            return cursor.rowcount

    def _change(self) -> None:
        self.check_writable()
        if self._entered is not None:
            self.changed[self._owners[self._entered]] = self._entered

    @property
    def writable(self) -> bool:
        return self._writable

    def check_writable(self) -> None:
        if not self._is_open:
            raise StoreError("this unit of work is over: change the store inside store.write(...)")
        if not self._writable:
            raise StoreError("this unit is for reading only: change the store inside store.write(...)")

    # ------------------------------------------------------------------------------ scopes

    def owner(self, scope: Scope) -> int | None:
        """The number of a scope, which the statements that follow are about; None when nothing was ever written to it."""
        return self._enter(scope, make=False)

    def make_owner(self, scope: Scope) -> int:
        self.check_writable()
        number = self._enter(scope, make=True)
        assert number is not None
        return number

    def operate(self) -> None:
        """*Operator.* The statements that follow are about all scopes."""
        if not self._operating:
            self.rows("SELECT set_config('jiyi.owner', '', true), set_config('jiyi.operator', 'on', true)")
            self._entered, self._operating = None, True

    def _enter(self, scope: Scope, *, make: bool) -> int | None:
        if self._entered == scope and self._is_open:
            return self._owners[scope]
        # In this order: whoever held the scope may have changed its index.
        sql = "SELECT enter_scope(%s, %s, %s, %s), text_indexes()"
        [(number, self._indexes)] = self.rows(sql, (scope.tenant, scope.user, self._writable, make))
        self._operating = False
        self._entered = None if number is None else scope
        if number is not None:
            self._owners[scope] = int(number)
        return None if number is None else int(number)

    @damage
    def text_index(self, kind: Kind) -> TextIndexName:
        """Which index the database uses for a kind of text, as of when the scope was entered."""
        if kind not in CHOSEN_KINDS:
            return "postings"
        if not self._indexes:
            self._indexes = self.value("SELECT text_indexes()")
        return known_index(self._indexes.split()[CHOSEN_KINDS.index(kind)])

    @property
    def vector_index(self) -> str:
        """What finds vectors: `chunks`, that are put together and looked through here, or `pgvector`."""
        if not self._indexes:
            self._indexes = self.value("SELECT text_indexes()")
        return str(self._indexes.split()[len(CHOSEN_KINDS)])

    # ------------------------------------------------------------------------------ counters

    @damage
    def counter(self, owner: int, name: str) -> int:
        if self._writable:
            return int(self.value("SELECT value FROM counter WHERE owner = %s AND name = %s", (owner, name)) or 0)
        # A snapshot does not move, and a recall asks ten times.
        if owner not in self._counters:
            self._counters[owner] = dict(self.rows("SELECT name, value FROM counter WHERE owner = %s", (owner,)))
        return int(self._counters[owner].get(name, 0))

    def kept(self, owner: int, what: str) -> dict[Any, Any]:
        if self._writable:
            return {}
        if owner not in self._kept:
            self._kept[owner] = self._hot.kept(owner, self.counter(owner, VERSION)) if self._hot else Kept(0)
        return self._kept[owner].what(what)

    def version(self, scope: Scope) -> int:
        """Goes up with every transaction that changes what is read of a scope."""
        owner = self.owner(scope)
        return 0 if owner is None else self.counter(owner, VERSION)

    def take(self, owner: int, name: str, count: int = 1) -> int:
        """Take `count` fresh numbers; returns the first.

        Raises:
            StoreError: the scope has used up all 16.7 million numbers of this kind.
        """
        [(last,)] = self.change_returning(f"{_ADD} RETURNING value", (owner, name, count))
        if last > MAX_SEQ:
            raise StoreError(f"this scope already holds {MAX_SEQ:,} of kind {name}: use another user or tenant")
        return int(last) - count + 1

    def add_to_counter(self, owner: int, name: str, difference: int) -> None:
        self.change(_ADD, (owner, name, difference))

    def set_counter(self, owner: int, name: str, value: int) -> None:
        self.change(_SET, (owner, name, value))

    def raise_counter(self, owner: int, name: str, value: int) -> None:
        """A number was used that may not have been taken here: never give it out again."""
        self.change(f"{_SET} WHERE counter.value < excluded.value", (owner, name, value))


def read_through(
    kept: dict[int, Any], wanted: Sequence[int], read: Callable[[list[int]], Mapping[int, Any]]
) -> list[Any]:
    """What belongs to these numbers, in their order; what is not kept yet is read, and that there is none is kept too."""
    if missing := [number for number in wanted if number not in kept]:
        kept |= dict.fromkeys(missing) | dict(read(missing))
    return [found for number in wanted if (found := kept[number]) is not None]


def commit_statement(owners: Iterable[int]) -> str:
    """Ends a transaction; what was written to has a new version, which is told."""
    owners = list(owners)
    entered = "SELECT set_config('jiyi.operator', '', true), set_config('jiyi.owner', '{owner}', true)"
    raised = f"INSERT INTO counter (owner, name, value) VALUES ({{owner}}, '{VERSION}', 1) {_RAISED}"
    parts = [part.format(owner=int(owner)) for owner in owners for part in (entered, raised)]
    return "; ".join([*parts, "COMMIT"])


_RAISED = "ON CONFLICT (owner, name) DO UPDATE SET value = counter.value + 1 RETURNING owner, value"
_INSERT = "INSERT INTO counter (owner, name, value) VALUES (%s, %s, %s) ON CONFLICT (owner, name) DO UPDATE SET value ="
_ADD = f"{_INSERT} counter.value + excluded.value"
_SET = f"{_INSERT} excluded.value"


class _Reaching:
    """A cursor whose errors are ours."""

    __slots__ = ("_connection", "_cursor")

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def __enter__(self) -> psycopg.Cursor[Row]:
        self._cursor = self._connection.cursor()
        return self._cursor

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._cursor.close()
        if isinstance(error, UnicodeEncodeError):
            raise InputError(
                "the text holds a lone surrogate, which no encoding can carry: replace it, nothing was stored"
            ) from error
        if isinstance(error, OverflowError):
            raise InputError("a number is above what a database can hold (2^63): nothing was stored") from error
        if isinstance(error, PASSING):
            raise error  # for the store, which runs the work again
        if isinstance(error, psycopg.Error):
            raise store_error(error) from error


# ---------------------------------------------------------------------------------- text


def _into(arguments: Arguments) -> Arguments:
    if isinstance(arguments, Mapping):
        return {name: _escape(value) for name, value in arguments.items()}
    return [_escape(value) for value in arguments]


def _escape(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [_escape(one) for one in value]
    if isinstance(value, str) and ("\0" in value or ESCAPE in value):
        return value.replace(ESCAPE, _SELF).replace("\0", _NUL)
    return value


def into_text(row: Row) -> Row:
    """A row as PostgreSQL can hold it."""
    return tuple(_escape(value) for value in row)


def from_text(row: Row) -> Row:
    """A row as it was before `into_text`."""
    if not any(isinstance(value, str) and ESCAPE in value for value in row):
        return row
    return tuple(value.replace(_NUL, "\0").replace(_SELF, ESCAPE) if isinstance(value, str) else value for value in row)


# ---------------------------------------------------------------------------------- what was erased

ERASED = "erased"
"""Begins the names of settings of the store itself, one for each owner of whom something was erased since the last purge."""


def note_erasure(access: PostgresAccess, owner: int) -> None:
    """Remember, with the erasure itself, that its bytes may still be in the tables' files until a purge."""
    access.operate()
    access.change(
        "INSERT INTO store_setting (name, value) VALUES (%s, gen_random_uuid()::text)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (f"{ERASED}.{owner}",),
    )
