"""Random graphs: what a real Neo4j answers is what the database answers, and after every change too (SPEC G3, G4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count as counting
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.domain.fusion_rules import Atom, Guard
from jiyi.domain.memory import Language, Memory
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.pipelines.graph.exploring import Explorer
from jiyi.pipelines.graph.following import GraphFollower
from jiyi.pipelines.graph.questions import Walk, entities, match, neighbours, paths
from jiyi.ports import GraphReader
from jiyi.stores.neo4j import Neo4jEngine
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.testing.contract_base import NOW, later
from tests.conftest import count
from tests.graph_engine.stores import GRAPHING, engine_at
from tests.properties.test_graph_properties import NAMES, RELATIONS, _identity, memories

SCOPES = (Scope(f"graph{n}") for n in counting(1))
SHAPES = [("?a", "?b", "?b", "?c"), ("?a", "?b", "?a", "?c"), ("?a", "?b", "?c", "?b"), ("?a", "?b", "?b", "?a")]

pytestmark = pytest.mark.full

random_graphs = settings(
    max_examples=count("graphs"), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


class Both:
    """A database and the engine that follows it."""

    def __init__(self, store: SqliteStore, engine: Neo4jEngine) -> None:
        self.store, self.engine = store, engine
        self.follower = GraphFollower(store, engine, GRAPHING)

    def keep(self, scope: Scope, *changes: Change) -> None:
        def work(unit: object) -> None:
            unit.memories.write(scope, changes)  # type: ignore[attr-defined]
            GRAPHING.view.follow(unit, scope, changes)  # type: ignore[arg-type]

        self.store.write(work)

    def same(self, scope: Scope, question: Callable[[Explorer], object], at: object = None) -> None:
        """The engine gives the answer that the database gives."""
        with self.store.read() as unit:

            def asked(graph: GraphReader | None) -> object:
                return question(Explorer(unit, scope, GRAPHING, NOW, at, graph))  # type: ignore[arg-type]

            assert unit.graph_feed.state(scope) is not None or unit.graph.count(scope) == (0, 0)
            answer, note = self.follower.asked(unit, scope, asked)
            assert note == ""
            assert answer == asked(None)


@pytest.fixture(scope="module")
def both(neo4j: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder: Path = tmp_path_factory.mktemp("graphs")
    store, engine = open_sqlite(folder / "memory.db", synchronous="NORMAL"), engine_at(neo4j)
    yield Both(store, engine)
    store.close()
    engine.close()


@given(
    held=memories(),
    hops=st.integers(1, 3),
    at=st.sampled_from([0, -3]),
    relation=st.sampled_from([None, *RELATIONS[2:]]),
    sure=st.sampled_from([0.0, 0.68]),
    relations=st.tuples(st.sampled_from(RELATIONS), st.sampled_from([(), (RELATIONS[0],), RELATIONS[2:]])),
    shape=st.sampled_from(SHAPES),
)
@random_graphs
def test_neighbours_paths_and_patterns_by_confidence_and_time_are_those_of_the_database(
    both: Both,
    held: list[Memory],
    hops: int,
    at: int,
    relation: str | None,
    sure: float,
    relations: tuple[str, tuple[str, ...]],
    shape: tuple[str, str, str, str],
) -> None:
    scope, then = next(SCOPES), later(0, days=at)
    both.keep(scope, *(Change(None, m) for m in held))
    both.follower.catch_up()
    walk = Walk((relation,) if relation else (), sure)
    atoms = [Atom(shape[0], (relations[0],), shape[1]), Atom(shape[2], relations[1], shape[3])]

    def question(explorer: Explorer) -> object:
        nodes = sorted({n.node for n in explorer.graph.named(scope, NAMES)})
        ways = [(a, b) for a, b in product(nodes[:3], nodes[:3]) if a < b]
        return (
            nodes,
            [neighbours(explorer, n, walk, hops, 100, Language.EN) for n in nodes],
            [paths(explorer, a, b, walk, hops, 1000, Language.EN) for a, b in ways],
            match(explorer, atoms, Walk((), sure), 1000, Language.EN),
            entities(explorer, 100, Language.ZH),
            explorer.matches([Atom("?a", (), "?b")], Guard(sure=sure), {}),
        )

    both.same(scope, question, then)


@given(held=memories(8), more=memories(8), undone=st.sets(st.integers(1, 8)))
@random_graphs
def test_a_graph_that_changes_is_the_same_in_both_after_every_change(
    both: Both, held: list[Memory], more: list[Memory], undone: set[int]
) -> None:
    """Names said to be one or two come and go meanwhile; some changes are told together, some one by one."""
    scope = next(SCOPES)
    said = [replace(m, triple=_identity(m.triple, m.seq)) if m.seq % 3 == 0 else m for m in more]
    now: dict[int, Memory] = {}
    for m in (*held, *said):
        both.keep(scope, Change(now.get(m.seq), m))
        now[m.seq] = m
        if m.seq % 2:
            both.follower.catch_up()
    for seq in sorted(undone & now.keys()):
        both.keep(scope, Change(now.pop(seq), None))
    both.follower.catch_up()
    both.same(scope, lambda e: (e.graph.named(scope, NAMES), e.graph.listing(scope), e.graph.count(scope)))
    with both.store.read() as unit:
        explorer = Explorer(unit, scope, GRAPHING, NOW)
        nodes = {n.node for n in unit.graph.named(scope, NAMES)}
        types = {node: explorer.type_of(node).value for node in nodes}
    rows = both.engine.ask(
        "MATCH (e:Entity {owner: $owner}) RETURN e.name, e.type, labels(e)", {"owner": both.follower.owner(scope)}
    )
    assert {name: kind for name, kind, _ in rows} == types
    assert all(set(labels) == {"Entity", kind.capitalize()} for _, kind, labels in rows)
