"""Two times of every memory: when it was true, and when we learnt it. Each can be asked on its own (SPEC B6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.memory import Memory, Status
from jiyi.domain.plans import LedgerEntry, replay


@dataclass(frozen=True, slots=True)
class AsOf:
    """From where memory is looked at; None is the present.

    `known_at`: as the ledger stood then. `valid_at`: of what is known, that which was true then.
    """

    valid_at: datetime | None = None
    known_at: datetime | None = None

    @property
    def present(self) -> bool:
        return self.valid_at is None and self.known_at is None

    def age_at(self, now: datetime) -> datetime:
        """The instant up to which a memory has aged: a doubt that grew since says nothing about then."""
        if self.valid_at is not None:
            return self.valid_at
        return now if self.known_at is None else min(now, self.known_at)


def known(entries: Sequence[LedgerEntry], at: datetime) -> dict[int, Memory]:
    """The memories as the ledger stood at `at`, by number.

    What was forgotten since has left the ledger, so it is not known at any time. Should a clock have been set
    back, the ledger counts up to its last plan of that time: no plan is torn from those it builds on.
    """
    stood = max((number for number, entry in enumerate(entries, 1) if entry.plan.at <= at), default=0)
    return replay(entries[:stood])


def was_true(memory: Memory, at: datetime) -> bool:
    """Whether the memory holds at `at`. One that was taken back was never true; the end itself is outside. One that
    waits was true until it lost an arbitration, if it ever stood."""
    if memory.status is Status.RETRACTED or at < memory.valid_from:
        return False
    if memory.never_stood:
        return False
    return memory.valid_to is None or at < memory.valid_to


def status_at(memory: Memory, at: datetime) -> Status | None:
    """How the memory stood in the world at `at`; None when it had not begun.

    One that is over by itself stays live, as in the present (`Memory.over`).
    """
    if memory.status is Status.RETRACTED:
        return Status.RETRACTED
    if at < memory.valid_from:
        return None
    if memory.status is Status.LIVE or was_true(memory, at):
        return Status.LIVE
    return memory.status
