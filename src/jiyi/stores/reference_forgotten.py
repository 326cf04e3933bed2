"""Tombstones, receipts of forgetting and known copies in the reference store (SPEC F6)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Tombstone, scope_key
from jiyi.domain.scope import Scope
from jiyi.stores.reference_state import Access


class ReferenceForgotten:
    def __init__(self, access: Access, secret: bytes) -> None:
        self._access = access
        self._secret = secret

    def key(self, scope: Scope) -> bytes:
        return scope_key(self._secret, scope.tenant, scope.user)

    def horizon(self, scope: Scope) -> datetime | None:
        return max((r.horizon for r in self._access[scope].receipts.values()), default=None)

    def lengths(self, scope: Scope, mark: Mark) -> list[int]:
        return sorted({t.length for t in self._access[scope].tombstones.values() if t.mark is mark})

    def find(self, scope: Scope, mark: Mark, digests: Collection[bytes]) -> dict[bytes, datetime]:
        stones = self._access[scope].tombstones
        return {digest: stones[mark, digest].at for digest in digests if (mark, digest) in stones}

    def tombstones(self, scope: Scope) -> list[Tombstone]:
        return sorted(self._access[scope].tombstones.values(), key=lambda t: (t.mark.value, t.digest))

    def add(self, scope: Scope, tombstones: Collection[Tombstone]) -> None:
        stones = self._access.change(scope).tombstones
        for stone in tombstones:
            known = stones.get((stone.mark, stone.digest))
            if known is None or known.at < stone.at:
                stones[stone.mark, stone.digest] = stone

    def receipts(self, scope: Scope) -> list[ForgettingReceipt]:
        return [receipt for _, receipt in sorted(self._access[scope].receipts.items())]

    def size(self) -> tuple[int, int]:
        states = self._access.all().scopes.values()
        return sum(len(s.receipts) for s in states), sum(len(s.tombstones) for s in states)

    def write(self, scope: Scope, receipt: ForgettingReceipt) -> None:
        self._access.change(scope).receipts[receipt.number] = receipt

    def note_copy(self, scope: Scope | None, copy: Copy) -> None:
        if scope is not None:
            self._access.change(scope)
        copies = self._access.change_all().copies
        copies[len(copies)] = scope, copy

    def copies(self, scope: Scope) -> list[Copy]:
        return [copy for owner, copy in self._access.all().copies.values() if owner in (None, scope)]
