"""Reads are counted without a write per search (SPEC F5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from jiyi.domain.heat import HeatPolicy, visited
from jiyi.domain.scope import Scope
from jiyi.pipelines.gateway import UPKEEP
from jiyi.pipelines.recalling.gathering import Gathered
from jiyi.ports import Store, Unit

Read: TypeAlias = tuple[Scope, int, datetime]
"""That this memory was read then."""


class ReadCounts:
    """Counts of reads, written together."""

    def __init__(
        self, store: Store, policy: HeatPolicy, flush_after: int, night: Callable[[datetime], datetime]
    ) -> None:
        self._policy, self._night = policy, night
        self._gathered: Gathered[Read] = Gathered(store, flush_after, self._add, "counts of reads")
        self.flush, self.close = self._gathered.flush, self._gathered.close

    def note(self, scope: Scope, memories: Iterable[int], now: datetime) -> None:
        """Count one read of each memory."""
        self._gathered.note((scope, seq, now) for seq in memories)

    def _add(self, unit: Unit, reads: Sequence[Read]) -> None:
        by_scope: dict[Scope, dict[int, list[datetime]]] = defaultdict(lambda: defaultdict(list))
        for scope, seq, at in reads:
            by_scope[scope][seq].append(at)
        for scope, times in by_scope.items():
            if unit.standings.get(scope).paused:
                continue  # SPEC C5: they are lost, as they are in a crash.
            known = unit.memories.heat(scope, list(times))
            heats = {seq: visited(known.get(seq), len(at), max(at), self._policy) for seq, at in times.items()}
            unit.memories.set_heat(scope, heats)
            # What is read may rise again (SPEC F2), or be nominated for merging (SPEC F4).
            unit.schedule.sooner(scope, UPKEEP, self._night(max(max(at) for at in times.values())))
