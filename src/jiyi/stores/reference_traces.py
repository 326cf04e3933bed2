"""The reference store's traces of recalls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jiyi.domain.scope import Scope
from jiyi.domain.traces import Trace
from jiyi.ports import Traces
from jiyi.stores.reference_state import Access


class ReferenceTraces(Traces):
    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, scope: Scope, traces: Sequence[Trace]) -> None:
        if traces:
            self._access.change(scope).traces.update((t.id, t) for t in traces)

    def get(self, scope: Scope, trace_id: str) -> Trace | None:
        return self._access[scope].traces.get(trace_id)

    def latest(self, scope: Scope, limit: int) -> list[Trace]:
        found = sorted(self._access[scope].traces.values(), key=lambda t: (t.at, t.id), reverse=True)
        return found[: max(limit, 0)]

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        kept = {t.id for t in self.latest(scope, keep) if t.at >= since}
        traces = self._access.change(scope).traces
        for gone in traces.keys() - kept:
            del traces[gone]

    def clear(self, scope: Scope) -> int:
        traces = self._access.change(scope).traces
        count = len(traces)
        traces.clear()
        return count
