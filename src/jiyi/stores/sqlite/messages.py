"""Messages in SQLite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from jiyi.domain.encoding import instant_at, micros, utc_offset
from jiyi.domain.fusion import ASKS_WITHIN, Place
from jiyi.domain.memory import IncomingMessage, Message
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Messages, SessionInfo
from jiyi.stores.encoding import labels_to_json
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.rows import MESSAGE_COLUMNS, fresh_messages, message_of, message_row, messages_of, numbered
from jiyi.stores.sqlite.access import Access, first_key, key_list, last_key, marks, note_erasure, row_key
from jiyi.stores.sqlite.kept import Kept
from jiyi.stores.sqlite.letters import REWRITTEN
from jiyi.stores.sqlite.places import new_place

COLUMNS = f"key, {MESSAGE_COLUMNS}"


class SqliteMessages(Messages):
    """`rewritten`: owners some of whose messages were rewritten in this unit."""

    def __init__(self, access: Access, kept: Kept) -> None:
        self._access = access
        self._kept = kept
        self.rewritten: set[int] = set()

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
        found: dict[str, Message | IncomingMessage] = {}
        for start in range(0, len(ids), 500):
            some = ids[start : start + 500]
            sql = f"SELECT {COLUMNS} FROM message WHERE owner = ? AND id IN ({marks(len(some))})"
            found.update((row[1], message_of(row)) for row in self._access.rows(sql, (owner, *some)))
        return found

    def _insert(self, owner: int, messages: Sequence[Message]) -> None:
        sql = f"INSERT INTO message (key, owner, {MESSAGE_COLUMNS}) VALUES ({marks(13)})"
        self._access.change_many(sql, [(row_key(owner, m.seq), owner, *message_row(m)) for m in messages])

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Message]:
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return []
        sql = f"SELECT {COLUMNS} FROM message WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key"
        return messages_of(self._access.rows(sql, (key_list(owner, seqs),)))

    def places(self, scope: Scope, seqs: Collection[int]) -> list[Place]:
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return []
        return self._kept.places.of(self._access, owner, seqs, lambda some: self._places(owner, some))

    def _places(self, owner: int, seqs: Collection[int]) -> list[Place]:
        # What a text is like is seen here: SQLite counts its characters from the front to find the last ones.
        found = []
        for key, session, voice, at, text in self._access.rows(_PLACES, (key_list(owner, seqs),)):
            end = text[-ASKS_WITHIN:]
            asks = "?" in end or "？" in end
            size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            found.append(new_place((key & MAX_SEQ, session, voice, at, asks, size)))
        found.sort()
        return found

    def by_id(self, scope: Scope, message_id: str) -> Message | None:
        owner = self._access.owner(scope)
        sql = f"SELECT {COLUMNS} FROM message WHERE owner = ? AND id = ?"
        found = self._access.rows(sql, (owner, message_id))
        return message_of(found[0]) if found else None

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
        owner = self._access.owner(scope)
        if owner is None:
            return []
        conditions, arguments = ["owner = ?", "forgotten = 0"], [owner]
        tests: list[tuple[str, Any]] = [
            ("session = ?", session),
            ("at >= ?", None if since is None else micros(since)),
            ("at < ?", None if until is None else micros(until)),
        ]
        for test, argument in tests:
            if argument is not None:
                conditions.append(test)
                arguments.append(argument)
        for comparison, place in ((">", after), ("<", before)):
            if place is not None:
                conditions.append(f"(at, key) {comparison} (?, ?)")
                arguments += [micros(place[0]), first_key(owner) + min(max(place[1], 0), MAX_SEQ + 1)]
        order = "at DESC, key DESC" if latest else "at, key"
        sql = f"SELECT {COLUMNS} FROM message WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT ?"
        found = [message_of(row) for row in self._access.rows(sql, (*arguments, at_most(limit)))]
        return found[::-1] if latest else found

    def after_seq(self, scope: Scope, seq: int, limit: int) -> list[Message]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        sql = f"SELECT {COLUMNS} FROM message WHERE key > ? AND key <= ? AND forgotten = 0 ORDER BY key LIMIT ?"
        start = first_key(owner) + min(max(seq, 0), MAX_SEQ)
        return [message_of(row) for row in self._access.rows(sql, (start, last_key(owner), at_most(limit)))]

    def last_seq(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, "message")

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Message]:
        owner = self._access.owner(scope)
        if owner is None or not needles:
            return []
        if (seqs := self._kept.letters.holding(self._access, owner, needles, at_most(limit))) is not None:
            return self.get(scope, seqs)[::-1]
        holds = " OR ".join(["instr(text, ?)"] * len(needles))
        sql = (
            f"SELECT {COLUMNS} FROM message WHERE key BETWEEN ? AND ? AND forgotten = 0 AND ({holds})"
            " ORDER BY key DESC LIMIT ?"
        )
        arguments = (first_key(owner), last_key(owner), *needles, at_most(limit))
        return [message_of(row) for row in self._access.rows(sql, arguments)]

    def sessions(self, scope: Scope, limit: int = 1000) -> list[SessionInfo]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        # The offsets of the first and the last turn, so that instants read as they were said.
        sql = """
            WITH span AS (
                SELECT session, min(at) AS first_at, max(at) AS last_at, count(*) AS messages
                FROM message WHERE owner = :owner AND forgotten = 0
                GROUP BY session ORDER BY last_at DESC, session LIMIT :limit)
            SELECT session, first_at, last_at, messages,
                   (SELECT utc_offset FROM message AS m WHERE m.owner = :owner AND m.forgotten = 0
                     AND m.session = span.session AND m.at = first_at ORDER BY m.key LIMIT 1),
                   (SELECT utc_offset FROM message AS m WHERE m.owner = :owner AND m.forgotten = 0
                     AND m.session = span.session AND m.at = last_at ORDER BY m.key DESC LIMIT 1)
            FROM span ORDER BY last_at DESC, session
        """
        return [
            SessionInfo(session, instant_at(first, first_offset), instant_at(last, last_offset), messages)
            for session, first, last, messages, first_offset, last_offset in self._access.rows(
                sql, {"owner": owner, "limit": at_most(limit)}
            )
        ]

    def rewrite(self, scope: Scope, messages: Sequence[Message]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return
        sql = (
            "UPDATE message SET id = ?, session = ?, role = ?, at = ?, utc_offset = ?, name = ?, labels = ?,"
            " forgotten = ?, altered = 1, digest = ?, text = ? WHERE key = ?"
        )
        rows = [
            (m.id, m.session, m.role.value, micros(m.at), utc_offset(m.at), m.name, labels_to_json(m.labels),
             m.forgotten, m.digest, m.text, row_key(owner, m.seq))
            for m in messages
            if 1 <= m.seq <= MAX_SEQ
        ]  # fmt: skip
        self._access.change_many(sql, rows)
        if rows:
            note_erasure(self._access)
            self._access.add_to_counter(owner, REWRITTEN, 1)
            self.rewritten.add(owner)

    def restore(self, scope: Scope, messages: Sequence[Message]) -> None:
        owner = self._access.make_owner(scope)
        numbers = [self._access.counter(owner, "message"), *(m.seq for m in messages)]
        ids = [m.id for m in messages]
        if any(a >= b for a, b in pairwise(numbers)) or len(set(ids)) < len(ids) or self._stored(owner, ids):
            raise InputError("these messages cannot be restored: a number or an id is taken")
        self._insert(owner, messages)
        self._access.raise_counter(owner, "message", numbers[-1])


_PLACES = """
    SELECT m.key, m.session, coalesce(m.name, m.role), m.at, m.text
    FROM json_each(?) AS wanted CROSS JOIN message AS m ON m.key = wanted.value WHERE m.forgotten = 0
"""
