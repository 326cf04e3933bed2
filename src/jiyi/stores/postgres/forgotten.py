"""Tombstones, receipts of forgetting and known copies in PostgreSQL (SPEC F6)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from jiyi.domain.encoding import micros
from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Tombstone, scope_key
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Forgotten
from jiyi.stores.encoding import stored_instant, stored_optional_instant
from jiyi.stores.numbering import MAX_SEQ
from jiyi.stores.postgres.access import PostgresAccess
from jiyi.stores.rows import RECEIPT_COLUMNS, receipt_of, receipt_row, tombstone_of

_NAMES = RECEIPT_COLUMNS.split(", ")
_PUT_RECEIPT = (
    f"INSERT INTO forgetting (owner, seq, {RECEIPT_COLUMNS}) VALUES (%s, %s{', %s' * len(_NAMES)})"
    " ON CONFLICT (owner, seq) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _NAMES)
)
_PUT_TOMBSTONE = (
    "INSERT INTO tombstone (owner, mark, digest, length, at, receipt) VALUES (%s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (owner, mark, digest) DO UPDATE SET at = excluded.at, receipt = excluded.receipt"
    " WHERE tombstone.at < excluded.at"
)


class PostgresForgotten(Forgotten):
    def __init__(self, access: PostgresAccess, secret: bytes) -> None:
        self._access = access
        self._secret = secret

    def key(self, scope: Scope) -> bytes:
        return scope_key(self._secret, scope.tenant, scope.user)

    def horizon(self, scope: Scope) -> datetime | None:
        owner = self._access.owner(scope)
        sql = "SELECT max(horizon) FROM forgetting WHERE owner = %s"
        return stored_optional_instant(self._access.value(sql, (owner,)))

    def lengths(self, scope: Scope, mark: Mark) -> list[int]:
        owner = self._access.owner(scope)
        sql = "SELECT DISTINCT length FROM tombstone WHERE owner = %s AND mark = %s ORDER BY length"
        return [length for (length,) in self._access.rows(sql, (owner, mark.value))]

    def find(self, scope: Scope, mark: Mark, digests: Collection[bytes]) -> dict[bytes, datetime]:
        owner = self._access.owner(scope)
        sql = "SELECT digest, at FROM tombstone WHERE owner = %s AND mark = %s AND digest = ANY(%s::bytea[])"
        rows = self._access.rows(sql, (owner, mark.value, list(set(digests)))) if digests else []
        return {digest: stored_instant(at) for digest, at in rows}

    def tombstones(self, scope: Scope) -> list[Tombstone]:
        owner = self._access.owner(scope)
        sql = "SELECT mark, digest, at, length, receipt FROM tombstone WHERE owner = %s ORDER BY mark, digest"
        return [tombstone_of(row) for row in self._access.rows(sql, (owner,))]

    def add(self, scope: Scope, tombstones: Collection[Tombstone]) -> None:
        owner = self._access.make_owner(scope)
        rows = [(owner, t.mark.value, t.digest, t.length, micros(t.at), t.receipt) for t in tombstones]
        self._access.change_many(_PUT_TOMBSTONE, rows)

    def receipts(self, scope: Scope) -> list[ForgettingReceipt]:
        owner = self._access.owner(scope)
        sql = f"SELECT seq, {RECEIPT_COLUMNS} FROM forgetting WHERE owner = %s ORDER BY seq"
        return [receipt_of(row) for row in self._access.rows(sql, (owner,))]

    def size(self) -> tuple[int, int]:
        self._access.operate()
        sql = "SELECT (SELECT count(*) FROM forgetting), (SELECT count(*) FROM tombstone)"
        [(receipts, stones)] = self._access.rows(sql)
        return receipts, stones

    def write(self, scope: Scope, receipt: ForgettingReceipt) -> None:
        if not 1 <= receipt.number <= MAX_SEQ:
            raise InputError(f"number {receipt.number} is outside 1 to {MAX_SEQ:,}")
        owner = self._access.make_owner(scope)
        self._access.change(_PUT_RECEIPT, (owner, receipt.number, *receipt_row(receipt)))

    def note_copy(self, scope: Scope | None, copy: Copy) -> None:
        owner = 0 if scope is None else self._access.make_owner(scope)
        if scope is None:
            self._access.operate()
        sql = "INSERT INTO copy (owner, kind, path, at) VALUES (%s, %s, %s, %s)"
        self._access.change(sql, (owner, copy.kind, copy.path, micros(copy.at)))

    def copies(self, scope: Scope) -> list[Copy]:
        # Those of the whole database are under owner 0, whom no scope can enter.
        owner = self._access.owner(scope)
        self._access.operate()
        sql = "SELECT kind, path, at FROM copy WHERE owner IN (0, %s) ORDER BY number"
        return [Copy(kind, path, stored_instant(at)) for kind, path, at in self._access.rows(sql, (owner or 0,))]
