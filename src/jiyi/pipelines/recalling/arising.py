"""What brings an occasion up, in talk and in a question: its words, the names of things that stand for it, and the patterns
that are remembered of it (SPEC G5)."""

from __future__ import annotations

from dataclasses import dataclass

from jiyi.domain.memory import Memory
from jiyi.domain.patterns import PATTERN_KEY, Pair
from jiyi.domain.scope import Scope
from jiyi.pipelines.graph.view import GraphView
from jiyi.ports import Unit
from jiyi.text.signs import Signs

NAMES = 200
"""So many triples of a scope are looked through for names that bring something up."""


@dataclass(frozen=True, slots=True)
class Arising:
    """`signs` know the shipped words and names; those of a scope are in its graph."""

    signs: Signs
    graph: GraphView

    def known(self, unit: Unit, scope: Scope) -> Signs:
        """The signs with the names that this user has for them: who competes with the user's side is a competitor."""
        conditions = {r: sign.name for sign in self.signs.conditions.values() for r in sign.relations}
        nodes: dict[str, set[str]] = {}
        for link in unit.graph.listing(scope, sorted(conditions), limit=NAMES):
            if link.edge.valid_to is None and link.edge.subject.startswith("@"):
                nodes.setdefault(link.end, set()).add(conditions[link.edge.relation])
        named = unit.graph.names_of(scope, sorted(nodes)) if nodes else []
        return self.signs.with_names({n.name: frozenset(nodes[n.node]) for n in named if not n.name.startswith("@")})

    def __call__(self, unit: Unit, scope: Scope, question: str) -> list[tuple[Memory, str]]:
        """The patterns whose occasion a question brings up, each with that occasion, the surest first."""
        memories = unit.memories.of_keys(scope, [PATTERN_KEY])
        if not memories:
            return []
        occasions = self.known(unit, scope).occasions(question)
        found = []
        for memory in memories:
            pair = Pair.of(memory.value)
            if pair is not None and pair.condition in occasions:
                found.append((memory, self.signs.conditions[pair.condition].told[memory.language.value]))
        return found
