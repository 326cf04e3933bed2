"""Vectors in PostgreSQL: a row each, read side by side and compared by brute force (SPEC R11).

The server puts the rows of one owner, model and kind together, a few thousand at a time, so that no row is looked at one by
one here. Where the database uses pgvector the server compares them itself, all of them, with the same scores (migration 0610).
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping

from jiyi.domain.scope import Scope
from jiyi.domain.vectors import STEPS, Chunk, Neighbour, Scan, Vector, VectorSet
from jiyi.errors import InputError
from jiyi.ports import Kind, VectorIndex
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.postgres.access import PostgresAccess
from jiyi.stores.postgres.messages import numbers
from jiyi.stores.text_index import KIND_NUMBERS

SIDE_BY_SIDE = 12
"""Vectors are put together by their numbers, so many bits at a time: 4,096 of 384 bytes are 1.6 MB."""

# In whichever order the rows come, the three have the same.
_CHUNKS = f"""
    SELECT string_agg(int4send(seq), ''::bytea), string_agg(int4send(square::integer), ''::bytea),
           string_agg(numbers, ''::bytea)
    FROM vector WHERE owner = %s AND vset = %s AND kind = %s GROUP BY seq >> {SIDE_BY_SIDE}
"""


MOST_NEAR = 4_000
"""Of vectors of more numbers pgvector has no copy (`most_near()` of the migration)."""


class PostgresVectors(VectorIndex):
    def __init__(self, access: PostgresAccess, scan: Scan) -> None:
        self._access = access
        self._scan = scan

    # ------------------------------------------------------------------------------ sets

    def begin(self, scope: Scope, model: str, dimension: int) -> None:
        owner = self._access.make_owner(scope)
        sql = "INSERT INTO vector_set (owner, model, dimension) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        self._access.change(sql, (owner, model, dimension))
        self._check(scope, model, [dimension])

    def sets(self, scope: Scope) -> list[VectorSet]:
        sql = "SELECT model, dimension FROM vector_set WHERE owner = %s ORDER BY number"
        return [VectorSet(*row) for row in self._access.rows(sql, (self._access.owner(scope),))]

    def drop(self, scope: Scope, model: str) -> int:
        self._access.check_writable()
        found = self._set(scope, model)
        if found is None:
            return 0
        owner, number, _ = found
        gone = self._access.change("DELETE FROM vector WHERE owner = %s AND vset = %s", (owner, number))
        self._access.change("DELETE FROM vector_set WHERE owner = %s AND number = %s", (owner, number))
        return gone

    def embedded_up_to(self, scope: Scope, model: str) -> int:
        sql = "SELECT upto FROM vector_set WHERE owner = %s AND model = %s"
        return int(self._access.value(sql, (self._access.owner(scope), model)) or 0)

    def mark_embedded_up_to(self, scope: Scope, model: str, seq: int) -> None:
        if not 0 <= seq <= MAX_SEQ:
            raise InputError(f"message number {seq} is outside 0 to {MAX_SEQ:,}")
        owner, number = self._check(scope, model, ())
        sql = "UPDATE vector_set SET upto = %s WHERE owner = %s AND number = %s"
        self._access.change(sql, (seq, owner, number))

    def _set(self, scope: Scope, model: str) -> tuple[int, int, int] | None:
        """Owner, number and dimension of a set."""
        owner = self._access.owner(scope)
        sql = "SELECT owner, number, dimension FROM vector_set WHERE owner = %s AND model = %s"
        rows = self._access.rows(sql, (owner, model))
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None

    def _check(self, scope: Scope, model: str, dimensions: Collection[int]) -> tuple[int, int]:
        found = self._set(scope, model)
        if found is None:
            raise InputError(f"no vectors of {model} were begun here")
        owner, number, dimension = found
        if wrong := set(dimensions) - {dimension}:
            raise _other(model, dimension, wrong.pop())
        return owner, number

    # ------------------------------------------------------------------------------ writing

    def add(self, scope: Scope, kind: Kind, model: str, vectors: Mapping[int, Vector]) -> None:
        self._access.check_writable()
        owner, number = self._check(scope, model, {v.dimension for v in vectors.values()})
        if wrong := [seq for seq in vectors if not 1 <= seq <= MAX_SEQ]:
            raise InputError(f"number {wrong[0]} is outside 1 to {MAX_SEQ:,}")
        sql = """
            INSERT INTO vector (owner, vset, kind, seq, square, numbers) VALUES (%s, %s, %s, %s, %s, %s)
            ON CONFLICT (owner, vset, kind, seq) DO UPDATE SET square = excluded.square, numbers = excluded.numbers
        """
        place = (owner, number, KIND_NUMBERS[kind])
        self._access.change_many(sql, [(*place, seq, v.square, v.numbers) for seq, v in vectors.items()])

    def remove(self, scope: Scope, kind: Kind, seqs: Collection[int]) -> int:
        self._access.check_writable()
        owner = self._access.owner(scope)
        sql = """
            DELETE FROM vector WHERE owner = %(owner)s AND kind = %(kind)s AND seq = ANY(%(seqs)s)
            AND vset IN (SELECT number FROM vector_set WHERE owner = %(owner)s)
        """
        arguments = {"owner": owner, "kind": KIND_NUMBERS[kind], "seqs": numbers(seqs)}
        return self._access.change(sql, arguments) if seqs else 0

    # ------------------------------------------------------------------------------ reading

    def search(self, scope: Scope, kind: Kind, model: str, query: Vector, limit: int) -> list[Neighbour]:
        found = self._set(scope, model)
        if found is None or limit < 1:
            return []
        owner, number, dimension = found
        if query.dimension != dimension:
            raise _other(model, dimension, query.dimension)
        if self._access.vector_index == "pgvector" and dimension <= MOST_NEAR:
            return self._nearest_by_pgvector(number, KIND_NUMBERS[kind], query, at_most(limit))
        return self._nearest((owner, number, KIND_NUMBERS[kind]), query, at_most(limit))

    def _nearest_by_pgvector(self, number: int, kind: int, query: Vector, limit: int) -> list[Neighbour]:
        asked = str(memoryview(query.numbers).cast("b").tolist())
        sql = "SELECT seq, score FROM nearest(%s, %s, %s, %s, %s, %s)"
        rows = self._access.rows(sql, (number, kind, asked, query.dimension, float(query.square), limit))
        return [Neighbour(seq, score / STEPS) for seq, score in rows]

    @damage
    def _nearest(self, place: tuple[int, int, int], query: Vector, limit: int) -> list[Neighbour]:
        return self._scan(self._chunks(place), query, limit)

    def _chunks(self, place: tuple[int, int, int]) -> Iterator[Chunk]:
        for seqs, squares, packed in self._access.rows(_CHUNKS, place, binary=True):
            yield Chunk(_little_endian(seqs), _little_endian(squares), packed)

    def held(self, scope: Scope, kind: Kind, model: str) -> set[int]:
        found = self._set(scope, model)
        if found is None:
            return set()
        sql = "SELECT seq FROM vector WHERE owner = %s AND vset = %s AND kind = %s"
        return {seq for (seq,) in self._access.rows(sql, (*found[:2], KIND_NUMBERS[kind]))}

    def count(self, scope: Scope, kind: Kind, model: str) -> int:
        found = self._set(scope, model)
        if found is None:
            return 0
        sql = "SELECT count(*) FROM vector WHERE owner = %s AND vset = %s AND kind = %s"
        return int(self._access.value(sql, (*found[:2], KIND_NUMBERS[kind])))


def _other(model: str, dimension: int, given: int) -> InputError:
    return InputError(f"the vectors of {model} have {dimension} numbers, not {given}")


def _little_endian(packed: bytes) -> bytes:
    """Four-byte numbers as PostgreSQL sends them, turned round."""
    values = array("I", packed)
    values.byteswap()  # To the other order, whichever this machine's own is.
    return values.tobytes()
