"""Moving a memory to another database as it stands: every row of every table, with its numbers, and the secret that hashes
were made with (SPEC O2).

What is moved are rows in one form, that of PostgreSQL: an owner and numbers within it. Tables and columns are read from the
databases themselves, so that a later migration's are moved too, or the move is refused; nothing is left out silently.

A move can be killed at any moment and begun again. How far it came is written with the rows it speaks of, in the target. At the
end both sides are read whole and compared, table by table and owner by owner; what differs, since the source was written to
between two runs, is moved again. Memory holds one batch of rows, and two numbers for each owner.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from jiyi.domain.encoding import to_json
from jiyi.domain.forgetting import Copy
from jiyi.errors import StoreCorrupt, StoreError
from jiyi.stores.numbering import Row
from jiyi.stores.text_index import CHOSEN_KINDS, index_setting

MOVING = "moving"
"""Name of a setting of the store itself: there from the first row moved into it to the end of the comparison."""
BATCH_ROWS, BATCH_CHARS = 5_000, 4_000_000
"""What is moved in one transaction, and held in memory, at the most."""

Mark: TypeAlias = Sequence[Any]
"""The primary key of a row: what was moved up to it is moved."""
Batch: TypeAlias = tuple[list[Row], Mark]
Step: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Table:
    """A table in the one form, its columns in the order of their names. `owner` is the place of the column that says whose a
    row is; None where it is nobody's."""

    name: str
    columns: tuple[str, ...]
    owner: int | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a move has come: rows of `table` up to `after`, and all tables before it."""

    source: str
    table: str = ""
    after: Mark = ()
    rows: int = 0

    def text(self) -> str:
        after = [{"hex": value.hex()} if isinstance(value, bytes) else value for value in self.after]
        return to_json({"source": self.source, "table": self.table, "after": after, "rows": self.rows})

    @staticmethod
    def of(text: str) -> Progress:
        fields = json.loads(text)
        after = [bytes.fromhex(v["hex"]) if isinstance(v, dict) else v for v in fields["after"]]
        return Progress(fields["source"], fields["table"], after, fields["rows"])


class Movable(Protocol):
    """One database, seen as tables in the one form. No other program writes to it meanwhile."""

    @property
    def tables(self) -> Sequence[Table]:
        """All that is moved, in the order of their names."""

    def count(self, table: Table) -> int:
        """How many rows."""

    def batches(self, table: Table, after: Mark = (), owners: Collection[int] | None = None) -> Iterator[Batch]:
        """Rows in the order of the primary key, those after a mark, of all owners or of some."""


class MovingSource(Movable, Protocol):
    @property
    def secret(self) -> bytes: ...

    def sequences(self) -> Mapping[str, int]:
        """The last number given out, by the name of the table whose rows are numbered over all owners."""


class MovingTarget(Movable, Protocol):
    @property
    def progress(self) -> Progress | None:
        """How far the move into it had come that was not ended."""

    def is_empty(self) -> bool:
        """Whether it holds nothing of any user."""

    def begin(self, secret: bytes, progress: Progress) -> None:
        """Take over the secret; from now on it is the target of this move, and cannot be opened for anything else.

        Raises:
            StoreBusy: another program has it open, and would go on with its old secret.
        """

    def put(self, table: Table, rows: Sequence[Row], before: Progress, now: Progress) -> None:
        """Rows and how far that is, in one transaction. Where something is in their way, since the source was written to
        between two runs, the table begins anew with them: what is missing is moved at the end.

        Raises:
            StoreError: another move came before it.
        """

    def replace(self, table: Table, owners: Collection[int], batches: Iterable[Batch]) -> None:
        """In one transaction, these rows in the place of those of some owners."""

    def finish(self, sequences: Mapping[str, int], meta: Mapping[str, str], copy: Copy | None) -> None:
        """The move is done: a database like any other, with these entries of `meta` put right. `copy` is where all of it still
        is: whoever forgets something is told so (SPEC F6)."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move did. `rows` by table, `users` how many were compared and are equal, `again` of how many of them something
    had changed since an earlier run moved it, `digest` the same on both sides. `native` names the kinds of text that the
    engine's own index held in the source: the target has to index them itself."""

    users: int
    rows: Mapping[str, int]
    again: int
    digest: str
    native: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.rows.values())


@dataclass(slots=True)
class _Sums:
    """Count and sum of the hashes of rows, by owner: the same in whatever order they are read."""

    of: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, owner: int, digest: int) -> None:
        rows, total = self.of.get(owner, (0, 0))
        self.of[owner] = (rows + 1, (total + digest) % (1 << 128))

    def differing(self, other: _Sums) -> set[int]:
        return {owner for owner in self.of.keys() | other.of.keys() if self.of.get(owner) != other.of.get(owner)}


# ---------------------------------------------------------------------------------- moving


def fingerprint(secret: bytes) -> str:
    """Tells sources apart by their secret, and does not tell it."""
    return hashlib.blake2b(b"moving", key=secret, digest_size=16).hexdigest()


def begin(source: MovingSource, target: MovingTarget) -> Progress:
    """Where to go on; a new target is made ready.

    Raises:
        StoreError: the two have different tables, or the target is no place for this memory.
    """
    if not source.secret:
        raise StoreError("the source holds no memory: name the database that is to be moved")
    if wrong := {table.name for table in {*source.tables} ^ {*target.tables}}:
        raise StoreError(
            f"the two databases do not have the same tables ({', '.join(sorted(wrong))}): update jiyi, and open both with it"
        )
    start, here = Progress(fingerprint(source.secret)), target.progress
    if here is not None and here.source != start.source:
        raise StoreError(
            "the target holds a half-done migration of another memory: name that one as the source, or another target"
        )
    if here is not None:
        return here
    if not target.is_empty():
        raise StoreError("the target holds a memory already: name a new file, a new database, or another schema of it")
    target.begin(source.secret, start)
    return start


def copy(source: MovingSource, target: MovingTarget, progress: Progress, step: Step) -> None:
    """Move every row that was not moved yet."""
    for table in source.tables:
        if table.name < progress.table:
            continue
        after = progress.after if table.name == progress.table else ()
        for rows, mark in source.batches(table, after):
            now = Progress(progress.source, table.name, mark, progress.rows + len(rows))
            target.put(table, rows, progress, now)
            progress = now
            step(len(rows))


def compare(source: MovingSource, target: MovingTarget, step: Step) -> Moved:
    """Read both sides whole, and make the target equal where it is not.

    Raises:
        StoreCorrupt: they differ also after that.
    """
    rows, again, users = dict[str, int](), set[int](), set[int]()
    whole = hashlib.blake2b(digest_size=16)
    for table in source.tables:
        ours = _sums(source, table, step)
        if owners := ours.differing(_sums(target, table)):
            target.replace(table, owners, source.batches(table, owners=owners))
            _check_equal(table, ours, _sums(target, table))
            again |= owners
        rows[table.name] = sum(count for count, _ in ours.of.values())
        whole.update(repr((table.name, sorted(ours.of.items()))).encode())
        users |= ours.of.keys() if table.name == OWNERS else set()
    # What is nobody's, such as the words of the dictionary, is moved with the users, and is no user.
    return Moved(len(users), rows, len(again & users), whole.hexdigest())


def _check_equal(table: Table, ours: _Sums, theirs: _Sums) -> None:
    if wrong := ours.differing(theirs):
        raise StoreCorrupt(
            f"{len(wrong)} users have other rows of {table.name} in the target than in the source, also when moved again: "
            "run `jiyi doctor` on the source"
        )


def _sums(side: Movable, table: Table, step: Step | None = None) -> _Sums:
    found = _Sums()
    for rows, _ in side.batches(table):
        for row in rows:
            found.add(0 if table.owner is None else row[table.owner], _digest(row))
        if step is not None:
            step(len(rows))
    return found


def _digest(row: Row) -> int:
    # repr: every value of a row is a number, text, bytes or None, and says so.
    data = repr(row).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest(), "little")


def in_batches(rows: Iterable[Row], marked: int) -> Iterator[Batch]:
    """Cut rows, whose last `marked` values are their primary key again, into batches without it."""
    batch: list[Row] = []
    size = 0
    mark: Mark = ()
    for row in rows:
        values, mark = row[:-marked], row[-marked:]
        batch.append(values)
        size += sum(len(value) for value in values if isinstance(value, str | bytes))
        if len(batch) == BATCH_ROWS or size > BATCH_CHARS:
            yield batch, mark
            batch, size = [], 0
    if batch:
        yield batch, mark


# ---------------------------------------------------------------------------------- the one form


def native_kinds(settings: Mapping[str, str]) -> list[str]:
    """The kinds of text whose index is the engine's own, which is not moved."""
    return [kind.value for kind in CHOSEN_KINDS if settings.get(index_setting(kind)) == "native"]


OWNERS = "owner"
"""The table of the scopes: its `number` is what `owner` is elsewhere."""
APART = frozenset({"migration", "store_setting", "native_text", "vector_near"})
"""Tables that a database has of itself. Of their rows only the secret is moved."""


def table_of(name: str, columns: Iterable[str]) -> Table:
    names = tuple(sorted(columns))
    whose = "number" if name == OWNERS else "owner"
    return Table(name, names, names.index(whose) if whose in names else None)


def check_whole(settings: Mapping[str, str], place: object) -> None:
    """Raises: StoreError where a move into a database, which these settings are of, was not ended."""
    if MOVING in settings:
        raise StoreError(
            f"a migration into {place} was not ended: run the same `jiyi migrate` again, which goes on where it stopped; "
            "or delete this database"
        )


def another() -> StoreError:
    return StoreError("another migration works on this target at this moment: let it end, or stop it and begin again")


META = "meta"
VECTOR = table_of("vector", ("owner", "vset", "kind", "seq", "square", "numbers"))
"""One row for each vector, however they lie."""
TURN = "job_turn"
"""Among the sequences: the last place in the queue of jobs that was given out."""
