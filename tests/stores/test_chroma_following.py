"""Chroma follows the database through kills, absences, restored backups and forgetting, and nothing waits for it (SPEC R11)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jiyi.assembly import open_memory
from jiyi.backends import restore_database
from jiyi.domain.scope import Scope
from jiyi.domain.vectors import quantise
from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.vectors import match_vectors
from jiyi.ports import Kind
from jiyi.stores.chroma import open_chroma
from jiyi.testing.embedders import ByCharacters
from tests.conftest import Clock
from tests.stores.chroma_server import chroma_server

ME = Scope("ming")
Open = Callable[..., MemoryLayer]


@pytest.fixture
def open_with(tmp_path: Path, clock: Clock) -> Open:
    def open_with(engine: str | None = f"chroma:{tmp_path / 'chroma'}") -> MemoryLayer:
        return open_memory(
            tmp_path / "memory.db", clock=clock, worker=False, synchronous="NORMAL", embedder=ByCharacters(),
            vector_engine=engine,
        )  # fmt: skip

    return open_with


def say(layer: MemoryLayer, *texts: str) -> None:
    layer.scope("ming").observe([{"role": "user", "text": text} for text in texts], session="s1")
    layer.work()


def told(layer: MemoryLayer) -> dict[int, int]:
    """The messages that Chroma holds."""
    follower = layer._store._follower
    engine = follower._engine
    found: dict[int, int] = {}
    for collection in engine.collections(f"{follower._rules.prefix}-"):
        if collection.endswith("-2"):
            found |= engine.marks(collection)
    return found


def near(layer: MemoryLayer, question: str, limit: int = 2) -> list[int]:
    with layer._store.read() as unit:
        return [n.seq for n in match_vectors(unit, ME, Kind.MESSAGE, question, layer._parts.embedding, limit)]


def line(layer: MemoryLayer) -> str:
    [found] = [c for c in layer.check() if c.name == "vector engine"]
    return f"{found.ok} {found.detail}"


TEXTS = ["岛上有灯塔", *(f"第{n}天风很大" for n in range(19))]


def test_chroma_hears_of_everything_and_finds_it(open_with: Open) -> None:
    with open_with() as layer:
        say(layer, *TEXTS)
        assert set(told(layer)) == set(range(1, 21))
        assert near(layer, "塔灯")[0] == 1
        assert "True Chroma in" in line(layer)
        assert "has heard of everything" in line(layer)


def test_what_was_not_told_before_a_crash_is_told_when_the_memory_is_opened_again(open_with: Open) -> None:
    """Each step of following may be the last: the outbox is full, and the engine has heard of none or of all of it."""
    with open_with() as layer:
        say(layer, *TEXTS)
    with open_with() as layer:
        store = layer._store
        store._follower._rules.engine.close()
        with store.read() as unit:
            moved = {seq: quantise([float(seq), 1.0, *[0.5] * 62]) for seq in (2, 3)}
            [held] = unit.vectors.sets(ME)
        store.write(lambda unit: unit.vectors.add(ME, Kind.MESSAGE, held.model, moved))
        store.write(lambda unit: unit.vectors.remove(ME, Kind.MESSAGE, [4]))
        before = told(layer)
        assert 4 in before
        # As killed here: nothing was told.
    with open_with() as layer:
        assert layer._store.catch_up() == 3
        after = told(layer)
        assert 4 not in after
        assert {s for s in after if after[s] != before[s]} == {2, 3}
        assert layer._store.catch_up() == 0


KILLED = """
import os, signal, sys
from jiyi.assembly import open_memory
from jiyi.stores import chroma
from jiyi.testing.embedders import ByCharacters

class Killed(chroma.ChromaEngine):
    def set_token(self, prefix, token):
        os.kill(os.getpid(), signal.SIGKILL)

chroma.ChromaEngine = Killed
with open_memory(sys.argv[1], worker=False, embedder=ByCharacters(), vector_engine=sys.argv[2]) as layer:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": text} for text in sys.argv[3:]], session="s1")
    layer.work()
"""


def test_killed_between_telling_and_noting_it_the_same_is_told_again(open_with: Open, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "memory.db"), f"chroma:{tmp_path / 'chroma'}", *TEXTS]
    assert subprocess.run(command, check=False).returncode == -9
    with open_with() as layer:
        layer.work()
        assert set(told(layer)) == set(range(1, 21))
        assert near(layer, "塔灯")[0] == 1


def test_what_changed_while_the_engine_was_not_there_is_told_when_it_is(open_with: Open, clock: Clock) -> None:
    with open_with() as layer:
        say(layer, *TEXTS)
    with open_with(None) as layer:
        layer.scope("ming").forget(topic="灯塔")
        say(layer, "山上有雪")
        assert near(layer, "山雪")[0] == 21
    with open_with() as layer:
        layer.work()
        assert set(told(layer)) == set(range(2, 22))


def test_an_old_backup_in_the_place_of_the_database_is_followed(open_with: Open, tmp_path: Path) -> None:
    with open_with() as layer:
        say(layer, *TEXTS[:10])
        layer.backup(str(tmp_path / "backup.db"))
        say(layer, *TEXTS[10:])
        assert len(told(layer)) == 20
    restore_database(tmp_path / "backup.db", tmp_path / "memory.db", replace=True)
    with open_with() as layer:
        layer.work()
        assert set(told(layer)) == set(range(1, 11))


SCAN = """
import pathlib, sys
wanted = [bytes.fromhex(line) for line in sys.stdin.read().split()]
for file in pathlib.Path(sys.argv[1]).rglob("*"):
    data = file.read_bytes() if file.is_file() else b""
    for numbers in wanted:
        if numbers in data:
            print(file.name)
"""


def test_forgetting_reaches_chroma_and_leaves_no_byte(open_with: Open, tmp_path: Path) -> None:
    secret = quantise(ByCharacters()._vector(TEXTS[0]).tolist())
    floats = np.frombuffer(secret.numbers, np.int8).astype(np.float32)
    shapes = [secret.numbers, floats.tobytes(), (floats / np.linalg.norm(floats)).tobytes()[:64]]

    def left() -> list[str]:
        wanted = "\n".join(s.hex() for s in shapes)
        command = [sys.executable, "-c", SCAN, str(tmp_path)]
        done = subprocess.run(command, input=wanted.encode(), capture_output=True, check=True)
        return sorted(set(done.stdout.decode().split()))

    with open_with() as layer:
        say(layer, *TEXTS)
        assert "chroma.sqlite3" in left()
        layer.scope("ming").forget(topic="灯塔")
        assert set(told(layer)) == set(range(2, 21))
        # Chroma fills this file from memory that nobody cleared, so by chance numbers of a former vector may stand in it.
        assert set(left()) <= {"data_level0.bin"}
        layer.scope("ming").forget(everything=True)
        assert told(layer) == {}


def test_a_server_that_is_down_keeps_nothing_waiting_and_hears_of_it_later(
    open_with: Open, tmp_path: Path, clock: Clock
) -> None:
    with chroma_server(tmp_path / "server") as port, open_with(f"chroma:http://127.0.0.1:{port}") as layer:
        say(layer, *TEXTS)
        assert set(told(layer)) == set(range(1, 21))
    with open_with(f"chroma:http://127.0.0.1:{port}") as layer:
        say(layer, "山上有雪")
        assert near(layer, "山雪")[0] == 21
        layer.scope("ming").forget(topic="灯塔")
        assert "False Chroma at 127.0.0.1" in line(layer)
        assert near(layer, "灯塔")[0] != 1
    with chroma_server(tmp_path / "server", port), open_with(f"chroma:http://127.0.0.1:{port}") as layer:
        layer.work()
        assert set(told(layer)) == set(range(2, 22))


@pytest.mark.parametrize("place", ["chroma", "chroma:", "faiss:x", "chroma:ftp://host"])
def test_what_is_no_engine_says_how_to_write_one(open_with: Open, place: str) -> None:
    with pytest.raises(SettingsError, match="chroma:FOLDER or chroma:http://HOST:PORT"):
        open_with(place)


def test_an_address_may_name_no_port() -> None:
    assert open_chroma("https://chroma.example").name == "Chroma at chroma.example:443"
