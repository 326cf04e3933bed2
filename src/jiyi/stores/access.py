"""What the ports of a SQL store need of one unit of work: statements, owners and counters. Each store brings its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from jiyi.domain.scope import Scope
from jiyi.stores.numbering import Arguments, Row


class Access(Protocol):
    """A transaction, in the dialect of its database. It turns the driver's errors into ours, refuses to write in a reading
    unit, and refuses everything once the unit is over."""

    def rows(self, sql: str, arguments: Arguments = ()) -> list[Row]:
        """All rows of a SELECT."""

    def change(self, sql: str, arguments: Arguments = ()) -> int:
        """Run a changing statement; returns how many rows it touched."""

    def change_many(self, sql: str, arguments: Iterable[Arguments]) -> int:
        """Run a changing statement for each set of arguments; returns how many rows they touched in all."""

    @property
    def writable(self) -> bool: ...

    def check_writable(self) -> None:
        """Raises: StoreError in a reading unit, and in one that is over."""

    def owner(self, scope: Scope) -> int | None:
        """The number of a scope, None when nothing was ever written to it."""

    def make_owner(self, scope: Scope) -> int:
        """The number of a scope, a new one when it has none."""

    def kept(self, owner: int, what: str) -> dict[Any, Any]:
        """Where to keep what was read of an owner, so that it is read once. In a unit that writes it is a new one each time."""

    def counter(self, owner: int, name: str) -> int: ...
    def add_to_counter(self, owner: int, name: str, difference: int) -> None: ...
    def set_counter(self, owner: int, name: str, value: int) -> None: ...
