"""The schedule of the reference store: one instant for each scope and kind."""

from __future__ import annotations

from datetime import datetime

from jiyi.domain.scope import Scope
from jiyi.ports import Due, Schedule
from jiyi.stores.reference_state import Access


class ReferenceSchedule(Schedule):
    def __init__(self, access: Access) -> None:
        self._access = access

    def put(self, scope: Scope, kind: str, at: datetime) -> None:
        self._access.change(scope)
        self._access.change_all().schedule[scope, kind] = at

    def sooner(self, scope: Scope, kind: str, at: datetime) -> None:
        there = self.get(scope, kind)
        self.put(scope, kind, at if there is None else min(there, at))

    def get(self, scope: Scope, kind: str) -> datetime | None:
        return self._access.all().schedule.get((scope, kind))

    def drop(self, scope: Scope, kind: str) -> None:
        self._access.change_all().schedule.pop((scope, kind), None)

    def take(self, now: datetime, limit: int) -> list[Due]:
        schedule = self._access.change_all().schedule
        waiting = (
            (scope, kind, at) for (scope, kind), at in schedule.items() if not self._access[scope].standing.paused
        )
        due = [Due(scope, kind, at) for scope, kind, at in waiting if at <= now]
        due.sort(key=lambda d: d.at)
        for taken in due[:limit]:
            del schedule[taken.scope, taken.kind]
        return due[:limit]
