"""Search against a slow BM25 written out in Python, on random data of several users."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from jiyi.domain.scope import Scope
from jiyi.errors import InputError, TooLarge
from jiyi.ports import BM25, MAX_QUERY_TERMS, Document, Hit, Kind
from jiyi.settings import TextIndexName
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from tests.stores.facts import ME, document
from tests.stores.measure import measure

INDEXES: tuple[TextIndexName, ...] = ("postings", "native")
WORDS = ["库存", "超卖", "deploy.sh", "proxy_pass", "c++", "茶", "İstanbul", "👩‍👩‍👧", "café", "a", "~61", "b*", '"']
SCOPES = [Scope(f"u{i}") for i in range(4)]


def texts(rng: random.Random, count: int) -> list[Document]:
    """Words as uneven as in real text."""
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return [
        document(seq, " ".join(rng.choices(WORDS, weights, k=rng.randint(1, 12))))
        for seq in rng.sample(range(1, 3 * count), count)
    ]


def by_hand(documents: list[Document], query: list[tuple[str, float]], limit: int, bm25: BM25) -> list[Hit]:
    total = len(documents)
    average = sum(d.length for d in documents) / total
    hits = []
    for d in documents:
        score, matched = 0.0, 0
        for i, (term, weight) in enumerate(query):
            if tf := d.terms.get(term, 0):
                found = sum(term in other.terms for other in documents)
                idf = math.log(1 + (total - found + 0.5) / (found + 0.5))
                norm = bm25.k1 * (1 - bm25.b + bm25.b * d.length / average)
                score += weight * idf * tf * (bm25.k1 + 1) / (tf + norm)
                matched |= 1 << i
        if matched:
            hits.append(Hit(d.seq, round(score, 6), matched))
    return sorted(hits, key=lambda hit: (-hit.score, -hit.seq))[:limit]


@pytest.mark.parametrize("bm25", [BM25(), BM25(k1=1.4, b=0.75)], ids=str)
@pytest.mark.parametrize("index", INDEXES)
def test_scores_and_order_are_those_of_bm25_within_the_scope(tmp_path: Path, index: TextIndexName, bm25: BM25) -> None:
    rng = random.Random(11)
    store = open_sqlite(tmp_path / "memory.db", text_index=index, synchronous="NORMAL", bm25=bm25)
    corpus = {(scope, kind): texts(rng, rng.randint(5, 60)) for scope in SCOPES for kind in Kind}
    for (scope, kind), documents in corpus.items():
        store.write(lambda unit, s=scope, k=kind, d=documents: unit.text.add(s, k, d))  # type: ignore[misc]
    for (scope, kind), documents in corpus.items():
        gone = rng.sample(documents, 3)
        store.write(lambda unit, s=scope, k=kind, d=gone: unit.text.remove(s, k, d))  # type: ignore[misc]
        corpus[scope, kind] = [d for d in documents if d not in gone]
    with store.read() as unit:
        for (scope, kind), documents in corpus.items():
            for _ in range(15):
                words = rng.sample([*WORDS, "nowhere"], rng.randint(1, 8))
                query = [(word, rng.choice([0.3, 1.0, 2.5])) for word in words]
                limit = rng.choice([1, 5, 100])
                found = unit.text.search(scope, kind, query, limit)
                expected = by_hand(documents, query, limit, bm25)
                assert [(h.seq, h.matched) for h in found] == [(h.seq, h.matched) for h in expected]
                assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1.5e-6)
    store.close()


@pytest.fixture(params=INDEXES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_sqlite(tmp_path / "memory.db", text_index=request.param, synchronous="NORMAL")
    yield store
    store.close()


def test_a_query_of_the_most_terms_matches_by_every_bit(store: SqliteStore) -> None:
    words = [f"词{i}" for i in range(MAX_QUERY_TERMS)]
    store.write(lambda unit: unit.text.add(ME, Kind.MEMORY, [document(1, " ".join(words)), document(2, words[-1])]))
    query = [(word, 1.0) for word in words]
    with store.read() as unit:
        first, second = unit.text.search(ME, Kind.MEMORY, query, 5)
        assert (first.seq, first.matched) == (1, (1 << MAX_QUERY_TERMS) - 1)
        assert (second.seq, second.matched) == (2, 1 << (MAX_QUERY_TERMS - 1))
        with pytest.raises(TooLarge, match="63"):
            unit.text.search(ME, Kind.MEMORY, [*query, ("more", 1.0)], 5)
        for weight in (0.0, -1.0, math.nan):
            with pytest.raises(InputError, match="above 0"):
                unit.text.search(ME, Kind.MEMORY, [("a", weight)], 5)


def test_native_matches_all_though_it_scores_only_the_best(tmp_path: Path) -> None:
    """More matches than candidates: the limit is kept, rare terms come first, and every match can be had."""
    store = open_sqlite(tmp_path / "memory.db", text_index="native", synchronous="NORMAL")
    documents = [document(seq, "常见 common" + " 罕见" * (seq % 100 == 0)) for seq in range(1, 1001)]
    store.write(lambda unit: unit.text.add(ME, Kind.MEMORY, documents))
    with store.read() as unit:
        few = unit.text.search(ME, Kind.MEMORY, [("common", 1.0), ("罕见", 1.0)], 20)
        assert [hit.seq for hit in few[:10]] == list(range(1000, 0, -100))
        assert (len(few), [hit.matched for hit in few[10:]]) == (20, [1] * 10)
        everything = unit.text.search(ME, Kind.MEMORY, [("common", 1.0), ("罕见", 1.0)], 5000)
        assert everything == by_hand(documents, [("common", 1.0), ("罕见", 1.0)], 5000, BM25())
    store.close()


@pytest.mark.parametrize("index", INDEXES)
def test_the_measurement_runs(tmp_path: Path, index: TextIndexName) -> None:
    times = measure(tmp_path, text_index=index, owners=3, entries=20, queries=6)
    assert set(times) == {"search", "search with read()", "write", "delete"}
    assert all(time > 0 for time in times.values())
