"""What a process keeps of texts to look through changes no answer: neither what is added, nor what is rewritten, nor an older
snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.scope import Scope
from jiyi.ports import Store, Unit
from jiyi.settings import SqlitePolicy
from jiyi.stores.sqlite.letters import PIECE
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.testing.contract_base import blot
from tests.stores.facts import ME, NOW

LETTERS = "ab猫\U0001f408"
TEXTS = st.text(LETTERS, max_size=4)
SCOPES = count()


def said(unit: Unit, scope: Scope, *texts: str) -> None:
    start = unit.messages.last_seq(scope) + 1
    unit.messages.add(
        scope,
        [
            IncomingMessage(id=str(start + i), role=Role.USER, text=text, at=NOW, session="s")
            for i, text in enumerate(texts)
        ],
    )


def holding(store: Store, scope: Scope, needles: list[str], limit: int = 10_000) -> list[int]:
    with store.read() as unit:
        return [m.seq for m in unit.messages.containing(scope, needles, limit)]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """One that keeps texts from the first message on, and one that keeps none."""
    folder = tmp_path_factory.mktemp("letters")
    keeping = open_sqlite(folder / "a.db", synchronous="NORMAL", kept=SqlitePolicy(kept_from=1))
    plain = open_sqlite(folder / "b.db", synchronous="NORMAL", kept=SqlitePolicy(kept_characters=0))
    yield keeping, plain
    keeping.close()
    plain.close()


@given(
    steps=st.lists(st.lists(TEXTS, max_size=5) | st.tuples(st.integers(1, 9), TEXTS), max_size=8),
    needles=st.lists(st.text(LETTERS, min_size=1, max_size=3), min_size=1, max_size=3),
    limit=st.integers(0, 4),
)
def test_it_finds_what_reading_every_text_finds(
    stores: tuple[SqliteStore, SqliteStore], steps: list[list[str] | tuple[int, str]], needles: list[str], limit: int
) -> None:
    scope = Scope(f"u{next(SCOPES)}")
    for step in steps:
        for store in stores:
            if isinstance(step, list):
                store.write(lambda unit, texts=step: said(unit, scope, *texts))  # type: ignore[misc]
            else:
                with store.read() as unit:
                    there = unit.messages.get(scope, [step[0]])
                if there:
                    store.write(lambda unit, told=step: blot(unit, scope, *told))  # type: ignore[misc]
        for most in (limit, 10_000):
            keeping, plain = (holding(store, scope, needles, most) for store in stores)
            assert keeping == plain


def test_more_messages_than_one_string_holds(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL")
    store.write(lambda unit: said(unit, ME, *(f"第{i}句" for i in range(1, PIECE + 3))))
    assert holding(store, ME, ["第7句", f"第{PIECE + 1}句"]) == [PIECE + 1, 7]
    store.write(lambda unit: said(unit, ME, "第7句"))
    assert holding(store, ME, ["第7句"]) == [PIECE + 3, 7]
    assert holding(store, ME, ["句"], 2) == [PIECE + 3, PIECE + 2]
    store.close()


def test_another_process_rewrites_a_text(tmp_path: Path) -> None:
    """Two stores over one file are two processes to each other."""
    mine, other = (
        open_sqlite(tmp_path / "memory.db", synchronous="NORMAL", kept=SqlitePolicy(kept_from=1)) for _ in range(2)
    )
    mine.write(lambda unit: said(unit, ME, "电话是 138", "茶"))
    assert holding(mine, ME, ["138"]) == [1]
    other.write(lambda unit: blot(unit, ME, 1, "电话是 ███"))
    assert holding(mine, ME, ["138"]) == []
    assert holding(mine, ME, ["███", "茶"]) == [2, 1]
    mine.close()
    other.close()


def test_an_older_snapshot_keeps_what_it_saw(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL", kept=SqlitePolicy(kept_from=1))
    store.write(lambda unit: said(unit, ME, "a1"))
    found: list[list[int]] = []

    def meanwhile() -> None:
        store.write(lambda unit: said(unit, ME, "a2"))
        found.append(holding(store, ME, ["a"]))
        store.write(lambda unit: blot(unit, ME, 1, "b1"))
        found.append(holding(store, ME, ["a"]))

    with store.read() as unit:
        assert unit.messages.last_seq(ME) == 1
        beside = threading.Thread(target=meanwhile)
        beside.start()
        beside.join()
        found.append([m.seq for m in unit.messages.containing(ME, ["a"], 9)])
        assert [m.text for m in unit.messages.containing(ME, ["1"], 9)] == ["a1"]
    assert found == [[2, 1], [2], [1]]
    store.close()


def test_only_so_many_characters_are_kept(tmp_path: Path) -> None:
    store = open_sqlite(
        tmp_path / "memory.db", synchronous="NORMAL", kept=SqlitePolicy(kept_from=1, kept_characters=10)
    )
    one, two = Scope("x"), Scope("y")
    store.write(lambda unit: said(unit, one, "abcdef"))
    store.write(lambda unit: said(unit, two, "abcdef"))
    for scope in (one, two, one):
        assert holding(store, scope, ["cd"]) == [1]
    store.close()
