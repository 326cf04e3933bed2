"""The port of the vectors inside a store (SPEC R11). A part of `ports.Unit`; what makes vectors is in `embedding`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Neighbour, Vector, VectorSet
from jiyi.ports.text_index import Kind


class VectorIndex(Protocol):
    """Nearest neighbours inside one scope, kind and model (SPEC R11). A view: an embedder can make it again.

    A scope may have several sets, one a model; no search reaches more than one.
    """

    def begin(self, scope: Scope, model: str, dimension: int) -> None:
        """There is a set of this model from now on. One that is there already stays as it is.

        Raises:
            InputError: it is there with another dimension.
        """

    def sets(self, scope: Scope) -> list[VectorSet]:
        """The sets of a scope, by when they were begun."""

    def add(self, scope: Scope, kind: Kind, model: str, vectors: Mapping[int, Vector]) -> None:
        """Put vectors by the number of their text, each in the place of the one of its number.

        Raises:
            InputError: the set was not begun, or has another dimension. Nothing is stored.
        """

    def remove(self, scope: Scope, kind: Kind, seqs: Collection[int]) -> int:
        """Take these texts out of every set; gives the number of vectors that went. No byte of them stays after a purge."""

    def search(self, scope: Scope, kind: Kind, model: str, query: Vector, limit: int) -> list[Neighbour]:
        """The nearest, best first, at most `limit`; equal cosines by higher seq. Nothing where there is no such set.

        Raises:
            InputError: the query has another dimension than the set.
        """

    def held(self, scope: Scope, kind: Kind, model: str) -> set[int]:
        """The texts that have a vector."""

    def count(self, scope: Scope, kind: Kind, model: str) -> int: ...

    def embedded_up_to(self, scope: Scope, model: str) -> int:
        """The highest message number up to which messages have vectors (or never will), 0 at first."""

    def mark_embedded_up_to(self, scope: Scope, model: str, seq: int) -> None:
        """Raises: InputError when the set was not begun."""

    def drop(self, scope: Scope, model: str) -> int:
        """Take a whole set away; gives the number of vectors that went."""
