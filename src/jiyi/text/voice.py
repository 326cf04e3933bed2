"""Texts about the user, as they would say them: "the user's car" is "my car" (SPEC R11)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


class Voice:
    """Puts texts in the user's own words. Without ways to say it, texts stay as they are."""

    __slots__ = ("_pattern", "_telling", "_ways")

    def __init__(
        self, ways: Mapping[str, str], not_before: Sequence[str] = (), opening: Mapping[str, str] | None = None
    ) -> None:
        """Args:
        ways: from how others say it to how the user does.
        not_before: words before which it is not the user that is spoken of.
        opening: more ways, at the beginning of a text alone.
        """
        anywhere, first = _folded(ways), _folded(opening or {})
        self._ways = {**first, **anywhere}
        # What stands in each way, of that what stands in the most of them: few texts hold one of these words.
        held = {word: sum(word in said for said in self._ways) for way in self._ways for word in way.split()}
        self._telling = {max((w for w in held if w in said), key=lambda w: (held[w], w)) for said in self._ways}
        others = "|".join(rf"\s+{re.escape(w)}\b" if w[0] < "\u2e80" else re.escape(w) for w in not_before)
        self._pattern = re.compile(
            rf"(?:{_any(anywhere)}|^(?:{_any(first)}))(?![\'’]s\b|{others or '(?!)'})", re.IGNORECASE
        )

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Voice:
        """From the words of `voice.toml`, all languages together."""
        ways, opening = (
            {said: own for words in data.values() for said, own in words[key]} for key in ("say", "opening")
        )
        return cls(ways, [w for words in data.values() for w in words["not_before"]], opening)

    def __call__(self, text: str) -> str:
        folded = text.casefold()
        if not any(word in folded for word in self._telling):
            return text
        return self._pattern.sub(lambda m: self._ways[" ".join(m[0].casefold().split())], text)


def _folded(ways: Mapping[str, str]) -> dict[str, str]:
    return {" ".join(said.casefold().split()): own for said, own in ways.items()}


def _any(ways: Mapping[str, str]) -> str:
    """One of these, the longest first. Latin words stand free, with any space between them."""
    longest = sorted(ways, key=lambda said: (-len(said), said))
    words = (r"\s+".join(map(re.escape, said.split())) for said in longest)
    free = (rf"(?<!\w){w}(?!\w)" if said[0] < "\u2e80" else w for said, w in zip(longest, words, strict=True))
    return "|".join(free) or "(?!)"
