"""What a long work tells of itself, kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jiyi.stores.moving import Step


class Showing:
    def __init__(self) -> None:
        self.told: list[tuple[str, int, int]] = []
        """What was done, of how many rows, and how many were told of."""

    @contextmanager
    def __call__(self, what: str, total: int) -> Iterator[Step]:
        done = 0

        def step(some: int) -> None:
            nonlocal done
            done += some

        yield step
        self.told.append((what, total, done))
