"""The graph in SQLite: both directions of every edge as covering b-trees, read by one prepared statement a step.

A statement that walked several steps by itself would leave their order to the planner, which takes the owner's whole edge
set for it (measured: 400 times slower). So the walk is Python's.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from jiyi.domain.encoding import SOURCES, instant, micros, optional_instant, optional_micros
from jiyi.domain.entities import Name
from jiyi.domain.graph import Edge, Link
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Graph
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, Row, at_most
from jiyi.stores.rows import edge_of, link_of
from jiyi.stores.sqlite.access import Access, first_key, key_list, last_key, marks, row_key

_EDGE = "e.memory, s.name, e.relation, o.name, e.literal, e.source, e.start, e.affirmed_at, e.valid_from, e.valid_to, e.mentions"
_NODES = "(SELECT name FROM graph_name WHERE key = s.node), (SELECT name FROM graph_name WHERE key = o.node)"
_ENDS = "CROSS JOIN graph_name AS s ON s.key = e.subject CROSS JOIN graph_name AS o ON o.key = e.object"
_NAME = "n.name, n.spelling, n.base, coalesce((SELECT name FROM graph_name WHERE key = n.node), '')"

# One step from some nodes, either way: an entry of an index and the name of the other end for each edge. The name of a node is
# looked up only where it is another than the edge has.
_WAY = """
    SELECT {way} AS way, k.value, CASE WHEN n.key = k.value THEN NULL ELSE n.name END, o.name, o.node,
           CASE WHEN o.key = o.node THEN NULL ELSE (SELECT name FROM graph_name WHERE key = o.node) END,
           e.memory, e.relation, e.literal, e.source, e.start, e.affirmed_at, e.valid_from, e.valid_to, e.mentions
    FROM json_each(?1) AS k
    CROSS JOIN graph_name AS n ON n.node = k.value
    CROSS JOIN graph_edge AS e ON e.{here} = n.key {only}
    CROSS JOIN graph_name AS o ON o.key = e.{there}
"""
_STEP, _STEP_BY = (
    f"{_WAY.format(way=1, here='subject', there='object', only=only)} UNION ALL "
    f"{_WAY.format(way=0, here='object', there='subject', only=only)} LIMIT ?2"
    for only in ("", "AND e.relation IN (SELECT value FROM json_each(?3))")
)


class SqliteGraph(Graph):
    def __init__(self, access: Access) -> None:
        self._access = access

    # ------------------------------------------------------------------------------ writing

    def place(self, scope: Scope, names: Sequence[Name]) -> None:
        if cut := next((n.name for n in names if "\0" in n.name), None):
            raise InputError(f"the name {cut!r} holds the character NUL, at which SQLite's JSON ends: take it out")
        owner = self._access.make_owner(scope)
        keys = self._keys(owner, {n.name for n in names} | {n.node for n in names})
        if lacking := {n.node for n in names} - keys.keys() - {n.name for n in names}:
            raise InputError(f"{min(lacking)!r} has no place in the graph yet")
        last = {n.name: n for n in names}
        fresh = [name for name in last if name not in keys]
        if fresh:
            first = self._access.take(owner, "name", len(fresh))
            keys |= {name: row_key(owner, first + i) for i, name in enumerate(fresh)}
        rows = {name: (keys[n.node], n.base, n.spelling, keys[name]) for name, n in last.items()}
        is_new = frozenset(fresh)
        again = [row for name, row in rows.items() if name not in is_new]
        self._access.change_many("UPDATE graph_name SET node = ?, base = ?, spelling = ? WHERE key = ?", again)
        new = [(rows[name][3], owner, *rows[name][:3], name) for name in fresh]
        self._access.change_many(
            "INSERT INTO graph_name (key, owner, node, base, spelling, name) VALUES (?, ?, ?, ?, ?, ?)", new
        )

    def put(self, scope: Scope, edges: Sequence[Edge]) -> None:
        owner = self._access.make_owner(scope)
        ends = {end for e in edges for end in (e.subject, e.object)}
        keys = self._keys(owner, ends)
        if lacking := ends - keys.keys():
            raise InputError(f"{min(lacking)!r} has no place in the graph yet")
        rows = {e.memory: _row(owner, e, keys) for e in edges}
        # What stands there goes first, in one statement. With OR REPLACE or ON CONFLICT each row may have to be taken back by itself:
        # SQLite copies every page that it touches, and filling a large graph takes fifteen times as long.
        self._access.change(
            "DELETE FROM graph_edge WHERE memory IN (SELECT value FROM json_each(?))", (key_list(owner, rows),)
        )
        self._access.change_many(f"INSERT INTO graph_edge VALUES ({marks(12)})", rows.values())

    def remove(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        self._access.check_writable()
        gone = self.of_memories(scope, memories)
        owner = self._access.owner(scope)
        if not gone or owner is None:
            return gone
        self._access.change_many("DELETE FROM graph_edge WHERE memory = ?", [(row_key(owner, e.memory),) for e in gone])
        keys = self._keys(owner, {end for e in gone for end in (e.subject, e.object)})
        unused = """
            DELETE FROM graph_name WHERE key = :key
            AND NOT EXISTS (SELECT 1 FROM graph_edge WHERE subject = :key)
            AND NOT EXISTS (SELECT 1 FROM graph_edge WHERE object = :key)
        """
        self._access.change_many(unused, [{"key": key} for key in sorted(keys.values())])
        return gone

    def clear(self, scope: Scope) -> int:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return 0
        gone = self._access.change("DELETE FROM graph_edge WHERE memory BETWEEN ? AND ?", _span(owner))
        self._access.change("DELETE FROM graph_name WHERE key BETWEEN ? AND ?", _span(owner))
        return gone

    # ------------------------------------------------------------------------------ names

    def named(self, scope: Scope, names: Collection[str]) -> list[Name]:
        return self._find(scope, "graph_name AS n ON n.owner = ? AND n.name = wanted.value", names)

    def alike(self, scope: Scope, bases: Collection[str]) -> list[Name]:
        return self._find(scope, "graph_name AS n ON n.owner = ? AND n.base = wanted.value", bases)

    def names_of(self, scope: Scope, nodes: Collection[str]) -> list[Name]:
        head = "graph_name AS head ON head.owner = ? AND head.name = wanted.value"
        return self._find(scope, f"{head} CROSS JOIN graph_name AS n ON n.node = head.key", nodes)

    def _find(self, scope: Scope, ways: str, values: Collection[str]) -> list[Name]:
        """From what is wanted to names, in this order: left to the planner, it goes through all names of the owner."""
        owner = self._access.owner(scope)
        if owner is None or not values:
            return []
        sql = f"SELECT {_NAME} FROM json_each(?) AS wanted CROSS JOIN {ways} ORDER BY n.name"
        return [Name(*row) for row in self._access.rows(sql, (json.dumps(sorted(set(values))), owner))]

    def _keys(self, owner: int, names: Collection[str]) -> dict[str, int]:
        sql = "SELECT name, key FROM graph_name WHERE owner = ? AND name IN (SELECT value FROM json_each(?))"
        return dict(self._access.rows(sql, (owner, json.dumps(list(names)))))

    # ------------------------------------------------------------------------------ edges

    def of_memories(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        owner = self._access.owner(scope)
        if owner is None or not memories:
            return []
        sql = f"""
            SELECT {_EDGE} FROM graph_edge AS e {_ENDS}
            WHERE e.memory IN (SELECT value FROM json_each(?)) ORDER BY e.memory
        """
        return [edge_of(row) for row in self._access.rows(sql, (key_list(owner, memories),))]

    def told_of(self, scope: Scope, names: Collection[str], relations: Collection[str]) -> list[Edge]:
        owner = self._access.owner(scope)
        if owner is None or not names or not relations:
            return []
        keys = json.dumps(list(self._keys(owner, names).values()))
        found: dict[int, Edge] = {}
        for end in ("subject", "object"):
            sql = f"""
                SELECT {_EDGE} FROM graph_edge AS e {_ENDS}
                WHERE e.{end} IN (SELECT value FROM json_each(?)) AND e.relation IN ({marks(len(relations))})
            """
            found |= {edge.memory: edge for edge in map(edge_of, self._access.rows(sql, (keys, *relations)))}
        return [found[memory] for memory in sorted(found)]

    def links(self, scope: Scope, node: str, relations: Collection[str] = (), limit: int = 1000) -> list[Link]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        names = "SELECT key FROM graph_name WHERE node = (SELECT key FROM graph_name WHERE owner = ? AND name = ?)"
        only = f"AND e.relation IN ({marks(len(relations))})" if relations else ""
        found: dict[int, Link] = {}
        for (key,) in self._access.rows(names, (owner, node)):
            for end in ("subject", "object"):
                sql = f"""
                    SELECT {_EDGE}, {_NODES} FROM graph_edge AS e {_ENDS}
                    WHERE e.{end} = ? {only} ORDER BY e.relation, e.memory DESC LIMIT ?
                """
                for row in self._access.rows(sql, (key, *relations, at_most(limit))):
                    found[row[0]] = link_of(row)
        return sorted(found.values(), key=lambda link: (link.edge.relation, -link.edge.memory))

    def links_of(
        self, scope: Scope, nodes: Collection[str], relations: Collection[str] = (), limit: int = 1000
    ) -> dict[str, list[Link]]:
        """Of all nodes in one statement. Where they have more edges than the limit they are asked for by halves, and one by itself:
        then it matters which of its edges come first."""
        owner = self._access.owner(scope)
        found: dict[str, list[Link]] = {node: [] for node in nodes}
        if owner is None or not found:
            return found
        # An edge tells the key of the node it leads to, and is met again from there: in one snapshot neither is read twice.
        known, met = self._access.kept(owner, "nodes"), self._access.kept(owner, "links")
        if unknown := [node for node in found if node not in known]:
            known |= self._keys(owner, unknown)
        waiting = [[(known[node], node) for node in found if node in known]]
        sql, more = (_STEP_BY, (json.dumps(list(relations)),)) if relations else (_STEP, ())
        while waiting:
            some = waiting.pop()
            rows = self._access.rows(sql, (json.dumps([key for key, _ in some]), at_most(limit + 1), *more))
            if len(rows) <= limit:
                _gather(rows, dict(some), found, known, met)
            elif len(some) == 1:
                [(_, node)] = some
                found[node] = self.links(scope, node, relations, limit)
            else:
                waiting += [some[: len(some) // 2], some[len(some) // 2 :]]
        return found

    def listing(
        self, scope: Scope, relations: Collection[str] = (), *, after: int = 0, limit: int = 1000
    ) -> list[Link]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        start = min(first_key(owner) + max(after, 0), last_key(owner))
        if relations:
            # The index of relations gives each in order of memories; together they are put in order.
            where, more = f"e.owner = ? AND e.relation IN ({marks(len(relations))}) AND", (owner, *relations)
        else:
            where, more = "", ()
        sql = f"""
            SELECT {_EDGE}, {_NODES} FROM graph_edge AS e {_ENDS}
            WHERE {where} e.memory > ? AND e.memory <= ? ORDER BY e.memory LIMIT ?
        """
        return [link_of(row) for row in self._access.rows(sql, (*more, start, last_key(owner), at_most(limit)))]

    def count(self, scope: Scope) -> tuple[int, int]:
        owner = self._access.owner(scope)
        if owner is None:
            return (0, 0)
        sql = """
            SELECT (SELECT count(*) FROM graph_name WHERE key BETWEEN :first AND :last),
                   (SELECT count(*) FROM graph_edge WHERE memory BETWEEN :first AND :last)
        """
        [(names, edges)] = self._access.rows(sql, dict(zip(("first", "last"), _span(owner), strict=True)))
        return (names, edges)


def _span(owner: int) -> tuple[int, int]:
    return (first_key(owner), last_key(owner))


def _row(owner: int, edge: Edge, keys: dict[str, int]) -> Row:
    return (
        row_key(owner, edge.memory), owner, keys[edge.subject], edge.relation, keys[edge.object], edge.literal,
        edge.source.value, edge.start, micros(edge.affirmed_at), micros(edge.valid_from),
        optional_micros(edge.valid_to), edge.mentions,
    )  # fmt: skip


@damage
def _gather(
    rows: Sequence[Row],
    heads: dict[int, str],
    found: dict[str, list[Link]],
    known: dict[str, int],
    met: dict[int, Link],
) -> None:
    """The links of a step, to the nodes it began from. Written out, since this is half of what a step costs."""
    for (
        forth, head, own, other, key, beyond, memory, relation, literal, source, start, affirmed_at, valid_from, valid_to,
        mentions,
    ) in rows:  # fmt: skip
        node, link = heads[head], met.get(memory)
        if link is None:
            own, beyond = node if own is None else own, other if beyond is None else beyond
            affirmed = instant(affirmed_at)
            edge = Edge(
                memory & MAX_SEQ, own if forth else other, relation, other if forth else own, literal == 1, SOURCES[source],
                start, affirmed, affirmed if valid_from == affirmed_at else instant(valid_from), optional_instant(valid_to),
                mentions,
            )  # fmt: skip
            met[memory] = link = Link(edge, node, beyond) if forth else Link(edge, beyond, node)
            known[beyond] = key
        elif not forth and link.start == link.end:
            continue  # it came the other way round
        found[node].append(link)
    for node in heads.values():
        found[node].sort(key=_in_order)


def _in_order(link: Link) -> tuple[str, int]:
    return (link.edge.relation, -link.edge.memory)
