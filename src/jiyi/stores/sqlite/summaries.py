"""Summaries in SQLite: the points as JSON, the messages they were made from in a table of their own."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from jiyi.domain.scope import Scope
from jiyi.domain.summary import WHOLE, SessionSummary
from jiyi.ports import Summaries
from jiyi.stores.encoding import stored_instant
from jiyi.stores.numbering import at_most, seq_of
from jiyi.stores.rows import SUMMARY_COLUMNS, summary_of, summary_row
from jiyi.stores.sqlite.access import Access, first_key, key_list, last_key, row_key

COLUMNS = f"key, {SUMMARY_COLUMNS}"
_UPSERT = (
    f"INSERT INTO summary (owner, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
)


class SqliteSummaries(Summaries):
    def __init__(self, access: Access) -> None:
        self._access = access

    # ------------------------------------------------------------------------------ reading

    def get(self, scope: Scope, seqs: Collection[int]) -> list[SessionSummary]:
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return []
        return self._read("key IN (SELECT value FROM json_each(?)) ORDER BY key", (key_list(owner, seqs),))

    def listing(self, scope: Scope, *, session: str | None = None) -> list[SessionSummary]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        if session is not None:
            return self._read("owner = ? AND session = ? ORDER BY key", (owner, session))
        return self._read("key BETWEEN ? AND ? ORDER BY key", (first_key(owner), last_key(owner)))

    def covered(self, scope: Scope) -> dict[str, tuple[int, datetime]]:
        owner = self._access.owner(scope)
        sql = """
            SELECT session, (SELECT count(*) FROM summary_message AS m WHERE m.summary = s.key), last_at
            FROM summary AS s WHERE owner = ? AND block = ?
        """
        rows = self._access.rows(sql, (owner, WHOLE))
        return {session: (count, stored_instant(last_at)) for session, count, last_at in rows}

    def last_block(self, scope: Scope, session: str) -> SessionSummary | None:
        owner = self._access.owner(scope)
        found = self._read("owner = ? AND session = ? AND block > 0 ORDER BY block DESC LIMIT 1", (owner, session))
        return found[0] if found else None

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[SessionSummary]:
        owner = self._access.owner(scope)
        if owner is None or not needles:
            return []
        holds = " OR ".join(["instr(p.value ->> 1, ?)"] * len(needles))
        condition = (
            f"key BETWEEN ? AND ? AND EXISTS (SELECT 1 FROM json_each(points) AS p WHERE {holds})"
            " ORDER BY key DESC LIMIT ?"
        )
        return self._read(condition, (first_key(owner), last_key(owner), *needles, at_most(limit)))

    def _read(self, condition: str, arguments: Sequence[Any]) -> list[SessionSummary]:
        rows = self._access.rows(f"SELECT {COLUMNS} FROM summary WHERE {condition}", arguments)
        if not rows:
            return []
        sql = (
            "SELECT summary, message FROM summary_message WHERE summary IN (SELECT value FROM json_each(?))"
            " ORDER BY summary, message"
        )
        messages: dict[int, list[int]] = {}
        for key, message in self._access.rows(sql, (json.dumps([row[0] for row in rows]),)):
            messages.setdefault(key, []).append(seq_of(message))
        return [summary_of(row, messages.get(row[0], [])) for row in rows]

    def last_seq(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, "summary")

    # ------------------------------------------------------------------------------ writing

    def next_seq(self, scope: Scope) -> int:
        return self._access.take(self._access.make_owner(scope), "summary")

    def skip_to(self, scope: Scope, seq: int) -> None:
        self._access.raise_counter(self._access.make_owner(scope), "summary", seq)

    def write(self, scope: Scope, summaries: Sequence[SessionSummary]) -> None:
        owner = self._access.make_owner(scope)
        if not summaries:
            return
        self._access.change_many(_UPSERT, [(owner, row_key(owner, s.seq), *summary_row(s)) for s in summaries])
        keys = key_list(owner, [s.seq for s in summaries])
        self._access.change("DELETE FROM summary_message WHERE summary IN (SELECT value FROM json_each(?))", (keys,))
        self._access.change_many(
            "INSERT INTO summary_message (summary, message) VALUES (?, ?)",
            [(row_key(owner, s.seq), row_key(owner, message)) for s in summaries for message in s.messages],
        )
        self._access.raise_counter(owner, "summary", max(s.seq for s in summaries))

    def remove(self, scope: Scope, seqs: Collection[int]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is not None and seqs:
            sql = "DELETE FROM summary WHERE key IN (SELECT value FROM json_each(?))"
            self._access.change(sql, (key_list(owner, seqs),))

    def erase(self, scope: Scope, messages: Collection[int]) -> list[SessionSummary]:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None or not messages:
            return []
        resting = self._read(
            "key IN (SELECT summary FROM summary_message WHERE message IN (SELECT value FROM json_each(?))) ORDER BY key",
            (key_list(owner, messages),),
        )
        self.remove(scope, [s.seq for s in resting])
        return resting
