"""Stretches of calendar time in a time zone: days, weeks, months, quarters, seasons, years (SPEC C8).

Weeks begin on Monday. Seasons are those of the northern hemisphere, three whole months each, winter beginning in
December of the year it is named for.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum


class Grain(StrEnum):
    """How exactly a time is known. A span is any other stretch: a weekend, an evening, the first ten days of a month."""

    MINUTE = "minute"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    SPAN = "span"


@dataclass(frozen=True, slots=True)
class When:
    """The time `[start, end)`, aware, in the anchor's zone."""

    start: datetime
    end: datetime
    grain: Grain

    @property
    def first_day(self) -> date:
        return self.start.date()

    @property
    def last_day(self) -> date:
        """The last day that it touches."""
        day = self.end.date()
        midnight = (self.end.hour, self.end.minute) == (0, 0)
        return day - timedelta(days=1) if midnight and day > self.first_day else day

    @property
    def label(self) -> str:
        """As ISO 8601 writes it, as exact as it is: 2026-03-11 15:30, 2026-03-11, 2026-03, 2026-Q3, 2026, 2026-03-09/2026-03-15."""
        start, first, last = self.start, self.first_day, self.last_day
        match self.grain:
            case Grain.MINUTE:
                return f"{first.isoformat()} {start:%H:%M}"
            case Grain.MONTH:
                return _month(first)
            case Grain.QUARTER:
                return f"{first.year:04d}-Q{(first.month + 2) // 3}"
            case Grain.YEAR:
                return f"{first.year:04d}"
        if first == last:
            return first.isoformat()
        if first.day == 1 and self.end.day == 1 and _month(first) != _month(last):
            return f"{_month(first)}/{_month(last)}"
        return f"{first.isoformat()}/{last.isoformat()}"


def _month(day: date) -> str:
    return f"{day.year:04d}-{day.month:02d}"


@dataclass(frozen=True, slots=True)
class Calendar:
    """Makes stretches of time in one zone. Every method may raise ValueError or OverflowError beyond the years 1 to 9999."""

    zone: tzinfo

    def moment(self, day: date, hour: int = 0, minute: int = 0) -> datetime:
        """A wall-clock time; one that a change to summer time leaves out is moved to where clocks then stand."""
        if hour == 24:
            day, hour = day + timedelta(days=1), 0
        local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
        return local.astimezone(UTC).astimezone(self.zone)

    def minute(self, at: datetime) -> When:
        start = at.replace(second=0, microsecond=0)
        return When(start, (start.astimezone(UTC) + timedelta(minutes=1)).astimezone(self.zone), Grain.MINUTE)

    def days(self, first: date, last: date, grain: Grain = Grain.SPAN) -> When:
        """From the first to the last day, both included."""
        return When(self.moment(first), self.moment(last + timedelta(days=1)), grain)

    def day(self, day: date) -> When:
        return self.days(day, day, Grain.DAY)

    def hours(self, day: date, start: int, end: int) -> When:
        return When(self.moment(day, start), self.moment(day, end), Grain.SPAN)

    def week(self, day: date) -> When:
        monday = day - timedelta(days=day.weekday())
        return self.days(monday, monday + timedelta(days=6), Grain.WEEK)

    def weekend(self, day: date) -> When:
        """Saturday and Sunday of the day's week."""
        monday = day - timedelta(days=day.weekday())
        return self.days(monday + timedelta(days=5), monday + timedelta(days=6))

    def months(self, year: int, month: int, count: int, grain: Grain) -> When:
        """`count` whole months from a month on; `month` may lie outside 1–12."""
        first = month_start(year, month)
        return self.days(first, month_start(year, month + count) - timedelta(days=1), grain)

    def month(self, year: int, month: int) -> When:
        return self.months(year, month, 1, Grain.MONTH)

    def third(self, year: int, month: int, which: int) -> When:
        """The first, second or last ten days of a month (0, 1, 2)."""
        start = month_start(year, month)
        last = month_end(year, month).day if which == 2 else 10 * (which + 1)
        return self.days(start.replace(day=10 * which + 1), start.replace(day=last))

    def quarter(self, year: int, quarter: int) -> When:
        return self.months(year, 3 * quarter - 2, 3, Grain.QUARTER)

    def season(self, year: int, first_month: int) -> When:
        return self.months(year, first_month, 3, Grain.SPAN)

    def year(self, year: int) -> When:
        return self.months(year, 1, 12, Grain.YEAR)


def month_start(year: int, month: int) -> date:
    """The first of a month, which may lie outside 1–12: month 13 is January of the next year."""
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def month_end(year: int, month: int) -> date:
    return month_start(year, month + 1) - timedelta(days=1)
