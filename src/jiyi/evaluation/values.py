"""When are two values the same, and does a text hold a value? For measuring what was distilled, so deliberately simple.

Both sides are folded (NFKC, lower case, traditional to simplified characters, without 的, articles and punctuation) and cut into
units: one Chinese character, or one word of letters or digits. A *piece* is a run of units of at least two Chinese
characters or one word. No list of synonyms: 教师 and 老师 are two values here, and a report counts them as such.

- text, name: the same units; or the shorter ends the longer, is a piece, and is at least half of it (设计师 of
  服装设计师); or the claimed one holds all of the true one in two or more pieces, and at most two units more (总裁兼董事 of
  总裁/董事).
- place: the shorter is made of pieces of the longer (深圳 of 广东深圳).
- date: the same month and day, and the same year if both name one.
- number: the same first number. length: the same in centimetres.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from jiyi.text.numbers import find_numbers, whole_number
from jiyi.text.segmentation import Segmenter

KINDS = ("text", "name", "place", "date", "number", "length")
Span = tuple[int, int]

_UNIT = re.compile(r"[a-z0-9]+(?:[.'+#-][a-z0-9]+)*|[\u3400-\u9fff]")
_NOTHING = frozenset(("的", "a", "an", "the"))
_LOOSE = 2  # 或者, 兼, and
_WRITTEN = "0-9〇零一二三四五六七八九十"
_DATES = (
    re.compile(rf"(?:(?P<y>\d{{4}})年)?(?P<m>[{_WRITTEN}]{{1,3}})月(?P<d>[{_WRITTEN}]{{1,3}})[日号]?"),
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"),
    re.compile(r"(?P<m>[a-z]{3,9})\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<y>\d{4}))?\b"),
    re.compile(r"(?P<d>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?P<m>[a-z]{3,9})\.?(?:,? (?P<y>\d{4}))?\b"),
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_METRES = re.compile(r"(?P<m>\d)(?:\.(?P<f>\d{1,2}) ?(?:米|m\b)|米(?P<c>\d{1,2}))")
_CENTIMETRES = re.compile(r"(\d{2,3})(?:\.0)? ?(?:cm|厘米|公分|centimet)")


@dataclass(frozen=True, slots=True)
class Unit:
    text: str
    start: int
    end: int

    @property
    def han(self) -> bool:
        return self.text[0] >= "\u3400"


def fold(text: str) -> str:
    return Segmenter.fold(text)


def units(text: str) -> list[Unit]:
    """The units of a text, with their places in the folded text."""
    return [Unit(m.group(), *m.span()) for m in _UNIT.finditer(fold(text)) if m.group() not in _NOTHING]


def same(kind: str, claimed: str, true: str) -> bool:
    """Whether a claimed value is the true one, by the rule of its kind (see above)."""
    if kind in _READERS:
        read = _READERS[kind]
        mine = next((v for _, v in read(fold(claimed))), None)
        return mine is not None and any(_agree(mine, v) for _, v in read(fold(true)))
    a, b = units(claimed), units(true)
    short, long = sorted((a, b), key=len)
    if not short:
        return False
    if [u.text for u in a] == [u.text for u in b]:
        return True
    if kind == "place":
        return _is_piece(short) and bool(_pieces(short, long))
    ends = [u.text for u in short] == [u.text for u in long[-len(short) :]]
    if ends and _is_piece(short) and 2 * len(short) >= len(long):
        return True
    return len(_pieces(b, a)) > 1 and len(a) <= len(b) + _LOOSE


def held(kind: str, value: str, text: str) -> tuple[Span, ...]:
    """Where a text states a value: spans of the folded text, none when it does not.

    A text may hold the pieces of a value apart (银行的行长, 在银行工作，是柜员), and of a place only the last one.
    """
    if kind in _READERS:
        read = _READERS[kind]
        true = next((v for _, v in read(fold(value))), None)
        places = [span for span, v in read(fold(text)) if true is not None and _agree(v, true)]
        return tuple(places[:1])
    wanted, there = units(value), units(text)
    spans = _pieces(wanted, there)
    if not spans and kind == "place":
        # 广州 of 广东广州; the name of a province alone would not be the value.
        spans = next((found for n in range(1, len(wanted) - 1) if (found := _pieces(wanted[n:], there))), ())
    return spans


def _pieces(wanted: Sequence[Unit], there: Sequence[Unit]) -> tuple[Span, ...]:
    """The spans of pieces that together make up `wanted`, longest first taken; empty when they do not."""
    words, spans, at = [u.text for u in there], [], 0
    while at < len(wanted):
        for end in range(len(wanted), at, -1):
            piece = wanted[at:end]
            place = _find([u.text for u in piece], words) if _is_piece(piece) or len(wanted) == 1 else None
            if place is not None:
                spans.append((there[place].start, there[place + len(piece) - 1].end))
                at = end
                break
        else:
            return ()
    return tuple(spans)


def _is_piece(piece: Sequence[Unit]) -> bool:
    return len(piece) > 1 or not piece[0].han


def _find(piece: Sequence[str], words: Sequence[str]) -> int | None:
    size = len(piece)
    return next((i for i in range(len(words) - size + 1) if words[i : i + size] == piece), None)


# ------------------------------------------------------------------ dates, numbers, lengths

Reader = Callable[[str], Iterator[tuple[Span, object]]]


def _dates(text: str) -> Iterator[tuple[Span, object]]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            month, day = _month(match["m"]), whole_number(match["d"])
            if month is not None and day is not None and 1 <= month <= 12 and 1 <= day <= 31:
                yield match.span(), (match["y"], month, day)


def _month(written: str) -> int | None:
    if written[0].isascii() and written[0].isalpha():
        return _MONTHS.index(written[:3]) + 1 if written[:3] in _MONTHS else None
    return whole_number(written)


def _numbers(text: str) -> Iterator[tuple[Span, object]]:
    for match in re.finditer(rf"\d+(?:\.\d+)?|[{_WRITTEN}]+", text):
        number = whole_number(match.group())
        if number is not None:
            yield match.span(), Decimal(number)
    for quantity in find_numbers(text):
        yield (quantity.start, quantity.end), quantity.value


def _lengths(text: str) -> Iterator[tuple[Span, object]]:
    for match in _METRES.finditer(text):
        yield match.span(), int(match["m"]) * 100 + int((match["f"] or match["c"]).ljust(2, "0"))
    for match in _CENTIMETRES.finditer(text):
        yield match.span(), int(match[1])


_READERS: dict[str, Reader] = {"date": _dates, "number": _numbers, "length": _lengths}


def _agree(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[1:] == b[1:] and (a[0] == b[0] or None in (a[0], b[0]))
    return a == b


def within(inner: Sequence[Span], outer: Sequence[Span]) -> bool:
    """Whether every inner span lies inside an outer one."""
    return all(any(o[0] <= i[0] and i[1] <= o[1] for o in outer) for i in inner)
