"""The graph in PostgreSQL: both directions of every edge as covering indexes, one statement a step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from jiyi.domain.encoding import micros, optional_micros
from jiyi.domain.entities import Name
from jiyi.domain.graph import Edge, Link
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Graph
from jiyi.stores.numbering import MAX_SEQ, Row, at_most
from jiyi.stores.postgres.access import PostgresAccess
from jiyi.stores.rows import edge_of, link_of

BEGINNING = 64
"""Characters of a name that an index holds."""

_EDGE = "e.memory, s.name, e.relation, o.name, e.literal, e.source, e.start, e.affirmed_at, e.valid_from, e.valid_to, e.mentions"
_ENDS = """
    JOIN graph_name AS s ON s.owner = %(owner)s AND s.seq = e.subject
    JOIN graph_name AS o ON o.owner = %(owner)s AND o.seq = e.object
"""
_NODES = """
    (SELECT name FROM graph_name AS h WHERE h.owner = %(owner)s AND h.seq = s.node),
    (SELECT name FROM graph_name AS h WHERE h.owner = %(owner)s AND h.seq = o.node)
"""
_NAME = "n.name, n.spelling, n.base, coalesce((SELECT name FROM graph_name AS h WHERE h.owner = %(owner)s AND h.seq = n.node), '')"
_PLACE = """
    INSERT INTO graph_name (owner, seq, node, base, spelling, name) VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (owner, seq) DO UPDATE SET node = excluded.node, base = excluded.base, spelling = excluded.spelling
"""
_PUT = """
    INSERT INTO graph_edge (owner, memory, subject, relation, object, literal, source, start, affirmed_at, valid_from,
                            valid_to, mentions)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


class PostgresGraph(Graph):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    # ------------------------------------------------------------------------------ writing

    def place(self, scope: Scope, names: Sequence[Name]) -> None:
        owner = self._access.make_owner(scope)
        keys = self._keys(owner, {n.name for n in names} | {n.node for n in names})
        if lacking := {n.node for n in names} - keys.keys() - {n.name for n in names}:
            raise InputError(f"{min(lacking)!r} has no place in the graph yet")
        fresh = list(dict.fromkeys(n.name for n in names if n.name not in keys))
        if fresh:
            first = self._access.take(owner, "name", len(fresh))
            keys |= {name: first + i for i, name in enumerate(fresh)}
        self._access.change_many(
            _PLACE, [(owner, keys[n.name], keys[n.node], n.base, n.spelling, n.name) for n in names]
        )

    def put(self, scope: Scope, edges: Sequence[Edge]) -> None:
        owner = self._access.make_owner(scope)
        ends = {end for e in edges for end in (e.subject, e.object)}
        keys = self._keys(owner, ends)
        if lacking := ends - keys.keys():
            raise InputError(f"{min(lacking)!r} has no place in the graph yet")
        latest = {e.memory: e for e in edges}
        self._drop(owner, latest)
        self._access.change_many(_PUT, [_row(owner, e, keys) for e in latest.values()])

    def remove(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        self._access.check_writable()
        gone = self.of_memories(scope, memories)
        owner = self._access.owner(scope)
        if not gone or owner is None:
            return gone
        self._drop(owner, [e.memory for e in gone])
        keys = self._keys(owner, {end for e in gone for end in (e.subject, e.object)})
        unused = """
            DELETE FROM graph_name AS n WHERE owner = %(owner)s AND seq = ANY(%(keys)s)
            AND NOT EXISTS (SELECT 1 FROM graph_edge AS e WHERE e.owner = %(owner)s AND e.subject = n.seq)
            AND NOT EXISTS (SELECT 1 FROM graph_edge AS e WHERE e.owner = %(owner)s AND e.object = n.seq)
        """
        self._access.change(unused, {"owner": owner, "keys": sorted(keys.values())})
        return gone

    def _drop(self, owner: int, memories: Iterable[int]) -> None:
        self._access.change("DELETE FROM graph_edge WHERE owner = %s AND memory = ANY(%s)", (owner, list(memories)))

    def clear(self, scope: Scope) -> int:
        self._access.check_writable()
        owner = self._access.owner(scope)
        gone = self._access.change("DELETE FROM graph_edge WHERE owner = %s", (owner,))
        self._access.change("DELETE FROM graph_name WHERE owner = %s", (owner,))
        return gone

    # ------------------------------------------------------------------------------ names

    def named(self, scope: Scope, names: Collection[str]) -> list[Name]:
        return self._find(scope, "left(n.name, 64) = ANY(%(beginnings)s) AND n.name = ANY(%(values)s)", names)

    def alike(self, scope: Scope, bases: Collection[str]) -> list[Name]:
        return self._find(scope, "left(n.base, 64) = ANY(%(beginnings)s) AND n.base = ANY(%(values)s)", bases)

    def names_of(self, scope: Scope, nodes: Collection[str]) -> list[Name]:
        heads = """
            SELECT h.seq FROM graph_name AS h
            WHERE h.owner = %(owner)s AND left(h.name, 64) = ANY(%(beginnings)s) AND h.name = ANY(%(values)s)
        """
        return self._find(scope, f"n.node IN ({heads})", nodes)

    def _find(self, scope: Scope, condition: str, values: Collection[str]) -> list[Name]:
        owner = self._access.owner(scope)
        if owner is None or not values:
            return []
        sql = f"SELECT {_NAME} FROM graph_name AS n WHERE n.owner = %(owner)s AND {condition} ORDER BY n.name"
        given = {"owner": owner, "beginnings": _beginnings(values), "values": list(values)}
        return [Name(*row) for row in self._access.rows(sql, given)]

    def _keys(self, owner: int, names: Collection[str]) -> dict[str, int]:
        if not names:
            return {}
        sql = "SELECT name, seq FROM graph_name WHERE owner = %s AND left(name, 64) = ANY(%s) AND name = ANY(%s)"
        return dict(self._access.rows(sql, (owner, _beginnings(names), list(names))))

    # ------------------------------------------------------------------------------ edges

    def of_memories(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        owner = self._access.owner(scope)
        if owner is None or not memories:
            return []
        sql = f"""
            SELECT {_EDGE} FROM graph_edge AS e {_ENDS}
            WHERE e.owner = %(owner)s AND e.memory = ANY(%(memories)s) ORDER BY e.memory
        """
        rows = self._access.rows(sql, {"owner": owner, "memories": _numbers(memories)})
        return [edge_of(row) for row in rows]

    def told_of(self, scope: Scope, names: Collection[str], relations: Collection[str]) -> list[Edge]:
        owner = self._access.owner(scope)
        if owner is None or not names or not relations:
            return []
        given = {"owner": owner, "keys": sorted(self._keys(owner, names).values()), "relations": list(relations)}
        found: dict[int, Edge] = {}
        for end in ("subject", "object"):
            sql = f"""
                SELECT {_EDGE} FROM graph_edge AS e {_ENDS}
                WHERE e.owner = %(owner)s AND e.{end} = ANY(%(keys)s) AND e.relation = ANY(%(relations)s)
            """
            found |= {edge.memory: edge for edge in map(edge_of, self._access.rows(sql, given))}
        return [found[memory] for memory in sorted(found)]

    def links(self, scope: Scope, node: str, relations: Collection[str] = (), limit: int = 1000) -> list[Link]:
        return self.links_of(scope, [node], relations, limit)[node]

    def links_of(
        self, scope: Scope, nodes: Collection[str], relations: Collection[str] = (), limit: int = 1000
    ) -> dict[str, list[Link]]:
        """Of all nodes in one statement."""
        owner = self._access.owner(scope)
        found: dict[str, dict[int, Link]] = {node: {} for node in nodes}
        if owner is None or not found:
            return {node: [] for node in found}
        only = "AND e.relation = ANY(%(relations)s)" if relations else ""
        # For each name and direction a step of its own into the index, as far as the limit.
        steps = " UNION ALL ".join(
            f"""(SELECT * FROM graph_edge AS e WHERE e.owner = %(owner)s AND e.{end} = of_node.seq {only}
                 ORDER BY e.relation, e.memory DESC LIMIT %(limit)s)"""
            for end in ("subject", "object")
        )
        sql = f"""
            SELECT head.name, {_EDGE}, {_NODES} FROM graph_name AS head
            JOIN graph_name AS of_node ON of_node.owner = %(owner)s AND of_node.node = head.seq
            CROSS JOIN LATERAL ({steps}) AS e {_ENDS}
            WHERE head.owner = %(owner)s AND left(head.name, 64) = ANY(%(beginnings)s) AND head.name = ANY(%(names)s)
        """
        given = {
            "owner": owner, "beginnings": _beginnings(found), "names": list(found), "relations": list(relations),
            "limit": at_most(limit),
        }  # fmt: skip
        for node, *row in self._access.rows(sql, given):
            found[node][row[0]] = link_of(tuple(row))
        return {n: sorted(some.values(), key=lambda k: (k.edge.relation, -k.edge.memory)) for n, some in found.items()}

    def listing(
        self, scope: Scope, relations: Collection[str] = (), *, after: int = 0, limit: int = 1000
    ) -> list[Link]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        only = "AND e.relation = ANY(%(relations)s)" if relations else ""
        sql = f"""
            SELECT {_EDGE}, {_NODES} FROM graph_edge AS e {_ENDS}
            WHERE e.owner = %(owner)s {only} AND e.memory > %(after)s ORDER BY e.memory LIMIT %(limit)s
        """
        after = min(max(after, 0), MAX_SEQ)
        given = {"owner": owner, "relations": list(relations), "after": after, "limit": at_most(limit)}
        return [link_of(row) for row in self._access.rows(sql, given)]

    def count(self, scope: Scope) -> tuple[int, int]:
        owner = self._access.owner(scope)
        sql = """
            SELECT (SELECT count(*) FROM graph_name WHERE owner = %(owner)s),
                   (SELECT count(*) FROM graph_edge WHERE owner = %(owner)s)
        """
        [(names, edges)] = self._access.rows(sql, {"owner": owner})
        return (names, edges)


def _beginnings(names: Iterable[str]) -> list[str]:
    return sorted({name[:BEGINNING] for name in names})


def _numbers(memories: Iterable[int]) -> list[int]:
    return sorted({memory for memory in memories if 0 < memory <= MAX_SEQ})


def _row(owner: int, edge: Edge, keys: dict[str, int]) -> Row:
    return (
        owner, edge.memory, keys[edge.subject], edge.relation, keys[edge.object], edge.literal, edge.source.value,
        edge.start, micros(edge.affirmed_at), micros(edge.valid_from), optional_micros(edge.valid_to), edge.mentions,
    )  # fmt: skip
