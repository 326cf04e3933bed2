"""Questions to the graph (SPEC G3): what is near, what leads from one thing to another, where a pattern holds.

Every answer names the memories it rests on, and the rule where something was derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Generic, TypeVar

from jiyi.domain.entities import EntityType, Name, Reason, why_named
from jiyi.domain.fusion_rules import Atom, Guard, RuleSet, is_variable, unconnected
from jiyi.domain.graph import Link
from jiyi.domain.memory import Language, Memory, memory_id
from jiyi.domain.relations import Vocabulary, subject_name
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.graph.exploring import Explorer

T = TypeVar("T")

MAX_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Tie:
    """One triple of an answer, as it stands between entities. `memory` is its id, empty where `rule` derives it from the
    memories `premises`. `text` says it in words. `since` and `until`: when it holds."""

    subject: str
    relation: str
    object: str
    confidence: float
    text: str
    since: datetime
    until: datetime | None = None
    memory: str = ""
    rule: str = ""
    premises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alias:
    """A name of an entity and why it is one."""

    name: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Entity:
    """`name` stands for all its names. `weight`: how much it matters now, by the rules that `because` names."""

    name: str
    type: EntityType
    aliases: tuple[Alias, ...]
    weight: float = 0.0
    because: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class NearBy:
    """An entity that can be reached in `hops` steps, by the surest way. `confidence` is the product over that way."""

    entity: str
    type: EntityType
    hops: int
    confidence: float
    path: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A way between two entities. `entities` are those it passes, both ends included."""

    entities: tuple[str, ...]
    ties: tuple[Tie, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Row:
    """One match of a pattern: an entity for each variable, and the triples in its order. `days` is how many days passed from
    the beginning of each triple to that of the next."""

    bound: Mapping[str, str]
    ties: tuple[Tie, ...]
    confidence: float
    days: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Answers(Generic[T]):
    """What was found, best first. `cut`: a limit of the settings (`graph`) left something out. `note`: why the database answered
    in the place of the engine that the settings name (`graph_engine`)."""

    items: tuple[T, ...]
    cut: bool = False
    note: str = ""

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Insight:
    """What a rule derives, and the rule's explanation of it."""

    tie: Tie
    why: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph as a whole, to be drawn or handed on. `cut`: a limit of the settings left something out. `note`: as in `Answers`."""

    entities: tuple[Entity, ...]
    ties: tuple[Tie, ...]
    cut: bool = False
    note: str = ""


class Teller:
    """Edges as answers tell them, in one language."""

    def __init__(self, explorer: Explorer, language: Language) -> None:
        self._explorer, self._language = explorer, language
        self._memories: dict[int, Memory] = {}
        self._called: dict[str, str] = {}

    def called(self, node: str) -> str:
        """How an entity is told: the user's own side by its words, and by name where that is known."""
        if not node.startswith("@"):
            return node
        if node not in self._called:
            told = subject_name(node, self._language)
            names = self._explorer.graph.names_of(self._explorer.scope, [node])
            own = [n.name for n in names if not n.name.startswith("@")]
            shortest = min(own, key=lambda n: (len(n), n), default=None)
            opening, closing = ("（", "）") if self._language is Language.ZH else (" (", ")")
            self._called[node] = f"{told}{opening}{shortest}{closing}" if shortest else told
        return self._called[node]

    def read(self, links: Iterable[Link]) -> None:
        """Have the words of all these at hand."""
        lacking = {link.edge.memory for link in links if link.edge.memory} - self._memories.keys()
        found = self._explorer.unit.memories.get(self._explorer.scope, lacking)
        self._memories |= {m.seq: m for m in found}

    def tie(self, link: Link) -> Tie:
        edge = link.edge
        subject, thing = self.called(link.start), self.called(link.end)
        if edge.memory:
            memory = self._memories.get(edge.memory)
            text = "" if memory is None else memory.text
        else:
            says = self._explorer.graphing.rules.says[edge.relation]
            text = says[self._language].format(subject=subject, object=thing)
        return Tie(
            subject=subject,
            relation=edge.relation,
            object=thing,
            confidence=round(self._explorer.sure(edge), 6),
            text=text,
            since=edge.valid_from,
            until=edge.valid_to,
            memory=memory_id(edge.memory) if edge.memory else "",
            rule=edge.rule,
            premises=tuple(map(memory_id, edge.premises)),
        )

    def ties(self, links: Sequence[Link]) -> tuple[Tie, ...]:
        self.read(links)
        return tuple(map(self.tie, links))


# ---------------------------------------------------------------------------------- near, and from here to there


@dataclass(frozen=True, slots=True)
class Walk:
    """Which edges a question walks: of these relations or of any, and at least this sure."""

    relations: tuple[str, ...] = ()
    min_confidence: float = 0.0

    def steps(self, explorer: Explorer, node: str) -> list[tuple[Link, float]]:
        steps = ((link, explorer.sure(link.edge)) for link in explorer.links(node, self.relations))
        return [(link, sure) for link, sure in steps if sure >= self.min_confidence]

    def best(self, explorer: Explorer, node: str) -> list[tuple[Link, float]]:
        """The surest step to each other entity; one that ways can lead on from before one that ends in a value."""
        found: dict[str, tuple[Link, float]] = {}
        for link, sure in self.steps(explorer, node):
            other = link.other(node)
            if other not in found or _step_rank(link, sure) < _step_rank(*found[other]):
                found[other] = (link, sure)
        return list(found.values())


def neighbours(explorer: Explorer, name: str, walk: Walk, hops: int, limit: int, language: Language) -> list[NearBy]:
    """What is within so many steps of an entity: the nearest first, then the surest, then by name.

    Raises:
        NotFound: nothing of that name. InputError: hops or limit out of range.
    """
    _check(explorer, hops, limit)
    start = known_node(explorer, name)
    reached: dict[str, tuple[float, tuple[Link, ...]]] = {start: (1.0, ())}
    level, found = [start], list[tuple[int, float, str, tuple[Link, ...]]]()
    for hop in range(1, hops + 1):
        ahead: dict[str, tuple[float, tuple[Link, ...]]] = {}
        through: set[str] = set()
        # What the next step reads, or what is shown, is what the rules of this one ask for too.
        explorer.look_around(level, limit)
        for node in level:
            so_far, path = reached[node]
            for link, sure in walk.steps(explorer, node):
                other = link.other(node)
                if other in reached:
                    continue
                better = (so_far * sure, (*path, link))
                if other not in ahead or _rank(better) < _rank(ahead[other]):
                    ahead[other] = better
                if not (link.edge.literal and other == link.end):
                    through.add(other)
        reached |= ahead
        found += [(hop, sure, node, path) for node, (sure, path) in ahead.items()]
        level = sorted(through)
        # What is nearer comes first, so beyond a hub with more than is asked for nothing is read.
        if not level or len(found) >= limit or _spent(explorer, len(reached)):
            break
    teller = Teller(explorer, language)
    found.sort(key=lambda f: (f[0], -round(f[1], 9), f[2]))
    shown = found[:limit]
    explorer.look_at([node for _, _, node, _ in shown])
    teller.read([link for *_, path in shown for link in path])
    return [
        NearBy(teller.called(node), explorer.type_of(node), hop, round(sure, 6), teller.ties(path))
        for hop, sure, node, path in shown
    ]


def paths(
    explorer: Explorer, start: str, end: str, walk: Walk, hops: int, limit: int, language: Language
) -> list[Path]:
    """Ways from one entity to another that pass nothing twice: the shortest first, then the surest. Where several triples
    join two entities, the surest stands for them.

    Raises:
        NotFound: nothing of that name. InputError: hops or limit out of range, or both names mean one thing.
    """
    _check(explorer, hops, limit)
    here, there = known_node(explorer, start), known_node(explorer, end)
    if here == there:
        raise InputError(f"{start} and {end} are one thing here: `split` takes them apart")
    away = _distances(explorer, there, walk, hops)
    found: list[tuple[tuple[Link, ...], tuple[str, ...], float]] = []
    for length in range(away.get(here, hops + 1), hops + 1):
        found += _ways(explorer, here, there, walk, away, length)
        if len(found) >= limit:
            break
    found.sort(key=lambda f: (len(f[0]), -round(f[2], 9), f[1], [_mark(link) for link in f[0]]))
    teller = Teller(explorer, language)
    return [
        Path(tuple(map(teller.called, nodes)), teller.ties(links), round(sure, 6))
        for links, nodes, sure in found[:limit]
    ]


def _distances(explorer: Explorer, end: str, walk: Walk, hops: int) -> dict[str, int]:
    """How far things are from the end at least, so that no step is taken that cannot arrive."""
    away, level = {end: 0}, [end]
    for hop in range(1, hops + 1):
        ahead = set()
        explorer.look_at(level)
        for node in level:
            for link, _ in walk.steps(explorer, node):
                if node == end or not (link.edge.literal and node == link.end):
                    ahead.add(link.other(node))
        level = sorted(ahead - away.keys())
        away |= dict.fromkeys(level, hop)
        if not level or _spent(explorer, len(away)):
            break
    return away


def _ways(
    explorer: Explorer, start: str, end: str, walk: Walk, away: Mapping[str, int], length: int
) -> list[tuple[tuple[Link, ...], tuple[str, ...], float]]:
    """The ways of exactly this length. Depth first, but only towards the end, with a bound on all steps together."""
    found = []
    waiting: list[tuple[str, tuple[Link, ...], tuple[str, ...], float]] = [(start, (), (start,), 1.0)]
    taken = 0
    while waiting:
        node, links, nodes, sure = waiting.pop()
        for link, more in walk.best(explorer, node):
            other, left = link.other(node), length - len(links) - 1
            taken += 1
            if other in nodes or away.get(other, left + 1) > left:
                continue
            step = ((*links, link), (*nodes, other), sure * more)
            if other == end:
                if not left:
                    found.append(step)
            elif left and not (link.edge.literal and other == link.end):
                waiting.append((other, *step))
        if _spent(explorer, taken):
            break
    return found


def _spent(explorer: Explorer, taken: int) -> bool:
    if taken <= explorer.graphing.policy.steps:
        return False
    explorer.cut = True
    return True


def _step_rank(link: Link, sure: float) -> tuple[object, ...]:
    return (link.edge.literal, -round(sure, 9), _mark(link))


def _rank(way: tuple[float, tuple[Link, ...]]) -> tuple[object, ...]:
    return (-round(way[0], 9), [_mark(link) for link in way[1]])


def _mark(link: Link) -> tuple[object, ...]:
    """For telling edges apart and putting them in order, the same on every store."""
    edge = link.edge
    return (edge.relation, -edge.memory, edge.rule, edge.premises, link.start, link.end)


# ---------------------------------------------------------------------------------- patterns


def match(explorer: Explorer, atoms: Sequence[Atom], walk: Walk, limit: int, language: Language) -> list[Row]:
    """Where all triples of a pattern hold together, the surest first.

    Raises:
        InputError: limit out of range.
    """
    _check(explorer, 1, limit)
    found = explorer.matches(atoms, Guard(sure=walk.min_confidence), {}, limit=MAX_LIMIT)
    teller = Teller(explorer, language)
    rows = []
    for one in found:
        sure = 1.0
        for link in one.links:
            sure *= explorer.sure(link.edge)
        since = [link.edge.valid_from for link in one.links]
        days = tuple(round((b - a).total_seconds() / 86_400, 2) for a, b in pairwise(since))
        rows.append((sure, one, days))
    rows.sort(key=lambda r: (-round(r[0], 9), sorted(r[1].bound.items()), [_mark(k) for k in r[1].links]))
    return [
        Row({v: teller.called(n) for v, n in one.bound.items()}, teller.ties(one.links), round(sure, 6), days)
        for sure, one, days in rows[:limit]
    ]


def read_pattern(pattern: Sequence[Sequence[str]], vocabulary: Vocabulary, rules: RuleSet, *, past: bool) -> list[Atom]:
    """A pattern as it is given: triples of `?variables`, names of entities, and relations by name (USES_CLOUD) or by what
    people call them (云平台), `*` for any.

    Raises:
        InputError: what is wrong with it.
    """
    atoms: list[Atom] = []
    for triple in pattern:
        parts = list(triple)
        if len(parts) != 3 or not all(isinstance(p, str) and p.strip() for p in parts):
            raise InputError(f"{' '.join(map(str, parts))!r}: a triple of a pattern is subject, relation and object")
        relations = () if parts[1] == "*" else read_relations([parts[1]], vocabulary, rules)
        atoms.append(Atom(_term(parts[0]), relations, _term(parts[2]), past))
    if unconnected(atoms) is not None:
        raise InputError("every triple of a pattern must share a variable with those before it, or name something")
    if not 1 <= len(atoms) <= 6:
        raise InputError("a pattern has 1 to 6 triples")
    return atoms


def _term(text: str) -> str:
    plain = text.strip()
    return plain.lower() if is_variable(plain) else plain


def read_relations(names: Iterable[str], vocabulary: Vocabulary, rules: RuleSet) -> tuple[str, ...]:
    """Relations by name, or by a noun that people have for them.

    Raises:
        InputError: nobody calls a relation so.
    """
    found: list[str] = []
    for name in names:
        plain = name.strip()
        if vocabulary.get(plain) is not None or plain in rules.derived:
            found.append(plain)
            continue
        called = [r.name for r in vocabulary if plain.lower() in {n.lower() for n in (*r.names.all, *r.verbs.all)}]
        if not called:
            raise InputError(
                f"no relation is called {name!r}: name one as it is in an answer, such as COMPETES_WITH, or by its noun"
            )
        found += called
    return tuple(dict.fromkeys(found))


# ---------------------------------------------------------------------------------- entities


def entity(explorer: Explorer, name: str, language: Language) -> Entity:
    """One entity with its names, why they are its, and its weight. Raises: NotFound."""
    node = known_node(explorer, name)
    weights = {rule.id: round(by, 6) for rule, by in explorer.weight(node)}
    [found] = _entities(explorer, [node], Teller(explorer, language))
    return replace(found, weight=round(sum(weights.values()), 6), because=weights)


def entities(explorer: Explorer, limit: int, language: Language, after: str | None = None) -> list[Entity]:
    """The entities that memories speak of now, those in most triples first; values are left out.

    Raises:
        InputError: limit out of range. NotFound: no memory speaks of `after` now.
    """
    _check(explorer, 1, limit)
    degrees: dict[str, int] = {}
    found: list[str] = []
    for link in everything(explorer):
        for node in {link.start, link.end}:
            degrees[node] = degrees.get(node, 0) + 1
    order = sorted(degrees, key=lambda n: (-degrees[n], n))
    rest = order if after is None else order[_place(order, known_node(explorer, after), after) + 1 :]
    explorer.look_at(rest[:limit])
    for node in rest:
        if len(found) == limit:
            break
        if explorer.type_of(node) is not EntityType.VALUE:
            found.append(node)
    return _entities(explorer, found, Teller(explorer, language))


def _place(order: Sequence[str], node: str, name: str) -> int:
    if node not in order:
        raise NotFound(f"no memory speaks of {name!r} any more: begin again without it")
    return order.index(node)


def _entities(explorer: Explorer, nodes: Sequence[str], teller: Teller) -> list[Entity]:
    """Nodes as answers tell them; their names are read at once."""
    view, graph, scope = explorer.graphing.view, explorer.graph, explorer.scope
    explorer.look_at(nodes)
    names: dict[str, list[Name]] = {node: [] for node in nodes}
    for name in graph.names_of(scope, nodes):
        names[name.node].append(name)
    told = graph.told_of(scope, [n.name for some in names.values() for n in some], view.identity_relations)
    said, _ = view.identities(told)
    found = []
    for node, some in names.items():
        known = {n.name for n in some}
        pairs = [pair for pair in said if not known.isdisjoint(pair)]
        own = sorted((n for n in some if not n.name.startswith("@")), key=lambda n: (len(n.name), n.name))
        aliases = tuple(Alias(n.name, why_named(n, some, pairs)) for n in own)
        found.append(Entity(teller.called(node), explorer.type_of(node), aliases))
    return found


def everything(explorer: Explorer) -> list[Link]:
    """Every told edge that holds, by memory, within the bound on steps."""
    most = explorer.graphing.policy.steps
    hidden = set(explorer.graphing.view.identity_relations)
    found = explorer.graph.listing(explorer.scope, limit=most)
    explorer.cut |= len(found) == most
    return [k for k in found if k.edge.relation not in hidden and k.start != k.end and k.edge.holds(explorer.at)]


def picture(explorer: Explorer, walk: Walk, around: str | None, hops: int, language: Language) -> Picture:
    """The graph as a whole, or what is near one entity, with what is derived. Raises: NotFound."""
    if around is None:
        links = everything(explorer) + [link for _, _, link in explorer.derived()]
    else:
        _check(explorer, hops, 1)
        near, level = {known_node(explorer, around)}, [known_node(explorer, around)]
        found: dict[tuple[object, ...], Link] = {}
        for _ in range(hops):
            explorer.look_at(level)
            steps = [link for node in level for link, _ in walk.steps(explorer, node)]
            found |= {_mark(link): link for link in steps}
            level = sorted({n for k in steps for n in ((k.start,) if k.edge.literal else (k.start, k.end))} - near)
            near |= set(level)
        links = list(found.values())
    kept = [
        k
        for k in links
        if explorer.sure(k.edge) >= walk.min_confidence and (not walk.relations or k.edge.relation in walk.relations)
    ]
    kept.sort(key=lambda k: (k.edge.memory == 0, k.edge.memory, _mark(k)))
    kept = list({_either_way(k): k for k in reversed(kept)}.values())[::-1]
    teller, nodes = Teller(explorer, language), sorted({n for k in kept for n in (k.start, k.end)})
    return Picture(tuple(_entities(explorer, nodes, teller)), teller.ties(kept), explorer.cut)


def derived(explorer: Explorer, language: Language) -> list[Insight]:
    """All that the rules derive now, each with the rule's explanation, the surest first. What a rule makes of the same
    premises both ways round (A with B, B with A) is told once."""
    teller = Teller(explorer, language)
    found, once = [], dict[tuple[object, ...], Link]()
    for rule, one, link in explorer.derived():
        if once.setdefault(_either_way(link), link) is not link:
            continue
        names = {v: teller.called(n) for v, n in one.bound.items()}
        found.append(Insight(teller.tie(link), rule.told(language, names)))
    return sorted(found, key=lambda f: (-f.tie.confidence, f.tie.rule, f.tie.premises))


def _either_way(link: Link) -> tuple[object, ...]:
    """The same for what one rule derives of the same premises in both directions: one fact, told from either side."""
    edge = link.edge
    ends = frozenset((link.start, link.end)) if edge.rule else (link.start, link.end)
    return (edge.memory, edge.rule, edge.relation, edge.premises, ends)


def known_node(explorer: Explorer, name: str) -> str:
    """The node of a name, or of the user's own side. Raises: NotFound."""
    node = explorer.node_of(name)
    if node is None:
        raise NotFound(f"no memory speaks of {name!r}: look among the entities for what they speak of", "entity")
    return node


def _check(explorer: Explorer, hops: int, limit: int) -> None:
    most = explorer.graphing.policy.max_hops
    if not 1 <= hops <= most:
        raise InputError(f"hops = {hops}: use 1 to {most}")
    if not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"limit = {limit}: use 1 to {MAX_LIMIT}")
