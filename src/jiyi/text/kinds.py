"""Things by their kind: a question asks for an instrument, what was said names a cello (SPEC R7).

One way only, from the kind to the thing, and only where the thing was named at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.errors import SettingsError
from jiyi.text.segmentation import QueryTerm, Segmenter


@dataclass(frozen=True, slots=True)
class Asked:
    """A kind that a question asks for: `origin` is the place of its word among the terms, `things` the terms of that kind."""

    origin: int
    things: tuple[QueryTerm, ...]


class Kinds:
    """Kinds and what is of them. Built once; pure, so one may serve all threads."""

    __slots__ = ("_by_phrase", "_by_term")

    def __init__(self, data: Mapping[str, Any], segmenter: Segmenter) -> None:
        """From `kinds.toml`. Raises: SettingsError: another shape."""
        self._by_term: dict[str, list[tuple[QueryTerm, ...]]] = {}
        self._by_phrase: dict[str, list[tuple[QueryTerm, ...]]] = {}
        for number, kind in enumerate(data.get("kind", ()), 1):
            asks, things = kind.get("ask"), kind.get("is")
            if not _words(asks) or not _words(things):
                raise SettingsError(f"kinds, number {number}: write ask and is, each a list of words")
            terms = tuple(dict.fromkeys(term for word in things for term in _one(word, segmenter)))
            for word in asks:
                if own := _one(word, segmenter):
                    self._by_term.setdefault(own[0].text, []).append(terms)
                else:
                    self._by_phrase.setdefault(segmenter.fold(word), []).append(terms)

    def asked(self, terms: Sequence[QueryTerm], folded: str) -> list[Asked]:
        """The kinds that a question asks for, by its terms or by a phrase of its folded text."""
        found = [Asked(i, things) for i, term in enumerate(terms) for things in self._by_term.get(term.text, ())]
        for phrase, kinds in self._by_phrase.items():
            if phrase in folded:
                origin = next((i for i, term in enumerate(terms) if term.text in phrase or phrase in term.text), None)
                if origin is not None:
                    found += (Asked(origin, things) for things in kinds)
        return found


def _words(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) and word for word in value)


def _one(word: str, segmenter: Segmenter) -> Sequence[QueryTerm]:
    """The term of a word that is one: a dictionary word, a Latin word, or two characters, which are indexed as a pair."""
    terms = segmenter.query_terms(word)
    whole = [t for t in terms if not t.stop and (t.kind in ("word", "char") or t.text == segmenter.fold(word))]
    if len([t for t in terms if t.kind in ("word", "char")]) > 1 and not (len(word) == 2 and word > "\u2e80"):
        return ()
    return whole[:1]
