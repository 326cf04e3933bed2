"""What a question expects of its answer by how it asks (when? 什么时候), and whether a text holds anything of the kind (SPEC R1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Signs:
    """Patterns for folded text, by where they may begin: one search for all would try each of them at every character."""

    words: re.Pattern[str]
    digits: re.Pattern[str]
    chinese: re.Pattern[str]

    def search(self, text: str) -> bool:
        """Whether one of them matches anywhere."""
        found = self.words.search(text) or self.digits.search(text)
        return bool(found or (not text.isascii() and self.chinese.search(text)))


@dataclass(frozen=True, slots=True)
class Expectation:
    """One kind of answer. The patterns are for folded text."""

    name: str
    asks: re.Pattern[str]
    holds: Signs


@dataclass(frozen=True, slots=True)
class Expecting:
    """The kinds of answers, in the order in which they are tried."""

    kinds: tuple[Expectation, ...] = ()

    def of(self, question: str) -> Expectation | None:
        """What a folded question expects, if that can be told."""
        return next((kind for kind in self.kinds if kind.asks.search(question)), None)


def parse_expecting(data: Mapping[str, Any]) -> Expecting:
    """From `expecting.toml`."""
    return Expecting(tuple(_expectation(name, table) for name, table in data.items()))


def _expectation(name: str, table: Mapping[str, Sequence[str]]) -> Expectation:
    words, digits, chinese = ("|".join(table[f"holds_{role}"]) for role in ("en", "digits", "zh"))
    signs = Signs(re.compile(rf"\b(?:{words})"), re.compile(rf"(?=\d)(?:{digits})"), re.compile(chinese))
    return Expectation(name, re.compile("|".join((*table["asks_zh"], *table["asks_en"]))), signs)
