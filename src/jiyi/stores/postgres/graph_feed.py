"""What a graph engine has still to hear of, in PostgreSQL (SPEC G4)."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping

from jiyi.domain.graph import Followed
from jiyi.domain.scope import Scope
from jiyi.ports import GraphFeed
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.postgres.access import PostgresAccess


class PostgresGraphFeed(GraphFeed):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def begin(self, scope: Scope) -> None:
        owner = self._access.make_owner(scope)
        sql = "INSERT INTO graph_feed (owner, version, told) VALUES (%s, %s, '') ON CONFLICT (owner) DO NOTHING"
        self._access.change(sql, (owner, secrets.token_hex(8)))

    def restart(self, scope: Scope) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        sql = "UPDATE graph_feed SET version = %s, told = '' WHERE owner = %s"
        if self._access.change(sql, (secrets.token_hex(8), owner)):
            self._access.change("DELETE FROM graph_outbox WHERE owner = %s", (owner,))

    def note(self, scope: Scope, memories: Collection[int]) -> None:
        self._access.check_writable()
        owner, followed = self._access.owner(scope), self.state(scope)
        if owner is None or followed is None or not memories:
            return
        version = secrets.token_hex(8)
        self._access.change("UPDATE graph_feed SET version = %s WHERE owner = %s", (version, owner))
        if followed.told:
            sql = """
                INSERT INTO graph_outbox (owner, memory, version) SELECT %s, unnest(%s::integer[]), %s
                ON CONFLICT (owner, memory) DO UPDATE SET version = excluded.version
            """
            self._access.change(sql, (owner, sorted(set(memories)), version))

    def state(self, scope: Scope) -> Followed | None:
        sql = "SELECT version, told FROM graph_feed WHERE owner = %s"
        rows = self._access.rows(sql, (self._access.owner(scope),))
        return Followed(*rows[0]) if rows else None

    def waiting(self, scope: Scope, limit: int) -> dict[int, str]:
        sql = "SELECT memory, version FROM graph_outbox WHERE owner = %s ORDER BY memory LIMIT %s"
        return dict(self._access.rows(sql, (self._access.owner(scope), at_most(limit))))

    def told(self, scope: Scope, version: str, heard: Mapping[int, str]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        self._access.change("UPDATE graph_feed SET told = %s WHERE owner = %s", (version, owner))
        rows = [(owner, memory, last) for memory, last in heard.items() if 0 < memory <= MAX_SEQ]
        sql = "DELETE FROM graph_outbox WHERE owner = %s AND memory = %s AND version = %s"
        self._access.change_many(sql, rows)

    def count(self) -> int:
        self._access.operate()
        return int(self._access.value("SELECT count(*) FROM graph_outbox"))

    def lagging(self) -> list[Scope]:
        self._access.operate()
        sql = """
            SELECT tenant, usr FROM graph_feed JOIN owner ON number = owner
            WHERE told <> version ORDER BY number
        """
        return [Scope(user=user, tenant=tenant) for tenant, user in self._access.rows(sql)]

    def following(self) -> dict[Scope, Followed]:
        self._access.operate()
        sql = "SELECT tenant, usr, version, told FROM graph_feed JOIN owner ON number = owner ORDER BY number"
        return {Scope(user=user, tenant=tenant): Followed(*state) for tenant, user, *state in self._access.rows(sql)}
