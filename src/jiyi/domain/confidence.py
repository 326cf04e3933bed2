"""How sure we are, as a pure function of elapsed time (SPEC B1, article A4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from jiyi.domain.memory import Memory, Source


@dataclass(frozen=True, slots=True)
class Curve:
    """Starts at `start` and loses `loss` every `period`, evenly in between."""

    start: float
    loss: float
    period: timedelta
    # A verification is good for this long and then counts as a declaration awaiting confirmation.
    good_for: timedelta | None = None


MONTH = timedelta(days=30)
WEEK = timedelta(days=7)


def _default_curves() -> Mapping[Source, Curve]:
    return MappingProxyType(
        {
            Source.DECLARED: Curve(0.95, 0.05, MONTH),
            Source.INFERRED: Curve(0.70, 0.10, WEEK),
            Source.VERIFIED: Curve(0.99, 0.05, MONTH, good_for=MONTH),
            Source.IMPORTED: Curve(0.60, 0.05, MONTH),
            Source.TOOL: Curve(0.50, 0.10, WEEK),
        }
    )


@dataclass(frozen=True, slots=True)
class ConfidencePolicy:
    curves: Mapping[Source, Curve] = field(default_factory=_default_curves)
    # A declaration whose subject had to be supplied (我们预算才50万) starts here (SPEC C3).
    implied_subject: float = 0.90
    # Somebody else's word about a person (张三说他负责…) starts here (SPEC C9).
    hearsay: float = 0.70

    def start(self, source: Source) -> float:
        return self.curves[source].start


def confidence(memory: Memory, now: datetime, policy: ConfidencePolicy) -> float:
    """Confidence in [0, 1] of a memory at `now`; never rises with time.

    Time before `affirmed_at` counts as none, so a clock set back does no harm.
    """
    return faded(memory.source, memory.start, now - memory.affirmed_at, policy)


_NO_TIME = timedelta(0)


def faded(source: Source, start: float, elapsed: timedelta, policy: ConfidencePolicy) -> float:
    """What is left of a confidence that began at `start` after a time without restating."""
    curve, elapsed = policy.curves[source], max(elapsed, _NO_TIME)
    if curve.good_for is not None:
        if elapsed <= curve.good_for:
            return start
        # SPEC B1: verified, valid 30 days, then declared awaiting confirmation.
        elapsed -= curve.good_for
        curve = policy.curves[Source.DECLARED]
        start = min(start, curve.start)
    return min(1.0, max(0.0, start - curve.loss * (elapsed / curve.period)))
