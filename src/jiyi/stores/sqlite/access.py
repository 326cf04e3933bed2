"""How the ports of one unit of work reach the database: statements, owners, counters.

An `Access` lives as long as its unit. It turns SQLite's errors into ours, refuses to write in a reading
unit, and refuses everything once the unit is over.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

from jiyi.domain.scope import Scope
from jiyi.errors import InputError, StoreBusy, StoreCorrupt, StoreError
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, SEQ_BITS, Arguments, Row


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds what we need, so that trying again can help."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def store_error(error: sqlite3.Error) -> StoreError:
    """Our error for one of SQLite's, saying what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if is_busy(error):
        return StoreBusy(f"another process holds the database ({error}): try again when it is done")
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(f"the database is damaged ({error}): run `jiyi doctor`, or restore a backup")
    if primary == sqlite3.SQLITE_FULL:
        return StoreError(f"the disk is full ({error}): free some space and try again, nothing of this write was kept")
    if primary == sqlite3.SQLITE_READONLY:
        return StoreError(f"this unit or file is for reading only ({error}): change the store inside store.write(...)")
    return StoreError(f"the database could not do that ({error}); run `jiyi doctor` if it happens again")


class Access:
    """The connection of one unit of work, with the owners it has met.

    Each unit asks for its owners anew: where another database was put into this file, a number is somebody else's.
    """

    __slots__ = ("_connection", "_counters", "_is_open", "_kept", "_last", "_owners", "_writable")

    def __init__(self, connection: sqlite3.Connection, *, writable: bool) -> None:
        self._connection = connection
        self._writable = writable
        self._is_open = True
        self._owners: dict[Scope, int] = {}
        self._counters: dict[int, dict[str, int]] = {}
        self._kept: dict[tuple[int, str], dict[Any, Any]] = {}
        self._last: tuple[Scope, int] | None = None

    def end(self) -> None:
        """The unit is over: nothing can be done through it any more."""
        self._is_open = False

    # ------------------------------------------------------------------------------ statements

    def rows(self, sql: str, arguments: Arguments = ()) -> list[Row]:
        """All rows of a SELECT."""
        self._check_open()
        try:
            return self._connection.execute(sql, arguments).fetchall()
        except sqlite3.Error as error:
            raise store_error(error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise _unstorable(error) from error

    def blob(self, table: str, column: str, key: int) -> bytes:
        """One long value by the key of its row, with a single copy of it."""
        self._check_open()
        try:
            with self._connection.blobopen(table, column, key, readonly=True) as value:
                return value.read()
        except sqlite3.Error as error:
            raise store_error(error) from error

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreError(
                "this unit of work is over: read inside `with store.read()`, write inside store.write(...)"
            )

    def value(self, sql: str, arguments: Arguments = ()) -> Any:
        """The first column of the first row, or None."""
        found = self.rows(sql, arguments)
        return found[0][0] if found else None

    def change(self, sql: str, arguments: Arguments = ()) -> int:
        """Run a changing statement; returns how many rows it touched."""
        self.check_writable()
        try:
            return self._connection.execute(sql, arguments).rowcount
        except sqlite3.Error as error:
            raise store_error(error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise _unstorable(error) from error

    def change_returning(self, sql: str, arguments: Arguments = ()) -> list[Row]:
        """The same for a statement with RETURNING."""
        self.check_writable()
        return self.rows(sql, arguments)

    def change_many(self, sql: str, arguments: Iterable[Arguments]) -> int:
        """Run a changing statement for each set of arguments; returns how many rows they touched in all."""
        self.check_writable()
        try:
            return self._connection.executemany(sql, arguments).rowcount
        except sqlite3.Error as error:
            raise store_error(error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise _unstorable(error) from error

    @property
    def writable(self) -> bool:
        return self._writable

    def check_writable(self) -> None:
        if not self._is_open:
            raise StoreError("this unit of work is over: change the store inside store.write(...)")
        if not self._writable:
            raise StoreError("this unit is for reading only: change the store inside store.write(...)")

    # ------------------------------------------------------------------------------ owners

    def owner(self, scope: Scope) -> int | None:
        """The number of a scope, None when nothing was ever written to it."""
        # One after the other, ports ask for the very same scope.
        if self._last is not None and self._last[0] is scope:
            return self._last[1]
        number = self._owners.get(scope)
        if number is None:
            number = self.value("SELECT number FROM owner WHERE tenant = ? AND user = ?", (scope.tenant, scope.user))
            if number is not None:
                self._owners[scope] = number
        if number is not None:
            self._last = scope, number
        return number

    def make_owner(self, scope: Scope) -> int:
        """The number of a scope, a new one when it has none."""
        self.check_writable()
        number = self.owner(scope)
        if number is None:
            sql = "INSERT INTO owner (tenant, user) VALUES (?, ?) RETURNING number"
            number = self._owners[scope] = int(self.value(sql, (scope.tenant, scope.user)))
        return number

    # ------------------------------------------------------------------------------ counters

    @damage
    def counter(self, owner: int, name: str) -> int:
        if self._writable:
            return int(self.value("SELECT value FROM counter WHERE owner = ? AND name = ?", (owner, name)) or 0)
        # A snapshot does not move, and a recall asks ten times.
        if owner not in self._counters:
            self._counters[owner] = dict(self.rows("SELECT name, value FROM counter WHERE owner = ?", (owner,)))
        return int(self._counters[owner].get(name) or 0)

    def know_counters(self, owner: int, counters: dict[str, int]) -> None:
        """All of an owner's, as they stand in this snapshot."""
        self._counters[owner] = counters

    def kept(self, owner: int, what: str) -> dict[Any, Any]:
        return {} if self._writable else self._kept.setdefault((owner, what), {})

    def take(self, owner: int, name: str, count: int = 1) -> int:
        """Take `count` fresh numbers; returns the first.

        Raises:
            StoreError: the scope has used up all 16.7 million numbers of this kind.
        """
        # Not in one statement with RETURNING: that makes SQLite walk the journal of the whole transaction.
        self.add_to_counter(owner, name, count)
        last = self.counter(owner, name)
        if last > MAX_SEQ:
            raise StoreError(f"this scope already holds {MAX_SEQ:,} of kind {name}: use another user or tenant")
        return last - count + 1

    def add_to_counter(self, owner: int, name: str, difference: int) -> None:
        sql = (
            "INSERT INTO counter (owner, name, value) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET value = value + excluded.value"
        )
        self.change(sql, (owner, name, difference))

    def set_counter(self, owner: int, name: str, value: int) -> None:
        sql = (
            "INSERT INTO counter (owner, name, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
        )
        self.change(sql, (owner, name, value))

    def raise_counter(self, owner: int, name: str, value: int) -> None:
        """A number was used that may not have been taken here: never give it out again."""
        sql = (
            "INSERT INTO counter (owner, name, value) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET value = excluded.value WHERE value < excluded.value"
        )
        self.change(sql, (owner, name, value))


def _unstorable(error: Exception) -> InputError:
    if isinstance(error, UnicodeEncodeError):
        return InputError(
            "the text holds a lone surrogate, which no encoding can carry: replace it, nothing was stored"
        )
    return InputError("a number is above what a database can hold (2^63): nothing was stored")


# ---------------------------------------------------------------------------------- keys


def row_key(owner: int, seq: int) -> int:
    """The key of an owner's row.

    Raises:
        InputError: the number would reach into another owner's rows.
    """
    if not 1 <= seq <= MAX_SEQ:
        raise InputError(f"number {seq} is outside 1 to {MAX_SEQ:,}")
    return owner << SEQ_BITS | seq


def first_key(owner: int) -> int:
    """Below every key of the owner."""
    return owner << SEQ_BITS


def last_key(owner: int) -> int:
    return owner << SEQ_BITS | MAX_SEQ


def key_list(owner: int, seqs: Collection[int]) -> str:
    """The keys of those numbers that an owner can have, for `IN (SELECT value FROM json_each(?))`."""
    base = owner << SEQ_BITS
    return json.dumps([base | seq for seq in set(seqs) if 1 <= seq <= MAX_SEQ])


@lru_cache(maxsize=512)
def marks(count: int) -> str:
    """`?, ?, ?` for an IN list."""
    return ", ".join("?" * count)


def few_marks(values: Sequence[Any]) -> tuple[str, list[Any]]:
    """An IN list, and the values for it, the last one repeated: of so few lengths that the statements stay prepared."""
    count = 1 << (len(values) - 1).bit_length() if len(values) <= 16 else -(-len(values) // 32) * 32
    return marks(count), [*values, *[values[-1]] * (count - len(values))]


MANY = 64
"""From so many keys on a list of them costs more as marks than as JSON."""


def keys_in(owner: int, seqs: Collection[int]) -> tuple[str, list[Any]]:
    """What stands in `IN (…)` for the keys of those numbers that an owner can have, with its arguments."""
    base = owner << SEQ_BITS
    return listing_of([base | seq for seq in set(seqs) if 1 <= seq <= MAX_SEQ])


def listing_of(keys: Sequence[int]) -> tuple[str, list[Any]]:
    """The same of keys as they are."""
    return few_marks(keys) if 0 < len(keys) <= MANY else ("SELECT value FROM json_each(?)", [json.dumps(keys)])


# ---------------------------------------------------------------------------------- what was erased

ERASED = "erased"
"""Name of a setting of the store itself: there from an erasure to the next purge, with a value of each erasure's own."""


def note_erasure(access: Access) -> None:
    """Remember, with the erasure itself, that its bytes may still be in the log and in freed space until a purge."""
    access.change(
        "INSERT INTO store_setting (name, value) VALUES (?, hex(randomblob(8)))"
        " ON CONFLICT DO UPDATE SET value = excluded.value",
        (ERASED,),
    )
