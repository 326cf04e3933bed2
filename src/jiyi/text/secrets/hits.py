"""What a detector finds, and what stands around it (SPEC C11)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jiyi.text.redaction_rules import RedactionRules


@dataclass(frozen=True, slots=True)
class Hit:
    """The secret `[start, end)` of class `kind`; of two that overlap the longer counts, then the earlier named."""

    start: int
    end: int
    kind: str


def is_near(shadow: str, start: int, kind: str, rules: RedactionRules) -> bool:
    return rules.near[kind].search(shadow, max(0, start - 40), start) is not None


def is_innocent(shadow: str, start: int, end: int, rules: RedactionRules) -> bool:
    return (
        rules.innocent.search(shadow, max(0, start - 24), start) is not None
        or rules.units.match(shadow, end) is not None
    )


def lowered(shadow: str) -> str:
    """In lower case, of the same length."""
    lower = shadow.lower()
    return lower if len(lower) == len(shadow) else "".join(c.lower() if len(c.lower()) == 1 else c for c in shadow)


def bare_of(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", text).upper()
