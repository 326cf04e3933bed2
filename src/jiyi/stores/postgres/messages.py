"""Messages in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from jiyi.domain.encoding import instant_at, micros
from jiyi.domain.fusion import ASKS_WITHIN, Place
from jiyi.domain.memory import IncomingMessage, Message
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Messages, SessionInfo
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.postgres.access import PostgresAccess, note_erasure, read_through
from jiyi.stores.rows import MESSAGE_COLUMNS, fresh_messages, message_of, message_row, numbered

COLUMNS = f"seq, {MESSAGE_COLUMNS}"
_NAMES = MESSAGE_COLUMNS.split(", ")
_INSERT = f"INSERT INTO message (owner, {COLUMNS}) VALUES (%s, %s{', %s' * len(_NAMES)})"
_REWRITE = f"UPDATE message SET {', '.join(f'{name} = %s' for name in _NAMES)} WHERE owner = %s AND seq = %s"

_PLACES = f"""
    SELECT seq, session, coalesce(name, role), at,
           (strpos(right(text, {ASKS_WITHIN}), '?') > 0 OR strpos(right(text, {ASKS_WITHIN}), '？') > 0)::integer, octet_length(text)
    FROM message WHERE owner = %s AND seq = ANY(%s) AND NOT forgotten ORDER BY seq
"""

# The offsets of the first and the last turn, so that instants read as they were said.
_SESSIONS = """
    WITH span AS (
        SELECT session, min(at) AS first_at, max(at) AS last_at, count(*) AS messages
        FROM message WHERE owner = %(owner)s AND NOT forgotten
        GROUP BY session ORDER BY last_at DESC, session LIMIT %(limit)s)
    SELECT session, first_at, last_at, messages,
           (SELECT utc_offset FROM message AS m WHERE m.owner = %(owner)s AND NOT m.forgotten
             AND m.session = span.session AND m.at = first_at ORDER BY m.seq LIMIT 1),
           (SELECT utc_offset FROM message AS m WHERE m.owner = %(owner)s AND NOT m.forgotten
             AND m.session = span.session AND m.at = last_at ORDER BY m.seq DESC LIMIT 1)
    FROM span ORDER BY last_at DESC, session
"""


class PostgresMessages(Messages):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def add(self, scope: Scope, messages: Sequence[IncomingMessage]) -> list[tuple[Message, bool]]:
        owner = self._access.make_owner(scope)
        by_id = self._stored(owner, [m.id for m in messages])
        fresh = fresh_messages(messages, by_id)
        if fresh:
            first = self._access.take(owner, "message", len(fresh))
            stored = [numbered(incoming, seq) for seq, incoming in enumerate(fresh, first)]
            by_id.update((m.id, m) for m in stored)
            self._insert(owner, stored)
        new = {id(incoming) for incoming in fresh}
        return [(m, id(i) in new) for i in messages if isinstance(m := by_id[i.id], Message)]

    def _stored(self, owner: int, ids: Sequence[str]) -> dict[str, Message | IncomingMessage]:
        sql = f"SELECT {COLUMNS} FROM message WHERE owner = %s AND id = ANY(%s)"
        return {row[1]: message_of(row) for row in self._access.rows(sql, (owner, list(ids)))}

    def _insert(self, owner: int, messages: Sequence[Message]) -> None:
        self._access.change_many(_INSERT, [(owner, m.seq, *message_row(m)) for m in messages])

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Message]:
        owner = self._access.owner(scope)
        wanted = numbers(seqs)
        if owner is None or not wanted:
            return []

        def read(missing: list[int]) -> dict[int, Message]:
            return {m.seq: m for m in self._read(scope, "seq = ANY(%s)", (missing,))}

        return read_through(self._access.kept(owner, "message"), wanted, read)

    def _read(self, scope: Scope, condition: str, arguments: Sequence[Any]) -> list[Message]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        sql = f"SELECT {COLUMNS} FROM message WHERE owner = %s AND {condition}"
        return [message_of(row) for row in self._access.rows(sql, (owner, *arguments))]

    def places(self, scope: Scope, seqs: Collection[int]) -> list[Place]:
        owner = self._access.owner(scope)
        wanted = numbers(seqs)
        if owner is None or not wanted:
            return []

        def read(missing: list[int]) -> dict[int, Place]:
            return {row[0]: Place._make(row) for row in self._access.rows(_PLACES, (owner, missing))}

        return read_through(self._access.kept(owner, "place"), wanted, read)

    def by_id(self, scope: Scope, message_id: str) -> Message | None:
        found = self._read(scope, "id = %s", (message_id,))
        return found[0] if found else None

    def window(
        self,
        scope: Scope,
        *,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: tuple[datetime, int] | None = None,
        before: tuple[datetime, int] | None = None,
        latest: bool = False,
        limit: int = 50,
    ) -> list[Message]:
        conditions, arguments = ["NOT forgotten"], list[Any]()
        tests: list[tuple[str, Any]] = [
            ("session = %s", session),
            ("at >= %s", None if since is None else micros(since)),
            ("at < %s", None if until is None else micros(until)),
        ]
        for test, argument in tests:
            if argument is not None:
                conditions.append(test)
                arguments.append(argument)
        for comparison, place in ((">", after), ("<", before)):
            if place is not None:
                conditions.append(f"(at, seq) {comparison} (%s, %s)")
                arguments += [micros(place[0]), min(max(place[1], 0), MAX_SEQ + 1)]
        order = "at DESC, seq DESC" if latest else "at, seq"
        found = self._read(scope, f"{' AND '.join(conditions)} ORDER BY {order} LIMIT %s", (*arguments, at_most(limit)))
        return found[::-1] if latest else found

    def after_seq(self, scope: Scope, seq: int, limit: int) -> list[Message]:
        start = min(max(seq, 0), MAX_SEQ)
        return self._read(scope, "seq > %s AND NOT forgotten ORDER BY seq LIMIT %s", (start, at_most(limit)))

    def last_seq(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, "message")

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Message]:
        if not needles:
            return []
        condition = f"NOT forgotten AND {holding('text')} ORDER BY seq DESC LIMIT %s"
        return self._read(scope, condition, (list(needles), at_most(limit)))

    def sessions(self, scope: Scope, limit: int = 1000) -> list[SessionInfo]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        rows = self._access.rows(_SESSIONS, {"owner": owner, "limit": at_most(limit)})
        return [
            SessionInfo(session, instant_at(first, first_offset), instant_at(last, last_offset), messages)
            for session, first, last, messages, first_offset, last_offset in rows
        ]

    def rewrite(self, scope: Scope, messages: Sequence[Message]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        rows = [
            (*message_row(m)[:-2], True, m.digest, owner, m.seq) for m in messages if 1 <= m.seq <= MAX_SEQ
        ]  # `altered` from now on
        if owner is not None and rows:
            self._access.change_many(_REWRITE, rows)
            note_erasure(self._access, owner)

    def restore(self, scope: Scope, messages: Sequence[Message]) -> None:
        owner = self._access.make_owner(scope)
        given = [self._access.counter(owner, "message"), *(m.seq for m in messages)]
        ids = [m.id for m in messages]
        if any(a >= b for a, b in pairwise(given)) or len(set(ids)) < len(ids) or self._stored(owner, ids):
            raise InputError("these messages cannot be restored: a number or an id is taken")
        if given[-1] > MAX_SEQ:
            raise InputError(f"number {given[-1]} is outside 1 to {MAX_SEQ:,}")
        self._insert(owner, messages)
        self._access.raise_counter(owner, "message", given[-1])


def numbers(seqs: Collection[int]) -> list[int]:
    """Those that an owner can have, for `= ANY(…)`."""
    return sorted({seq for seq in seqs if 1 <= seq <= MAX_SEQ})


def holding(column: str) -> str:
    """The condition that a text contains any needle of a list byte for byte."""
    return f"EXISTS (SELECT 1 FROM unnest(%s::text[]) AS needle WHERE strpos({column}, needle) > 0)"
