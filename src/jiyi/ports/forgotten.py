"""The port of what forgetting leaves in a store. A part of `ports.Unit`, whose rules hold here too."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Tombstone
from jiyi.domain.scope import Scope


class Forgotten(Protocol):
    """What forgetting leaves: keyed tombstones, receipts without words, and known copies (SPEC F6). Gateway only writes."""

    def key(self, scope: Scope) -> bytes:
        """The key of the scope's tombstones, derived from the secret of the store; another one in every store and scope."""

    def horizon(self, scope: Scope) -> datetime | None:
        """The latest instant of any tombstone, None when nothing was ever forgotten: what was said later is free."""

    def lengths(self, scope: Scope, mark: Mark) -> list[int]:
        """The different lengths of the tombstones of a mark, ascending."""

    def find(self, scope: Scope, mark: Mark, digests: Collection[bytes]) -> dict[bytes, datetime]:
        """Those digests that a tombstone of the mark has, with its instant."""

    def tombstones(self, scope: Scope) -> list[Tombstone]:
        """All of them, by mark and digest."""

    def add(self, scope: Scope, tombstones: Collection[Tombstone]) -> None:
        """Add tombstones; of two with one mark and digest the later instant stays."""

    def receipts(self, scope: Scope) -> list[ForgettingReceipt]:
        """By number."""

    def size(self) -> tuple[int, int]:
        """*Operator.* Receipts and tombstones of all scopes; cheap."""

    def write(self, scope: Scope, receipt: ForgettingReceipt) -> None:
        """Store a receipt, in the place of an older one of its number."""

    def note_copy(self, scope: Scope | None, copy: Copy) -> None:
        """A backup (of all scopes: None) or an export of the scope was made."""

    def copies(self, scope: Scope) -> list[Copy]:
        """The copies of the scope or of all scopes, in the order they were made."""
