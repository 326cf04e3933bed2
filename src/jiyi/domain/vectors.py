"""Vectors as they are kept and compared: int8 numbers, exact whole-number products, quantised cosines (SPEC R11).

A cosine depends on the direction alone, so each vector is stretched until its largest number is 127. Products of
such numbers are whole, so every engine, whatever the order in which it adds, comes to the same cosine and the same order.
"""

from __future__ import annotations

import heapq
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple, TypeAlias
from zlib import crc32

from jiyi.errors import InputError

LARGEST = 127
STEPS = 10_000
"""Cosines are whole multiples of 1 / STEPS: finer differences are below the rounding of int8."""
MAX_DIMENSION = 16_384


@dataclass(frozen=True, slots=True)
class Vector:
    """A direction. `numbers` holds one signed byte each; `square` is the sum of their squares, never 0."""

    numbers: bytes
    square: int

    @property
    def dimension(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The vectors of one scope that one model made, of every kind."""

    model: str
    dimension: int


class Neighbour(NamedTuple):
    """A text whose vector is near. `cosine` is in [-1, 1], quantised. A tuple, because a recall makes some five hundred of them."""

    seq: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Chunk:
    """Several vectors side by side: numbers of their texts and squares as little-endian uint32, then the int8 numbers."""

    seqs: bytes
    squares: bytes
    numbers: bytes


Scan: TypeAlias = Callable[[Iterable[Chunk], Vector, int], list[Neighbour]]
"""Goes through chunks and gives the nearest, best first, equal cosines by higher seq, at most so many."""


def quantise(values: Sequence[float]) -> Vector:
    """The direction of a vector of any length but 0.

    Raises:
        InputError: no numbers, too many, one that is none, or nothing but zeros.
    """
    largest = max(max(values, default=0.0), -min(values, default=0.0))
    # What is no number makes the sum none.
    if not 0 < len(values) <= MAX_DIMENSION or not 0 < largest < math.inf or math.isnan(sum(values)):
        raise InputError(
            f"{len(values)} numbers that give no direction: an embedder must return finite vectors, not zeros"
        )
    scale = LARGEST / largest
    return _vector([round(v * scale) for v in values])


def _vector(numbers: Sequence[int]) -> Vector:
    return Vector(struct.pack(f"{len(numbers)}b", *numbers), sum(map(mul, numbers, numbers)))


def score_of(product: int, square: int, other: int) -> int:
    """The cosine of two vectors in steps, from their product and their squares."""
    return math.floor(product / math.sqrt(max(square * other, 1)) * STEPS + 0.5)


def cosine(one: Vector, other: Vector) -> float:
    product = sum(map(mul, memoryview(one.numbers).cast("b"), memoryview(other.numbers).cast("b")))
    return score_of(product, one.square, other.square) / STEPS


def mark_of(vector: Vector) -> int:
    return crc32(vector.numbers)


def chunk_of(vectors: Mapping[int, Vector]) -> Chunk:
    count = f"<{len(vectors)}I"
    return Chunk(
        struct.pack(count, *vectors),
        struct.pack(count, *(v.square for v in vectors.values())),
        b"".join(v.numbers for v in vectors.values()),
    )


def seqs_of(seqs: bytes) -> tuple[int, ...]:
    """Raises: ValueError when that is no list of numbers."""
    if len(seqs) % 4:
        raise ValueError("half a number")
    return struct.unpack(f"<{len(seqs) // 4}I", seqs)


def vectors_of(chunk: Chunk) -> Iterator[tuple[int, Vector]]:
    """The vectors of a chunk with the numbers of their texts. Raises: ValueError when its parts do not fit together."""
    seqs, squares = seqs_of(chunk.seqs), seqs_of(chunk.squares)
    size, rest = divmod(len(chunk.numbers), max(len(seqs), 1))
    if rest:
        raise ValueError("half a vector")
    for place, (seq, square) in enumerate(zip(seqs, squares, strict=True)):
        yield seq, Vector(chunk.numbers[place * size : (place + 1) * size], square)


def plain_scan(chunks: Iterable[Chunk], query: Vector, limit: int) -> list[Neighbour]:
    """The scan without any library: slow, and obviously right."""
    found = (Neighbour(seq, cosine(query, v)) for chunk in chunks for seq, v in vectors_of(chunk))
    return heapq.nsmallest(max(limit, 0), found, key=lambda n: (-n.cosine, -n.seq))
