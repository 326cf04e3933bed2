"""Tombstones, receipts of forgetting and known copies in SQLite (SPEC F6)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from jiyi.domain.encoding import micros
from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Tombstone, scope_key
from jiyi.domain.scope import Scope
from jiyi.ports import Forgotten
from jiyi.stores.encoding import stored_instant, stored_optional_instant
from jiyi.stores.rows import RECEIPT_COLUMNS, receipt_of, receipt_row, tombstone_of
from jiyi.stores.sqlite.access import Access, first_key, last_key, marks, row_key

CHUNK = 500


class SqliteForgotten(Forgotten):
    def __init__(self, access: Access, secret: bytes) -> None:
        self._access = access
        self._secret = secret

    def key(self, scope: Scope) -> bytes:
        return scope_key(self._secret, scope.tenant, scope.user)

    def horizon(self, scope: Scope) -> datetime | None:
        owner = self._access.owner(scope)
        sql = "SELECT max(horizon) FROM forgetting WHERE key > ? AND key <= ?"
        return (
            None
            if owner is None
            else stored_optional_instant(self._access.value(sql, (first_key(owner), last_key(owner))))
        )

    def lengths(self, scope: Scope, mark: Mark) -> list[int]:
        owner = self._access.owner(scope)
        sql = "SELECT DISTINCT length FROM tombstone WHERE owner = ? AND mark = ? ORDER BY length"
        return [length for (length,) in self._access.rows(sql, (owner, mark.value))]

    def find(self, scope: Scope, mark: Mark, digests: Collection[bytes]) -> dict[bytes, datetime]:
        owner, wanted = self._access.owner(scope), list(set(digests))
        found: dict[bytes, datetime] = {}
        for start in range(0, len(wanted) if owner is not None else 0, CHUNK):
            some = wanted[start : start + CHUNK]
            sql = f"SELECT digest, at FROM tombstone WHERE owner = ? AND mark = ? AND digest IN ({marks(len(some))})"
            found.update((d, stored_instant(at)) for d, at in self._access.rows(sql, (owner, mark.value, *some)))
        return found

    def tombstones(self, scope: Scope) -> list[Tombstone]:
        owner = self._access.owner(scope)
        sql = "SELECT mark, digest, at, length, receipt FROM tombstone WHERE owner = ? ORDER BY mark, digest"
        return [tombstone_of(row) for row in self._access.rows(sql, (owner,))]

    def add(self, scope: Scope, tombstones: Collection[Tombstone]) -> None:
        owner = self._access.make_owner(scope)
        sql = (
            "INSERT INTO tombstone (owner, mark, digest, length, at, receipt) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET at = excluded.at, receipt = excluded.receipt WHERE at < excluded.at"
        )
        rows = [(owner, t.mark.value, t.digest, t.length, micros(t.at), t.receipt) for t in tombstones]
        self._access.change_many(sql, rows)

    def receipts(self, scope: Scope) -> list[ForgettingReceipt]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        sql = f"""
            SELECT key, {RECEIPT_COLUMNS}
            FROM forgetting WHERE key > ? AND key <= ? ORDER BY key
        """
        return [receipt_of(row) for row in self._access.rows(sql, (first_key(owner), last_key(owner)))]

    def size(self) -> tuple[int, int]:
        [(receipts, stones)] = self._access.rows(
            "SELECT (SELECT count(*) FROM forgetting), (SELECT count(*) FROM tombstone)"
        )
        return receipts, stones

    def write(self, scope: Scope, receipt: ForgettingReceipt) -> None:
        owner = self._access.make_owner(scope)
        sql = f"INSERT OR REPLACE INTO forgetting VALUES ({marks(10)})"
        self._access.change(sql, (row_key(owner, receipt.number), owner, *receipt_row(receipt)))

    def note_copy(self, scope: Scope | None, copy: Copy) -> None:
        owner = None if scope is None else self._access.make_owner(scope)
        sql = "INSERT INTO copy (owner, kind, path, at) VALUES (?, ?, ?, ?)"
        self._access.change(sql, (owner, copy.kind, copy.path, micros(copy.at)))

    def copies(self, scope: Scope) -> list[Copy]:
        sql = "SELECT kind, path, at FROM copy WHERE owner IS NULL OR owner = ? ORDER BY number"
        return [
            Copy(kind, path, stored_instant(at))
            for kind, path, at in self._access.rows(sql, (self._access.owner(scope),))
        ]
