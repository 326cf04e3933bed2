"""What services keep, in SQLite: what was done once, and the keys of services."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from jiyi.domain.access import Role, ServiceKey
from jiyi.domain.encoding import instant, micros, optional_instant, optional_micros, to_json
from jiyi.domain.once import DoneOnce
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.served import Once, ServiceKeys
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import at_most
from jiyi.stores.sqlite.access import Access, note_erasure


class SqliteOnce(Once):
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope, key: bytes) -> DoneOnce | None:
        sql = "SELECT key, request, outcome, at FROM done_once WHERE owner = ? AND key = ?"
        found = self._access.rows(sql, (self._access.owner(scope), key))
        return _done(*found[0]) if found else None

    def add(self, scope: Scope, done: DoneOnce) -> None:
        owner = self._access.make_owner(scope)
        self._access.change(
            "INSERT OR REPLACE INTO done_once (owner, key, at, request, outcome) VALUES (?, ?, ?, ?, ?)",
            (owner, done.key, micros(done.at), done.request, to_json(dict(done.outcome))),
        )

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        self._access.change("DELETE FROM done_once WHERE owner = ? AND at < ?", (owner, micros(since)))
        sql = """
            DELETE FROM done_once WHERE owner = :owner AND key IN (
                SELECT key FROM done_once WHERE owner = :owner ORDER BY at DESC, key DESC LIMIT -1 OFFSET :keep)
        """
        self._access.change(sql, {"owner": owner, "keep": at_most(keep)})

    def blank(self, scope: Scope) -> int:
        self._access.check_writable()
        owner = self._access.owner(scope)
        gone = self._access.change("UPDATE done_once SET request = x'' WHERE owner = ? AND request != x''", (owner,))
        if gone:
            note_erasure(self._access)
        return gone


class SqliteServiceKeys(ServiceKeys):
    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, key: ServiceKey) -> None:
        if self.get(key.id) is not None:
            raise InputError(f"there is a service key {key.id} already")
        self._access.change(
            "INSERT INTO service_key (id, name, tenant, roles, digest, made_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                key.id, key.name, key.tenant, to_json(sorted(key.roles)), key.digest, micros(key.made_at),
                optional_micros(key.revoked_at),
            ),
        )  # fmt: skip

    def get(self, key_id: str) -> ServiceKey | None:
        found = self._access.rows(f"{_KEYS} WHERE id = ?", (key_id,))
        return _key(*found[0]) if found else None

    def all(self) -> list[ServiceKey]:
        return [_key(*row) for row in self._access.rows(f"{_KEYS} ORDER BY made_at, id")]

    def revoke(self, key_id: str, at: datetime) -> bool:
        sql = "UPDATE service_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
        return self._access.change(sql, (micros(at), key_id)) > 0


_KEYS = "SELECT id, name, tenant, roles, digest, made_at, revoked_at FROM service_key"


@damage
def _done(key: bytes, request: bytes, outcome: str, at: int) -> DoneOnce:
    return DoneOnce(key, request, json.loads(outcome), instant(at))


@damage
def _key(key_id: str, name: str, tenant: str, roles: str, digest: bytes, made: int, revoked: Any) -> ServiceKey:
    granted = frozenset(Role(role) for role in json.loads(roles))
    return ServiceKey(key_id, name, tenant, granted, digest, instant(made), optional_instant(revoked))
