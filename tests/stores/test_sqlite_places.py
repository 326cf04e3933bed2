"""What a process keeps of where messages stand changes no answer: neither what is added, nor what is rewritten, nor an older
snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.fusion import Place
from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.scope import Scope
from jiyi.ports import Store, Unit
from jiyi.settings import SqlitePolicy
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.testing.contract_base import blot
from tests.stores.facts import ME, NOW

SCOPES = count()
TEXTS = st.sampled_from(["茶", "really?", "好吗？😀", ""])


def said(unit: Unit, scope: Scope, *texts: str) -> None:
    start = unit.messages.last_seq(scope) + 1
    unit.messages.add(
        scope,
        [
            IncomingMessage(
                id=str(start + i), role=Role.USER, text=text, at=NOW, session=f"s{len(text)}", name=text[:1] or None
            )
            for i, text in enumerate(texts)
        ],
    )


def places(store: Store, scope: Scope, seqs: list[int]) -> list[Place]:
    with store.read() as unit:
        return unit.messages.places(scope, seqs)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """One that keeps places, few enough that some have to go, and one that keeps none."""
    folder = tmp_path_factory.mktemp("places")
    keeping = open_sqlite(folder / "a.db", synchronous="NORMAL", kept=SqlitePolicy(kept_places=40))
    plain = open_sqlite(folder / "b.db", synchronous="NORMAL", kept=SqlitePolicy(kept_places=0))
    yield keeping, plain
    keeping.close()
    plain.close()


@given(
    steps=st.lists(
        st.lists(TEXTS, max_size=5)
        | st.tuples(st.integers(1, 9), TEXTS)
        | st.lists(st.integers(-1, 12), max_size=9).map(set),
        max_size=9,
    )
)
def test_they_are_what_reading_every_message_gives(
    stores: tuple[SqliteStore, SqliteStore], steps: list[list[str] | tuple[int, str] | set[int]]
) -> None:
    scope = Scope(f"u{next(SCOPES)}")
    for step in [*steps, set(range(12))]:
        if isinstance(step, set):
            kept, plain = (places(store, scope, list(step)) for store in stores)
            assert kept == plain
            continue
        for store in stores:
            if isinstance(step, list):
                store.write(lambda unit, texts=step: said(unit, scope, *texts))  # type: ignore[misc]
            elif places(store, scope, [step[0]]):
                store.write(lambda unit, told=step: blot(unit, scope, *told))  # type: ignore[misc]


def test_another_process_rewrites_and_adds(tmp_path: Path) -> None:
    """Two stores over one file are two processes to each other."""
    mine, other = (open_sqlite(tmp_path / "memory.db", synchronous="NORMAL") for _ in range(2))
    mine.write(lambda unit: said(unit, ME, "really?", "茶"))
    assert [p.size for p in places(mine, ME, [1, 2, 3])] == [7, 3]
    other.write(lambda unit: blot(unit, ME, 1, "no"))
    other.write(lambda unit: said(unit, ME, "好茶"))
    assert [(p.seq, p.size, bool(p.asks)) for p in places(mine, ME, [3, 2, 1])] == [
        (1, 2, False), (2, 3, False), (3, 6, False)
    ]  # fmt: skip
    mine.close()
    other.close()


def test_an_older_snapshot_keeps_what_it_saw(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL")
    store.write(lambda unit: said(unit, ME, "a"))
    found: list[list[int]] = []

    def meanwhile() -> None:
        store.write(lambda unit: said(unit, ME, "ab"))
        found.append([p.size for p in places(store, ME, [1, 2])])
        store.write(lambda unit: blot(unit, ME, 1, "abc"))
        found.append([p.size for p in places(store, ME, [1, 2])])

    with store.read() as unit:
        assert unit.messages.last_seq(ME) == 1
        beside = threading.Thread(target=meanwhile)
        beside.start()
        beside.join()
        found.append([p.size for p in unit.messages.places(ME, [1, 2])])
    assert found == [[1, 2], [3, 2], [1]]
    store.close()


def test_what_is_rewritten_is_not_kept_and_all_of_it_has_a_bound(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL", kept=SqlitePolicy(kept_places=3))
    store.write(lambda unit: said(unit, ME, "a", "b", "c", "d"))
    assert len(places(store, ME, [1, 2])) == 2
    assert store.kept.places.places == 2
    store.write(lambda unit: blot(unit, ME, 1, "x"))
    assert store.kept.places.places == 0
    assert len(places(store, ME, [1, 2, 3, 4])) == 4
    assert store.kept.places.places == 0
    store.close()
