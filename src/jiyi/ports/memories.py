"""The port of what is believed. A part of `ports.Unit`; only the gateway writes through it (SPEC W1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from jiyi.domain.heat import Heat
from jiyi.domain.memory import Memory, Status, Tier
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.domain.tiers import Aging


class Memories(Protocol):
    """What we believe, in every version that still exists. Only the gateway calls `write`."""

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        """The memories that exist, by seq ascending."""

    def believed(self, scope: Scope, keys: Collection[str] = (), values: Collection[str] = ()) -> list[Memory]:
        """Memories of any status with one of these non-empty keys, or without a key and with one of these values; by seq."""

    def of_keys(self, scope: Scope, keys: Collection[str], limit: int = 64) -> list[Memory]:
        """Live memories with one of these keys, but for the archive, by `affirmed_at` then seq, newest first."""

    def of_relations(self, scope: Scope, relations: Collection[str], limit: int = 64) -> list[Memory]:
        """Live memories of the fact tier whose triple has one of these relations, by `affirmed_at` then seq, newest first."""

    def listing(
        self,
        scope: Scope,
        *,
        status: Status | None = Status.LIVE,
        categories: Collection[str] = (),
        tiers: Collection[Tier] = (),
        limit: int | None = None,
    ) -> list[Memory]:
        """Memories by seq; all statuses with `status=None`, all categories and all tiers when none is named."""

    def foremost(self, scope: Scope, categories: Collection[str], limit: int) -> list[Memory]:
        """Live memories of the fact tier and of these categories: the most important first, then the last affirmed, then by higher seq."""

    def ahead(self, scope: Scope, now: datetime, limit: int) -> list[Memory]:
        """What lies ahead (`domain.profile.lies_ahead`) of the live memories of the fact tier, in the order of `foremost`."""

    def unsettled(self, scope: Scope) -> list[Memory]:
        """What is not settled: held memories, and live ones that were only inferred or once verified; by seq."""

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Memory]:
        """Live memories whose text contains any needle byte for byte, newest number first. A plain scan."""

    def aging(self, scope: Scope, after: int, limit: int) -> list[Aging]:
        """What upkeep must know of the live memories numbered above `after`, with their heat, by seq, at most `limit`."""

    def replaced_by(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        """The memories, of any status, whose successor is one of these, by seq."""

    def resting_on(self, scope: Scope, message_seqs: Collection[int]) -> dict[int, list[int]]:
        """For each message that is evidence: the memories, of any status, that it tells of, ascending; so not those that were
        counted from it. Number 0, which stands for what was told outright, is no message."""

    def next_seq(self, scope: Scope) -> int:
        """Take a fresh memory number (inside a write)."""

    def numbers(self, scope: Scope) -> list[int]:
        """The numbers of all memories, of any status, ascending; cheap."""

    def last_seq(self, scope: Scope) -> int:
        """The highest number given out, 0 if none. Its memory may be gone."""

    def skip_to(self, scope: Scope, seq: int) -> None:
        """Count the numbers up to `seq` as given out (SPEC F7). One that is given out already changes nothing."""

    def write(self, scope: Scope, changes: Sequence[Change]) -> None:
        """Write the `after` picture of each change; remove the memory where there is none.

        Gateway only. `seq` of an added memory may be one that existed before (undo of a removal).
        """

    def distilled_by(self, scope: Scope) -> str:
        """The distiller that all messages so far were read by, at the oldest; empty when that is not known (SPEC C13)."""

    def mark_distilled_by(self, scope: Scope, identity: str) -> None:
        """`identity`: twelve hexadecimal digits."""

    def heat(self, scope: Scope, seqs: Collection[int]) -> dict[int, Heat]: ...

    def set_heat(self, scope: Scope, heats: Mapping[int, Heat]) -> None:
        """Store heat of memories; numbers that no memory has are ignored."""
