"""What this process keeps of the file for those who were asked about lately (SPEC O6)."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lately(Generic[K, V]):
    """Those that were used last, as many as take so much room together, and none longer than so after its last use.

    Several threads use it: what belongs together is done inside `held()`.
    """

    def __init__(self, room: int, seconds: float, size: Callable[[V], int]) -> None:
        self.room, self._seconds, self._size = room, seconds, size
        self._lock = threading.RLock()
        self._kept: OrderedDict[K, tuple[V, float]] = OrderedDict()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else looks or changes meanwhile."""
        with self._lock:
            yield

    @property
    def taken(self) -> int:
        """The room that is taken now."""
        with self._lock:
            return sum(self._size(value) for value, _ in self._kept.values())

    def get(self, key: K) -> V | None:
        """What is kept; this is no use of it."""
        with self._lock:
            value, _ = self._kept.get(key, (None, 0.0))
            return value

    def use(self, key: K, value: V) -> None:
        """Keep it in the place of what was kept, as what was used last. Others may have to go for it, or itself."""
        with self._lock:
            now = time.monotonic()
            self._kept[key] = (value, now)
            self._kept.move_to_end(key)
            taken = self.taken
            for other, (one, used_at) in list(self._kept.items()):
                # The first is the one that was used longest ago.
                if taken <= self.room and used_at > now - self._seconds:
                    break
                taken -= self._size(one)
                del self._kept[other]

    def drop(self, keys: Iterable[K]) -> None:
        """It was written to: nobody will ask for what is kept, and it may be what was to be forgotten (SPEC F6)."""
        with self._lock:
            for key in keys:
                self._kept.pop(key, None)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()
