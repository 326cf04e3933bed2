"""jiyi's own store behind the same few verbs as the recipes, and a plain reference to check its ranking against."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from benchmarks.data import Corpus, Entry, Texts
from benchmarks.recipes import NOW, TOP
from jiyi.domain.memory import Category, IncomingMessage, Memory, Message, Role, Source
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.pipelines.recalling.question import read_question
from jiyi.ports import BM25, Document, Hit, Kind, Store, Unit
from jiyi.settings import TextIndexName
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.store import open_sqlite
from jiyi.stores.sqlite.unit import SqliteUnit
from jiyi.testing.contract_base import blot
from jiyi.text.segmentation import Segmenter

CANDIDATES = 64
PLAIN_ROWS = """
    CREATE TABLE plain (
        owner TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, category TEXT DEFAULT 'general',
        importance INTEGER, created_at TEXT, last_accessed_at TEXT, PRIMARY KEY (owner, number)
    ) WITHOUT ROWID
"""
PLAIN_INSERT = """
    INSERT INTO plain (owner, number, content, importance, created_at, last_accessed_at) VALUES (?, ?, ?, ?, ?, ?)
"""
Question = list[tuple[str, float]]


def kind_of(texts: Texts) -> Kind:
    return Kind.MEMORY if texts is Texts.MEMORY else Kind.MESSAGE


def question(segmenter: Segmenter, text: str) -> Question:
    """What recall asks of the index."""
    return [(term.text, term.weight) for term in read_question(text, segmenter).content]


def document(segmenter: Segmenter, seq: int, text: str) -> Document:
    terms = segmenter.index_terms(text)
    return Document(seq, terms.counts, terms.length)


def memory_of(entry: Entry, segmenter: Segmenter, seq: int) -> Memory:
    """A statement without a relation, as `remember` makes one."""
    at = _at(entry)
    return Memory(
        seq=seq,
        text=entry.text,
        category=Category.GENERAL,
        importance=entry.importance,
        source=Source.DECLARED,
        start=0.95,
        affirmed_at=at,
        valid_from=at,
        learnt_at=at,
        value=segmenter.fold(entry.text),
    )


def message_of(entry: Entry) -> IncomingMessage:
    at = _at(entry)
    session = f"s{entry.number // 20}"
    return IncomingMessage(f"{entry.number}", session, Role.USER, entry.text, at)


def _at(entry: Entry) -> datetime:
    return NOW - timedelta(days=entry.age_days)


def rescored(score: float, importance: int, at: datetime) -> float:
    """The recipe's second ranking, used here for everyone so that only the indexes differ."""
    return score + importance * 0.5 - max(0.0, (NOW - at) / timedelta(days=1)) * 0.01


def found(store: Store, kind: Kind, owner: str, terms: Question) -> list[Hit]:
    """What the text index of a store gives."""
    with store.read() as unit:
        return unit.text.search(Scope(owner), kind, terms, CANDIDATES)


def answered(store: Store, kind: Kind, owner: str, terms: Question) -> list[str]:
    """The same with the rows of all candidates, and the second ranking: the best texts."""
    scope = Scope(owner)
    with store.read() as unit:
        scores = {hit.seq: hit.score for hit in unit.text.search(scope, kind, terms, CANDIDATES)}
        rows: Sequence[Memory | Message] = (
            unit.memories.get(scope, scores.keys()) if kind is Kind.MEMORY else unit.messages.get(scope, scores.keys())
        )
    best = sorted(rows, key=lambda row: _rank(row, scores[row.seq]), reverse=True)
    return [row.text for row in best[:TOP]]


class Ours:
    """A SQLite store of jiyi with one of its two text indexes."""

    def __init__(self, path: Path, text_index: TextIndexName, kind: Texts, segmenter: Segmenter) -> None:
        self.path = path
        self.segmenter = segmenter
        self.kind = kind_of(kind)
        self.store = open_sqlite(path, text_index=text_index, message_index=text_index)

    def close(self) -> None:
        self.store.close()

    # ------------------------------------------------------------------ reading

    def search(self, owner: str, terms: Question) -> list[Hit]:
        """The text index alone."""
        return found(self.store, self.kind, owner, terms)

    def answer(self, owner: str, terms: Question) -> list[str]:
        """The index, the rows of all candidates, and the second ranking."""
        return answered(self.store, self.kind, owner, terms)

    # ------------------------------------------------------------------ writing

    def add(self, entry: Entry, value: Memory | IncomingMessage, terms: Document) -> int:
        """One text and its terms, durable on return."""
        scope = Scope(entry.owner)

        def work(unit: Unit) -> int:
            if isinstance(value, Memory):
                seq = unit.memories.next_seq(scope)
                unit.memories.write(scope, [Change(None, replace(value, seq=seq))])
            else:
                seq = unit.messages.add(scope, [value])[0][0].seq
            unit.text.add(scope, self.kind, [replace(terms, seq=seq)])
            return seq

        return self.store.write(work)

    def delete(self, owner: str, value: Memory | Message, terms: Document) -> None:
        """One text, its terms and, for a message, everything but the empty place it had."""
        scope = Scope(owner)

        def work(unit: Unit) -> None:
            unit.text.remove(scope, self.kind, [terms])
            if isinstance(value, Memory):
                unit.memories.write(scope, [Change(value, None)])
            else:
                blot(unit, scope, value.seq)

        self.store.write(work)

    # ------------------------------------------------------------------ the index beside rows like the recipe's

    def make_plain_rows(self) -> None:
        """A table of our own with the recipe's columns, so that only the indexes differ in what a commit costs."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(PLAIN_ROWS)

    def add_plain(self, entry: Entry, terms: Document) -> None:
        scope = Scope(entry.owner)

        def work(unit: Unit) -> None:
            _statements(unit).change(PLAIN_INSERT, _plain_row(entry))
            unit.text.add(scope, self.kind, [terms])

        self.store.write(work)

    def delete_plain(self, entry: Entry, terms: Document) -> None:
        scope = Scope(entry.owner)

        def work(unit: Unit) -> None:
            unit.text.remove(scope, self.kind, [terms])
            _statements(unit).change("DELETE FROM plain WHERE owner = ? AND number = ?", (entry.owner, entry.number))

        self.store.write(work)

    def stored(self, owner: str, seq: int) -> Memory | Message:
        with self.store.read() as unit:
            if self.kind is Kind.MEMORY:
                return unit.memories.get(Scope(owner), [seq])[0]
            return unit.messages.get(Scope(owner), [seq])[0]

    def prepare(self, entries: Sequence[Entry]) -> list[tuple[Entry, Document]]:
        """Segmented, and sorted by owner: the order in which the store likes to get much at once."""
        ordered = sorted(entries, key=attrgetter("owner", "number"))
        return [(entry, document(self.segmenter, entry.number, entry.text)) for entry in ordered]

    def load(self, prepared: Sequence[tuple[Entry, Document]]) -> None:
        """Many texts in one transaction."""
        self.store.write(lambda unit: self._load(unit, prepared))

    def _load(self, unit: Unit, prepared: Sequence[tuple[Entry, Document]]) -> None:
        for owner, group in groupby(prepared, key=lambda pair: pair[0].owner):
            scope = Scope(owner)
            entries, documents = zip(*group, strict=True)
            if self.kind is Kind.MEMORY:
                memories = [memory_of(entry, self.segmenter, unit.memories.next_seq(scope)) for entry in entries]
                unit.memories.write(scope, [Change(None, memory) for memory in memories])
            else:
                unit.messages.add(scope, [message_of(entry) for entry in entries])
                unit.text.mark_indexed_up_to(scope, entries[-1].number)
            unit.text.add(scope, self.kind, documents)


def _statements(unit: Unit) -> Access:
    assert isinstance(unit, SqliteUnit)
    return unit.access


def _plain_row(entry: Entry) -> tuple[str, int, str, int, str, str]:
    at = _at(entry).isoformat()
    return entry.owner, entry.number, entry.text, entry.importance, at, at


def _rank(row: Memory | Message, score: float) -> tuple[float, int]:
    if isinstance(row, Memory):
        return rescored(score, row.importance, row.affirmed_at), row.seq
    return rescored(score, 0, row.at), row.seq


class PlainBM25:
    """One owner's texts in dictionaries, scored word by word: slow, and nothing in it to get wrong."""

    def __init__(self, entries: Sequence[Entry], segmenter: Segmenter, bm25: BM25) -> None:
        self.entries = {entry.number: entry for entry in entries}
        self.bm25 = bm25
        self.lengths: dict[int, int] = {}
        self.postings: dict[str, dict[int, int]] = {}
        for entry in entries:
            terms = segmenter.index_terms(entry.text)
            self.lengths[entry.number] = terms.length
            for term, count in terms.counts.items():
                self.postings.setdefault(term, {})[entry.number] = count
        self.average = sum(self.lengths.values()) / len(self.lengths)

    def scores(self, terms: Question) -> dict[int, float]:
        total = len(self.lengths)
        k1, b = self.bm25.k1, self.bm25.b
        scores: dict[int, float] = {}
        for term, weight in terms:
            holders = self.postings.get(term, {})
            idf = math.log(1 + (total - len(holders) + 0.5) / (len(holders) + 0.5))
            for number, count in holders.items():
                norm = k1 * (1 - b + b * self.lengths[number] / self.average)
                scores[number] = scores.get(number, 0.0) + weight * idf * count * (k1 + 1) / (count + norm)
        return scores

    def answer(self, terms: Question, *, with_importance: bool) -> list[str]:
        scores = self.scores(terms)
        best = sorted(scores, key=lambda number: (scores[number], number), reverse=True)[:CANDIDATES]

        def rank(number: int) -> tuple[float, int]:
            entry = self.entries[number]
            return rescored(scores[number], entry.importance if with_importance else 0, _at(entry)), number

        return [self.entries[number].text for number in sorted(best, key=rank, reverse=True)[:TOP]]


@lru_cache(maxsize=32)
def plain_of(corpus: Corpus, owner: str, segmenter: Segmenter) -> PlainBM25:
    return PlainBM25(list(corpus.of(owner)), segmenter, BM25())
