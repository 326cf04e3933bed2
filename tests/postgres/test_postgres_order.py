"""Recall gives the same ids in the same order, with the same scores, on SQLite and on PostgreSQL (SPEC O2)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from jiyi.assembly import open_memory
from jiyi.evaluation.case_files import load_cases
from jiyi.evaluation.datasets.locomo import read_chats
from jiyi.evaluation.harness import OWN_CASES
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import BM25, Document, Kind
from jiyi.settings import AccessPolicy, PostgresPolicy, Settings, TextIndexName
from jiyi.stores.postgres.store import open_postgres
from jiyi.stores.sqlite.store import open_sqlite
from jiyi.testing.embedders import ByCharacters
from tests.conftest import FULL, Clock, count, outside
from tests.postgres.stores import newer_server, one_server, open_on
from tests.stores.facts import ME, YOU, document

WORD = re.compile(r"[a-z_./]{3,}|[\u4e00-\u9fff]{2,4}", re.IGNORECASE)


@pytest.fixture
def both(postgres_url: str, tmp_path: Path, clock: Clock) -> Iterator[tuple[MemoryLayer, MemoryLayer]]:
    """SQLite and PostgreSQL; what is told to one is told to the other."""
    # Counts of reads are written aside, and what is read more ranks higher: here they wait until the end.
    most = 1_000_000
    here = open_memory(
        tmp_path / "memory.db", clock=clock, worker=False, synchronous="NORMAL", access={"flush_after": most}
    )
    there = open_on(postgres_url, tmp_path, clock, synchronous="NORMAL", access=AccessPolicy(flush_after=most))
    with here, there:
        yield here, there


def tell(both: tuple[MemoryLayer, MemoryLayer], user: str, messages: Sequence[dict[str, Any]]) -> None:
    for layer in both:
        for start in range(0, len(messages), 500):
            layer.scope(user).observe(messages[start : start + 500], session="s1")
        layer.work()


def assert_same(both: tuple[MemoryLayer, MemoryLayer], user: str, texts: Sequence[str], queries: int) -> None:
    rng = random.Random(7)
    words = sorted({word for text in texts for word in WORD.findall(text)})
    found = 0
    for _ in range(queries):
        query = " ".join(rng.choices(words, k=rng.randint(1, 5)))
        kinds = rng.choice([None, {"message"}, {"memory"}])
        here, there = (layer.scope(user).recall(query, kinds=kinds, limit=20).items for layer in both)
        assert [(i.id, i.score, i.text) for i in there] == [(i.id, i.score, i.text) for i in here], query
        found += bool(here)
    assert found > queries / 2


def plain(texts: Sequence[str], clock: Clock) -> list[str]:
    """Those that are stored as they are said. The label of a redacted value is another in every database."""
    with open_memory("reference", clock=clock, worker=False) as layer:
        me = layer.scope("u001")
        stored = set()
        for start in range(0, len(texts), 500):
            session = f"s{start}"
            me.observe([{"role": "user", "text": text} for text in texts[start : start + 500]], session=session)
            stored |= {turn.text for turn in me.history(session=session, limit=500).messages}
    return [text for text in texts if text in stored]


def test_own_conversations_are_recalled_alike(both: tuple[MemoryLayer, MemoryLayer], clock: Clock) -> None:
    steps = [s for case in load_cases(OWN_CASES) for s in case.steps]
    texts = [s.value for s in steps if s.verb == "say" and isinstance(s.value, str)]
    texts = plain(texts if FULL else texts[::4], clock)
    assert len(texts) > 100
    for user, said in (("u001", texts), ("u002", texts[::2])):
        tell(both, user, [{"role": "user", "text": text, "id": f"t{i}"} for i, text in enumerate(said)])
    assert_same(both, "u001", texts, count("same_queries"))


@newer_server
def test_real_conversations_are_recalled_alike(both: tuple[MemoryLayer, MemoryLayer]) -> None:
    chats = read_chats(outside("JIYI_EVALDATA", "evaldata") / "locomo", "dev", UTC)
    chats = chats if FULL else chats[:1]
    for chat in chats:
        turns = chat.messages if FULL else chat.messages[:200]
        said = [{"role": m.role.value, "text": m.text, "id": m.id, "at": m.at, "name": m.name} for m in turns]
        tell(both, chat.id.replace("/", "-"), said)
        texts = [m.text for m in turns]
        assert_same(both, chat.id.replace("/", "-"), texts, -(-count("same_queries") // len(chats)))


@pytest.mark.parametrize("index", ["chunks", "pgvector"])
@one_server
def test_what_meaning_finds_is_recalled_alike(
    index: str, postgres_url: str, pgvector_url: str, tmp_path: Path, clock: Clock
) -> None:
    url = pgvector_url if index == "pgvector" else postgres_url
    access, postgres = AccessPolicy(flush_after=1_000_000), PostgresPolicy(folder=str(tmp_path))
    settings = [
        Settings(path=path, worker=False, access=access, postgres=postgres) for path in (str(tmp_path / "m.db"), url)
    ]
    here, there = (open_memory(settings=one, clock=clock, embedder=ByCharacters()) for one in settings)
    with here, there:
        assert there.info().details["vector index"] == index
        steps = [s for case in load_cases(OWN_CASES) for s in case.steps]
        said = [s.value for s in steps if s.verb == "say" and isinstance(s.value, str)]
        texts = plain(said[::2] if FULL else said[::40], clock)
        tell((here, there), "u001", [{"role": "user", "text": text, "id": f"t{i}"} for i, text in enumerate(texts)])
        assert_same((here, there), "u001", texts, -(-count("same_queries") // 4))


def documents(rng: random.Random, size: int) -> list[Document]:
    """Texts whose words are as uneven as in real text, so that many scores are near one another or equal."""
    words = [f"w{i}" for i in range(60)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return [document(seq, " ".join(rng.choices(words, weights, k=rng.randint(1, 14)))) for seq in range(1, size + 1)]


@pytest.mark.parametrize(
    ("index", "bm25"),
    [("postings", BM25()), ("postings", BM25(k1=1.4, b=0.75)), ("native", BM25(k1=1.4, b=0.75))],
    ids=str,
)
def test_the_index_gives_the_same_scores(postgres_url: str, tmp_path: Path, bm25: BM25, index: TextIndexName) -> None:
    rng = random.Random(3)
    texts = documents(rng, 600)
    stores = [open_sqlite(tmp_path / "memory.db", bm25=bm25), open_postgres(postgres_url, text_index=index, bm25=bm25)]
    for store in stores:
        store.write(lambda unit: unit.text.add(ME, Kind.MESSAGE, texts))
        store.write(lambda unit: unit.text.add(YOU, Kind.MESSAGE, texts[:100]))
        store.write(lambda unit: unit.text.remove(ME, Kind.MESSAGE, texts[::7]))
    for _ in range(count("same_queries")):
        query = [(f"w{i}", rng.choice([0.3, 0.75, 1.0, 2.5])) for i in rng.sample(range(62), rng.randint(1, 12))]
        limit = rng.choice([1, 5, 50, 1000])
        found = []
        for store in stores:
            with store.read() as unit:
                seqs = [hit.seq for hit in unit.text.search(ME, Kind.MESSAGE, query, 20)]
                words = [word for word, _ in query]
                found.append(
                    [
                        unit.text.search(ME, Kind.MESSAGE, query, limit),
                        unit.text.frequencies(ME, Kind.MESSAGE, words),
                        sorted(unit.text.occurrences(ME, Kind.MESSAGE, words, seqs)),
                    ]
                )
        assert found[1] == found[0]
    for store in stores:
        store.close()
