"""All that a process keeps of its file between two questions (SPEC O6)."""

from __future__ import annotations

from collections.abc import Iterable

from jiyi.settings import SqlitePolicy
from jiyi.stores.sqlite.hot_vectors import HotVectors, Place
from jiyi.stores.sqlite.letters import Letters


class Kept:
    """Valid by what each unit of work reads in its own snapshot; dropped where this process writes to what it was read from."""

    def __init__(self, policy: SqlitePolicy) -> None:
        self.letters = Letters(policy)
        self.vectors = HotVectors(policy.kept_vectors_mb << 20, policy.kept_seconds)

    def drop(self, owners: Iterable[int], places: Iterable[Place]) -> None:
        """Messages of these owners, and chunks of these places, were written to."""
        self.letters.drop(owners)
        self.vectors.drop(places)

    def clear(self) -> None:
        """Keep nothing."""
        self.letters.clear()
        self.vectors.clear()
