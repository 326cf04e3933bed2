"""Take out of a message what is no talk, before it is distilled (SPEC C2).

System prompts, interface notices and time stamps go, runs of acknowledgements shrink to one, fillers vanish. What stays
stays byte for byte and knows its place in the message, so evidence still points into the original. The wordings are
data: `vocabulary/cleaning.toml`. Whose company 咱公司 and "our company" are is no cleaning: the constructions file them
all under one subject.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from jiyi.errors import SettingsError

Span = tuple[int, int]

# What may stand between two acknowledgements, and what ends a run of them.
_SEPARATOR = r"[\s,，。.!！~～、…]"
_EDGE = r"[,，。.!！?？;；:：~～、…\n]"
_MARK = re.compile(_EDGE)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A cleaned text. `kept` are the stretches of the original that it is put together from, in order."""

    text: str
    kept: tuple[Span, ...]

    def original(self, start: int, end: int) -> Span:
        """Where `text[start:end]` stands in the original; what was taken out inside of it is inside. Not empty."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, at: int) -> int:
        if len(self.kept) == 1:
            return self.kept[0][0] + at
        starts = [0, *accumulate(end - start for start, end in self.kept)]
        piece = bisect_right(starts, at, 0, len(self.kept)) - 1
        return self.kept[piece][0] + at - starts[piece]


@dataclass(frozen=True, slots=True)
class Sought:
    """A pattern, and texts one of which stands in whatever it matches: most text is passed over by these alone."""

    pattern: re.Pattern[str]
    near: tuple[str, ...]

    def may_be_in(self, folded: str) -> bool:
        """Whether it may match in a text, given with its cases folded. Never False where it does."""
        return any(map(folded.__contains__, self.near))  # a generator would take twice as long


@dataclass(frozen=True, slots=True)
class CleaningRules:
    """`cleaning.toml`, read and compiled. What is `Sought` is looked for only where it may be."""

    removed: tuple[Sought, ...]
    lines: Sought
    prefix: Sought
    prompts: Sought
    run: re.Pattern[str]
    speaker: re.Pattern[str]
    own: frozenset[str]
    untouched: re.Pattern[str]
    error_line: re.Pattern[str]
    feelings: re.Pattern[str]


def parse_cleaning(data: Mapping[str, Any]) -> CleaningRules:
    """The rules from the parsed `cleaning.toml`.

    Raises:
        SettingsError: a table or a shape cannot be used; says which.
    """
    try:
        stamps, notices, prompts = data["stamps"], data["notices"], data["system_prompts"]

        def stamped(shapes: Sequence[str]) -> list[str]:
            return [s.replace("{day}", stamps["day"]).replace("{clock}", stamps["clock"]) for s in shapes]

        fillers, untouched = data["fillers"], data["untouched"]
        opening = rf"^[ \t]*(?:{_any(prompts['opening'])}).*?(?:^[ \t]*(?:{_any(prompts['until'])})|\Z)"
        lines = [*(rf"[-—=·\s]*(?:{s})[-—=·\s]*" for s in notices["line"]), *stamped(stamps["line"])]
        stamp = re.compile(rf"(?:{_any(stamped(stamps['prefix']))})+", _FLAGS)
        return CleaningRules(
            removed=(Sought(_compiled(notices["token"]), tuple(notices["near_token"])), *_fillers(fillers)),
            lines=Sought(_compiled(lines), (*notices["near_line"], *stamps["near"])),
            prefix=Sought(stamp, tuple(stamps["near"])),
            prompts=Sought(_compiled([*prompts["block"], opening]), tuple(prompts["near"])),
            run=_run([*data["acknowledgements"]["zh"]], [*data["acknowledgements"]["en"]]),
            speaker=re.compile(_any(_numbered(stamped(stamps["speaker"]))), _FLAGS),
            own=frozenset(stamps["own"]),
            untouched=_compiled(untouched["shapes"]),
            error_line=_compiled([untouched["error_line"]]),
            feelings=_compiled([*data["feelings"]["zh"], *data["feelings"]["en"]]),
        )
    except (KeyError, TypeError, AttributeError, re.error) as error:
        raise SettingsError(f"cleaning.toml: {type(error).__name__} {error}") from error


_FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE


def _any(shapes: Iterable[str]) -> str:
    return "|".join(f"(?:{shape})" for shape in shapes)


def _compiled(shapes: Iterable[str]) -> re.Pattern[str]:
    return re.compile(_any(shapes), _FLAGS)


def _numbered(shapes: Sequence[str]) -> list[str]:
    return [shape.replace("(?P<name>", f"(?P<name{i}>") for i, shape in enumerate(shapes)]


def _fillers(words: Mapping[str, Sequence[str]]) -> tuple[Sought, ...]:
    """Fillers with the marks that set them off: `I live in, um, Paris` leaves `I live in Paris`."""
    bare, off = _any(words["en"]), _any([*words["set_off_en"], *words["en"]])
    zh, zh_off = _any(words["zh"]), _any(words["set_off_zh"])
    english = [
        rf"(?<=\w),[ \t]*(?:{off}),(?=\s)",  # I live in, um, Paris
        rf"(?:(?<=\A)|(?<=[.!?;\n] )|(?<=[.!?;\n]))(?:{off}),[ \t]*",  # Um, I live in Paris
        rf",[ \t]*(?:{off})(?=[.!?;\n]|\Z)",  # I live in Paris, you know.
        rf"(?<=\w)[ \t]+(?:{bare})(?=[ \t]\w)",  # I um live
    ]
    chinese = [
        rf"(?:{zh})[,，、…]{{0,2}}",
        rf"(?:(?<=\A)|(?<=[,，。.!！?？;；、…\n]))(?:{zh_off})[,，、…]+",
        rf"[,，](?:{zh_off})(?=[。.!！?？;；\n]|\Z)",
    ]
    return Sought(_compiled(english), tuple(words["near_en"])), Sought(_compiled(chinese), tuple(words["near_zh"]))


def _run(zh: Sequence[str], en: Sequence[str]) -> re.Pattern[str]:
    """Two or more acknowledgements in a row, from where the first may begin (see `_openings`); the group is all but the first."""
    chinese = "|".join(sorted(map(re.escape, zh), key=len, reverse=True))
    english = "|".join(sorted((re.escape(w).replace(r"\ ", r"\s+") for w in en), key=len, reverse=True))
    one = rf"(?:(?:{chinese})|(?<![a-z0-9'])(?>{english})(?![a-z0-9']))"  # "yeah right" is one
    return re.compile(rf"{one}((?:{_SEPARATOR}*{one})+)(?={_EDGE}|\s*\Z)", _FLAGS)


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Cleans texts of talk. Built once; pure."""

    rules: CleaningRules

    def clean(self, text: str) -> Cleaned:
        """The text without what is no talk. Cleaning what was cleaned changes nothing."""
        kept: tuple[Span, ...] = ((0, len(text)),)
        cleaned = Cleaned(text, kept)
        # Each round takes something out, so there is a last one; what it leaves gives nothing more to take.
        while spans := self._removable(cleaned.text):
            cleaned = _without(cleaned, spans)
        return cleaned

    def passing(self, text: str) -> bool:
        """Whether a statement tells a mood of the moment (SPEC C3)."""
        return self.rules.feelings.search(text) is not None

    def others(self, text: str, name: str | None) -> list[Span]:
        """In a chat that was copied, what somebody else than the user said. `name` is the user's own, if known."""
        own = self.rules.own | ({name.casefold()} if name else set())
        found: list[Span] = []
        since: int | None = None
        for start, end in _lines(text):
            match = self.rules.speaker.fullmatch(text, start, end)
            if match is None:
                continue
            if since is not None:
                found.append((since, start))
            who = next((v for v in match.groupdict().values() if v), "")
            since = None if who.strip().casefold() in own else start
        if since is not None:
            found.append((since, len(text)))
        return found

    def _removable(self, text: str) -> list[Span]:
        """What this round takes out: not empty, in order, apart from each other."""
        rules, folded = self.rules, text.casefold()
        prompts = _spans(rules.prompts, text, folded)
        spans = []
        if rules.lines.may_be_in(folded):
            stamped = rules.prefix.may_be_in(folded)
            for start, end in _lines(text):
                if rules.lines.pattern.fullmatch(text, start, end):
                    spans.append((start, min(end + 1, len(text))))
                elif stamped and (match := rules.prefix.pattern.match(text, start, end)):
                    spans.append(match.span())
        for sought in rules.removed:
            spans += _spans(sought, text, folded)
        spans += self._runs(text)
        if not spans and not prompts:
            return []
        code = [m.span() for m in rules.untouched.finditer(text)]
        guarded = code + [line for line in _lines(text) if rules.error_line.search(text, *line)]
        guarded = _apart(guarded)
        free = [s for s in spans if s[1] > s[0] and not _meets(s, guarded)]
        # A prompt holds code of its own; one that stands inside code is part of that.
        whole = [s for s in prompts if s[1] > s[0] and not _meets((s[0], s[0] + 1), code)]
        return _apart([*free, *whole])

    def _runs(self, text: str) -> Iterator[Span]:
        """Acknowledgements after an acknowledgement."""
        at = 0
        for start in _openings(text):
            if start >= at and (match := self.rules.run.match(text, start)):
                at = match.end()
                yield match.span(1)


def _spans(sought: Sought, text: str, folded: str) -> list[Span]:
    return [m.span() for m in sought.pattern.finditer(text)] if sought.may_be_in(folded) else []


def _openings(text: str) -> Iterator[int]:
    """Where something may stand by itself: at the beginning, and after a mark with or without a space."""
    yield 0
    for mark in _MARK.finditer(text):
        yield mark.end()
        if text.startswith(" ", mark.end()):
            yield mark.end() + 1


def _lines(text: str) -> Iterator[Span]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if text[start:end].strip():
            yield start, end
        start = end + 1


def _meets(span: Span, others: Sequence[Span]) -> bool:
    """Whether a stretch overlaps one of others, which are in order and apart."""
    after = bisect_left(others, (span[1], 0))
    return after > 0 and others[after - 1][1] > span[0]


def _apart(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _without(cleaned: Cleaned, spans: Sequence[Span]) -> Cleaned:
    """The cleaned text without these stretches of it."""
    parts: list[str] = []
    kept: list[Span] = []
    at = 0
    for start, end in (*spans, (len(cleaned.text), len(cleaned.text))):
        if start > at:
            parts.append(cleaned.text[at:start])
            kept += _pieces(cleaned.kept, at, start)
        at = end
    return Cleaned("".join(parts), tuple(kept))


def _pieces(kept: Sequence[Span], start: int, end: int) -> Iterator[Span]:
    """The stretches of the original behind `[start, end)` of the text that `kept` makes."""
    at = 0
    for first, last in kept:
        left, right = max(start, at), min(end, at + last - first)
        if left < right:
            yield first + left - at, first + right - at
        at += last - first
