"""All that a process keeps of its file between two questions (SPEC O6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from jiyi.settings import SqlitePolicy
from jiyi.stores.sqlite.hot_vectors import HotVectors, Place
from jiyi.stores.sqlite.kept_memories import KeptMemories
from jiyi.stores.sqlite.letters import Letters
from jiyi.stores.sqlite.places import KeptPlaces


class Kept:
    """Valid by what each unit of work reads in its own snapshot; dropped where this process writes to what it was read from."""

    def __init__(self, policy: SqlitePolicy) -> None:
        self.letters = Letters(policy)
        self.places = KeptPlaces(policy)
        self.memories = KeptMemories(policy)
        self.vectors = HotVectors(policy.kept_vectors_mb << 20, policy.kept_seconds)

    def drop(self, owners: Collection[int], memories: Iterable[int], places: Iterable[Place]) -> None:
        """Messages of these owners, memories of those, and chunks of these places were written to."""
        self.letters.drop(owners)
        self.places.drop(owners)
        self.memories.drop(memories)
        self.vectors.drop(places)

    def clear(self) -> None:
        """Keep nothing."""
        self.letters.clear()
        self.places.clear()
        self.memories.clear()
        self.vectors.clear()
