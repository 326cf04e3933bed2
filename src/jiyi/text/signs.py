"""Signs of an occasion, and of what somebody then wants, in a turn of talk (SPEC G5): `vocabulary/patterns.toml`, compiled.

Words alone decide. A name can be a sign too (a competitor's, of the user's own graph); whoever knows the names hands them in.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from jiyi.errors import SettingsError

_SENTENCE = re.compile(r"[^。！？!?；;\n]*?(?:[。！？!?；;\n]+|\.(?=\s)|\Z)")
_PLURAL = r"(?:'?s)?"
NEAR = 24
"""Characters between what is wanted and what asks for it, at the most: a long sentence asks for one thing and names more."""


@dataclass(frozen=True, slots=True)
class Sign:
    """An occasion, or what is wanted. `told` has how it is told in each language ("zh", "en"); `relations` and `kinds` say
    whose names are signs of it as well."""

    name: str
    told: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]]
    relations: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marked:
    """A sentence with signs in it: `[start, end)` of the text, the occasions it brings up, what it wants."""

    start: int
    end: int
    conditions: frozenset[str]
    consequences: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Finder:
    """Which signs the words of a sentence are."""

    pattern: re.Pattern[str]
    signs: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, words: Mapping[str, frozenset[str]], plural: str = _PLURAL) -> _Finder:
        return cls(_any_of(words, plural), words)

    def find(self, folded: str) -> Iterator[tuple[int, int, frozenset[str]]]:
        for match in self.pattern.finditer(folded):
            yield match.start(), match.end(), self.signs[match["latin"] or match["other"]]


@dataclass(frozen=True, slots=True)
class Signs:
    """All signs, and what finds them. Built once; serves all threads."""

    conditions: Mapping[str, Sign]
    consequences: Mapping[str, Sign]
    template: Mapping[str, str]
    fold: Callable[[str], str]
    _asking: re.Pattern[str]
    _named: tuple[_Finder, ...]
    _wanted: _Finder
    _said: _Finder

    def with_names(self, names: Mapping[str, frozenset[str]]) -> Signs:
        """With names that are signs of occasions: `{name: conditions}`."""
        folded = {self.fold(name).strip(): found for name, found in names.items()}
        known = {name: found for name, found in folded.items() if len(name) > 1}
        return replace(self, _named=(*self._named, _Finder.of(known, "(?:'s)?"))) if known else self

    def read(self, text: str) -> list[Marked]:
        """The sentences of a text that bring something up, or want something."""
        return [marked for start, end in _sentences(text) if (marked := self._marked(text, start, end)) is not None]

    def occasions(self, text: str) -> frozenset[str]:
        """What a text brings up."""
        folded = self.fold(text)
        return frozenset(name for finder in self._named for *_, names in finder.find(folded) for name in names)

    def tell(self, condition: str, consequence: str, language: str) -> str:
        """The line of memory."""
        one, other = self.conditions[condition].told[language], self.consequences[consequence].told[language]
        return self.template[language].format(condition=one, consequence=other)

    def keywords(self, condition: str, consequence: str) -> tuple[str, ...]:
        """Words by which the line is found again, in both languages."""
        signs = (self.conditions[condition], self.consequences[consequence])
        return tuple(word for sign in signs for language in ("zh", "en") for word in sign.words[language][:2])

    def _marked(self, text: str, start: int, end: int) -> Marked | None:
        sentence = self.fold(text[start:end])
        named = [list(finder.find(sentence)) for finder in self._named]
        wanted = list(self._said.find(sentence))
        if hits := list(self._wanted.find(sentence)):
            asks = [m.span() for m in self._asking.finditer(sentence)]
            wanted += [hit for hit in hits if _meets(asks, hit[0] - NEAR - 1, hit[1] + NEAR + 1)]
        # Words that bring something up are no wish for it: 报价单 is no question for 报价.
        apart = (names for left, right, names in wanted if not any(_meets(hits, left, right) for hits in named))
        conditions = frozenset(name for hits in named for *_, names in hits for name in names)
        consequences = frozenset(name for names in apart for name in names)
        return Marked(start, end, conditions, consequences) if conditions or consequences else None


def parse_signs(data: Mapping[str, Any], fold: Callable[[str], str]) -> Signs:
    """Raises: SettingsError, naming what is missing or wrong."""
    try:
        conditions, consequences = (
            {name: _sign(name, table) for name, table in data[kind].items()} for kind in ("condition", "consequence")
        )
        template = {language: str(data["says"][language]) for language in ("zh", "en")}
        for line in template.values():
            line.format(condition="", consequence="")
        asking = ["?", *(fold(word) for language in ("zh", "en") for word in data["asking"][language])]
        said = {name: table.get("phrases", {}) for name, table in data["consequence"].items()}
        return Signs(
            conditions, consequences, template, fold,
            _any_of(asking, ""),
            (_Finder.of(_by_word({n: s.words for n, s in conditions.items()}, fold)),),
            _Finder.of(_by_word({n: s.words for n, s in consequences.items()}, fold)),
            _Finder.of(_by_word(said, fold)),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, re.error) as error:
        raise SettingsError(f"patterns.toml: {type(error).__name__} {error}") from error


def _sign(name: str, table: Mapping[str, Any]) -> Sign:
    told, words = table["name"], table["words"]
    return Sign(
        name,
        {language: str(told[language]) for language in ("zh", "en")},
        {language: tuple(words[language]) for language in ("zh", "en")},
        tuple(table.get("relations", ())),
        tuple(table.get("kinds", ())),
    )


def _by_word(words: Mapping[str, Mapping[str, Sequence[str]]], fold: Callable[[str], str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for name, of_languages in words.items():
        for word in (fold(word) for some in of_languages.values() for word in some):
            found[word] = found.get(word, frozenset()) | {name}
    return found


def _any_of(words: Iterable[str], plural: str) -> re.Pattern[str]:
    """A pattern of words, at each place the longest that fits; those of Latin letters stand free of other letters."""
    longest = sorted(words, key=lambda word: (-len(word), word))
    latin, other = (
        "|".join(re.escape(w) for w in longest if (w[0].isascii() and w[0].isalnum()) is plain)
        for plain in (True, False)
    )
    return re.compile(rf"(?<![a-z0-9])(?P<latin>{latin or '(?!)'}){plural}(?![a-z0-9])|(?P<other>{other or '(?!)'})")


def _meets(spans: Sequence[tuple[Any, ...]], left: int, right: int) -> bool:
    """Whether one of the spans, which follow one another, has a character of `[left, right)`. A sentence may hold thousands: it is
    looked up, so that nobody's text takes long."""
    at = bisect_right(spans, left, key=itemgetter(1))
    return at < len(spans) and bool(spans[at][0] < right)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    for match in _SENTENCE.finditer(text):
        stretch = match.group()
        if any(c.isalnum() for c in stretch):
            left = len(stretch) - len(stretch.lstrip())
            yield match.start() + left, match.start() + len(stretch.rstrip())
