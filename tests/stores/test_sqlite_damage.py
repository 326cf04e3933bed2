"""A damaged file ends in an error that says what to do, whatever is asked of it, and never in a bug's traceback."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.errors import JiyiError, StoreCorrupt, StoreError
from jiyi.memory_layer import MemoryLayer
from jiyi.settings import TextIndexName
from tests.conftest import count

PAGE = 4096
ASKED: tuple[Callable[[MemoryLayer], object], ...] = (
    lambda layer: layer.scope("ming").recall("tea 杭州", limit=20),
    lambda layer: layer.scope("ming").context("tea"),
    lambda layer: layer.scope("ming").history(),
    lambda layer: layer.scope("ming").memories(status=None),
    lambda layer: layer.scope("ming").ledger(),
    lambda layer: layer.scope("ming").remember("I love cats"),
    lambda layer: layer.scope("ming").forget(memory="m3"),
    lambda layer: layer.work(),
    lambda layer: list(layer.check()),
    lambda layer: layer.reindex(),
)


@pytest.fixture(scope="module", params=["postings", "native"])
def healthy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("healthy") / "memory.db"
    index: TextIndexName = request.param
    with open_memory(path, worker=False, memory_index=index, message_index=index) as layer:
        for user in ("ming", "nora"):
            me = layer.scope(user)
            for i in range(40):
                me.observe([{"role": "user", "text": f"I love tea{i}. 我住在杭州{i}。"}], session=f"s{i % 3}")
        layer.work()
    return path.read_bytes()


def damaged(data: bytes, rng: random.Random) -> bytes:
    content = bytearray(data)
    at = rng.randrange(len(content) // PAGE) * PAGE
    how = rng.choice(["bits", "noise", "zeros", "cut"])
    if how == "bits":
        for _ in range(rng.choice([1, 5, 50])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif how == "noise":
        content[at : at + PAGE] = rng.randbytes(PAGE)
    elif how == "zeros":
        content[at : at + PAGE] = bytes(PAGE)
    else:
        del content[rng.randrange(len(content)) :]
    return bytes(content)


@pytest.mark.parametrize("seed", range(count("damages")))
def test_damage_of_any_kind_is_an_error_of_ours_or_none(healthy: bytes, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(damaged(healthy, random.Random(seed)))
    with suppress(JiyiError), open_memory(path, worker=False) as layer:
        for ask in ASKED:
            with suppress(JiyiError):
                ask(layer)


@pytest.mark.parametrize(
    ("sql", "ask"),
    [
        ("UPDATE ledger_change SET after = substr(after, 2)", lambda layer: layer.scope("ming").ledger()),
        ("UPDATE ledger_words SET judgements = '[{}]'", lambda layer: layer.scope("ming").ledger()),
        ("UPDATE ledger SET verb = 'eistil'", lambda layer: layer.scope("ming").ledger()),
        ("UPDATE memory SET category = 'pets'", lambda layer: layer.scope("ming").memories()),
        ("UPDATE memory SET valid_from = 9000000000000000000", lambda layer: layer.scope("ming").memories()),
        ("UPDATE message SET role = 'boss'", lambda layer: layer.scope("ming").history()),
        ("UPDATE schedule SET due_at = -9000000000000000000", lambda layer: layer.work()),
    ],
)
def test_a_row_that_cannot_be_read_back_is_called_damage(
    healthy: bytes, tmp_path: Path, sql: str, ask: Callable[[MemoryLayer], object]
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(healthy)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)
    with open_memory(path, worker=False) as layer, pytest.raises(StoreCorrupt, match="restore a backup"):
        ask(layer)


@pytest.mark.parametrize(
    "sql", ["UPDATE store_setting SET value = 'x'", "DELETE FROM store_setting WHERE name = 'secret'"]
)
def test_a_file_that_does_not_know_itself_is_not_opened(healthy: bytes, tmp_path: Path, sql: str) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(healthy)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)
    with pytest.raises(StoreError, match="damaged"):
        open_memory(path, worker=False)
