"""A store whose graph is read from an engine that follows it, so that the contract of the graph can be held against both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from jiyi.domain.entities import Name
from jiyi.domain.graph import Edge
from jiyi.domain.scope import Scope
from jiyi.graph_files import open_graphing
from jiyi.pipelines.graph.following import GraphFollower
from jiyi.pipelines.graph.view import edges_at
from jiyi.ports import Store, Unit
from jiyi.settings import Settings
from jiyi.shipped import load_segmenter, load_vocabulary
from jiyi.stores.neo4j import Neo4jEngine, Shape, open_neo4j

T = TypeVar("T")
GRAPHING = open_graphing(Settings(graph_engine="bolt://127.0.0.1"), load_vocabulary(), load_segmenter())
SHAPE = Shape(frozenset(r.name for r in load_vocabulary()), Settings().confidence)


def engine_at(address: str) -> Neo4jEngine:
    return open_neo4j(address, SHAPE)


class Noting:
    """The graph of a writing unit: what is done to it, an engine hears of."""

    def __init__(self, unit: Unit) -> None:
        self._unit, self._graph = unit, unit.graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def place(self, scope: Scope, names: Sequence[Name]) -> None:
        self._graph.place(scope, names)
        self._note(scope, edges_at(self._graph, scope, names))

    def put(self, scope: Scope, edges: Sequence[Edge]) -> None:
        self._graph.put(scope, edges)
        self._note(scope, [e.memory for e in edges])

    def remove(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        gone = self._graph.remove(scope, memories)
        self._note(scope, [e.memory for e in gone])
        return gone

    def clear(self, scope: Scope) -> int:
        gone = self._graph.clear(scope)
        self._unit.graph_feed.restart(scope)
        return gone

    def _note(self, scope: Scope, memories: Collection[int]) -> None:
        if memories:
            self._unit.graph_feed.begin(scope)
            self._unit.graph_feed.note(scope, memories)


class Beside:
    """A unit whose graph is another."""

    def __init__(self, unit: Unit, graph: object) -> None:
        self._unit, self.graph = unit, graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self._unit, name)


class Reading:
    """The graph of a reading unit: the engine's for whom it knows, and the database's to refuse to write."""

    def __init__(self, unit: Unit, follower: GraphFollower, engine: Neo4jEngine) -> None:
        self._unit, self._follower, self._engine = unit, follower, engine

    def __getattr__(self, name: str) -> Any:
        if name in ("place", "put", "remove", "clear"):
            return getattr(self._unit.graph, name)

        def read(scope: Scope, *arguments: Any, **more: Any) -> Any:
            return getattr(self._engine.reader(self._follower.owner(scope)), name)(scope, *arguments, **more)

        return read


class FollowedStore:
    """A store of whose graph an engine is told after each write, and then asked."""

    def __init__(self, store: Store, engine: Neo4jEngine) -> None:
        self._store, self.engine = store, engine
        self.follower = GraphFollower(store, engine, GRAPHING)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def read(self) -> Iterator[Any]:
        with self._store.read() as unit:
            yield Beside(unit, Reading(unit, self.follower, self.engine))

    def write(self, work: Callable[[Any], T]) -> T:
        done = self._store.write(lambda unit: work(Beside(unit, Noting(unit))))
        self.follower.catch_up()
        return done

    def close(self) -> None:
        self._store.close()
        self.engine.close()
