"""CPU time, measured so that a busy machine hurts every variant alike."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Job = Mapping[str, Callable[[], Any]]
"""One piece of work, once per variant."""


@dataclass(frozen=True, slots=True)
class Times:
    """CPU seconds of one variant, call by call."""

    seconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seconds)

    def plus(self, other: Times) -> Times:
        """Call by call, for two steps of the same jobs."""
        return Times(tuple(a + b for a, b in zip(self.seconds, other.seconds, strict=True)))


def interleave(jobs: Iterable[Job], clock: Callable[[], float], seed: int = 0) -> dict[str, Times]:
    """Run each job with every variant, in a fresh random order each time.

    Args:
        clock: `time.thread_time` for work done by the caller, `time.process_time` where other threads help.
    """
    rng = random.Random(seed)
    seconds: dict[str, list[float]] = {}
    for job in jobs:
        for name in rng.sample(list(job), len(job)):
            work = job[name]
            start = clock()
            work()
            seconds.setdefault(name, []).append(clock() - start)
    return {name: Times(tuple(taken)) for name, taken in seconds.items()}
