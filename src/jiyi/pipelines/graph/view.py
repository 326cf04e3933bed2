"""The graph as a view: what memories say between two things is an edge, and names of one thing are one node (SPEC G1, G2).

    changes of memories ─▶ edges in and out ─▶ names that are touched ─▶ all that hangs on them ─▶ one node for each thing

Which names are one follows from the names and from what was said alone (`domain.entities`), so a graph that grew and one
that was made at once are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jiyi.domain.entities import EntityWords, Name, Pair, grouped
from jiyi.domain.forgetting import Erased
from jiyi.domain.graph import NOT_SAME, Edge, Link, edge_of
from jiyi.domain.memory import Status
from jiyi.domain.plans import Change
from jiyi.domain.relations import Vocabulary
from jiyi.domain.scope import Scope
from jiyi.ports import Check, Graph, Unit, View

CHUNK = 500
ALL = 1 << 40


@dataclass(frozen=True, slots=True)
class GraphView(View):
    """Edges and names, kept up with every change of a memory. `followed`: an engine beside the database is to follow."""

    vocabulary: Vocabulary
    words: EntityWords
    followed: bool = False

    @property
    def name(self) -> str:
        return "graph"

    def follow(self, unit: Unit, scope: Scope, changes: Sequence[Change]) -> None:
        """Memories changed: so do their edges, and the entities of the names in them."""
        gone, come = [], []
        for change in changes:
            before, after = (
                None if m is None else edge_of(m, self.vocabulary, self.words) for m in (change.before, change.after)
            )
            if before == after:
                continue
            if before is not None and (after is None or _ends(before) != _ends(after)):
                gone.append(change.seq)
            if after is not None:
                come.append(after)
        if gone or come:
            removed = unit.graph.remove(scope, gone)
            self._put(unit, scope, come)
            self._note(unit, scope, [e.memory for e in (*removed, *come)])
            self._settle(unit, scope, [end for e in (*removed, *come) for end in (e.subject, e.object)])

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        """The edges of memories that went, and the names that nothing else says."""
        removed = unit.graph.remove(scope, [m.seq for m in erased.memories])
        self._note(unit, scope, [e.memory for e in removed])
        self._settle(unit, scope, [end for e in removed for end in (e.subject, e.object)])
        return len(removed)

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        unit.graph.clear(scope)
        edges = list(self._edges(unit, scope))
        if self.followed and edges:
            unit.graph_feed.begin(scope)
        unit.graph_feed.restart(scope)
        names = sorted({end for e in edges for end in (e.subject, e.object)})
        placed = [self.words.named(name) for name in names]
        said, denied = self.identities(edges)
        nodes = grouped(placed, said, denied)
        unit.graph.place(scope, [replace(n, node=nodes[n.name]) for n in placed])
        for start in range(0, len(edges), CHUNK):
            unit.graph.put(scope, edges[start : start + CHUNK])
        return len(edges)

    def identities(self, edges: Iterable[Edge]) -> tuple[list[Pair], list[Pair]]:
        """Which names are said to be one, and which to be two."""
        said, denied = [], []
        names = {r.name for r in self.vocabulary.identities}
        for edge in edges:
            if edge.relation in names:
                said.append((edge.subject, edge.object))
            elif edge.relation.removeprefix(NOT_SAME) in names:
                denied.append((edge.subject, edge.object))
        return said, denied

    @property
    def identity_relations(self) -> tuple[str, ...]:
        """The relations of edges that tell of names, not of things."""
        return tuple(name for r in self.vocabulary.identities for name in (r.name, NOT_SAME + r.name))

    def node_of(self, unit: Unit, scope: Scope, name: str) -> str | None:
        """The node of an entity by any of its names, as it is written or in another writing of it."""
        if found := unit.graph.named(scope, [name]):
            return found[0].node
        named = self.words.named(name)
        alike = unit.graph.alike(scope, [named.base])
        first = next((n for n in alike if n.spelling == named.spelling), next(iter(alike), None))
        return None if first is None else first.node

    def names_beside(self, unit: Unit, scope: Scope, name: str) -> list[str]:
        """All names that the thing of that name has here, but for the words of the user's own side."""
        node = self.node_of(unit, scope, name)
        return (
            [] if node is None else [n.name for n in unit.graph.names_of(scope, [node]) if not n.name.startswith("@")]
        )

    def check(self, unit: Unit) -> Check:
        """Whether the graph is what memories make it."""
        wrong, edges = list[str](), 0
        for scope in unit.scopes():
            expected = sorted(self._edges(unit, scope), key=lambda e: e.memory)
            said, denied = self.identities(expected)
            names = [
                self.words.named(name) for name in sorted({end for e in expected for end in (e.subject, e.object)})
            ]
            nodes = grouped(names, said, denied)
            edges += len(expected)
            there = unit.graph.listing(scope, limit=len(expected) + 1)
            placed = {n.name: n.node for n in unit.graph.named(scope, list(nodes))}
            if there != [Link(e, nodes[e.subject], nodes[e.object]) for e in expected] or placed != nodes:
                wrong.append(str(scope))
        if wrong:
            return Check("graph", False, f"not as memories make it: {', '.join(wrong[:3])}", "run `jiyi reindex`")
        return Check("graph", True, f"{edges:,} edges")

    def _edges(self, unit: Unit, scope: Scope) -> Iterator[Edge]:
        for status in (Status.LIVE, Status.ENDED):
            for memory in unit.memories.listing(scope, status=status):
                if (edge := edge_of(memory, self.vocabulary, self.words)) is not None:
                    yield edge

    def _put(self, unit: Unit, scope: Scope, edges: Sequence[Edge]) -> None:
        names = {end for e in edges for end in (e.subject, e.object)}
        known = {n.name for n in unit.graph.named(scope, names)}
        unit.graph.place(scope, [self.words.named(name) for name in sorted(names - known)])
        unit.graph.put(scope, edges)

    def _settle(self, unit: Unit, scope: Scope, touched: Iterable[str]) -> None:
        """Group the touched names anew, with all names that hang together with them."""
        names, said, denied = self.hanging_together(unit, scope, touched)
        nodes = grouped(names.values(), said, denied)
        moved = [replace(n, node=nodes[n.name]) for n in names.values() if n.node != nodes[n.name]]
        unit.graph.place(scope, moved)
        if moved and unit.graph_feed.state(scope) is not None:
            self._note(unit, scope, edges_at(unit.graph, scope, moved))

    def _note(self, unit: Unit, scope: Scope, memories: Sequence[int]) -> None:
        """An engine beside the database has to hear of the edges of these memories (SPEC G4)."""
        if self.followed and memories:
            unit.graph_feed.begin(scope)
        unit.graph_feed.note(scope, memories)

    def hanging_together(
        self, unit: Unit, scope: Scope, touched: Iterable[str]
    ) -> tuple[dict[str, Name], list[Pair], list[Pair]]:
        """The names that are known for one with any of these, or were said to be one or two with one of them, and so on;
        and what was said, and denied, of them."""
        names: dict[str, Name] = {}
        edges: dict[int, Edge] = {}
        bases = {self.words.named(name).base for name in touched}
        while bases:
            found = {n.name: n for n in unit.graph.alike(scope, bases) if n.name not in names}
            names |= found
            told = unit.graph.told_of(scope, list(found), self.identity_relations) if found else []
            edges |= {e.memory: e for e in told}
            others = {end for e in told for end in (e.subject, e.object)} - names.keys()
            bases = {self.words.named(name).base for name in others}
        return (names, *self.identities(edges.values()))


def edges_at(graph: Graph, scope: Scope, names: Sequence[Name]) -> list[int]:
    """The memories whose edges stand at these names, which have a place already."""
    written = {n.name for n in names}
    links = (link for node in sorted({n.node for n in names}) for link in graph.links(scope, node, limit=ALL))
    return sorted({k.edge.memory for k in links if not written.isdisjoint(_ends(k.edge))})


def _ends(edge: Edge) -> tuple[str, str]:
    return (edge.subject, edge.object)
