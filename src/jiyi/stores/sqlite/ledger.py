"""The ledger in SQLite: one row per plan for good, words and pictures apart so that they can be deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from jiyi.domain.encoding import micros
from jiyi.domain.plans import Change, LedgerEntry, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Ledger
from jiyi.stores.encoding import (
    judgements_to_json,
    memory_to_json,
    standing_to_json,
    stored_instant,
)
from jiyi.stores.numbering import MAX_SEQ, at_most, seq_of
from jiyi.stores.rows import change_of, entry_of
from jiyi.stores.sqlite.access import Access, first_key, key_list, last_key, note_erasure, row_key

_SELECT = """
    SELECT key, at, verb, actor, surface, undoes, forgotten, reason, judgements, standing.before, standing.after
    FROM ledger
    LEFT JOIN ledger_words ON ledger_words.plan = key
    LEFT JOIN ledger_standing AS standing ON standing.plan = key
"""


class SqliteLedger(Ledger):
    def __init__(self, access: Access) -> None:
        self._access = access

    def append(self, scope: Scope, plan: Plan) -> LedgerEntry:
        owner = self._access.make_owner(scope)
        seq = self._access.take(owner, "plan")
        entry = LedgerEntry(seq, plan)
        self._insert(owner, entry)
        return entry

    def restore(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        owner = self._access.make_owner(scope)
        first = self.last_seq(scope) + 1
        if [e.seq for e in entries] != list(range(first, first + len(entries))):
            raise InputError(f"these plans cannot be restored: they do not go on with number {first}")
        if entries:
            self._access.take(owner, "plan", len(entries))
        for entry in entries:
            self._insert(owner, entry)

    def _insert(self, owner: int, entry: LedgerEntry) -> None:
        key, plan = row_key(owner, entry.seq), entry.plan
        self._access.change(
            "INSERT INTO ledger (key, at, verb, actor, surface, undoes, forgotten) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, micros(plan.at), plan.verb.value, plan.actor.who, plan.actor.surface, plan.undoes, entry.forgotten),
        )
        if plan.reason or plan.judgements or not entry.forgotten:  # Forgetting took the words with it.
            self._access.change(
                "INSERT INTO ledger_words (plan, reason, judgements) VALUES (?, ?, ?)",
                (key, plan.reason, judgements_to_json(plan.judgements)),
            )
        if (turn := plan.standing) is not None:
            sql = "INSERT INTO ledger_standing (plan, before, after) VALUES (?, ?, ?)"
            self._access.change(sql, (key, standing_to_json(turn.before), standing_to_json(turn.after)))
        rows = [
            (key, position, row_key(owner, c.seq), memory_to_json(c.before), memory_to_json(c.after))
            for position, c in enumerate(plan.changes)
        ]
        sql = "INSERT INTO ledger_change (plan, position, memory, before, after) VALUES (?, ?, ?, ?, ?)"
        self._access.change_many(sql, rows)

    def get(self, scope: Scope, seq: int) -> LedgerEntry | None:
        owner = self._access.owner(scope)
        if owner is None or not 1 <= seq <= MAX_SEQ:
            return None
        found = self._read(f"{_SELECT} WHERE key = ?", (row_key(owner, seq),))
        return found[0] if found else None

    def entries(self, scope: Scope, *, after: int = 0, limit: int | None = None) -> list[LedgerEntry]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        start = first_key(owner) + min(max(after, 0), MAX_SEQ)
        sql = f"{_SELECT} WHERE key > ? AND key <= ? ORDER BY key LIMIT ?"
        return self._read(sql, (start, last_key(owner), -1 if limit is None else at_most(limit)))

    def last_seq(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, "plan")

    def about(self, scope: Scope, memory: int) -> list[LedgerEntry]:
        owner = self._access.owner(scope)
        if owner is None or not 1 <= memory <= MAX_SEQ:
            return []
        sql = f"{_SELECT} WHERE key IN (SELECT plan FROM ledger_change WHERE memory = ?) ORDER BY key"
        return self._read(sql, (row_key(owner, memory),))

    def _read(self, sql: str, arguments: Sequence[Any]) -> list[LedgerEntry]:
        rows = self._access.rows(sql, arguments)
        if not rows:
            return []
        # The entries asked for are one range of numbers or a few; the pictures of a range are read in one go.
        pictures: dict[int, list[Change]] = {}
        keys = key_list(rows[0][0] >> 24, [seq_of(row[0]) for row in rows])
        sql = """
            SELECT plan, before, after FROM ledger_change
            WHERE plan IN (SELECT value FROM json_each(?)) ORDER BY plan, position
        """
        for plan, before, after in self._access.rows(sql, (keys,)):
            pictures.setdefault(plan, []).append(change_of(before, after))
        return [entry_of(row, tuple(pictures.get(row[0], ()))) for row in rows]

    def undone(self, scope: Scope, verb: Verb, memories: Collection[int]) -> dict[int, datetime]:
        owner = self._access.owner(scope)
        if owner is None or not memories:
            return {}
        sql = """
            SELECT c.memory, max(undo.at) FROM ledger_change AS c
            CROSS JOIN ledger AS undo ON undo.key = c.plan AND undo.undoes IS NOT NULL
            CROSS JOIN ledger AS done ON done.key = (undo.key >> 24 << 24 | undo.undoes) AND done.verb = ?
            WHERE c.memory IN (SELECT value FROM json_each(?)) GROUP BY c.memory
        """
        rows = self._access.rows(sql, (verb.value, key_list(owner, memories)))
        return {seq_of(memory): stored_instant(at) for memory, at in rows}

    def erase(self, scope: Scope, memories: Collection[int]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None or not memories:
            return
        keys = key_list(owner, memories)
        held = "SELECT plan FROM ledger_change WHERE memory IN (SELECT value FROM json_each(?))"  # the entries that held one
        self._access.change(f"UPDATE ledger SET forgotten = 1 WHERE key IN ({held})", (keys,))
        self._access.change(f"DELETE FROM ledger_words WHERE plan IN ({held})", (keys,))
        if self._access.change("DELETE FROM ledger_change WHERE memory IN (SELECT value FROM json_each(?))", (keys,)):
            note_erasure(self._access)

    def rewrite(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return
        for entry in entries:
            key = row_key(owner, entry.seq)
            for sql in (
                "DELETE FROM ledger_change WHERE plan = ?",
                "DELETE FROM ledger_words WHERE plan = ?",
                "DELETE FROM ledger_standing WHERE plan = ?",
            ):
                self._access.change(sql, (key,))
            if self._access.change("DELETE FROM ledger WHERE key = ?", (key,)):
                self._insert(owner, entry)
        if entries:
            note_erasure(self._access)
