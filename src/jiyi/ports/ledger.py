"""The ports of what was done and decided: every plan (SPEC W4), and the standing of a memory as a whole (SPEC C5). Parts of
`ports.Unit`; only the gateway writes through them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from jiyi.domain.plans import LedgerEntry, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Standing


class Ledger(Protocol):
    """Every applied plan, for good; the pictures inside can be erased by forgetting (SPEC F6, W4)."""

    def append(self, scope: Scope, plan: Plan) -> LedgerEntry:
        """Record an applied plan under the next plan number. Gateway only."""

    def restore(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        """Record entries exactly as they are, under their own numbers (SPEC F7). Gateway only.

        Raises:
            InputError: they do not follow on the last number without a gap. Nothing is recorded.
        """

    def get(self, scope: Scope, seq: int) -> LedgerEntry | None: ...

    def entries(self, scope: Scope, *, after: int = 0, limit: int | None = None) -> list[LedgerEntry]:
        """Entries numbered above `after`, ascending."""

    def last_seq(self, scope: Scope) -> int:
        """The number of the latest entry, 0 if there is none."""

    def about(self, scope: Scope, memory: int) -> list[LedgerEntry]:
        """The entries that changed this memory, ascending."""

    def undone(self, scope: Scope, verb: Verb, memories: Collection[int]) -> dict[int, datetime]:
        """For each memory that a plan of this verb changed and that was then taken back (an undo): when, the last time."""

    def erase(self, scope: Scope, memories: Collection[int]) -> None:
        """Forgetting only: drop every picture of these memories, and the words (reason, judgements) of the
        entries that held one; those entries become `forgotten`. No byte of them stays after a checkpoint."""

    def rewrite(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        """Forgetting only: put each entry in the place of the one of its number. Numbers that no entry has change
        nothing. No byte of what stood there stays after a checkpoint. Gateway only."""


class Standings(Protocol):
    """What each user decided about their memory as a whole (SPEC C5). Only the gateway calls `set`."""

    def get(self, scope: Scope) -> Standing:
        """The scope's standing; `UNDECIDED` where nothing was ever decided."""

    def set(self, scope: Scope, standing: Standing) -> None:
        """Put this standing in the place of the one before."""
