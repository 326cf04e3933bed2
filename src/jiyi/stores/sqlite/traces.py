"""Traces of recalls in SQLite: one row a recall, the latest of an owner side by side."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jiyi.domain.encoding import micros, to_json, trace_fields
from jiyi.domain.scope import Scope
from jiyi.domain.traces import Trace
from jiyi.ports import Traces
from jiyi.stores.numbering import at_most
from jiyi.stores.rows import trace_of
from jiyi.stores.sqlite.access import Access


class SqliteTraces(Traces):
    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, scope: Scope, traces: Sequence[Trace]) -> None:
        if not traces:
            self._access.check_writable()
            return
        owner = self._access.make_owner(scope)
        # One with its id goes, also one of another instant: both are keys.
        self._access.change_many(
            "INSERT OR REPLACE INTO trace (owner, at, id, fields) VALUES (?, ?, ?, ?)",
            [(owner, micros(t.at), t.id, to_json(trace_fields(t))) for t in traces],
        )

    def get(self, scope: Scope, trace_id: str) -> Trace | None:
        fields = self._access.value(
            "SELECT fields FROM trace WHERE owner = ? AND id = ?", (self._access.owner(scope), trace_id)
        )
        return None if fields is None else trace_of(fields)

    def latest(self, scope: Scope, limit: int) -> list[Trace]:
        sql = "SELECT fields FROM trace WHERE owner = ? ORDER BY at DESC, id DESC LIMIT ?"
        return [trace_of(fields) for (fields,) in self._access.rows(sql, (self._access.owner(scope), at_most(limit)))]

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        # Mostly there is nothing to drop, and the narrow index tells: rows are wide, and a DELETE costs also where it finds none.
        sql = "SELECT count(*), min(at) FROM trace INDEXED BY trace_id WHERE owner = ?"
        [(count, oldest)] = self._access.rows(sql, (owner,))
        if oldest is not None and oldest < micros(since):
            self._access.change("DELETE FROM trace WHERE owner = ? AND at < ?", (owner, micros(since)))
        if count > max(keep, 0):
            sql = """
                DELETE FROM trace WHERE owner = ?1 AND (at, id) <= (
                    SELECT at, id FROM trace WHERE owner = ?1 ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?2)
            """
            self._access.change(sql, (owner, at_most(keep)))

    def clear(self, scope: Scope) -> int:
        self._access.check_writable()
        return self._access.change("DELETE FROM trace WHERE owner = ?", (self._access.owner(scope),))
