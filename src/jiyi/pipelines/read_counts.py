"""Reads are counted without a write per search (SPEC F5): they gather here and are written together."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime

from jiyi.domain.heat import HeatPolicy, visited
from jiyi.domain.scope import Scope
from jiyi.errors import StoreClosed, StoreError
from jiyi.pipelines.gateway import UPKEEP
from jiyi.ports import Store, Unit

log = logging.getLogger("jiyi.reads")


class ReadCounts:
    """Counts of reads that are not written yet. A crash loses at most `flush_after` of them, never a memory."""

    def __init__(
        self, store: Store, policy: HeatPolicy, flush_after: int, night: Callable[[datetime], datetime]
    ) -> None:
        self._store, self._policy, self._flush_after, self._night = store, policy, flush_after, night
        self._lock = threading.Lock()
        self._counts: dict[Scope, dict[int, tuple[int, datetime]]] = defaultdict(dict)
        self._pending = 0

    def note(self, scope: Scope, memories: Iterable[int], now: datetime) -> None:
        """Count one read of each memory; writes when enough have gathered."""
        with self._lock:
            counts = self._counts[scope]
            for seq in memories:
                times, _ = counts.get(seq, (0, now))
                counts[seq] = (times + 1, now)
                self._pending += 1
            full = self._pending >= self._flush_after
        if full:
            self._try_to_flush()

    def flush(self) -> None:
        """Write what has gathered. Raises: StoreError, and then it is kept for the next time."""
        with self._lock:
            counts, self._counts, self._pending = self._counts, defaultdict(dict), 0
        if not counts:
            return
        try:
            self._store.write(lambda unit: self._add(unit, counts))
        except StoreError:
            self._put_back(counts)
            raise

    def close(self) -> None:
        """Write what has gathered, if the store still takes it."""
        self._try_to_flush()

    def _try_to_flush(self) -> None:
        """Statistics are never worth failing a read, or leaving a store open, for."""
        try:
            self.flush()
        except StoreClosed:
            return
        except StoreError as error:
            log.warning("reads could not be counted, they will be with the next ones: %s", error)

    def _put_back(self, counts: dict[Scope, dict[int, tuple[int, datetime]]]) -> None:
        with self._lock:
            for scope, reads in counts.items():
                later = self._counts[scope]
                for seq, (times, at) in reads.items():
                    more, last = later.get(seq, (0, at))
                    later[seq] = (times + more, max(at, last))

    def _add(self, unit: Unit, counts: dict[Scope, dict[int, tuple[int, datetime]]]) -> None:
        for scope, reads in counts.items():
            if not reads:
                continue
            if unit.standings.get(scope).paused:
                continue  # SPEC C5: they are lost, as they are in a crash.
            known = unit.memories.heat(scope, list(reads))
            heats = {seq: visited(known.get(seq), times, at, self._policy) for seq, (times, at) in reads.items()}
            unit.memories.set_heat(scope, heats)
            # What is read may rise again (SPEC F2), or be nominated for merging (SPEC F4).
            unit.schedule.sooner(scope, UPKEEP, self._night(max(at for _, at in reads.values())))
