"""Heat: how much a memory is used, visits × time decay (SPEC F5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class HeatPolicy:
    half_life: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Heat:
    """Decayed visit count as of `at`. Two numbers are enough to carry on from."""

    visits: float
    at: datetime

    def value(self, now: datetime, policy: HeatPolicy) -> float:
        """Visits that still count at `now`; time before `at` counts as none."""
        elapsed = max(now - self.at, timedelta(0))
        return float(self.visits * 0.5 ** (elapsed / policy.half_life))


def visited(heat: Heat | None, times: int, now: datetime, policy: HeatPolicy) -> Heat:
    """Heat after `times` more visits, the latest at `now`."""
    if heat is None:
        return Heat(float(times), now)
    if now < heat.at:
        # A late batch: decay the new visits to the moment we already stand at.
        return Heat(heat.visits + Heat(float(times), now).value(heat.at, policy), heat.at)
    return Heat(heat.value(now, policy) + times, now)
