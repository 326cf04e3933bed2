"""What a question expects of its answer by how it asks (when? 什么时候), and whether a text holds anything of the kind (SPEC R1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jiyi.text.beginning import AnyPattern

LANGUAGES = ("zh", "en")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One kind of answer. The patterns are for folded text."""

    name: str
    asks: re.Pattern[str]
    holds: AnyPattern


@dataclass(frozen=True, slots=True)
class Expecting:
    """The kinds of answers, in the order in which they are tried."""

    kinds: tuple[Expectation, ...] = ()

    def of(self, question: str) -> Expectation | None:
        """What a folded question expects, if that can be told."""
        return next((kind for kind in self.kinds if kind.asks.search(question)), None)


def parse_expecting(data: Mapping[str, Any]) -> Expecting:
    """From `expecting.toml`."""
    return Expecting(
        tuple(
            Expectation(name, re.compile("|".join(_both(table, "asks"))), AnyPattern(_both(table, "holds")))
            for name, table in data.items()
        )
    )


def _both(table: Mapping[str, Any], role: str) -> list[str]:
    return [pattern for language in LANGUAGES for pattern in table[f"{role}_{language}"]]
