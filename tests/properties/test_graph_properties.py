"""Random graphs: what is answered is what a plain search over all edges gives, the same on every store; and a graph that grew is
the one that is made at once (SPEC G1–G3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count as counting
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.domain.confidence import faded
from jiyi.domain.fusion_rules import Atom, Guard, RuleSet, parse_rules
from jiyi.domain.graph import Edge
from jiyi.domain.memory import Language, Memory, Source, Status, Triple
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.graph_files import open_graphing
from jiyi.pipelines.graph.exploring import Explorer, Graphing
from jiyi.pipelines.graph.questions import Walk, match, neighbours, paths
from jiyi.pipelines.graph.then import GraphThen
from jiyi.ports import GraphReader, Store
from jiyi.settings import Settings
from jiyi.shipped import load_segmenter, load_vocabulary
from jiyi.stores.reference import open_reference
from jiyi.stores.sqlite.store import open_sqlite
from jiyi.testing.contract_base import NOW, later, memory
from tests.conftest import count

GRAPHING = replace(open_graphing(Settings(), load_vocabulary(), load_segmenter()), rules=RuleSet((), {}))
VIEW = GRAPHING.view
# Two names each for two things, by spelling and by the shipped lists; and a value.
NAMES = ("Bell", "BELL", "阿里云", "Aliyun", "Carol", "Dora", "Emil", "5")
RELATIONS = ("COMPETES_WITH", "KNOWS_NOBODY_BY_THAT", "BUYS_FROM", "HAS_PRICE")
SCOPES = (Scope(f"graph{n}") for n in counting(1))

pytestmark = pytest.mark.full

random_graphs = settings(
    max_examples=count("graphs"), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@st.composite
def memories(draw: st.DrawFn, most: int = 10) -> list[Memory]:
    """Memories with triples, of any age and state."""
    found = []
    for seq in range(1, draw(st.integers(1, most)) + 1):
        relation = draw(st.sampled_from(RELATIONS))
        thing = "5" if relation == "HAS_PRICE" else draw(st.sampled_from(NAMES[:-1]))
        triple = Triple(draw(st.sampled_from(NAMES[:-1])), relation, thing, negated=draw(st.integers(0, 9)) == 0)
        begun = NOW - timedelta(days=draw(st.sampled_from([0, 1, 5, 40])))
        ended = draw(st.sampled_from([Status.LIVE, Status.LIVE, Status.LIVE, Status.ENDED, Status.HELD]))
        until = None if ended is not Status.ENDED else begun + timedelta(days=draw(st.sampled_from([0, 2, 90])))
        source = draw(st.sampled_from([Source.DECLARED, Source.INFERRED]))
        found.append(
            memory(
                seq,
                triple=triple,
                at=begun,
                status=ended,
                valid_to=until,
                source=source,
                start=GRAPHING.confidence.start(source),
            )
        )
    return found


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Store]]:
    folder: Path = tmp_path_factory.mktemp("graphs")
    some: list[Store] = [open_reference(), open_sqlite(folder / "memory.db", synchronous="NORMAL")]
    yield some
    for store in some:
        store.close()


def keep(store: Store, scope: Scope, *changes: Change) -> None:
    def work(unit: object) -> None:
        unit.memories.write(scope, changes)  # type: ignore[attr-defined]
        VIEW.follow(unit, scope, changes)  # type: ignore[arg-type]

    store.write(work)


# ---------------------------------------------------------------------------------- a plain search


@dataclass(frozen=True)
class Step:
    """An edge that holds, as the plain search knows it."""

    memory: int
    start: str
    relation: str
    end: str
    sure: float
    literal: bool

    @property
    def mark(self) -> tuple[str, int]:
        return (self.relation, -self.memory)


STANDS_FOR: Mapping[str, tuple[str, ...]] = {"bell": ("Bell", "BELL"), "cloud": ("阿里云", "Aliyun")}


def plain_edges(held: list[Memory], at: datetime) -> list[Step]:
    used = {n for m in held if _is_edge(m) for n in (m.triple.subject, m.triple.object)}  # type: ignore[union-attr]
    heads = {}
    for names in STANDS_FOR.values():
        there = sorted((n for n in names if n in used), key=lambda n: (len(n), n))
        heads |= dict.fromkeys(there, next(iter(there), ""))
    found = []
    for m in held:
        if not _is_edge(m) or m.triple is None:
            continue
        start, end = (heads.get(n, n) for n in (m.triple.subject, m.triple.object))
        holds = m.valid_from <= at and (m.valid_to is None or at < m.valid_to)
        if start != end and holds:
            sure = faded(m.source, m.start, NOW - m.affirmed_at, GRAPHING.confidence)
            found.append(Step(m.seq, start, m.triple.relation, end, sure, m.triple.relation == "HAS_PRICE"))
    return found


def _is_edge(m: Memory) -> bool:
    return m.triple is not None and not m.triple.negated and m.status in (Status.LIVE, Status.ENDED)


def plain_neighbours(edges: list[Step], start: str, hops: int) -> dict[str, tuple[int, float]]:
    """For each entity how far it is and how sure by the surest of the shortest ways, by trying them all."""
    found: dict[str, tuple[int, float]] = {}
    for way in plain_ways(edges, start, hops, lambda _: True):
        node, length, sure = way[0], len(way[1]), way[2]
        best = found.get(node)
        if best is None or (length, -sure) < (best[0], -best[1]):
            found[node] = (length, sure)
    return found


def plain_ways(edges: list[Step], start: str, hops: int, wanted) -> list[tuple[str, tuple[Step, ...], float]]:  # type: ignore[no-untyped-def]
    """Every way that passes nothing twice and leads through no value."""
    found, waiting = [], [(start, (start,), (), 1.0, True)]
    while waiting:
        node, passed, steps, sure, onward = waiting.pop()
        if steps and wanted(node):
            found.append((node, steps, sure))
        if len(steps) == hops or not onward:
            continue
        for edge in edges:
            if node in (edge.start, edge.end):
                other = edge.end if node == edge.start else edge.start
                if other not in passed:
                    through = not (edge.literal and other == edge.end)
                    waiting.append((other, (*passed, other), (*steps, edge), sure * edge.sure, through))
    return found


# ---------------------------------------------------------------------------------- the promises


@given(
    held=memories(),
    hops=st.integers(1, 3),
    at=st.sampled_from([0, -3]),
    relation=st.sampled_from([None, *RELATIONS[2:]]),
)
@random_graphs
def test_neighbours_are_those_of_a_plain_search(
    stores: list[Store], held: list[Memory], hops: int, at: int, relation: str | None
) -> None:
    scope, then = next(SCOPES), later(0, days=at)
    edges = [e for e in plain_edges(held, then) if relation in (None, e.relation)]
    answers = []
    for store in stores:
        keep(store, scope, *(Change(None, m) for m in held))
        with store.read() as unit:
            answer = {}
            for start in {n.node for n in unit.graph.named(scope, NAMES)}:
                explorer, walk = Explorer(unit, scope, GRAPHING, NOW, then), Walk((relation,) if relation else ())
                found = neighbours(explorer, start, walk, hops, 100, Language.EN)
                assert not explorer.cut
                # The first few are the same, though for them no further step is taken.
                few = neighbours(Explorer(unit, scope, GRAPHING, NOW, then), start, walk, hops, 2, Language.EN)
                assert few == found[:2]
                answer[start] = found
        answers.append(answer)
    assert answers[0] == answers[1]
    for start, found in answers[0].items():
        plain = plain_neighbours(edges, start, hops)
        assert {n.entity: n.hops for n in found} == {node: length for node, (length, _) in plain.items()}
        assert all(abs(n.confidence - plain[n.entity][1]) < 1e-6 for n in found)
        assert [(n.hops, -n.confidence) for n in found] == sorted((n.hops, -n.confidence) for n in found)


@given(held=memories(), hops=st.integers(1, 4), sure=st.sampled_from([0.0, 0.68]))
@random_graphs
def test_paths_are_all_that_a_plain_search_finds(
    stores: list[Store], held: list[Memory], hops: int, sure: float
) -> None:
    scope = next(SCOPES)
    edges = [e for e in plain_edges(held, NOW) if e.sure >= sure]
    answers = []
    for store in stores:
        keep(store, scope, *(Change(None, m) for m in held))
        with store.read() as unit:
            nodes = sorted({n.node for n in unit.graph.named(scope, NAMES)})[:4]
            answer = {}
            for start, end in product(nodes, nodes):
                if start != end:
                    explorer = Explorer(unit, scope, GRAPHING, NOW)
                    answer[start, end] = paths(explorer, start, end, Walk((), sure), hops, 1000, Language.EN)
                    assert not explorer.cut
        answers.append(answer)
    assert answers[0] == answers[1]
    for (start, end), found in answers[0].items():
        plain: dict[tuple[str, ...], float] = {}
        for _, steps, by in plain_ways(edges, start, hops, lambda node, end=end: node == end):
            passed = [start]
            for step in steps:
                passed.append(step.end if passed[-1] == step.start else step.start)
            plain[tuple(passed)] = max(by, plain.get(tuple(passed), 0.0))
        assert {p.entities for p in found} == plain.keys()
        assert [len(p.ties) for p in found] == sorted(len(p.ties) for p in found)
        assert all(abs(p.confidence - plain[p.entities]) < 1e-6 for p in found)


@given(
    held=memories(),
    first=st.sampled_from(RELATIONS),
    second=st.sampled_from([(), (RELATIONS[0],), (RELATIONS[2], RELATIONS[3])]),
    shape=st.sampled_from([("?a", "?b", "?b", "?c"), ("?a", "?b", "?a", "?c"), ("?a", "?b", "?c", "?b"), ("?a", "?b", "?b", "?a")]),
)  # fmt: skip
@random_graphs
def test_patterns_hold_where_a_plain_search_finds_them(
    stores: list[Store], held: list[Memory], first: str, second: tuple[str, ...], shape: tuple[str, str, str, str]
) -> None:
    scope = next(SCOPES)
    atoms = [Atom(shape[0], (first,), shape[1]), Atom(shape[2], second, shape[3])]
    answers = []
    for store in stores:
        keep(store, scope, *(Change(None, m) for m in held))
        with store.read() as unit:
            answers.append(match(Explorer(unit, scope, GRAPHING, NOW), atoms, Walk(), 1000, Language.EN))
    assert answers[0] == answers[1]
    plain = set()
    for one, other in product(plain_edges(held, NOW), repeat=2):
        if one == other or one.relation != first or (second and other.relation not in second):
            continue
        bound: dict[str, str] = {}
        ends = zip(shape, (one.start, one.end, other.start, other.end), strict=True)
        if all(bound.setdefault(variable, node) == node for variable, node in ends):
            plain.add((one.memory, other.memory))
    assert {tuple(int(t.memory[1:]) for t in row.ties) for row in answers[0]} == plain


@given(held=memories(8), more=memories(8), undone=st.sets(st.integers(1, 8)))
@random_graphs
def test_a_graph_that_grew_is_the_one_made_at_once(
    stores: list[Store], held: list[Memory], more: list[Memory], undone: set[int]
) -> None:
    """Names said to be one or two come and go meanwhile."""
    scope = next(SCOPES)
    said = [replace(m, triple=_identity(m.triple, m.seq)) if m.seq % 3 == 0 else m for m in more]
    pictures = []
    for store in stores:
        now: dict[int, Memory] = {}
        for m in (*held, *said):
            keep(store, scope, Change(now.get(m.seq), m))
            now[m.seq] = m
        for seq in sorted(undone & now.keys()):
            keep(store, scope, Change(now.pop(seq), None))
        grown = _whole(store, scope)
        store.write(lambda unit: VIEW.rebuild(unit, scope))
        assert grown == _whole(store, scope)
        pictures.append(grown)
    # So is the graph of then, which is made from memories alone (SPEC B6).
    then = GraphThen(now.values(), VIEW)
    pictures.append(_seen(then, scope))
    assert pictures[0] == pictures[1] == pictures[2]


def _identity(triple: Triple | None, seq: int) -> Triple:
    assert triple is not None
    thing = triple.object if triple.object not in ("5", triple.subject) else "Emil"
    return Triple(triple.subject, "SAME_AS", thing, negated=seq % 2 == 0)


def _whole(store: Store, scope: Scope) -> object:
    with store.read() as unit:
        return _seen(unit.graph, scope)


def _seen(graph: GraphReader, scope: Scope) -> object:
    links = [
        graph.links(scope, name, some, limit) for name in NAMES for some in ((), RELATIONS[:2]) for limit in (1, 9)
    ]
    names = graph.named(scope, NAMES), graph.alike(scope, ["bell", "阿里云"]), graph.names_of(scope, NAMES)
    told = graph.told_of(scope, NAMES[:3], RELATIONS), graph.of_memories(scope, range(1, 9))
    return names, told, links, graph.listing(scope), graph.listing(scope, RELATIONS[:1], after=2), graph.count(scope)


RULES = """{
  "relations": {
    "NEARS": {"zh": "{subject}靠近{object}", "en": "{subject} nears {object}"},
    "AILS": {"zh": "{subject}受累于{object}", "en": "{subject} ails of {object}"}
  },
  "rules": [
    {"id": "two-steps", "zh": "两步", "en": "two steps",
     "when": [["?a", "BUYS_FROM", "?b"], ["?b", "BUYS_FROM", "?c"]],
     "guard": {"different": [["?a", "?c"]]}, "then": {"derive": ["?a", "NEARS", "?c"]}},
    {"id": "then-rivals", "zh": "再一步", "en": "one more",
     "when": [["?a", "NEARS", "?b"], ["?b", "COMPETES_WITH", "?c"]], "then": {"derive": ["?a", "AILS", "?c"]}}
  ]
}"""


@given(held=memories())
@random_graphs
def test_what_is_derived_follows_from_what_stands_and_from_nothing_else(
    stores: list[Store], held: list[Memory]
) -> None:
    graphing: Graphing = replace(GRAPHING, rules=parse_rules(RULES, "rules.json", load_vocabulary()))
    scope = next(SCOPES)
    edges = plain_edges(held, NOW)
    near = {
        (a.start, b.end, frozenset({a.memory, b.memory}))
        for a, b in product(edges, repeat=2)
        if a.relation == b.relation == "BUYS_FROM" and a.end == b.start and a.start != b.end
    }
    ails = {
        (a, e.end, premises | {e.memory})
        for (a, b, premises), e in product(near, edges)
        if e.relation == "COMPETES_WITH" and e.start == b and a != e.end
    }
    for store in stores:
        keep(store, scope, *(Change(None, m) for m in held))
        with store.read() as unit:
            explorer = Explorer(unit, scope, graphing, NOW)
            found: dict[str, set[object]] = {"two-steps": set(), "then-rivals": set()}
            at_nodes: set[Edge] = set()
            for rule, one, link in explorer.derived():
                assert link.edge.ceiling == min(explorer.sure(k.edge) for k in one.links)
                found[rule.id].add((link.start, link.end, frozenset(link.edge.premises)))
                at_nodes |= {k.edge for k in explorer.links(link.start, [link.edge.relation])}
            assert found == {"two-steps": near, "then-rivals": ails}
            # The same from where a question comes by as from the whole.
            assert {(e.subject, e.object, frozenset(e.premises)) for e in at_nodes} == near | ails
            assert explorer.matches([Atom("?a", ("NEARS",), "?b")], Guard(), {}) or not near
