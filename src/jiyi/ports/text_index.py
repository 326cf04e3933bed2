"""The port of full-text search (SPEC R1). A part of `ports.Unit`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from jiyi.domain.scope import Scope

MAX_QUERY_TERMS = 62
"""Terms one search may bring: matches are reported as bits of a signed 64-bit integer."""


class Kind(StrEnum):
    """What a text index holds; each kind is scored on its own."""

    MEMORY = "memory"
    MESSAGE = "message"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Document:
    """What one text brings to the index: its terms with counts, and their sum."""

    seq: int
    terms: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class Hit:
    """`matched` has bit `i` set when the document holds the i-th query term. A higher score is better."""

    seq: int
    score: float
    matched: int


class Occurrence(NamedTuple):
    """That a document of so many terms in all holds a term so often. A tuple, because a search reads hundreds of them."""

    seq: int
    term: str
    often: int
    length: int


@dataclass(frozen=True, slots=True)
class BM25:
    """Okapi BM25 with the inverse document frequency of the one scope: ln(1 + (N - n + 0.5) / (n + 0.5))."""

    k1: float = 0.9
    b: float = 0.4


class TextIndex(Protocol):
    """Full-text search inside one scope and kind, on terms that the caller segmented."""

    def add(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        """Index documents that are not in the index yet (inside a write)."""

    def remove(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        """Take documents out, given as they were added. Documents that are not there change nothing."""

    def search(self, scope: Scope, kind: Kind, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        """Documents that hold any of the terms, best first, at most `limit`; equal scores by higher seq.

        The score is the sum of weight × BM25 over the terms. Terms are distinct, at most MAX_QUERY_TERMS;
        weights are positive.
        """

    def frequencies(self, scope: Scope, kind: Kind, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """`(documents in this scope and kind, {term: documents that hold it})`; absent terms are left out."""

    def slips(self, scope: Scope, kind: Kind, word: str) -> dict[str, int]:
        """As `frequencies` counts them, the words one slip away from this one (`text.slips`) that any document holds."""

    def occurrences(self, scope: Scope, kind: Kind, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        """How often these documents hold these terms, in any order; nothing for what is not held. For words so frequent that
        their lists are not worth reading: the cost follows the documents named, not those that hold the words."""

    def indexed_up_to(self, scope: Scope) -> int:
        """The highest message number up to which messages are indexed (or never will be), 0 at first."""

    def mark_indexed_up_to(self, scope: Scope, seq: int) -> None: ...

    def clear(self, scope: Scope) -> None:
        """Drop everything of this scope, all kinds, and the mark (before a rebuild)."""
