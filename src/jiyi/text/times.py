"""Times in running text: where they stand, and what they mean against the instant at which they were said (SPEC C8).

    下周三 · 三天后 · 3月11号下午三点半 · next Friday · half an hour ago · March 11 at 3:30 pm

Right or absent: what may mean two days is recognised and has no value. The conventions, where people differ:

- Weeks begin on Monday. 下周三 and "next Wednesday" are in the next week. 上周五 is in the last week; "last Friday" is the
  latest one before today, and "this Friday" has no value once it is over.
- A date without its year is this year's or the nearest one (`Reading._nearest`); a bare 周五 or "Friday" has no value
  unless the caller says which way the talk leans.
- 3/11/2026 is March 11 unless the month is impossible.
- 两个月前 is as exact as its unit: a month. 月底 is the last day of the month. Seasons are those of the north.
- 每周五 and "every Friday" are recurrences, never one date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from jiyi.text.calendars import Calendar, Grain, When
from jiyi.text.time_patterns import either, signs_of, wordings_of
from jiyi.text.time_reading import Lean, Piece, Reading, Words

_GLUE = re.compile(
    r"\s*的?\s*|,?\s+(?:(?:at|on|of|around|about|from)\s+)?(?:the\s+)?|\s*[,，]\s*|\s*@\s*|\s*[(（]\s*", re.IGNORECASE
)
# Words of moving stand this near before the first of two times.
_NEAR = 80
_RANGE = re.compile(r"\s*(?:到|至|-|–|—|~|～|\bto\b|\bthrough\b|\buntil\b|\btill\b)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time named at `[start, end)` of a text.

    `when` is None when it is ambiguous, impossible (2月30日) or `recurring`. `relative`: it cannot be understood without the
    anchor (昨天, also 3月15日 without its year). `names_day`: it says a day or more, not only a time of day.
    """

    start: int
    end: int
    text: str
    when: When | None
    relative: bool = True
    recurring: bool = False
    names_day: bool = True


class Times:
    """Reads times. Built once from the word lists; pure, so one may serve all threads."""

    __slots__ = ("_cues", "_moved", "_wordings", "_words")

    def __init__(self, data: Mapping[str, Any]) -> None:
        """`data` is the parsed `times.toml`. Raises: KeyError when it lacks a list."""
        self._words = Words(data["zh"], data["en"])
        self._wordings = wordings_of(self._words)
        self._cues = _cues(self._words)
        self._moved = re.compile(
            rf"\b(?:{either(data['en']['moved'])})\b[^.,;!?\n]*\bfrom\s+(?:the\s+)?\Z", re.IGNORECASE
        )

    def may_hold(self, text: str) -> bool:
        """Whether it is worth looking: cheap, and never False for a text that holds a time."""
        return not self._cues.isdisjoint(signs_of(text))

    def find(self, text: str, anchor: datetime, lean: Lean | None = None) -> tuple[TimeExpression, ...]:
        """The time expressions of a text, from left to right, without overlap.

        Args:
            text: any text, as the user wrote it or with its characters folded one by one.
            anchor: when it was said, aware, in the zone where the user was.
            lean: which way a bare weekday or a date without a year is meant; no guess without it.

        Raises:
            ValueError: an anchor without a zone.
        """
        if anchor.tzinfo is None:
            raise ValueError(f"{anchor.isoformat()} has no time zone")
        signs = signs_of(text)
        if self._cues.isdisjoint(signs):
            return ()
        reading = Reading(self._words, anchor, lean, Calendar(anchor.tzinfo), anchor.date())
        joined = _join(self._pieces(text, signs, reading), text, reading, self._from_one_to_another)
        return tuple(e for e in (_expression(run, text, reading) for run in joined) if e is not None)

    def read(self, text: str, anchor: datetime, lean: Lean | None = None) -> When | None:
        """What a text that is one time expression and nothing else means."""
        found = self.find(text, anchor, lean)
        whole = len(found) == 1 and found[0].text == text.strip()
        return found[0].when if whole else None

    def inside_sentence(self, words: str) -> str:
        """An English time as it is written inside a sentence: Yesterday → yesterday, but Friday stays."""
        first = words.split(" ", 1)[0].rstrip(".,").lower()
        named = any(first in self._words.all[name] for name in ("weekdays", "months"))
        return words if named else words[:1].lower() + words[1:]

    def _pieces(self, text: str, signs: frozenset[str], reading: Reading) -> list[Piece]:
        found = []
        for order, wording in enumerate(self._wordings):
            if wording.needs and wording.needs.isdisjoint(signs):
                continue
            for match in wording.pattern.finditer(text):
                if match.end() == match.start():
                    continue
                try:
                    piece = wording.handler(reading, match)
                except (ValueError, OverflowError):
                    # 2月30日, or a year beyond the calendar: a time that is none.
                    piece = Piece(match.start(), match.end(), dates=True)
                if piece.recurring and _RANGE.search(match.group()) and self._from_one_to_another(text, piece.start):
                    continue
                if piece.dates or piece.part or piece.clock:
                    found.append((piece.start, -piece.end, order, piece))
        found.sort(key=lambda entry: entry[:3])
        pieces: list[Piece] = []
        for _, _, _, piece in found:
            if not pieces or piece.start >= pieces[-1].end:
                pieces.append(piece)
        return pieces

    def _from_one_to_another(self, text: str, start: int) -> bool:
        """Whether the times from here on are what something was moved from and to: moved from Tuesday to Thursday."""
        return self._moved.search(text, max(0, start - _NEAR), start) is not None


def _cues(words: Words) -> frozenset[str]:
    """Signs without which there is no time, so that most text is passed over at once."""
    names = ("days", "parts", "fused", "weekdays", "seasons", "months", "units")
    last = {w.split()[-1] for name in names for w in words.en[name]}
    last |= {w.lower() for name in ("capital_months", "short_weekdays") for w in words.en[name]}
    last |= {w for w in words.en["recurring"] if w not in ("every", "each")} | {"noon", "weekend"}
    return frozenset("0123456789年月号日周天期拜季时钟今昨明夜早晚点") | last | {f"{word}s" for word in last}


# ---------------------------------------------------------------------- joining


@dataclass(frozen=True, slots=True)
class _Run:
    """Pieces that stand together and are one expression."""

    pieces: tuple[Piece, ...]
    date: Piece | None = None
    part: tuple[int, int] | None = None
    clock: Piece | None = None
    recurring: bool = False
    until: When | None = None

    @property
    def end(self) -> int:
        return self.pieces[-1].end


def _join(pieces: Sequence[Piece], text: str, reading: Reading, apart: Callable[[str, int], bool]) -> list[_Run]:
    """`apart`: whether a time that begins there, and the one after it, are two."""
    runs: list[_Run] = []
    for piece in pieces:
        single = _run_of(piece)
        if runs and len(runs[-1].pieces) < 8:
            between = text[runs[-1].end : piece.start]
            joined = _added(runs[-1], piece, between, reading) if _GLUE.fullmatch(between) else None
            if joined is None and _RANGE.fullmatch(between) and not apart(text, runs[-1].pieces[0].start):
                joined = _ranged(runs[-1], piece, reading)
            if joined is not None:
                runs[-1] = joined
                continue
        runs.append(single)
    return runs


def _run_of(piece: Piece) -> _Run:
    return _Run(
        (piece,), piece if piece.dates else None, piece.part, piece if piece.clock else None, recurring=piece.recurring
    )


def _added(run: _Run, piece: Piece, between: str, reading: Reading) -> _Run | None:
    """The run with one more piece; None when the two are separate times."""
    pieces = (*run.pieces, piece)
    if run.recurring or piece.recurring:
        return replace(run, pieces=pieces, recurring=True)
    if run.until is not None or (piece.part and run.part) or (piece.clock and run.clock):
        return None
    date_piece = run.date
    if piece.dates:
        date_piece = piece if run.date is None else _nested(run.date, piece, reading)
        if date_piece is None:
            if "," in between or "，" in between:
                return None
            date_piece = replace(piece, when=None, weekday=None, day_of_month=None)
    return replace(
        run, pieces=pieces, date=date_piece, part=run.part or piece.part, clock=piece if piece.clock else run.clock
    )


def _nested(one: Piece, other: Piece, reading: Reading) -> Piece | None:
    """下周的周三, the 15th of next month, Friday, March 13: two dates that make one; None when they do not."""
    calendar = reading.calendar
    for outer, inner in ((one, other), (other, one)):
        if outer.when is None or outer.weekday is not None or outer.day_of_month is not None:
            continue
        relative = outer.relative
        if inner.weekday is not None and outer.when.grain is Grain.WEEK:
            day = outer.when.first_day.toordinal() + inner.weekday
            return replace(outer, when=calendar.day(date.fromordinal(day)))
        if inner.weekday is not None and outer.when.grain in (Grain.DAY, Grain.MINUTE):
            agree = outer.when.first_day.weekday() == inner.weekday
            return replace(outer, when=outer.when if agree else None, relative=relative)
        if inner.day_of_month is not None and outer.when.grain is Grain.MONTH:
            first = outer.when.first_day
            inside = inner.day_of_month <= outer.when.last_day.day
            return replace(outer, when=calendar.day(first.replace(day=inner.day_of_month)) if inside else None)
        if inner.when == outer.when:
            return replace(outer, relative=one.relative and other.relative)
    return None


def _ranged(run: _Run, piece: Piece, reading: Reading) -> _Run | None:
    """3月1日到5日, 下周一到周三, from March 28 to April 2: one stretch from the first to the last day."""
    first = run.date.when if run.date is not None else None
    if first is None or first.grain is not Grain.DAY or not piece.dates or piece.recurring or run.until or run.clock:
        return None
    last = piece.when
    if piece.day_of_month is not None and piece.day_of_month > first.first_day.day:
        if piece.day_of_month > 31:
            return None
        last = _same_month(first, piece.day_of_month, reading)
    elif piece.weekday is not None and piece.weekday > first.first_day.weekday():
        last = reading.calendar.day(
            date.fromordinal(first.first_day.toordinal() + piece.weekday - first.first_day.weekday())
        )
    if last is None or last.grain is not Grain.DAY or last.first_day <= first.first_day:
        return None
    return replace(run, pieces=(*run.pieces, piece), until=reading.calendar.days(first.first_day, last.first_day))


def _same_month(first: When, day: int, reading: Reading) -> When | None:
    try:
        return reading.calendar.day(first.first_day.replace(day=day))
    except ValueError:
        return None


def _expression(run: _Run, text: str, reading: Reading) -> TimeExpression | None:
    """What a run means; None for a part of a day or an unclear clock time alone."""
    clock = _clock(run)
    pieces = [p for p in run.pieces if clock is not None or p is not run.clock]
    if not pieces or (run.date is None and clock is None):
        return None
    start, end = pieces[0].start, pieces[-1].end
    if run.recurring:
        return TimeExpression(start, end, text[start:end], None, recurring=True)
    when = run.until or (run.date.when if run.date is not None else reading.calendar.day(reading.today))
    if when is not None and when.grain is Grain.DAY:
        try:
            when = _within_day(when, run.part, clock, reading.calendar)
        except (ValueError, OverflowError):
            when = None
    relative = run.date is None or run.date.relative
    return TimeExpression(start, end, text[start:end], when, relative, names_day=run.date is not None)


def _clock(run: _Run) -> tuple[int, int] | None:
    """The clock time on the 24-hour clock, read inside the part of day beside it; None when it stays unclear."""
    if run.clock is None or run.clock.clock is None:
        return None
    hour, minute = run.clock.clock
    if run.part is None or (run.clock.sure and hour > 12):
        return (hour, minute) if run.clock.sure else None
    first, last = run.part
    fits = [h for h in (hour, hour + 12) if first <= h <= last and h <= 24 and not (h == 24 and minute)]
    if first == 0 and hour == 12:
        fits = [0]  # 凌晨12点
    return (fits[0], minute) if len(fits) == 1 else None


def _within_day(day: When, part: tuple[int, int] | None, clock: tuple[int, int] | None, calendar: Calendar) -> When:
    if clock is not None:
        return calendar.minute(calendar.moment(day.first_day, *clock))
    return calendar.hours(day.first_day, *part) if part is not None else day
