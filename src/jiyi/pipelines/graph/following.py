"""How a graph engine beside the database follows it, and answers in its place (SPEC G4, O3).

    change + what it touched, one transaction ─▶ commit ─▶ claim ─▶ take, put, prune ─▶ of this version ─▶ noted in the database

Each change of a scope's graph gives it a version that no other state ever had. The engine answers a question only when it is of
the very version that the question's snapshot sees, before and after; else the database answers. So it may be down, behind, or
of another time, and never be wrong. Who is killed in between leaves a claim, from which the next one goes on; where the engine
has a version that this database does not know, because a backup was put in its place, the scope is told whole.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeVar
from urllib.parse import quote

from jiyi.domain.graph import Followed, Link, Telling
from jiyi.domain.scope import Scope
from jiyi.errors import EngineUnavailable
from jiyi.pipelines.graph.exploring import Explorer, Graphing
from jiyi.pipelines.graph.view import ALL
from jiyi.ports import Check, GraphEngine, GraphReader, Store, Unit

T = TypeVar("T")

PART = 1_000
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""What kind of thing a node is does not depend on the time."""

AWAY = "the graph engine does not answer: the database did"
BEHIND = "the graph engine has not heard of everything yet: the database answered"
"""What an answer says that is not the engine's. No address: it goes to whoever asked."""

log = logging.getLogger("jiyi.graph")


@dataclass(frozen=True, slots=True)
class GraphStatus:
    """How an engine follows. `mark` begins the names of this database's owners in it. `fault`: why it does not answer, empty when
    it does. `scopes` follow, of which `lagging` have not been told everything; `waiting` edges of them are noted one by one."""

    engine: str
    mark: str
    fault: str
    scopes: int
    lagging: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Told:
    """What an engine was told under a claim: the version it has then, and the changes it has heard of."""

    claim: str
    version: str
    heard: dict[int, str]


class GraphFollower:
    """Tells one engine, one thread at a time, and asks it."""

    def __init__(self, store: Store, engine: GraphEngine, graphing: Graphing) -> None:
        self._store, self._engine, self._graphing = store, engine, graphing
        self.prefix = f"jiyi-{sha256(store.secret).hexdigest()[:12]}/"
        self._lock = threading.Lock()
        self._compared = False

    def owner(self, scope: Scope) -> str:
        """By what name the engine knows a scope of this database."""
        return f"{self.prefix}{quote(scope.tenant, safe='')}/{quote(scope.user, safe='')}"

    # ------------------------------------------------------------------------------ telling

    def catch_up(self) -> int:
        """Tell the engine everything it has not heard of; gives of how many scopes that was.

        Raises:
            EngineUnavailable: it does not answer. What it has not heard of stays noted.
        """
        with self._lock:
            if not self._compared:
                self._compare()
                self._compared = True
            lagging = self._store.view(lambda unit: unit.graph_feed.lagging())
            for scope in lagging:
                self._tell(scope)
            return len(lagging)

    def repair(self) -> list[str]:
        """Hold the whole engine against the database and make it right; gives what was done, one line each.

        Raises:
            EngineUnavailable: it does not answer.
        """
        with self._lock:
            done = self._compare()
            for scope, state in self._store.view(lambda unit: unit.graph_feed.following()).items():
                if not state.level:
                    self._tell(scope)
                    done.append(f"{scope}: told what was left")
                if not self._is_right(scope):
                    self._store.write(lambda unit, s=scope: unit.graph_feed.restart(s))  # type: ignore[misc]
                    self._tell(scope)
                    done.append(f"{scope}: told anew, the engine had something else")
            self._compared = True
            return done

    def _compare(self) -> list[str]:
        """Find by their versions the scopes that the engine has otherwise than the database thinks; gives what was done."""
        done, there = [], self._engine.owners(self.prefix)

        def known(unit: Unit) -> tuple[list[Scope], dict[Scope, Followed], set[Scope]]:
            scopes, followed = list(unit.scopes()), unit.graph_feed.following()
            return scopes, followed, {s for s in scopes if s not in followed and unit.graph.count(s) == (0, 0)}

        scopes, followed, empty = self._store.view(known)
        for scope in scopes:
            state, owner = followed.get(scope), self.owner(scope)
            if state is None and scope not in empty:
                self._store.write(lambda unit, s=scope: unit.graph_feed.begin(s))  # type: ignore[misc]
            elif state is not None and state.level and there.get(owner) != state.told:
                self._store.write(lambda unit, s=scope: unit.graph_feed.restart(s))  # type: ignore[misc]
                done.append(f"{scope}: the engine was of another time")
        for owner in sorted(there.keys() - {self.owner(s) for s in scopes if s not in empty}):
            self._engine.drop(owner)
            done.append(f"{owner}: no such scope is here, it went")
        return done

    def _tell(self, scope: Scope) -> None:
        def tell(unit: Unit) -> Told | None:
            state = unit.graph_feed.state(scope)
            if state is None or state.level:
                return None
            heard = unit.graph_feed.waiting(scope, ALL)
            claim = None
            if state.told:
                claim = self._engine.claim(self.owner(scope), scope, state.version, state.told, set(heard.values()))
            if claim is not None:
                self._tell_changes(unit, scope, claim, sorted(heard))
            else:
                claim = self._engine.claim(self.owner(scope), scope, state.version)
                assert claim is not None  # who gives no version is never refused
                self._tell_whole(unit, scope, claim)
            return Told(claim, state.version, heard)

        # Run again it claims anew: what the first run told under its claim was never finished.
        if (told := self._store.view(tell)) is not None:
            self._engine.finish(self.owner(scope), told.claim, told.version)
            self._store.write(lambda unit: unit.graph_feed.told(scope, told.version, told.heard))

    def _tell_whole(self, unit: Unit, scope: Scope, claim: str) -> None:
        after = 0
        while links := unit.graph.listing(scope, after=after, limit=PART):
            self._put(unit, scope, claim, links, ())
            after = links[-1].edge.memory

    def _tell_changes(self, unit: Unit, scope: Scope, claim: str, memories: Sequence[int]) -> None:
        owner, graph = self.owner(scope), unit.graph
        names, nodes = set[str](), set[str]()
        for start in range(0, len(memories), PART):
            some = memories[start : start + PART]
            gone = self._engine.take(owner, claim, some)
            names |= gone[0]
            nodes |= gone[1]
            edges = graph.of_memories(scope, some)
            ends = {n.name: n.node for n in graph.named(scope, {end for e in edges for end in (e.subject, e.object)})}
            links = [Link(e, ends[e.subject], ends[e.object]) for e in edges]
            self._put(unit, scope, claim, links, gone[1])
        left = {n.name for n in graph.named(scope, names)}
        self._engine.prune(owner, claim, names - left, nodes)

    def _put(self, unit: Unit, scope: Scope, claim: str, links: Sequence[Link], touched: Collection[str]) -> None:
        """Hold these edges; what kind of thing a node is follows from all its edges, so those that were touched are told anew."""
        graph = unit.graph
        nodes = {node for link in links for node in (link.start, link.end)}
        still = {n.node for n in graph.named(scope, touched) if n.node == n.name}
        names = graph.named(scope, {end for k in links for end in (k.edge.subject, k.edge.object)} | nodes)
        explorer = Explorer(unit, scope, self._graphing, NO_TIME)
        explorer.look_at(nodes | still)
        types = {node: explorer.type_of(node) for node in sorted(nodes | still)}
        self._engine.put(self.owner(scope), claim, Telling(tuple(links), tuple(names), types))

    def _is_right(self, scope: Scope) -> bool:
        """Whether the engine holds all that the database does, and nothing else."""

        def is_right(unit: Unit) -> bool:
            state = unit.graph_feed.state(scope)
            reader = self._engine.reader(self.owner(scope))
            if state is None or self._engine.version(self.owner(scope)) != state.version:
                return False
            here, there = unit.graph.listing(scope, limit=ALL), reader.listing(scope, limit=ALL)
            names = {end for k in here for end in (k.edge.subject, k.edge.object)}
            same_names = unit.graph.named(scope, names) == reader.named(scope, names)
            return here == there and same_names and unit.graph.count(scope) == reader.count(scope)

        return self._store.view(is_right)

    # ------------------------------------------------------------------------------ answering

    def asked(self, unit: Unit, scope: Scope, question: Callable[[GraphReader | None], T]) -> tuple[T, str]:
        """The answer of the engine, when it is of the version that this unit sees; else of the database, and why."""
        try:
            state, owner = unit.graph_feed.state(scope), self.owner(scope)
            if state is None or not state.level or self._engine.version(owner) != state.version:
                return question(None), "" if state is None else BEHIND
            answer = question(self._engine.reader(owner))
            if self._engine.version(owner) == state.version:
                return answer, ""
            return question(None), BEHIND
        except EngineUnavailable as error:
            log.warning("%s; the database answers", error)
            return question(None), AWAY

    # ------------------------------------------------------------------------------ looking after

    def status(self) -> GraphStatus:

        def counted(unit: Unit) -> tuple[int, int, int]:
            feed = unit.graph_feed
            return len(feed.following()), len(feed.lagging()), feed.count()

        scopes, lagging, waiting = self._store.view(counted)
        fault = ""
        try:
            self._engine.owners(self.prefix)
        except EngineUnavailable as error:
            fault = str(error)
        return GraphStatus(self._engine.name, self.prefix, fault, scopes, lagging, waiting)

    def check(self) -> Check:
        status = self.status()
        lag = f"{status.lagging:,} of {status.scopes:,} users wait to be told, {status.waiting:,} edges"
        if status.fault:
            return Check(
                "graph engine", False, f"{status.fault}; the database answers; {lag}", f"start {status.engine}"
            )
        told = f"{lag}: `jiyi work` does it now" if status.lagging else "has heard of everything"
        return Check("graph engine", True, f"{status.engine}, {told}")

    def close(self) -> None:
        self._engine.close()
