"""When a message was said, from the ways in which files write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

# Nobody kept chats before; what lies outside is a wrong unit, not a date.
FIRST_YEAR, LAST_YEAR = 1970, 2199

# Seconds since 1970 stay below this until the year 5138; the same instants in milliseconds lie above it since 1973.
MILLISECONDS_FROM = 100_000_000_000

# Characters of a wrong date that an error shows.
_SHOWN = 40

_GAP = timedelta(microseconds=1)

_ENGLISH = re.compile(
    r"\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})\s*(?P<half>[ap])\.?m\.?\s+on\s+"
    r"(?P<day>\d{1,2})\s+(?P<month>[a-z]+),?\s+(?P<year>\d{4})\s*",
    re.IGNORECASE | re.ASCII,
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
         "november", "december"),
        start=1,
    )
}  # fmt: skip


def pinned(at: datetime) -> datetime:
    """The same instant under a fixed offset, so that adding seconds never crosses a change of the clocks."""
    return at.astimezone(timezone(at.utcoffset() or timedelta()))


def instant(value: object, zone: tzinfo) -> datetime:
    """An ISO date-time, or seconds or milliseconds since 1970; `zone` is for what names none.

    Raises:
        ValueError: it is neither, or outside the years 1970–2199.
    """
    if isinstance(value, str):
        # Fewer digits are a date without dashes.
        if not re.fullmatch(r"\s*\d{9,}(\.\d+)?\s*", value, re.ASCII):
            return _plausible(_iso(value), zone)
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected an ISO date-time or seconds since 1970, not {type(value).__name__}")
    return _since_1970(value, zone)


def english_instant(text: str, zone: tzinfo) -> datetime:
    """`1:56 pm on 8 May, 2023`, the way LoCoMo dates its sessions; ISO too.

    Raises:
        ValueError: it is no such date.
    """
    match = _ENGLISH.fullmatch(text)
    if match is None:
        return instant(text, zone)
    month = _MONTHS.get(match["month"].lower())
    hour = int(match["hour"])
    if month is None or not 1 <= hour <= 12:
        raise ValueError(f"{text[:_SHOWN]!r} is no date")
    hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    return _plausible(datetime(int(match["year"]), month, int(match["day"]), hour, int(match["minute"])), zone)  # noqa: DTZ001


def morning(day: date, zone: tzinfo) -> datetime:
    """09:00 of a day of which only the date is known.

    Raises:
        ValueError: it lies outside the years 1970–2199.
    """
    return _plausible(datetime.combine(day, time(9)), zone)


def fill_gaps(instants: Sequence[datetime | None], start: datetime | None) -> list[datetime]:
    """Give the undated ones a place: a microsecond after the one before.

    Those before the first dated one begin at `start` when it is earlier, else lie a microsecond apart before it.
    At least one must be dated.
    """
    first_index, first = next((i, at) for i, at in enumerate(instants) if at is not None)
    begin = first - first_index * _GAP
    if start is not None and start < begin:
        begin = pinned(start)
    filled = [begin + i * _GAP for i in range(first_index)]
    last = first
    for at in instants[first_index:]:
        last = at if at is not None else last + _GAP
        filled.append(last)
    return filled


def _iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text[:_SHOWN]!r} is no ISO date-time such as 2026-03-01T09:00:00+08:00") from None


def _since_1970(value: float, zone: tzinfo) -> datetime:
    # Compared before it is converted: a whole number of any length may stand here, and infinity and NaN too.
    seconds = value / 1000 if MILLISECONDS_FROM <= value < MILLISECONDS_FROM * 1000 else value
    if not 0 <= seconds < MILLISECONDS_FROM:
        raise ValueError("expected seconds or milliseconds since 1970")
    return _plausible(datetime.fromtimestamp(seconds, UTC), zone, convert=True)


def _plausible(at: datetime, zone: tzinfo, *, convert: bool = False) -> datetime:
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        raise ValueError(f"the year {at.year} is outside {FIRST_YEAR}–{LAST_YEAR}")
    if convert:
        at = at.astimezone(zone)
    return pinned(at if at.tzinfo is not None else at.replace(tzinfo=zone))
