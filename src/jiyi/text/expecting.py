"""What a question expects of its answer by how it asks (when? 什么时候), and whether a text holds anything of the kind (SPEC R1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LANGUAGES = ("zh", "en")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One kind of answer. The patterns are for folded text."""

    name: str
    asks: re.Pattern[str]
    holds: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Expecting:
    """The kinds of answers, in the order in which they are tried."""

    kinds: tuple[Expectation, ...] = ()

    def of(self, question: str) -> Expectation | None:
        """What a folded question expects, if that can be told."""
        return next((kind for kind in self.kinds if kind.asks.search(question)), None)


def parse_expecting(data: Mapping[str, Any]) -> Expecting:
    """From `expecting.toml`."""
    return Expecting(tuple(Expectation(n, _any(table, "asks"), _any(table, "holds")) for n, table in data.items()))


def _any(table: Mapping[str, Any], role: str) -> re.Pattern[str]:
    patterns = [p for language in LANGUAGES for p in table[f"{role}_{language}"]]
    return re.compile("|".join(f"(?:{p})" for p in patterns))
