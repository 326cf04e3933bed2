"""The port of the graph (SPEC G1–G3). A part of `ports.Unit`, whose rules hold here too."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from jiyi.domain.entities import Name
from jiyi.domain.graph import Edge, Link
from jiyi.domain.scope import Scope


class Graph(Protocol):
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

    def listing(
        self, scope: Scope, relations: Collection[str] = (), *, after: int = 0, limit: int = 1000
    ) -> list[Link]:
        """Edges by memory: those above the memory `after`, of these relations or of any, at most `limit`."""

    def count(self, scope: Scope) -> tuple[int, int]:
        """Names and edges."""

    def clear(self, scope: Scope) -> int:
        """Drop everything of this scope (before a rebuild); gives the number of edges that went."""
