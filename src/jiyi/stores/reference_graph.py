"""The graph in the reference store: every edge is looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from jiyi.domain.entities import Name
from jiyi.domain.graph import Edge, Link
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Graph
from jiyi.stores.reference_state import Access


class ReferenceGraph(Graph):
    def __init__(self, access: Access) -> None:
        self._access = access

    def place(self, scope: Scope, names: Sequence[Name]) -> None:
        state = self._access.change(scope)
        if lacking := {n.node for n in names} - state.names.keys() - {n.name for n in names}:
            raise InputError(f"{min(lacking)!r} has no place in the graph yet")
        state.names.update({n.name: n for n in names})

    def put(self, scope: Scope, edges: Sequence[Edge]) -> None:
        state = self._access.change(scope)
        if lacking := {end for e in edges for end in (e.subject, e.object)} - state.names.keys():
            raise InputError(f"{min(lacking)!r} has no place in the graph yet")
        state.edges.update({e.memory: e for e in edges})

    def remove(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        state = self._access.change(scope)
        gone = [state.edges.pop(memory) for memory in sorted(set(memories)) if memory in state.edges]
        used = {end for e in state.edges.values() for end in (e.subject, e.object)}
        for name in {end for e in gone for end in (e.subject, e.object)} - used:
            state.names.pop(name, None)
        return gone

    def of_memories(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        edges = self._access[scope].edges
        return [edges[memory] for memory in sorted(set(memories)) if memory in edges]

    def named(self, scope: Scope, names: Collection[str]) -> list[Name]:
        return [n for n in self._names(scope) if n.name in names]

    def alike(self, scope: Scope, bases: Collection[str]) -> list[Name]:
        return [n for n in self._names(scope) if n.base in bases]

    def names_of(self, scope: Scope, nodes: Collection[str]) -> list[Name]:
        return [n for n in self._names(scope) if n.node in nodes]

    def told_of(self, scope: Scope, names: Collection[str], relations: Collection[str]) -> list[Edge]:
        edges = (e for _, e in sorted(self._access[scope].edges.items()))
        return [e for e in edges if e.relation in relations and (e.subject in names or e.object in names)]

    def links(self, scope: Scope, node: str, relations: Collection[str] = (), limit: int = 1000) -> list[Link]:
        edges = sorted(self._access[scope].edges.values(), key=lambda e: (e.relation, -e.memory))
        wanted = [e for e in edges if not relations or e.relation in relations]
        found: dict[int, Edge] = {}
        for name in self.names_of(scope, [node]):
            found |= {e.memory: e for e in [e for e in wanted if e.subject == name.name][: max(limit, 0)]}
            found |= {e.memory: e for e in [e for e in wanted if e.object == name.name][: max(limit, 0)]}
        return self._linked(scope, sorted(found.values(), key=lambda e: (e.relation, -e.memory)))

    def listing(
        self, scope: Scope, relations: Collection[str] = (), *, after: int = 0, limit: int = 1000
    ) -> list[Link]:
        edges = (e for memory, e in sorted(self._access[scope].edges.items()) if memory > after)
        return self._linked(scope, [e for e in edges if not relations or e.relation in relations][: max(limit, 0)])

    def count(self, scope: Scope) -> tuple[int, int]:
        state = self._access[scope]
        return len(state.names), len(state.edges)

    def clear(self, scope: Scope) -> int:
        state = self._access.change(scope)
        gone = len(state.edges)
        state.names.clear()
        state.edges.clear()
        return gone

    def _names(self, scope: Scope) -> list[Name]:
        return [n for _, n in sorted(self._access[scope].names.items())]

    def _linked(self, scope: Scope, edges: Iterable[Edge]) -> list[Link]:
        names = self._access[scope].names
        return [Link(e, names[e.subject].node, names[e.object].node) for e in edges]
