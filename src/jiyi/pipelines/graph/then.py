"""The graph as it was: edges of the memories of then, grouped by what was said of names then (SPEC B6, G1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NoReturn

from jiyi.domain.entities import Name, grouped
from jiyi.domain.graph import Edge, Link, edge_of
from jiyi.domain.memory import Memory
from jiyi.domain.scope import Scope
from jiyi.errors import StoreError
from jiyi.pipelines.graph.view import GraphView
from jiyi.ports import Graph


class GraphThen(Graph):
    """Made from memories, for reading. Takes as long as there are memories, as all that asks for the past does."""

    def __init__(self, memories: Iterable[Memory], view: GraphView) -> None:
        edges = (edge_of(m, view.vocabulary, view.words) for m in memories)
        self._edges = sorted((e for e in edges if e is not None), key=lambda e: (e.relation, -e.memory))
        names = [view.words.named(name) for name in sorted({end for e in self._edges for end in _ends(e)})]
        nodes = grouped(names, *view.identities(self._edges))
        self._names = {n.name: replace(n, node=nodes[n.name]) for n in names}
        self._at: dict[str, list[Edge]] = {}
        for edge in self._edges:
            for end in dict.fromkeys(_ends(edge)):
                self._at.setdefault(end, []).append(edge)

    def of_memories(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        return sorted((e for e in self._edges if e.memory in set(memories)), key=lambda e: e.memory)

    def named(self, scope: Scope, names: Collection[str]) -> list[Name]:
        return [n for n in self._names.values() if n.name in names]

    def alike(self, scope: Scope, bases: Collection[str]) -> list[Name]:
        wanted = set(bases)
        return [n for n in self._names.values() if n.base in wanted]

    def names_of(self, scope: Scope, nodes: Collection[str]) -> list[Name]:
        return [n for n in self._names.values() if n.node in nodes]

    def told_of(self, scope: Scope, names: Collection[str], relations: Collection[str]) -> list[Edge]:
        found = {e.memory: e for name in names for e in self._at.get(name, ()) if e.relation in relations}
        return [found[memory] for memory in sorted(found)]

    def links(self, scope: Scope, node: str, relations: Collection[str] = (), limit: int = 1000) -> list[Link]:
        found: dict[int, Edge] = {}
        for name in self.names_of(scope, [node]):
            there = [e for e in self._at.get(name.name, ()) if not relations or e.relation in relations]
            for end in ("subject", "object"):
                found |= {e.memory: e for e in [e for e in there if getattr(e, end) == name.name][: max(limit, 0)]}
        return self._linked(sorted(found.values(), key=lambda e: (e.relation, -e.memory)))

    def listing(
        self, scope: Scope, relations: Collection[str] = (), *, after: int = 0, limit: int = 1000
    ) -> list[Link]:
        wanted = [e for e in self._edges if e.memory > after and (not relations or e.relation in relations)]
        return self._linked(sorted(wanted, key=lambda e: e.memory)[: max(limit, 0)])

    def count(self, scope: Scope) -> tuple[int, int]:
        return len(self._names), len(self._edges)

    def _linked(self, edges: Sequence[Edge]) -> list[Link]:
        return [Link(e, self._names[e.subject].node, self._names[e.object].node) for e in edges]

    def place(self, scope: Scope, names: Sequence[Name]) -> None:
        _refuse()

    def put(self, scope: Scope, edges: Sequence[Edge]) -> None:
        _refuse()

    def remove(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        _refuse()

    def clear(self, scope: Scope) -> int:
        _refuse()


def _ends(edge: Edge) -> tuple[str, str]:
    return (edge.subject, edge.object)


def _refuse() -> NoReturn:
    raise StoreError("the past is for reading only: change the store inside store.write(...)")
