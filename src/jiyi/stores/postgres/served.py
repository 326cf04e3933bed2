"""What services keep, in PostgreSQL: what was done once, and the keys of services."""

from __future__ import annotations

from datetime import datetime

from jiyi.domain.access import ServiceKey
from jiyi.domain.encoding import micros, to_json
from jiyi.domain.once import DoneOnce
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Once, ServiceKeys
from jiyi.stores.numbering import at_most
from jiyi.stores.postgres.access import PostgresAccess, note_erasure
from jiyi.stores.rows import SERVICE_KEY_COLUMNS, done_of, service_key_of, service_key_row


class PostgresOnce(Once):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def get(self, scope: Scope, key: bytes) -> DoneOnce | None:
        sql = "SELECT key, request, outcome, at FROM done_once WHERE owner = %s AND key = %s"
        found = self._access.rows(sql, (self._access.owner(scope), key))
        return done_of(found[0]) if found else None

    def add(self, scope: Scope, done: DoneOnce) -> None:
        owner = self._access.make_owner(scope)
        self._access.change(
            "INSERT INTO done_once (owner, key, at, request, outcome) VALUES (%s, %s, %s, %s, %s) ON CONFLICT (owner, key)"
            " DO UPDATE SET at = excluded.at, request = excluded.request, outcome = excluded.outcome",
            (owner, done.key, micros(done.at), done.request, to_json(dict(done.outcome))),
        )

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        sql = """
            DELETE FROM done_once WHERE owner = %(owner)s AND (at < %(since)s OR key NOT IN (
                SELECT key FROM done_once WHERE owner = %(owner)s ORDER BY at DESC, key DESC LIMIT %(keep)s))
        """
        self._access.change(sql, {"owner": owner, "since": micros(since), "keep": at_most(keep)})

    def blank(self, scope: Scope) -> int:
        self._access.check_writable()
        owner = self._access.owner(scope)
        gone = self._access.change("UPDATE done_once SET request = '' WHERE owner = %s AND request <> ''", (owner,))
        if gone and owner is not None:
            note_erasure(self._access, owner)
        return gone


class PostgresServiceKeys(ServiceKeys):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def add(self, key: ServiceKey) -> None:
        self._access.operate()
        row = service_key_row(key)
        slots = ", ".join(["%s"] * len(row))
        sql = f"INSERT INTO service_key ({SERVICE_KEY_COLUMNS}) VALUES ({slots}) ON CONFLICT DO NOTHING"
        if not self._access.change(sql, row):
            raise InputError(f"there is a service key {key.id} already")

    def get(self, key_id: str) -> ServiceKey | None:
        self._access.operate()
        found = self._access.rows(f"SELECT {SERVICE_KEY_COLUMNS} FROM service_key WHERE id = %s", (key_id,))
        return service_key_of(found[0]) if found else None

    def all(self) -> list[ServiceKey]:
        self._access.operate()
        rows = self._access.rows(f"SELECT {SERVICE_KEY_COLUMNS} FROM service_key ORDER BY made_at, id")
        return [service_key_of(row) for row in rows]

    def revoke(self, key_id: str, at: datetime) -> bool:
        self._access.operate()
        sql = "UPDATE service_key SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL"
        return self._access.change(sql, (micros(at), key_id)) > 0
