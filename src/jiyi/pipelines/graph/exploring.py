"""Walking the graph for one question: what was told, and what the rules derive from it on the way (SPEC G2, G3).

Nothing derived is stored. A rule is run where a question comes by, so what it gives is what follows from the memories of this
very moment and from the rules of this very file: correct a premise and it is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.entities import EntityType
from jiyi.domain.fusion_rules import Ask, Atom, Derive, Guard, Rule, RuleSet, Weight, is_variable
from jiyi.domain.graph import Edge, GraphPolicy, Link
from jiyi.domain.memory import Source
from jiyi.domain.relations import Relation
from jiyi.domain.scope import Scope
from jiyi.pipelines.graph.view import GraphView
from jiyi.ports import GraphReader, Unit

TOP = 1 << 30
"""Above the level of every rule."""
AHEAD = 16
"""So many ways to go on with a pattern are read at once."""


@dataclass(frozen=True, slots=True)
class Graphing:
    """What every question about the graph shares."""

    view: GraphView
    rules: RuleSet
    confidence: ConfidencePolicy
    policy: GraphPolicy


@dataclass(frozen=True, slots=True)
class Match:
    """Entities for the variables of a pattern, and the edges in its order."""

    bound: Mapping[str, str]
    links: tuple[Link, ...]

    @property
    def premises(self) -> tuple[int, ...]:
        """The memories that it rests on, also by way of what was derived."""
        return tuple(sorted({m for link in self.links for m in (link.edge.premises or (link.edge.memory,))}))


@dataclass(frozen=True, slots=True)
class Conflict:
    """That a rule finds triples at odds: the match with the one that is least sure, and all memories that it is about."""

    rule: Rule
    match: Match
    edge: Edge
    premises: tuple[int, ...]


class Explorer:
    """The graph of one scope at one moment. Made for one question; it remembers what it has read.

    Args:
        now: for confidence. at: what must hold, that is at which time; now by default.
        graph: who is asked for edges and names, the database by default. It holds what that does.
    """

    def __init__(
        self,
        unit: Unit,
        scope: Scope,
        graphing: Graphing,
        now: datetime,
        at: datetime | None = None,
        graph: GraphReader | None = None,
    ) -> None:
        self.unit, self.scope, self.graphing, self.now, self.at = unit, scope, graphing, now, at or now
        self.graph = graph or unit.graph
        self._identities = frozenset(graphing.view.identity_relations)
        self._told: dict[str, dict[str, list[Link]]] = {}
        self._crowded: dict[str, dict[str, list[Link]]] = {}
        self._derived: dict[tuple[str, int], list[Link]] = {}
        self._nodes: dict[str, str | None] = {}
        self._types: dict[str, EntityType] = {}
        self._steps = 0
        self.cut = False
        """Whether a limit of the policy left something out."""

    # ------------------------------------------------------------------ entities

    def node_of(self, name: str) -> str | None:
        """The node of an entity by any of its names, or by the words of the user's own side."""
        if name not in self._nodes:
            view = self.graphing.view
            self._nodes[name] = view.node_of(self.unit, self.scope, view.words.subject_of(name))
        return self._nodes[name]

    def type_of(self, node: str) -> EntityType:
        if node not in self._types:
            links = [link for some in self._all_told(node).values() for link in some]
            vocabulary, words = self.graphing.view.vocabulary, self.graphing.view.words
            named = words.named(node)
            self._types[node] = words.type_of(
                named.base,
                _relations(vocabulary.get(k.edge.relation) for k in links if k.start == node),
                _relations(vocabulary.get(k.edge.relation) for k in links if k.end == node),
            )
        return self._types[node]

    def kind_of(self, node: str) -> str:
        """What well-known things are alike, by any of the entity's names."""
        words = self.graphing.view.words
        if kind := words.kind_of(words.named(node).base):
            return kind
        names = self.graph.names_of(self.scope, [node])
        return next((kind for n in names if (kind := words.kind_of(n.base))), "")

    # ------------------------------------------------------------------ edges

    def sure(self, edge: Edge) -> float:
        return edge.sure(self.now, self.graphing.confidence)

    def links(self, node: str, relations: Collection[str] = (), *, below: int = TOP) -> list[Link]:
        """All edges at a node that hold: told, then derived by rules below a level."""
        told = [link for link in self._told_at(node, relations) if link.edge.holds(self.at)]
        return told + [k for k in self._derived_at(node, below) if not relations or k.edge.relation in relations]

    def told(self, node: str) -> list[Link]:
        """The edges at a node that were told, also those that do not hold now."""
        return [link for some in self._all_told(node).values() for link in some]

    def _told_at(self, node: str, relations: Collection[str]) -> list[Link]:
        by_relation = self._all_told(node)
        if not relations:
            self.cut |= node in self._crowded
            return [link for some in by_relation.values() for link in some]
        if node in self._crowded:
            # More edges than are read at once: those of a relation are read for themselves.
            fan, by_relation = self.graphing.policy.fan, self._crowded[node]
            for name in relations:
                if name not in by_relation:
                    found = self.graph.links(self.scope, node, [name], fan)
                    self.cut |= len(found) >= fan
                    by_relation[name] = [link for link in found if link.start != link.end]
        return [link for name in dict.fromkeys(relations) for link in by_relation.get(name, ())]

    def look_around(self, nodes: Collection[str], most: int) -> None:
        """Read the edges of all these at once, and of what they lead to, unless that is more than so many."""
        self.look_at(nodes)
        beside = {link.other(node) for node in nodes for link in self.told(node)}
        if len(beside) <= most:
            self.look_at(beside)

    def look_at(self, nodes: Collection[str]) -> None:
        """Read the edges of all these at once, before each is walked."""
        fan = self.graphing.policy.fan
        lacking = [node for node in nodes if node not in self._told]
        for node, found in self.graph.links_of(self.scope, lacking, (), fan).items() if lacking else ():
            by_relation: dict[str, list[Link]] = {}
            for link in found:
                if link.edge.relation not in self._identities and link.start != link.end:
                    by_relation.setdefault(link.edge.relation, []).append(link)
            if len(found) >= fan:
                self._crowded[node] = {}
            self._told[node] = by_relation

    def _all_told(self, node: str) -> dict[str, list[Link]]:
        self.look_at((node,))
        return self._told[node]

    def _derived_at(self, node: str, below: int) -> list[Link]:
        if (node, below) not in self._derived:
            found: dict[tuple[str, str, str, tuple[int, ...]], Link] = {}
            told = {(name, k.start == node) for name, some in self._all_told(node).items() for k in some}
            for way in self.graphing.rules.ways_in:
                rule, fixed = way.rule, not is_variable(way.term)
                if rule.level >= below or not (node in self._crowded or way.is_open(told)):
                    continue
                if fixed and self.node_of(way.term) != node:
                    continue
                for match in self.matches(rule.when, rule.guard, {} if fixed else {way.term: node}, below=rule.level):
                    if (link := self._consequence(rule, way.effect, match)) is not None:
                        found.setdefault((rule.id, link.start, link.end, link.edge.premises), link)
            self._derived[node, below] = [link for _, link in sorted(found.items(), key=lambda f: f[0])]
        return self._derived[node, below]

    def _consequence(self, rule: Rule, effect: Derive, match: Match) -> Link | None:
        start, end = (match.bound[t] if is_variable(t) else self.node_of(t) for t in (effect.subject, effect.object))
        if start is None or end is None or start == end:
            return None
        edges = [link.edge for link in match.links]
        ends = [
            e.valid_to for e, atom in zip(edges, rule.when, strict=True) if e.valid_to is not None and not atom.past
        ]
        edge = Edge(
            memory=0,
            subject=start,
            relation=effect.relation,
            object=end,
            literal=any(link.edge.literal and link.end == end for link in match.links),
            source=Source.INFERRED,
            start=effect.sure,
            affirmed_at=max(e.affirmed_at for e in edges),
            valid_from=max(e.valid_from for e in edges),
            valid_to=min(ends, default=None),
            rule=rule.id,
            premises=match.premises,
            ceiling=min(map(self.sure, edges)),
        )
        return Link(edge, start, end) if edge.holds(self.at) else None

    # ------------------------------------------------------------------ patterns

    def matches(
        self,
        atoms: Sequence[Atom],
        guard: Guard,
        given: Mapping[str, str],
        *,
        below: int = TOP,
        limit: int | None = None,
    ) -> list[Match]:
        """All ways to find a pattern, in a steady order, up to the policy's limit.

        Args:
            given: entities for some variables.
            below: what rules of this level and above derive is not seen.
        """
        most, found = limit or self.graphing.policy.matches, list[Match]()
        for links, bound in self._found(tuple(range(len(atoms))), atoms, dict(given), {}, below):
            ordered = tuple(links[n] for n in range(len(atoms)))
            if self._passes(guard, bound, ordered):
                if len(found) == most:
                    self.cut = True
                    break
                found.append(Match(dict(bound), ordered))
        return found

    def _found(
        self, left: tuple[int, ...], atoms: Sequence[Atom], bound: dict[str, str], links: dict[int, Link], below: int
    ) -> Iterator[tuple[dict[int, Link], dict[str, str]]]:
        if not left:
            yield links, bound
            return
        # First what hangs on something known.
        number = next((n for n in left if self._known(atoms[n], bound)), left[0])
        rest = tuple(n for n in left if n != number)
        candidates = self._candidates(atoms[number], bound, below)
        for place, link in enumerate(candidates):
            if rest and place % AHEAD == 0:
                # What the next of the pattern hangs on is read at once, not one by one.
                self.look_at({end for k in candidates[place : place + AHEAD] for end in (k.start, k.end)})
            self._steps += 1
            if self._steps > self.graphing.policy.steps:
                self.cut = True
                return
            if any(link == other for other in links.values()):
                continue
            more = self._bind(atoms[number], link, bound)
            if more is not None:
                yield from self._found(rest, atoms, more, {**links, number: link}, below)

    def _known(self, atom: Atom, bound: Mapping[str, str]) -> bool:
        return any(not is_variable(t) or t in bound for t in atom.terms)

    def _node(self, term: str, bound: Mapping[str, str]) -> str | None:
        return bound.get(term) if is_variable(term) else self.node_of(term)

    def _candidates(self, atom: Atom, bound: Mapping[str, str], below: int) -> list[Link]:
        for term in atom.terms:
            if is_variable(term) and term not in bound:
                continue
            node = self._node(term, bound)
            if node is None:
                return []  # a name that nobody has said
            told = self._told_at(node, atom.relations)
            if not atom.past:
                told = [link for link in told if link.edge.holds(self.at)]
            if atom.relations and self.graphing.rules.derived.intersection(atom.relations):
                told = told + [k for k in self._derived_at(node, below) if k.edge.relation in atom.relations]
            return told
        return self._anywhere(atom, below)

    def _anywhere(self, atom: Atom, below: int) -> list[Link]:
        most = self.graphing.policy.steps
        told = self.graph.listing(self.scope, atom.relations, limit=most)
        self.cut |= len(told) == most
        found = [
            link
            for link in told
            if link.edge.relation not in self._identities
            and link.start != link.end
            and (atom.past or link.edge.holds(self.at))
        ]
        for rule in self.graphing.rules.rules:
            effect = rule.effect
            if isinstance(effect, Derive) and rule.level < below and effect.relation in atom.relations:
                found += [link for match in self.all_of(rule) if (link := self._consequence(rule, effect, match))]
        return found

    def _bind(self, atom: Atom, link: Link, bound: dict[str, str]) -> dict[str, str] | None:
        more = dict(bound)
        for term, node in zip(atom.terms, (link.start, link.end), strict=True):
            if is_variable(term):
                if more.setdefault(term, node) != node:
                    return None
            elif self.node_of(term) != node:
                return None
        return more

    def _passes(self, guard: Guard, bound: Mapping[str, str], links: Sequence[Link]) -> bool:
        edges = [link.edge for link in links]
        return (
            all(bound[a] != bound[b] for a, b in guard.different)
            and all(edges[n].mentions >= least for n, least in guard.mentions)
            and all(edges[a].valid_from >= edges[b].valid_from for a, b in guard.later)
            and all(
                abs(edges[a].valid_from - edges[b].valid_from) <= timedelta(days=days)
                for a, b, days in guard.within_days
            )
            and all((end := edges[n].valid_to) is not None and end <= self.at for n in guard.over)
            and all(self.sure(e) >= guard.sure for e in edges)
            and all(
                (kind := self.kind_of(bound[a])) != "" and kind == self.kind_of(bound[b]) for a, b in guard.same_kind
            )
            and all(self.type_of(bound[v]) in types for v, types in guard.types.items())
        )

    # ------------------------------------------------------------------ rules

    def all_of(self, rule: Rule) -> list[Match]:
        """Every match of a rule in the whole graph."""
        return self.matches(rule.when, rule.guard, {}, below=rule.level)

    def derived(self) -> list[tuple[Rule, Match, Link]]:
        """All that the rules derive now, by rule; what has the same premises comes once."""
        found: dict[tuple[str, str, str, tuple[int, ...]], tuple[Rule, Match, Link]] = {}
        for rule in self.graphing.rules.rules:
            if isinstance(rule.effect, Derive):
                for match in self.all_of(rule):
                    if (link := self._consequence(rule, rule.effect, match)) is not None:
                        key = (rule.id, link.start, link.end, link.edge.premises)
                        found.setdefault(key, (rule, match, link))
        return [one for _, one in sorted(found.items(), key=lambda f: f[0])]

    def asked(self) -> list[Conflict]:
        """What the rules would have the user asked: once for a rule and what it is about."""
        found: dict[tuple[str, frozenset[tuple[str, str]]], Conflict] = {}
        for rule in self.graphing.rules.rules:
            if not isinstance(rule.effect, Ask):
                continue
            for match in self.all_of(rule):
                edge = min((match.links[n].edge for n in rule.effect.about), key=self._doubtful)
                if not edge.memory:
                    continue
                about = (rule.id, frozenset(match.bound.items()))
                known = found.get(about, Conflict(rule, match, edge, ()))
                premises = tuple(sorted({*known.premises, *match.premises}))
                if self._doubtful(edge) < self._doubtful(known.edge):
                    known = replace(known, match=match, edge=edge)
                found[about] = replace(known, premises=premises)
        return list(found.values())

    def _doubtful(self, edge: Edge) -> tuple[float, datetime, int]:
        """What is less sure is asked about first; of equals what was said earlier."""
        return (self.sure(edge), edge.affirmed_at, edge.memory)

    def weight(self, node: str) -> list[tuple[Rule, float]]:
        """What the rules add to an entity's weight, each with what time has left of it (SPEC G2)."""
        found, half_life = [], self.graphing.policy.half_life
        for rule in self.graphing.rules.rules:
            if not isinstance(rule.effect, Weight):
                continue
            seen: dict[tuple[int, ...], float] = {}
            for match in self.matches(rule.when, rule.guard, {rule.effect.variable: node}, below=rule.level):
                age = max(self.now - max(k.edge.affirmed_at for k in match.links), timedelta(0))
                seen[match.premises] = rule.effect.by * 0.5 ** (age / half_life)
            if seen:
                found.append((rule, sum(seen[p] for p in sorted(seen))))
        return found


def _relations(found: Iterator[Relation | None]) -> list[Relation]:
    return [relation for relation in found if relation is not None]
