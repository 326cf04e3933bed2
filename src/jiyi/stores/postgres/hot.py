"""What was read of users that are active now, kept in this process (SPEC O2).

Every write of a scope gives it a new version, in the same transaction. What was read at one version is that of every snapshot
with the same, on whatever server, so a snapshot that has read the version need not read the rest again. Nothing is told to other
processes: they read the version, too.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

VERSION = "version"
"""The counter of a scope that goes up with every transaction that changes what is read of it."""


@dataclass(slots=True)
class Kept:
    """What was read of one scope at one version, by what it is. It is only ever added to: several threads read it."""

    version: int
    used_at: float = 0.0
    of: dict[str, dict[Any, Any]] = field(default_factory=dict)

    def what(self, name: str) -> dict[Any, Any]:
        return self.of.setdefault(name, {})

    @property
    def size(self) -> int:
        return sum(len(entries) for entries in list(self.of.values()))


class HotScopes:
    """Those that were used last, as many as hold so many entries together."""

    def __init__(self, entries: int, seconds: float) -> None:
        self._entries, self._seconds = entries, seconds
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Kept] = OrderedDict()
        self._asked = 0

    def kept(self, owner: int, version: int) -> Kept:
        """What is kept of an owner at this version; for a snapshot that is older than what is kept, only its own."""
        now = time.monotonic()
        with self._lock:
            found = self._kept.get(owner)
            if found is None or found.version != version:
                fresh = Kept(version)
                if found is not None and found.version > version:
                    return fresh
                found = self._kept[owner] = fresh
            found.used_at = now
            self._kept.move_to_end(owner)
            # All are counted, so not each time: as often as makes one step for each that is asked for.
            self._asked += 1
            if self._asked >= len(self._kept):
                self._asked = 0
                self._let_go(now)
            return found

    def _let_go(self, now: float) -> None:
        sizes = {owner: kept.size for owner, kept in self._kept.items()}
        total = sum(sizes.values())
        for owner, kept in list(self._kept.items()):
            # The first is the one that was used longest ago.
            if total <= self._entries and kept.used_at > now - self._seconds:
                break
            del self._kept[owner]
            total -= sizes[owner]

    def drop(self, owners: Iterable[int]) -> None:
        """They were written to: nobody will ask for what is kept, and it may be what was to be forgotten (SPEC F6)."""
        with self._lock:
            for owner in owners:
                self._kept.pop(owner, None)
