"""The port of what recalls leave in a store. A part of `ports.Unit`, whose rules hold here too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from jiyi.domain.scope import Scope
from jiyi.domain.traces import Trace


class Traces(Protocol):
    """What recalls did, for a while (SPEC R10). A log: an export leaves it out, and any forgetting drops all of a scope's."""

    def add(self, scope: Scope, traces: Sequence[Trace]) -> None:
        """Keep traces, each in the place of one with its id."""

    def get(self, scope: Scope, trace_id: str) -> Trace | None: ...

    def latest(self, scope: Scope, limit: int) -> list[Trace]:
        """Newest first, by `at` and then id."""

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        """Drop all but the latest `keep`, and those from before `since`."""

    def clear(self, scope: Scope) -> int:
        """Drop all of them; gives how many. No byte of them stays after a purge."""
