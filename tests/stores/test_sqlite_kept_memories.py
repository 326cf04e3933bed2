"""Memories that were made of their rows before are those that the rows say, whoever wrote meanwhile; and what was erased is let go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.memory import Evidence, Memory, Mode
from jiyi.domain.plans import Change
from jiyi.ports import Store
from jiyi.settings import SqlitePolicy
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from tests.stores.facts import ME, NOW, memory

EVERY = list(range(1, 6))


def read(store: Store) -> list[Memory]:
    with store.read() as unit:
        return unit.memories.get(ME, EVERY)


def write(store: Store, *changes: Change) -> None:
    store.write(lambda unit: unit.memories.write(ME, changes))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[SqliteStore, SqliteStore]:
    """Two over one file, which are two processes to each other."""
    path = tmp_path_factory.mktemp("memories") / "memory.db"
    first, second = (open_sqlite(path, synchronous="NORMAL", kept=SqlitePolicy(kept_memories=3)) for _ in range(2))
    return first, second


def changed(before: Memory, how: int, told: str) -> Memory | None:
    also = Evidence(1, 0, 1, NOW, "s2", Mode.CHANGE)
    return [
        replace(before, text=told, value=told),
        replace(before, low_activity=not before.low_activity),
        replace(before, evidence=(*before.evidence, also)),
        replace(before, evidence=()),
        replace(before, keywords=(told,)),
        None,
    ][how]


STEPS = st.tuples(st.integers(0, 1), st.sampled_from(EVERY), st.integers(0, 5), st.text("ab茶", max_size=2))


@given(st.lists(STEPS, max_size=6))
def test_they_are_what_stands_in_the_rows(
    stores: tuple[SqliteStore, SqliteStore], steps: list[tuple[int, int, int, str]]
) -> None:
    held = {m.seq: m for m in read(stores[0])}
    for writer, seq, how, told in steps:
        before = held.get(seq)
        after = memory(seq, f"t{told}", 1) if before is None else changed(before, how, told)
        write(stores[writer], Change(before, after))
        held = {s: m for s, m in held.items() if s != seq} | ({} if after is None else {seq: after})
        for store in stores:
            assert {m.seq: m for m in read(store)} == held


def test_what_is_the_same_is_made_once_and_what_is_erased_is_let_go(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL")
    told = [memory(seq, f"t{seq}", 1) for seq in (1, 2)]
    write(store, *(Change(None, one) for one in told))
    assert read(store)[0] is read(store)[0]
    write(store, Change(None, memory(3, "t3", 1)))
    assert store.kept.memories.memories == 2
    write(store, Change(told[0], None))
    assert store.kept.memories.memories == 0
    assert [m.seq for m in read(store)] == [2, 3]
    store.close()
