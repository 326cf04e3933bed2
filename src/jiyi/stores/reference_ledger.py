"""The ledger of the reference store, and what each user decided about their memory as a whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from jiyi.domain.plans import LedgerEntry, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Standing
from jiyi.errors import InputError
from jiyi.stores.reference_state import Access


class ReferenceLedger:
    def __init__(self, access: Access) -> None:
        self._access = access

    def append(self, scope: Scope, plan: Plan) -> LedgerEntry:
        ledger = self._access.change(scope).ledger
        entry = LedgerEntry(len(ledger) + 1, plan)
        ledger[entry.seq] = entry
        return entry

    def restore(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        first = self.last_seq(scope) + 1
        if [e.seq for e in entries] != list(range(first, first + len(entries))):
            raise InputError(f"these plans cannot be restored: they do not go on with number {first}")
        self._access.change(scope).ledger.update({e.seq: e for e in entries})

    def get(self, scope: Scope, seq: int) -> LedgerEntry | None:
        return self._access[scope].ledger.get(seq)

    def entries(self, scope: Scope, *, after: int = 0, limit: int | None = None) -> list[LedgerEntry]:
        return [e for seq, e in sorted(self._access[scope].ledger.items()) if seq > after][:limit]

    def last_seq(self, scope: Scope) -> int:
        return len(self._access[scope].ledger)

    def about(self, scope: Scope, memory: int) -> list[LedgerEntry]:
        return [e for e in self.entries(scope) if any(c.seq == memory for c in e.plan.changes)]

    def undone(self, scope: Scope, verb: Verb, memories: Collection[int]) -> dict[int, datetime]:
        undone: dict[int, datetime] = {}
        for entry in self.entries(scope):
            original = None if entry.plan.undoes is None else self.get(scope, entry.plan.undoes)
            if original is not None and original.plan.verb is verb:
                for seq in {c.seq for c in entry.plan.changes} & set(memories):
                    undone[seq] = max(entry.plan.at, undone.get(seq, entry.plan.at))
        return undone

    def erase(self, scope: Scope, memories: Collection[int]) -> None:
        ledger = self._access.change(scope).ledger
        for seq, entry in ledger.items():
            kept = tuple(c for c in entry.plan.changes if c.seq not in memories)
            if kept != entry.plan.changes:
                plan = replace(entry.plan, reason="", judgements=(), changes=kept)
                ledger[seq] = replace(entry, plan=plan, forgotten=True)
                self._access.change_all().erased = True

    def rewrite(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        ledger = self._access.change(scope).ledger
        ledger.update({e.seq: e for e in entries if e.seq in ledger})
        if entries:
            self._access.change_all().erased = True


class ReferenceStandings:
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope) -> Standing:
        return self._access[scope].standing

    def set(self, scope: Scope, standing: Standing) -> None:
        self._access.change(scope).standing = standing
