"""The ledger in PostgreSQL: one row per plan for good, words and pictures apart so that they can be deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from jiyi.domain.encoding import micros
from jiyi.domain.plans import Change, LedgerEntry, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Ledger
from jiyi.stores.encoding import judgements_to_json, memory_to_json, standing_to_json, stored_instant
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.postgres.access import PostgresAccess, note_erasure
from jiyi.stores.postgres.messages import numbers
from jiyi.stores.rows import change_of, entry_of

_SELECT = """
    SELECT seq, at, verb, actor, surface, undoes, forgotten, reason, judgements, standing.before, standing.after
    FROM ledger
    LEFT JOIN ledger_words AS words ON words.owner = %(owner)s AND words.plan = seq
    LEFT JOIN ledger_standing AS standing ON standing.owner = %(owner)s AND standing.plan = seq
    WHERE ledger.owner = %(owner)s
"""
_UNDONE = """
    SELECT c.memory, max(undo.at) FROM ledger_change AS c
    JOIN ledger AS undo ON undo.owner = %(owner)s AND undo.seq = c.plan AND undo.undoes IS NOT NULL
    JOIN ledger AS done ON done.owner = %(owner)s AND done.seq = undo.undoes AND done.verb = %(verb)s
    WHERE c.owner = %(owner)s AND c.memory = ANY(%(memories)s) GROUP BY c.memory
"""
_HOLDING = "SELECT plan FROM ledger_change WHERE owner = %(owner)s AND memory = ANY(%(memories)s)"
"""The entries that hold a picture of these memories."""


def _put(table: str, columns: str) -> str:
    return f"INSERT INTO {table} (owner, {columns}) VALUES (%s{', %s' * len(columns.split(', '))})"


class PostgresLedger(Ledger):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def append(self, scope: Scope, plan: Plan) -> LedgerEntry:
        owner = self._access.make_owner(scope)
        entry = LedgerEntry(self._access.take(owner, "plan"), plan)
        self._insert(owner, [entry])
        return entry

    def restore(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        owner = self._access.make_owner(scope)
        first = self.last_seq(scope) + 1
        if [e.seq for e in entries] != list(range(first, first + len(entries))):
            raise InputError(f"these plans cannot be restored: they do not go on with number {first}")
        if entries:
            self._access.take(owner, "plan", len(entries))
        self._insert(owner, entries)

    def _insert(self, owner: int, entries: Sequence[LedgerEntry]) -> None:
        """All of them table by table: one round trip each, however many there are."""
        if wrong := [c.seq for e in entries for c in e.plan.changes if not 1 <= c.seq <= MAX_SEQ]:
            raise InputError(f"number {wrong[0]} is outside 1 to {MAX_SEQ:,}")
        plans = [(entry.seq, entry.plan, entry.forgotten) for entry in entries]
        self._access.change_many(
            _put("ledger", "seq, at, verb, actor, surface, undoes, forgotten"),
            [
                (owner, seq, micros(p.at), p.verb.value, p.actor.who, p.actor.surface, p.undoes, forgotten)
                for seq, p, forgotten in plans
            ],
        )
        self._access.change_many(
            _put("ledger_words", "plan, reason, judgements"),
            [
                (owner, seq, p.reason, judgements_to_json(p.judgements))
                for seq, p, forgotten in plans
                if p.reason or p.judgements or not forgotten  # Forgetting took the words with it.
            ],
        )
        self._access.change_many(
            _put("ledger_standing", "plan, before, after"),
            [
                (owner, seq, standing_to_json(turn.before), standing_to_json(turn.after))
                for seq, p, _ in plans
                if (turn := p.standing) is not None
            ],
        )
        self._access.change_many(
            _put("ledger_change", "plan, position, memory, before, after"),
            [
                (owner, seq, position, c.seq, memory_to_json(c.before), memory_to_json(c.after))
                for seq, p, _ in plans
                for position, c in enumerate(p.changes)
            ],
        )

    def get(self, scope: Scope, seq: int) -> LedgerEntry | None:
        if not 1 <= seq <= MAX_SEQ:
            return None
        found = self._read(scope, "seq = %(seq)s", {"seq": seq})
        return found[0] if found else None

    def entries(self, scope: Scope, *, after: int = 0, limit: int | None = None) -> list[LedgerEntry]:
        arguments = {"after": min(max(after, 0), MAX_SEQ), "limit": None if limit is None else at_most(limit)}
        return self._read(scope, "seq > %(after)s ORDER BY seq LIMIT %(limit)s", arguments)

    def last_seq(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, "plan")

    def about(self, scope: Scope, memory: int) -> list[LedgerEntry]:
        return self._read(scope, f"seq IN ({_HOLDING}) ORDER BY seq", {"memories": numbers([memory])})

    def _read(self, scope: Scope, condition: str, arguments: dict[str, Any]) -> list[LedgerEntry]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        rows = self._access.rows(f"{_SELECT} AND {condition}", {"owner": owner, **arguments})
        if not rows:
            return []
        pictures: dict[int, list[Change]] = {}
        sql = (
            "SELECT plan, before, after FROM ledger_change WHERE owner = %s AND plan = ANY(%s) ORDER BY plan, position"
        )
        for plan, before, after in self._access.rows(sql, (owner, [row[0] for row in rows])):
            pictures.setdefault(plan, []).append(change_of(before, after))
        return [entry_of(row, tuple(pictures.get(row[0], ()))) for row in rows]

    def undone(self, scope: Scope, verb: Verb, memories: Collection[int]) -> dict[int, datetime]:
        owner = self._access.owner(scope)
        if owner is None or not memories:
            return {}
        arguments = {"owner": owner, "verb": verb.value, "memories": numbers(memories)}
        return {memory: stored_instant(at) for memory, at in self._access.rows(_UNDONE, arguments)}

    def erase(self, scope: Scope, memories: Collection[int]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None or not memories:
            return
        arguments = {"owner": owner, "memories": numbers(memories)}
        for sql in (
            f"UPDATE ledger SET forgotten = true WHERE owner = %(owner)s AND seq IN ({_HOLDING})",
            f"DELETE FROM ledger_words WHERE owner = %(owner)s AND plan IN ({_HOLDING})",
        ):
            self._access.change(sql, arguments)
        sql = "DELETE FROM ledger_change WHERE owner = %(owner)s AND memory = ANY(%(memories)s)"
        if self._access.change(sql, arguments):
            note_erasure(self._access, owner)

    def rewrite(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None or not entries:
            return
        latest = {entry.seq: entry for entry in entries}
        for table in ("ledger_change", "ledger_words", "ledger_standing"):
            self._access.change(f"DELETE FROM {table} WHERE owner = %s AND plan = ANY(%s)", (owner, list(latest)))
        sql = "DELETE FROM ledger WHERE owner = %s AND seq = ANY(%s) RETURNING seq"
        there = self._access.change_returning(sql, (owner, list(latest)))
        self._insert(owner, [latest[seq] for (seq,) in there])
        note_erasure(self._access, owner)
