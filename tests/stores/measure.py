"""CPU times of the SQLite store, for looking at and for comparing changes: `measure(folder)`."""

from __future__ import annotations

import random
import time
from bisect import bisect
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import median

from jiyi.domain.memory import Category, Evidence, Memory, Source
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.ports import Document, Kind, Unit
from jiyi.settings import TextIndexName
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WORDS = 20_000


class Corpus:
    """Synthetic texts of 6 to 29 words; word frequencies fall off as in real text."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._reach = list(accumulate(1 / (rank + 5) for rank in range(WORDS)))

    def words(self, fewest: int, most: int) -> list[str]:
        count = self._random.randint(fewest, most)
        return [f"词{bisect(self._reach, self._random.random() * self._reach[-1])}" for _ in range(count)]

    def document(self, seq: int) -> Document:
        counts = Counter(self.words(6, 29))
        return Document(seq, counts, counts.total())

    def query(self) -> list[tuple[str, float]]:
        return [(word, 1.0) for word in dict.fromkeys(self.words(3, 10))]


def measure(
    folder: Path, *, text_index: TextIndexName = "postings", owners: int = 100, entries: int = 1_000, queries: int = 200
) -> dict[str, float]:
    """Median CPU milliseconds, all threads, of a search of one owner, of one fact written, and of one deleted."""
    corpus = Corpus()
    scopes = [Scope(f"u{number}") for number in range(owners)]
    store = open_sqlite(folder / f"{text_index}.db", text_index=text_index)
    try:
        for scope in scopes:
            _fill(store, scope, [corpus.document(seq) for seq in range(1, entries + 1)])
        with store.read() as unit:
            search = _cpu(queries, lambda i: partial(_search, unit, scopes[i % owners], corpus.query()))
        return {
            "search": search,
            "search with read()": _cpu(queries, lambda i: partial(_read, store, scopes[i % owners], corpus.query())),
            "write": _cpu(queries, lambda i: _write(store, scopes[i % owners], corpus.document(entries + 1 + i))),
            "delete": _cpu(queries, lambda i: _delete(store, scopes[i % owners], entries + 1 + i)),
        }
    finally:
        store.close()


def _cpu(times: int, prepare: Callable[[int], Callable[[], object]]) -> float:
    """Each `prepare` gives what is timed."""
    taken = []
    for i in range(times):
        run = prepare(i)
        start = time.process_time_ns()
        run()
        taken.append(time.process_time_ns() - start)
    return median(taken) / 1e6


def _fill(store: SqliteStore, scope: Scope, documents: list[Document]) -> None:
    def work(unit: Unit) -> None:
        unit.memories.write(scope, [Change(None, _memory(document)) for document in documents])
        unit.text.add(scope, Kind.MEMORY, documents)

    store.write(work)


def _memory(document: Document) -> Memory:
    text = " ".join(document.terms)
    evidence = (Evidence(document.seq, 0, 8, NOW, "s1"),)
    return Memory(
        document.seq, text, Category.GENERAL, 3, Source.DECLARED, 0.95, NOW, NOW, NOW, text, evidence=evidence
    )


def _search(unit: Unit, scope: Scope, query: list[tuple[str, float]]) -> None:
    unit.text.search(scope, Kind.MEMORY, query, 64)


def _read(store: SqliteStore, scope: Scope, query: list[tuple[str, float]]) -> None:
    with store.read() as unit:
        _search(unit, scope, query)


_written: dict[tuple[Scope, int], Document] = {}


def _write(store: SqliteStore, scope: Scope, document: Document) -> Callable[[], object]:
    """One fact as the gateway writes it: memory, text index, ledger."""
    changes = (Change(None, _memory(document)),)
    _written[scope, document.seq] = document

    def work(unit: Unit) -> None:
        unit.memories.write(scope, changes)
        unit.text.add(scope, Kind.MEMORY, [document])
        unit.ledger.append(scope, Plan(Verb.REMEMBER, Actor(), NOW + timedelta(hours=1), "said", changes))

    return lambda: store.write(work)


def _delete(store: SqliteStore, scope: Scope, seq: int) -> Callable[[], object]:
    document = _written.pop((scope, seq))
    changes = (Change(_memory(document), None),)

    def work(unit: Unit) -> None:
        unit.memories.write(scope, changes)
        unit.text.remove(scope, Kind.MEMORY, [document])
        unit.ledger.erase(scope, [seq])

    return lambda: store.write(work)
