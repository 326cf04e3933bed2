"""The scan of vectors, all of them: brute force needs no index below 50,000 a user (research). With `simsimd` and without it the
products are the same whole numbers; with it 100,000 vectors of 512 numbers take a third of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from jiyi.domain.vectors import LARGEST, STEPS, Chunk, Neighbour, Vector, quantise
from jiyi.errors import MissingExtra

try:
    import numpy as np
except ImportError as error:
    raise MissingExtra("numpy, which vectors are compared with,", "vectors") from error

try:
    import simsimd
except ImportError:
    simsimd = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from numpy import float32, float64, int8, uint32
    from numpy.typing import NDArray

Products: TypeAlias = "Callable[[NDArray[int8]], NDArray[float64]]"
"""Of many vectors, of shape (count, dimension), with one that is asked for: whole numbers, of shape (count,)."""

EXACT_IN_FLOAT32 = 1024
"""Products of int8 are at most 127 × 127, so sums of so many are whole numbers below 2^24, exact in any order of adding."""
SEQ_SPAN = 1 << 24
AT_ONCE = 1024
"""Vectors that are multiplied in one call by numpy, so that what it makes of them fits the processor's caches."""
SIMD_AT_ONCE = 4096
"""The same by simsimd, which makes nothing of them: so few that other threads get on."""
MANY = 64
"""From so many times as many vectors as are wanted on, most are left out by a rough cosine first."""


def products_by_numpy(asked: NDArray[int8]) -> Products:
    numbers = asked.astype(np.float32 if asked.size <= EXACT_IN_FLOAT32 else np.float64)
    return lambda vectors: np.dot(vectors.astype(numbers.dtype), numbers).astype(np.float64)


def products_by_simd(asked: NDArray[int8]) -> Products:
    """It adds up in 32 bits, which hold 127 × 127 a hundred thousand times: `MAX_DIMENSION` is far below."""
    # Never with `out=`: it gives away a reference to None, and after some thousand calls the interpreter falls.
    return lambda vectors: np.asarray(simsimd.dot(asked, vectors)).reshape(-1)


def numpy_scan(chunks: Iterable[Chunk], query: Vector, limit: int) -> list[Neighbour]:
    """Gives what `domain.vectors.plain_scan` gives, to the last bit."""
    asked = np.frombuffer(query.numbers, np.int8)
    if simsimd is None:
        return scan(chunks, query, limit, products_by_numpy(asked), AT_ONCE)
    return scan(chunks, query, limit, products_by_simd(asked), SIMD_AT_ONCE)


def scan(
    chunks: Iterable[Chunk], query: Vector, limit: int, products: Products, at_once: int = AT_ONCE
) -> list[Neighbour]:
    """The nearest by these products.

    Raises:
        ValueError: the parts of a chunk do not fit together.
    """
    seqs, squares, found = list[bytes](), list[bytes](), list[Any]()
    for chunk in chunks:
        vectors = np.frombuffer(chunk.numbers, np.int8).reshape(-1, query.dimension)
        if not len(chunk.seqs) == len(chunk.squares) == 4 * len(vectors):
            raise ValueError("the parts of a chunk do not fit together")
        if len(vectors):
            seqs.append(chunk.seqs)
            squares.append(chunk.squares)
            found += [products(vectors[at : at + at_once]) for at in range(0, len(vectors), at_once)]
    if not found or limit < 1:
        return []
    # All at once and in place: some hundred chunks, and arrays, cost more by the piece than by the number.
    dots, lengths = np.concatenate(found), np.frombuffer(b"".join(squares), "<u4")
    texts = np.frombuffer(b"".join(seqs), "<u4")
    if dots.size >= MANY * limit:
        few = _possible(dots, lengths, query, limit)
        dots, lengths, texts = dots[few], lengths[few], texts[few]
    keys = lengths.astype(np.float64)
    keys *= query.square
    np.sqrt(np.maximum(keys, 1.0, out=keys), out=keys)
    np.divide(dots, keys, out=keys)
    keys *= STEPS
    keys += 0.5
    np.floor(keys, out=keys)
    # One whole number, far below 2^53, orders by cosine, then by seq.
    keys *= SEQ_SPAN
    keys += texts
    if limit < keys.size:
        keys = np.partition(keys, keys.size - limit)[keys.size - limit :]
    keys[::-1].sort()
    best, nearest = np.divmod(keys.astype(np.int64), SEQ_SPAN)
    return list(map(_neighbour, zip(nearest.tolist(), (best / STEPS).tolist(), strict=True)))


def quantised(rows: NDArray[float32]) -> list[Vector]:
    """What `domain.vectors.quantise` gives of each row, to the last bit.

    Raises:
        InputError: a row that is no direction.
    """
    values = np.asarray(rows, np.float64)
    largest = np.abs(values).max(axis=1, initial=0.0)
    if not np.all((largest > 0) & np.isfinite(largest)):
        return [quantise(row) for row in values.tolist()]  # It says what is wrong.
    numbers = np.rint(values * (LARGEST / largest)[:, None])
    squares = np.einsum("ij,ij->i", numbers, numbers).astype(np.int64).tolist()
    return [Vector(row.tobytes(), square) for row, square in zip(numbers.astype(np.int8), squares, strict=True)]


_neighbour = partial(tuple.__new__, Neighbour)
"""As `Neighbour._make`, which is a function of Python's and takes three times as long."""


def _possible(dots: NDArray[float64], squares: NDArray[uint32], query: Vector, limit: int) -> NDArray[np.intp]:
    """The places of all that may be among the nearest: those whose rough cosine is not more than a step below that of `limit`
    others. Which those others are does not matter, so the best of each of `limit` parts are taken, and nothing is sorted."""
    rough = dots.astype(np.float32)
    rough /= np.sqrt(np.maximum(squares, 1), dtype=np.float32)
    width = rough.size // limit
    least = rough[: width * limit].reshape(width, limit).max(axis=0).min()
    # Two rough ones are each right to a few millionths of the query's length, a step is a ten-thousandth of it.
    return np.flatnonzero(rough >= least - 1.05 / STEPS * np.sqrt(query.square))
