"""The ports around the graph (SPEC G1–G4): the view itself and what an engine beside the database has not heard of, both a part
of `ports.Unit`, whose rules hold here too; and such an engine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from jiyi.domain.entities import Name
from jiyi.domain.graph import Edge, Followed, Link, Telling
from jiyi.domain.scope import Scope


class GraphReader(Protocol):
    """What questions ask of a graph: of the database, or of an engine beside it."""

    def of_memories(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        """The edges that these memories make, by memory."""

    def named(self, scope: Scope, names: Collection[str]) -> list[Name]:
        """Those of these names that are placed, by name."""

    def alike(self, scope: Scope, bases: Collection[str]) -> list[Name]:
        """All names with one of these bases, by name."""

    def names_of(self, scope: Scope, nodes: Collection[str]) -> list[Name]:
        """All names whose node is one of these, by name."""

    def told_of(self, scope: Scope, names: Collection[str], relations: Collection[str]) -> list[Edge]:
        """The edges of these relations with an end that is written so, by memory."""

    def links(self, scope: Scope, node: str, relations: Collection[str] = (), limit: int = 1000) -> list[Link]:
        """The edges at all names of a node, of these relations or of any: by relation, the latest memory first. One that
        leads from a node to itself comes once.

        Args:
            limit: edges at the most for each name and direction, the first of that order.
        """

    def links_of(
        self, scope: Scope, nodes: Collection[str], relations: Collection[str] = (), limit: int = 1000
    ) -> dict[str, list[Link]]:
        """`links` of several nodes. To ask for them together is quicker where each question goes over a network."""
        return {node: self.links(scope, node, relations, limit) for node in nodes}

    def listing(
        self, scope: Scope, relations: Collection[str] = (), *, after: int = 0, limit: int = 1000
    ) -> list[Link]:
        """Edges by memory: those above the memory `after`, of these relations or of any, at most `limit`."""

    def count(self, scope: Scope) -> tuple[int, int]:
        """Names and edges."""


class Graph(GraphReader, Protocol):
    """The edges that memories make, from both of their ends, and the names between which they run. A view: memories make it
    again. What is derived is not in it."""

    def place(self, scope: Scope, names: Sequence[Name]) -> None:
        """Put names, each in the place of the one that is written so. Edges go with their names to another node.

        Raises:
            InputError: a node is no name that is placed, now or before. Nothing is stored.
        """

    def put(self, scope: Scope, edges: Sequence[Edge]) -> None:
        """Put edges, each in the place of the one of its memory.

        Raises:
            InputError: an end was not placed. Nothing is stored.
        """

    def remove(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        """Take the edges of these memories out, and the names that no edge is left of; gives the edges, by memory. No byte
        of them stays after a purge. Where a name went that stood for others, those have to be placed anew."""

    def clear(self, scope: Scope) -> int:
        """Drop everything of this scope (before a rebuild); gives the number of edges that went."""


class GraphFeed(Protocol):
    """What a graph engine beside the database has still to hear of: numbers of memories alone, no word. Where no engine follows
    a scope nothing is noted."""

    def begin(self, scope: Scope) -> None:
        """An engine follows this scope from now on; where one does already, nothing happens."""

    def restart(self, scope: Scope) -> None:
        """An engine that follows has to be told everything again."""

    def note(self, scope: Scope, memories: Collection[int]) -> None:
        """The edges of these memories came, went, changed, or hang on other nodes: an engine has to hear of them."""

    def state(self, scope: Scope) -> Followed | None:
        """How far an engine has followed; None where none does. Each change of the graph gives it another version, which no
        other state of it ever had."""

    def waiting(self, scope: Scope, limit: int) -> dict[int, str]:
        """Memories whose edges are to be told, by number, each with the version of its last change."""

    def told(self, scope: Scope, version: str, heard: Mapping[int, str]) -> None:
        """The engine has the graph of that version. Of what it has heard, only what has not changed again is done with."""

    def count(self) -> int:
        """*Operator.* The edges that wait, of all scopes."""

    def lagging(self) -> list[Scope]:
        """*Operator.* The scopes whose engine has not heard of everything, in order of creation."""

    def following(self) -> dict[Scope, Followed]:
        """*Operator.* All scopes that an engine follows."""


class GraphEngine(Protocol):
    """A graph outside the database and its transactions. It follows the database, which keeps the graph as well.

    `owner` names a scope of one database and is part of every key. Telling begins with a claim; whoever claims later ends it, so
    that of two processes only one tells. While a claim stands the engine is of no version. Every method raises
    `EngineUnavailable` when the engine does not answer.
    """

    @property
    def name(self) -> str:
        """What it is and where, for people. No password in it."""

    def claim(
        self, owner: str, scope: Scope, version: str, told: str | None = None, known: Collection[str] = ()
    ) -> str | None:
        """Begin to tell a version; without `told`, everything of the owner goes first.

        Args:
            told: the version that the engine has, to be told what changed since. None is given back when it has another.
            known: versions between both. To any of them the engine may have been half told by a process that was killed.
        """

    def take(self, owner: str, claim: str, memories: Collection[int]) -> tuple[set[str], set[str]]:
        """Let go of the edges of these memories; gives the names and the nodes that they stood between.

        Raises:
            EngineBusy: somebody else tells now. So do `put`, `prune` and `finish`.
        """

    def put(self, owner: str, claim: str, telling: Telling) -> None:
        """Hold these. Edges of their memories were taken before; names may have hung on other nodes."""

    def prune(self, owner: str, claim: str, names: Collection[str], nodes: Collection[str]) -> None:
        """Let go of these names, and of those of these nodes that have no name any more."""

    def finish(self, owner: str, claim: str, version: str) -> None:
        """All is told: the engine is of this version."""

    def version(self, owner: str) -> str:
        """The version it is of; empty while it is being told, and where it knows nothing."""

    def owners(self, prefix: str) -> dict[str, str]:
        """Owners that begin so, with their versions."""

    def drop(self, owner: str) -> None:
        """Let go of everything of an owner."""

    def reader(self, owner: str) -> GraphReader:
        """What it holds of an owner. The scope that its methods are given is not looked at."""

    def close(self) -> None: ...
