"""What services keep, in SQLite: what was done once, and the keys of services."""

from __future__ import annotations

from datetime import datetime

from jiyi.domain.access import ServiceKey
from jiyi.domain.encoding import micros, to_json
from jiyi.domain.once import DoneOnce
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Once, ServiceKeys
from jiyi.stores.numbering import at_most
from jiyi.stores.rows import SERVICE_KEY_COLUMNS, done_of, service_key_of, service_key_row
from jiyi.stores.sqlite.access import Access, note_erasure


class SqliteOnce(Once):
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope, key: bytes) -> DoneOnce | None:
        sql = "SELECT key, request, outcome, at FROM done_once WHERE owner = ? AND key = ?"
        found = self._access.rows(sql, (self._access.owner(scope), key))
        return done_of(found[0]) if found else None

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
        sql = f"INSERT INTO service_key ({SERVICE_KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._access.change(sql, service_key_row(key))

    def get(self, key_id: str) -> ServiceKey | None:
        found = self._access.rows(f"SELECT {SERVICE_KEY_COLUMNS} FROM service_key WHERE id = ?", (key_id,))
        return service_key_of(found[0]) if found else None

    def all(self) -> list[ServiceKey]:
        rows = self._access.rows(f"SELECT {SERVICE_KEY_COLUMNS} FROM service_key ORDER BY made_at, id")
        return [service_key_of(row) for row in rows]

    def revoke(self, key_id: str, at: datetime) -> bool:
        sql = "UPDATE service_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
        return self._access.change(sql, (micros(at), key_id)) > 0
