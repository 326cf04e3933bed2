"""Vectors kept in memory: the answers stay those of the file, and what is forgotten is never compared again (SPEC F6, R11)."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Chunk, Neighbour, Vector, chunk_of, cosine, quantise
from jiyi.ports import Kind, Unit
from jiyi.stores.scanning import numpy_scan
from jiyi.stores.sqlite.hot_vectors import HotVectors
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.stores.sqlite.vectors import SIZE, VectorRules

ME, MODEL, DIMENSION = Scope("u1"), "m1", 6
QUERY = quantise([0.3, -0.2, 0.9, 0.1, 0.5, -0.7])


def some(count: int, seed: int, first: int = 1) -> dict[int, Vector]:
    draw = random.Random(seed)
    return {first + n: quantise([draw.gauss(0, 1) for _ in range(DIMENSION)]) for n in range(count)}


def nearest(held: Mapping[int, Vector], limit: int = 30) -> list[Neighbour]:
    found = [Neighbour(seq, cosine(QUERY, vector)) for seq, vector in held.items()]
    return sorted(found, key=lambda n: (-n.cosine, -n.seq))[:limit]


def asked(unit: Unit) -> list[Neighbour]:
    return unit.vectors.search(ME, Kind.MESSAGE, MODEL, QUERY, 30)


def ask(store: SqliteStore) -> list[Neighbour]:
    with store.read() as unit:
        return asked(unit)


def add(store: SqliteStore, vectors: Mapping[int, Vector]) -> None:
    def work(unit: Unit) -> None:
        unit.vectors.begin(ME, MODEL, DIMENSION)
        unit.vectors.add(ME, Kind.MESSAGE, MODEL, vectors)

    store.write(work)


def remove(store: SqliteStore, seqs: list[int]) -> int:
    return store.write(lambda unit: unit.vectors.remove(ME, Kind.MESSAGE, seqs))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], SqliteStore]]:
    stores: list[SqliteStore] = []

    def open_one() -> SqliteStore:
        stores.append(open_sqlite(tmp_path / "memory.db", synchronous="NORMAL", vectors=VectorRules(numpy_scan)))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


def test_what_is_asked_for_twice_is_kept(opened: Callable[[], SqliteStore]) -> None:
    store, held = opened(), some(3 * SIZE + 5, 1)
    add(store, held)
    assert ask(store) == nearest(held)
    assert store.kept.vectors.bytes == 0
    assert [ask(store) for _ in range(3)] == [nearest(held)] * 3
    assert store.kept.vectors.bytes == 3 * SIZE * (DIMENSION + 8)
    new = some(5, 2, first=5_000)
    add(store, new)  # Rows, which are read each time.
    assert ask(store) == nearest(held | new)
    assert store.kept.vectors.bytes == 3 * SIZE * (DIMENSION + 8)


def test_what_is_forgotten_is_gone_from_memory_and_never_found(opened: Callable[[], SqliteStore]) -> None:
    store, other, held = opened(), opened(), some(2 * SIZE, 3)
    add(store, held)
    while held:
        for each in (store, other, store, other, store, other):
            assert ask(each) == nearest(held)
        gone = [n.seq for n in nearest(held, 100)]
        assert remove(store, gone) == len(gone)
        assert store.kept.vectors.bytes == 0
        held = {seq: v for seq, v in held.items() if seq not in gone}
    assert ask(other) == ask(other) == []
    assert other.kept.vectors.bytes == 0


def test_a_text_embedded_anew_is_compared_anew(opened: Callable[[], SqliteStore]) -> None:
    store, other, held = opened(), opened(), some(SIZE, 4)
    add(store, held)
    for seed in range(5, 8):
        assert [ask(s) for s in (store, other) * 3] == [nearest(held)] * 6
        held = some(SIZE, seed)  # The same numbers, in a chunk that takes the place of the other.
        add(store, held)


def test_a_set_that_is_dropped_and_begun_again_is_another(opened: Callable[[], SqliteStore]) -> None:
    store, other = opened(), opened()
    for seed in range(3):
        held = some(SIZE, seed)
        add(store, held)
        assert [ask(s) for s in (store, other) * 3] == [nearest(held)] * 6
        assert store.write(lambda unit: unit.vectors.drop(ME, MODEL)) == SIZE
        assert store.kept.vectors.bytes == 0
        assert ask(other) == []


def test_a_write_that_fails_leaves_what_was(opened: Callable[[], SqliteStore]) -> None:
    store, held = opened(), some(SIZE, 4)
    add(store, held)

    def work(unit: Unit) -> None:
        unit.vectors.remove(ME, Kind.MESSAGE, [1, 2, 3])
        left = nearest({seq: v for seq, v in held.items() if seq > 3})
        assert [asked(unit) for _ in range(3)] == [left] * 3
        raise LookupError

    for _ in range(3):
        assert [ask(store) for _ in range(3)] == [nearest(held)] * 3
        with pytest.raises(LookupError):
            store.write(work)


def test_a_snapshot_sees_what_was_there_when_it_began(opened: Callable[[], SqliteStore]) -> None:
    reading, writing, held = opened(), opened(), some(2 * SIZE, 6)
    add(writing, held)
    left = {seq: v for seq, v in held.items() if seq > 40}
    with reading.read() as before:
        assert asked(before) == nearest(held)
        remove(writing, list(range(1, 41)))
        assert [asked(before) for _ in range(3)] == [nearest(held)] * 3
        assert [ask(writing) for _ in range(3)] == [nearest(left)] * 3
    assert [ask(reading) for _ in range(3)] == [nearest(left)] * 3


def test_many_threads_ask_while_one_forgets(opened: Callable[[], SqliteStore]) -> None:
    """Whoever asks after a removal has returned never sees what went."""
    store, held = opened(), some(2 * SIZE, 8)
    add(store, held)
    gone: set[int] = set()
    over = threading.Event()

    def asking() -> int:
        rounds = 0
        while not over.is_set() or rounds < 3:
            before = set(gone)
            assert before.isdisjoint(n.seq for n in ask(store))
            rounds += 1
        return rounds

    with ThreadPoolExecutor(3) as pool:
        asked_for = [pool.submit(asking) for _ in range(3)]
        try:
            for _ in range(12):
                some_of = [n.seq for n in ask(store)][:20]
                assert remove(store, some_of) == len(some_of)
                gone.update(some_of)
        finally:
            over.set()
        assert all(done.result() >= 3 for done in asked_for)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add", "remove", "drop", "ask", "ask"]), st.integers(0, 1), st.integers(0, 99)),
    min_size=4,
    max_size=25,
)


@given(STEPS)
def test_two_programs_always_answer_by_what_the_file_holds(steps: list[tuple[str, int, int]]) -> None:
    held: dict[int, Vector] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        rules = VectorRules(numpy_scan)
        with (
            closing(open_sqlite(path, synchronous="NORMAL", vectors=rules)) as one,
            closing(open_sqlite(path, synchronous="NORMAL", vectors=rules)) as two,
        ):
            for what, which, number in steps:
                store = (one, two)[which]
                if what == "add":
                    new = some(SIZE + 9, number, first=1 + number * 7)
                    add(store, new)
                    held |= new
                elif what == "remove":
                    gone = random.Random(number).sample(sorted(held), len(held) // 3)
                    remove(store, gone)
                    held = {seq: v for seq, v in held.items() if seq not in gone}
                elif what == "drop":
                    store.write(lambda unit: unit.vectors.drop(ME, MODEL))
                    held = {}
                for each in (one, two, store):
                    assert ask(each) == nearest(held)


# ---------------------------------------------------------------------------------- how much is kept


def place(hot: HotVectors, number: int, chunk: Chunk, times: int, version: int = 1) -> int:
    """How often the file is read when a place is asked for so many times."""
    read: list[int] = []

    def reading() -> Iterator[Chunk]:
        read.append(number)
        yield chunk

    for _ in repeat(None, times):
        assert [c.numbers for c in hot.chunks((number, 1), version, reading)] == [chunk.numbers]
    return len(read)


TEN = chunk_of(some(10, 9))
BYTES = 10 * (DIMENSION + 8)


def test_the_memory_is_bounded_and_the_last_used_stay() -> None:
    hot = HotVectors(3 * BYTES, 1_000)
    assert [place(hot, number, TEN, 5) for number in range(5)] == [2] * 5
    assert hot.bytes == 3 * BYTES
    assert place(hot, 2, TEN, 5) == 0
    assert place(hot, 9, TEN, 5) == 2
    assert [place(hot, number, TEN, 1) for number in (2, 3, 4, 9)] == [0, 1, 0, 0]


def test_what_does_not_fit_is_read_each_time() -> None:
    hot = HotVectors(BYTES - 1, 1_000)
    assert place(hot, 1, TEN, 5) == 5
    assert hot.bytes == 0
    assert place(HotVectors(0, 1_000), 1, TEN, 5) == 5


def test_what_is_not_used_goes() -> None:
    hot = HotVectors(BYTES, -1.0)  # Every use is longer ago.
    assert place(hot, 1, TEN, 5) == 5
    assert hot.bytes == 0


def test_another_version_is_read_again() -> None:
    hot = HotVectors(BYTES, 1_000)
    assert [place(hot, 1, TEN, 5, version) for version in (1, 2, 1)] == [2, 2, 2]
    hot.drop([(1, 1)])
    assert hot.bytes == 0
    assert place(hot, 1, TEN, 1, version=1) == 1
