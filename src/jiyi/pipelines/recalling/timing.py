"""How long the steps of one call took."""

from __future__ import annotations

from time import perf_counter


class Stopwatch:
    """Takes the time of one step after another; `laps` holds their names with seconds."""

    def __init__(self) -> None:
        self._last = perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """The step of that name ends now; one that comes twice is added up."""
        now = perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now
