"""Summaries in PostgreSQL: the points as JSON, the messages they were made from in a table of their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from jiyi.domain.scope import Scope
from jiyi.domain.summary import WHOLE, SessionSummary
from jiyi.errors import InputError
from jiyi.ports import Summaries
from jiyi.stores.encoding import stored_instant
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.postgres.access import PostgresAccess, read_through
from jiyi.stores.postgres.messages import numbers
from jiyi.stores.rows import SUMMARY_COLUMNS, summary_of, summary_row

COLUMNS = f"seq, {SUMMARY_COLUMNS}"
_NAMES = SUMMARY_COLUMNS.split(", ")
_UPSERT = (
    f"INSERT INTO summary (owner, {COLUMNS}) VALUES (%s, %s{', %s' * len(_NAMES)})"
    " ON CONFLICT (owner, seq) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _NAMES)
)
_COVERED = """
    SELECT session, (SELECT count(*) FROM summary_message AS m WHERE m.owner = %(owner)s AND m.summary = s.seq), last_at
    FROM summary AS s WHERE owner = %(owner)s AND block = %(whole)s
"""


class PostgresSummaries(Summaries):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    # ------------------------------------------------------------------------------ reading

    def get(self, scope: Scope, seqs: Collection[int]) -> list[SessionSummary]:
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return []

        def read(missing: list[int]) -> dict[int, SessionSummary]:
            return {s.seq: s for s in self._fetch(owner, "seq = ANY(%s)", (missing,))}

        return read_through(self._access.kept(owner, "summary"), numbers(seqs), read)

    def listing(self, scope: Scope, *, session: str | None = None) -> list[SessionSummary]:
        if session is not None:
            return self._read(scope, "session = %s ORDER BY seq", (session,))
        return self._read(scope, "true ORDER BY seq", ())

    def covered(self, scope: Scope) -> dict[str, tuple[int, datetime]]:
        owner = self._access.owner(scope)
        rows = self._access.rows(_COVERED, {"owner": owner, "whole": WHOLE})
        return {session: (count, stored_instant(last_at)) for session, count, last_at in rows}

    def last_block(self, scope: Scope, session: str) -> SessionSummary | None:
        found = self._read(scope, "session = %s AND block > 0 ORDER BY block DESC LIMIT 1", (session,))
        return found[0] if found else None

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[SessionSummary]:
        if not needles:
            return []
        # Read and looked at here: JSON of PostgreSQL cannot hold every character that ours can.
        found = [
            summary
            for summary in self._read(scope, "true ORDER BY seq DESC", ())
            if any(needle in point.text for point in summary.points for needle in needles)
        ]
        return found[: at_most(limit)]

    def _read(self, scope: Scope, condition: str, arguments: Sequence[Any]) -> list[SessionSummary]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        kept = self._access.kept(owner, "summaries")
        question = (condition, repr(arguments))
        if question not in kept:
            kept[question] = self._fetch(owner, condition, arguments)
        return list(kept[question])

    def _fetch(self, owner: int, condition: str, arguments: Sequence[Any]) -> list[SessionSummary]:
        sql = f"SELECT {COLUMNS} FROM summary WHERE owner = %s AND {condition}"
        rows = self._access.rows(sql, (owner, *arguments))
        if not rows:
            return []
        sql = "SELECT summary, message FROM summary_message WHERE owner = %s AND summary = ANY(%s) ORDER BY summary, message"
        messages: dict[int, list[int]] = {}
        for summary, message in self._access.rows(sql, (owner, [row[0] for row in rows])):
            messages.setdefault(summary, []).append(message)
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
        if wrong := [n for s in summaries for n in (s.seq, *s.messages) if not 1 <= n <= MAX_SEQ]:
            raise InputError(f"number {wrong[0]} is outside 1 to {MAX_SEQ:,}")
        self._access.change_many(_UPSERT, [(owner, s.seq, *summary_row(s)) for s in summaries])
        sql = "DELETE FROM summary_message WHERE owner = %s AND summary = ANY(%s)"
        self._access.change(sql, (owner, [s.seq for s in summaries]))
        self._access.change_many(
            "INSERT INTO summary_message (owner, summary, message) VALUES (%s, %s, %s)",
            [(owner, s.seq, message) for s in summaries for message in s.messages],
        )
        self._access.raise_counter(owner, "summary", max(s.seq for s in summaries))

    def remove(self, scope: Scope, seqs: Collection[int]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return
        for sql in (
            "DELETE FROM summary WHERE owner = %s AND seq = ANY(%s)",
            "DELETE FROM summary_message WHERE owner = %s AND summary = ANY(%s)",
        ):
            self._access.change(sql, (owner, numbers(seqs)))

    def erase(self, scope: Scope, messages: Collection[int]) -> list[SessionSummary]:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None or not messages:
            return []
        made = "SELECT summary FROM summary_message WHERE owner = %s AND message = ANY(%s)"
        resting = self._read(scope, f"seq IN ({made}) ORDER BY seq", (owner, numbers(messages)))
        self.remove(scope, [s.seq for s in resting])
        return resting
