"""When nightly work is done: once a night, at a quiet hour (SPEC O5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class NightPolicy:
    hour: int = 3  # in the zone of the settings, 0 to 23


def next_night(after: datetime, zone: tzinfo, policy: NightPolicy) -> datetime:
    """The first instant after `after` at which nightly work may begin.

    Where the clocks skip that hour it is an hour later, where they repeat it the first of the two.
    """
    local = after.astimezone(zone)
    night = local.replace(hour=policy.hour % 24, minute=0, second=0, microsecond=0, fold=0)
    # Compared as instants: on a day on which the clocks change, wall times mislead.
    while night.timestamp() <= after.timestamp():
        night += timedelta(days=1)
    return night
