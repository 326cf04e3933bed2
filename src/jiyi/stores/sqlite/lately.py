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
        self._kept: OrderedDict[K, tuple[V, float, int]] = OrderedDict()
        self._taken = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else looks or changes meanwhile."""
        with self._lock:
            yield

    @property
    def taken(self) -> int:
        """The room that is taken now, by what each took when it was used last."""
        with self._lock:
            return self._taken

    def get(self, key: K) -> V | None:
        """What is kept; this is no use of it."""
        with self._lock:
            found = self._kept.get(key)
            return None if found is None else found[0]

    def use(self, key: K, value: V) -> None:
        """Keep it in the place of what was kept, as what was used last. Others may have to go for it, or itself."""
        with self._lock:
            now, size = time.monotonic(), self._size(value)
            self._let_go(key)
            self._kept[key] = (value, now, size)
            # Kept up, and not added up each time: of thousands of users that alone would take longer than what it is for.
            self._taken += size
            while self._kept:
                # The first is the one that was used longest ago.
                other, (_, used_at, _) = next(iter(self._kept.items()))
                if self._taken <= self.room and used_at > now - self._seconds:
                    break
                self._let_go(other)

    def _let_go(self, key: K) -> None:
        if (found := self._kept.pop(key, None)) is not None:
            self._taken -= found[2]

    def drop(self, keys: Iterable[K]) -> None:
        """It was written to: nobody will ask for what is kept, and it may be what was to be forgotten (SPEC F6)."""
        with self._lock:
            for key in keys:
                self._let_go(key)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()
            self._taken = 0
