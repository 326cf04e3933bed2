"""What is forgotten is in none of the files any more (SPEC F6)."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from jiyi.domain.scope import Scope
from jiyi.errors import StoreBusy
from jiyi.ports import Unit
from jiyi.settings import TextIndexName
from jiyi.stores.sqlite import care
from jiyi.stores.sqlite.store import open_sqlite
from tests.stores.facts import ME, failures, forget, learn

INDEXES: tuple[TextIndexName, ...] = ("postings", "native")

SCAN = """
import pathlib, sys
data = b"".join(p.read_bytes() for p in pathlib.Path(sys.argv[1]).iterdir())
words = sys.stdin.buffer.read().split()
sys.stdout.buffer.write(b" ".join(word for word in words if word in data))
"""


def still_there(folder: Path, words: list[str]) -> list[str]:
    """The words that any file in the folder holds. From another process: reading a database's file beside
    SQLite in the same process would drop its locks."""
    done = subprocess.run(
        [sys.executable, "-c", SCAN, str(folder)], input=" ".join(words).encode(), capture_output=True, check=True
    )
    return done.stdout.decode().split()


def secret_words(count: int, seed: int) -> list[str]:
    """Words that occur nowhere else; FTS5 shortens a word by what it shares with its neighbour, so these share nothing."""
    rng = random.Random(seed)
    return ["".join(rng.choices("甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥bcdfghjk", k=12)) for _ in range(count)]


@pytest.mark.parametrize("index", INDEXES)
def test_a_forgotten_memory_is_gone_from_every_file(tmp_path: Path, index: TextIndexName) -> None:
    store = open_sqlite(tmp_path / "memory.db", text_index=index, synchronous="NORMAL")
    secret, kept = secret_words(2, seed=1)
    store.write(lambda unit: [learn(unit, ME, str(i), f"事实 {i} {kept}") for i in range(50)])
    number = store.write(lambda unit: learn(unit, ME, "secret", f"密码 {secret} password"))
    store.write(lambda unit: [learn(unit, ME, f"later{i}", f"事实 {i}") for i in range(50)])
    assert still_there(tmp_path, [secret, kept]) == [secret, kept]
    store.write(lambda unit: forget(unit, ME, number))
    store.purge()
    assert still_there(tmp_path, [secret, kept]) == [kept]
    assert failures(store) == []
    # While the store is open, and after.
    store.close()
    assert still_there(tmp_path, [secret, kept]) == [kept]


@pytest.mark.parametrize("index", INDEXES)
def test_a_forgotten_memory_is_gone_though_pages_were_split(tmp_path: Path, index: TextIndexName) -> None:
    """B-tree pages keep copies of cells that moved to a neighbour; deleting the cell does not reach them."""
    store = open_sqlite(tmp_path / "memory.db", text_index=index, synchronous="NORMAL")
    rng = random.Random(7)
    scopes = [Scope(f"u{i}") for i in range(6)]
    words = secret_words(700, seed=2)
    held: dict[str, tuple[Scope, int]] = {}
    gone: list[str] = []

    def step(unit: Unit) -> None:
        for _ in range(min(20, len(words) - len(held) - len(gone))):
            word, scope = words[len(held) + len(gone)], rng.choice(scopes)
            held[word] = (
                scope,
                learn(unit, scope, str(len(held) + len(gone)), " ".join([word] * rng.choice([1, 2, 30]))),
            )
        for word in rng.sample(sorted(held), 12):
            scope, number = held.pop(word)
            forget(unit, scope, number)
            gone.append(word)

    while len(held) + len(gone) < len(words):
        store.write(step)
    store.purge()
    assert still_there(tmp_path, gone) == []
    assert set(still_there(tmp_path, list(held))) == set(held)
    assert failures(store) == []
    store.close()


def test_overwritten_pictures_are_gone_too(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL")
    reason, text = secret_words(2, seed=3)
    number = store.write(lambda unit: learn(unit, ME, "a", f"{reason} {text}"))
    store.write(lambda unit: unit.ledger.erase(ME, [number]))
    store.write(lambda unit: forget(unit, ME, number))
    store.purge()
    assert still_there(tmp_path, [reason, text]) == []
    with store.read() as unit:
        [entry] = unit.ledger.entries(ME)
        assert (entry.forgotten, entry.plan.reason, entry.plan.changes) == (True, "", ())
    store.close()


def impatient(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA busy_timeout = 50")
    care.purge(connection, patience=0.1)


def test_a_reader_that_still_sees_it_is_named(tmp_path: Path) -> None:
    store, other = (open_sqlite(tmp_path / "memory.db") for _ in range(2))
    store.write(lambda unit: learn(unit, ME, "a", "绿茶"))
    with other.read() as unit:
        unit.messages.last_seq(ME)
        with pytest.raises(StoreBusy, match="a reader still sees"):
            store._writer.alone(impatient)
    store.purge()
    other.close()
    store.close()
