"""What a graph engine has still to hear of, in SQLite (SPEC G4)."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping

from jiyi.domain.graph import Followed
from jiyi.domain.scope import Scope
from jiyi.ports import GraphFeed
from jiyi.stores.numbering import MAX_SEQ, at_most, seq_of
from jiyi.stores.sqlite.access import Access, first_key, last_key, row_key


class SqliteGraphFeed(GraphFeed):
    def __init__(self, access: Access) -> None:
        self._access = access

    def begin(self, scope: Scope) -> None:
        owner = self._access.make_owner(scope)
        sql = "INSERT INTO graph_feed (owner, version, told) VALUES (?, ?, '') ON CONFLICT DO NOTHING"
        self._access.change(sql, (owner, secrets.token_hex(8)))

    def restart(self, scope: Scope) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return
        sql = "UPDATE graph_feed SET version = ?, told = '' WHERE owner = ?"
        if self._access.change(sql, (secrets.token_hex(8), owner)):
            span = (first_key(owner), last_key(owner))
            self._access.change("DELETE FROM graph_outbox WHERE memory BETWEEN ? AND ?", span)

    def note(self, scope: Scope, memories: Collection[int]) -> None:
        self._access.check_writable()
        owner, followed = self._access.owner(scope), self.state(scope)
        if owner is None or followed is None or not memories:
            return
        version = secrets.token_hex(8)
        self._access.change("UPDATE graph_feed SET version = ? WHERE owner = ?", (version, owner))
        if followed.told:
            sql = """
                INSERT INTO graph_outbox (memory, version) VALUES (?, ?)
                ON CONFLICT DO UPDATE SET version = excluded.version
            """
            self._access.change_many(sql, [(row_key(owner, memory), version) for memory in sorted(set(memories))])

    def state(self, scope: Scope) -> Followed | None:
        sql = "SELECT version, told FROM graph_feed WHERE owner = ?"
        rows = self._access.rows(sql, (self._access.owner(scope),))
        return Followed(*rows[0]) if rows else None

    def waiting(self, scope: Scope, limit: int) -> dict[int, str]:
        owner = self._access.owner(scope)
        if owner is None:
            return {}
        sql = "SELECT memory, version FROM graph_outbox WHERE memory BETWEEN ? AND ? ORDER BY memory LIMIT ?"
        rows = self._access.rows(sql, (first_key(owner), last_key(owner), at_most(limit)))
        return {seq_of(key): version for key, version in rows}

    def told(self, scope: Scope, version: str, heard: Mapping[int, str]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return
        self._access.change("UPDATE graph_feed SET told = ? WHERE owner = ?", (version, owner))
        rows = [(row_key(owner, memory), last) for memory, last in heard.items() if 0 < memory <= MAX_SEQ]
        self._access.change_many("DELETE FROM graph_outbox WHERE memory = ? AND version = ?", rows)

    def count(self) -> int:
        return int(self._access.value("SELECT count(*) FROM graph_outbox"))

    def lagging(self) -> list[Scope]:
        sql = """
            SELECT tenant, user FROM graph_feed JOIN owner ON number = owner
            WHERE told <> version ORDER BY number
        """
        return [Scope(user=user, tenant=tenant) for tenant, user in self._access.rows(sql)]

    def following(self) -> dict[Scope, Followed]:
        sql = "SELECT tenant, user, version, told FROM graph_feed JOIN owner ON number = owner ORDER BY number"
        return {Scope(user=user, tenant=tenant): Followed(*state) for tenant, user, *state in self._access.rows(sql)}
