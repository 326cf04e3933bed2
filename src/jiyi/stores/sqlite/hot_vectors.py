"""Vectors of owners that are active now, kept in this process (SPEC R11).

A kind of a set has another version after each change of its chunks, in the same transaction and whoever writes (migration 0620).
What was read at one version is that of every snapshot with the same, so other processes need not be told of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO

from jiyi.domain.vectors import Chunk
from jiyi.stores.sqlite.lately import Lately

Place = tuple[int, int]
"""Number of a set, and of a kind."""


@dataclass(slots=True)
class _Kept:
    """The chunks of a place at one version, side by side; none yet where it was asked for only once."""

    version: int
    chunk: Chunk | None = None
    too_large: bool = False

    @property
    def bytes(self) -> int:
        return 0 if self.chunk is None else sum(map(len, (self.chunk.seqs, self.chunk.squares, self.chunk.numbers)))


class HotVectors:
    """The chunks of those that were searched last. What is asked for once is not kept: a second question at the same version tells
    that it is worth its memory."""

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self._kept: Lately[Place, _Kept] = Lately(most_bytes, seconds, lambda kept: kept.bytes)
        self.drop, self.clear = self._kept.drop, self._kept.clear

    @property
    def bytes(self) -> int:
        """The memory that is taken now."""
        return self._kept.taken

    def chunks(self, place: Place, version: int, read: Callable[[], Iterable[Chunk]]) -> Iterable[Chunk]:
        """The chunks of a place in a snapshot that has this version; `read` reads them there."""
        with self._kept.held():
            found = self._kept.get(place)
            again = found is not None and found.version == version
            if found is None or not again:
                found = _Kept(version)
            self._kept.use(place, found)
            if found.chunk is not None:
                return (found.chunk,)
        if not again or found.too_large or self._kept.room <= 0:
            return read()
        whole = _side_by_side(read())
        with self._kept.held():
            if self._kept.get(place) is found:  # Nobody has written since, nor was it let go.
                found.chunk = whole
                if found.bytes > self._kept.room:
                    found.chunk, found.too_large = None, True
                self._kept.use(place, found)
        return (whole,)


def _side_by_side(chunks: Iterable[Chunk]) -> Chunk:
    # One after the other, so that they are never there twice.
    seqs, squares, numbers = BytesIO(), BytesIO(), BytesIO()
    for chunk in chunks:
        seqs.write(chunk.seqs)
        squares.write(chunk.squares)
        numbers.write(chunk.numbers)
    return Chunk(seqs.getvalue(), squares.getvalue(), numbers.getvalue())
