"""Vectors in SQLite: chunks of 256 of one owner, model and kind, read whole and compared by brute force (SPEC R11).

New ones are rows, so that one text costs one row to write; when 256 have come together they are folded into a chunk, which is
read fifteen times as fast. A chunk that lost most of its vectors becomes rows again.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from jiyi.domain.scope import Scope
from jiyi.domain.vectors import (
    Chunk,
    Neighbour,
    Scan,
    Vector,
    VectorSet,
    chunk_of,
    plain_scan,
    seqs_of,
    vectors_of,
)
from jiyi.errors import EngineUnavailable, InputError
from jiyi.ports import Kind, VectorEngine, VectorIndex
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.hot_vectors import HotVectors
from jiyi.stores.text_index import KIND_NUMBERS

log = logging.getLogger("jiyi.vectors")

SIZE = 256
SPARSE = 64
"""A chunk with fewer vectors is not worth its reading: what is left of it becomes rows."""
MARGIN = 64
"""What an engine is asked for beyond the limit: it orders equal ones otherwise, and misses a few."""


@dataclass(frozen=True, slots=True)
class VectorRules:
    """What is decided once for a store: how vectors are compared, and which engine finds them, if any.

    `prefix` begins the names of this database's collections. Sets with fewer than `share` times as many vectors as are asked
    for are looked through here: no engine is quicker.
    """

    scan: Scan = plain_scan
    engine: VectorEngine | None = None
    prefix: str = ""
    share: int = 4

    def collection(self, number: int, kind: int) -> str:
        return f"{self.prefix}-{number}-{kind}"


class SqliteVectors(VectorIndex):
    def __init__(self, access: Access, rules: VectorRules, hot: HotVectors) -> None:
        """Args:
        hot: where chunks may come from, and are kept.
        """
        self._access = access
        self._rules = rules
        self._hot = hot
        self.changed: set[tuple[int, int]] = set()
        """Sets and kinds whose chunks this unit has written to."""

    # ------------------------------------------------------------------------------ sets

    def begin(self, scope: Scope, model: str, dimension: int) -> None:
        owner = self._access.make_owner(scope)
        sql = "INSERT INTO vector_set (owner, model, dimension) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        self._access.change(sql, (owner, model, dimension))
        self._check(scope, model, [dimension])

    def sets(self, scope: Scope) -> list[VectorSet]:
        sql = "SELECT model, dimension FROM vector_set WHERE owner = ? ORDER BY number"
        return [VectorSet(*row) for row in self._access.rows(sql, (self._access.owner(scope),))]

    def drop(self, scope: Scope, model: str) -> int:
        self._access.check_writable()
        found = self._set(scope, model)
        if found is None:
            return 0
        number, _ = found
        gone = sum(self.count(scope, kind, model) for kind in Kind)
        for table in ("vector_fresh", "vector_chunk", "vector_version"):
            self._access.change(f"DELETE FROM {table} WHERE vset = ?", (number,))
        self._access.change("DELETE FROM vector_set WHERE number = ?", (number,))
        for kind in KIND_NUMBERS.values():
            self._tell(number, kind, [0])
            self.changed.add((number, kind))
        return gone

    def embedded_up_to(self, scope: Scope, model: str) -> int:
        sql = "SELECT upto FROM vector_set WHERE owner = ? AND model = ?"
        return int(self._access.value(sql, (self._access.owner(scope), model)) or 0)

    def mark_embedded_up_to(self, scope: Scope, model: str, seq: int) -> None:
        if not 0 <= seq <= MAX_SEQ:
            raise InputError(f"message number {seq} is outside 0 to {MAX_SEQ:,}")
        number = self._check(scope, model, ())
        self._access.change("UPDATE vector_set SET upto = ? WHERE number = ?", (seq, number))

    def _set(self, scope: Scope, model: str) -> tuple[int, int] | None:
        """Number and dimension of a set."""
        sql = "SELECT number, dimension FROM vector_set WHERE owner = ? AND model = ?"
        rows = self._access.rows(sql, (self._access.owner(scope), model))
        return (rows[0][0], rows[0][1]) if rows else None

    def _check(self, scope: Scope, model: str, dimensions: Collection[int]) -> int:
        found = self._set(scope, model)
        if found is None:
            raise InputError(f"no vectors of {model} were begun here")
        if wrong := set(dimensions) - {found[1]}:
            raise _other(model, found[1], wrong.pop())
        return found[0]

    # ------------------------------------------------------------------------------ writing

    def add(self, scope: Scope, kind: Kind, model: str, vectors: Mapping[int, Vector]) -> None:
        self._access.check_writable()
        number = self._check(scope, model, {v.dimension for v in vectors.values()})
        if wrong := [seq for seq in vectors if not 1 <= seq <= MAX_SEQ]:
            raise InputError(f"number {wrong[0]} is outside 1 to {MAX_SEQ:,}")
        self._take(number, KIND_NUMBERS[kind], vectors)
        self._put(number, KIND_NUMBERS[kind], vectors)
        self.fold(number, KIND_NUMBERS[kind])
        self._tell(number, KIND_NUMBERS[kind], vectors)

    def remove(self, scope: Scope, kind: Kind, seqs: Collection[int]) -> int:
        self._access.check_writable()
        owner = self._access.owner(scope)
        numbers = self._access.rows("SELECT number FROM vector_set WHERE owner = ?", (owner,)) if seqs else []
        total = 0
        for (number,) in numbers:
            if gone := self._take(number, KIND_NUMBERS[kind], seqs):
                self._tell(number, KIND_NUMBERS[kind], seqs)
                total += gone
        return total

    def _tell(self, number: int, kind: int, seqs: Iterable[int]) -> None:
        """Let the engine hear of it once this is committed."""
        if self._rules.engine is not None:
            sql = "INSERT INTO vector_outbox (vset, kind, seq) VALUES (?, ?, ?)"
            self._access.change_many(sql, [(number, kind, seq) for seq in seqs])

    def _put(self, number: int, kind: int, vectors: Mapping[int, Vector]) -> None:
        rows = [(number, kind, seq, v.square, v.numbers) for seq, v in vectors.items()]
        self._access.change_many("INSERT INTO vector_fresh VALUES (?, ?, ?, ?, ?)", rows)

    def _take(self, number: int, kind: int, seqs: Collection[int]) -> int:
        """Take vectors out of a set, from rows and chunks; gives how many there were."""
        if not seqs:
            return 0
        sql = "DELETE FROM vector_fresh WHERE vset = ? AND kind = ? AND seq IN (SELECT value FROM json_each(?))"
        gone = self._access.change(sql, (number, kind, json.dumps(list(seqs))))
        for key, lost in self._holding(number, kind, seqs).items():
            gone += len(lost)
            self._shrink(number, kind, key, lost)
        return gone

    def _shrink(self, number: int, kind: int, key: int, gone: Collection[int]) -> None:
        left = {seq: v for seq, v in vectors_of(self._chunk(key)) if seq not in gone}
        self.changed.add((number, kind))
        self._access.change("DELETE FROM vector_chunk WHERE id = ?", (key,))
        if len(left) < SPARSE:
            self._put(number, kind, left)
        else:
            self._write_chunk(number, kind, left)

    def _write_chunk(self, number: int, kind: int, vectors: Mapping[int, Vector]) -> None:
        self.changed.add((number, kind))
        chunk = chunk_of(vectors)
        sql = """
            INSERT INTO vector_chunk (vset, kind, first, last, seqs, squares, numbers) VALUES (?, ?, ?, ?, ?, ?, ?)
        """
        row = (number, kind, min(vectors), max(vectors), chunk.seqs, chunk.squares, chunk.numbers)
        self._access.change(sql, row)

    def fold(self, number: int, kind: int) -> None:
        """Make chunks of the rows while there are enough, the lowest numbers first."""
        sql = "SELECT seq, square, numbers FROM vector_fresh WHERE vset = ? AND kind = ? ORDER BY seq LIMIT ?"
        while len(rows := self._access.rows(sql, (number, kind, SIZE))) == SIZE:
            vectors = {seq: Vector(numbers, square) for seq, square, numbers in rows}
            self._write_chunk(number, kind, vectors)
            delete = "DELETE FROM vector_fresh WHERE vset = ? AND kind = ? AND seq <= ?"
            self._access.change(delete, (number, kind, rows[-1][0]))

    # ------------------------------------------------------------------------------ reading

    def search(self, scope: Scope, kind: Kind, model: str, query: Vector, limit: int) -> list[Neighbour]:
        there = self._set(scope, model)
        if there is None or limit < 1:
            return []
        number, dimension = there
        if query.dimension != dimension:
            raise _other(model, dimension, query.dimension)
        found = self._by_engine(scope, kind, model, number, query, limit)
        return self._nearest(number, KIND_NUMBERS[kind], query, at_most(limit)) if found is None else found

    def _by_engine(
        self, scope: Scope, kind: Kind, model: str, number: int, query: Vector, limit: int
    ) -> list[Neighbour] | None:
        """What the engine finds, compared here as everywhere; None when it is better not asked."""
        engine, place = self._rules.engine, (number, KIND_NUMBERS[kind])
        if engine is None or self.count(scope, kind, model) < self._rules.share * limit:
            return None
        if self._access.rows("SELECT 1 FROM vector_outbox WHERE vset = ? AND kind = ? LIMIT 1", place):
            return None  # It has not heard of everything.
        try:
            found = engine.near(self._rules.collection(*place), query, limit + MARGIN)
        except EngineUnavailable as error:
            log.warning("all vectors are looked through: %s", error)
            return None
        return self._rules.scan([chunk_of(found)], query, limit) if found else None

    @damage
    def _nearest(self, number: int, kind: int, query: Vector, limit: int) -> list[Neighbour]:
        sql = "SELECT version FROM vector_version WHERE vset = ? AND kind = ?"
        version = self._access.value(sql, (number, kind)) or 0
        folded = self._hot.chunks((number, kind), version, lambda: self._folded(number, kind))
        return self._rules.scan(chain(self._fresh(number, kind), folded), query, limit)

    def _chunks(self, number: int, kind: int) -> Iterator[Chunk]:
        yield from self._fresh(number, kind)
        yield from self._folded(number, kind)

    def _fresh(self, number: int, kind: int) -> Iterator[Chunk]:
        """The rows that are no chunk yet, as one."""
        sql = "SELECT seq, square, numbers FROM vector_fresh WHERE vset = ? AND kind = ?"
        if fresh := self._access.rows(sql, (number, kind)):
            seqs, squares, numbers = zip(*fresh, strict=True)
            count = f"<{len(fresh)}I"
            yield Chunk(struct.pack(count, *seqs), struct.pack(count, *squares), b"".join(numbers))

    def _folded(self, number: int, kind: int) -> Iterator[Chunk]:
        # The long column one by one, so that the memory of one chunk serves for the next, and past SQLite's own copy of it.
        sql = "SELECT id, seqs, squares FROM vector_chunk WHERE vset = ? AND kind = ? ORDER BY first, last"
        for key, seqs, squares in self._access.rows(sql, (number, kind)):
            yield Chunk(seqs, squares, self._access.blob("vector_chunk", "numbers", key))

    @damage
    def held(self, scope: Scope, kind: Kind, model: str) -> set[int]:
        found = self._set(scope, model)
        if found is None:
            return set()
        return set(self.seqs(found[0], KIND_NUMBERS[kind]))

    def count(self, scope: Scope, kind: Kind, model: str) -> int:
        found = self._set(scope, model)
        place = (found[0] if found else 0, KIND_NUMBERS[kind])
        sql = """
            SELECT (SELECT count(*) FROM vector_fresh WHERE vset = :set AND kind = :kind)
                 + (SELECT coalesce(sum(length(seqs) / 4), 0) FROM vector_chunk WHERE vset = :set AND kind = :kind)
        """
        return int(self._access.value(sql, {"set": place[0], "kind": place[1]}))

    # ------------------------------------------------------------------------------ for the store itself

    @damage
    def seqs(self, number: int, kind: int, after: int = 0) -> list[int]:
        """The numbers above `after` that have a vector, in order."""
        place = (number, kind, after)
        fresh = self._access.rows("SELECT seq FROM vector_fresh WHERE vset = ? AND kind = ? AND seq > ?", place)
        found = [seq for (seq,) in fresh]
        for (packed,) in self._access.rows(
            "SELECT seqs FROM vector_chunk WHERE vset = ? AND kind = ? AND last > ?", place
        ):
            found += [seq for seq in seqs_of(packed) if seq > after]
        return sorted(found)

    def every(self, number: int, kind: int) -> Iterator[tuple[int, Vector]]:
        """All vectors of a set and kind."""
        for chunk in self._chunks(number, kind):
            yield from vectors_of(chunk)

    @damage
    def some(self, number: int, kind: int, seqs: Collection[int]) -> dict[int, Vector]:
        """Those of these numbers that are there."""
        sql = """
            SELECT seq, square, numbers FROM vector_fresh
            WHERE vset = ? AND kind = ? AND seq IN (SELECT value FROM json_each(?))
        """
        rows = self._access.rows(sql, (number, kind, json.dumps(list(seqs))))
        found = {seq: Vector(numbers, square) for seq, square, numbers in rows}
        wanted = set(seqs) - found.keys()
        for key in self._holding(number, kind, wanted):
            found.update((seq, v) for seq, v in vectors_of(self._chunk(key)) if seq in wanted)
        return found

    def _holding(self, number: int, kind: int, seqs: Collection[int]) -> dict[int, set[int]]:
        """The chunks that hold any of these, with those that they hold."""
        wanted = set(seqs)
        sql = "SELECT id, seqs FROM vector_chunk WHERE vset = ? AND kind = ? AND first <= ? AND last >= ?"
        rows = self._access.rows(sql, (number, kind, max(wanted), min(wanted))) if wanted else []
        found = {key: wanted.intersection(seqs_of(packed)) for key, packed in rows}
        return {key: held for key, held in found.items() if held}

    def _chunk(self, key: int) -> Chunk:
        [row] = self._access.rows("SELECT seqs, squares, numbers FROM vector_chunk WHERE id = ?", (key,))
        return Chunk(*row)


def _other(model: str, dimension: int, given: int) -> InputError:
    return InputError(f"the vectors of {model} have {dimension} numbers, not {given}")
