"""Vectors of owners that are active now, kept in this process (SPEC R11).

A kind of a set has another version after each change of its chunks, in the same transaction and whoever writes (migration 0620).
What was read at one version is that of every snapshot with the same, so other processes need not be told of anything.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO

from jiyi.domain.vectors import Chunk

Place = tuple[int, int]
"""Number of a set, and of a kind."""


@dataclass(slots=True)
class _Kept:
    """The chunks of a place at one version, side by side; none yet where it was asked for only once."""

    version: int
    used_at: float
    chunk: Chunk | None = None
    too_large: bool = False

    @property
    def bytes(self) -> int:
        return 0 if self.chunk is None else sum(map(len, (self.chunk.seqs, self.chunk.squares, self.chunk.numbers)))


class HotVectors:
    """Those that were asked for last, as many as take so much memory together, and none longer than so after its last use.

    What is asked for once is not kept: a second question at the same version tells that it is worth its memory.
    """

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self._most, self._seconds = most_bytes, seconds
        self._lock = threading.Lock()
        self._kept: OrderedDict[Place, _Kept] = OrderedDict()

    @property
    def bytes(self) -> int:
        """The memory that is taken now."""
        with self._lock:
            return sum(kept.bytes for kept in self._kept.values())

    def chunks(self, place: Place, version: int, read: Callable[[], Iterable[Chunk]]) -> Iterable[Chunk]:
        """The chunks of a place in a snapshot that has this version; `read` reads them there."""
        with self._lock:
            found, again = self._asked(place, version)
            if found.chunk is not None:
                return (found.chunk,)
        if not again:
            return read()
        whole = _side_by_side(read())
        with self._lock:
            if self._kept.get(place) is found:  # Nobody has written since, nor was it let go.
                found.chunk = whole
                if found.bytes > self._most:
                    found.chunk, found.too_large = None, True
                self._let_go()
        return (whole,)

    def _asked(self, place: Place, version: int) -> tuple[_Kept, bool]:
        """What is kept, and whether it was asked for before."""
        found, again = self._kept.get(place), True
        if found is None or found.version != version:
            found, again = _Kept(version, 0.0), False
            self._kept[place] = found
        found.used_at = time.monotonic()
        self._kept.move_to_end(place)
        self._let_go()
        return found, again and self._most > 0 and not found.too_large

    def _let_go(self) -> None:
        total, since = sum(kept.bytes for kept in self._kept.values()), time.monotonic() - self._seconds
        for place, kept in list(self._kept.items()):
            # The first is the one that was used longest ago.
            if total <= self._most and kept.used_at >= since:
                break
            total -= kept.bytes
            del self._kept[place]

    def drop(self, places: Iterable[Place]) -> None:
        """Their chunks were written to: nobody will ask for what is kept, and it may be what was to be forgotten (SPEC F6)."""
        with self._lock:
            for place in places:
                self._kept.pop(place, None)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def _side_by_side(chunks: Iterable[Chunk]) -> Chunk:
    # One after the other, so that they are never there twice.
    seqs, squares, numbers = BytesIO(), BytesIO(), BytesIO()
    for chunk in chunks:
        seqs.write(chunk.seqs)
        squares.write(chunk.squares)
        numbers.write(chunk.numbers)
    return Chunk(seqs.getvalue(), squares.getvalue(), numbers.getvalue())
