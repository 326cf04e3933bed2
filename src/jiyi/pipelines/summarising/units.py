"""Messages cut into the sentences and clauses a summary can be put together from; each is a span of its message (SPEC R6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jiyi.domain.memory import Category, Message, Role
from jiyi.domain.summary import PointKind
from jiyi.pipelines.summarising.cues import Cues
from jiyi.text.details import Detail

FORGOTTEN = "▇"
LONGEST_SENTENCE = 60
"""Characters above which a sentence is cut into its clauses; twice that for sentences of Latin letters."""
LONGEST_CLAUSE = 120
MAX_UNITS = 200
"""Of one message: what is longer is a document that was pasted."""

_END = re.compile(r"[。！？!?；;]+|\.+(?=\s|$)")
_COMMA = re.compile(r"[，、：]|,(?=\s)|:(?=\s)|\s[-–—]\s|——")
_FENCE = re.compile(r"^\s*```")
_LEAD = re.compile(r"(?:[-*#>•·–—]+\s+|[\s,，、。;；!！~～:：]|\.(?=\s))*")
_TAIL = " \t\r,，、。.;；!！~～:：–—"


@dataclass(frozen=True, slots=True)
class Statement:
    """A span of a message in which the distiller reads something, and of what category it is."""

    start: int
    end: int
    category: Category


Statements = Callable[[Message], Sequence[Statement]]


@dataclass(frozen=True, slots=True)
class Unit:
    """The span `[start, end)` of a message, with what is worth knowing about it. Details count from the message's start."""

    message: Message
    start: int
    end: int
    kind: PointKind
    details: tuple[Detail, ...]
    cued: bool
    stated: bool

    @property
    def text(self) -> str:
        return self.message.text[self.start : self.end]


_KINDS = {
    Category.PREFERENCE: PointKind.PREFERENCE,
    Category.RULE: PointKind.PREFERENCE,
    Category.GOAL: PointKind.INTENT,
    Category.TASK: PointKind.TODO,
}
_TOLD_BY_ASSISTANT = frozenset({PointKind.CONCLUSION, PointKind.TODO})


def units(message: Message, cues: Cues, statements: Statements, fold: Callable[[str], str]) -> list[Unit]:
    """What of a message is worth a place in a summary, in order; nothing of small talk."""
    if message.role is Role.SYSTEM:
        return []
    details = cues.details.find(message.text)
    stated = statements(message) if message.role is Role.USER else ()
    found = []
    for number, (start, end, asked) in enumerate(_spans(message.text, details, cues)):
        if number == MAX_UNITS:
            break
        inner = tuple(d for d in details if start <= d.start and d.end <= end)
        here = [s for s in stated if s.start < end and s.end > start]
        unit = _unit(message, start, end, asked, inner, here, cues, fold)
        if unit is not None:
            found.append(unit)
    return found


def _unit(
    message: Message,
    start: int,
    end: int,
    asked: bool,
    details: tuple[Detail, ...],
    stated: Sequence[Statement],
    cues: Cues,
    fold: Callable[[str], str],
) -> Unit | None:
    text = message.text[start:end]
    if FORGOTTEN in text or not any(c.isalnum() for c in text):
        return None
    folded = fold(text)
    weighty = any(d.weight > 1 for d in details)
    if not weighty and not stated and cues.small_talk.search(folded):
        return None
    kind = cues.kind(folded)
    failed = any(d.kind == "error" for d in details)
    if message.role is Role.TOOL:
        return Unit(message, start, end, PointKind.PROBLEM, details, False, False) if failed else None
    if message.role is not Role.USER:
        # Another's likes and plans are not the user's; what was advised and how it came out are.
        if message.role is Role.ASSISTANT and kind in _TOLD_BY_ASSISTANT and not asked:
            return Unit(message, start, end, PointKind.CONCLUSION, details, True, False)
        return Unit(message, start, end, PointKind.NOTE, details, False, False) if weighty and not asked else None
    if asked:
        about = cues.asking.search(folded) or kind is PointKind.PROBLEM or weighty
        return Unit(message, start, end, PointKind.PROBLEM, details, bool(about), False) if about else None
    if kind in (None, PointKind.PROBLEM, PointKind.INTENT):
        kind = next((_KINDS[s.category] for s in stated if s.category in _KINDS), kind)
    if kind is None and failed:
        kind = PointKind.PROBLEM
    if kind is None and not weighty and not stated:
        return None
    return Unit(message, start, end, kind or PointKind.NOTE, details, kind is not None, bool(stated))


# ------------------------------------------------------------------ cutting


def _spans(text: str, details: Sequence[Detail], cues: Cues) -> Iterator[tuple[int, int, bool]]:
    """Sentences, or the clauses of long ones, with whether they ask. No cut goes through a detail."""
    for start, end, asked in _sentences(text, details):
        opened = cues.opener.match(text, start, end)
        start = opened.end() if opened else start
        han = any("\u3400" <= c <= "\u9fff" for c in text[start:end])
        if end - start <= LONGEST_SENTENCE * (1 if han else 2):
            pieces = [(start, end)]
        else:
            pieces = list(_pieces(text, start, end, _COMMA, details))
        for left, right in pieces:
            left, right = _trimmed(text, left, right, details)
            if right > left:
                yield left, right, asked


def _sentences(text: str, details: Sequence[Detail]) -> Iterator[tuple[int, int, bool]]:
    at, fenced = 0, False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            yield at, at + len(line), False
        else:
            for left, right in _pieces(text, at, at + len(line), _END, details):
                tail = text[right : right + 1]
                yield left, right, tail in ("?", "？") or text[left:right].rstrip().endswith(("吗", "呢"))
        at += len(line) + 1


def _pieces(
    text: str, start: int, end: int, mark: re.Pattern[str], details: Sequence[Detail]
) -> Iterator[tuple[int, int]]:
    left = start
    for match in mark.finditer(text, start, end):
        if any(d.start < match.end() and d.end > match.start() for d in details):
            continue
        yield left, match.start()
        left = match.end()
    yield left, end


def _trimmed(text: str, start: int, end: int, details: Sequence[Detail]) -> tuple[int, int]:
    """Without the marks around it, but for those that a detail begins or ends with (`--flag`, .env)."""
    first = min((d.start for d in details if start <= d.start < end), default=end)
    last = max((d.end for d in details if start < d.end <= end), default=start)
    lead = _LEAD.match(text, start, min(end, first))
    start = lead.end() if lead else start
    while end > max(start, last) and text[end - 1] in _TAIL:
        end -= 1
    return start, end
