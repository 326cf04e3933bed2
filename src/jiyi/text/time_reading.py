"""What each wording of a time means against an anchor (SPEC C8).

A pattern of `text/time_patterns.py` finds a *piece*: a day, a part of a day, a clock time, a recurrence; here its match
is read. `text/times.py` joins pieces that stand together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

from jiyi.text.calendars import Calendar, Grain, When, month_end
from jiyi.text.numbers import digit_string, whole_number

# A date without its year is the nearest one when it is this near, whatever the year says.
NEAR_DAYS = 92
LAST_DAY = 3
_MONTH_OF_THIRD = {0: 1, 1: 6, 2: 12, 3: 12}  # of a year: 年初, 年中, 年底


class Lean(StrEnum):
    """Where a bare 周五 or 3月5日 is looked for when the talk says so: a deadline lies ahead, what happened behind."""

    PAST = "past"
    FUTURE = "future"


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a time expression at `[start, end)`.

    `dates`: it names a day or a longer stretch; `when` is None when that is ambiguous. `weekday` (0 is Monday) and
    `day_of_month` are set when they stand alone, so that a week or a month beside them can complete them. `clock` is
    (hour, minute), `sure` when it can be read in one way only. `relative`: it cannot be understood without the anchor.
    """

    start: int
    end: int
    dates: bool = False
    when: When | None = None
    relative: bool = True
    recurring: bool = False
    weekday: int | None = None
    day_of_month: int | None = None
    part: tuple[int, int] | None = None
    clock: tuple[int, int] | None = None
    sure: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """The lists of `times.toml`, both languages together for looking up, and each for building patterns."""

    zh: Mapping[str, Any]
    en: Mapping[str, Any]
    all: Mapping[str, Mapping[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        names = {*self.zh, *self.en} - {"recurring", "moved", "capital_months", "short_weekdays"}
        both = {n: {k.lower(): v for t in (self.zh, self.en) for k, v in t.get(n, {}).items()} for n in names}
        both["months"] |= {k.lower(): v for k, v in self.en["capital_months"].items()}
        both["weekdays"] |= {k.lower(): v for k, v in self.en["short_weekdays"].items()}
        object.__setattr__(self, "all", both)

    def look_up(self, name: str, word: str) -> Any:
        return self.all[name][" ".join(word.lower().rstrip(".").split())]


@dataclass(frozen=True, slots=True)
class Reading:
    """One text being read against one anchor."""

    words: Words
    anchor: datetime
    lean: Lean | None
    calendar: Calendar
    today: date

    # ------------------------------------------------------------------ dates

    def month_day(self, m: re.Match[str]) -> Piece:
        """3月15日, 明年3月, 三月底, March 11, 11 March 2026, early May, March 1-5."""
        g = m.groupdict()
        month = self._month(g)
        day, until = (int(whole_number(g[k]) or 0) if g.get(k) else None for k in ("d", "d2"))

        def make(year: int) -> When:
            if day is not None and until is not None:
                return self.calendar.days(date(year, month, day), date(year, month, until))
            if day is not None:
                return self.calendar.day(date(year, month, day))
            return self._part_of_month(year, month, g)

        year, given = self._year(g)
        when = self._nearest(make) if year is None else make(year)
        return _date(m, when, relative=not given)

    def numeric(self, m: re.Match[str]) -> Piece:
        """2026-03-11, 2026/3/11, 2026.3.11, 3/11/2026 (month first unless that is impossible), 11.3.2026 (day first unless that
        is impossible), with or without a time."""
        g = m.groupdict()
        one, two = int(g["a"]), int(g["b"])
        if g.get("year_last") and (two <= 12 if "." in m.group() else one > 12):
            one, two = two, one
        if g.get("sep") == "." and re.search(r"[A-Za-z]\s*$", m.string[max(0, m.start() - 2) : m.start()]):
            return Piece(m.start(), m.end())  # PyCharm 2023.3.1
        day = date(int(g.get("y") or g["year_last"]), one, two)
        if g.get("hour") is None:
            return _date(m, self.calendar.day(day), relative=False)
        hour, minute = int(g["hour"]), int(g["minute"])
        if g["zone"]:
            zone = UTC if g["zone"] in "Zz" else timezone(_offset(g["zone"]))
            at = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).astimezone(self.calendar.zone)
        else:
            at = self.calendar.moment(day, hour, minute)
        return _date(m, self.calendar.minute(at), relative=False)

    def year_month(self, m: re.Match[str]) -> Piece:
        return _date(m, self.calendar.month(int(m["y"]), int(m["m"])), relative=False)

    def year(self, m: re.Match[str]) -> Piece:
        """2026年, 去年, 明年底, 今年第三季度, 去年春天, spring 2025, Q3 2026, in 2026."""
        g = m.groupdict()
        year, given = self._year(g)

        def make(year: int) -> When:
            if third := g.get("third"):
                # 年底 and 年初 are said of a whole month.
                return self.calendar.month(year, _MONTH_OF_THIRD[self.words.look_up("thirds", third)])
            if half := g.get("half"):
                return self.calendar.months(year, 1 if half in "上" else 7, 6, Grain.SPAN)
            if quarter := g.get("q") or g.get("q2"):
                number = self.words.all["ordinals"].get(quarter.lower()) or whole_number(quarter) or 0
                return self.calendar.quarter(year, number)
            if season := g.get("season"):
                return self.calendar.season(year, self.words.look_up("seasons", season))
            return self.calendar.year(year)

        if year is not None:
            return _date(m, make(year), relative=not given)
        if g.get("third") or g.get("half"):
            return _date(m, make(self.today.year))
        return _date(m, self._nearest(make))

    def shifted(self, m: re.Match[str]) -> Piece:
        """上周, 下个月底, 本月15号, next week, the end of this month, the week after next."""
        g = m.groupdict()
        shift = self._shift(g)
        today, calendar = self.today, self.calendar
        match self.words.look_up("units", g["u"]):
            case "week":
                when = calendar.week(today + timedelta(weeks=shift))
                if g.get("third"):
                    return _date(m, when if self._third(g) == LAST_DAY else None)
            case "month":
                month = today.month + shift
                if g.get("d"):
                    year, month = today.year + (month - 1) // 12, (month - 1) % 12 + 1
                    return _date(m, calendar.day(date(year, month, whole_number(g["d"]) or 0)))
                when = self._part_of_month(today.year, month, g)
            case "quarter":
                when = calendar.quarter(today.year, (today.month + 2) // 3 + shift)
                if g.get("third"):
                    return _date(m, calendar.day(when.last_day) if self._third(g) == LAST_DAY else None)
            case "year":
                year = today.year + shift
                when = calendar.year(year)
                if g.get("third"):
                    when = calendar.month(year, _MONTH_OF_THIRD[self._third(g)])
            case "day":
                when = calendar.day(today + timedelta(days=shift))
            case _:
                return _date(m, None)
        return _date(m, when)

    def shifted_season(self, m: re.Match[str]) -> Piece:
        """上个春天 and last spring: the latest one that is over; next summer: the first that has not begun."""
        month = self.words.look_up("seasons", m["season"])
        seasons = [self.calendar.season(self.today.year + n, month) for n in (-2, -1, 0, 1)]
        return _date(m, self._last_or_next(seasons, self._shift(m.groupdict())))

    def shifted_month(self, m: re.Match[str]) -> Piece:
        """last March: the latest one that is over; next May: the first that has not begun."""
        months = [self.calendar.month(self.today.year + n, self._month(m.groupdict())) for n in (-2, -1, 0, 1)]
        return _date(m, self._last_or_next(months, self._shift(m.groupdict())))

    def weekday_zh(self, m: re.Match[str]) -> Piece:
        """下周三: the Wednesday of the next week that begins on a Monday. A bare 周三 may be either."""
        weekday = self.words.look_up("weekdays", m["w"])
        if m["s"] is None:
            return self._bare_weekday(m, weekday)
        shift = self._shift(m.groupdict())
        day = self._weekday_of_week(shift, weekday)
        if m["s"].endswith("个") and abs(shift) == 1:
            # 上个周五 said on a Sunday may be two days ago or nine.
            return _date(m, self.calendar.day(day) if day == self._beside(weekday, shift) else None)
        return _date(m, self.calendar.day(day))

    def weekday_en(self, m: re.Match[str]) -> Piece:
        """last Friday: the latest before today. next Friday: that of next week, which begins on a Monday.
        this Friday: that of this week, unless it is over."""
        weekday = self.words.look_up("weekdays", m["w"])
        if m["s"] is None:
            return self._bare_weekday(m, weekday)
        shift = self._shift(m.groupdict())
        if shift < 0:
            return _date(m, self.calendar.day(self._beside(weekday, -1)))
        day = self._weekday_of_week(shift, weekday)
        if shift == 0 and " ".join(m["s"].lower().split()) == "this coming":
            day = self._beside(weekday, 1)
        return _date(m, self.calendar.day(day) if day >= self.today else None)

    def weekend(self, m: re.Match[str]) -> Piece:
        if m["s"] is not None:
            return _date(m, self.calendar.weekend(self.today + timedelta(weeks=self._shift(m.groupdict()))))
        if self.lean is None:
            return _date(m, None)
        when = self.calendar.weekend(self.today)
        if self.lean is Lean.PAST and when.first_day > self.today:
            when = self.calendar.weekend(self.today - timedelta(weeks=1))
        return _date(m, when)

    def day_of_month(self, m: re.Match[str]) -> Piece:
        """15号, on the 15th: this month's, when it is still to come; one that is past may be the next month's."""
        day = whole_number(m["d"]) or 0
        when = None
        steps = (0, 1, 2) if self.lean is Lean.FUTURE else (0, -1, -2) if self.lean is Lean.PAST else (0,)
        for step in steps:
            month = self.today.month + step
            year, month = self.today.year + (month - 1) // 12, (month - 1) % 12 + 1
            if 1 <= day <= month_end(year, month).day:
                found = date(year, month, day)
                if found <= self.today if self.lean is Lean.PAST else found >= self.today:
                    when = self.calendar.day(found)
                    break
        return replace(_date(m, when), day_of_month=day)

    def day(self, m: re.Match[str]) -> Piece:
        return _date(m, self.calendar.day(self.today + timedelta(days=self.words.look_up("days", m["day"]))))

    def fused(self, m: re.Match[str]) -> Piece:
        """今晚, tonight."""
        offset, part = self.words.look_up("fused", m["fused"])
        day = self.calendar.day(self.today + timedelta(days=offset))
        return Piece(m.start(), m.end(), dates=True, when=day, part=self._hours(part))

    # ------------------------------------------------------------------ distances

    def distance(self, m: re.Match[str]) -> Piece:
        """三天后, 两个月前, 半年前, in half an hour, two weeks ago: as exact as its unit."""
        g = m.groupdict()
        sign = -1 if (g.get("dir") or "").lower() in ("前", "ago") else 1
        unit = self.words.look_up("units", g["u"])
        half = g["n"].lower().startswith(("半", "half"))
        count = None if half or g.get("vague") else self._count(g["n"])
        if g.get("vague") or (not half and count is None):
            return _date(m, None)
        return _date(m, self._away(unit, None if half else sign * int(count or 0), sign))

    def within(self, m: re.Match[str]) -> Piece:
        """三天内: from now on, where what is spoken of lies ahead."""
        unit, count = self.words.look_up("units", m["u"]), self._count(m["n"])
        if self.lean is not Lean.FUTURE or count is None or unit not in ("day", "week", "month", "year"):
            return _date(m, None)
        if unit in ("day", "week"):
            last = self.today + timedelta(days=count * (7 if unit == "week" else 1))
        else:
            month = self.today.month + count * (12 if unit == "year" else 1)
            end = month_end(self.today.year, month)
            last = end.replace(day=min(self.today.day, end.day))
        return _date(m, self.calendar.days(self.today, last))

    def _away(self, unit: str, count: int | None, sign: int) -> When | None:
        """`count` units away; None stands for half of one."""
        today, calendar = self.today, self.calendar
        if unit in ("minute", "hour"):
            length = 60 if unit == "hour" else 1
            minutes = length * count if count is not None else sign * (length // 2)
            at = (self.anchor.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(calendar.zone)
            return calendar.minute(at) if minutes else None
        if count is None:
            if unit == "year":
                return calendar.month(today.year, today.month + 6 * sign)
            return calendar.week(today + timedelta(days=15 * sign)) if unit == "month" else None
        match unit:
            case "day":
                return calendar.day(today + timedelta(days=count))
            case "week":
                return calendar.week(today + timedelta(weeks=count))
            case "fortnight":
                return calendar.week(today + timedelta(weeks=2 * count))
            case "month":
                return calendar.month(today.year, today.month + count)
            case "quarter":
                return calendar.quarter(today.year, (today.month + 2) // 3 + count)
        return calendar.year(today.year + count)

    # ------------------------------------------------------------------ parts of a day

    def part(self, m: re.Match[str]) -> Piece:
        return Piece(m.start(), m.end(), part=self._hours(m["part"]))

    def clock(self, m: re.Match[str]) -> Piece:
        """下午三点半, 20:15, 3:30 pm, noon."""
        g = m.groupdict()
        if g.get("noon"):
            return Piece(m.start(), m.end(), clock=(12, 0), sure=True)
        hour, minute = whole_number(g["h"]), self._minutes(g)
        if hour is None or minute is None or hour > 24 or minute > 59 or (hour == 24 and minute):
            return Piece(m.start(), m.end())
        if half := (g.get("ap") or "").lower():
            if not 1 <= hour <= 12:
                return Piece(m.start(), m.end())
            return Piece(m.start(), m.end(), clock=(hour % 12 + (12 if half[0] == "p" else 0), minute), sure=True)
        written = g["h"]
        sure = hour > 12 or written.startswith("0") or (bool(g.get("colon")) and hour >= 7)
        return Piece(m.start(), m.end(), clock=(hour, minute), sure=sure)

    def recurring(self, m: re.Match[str]) -> Piece:
        return Piece(m.start(), m.end(), dates=True, recurring=True)

    # ------------------------------------------------------------------ small parts

    def _hours(self, word: str) -> tuple[int, int]:
        first, last = self.words.look_up("parts", word)
        return int(first), int(last)

    def _minutes(self, g: Mapping[str, str | None]) -> int | None:
        if g.get("half_past"):
            return 30
        if quarters := g.get("quarters"):
            return 15 * (whole_number(quarters) or 0)
        written = (g.get("mi") or g.get("mi2") or "").lstrip("零〇")
        return whole_number(written) if written else 0

    def _month(self, g: Mapping[str, str | None]) -> int:
        if name := g.get("mon"):
            return int(self.words.look_up("months", name))
        return whole_number((g["m"] or "").replace("正", "一").lstrip("0")) or 0

    def _third(self, g: Mapping[str, str | None]) -> int:
        word = (g["third"] or "").lower()
        name = "edges" if word in self.words.all["edges"] else "thirds"
        return int(self.words.look_up(name, word))

    def _part_of_month(self, year: int, month: int, g: Mapping[str, str | None]) -> When:
        if not g.get("third"):
            return self.calendar.month(year, month)
        which = self._third(g)
        if which == LAST_DAY:
            # 月底 as people set dates by it: the last day.
            return self.calendar.day(month_end(year, month))
        return self.calendar.third(year, month, which)

    def _year(self, g: Mapping[str, str | None]) -> tuple[int | None, bool]:
        """The year that is named, and whether it is named outright."""
        if written := g.get("y"):
            digits = written.removesuffix("年").strip()
            return (int(digits) if digits.isdigit() and digits.isascii() else digit_string(digits)), True
        if word := g.get("ry"):
            return self.today.year + int(self.words.look_up("years", word)), False
        if written := g.get("yn"):
            count = self._count(written)
            if count is None:
                raise ValueError(written)
            return self.today.year + (-count if g["yd"] == "前" else count), False
        return None, False

    def _count(self, written: str) -> int | None:
        number = self.words.all["numbers"].get(written.lower())
        return int(number) if number is not None else whole_number(written)

    def _shift(self, g: Mapping[str, str | None]) -> int:
        if beyond := g.get("beyond"):
            return 2 if beyond.lower().split()[0] == "after" else -2
        word = g.get("s")
        return int(self.words.look_up("shifts", word)) if word else 0

    def _bare_weekday(self, m: re.Match[str], weekday: int) -> Piece:
        when = None
        if self.lean is Lean.FUTURE:
            when = self.calendar.day(self.today + timedelta(days=(weekday - self.today.weekday()) % 7))
        elif self.lean is Lean.PAST:
            when = self.calendar.day(self.today - timedelta(days=(self.today.weekday() - weekday) % 7))
        return replace(_date(m, when), weekday=weekday)

    def _weekday_of_week(self, weeks: int, weekday: int) -> date:
        return self.today + timedelta(days=7 * weeks + weekday - self.today.weekday())

    def _beside(self, weekday: int, direction: int) -> date:
        """The nearest such day strictly before (-1) or after (1) today."""
        if direction < 0:
            return self.today - timedelta(days=(self.today.weekday() - weekday - 1) % 7 + 1)
        return self.today + timedelta(days=(weekday - self.today.weekday() - 1) % 7 + 1)

    def _last_or_next(self, stretches: Sequence[When], shift: int) -> When | None:
        if shift < 0:
            return max((w for w in stretches if w.last_day < self.today), key=lambda w: w.start, default=None)
        if shift > 0:
            return min((w for w in stretches if w.first_day > self.today), key=lambda w: w.start, default=None)
        return next((w for w in stretches if w.first_day.year == self.today.year), None)

    def _nearest(self, make: Callable[[int], When]) -> When | None:
        """Which year is meant when none is named. Where the talk leans, the first one in that direction. Else the
        nearest when it is this year's or within three months; else this year's when it lies ahead; else unclear."""
        found = []
        for year in (self.today.year - 1, self.today.year, self.today.year + 1):
            try:
                found.append(make(year))
            except (ValueError, OverflowError):
                continue  # 29 February
        if self.lean is Lean.FUTURE:
            return next((w for w in found if w.last_day >= self.today), None)
        if self.lean is Lean.PAST:
            return next((w for w in reversed(found) if w.first_day <= self.today), None)
        nearest = min(found, key=self._days_off, default=None)
        if nearest is None or nearest.first_day.year == self.today.year or self._days_off(nearest) <= NEAR_DAYS:
            return nearest
        return next((w for w in found if w.first_day.year == self.today.year and w.first_day > self.today), None)

    def _days_off(self, when: When) -> int:
        return max((when.first_day - self.today).days, (self.today - when.last_day).days, 0)


def _date(m: re.Match[str], when: When | None, *, relative: bool = True) -> Piece:
    # A preposition may be needed to know a month by (in May); it is no part of the expression.
    group = "core" if "core" in m.re.groupindex and m["core"] else 0
    return Piece(m.start(group), m.end(group), dates=True, when=when, relative=relative)


def _offset(written: str) -> timedelta:
    hours, minutes = int(written[1:3]), int(written[-2:])
    return (timedelta(hours=hours, minutes=minutes)) * (-1 if written[0] == "-" else 1)
