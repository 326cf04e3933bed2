"""The schedule in SQLite: one narrow row per scope and kind, found by when it is due (SPEC O5)."""

from __future__ import annotations

from datetime import datetime

from jiyi.domain.encoding import micros
from jiyi.domain.scope import Scope
from jiyi.ports import Due, Schedule
from jiyi.stores.encoding import stored_instant, stored_optional_instant
from jiyi.stores.numbering import at_most
from jiyi.stores.sqlite.access import Access

_PUT = "INSERT INTO schedule (owner, kind, due_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET due_at = excluded.due_at"

TAKE = """
    SELECT s.owner, kind, due_at, tenant, user FROM schedule AS s CROSS JOIN owner ON number = s.owner
    WHERE due_at <= ? AND NOT EXISTS (SELECT 1 FROM standing AS p WHERE p.owner = s.owner AND p.paused_at IS NOT NULL)
    ORDER BY due_at, s.owner, kind LIMIT ?
"""


class SqliteSchedule(Schedule):
    def __init__(self, access: Access) -> None:
        self._access = access

    def put(self, scope: Scope, kind: str, at: datetime) -> None:
        self._access.change(_PUT, (self._access.make_owner(scope), kind, micros(at)))

    def sooner(self, scope: Scope, kind: str, at: datetime) -> None:
        sql = f"{_PUT} WHERE excluded.due_at < due_at"
        self._access.change(sql, (self._access.make_owner(scope), kind, micros(at)))

    def get(self, scope: Scope, kind: str) -> datetime | None:
        owner = self._access.owner(scope)
        sql = "SELECT due_at FROM schedule WHERE owner = ? AND kind = ?"
        return None if owner is None else stored_optional_instant(self._access.value(sql, (owner, kind)))

    def drop(self, scope: Scope, kind: str) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is not None:
            self._access.change("DELETE FROM schedule WHERE owner = ? AND kind = ?", (owner, kind))

    def take(self, now: datetime, limit: int) -> list[Due]:
        self._access.check_writable()
        due = self._access.rows(TAKE, (micros(now), at_most(limit)))
        if due:
            sql = "DELETE FROM schedule WHERE owner = ? AND kind = ?"
            self._access.change_many(sql, [(owner, kind) for owner, kind, *_ in due])
        return [Due(Scope(user=user, tenant=tenant), kind, stored_instant(at)) for _, kind, at, tenant, user in due]
