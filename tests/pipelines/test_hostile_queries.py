"""Any text is a query (SPEC R2): results or an empty answer below the limit, TooLarge above it, never anything else."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.errors import TooLarge
from jiyi.pipelines.recalling.items import Recollection
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock, count

LIMIT = 10_000
OPERATORS = ("AND", "OR", "NOT", "NEAR", "NEAR(a b, 3)", '"', "'", "*", "^", "-", "(", ")", "[", "]", "{", "}", ":", "+",
             "--", ";", "/*", "col:", "%", "_", "\\", "\x00", "\r\n", "\u202e", "\ufeff", "\ud800", "\udfff", "🧠", "👩‍👩‍👧",
             "ＮＧＩＮＸ", "數據庫", "ǅ", "ﬁ", "İ", "ı", "e\u0301", "\u0301", "한국어", "日本語", "עברית", "🇨🇳")  # fmt: skip
WORDS = ("nginx", "proxy_pass", "反向代理", "数据库", "the", "怎么", "的", "DB_URL", "MySQL", "库存", "a", "猫")


def queries(seed: int, n: int) -> Iterator[str]:
    rng = random.Random(seed)
    for i in range(n):
        kind = rng.random()
        if kind < 0.35:
            yield "".join(chr(rng.randrange(sys.maxunicode + 1)) for _ in range(rng.randrange(0, 30)))
        elif kind < 0.75:
            yield rng.choice(("", " ")).join(rng.choice(OPERATORS + WORDS) for _ in range(rng.randrange(1, 9)))
        elif kind < 0.95:
            yield "".join(chr(rng.choice((rng.randrange(0x20), rng.randrange(0x4E00, 0x9FFF), rng.randrange(0x20, 0x7F))))
                          for _ in range(rng.randrange(1, 40)))  # fmt: skip
        elif i % 5 == 0:
            long = rng.choice(("x", "数", '"', "a b ", "NEAR ", chr(rng.randrange(0x4E00, 0x9FFF))))
            yield (long * LIMIT)[: rng.choice((LIMIT - 1, LIMIT, LIMIT + 1))]
        else:
            yield rng.choice(WORDS) + '"' * rng.randrange(5) + rng.choice(WORDS)


@pytest.fixture(params=["postings", "native"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScopedMemory]:
    index = request.param
    with open_memory(tmp_path / "m.db", clock=Clock(), worker=False, memory_index=index, message_index=index) as layer:
        mine = layer.scope("ming")
        mine.observe(
            [
                {"role": "user", "text": "Nginx 的反向代理，proxy_pass 末尾的斜杠要不要？"},
                {"role": "assistant", "text": "看后端路径：要改写就加。"},
                {"role": "user", "text": "我们的数据库用的是 MySQL，DB_URL 在 .env 里。"},
            ],
            session="s1",
        )
        mine.remember("我的猫叫年糕")
        layer.work()
        yield mine


@pytest.mark.full
@pytest.mark.hostile
def test_every_text_is_a_query(memory: ScopedMemory) -> None:
    answered = refused = 0
    for query in queries(20260302, count("hostile_queries")):
        try:
            found = memory.recall(query)
            assert isinstance(found, Recollection)
            assert found.items or found.nothing_because
            answered += 1
        except TooLarge:
            assert len(query) > LIMIT
            refused += 1
    print(f"{answered:,} answered, {refused:,} refused as too long")
    assert answered > 0
    assert refused > 0


def test_a_context_is_built_for_hostile_text_too(memory: ScopedMemory) -> None:
    for query in queries(7, 200):
        if len(query) <= LIMIT:
            block = memory.context(query, budget=200)
            assert block.tokens <= 200
            block.text.encode("utf-8")
