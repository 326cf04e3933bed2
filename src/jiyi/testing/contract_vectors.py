"""What `ports.VectorIndex` promises."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Neighbour, Vector, VectorSet, cosine, quantise
from jiyi.errors import InputError, StoreError
from jiyi.ports import Kind, Store
from jiyi.testing.contract_base import ME, NAMESAKE, YOU, Contract, fresh_scope, put_memories, shared_store
from jiyi.testing.contract_base import memory as a_memory
from jiyi.testing.strategies import vectors

MODEL, OTHER = "m1", "m2"
DIMENSION = 8
EAST = quantise([1.0, 0, 0, 0, 0, 0, 0, 0])
NORTH = quantise([0, 1.0, 0, 0, 0, 0, 0, 0])
NORTH_EAST = quantise([1.0, 1.0, 0, 0, 0, 0, 0, 0])
WEST = quantise([-1.0, 0, 0, 0, 0, 0, 0, 0])
LONG = quantise([0.25] * 2048)


def put(
    store: Store, held: Mapping[int, Vector], scope: Scope = ME, kind: Kind = Kind.MEMORY, model: str = MODEL
) -> None:
    dimension = next(iter(held.values())).dimension if held else DIMENSION
    store.write(lambda unit: unit.vectors.begin(scope, model, dimension))
    store.write(lambda unit: unit.vectors.add(scope, kind, model, held))


def near(
    store: Store, query: Vector, limit: int = 10, scope: Scope = ME, kind: Kind = Kind.MEMORY, model: str = MODEL
) -> list[Neighbour]:
    with store.read() as unit:
        return unit.vectors.search(scope, kind, model, query, limit)


def expected(held: Mapping[int, Vector], query: Vector, limit: int) -> list[Neighbour]:
    found = [Neighbour(seq, cosine(query, vector)) for seq, vector in held.items()]
    return sorted(found, key=lambda n: (-n.cosine, -n.seq))[:limit]


def random_vectors(count: int, dimension: int = DIMENSION, seed: int = 7) -> dict[int, Vector]:
    draw = random.Random(seed)
    return {seq: quantise([draw.gauss(0, 1) for _ in range(dimension)]) for seq in range(1, count + 1)}


class VectorIndexContract(Contract):
    def test_the_nearest_come_first_and_equal_ones_by_higher_number(
        self, store: Store, reopen: Callable[[], Store]
    ) -> None:
        put(store, {1: NORTH, 2: EAST, 3: WEST, 4: NORTH_EAST, 5: EAST})
        wanted = [Neighbour(5, 1.0), Neighbour(2, 1.0), Neighbour(4, 0.7071), Neighbour(1, 0.0), Neighbour(3, -1.0)]
        assert near(store, EAST) == near(reopen(), EAST) == wanted
        assert near(store, EAST, 2) == wanted[:2]
        assert near(store, EAST, 0) == []

    def test_nothing_is_there_at_first(self, store: Store) -> None:
        assert near(store, EAST) == []
        with store.read() as unit:
            assert unit.vectors.sets(ME) == []
            assert unit.vectors.held(ME, Kind.MEMORY, MODEL) == set()
            assert unit.vectors.count(ME, Kind.MEMORY, MODEL) == 0
            assert unit.vectors.embedded_up_to(ME, MODEL) == 0
        assert store.write(lambda unit: unit.vectors.remove(ME, Kind.MEMORY, [1])) == 0
        assert store.write(lambda unit: unit.vectors.drop(ME, MODEL)) == 0

    def test_scopes_kinds_and_models_do_not_meet(self, store: Store) -> None:
        put(store, {1: EAST})
        put(store, {2: EAST}, kind=Kind.MESSAGE)
        put(store, {3: LONG}, model=OTHER)
        put(store, {4: EAST}, scope=YOU)
        put(store, {5: EAST}, scope=NAMESAKE)
        assert [n.seq for n in near(store, EAST)] == [1]
        assert [n.seq for n in near(store, EAST, kind=Kind.MESSAGE)] == [2]
        assert near(store, EAST, kind=Kind.SUMMARY) == []
        assert [n.seq for n in near(store, LONG, model=OTHER)] == [3]
        assert [n.seq for n in near(store, EAST, scope=YOU)] == [4]
        with store.read() as unit:
            assert unit.vectors.sets(ME) == [VectorSet(MODEL, DIMENSION), VectorSet(OTHER, 2048)]

    def test_adding_a_number_again_replaces_it(self, store: Store) -> None:
        held = random_vectors(300)
        put(store, held)
        put(store, dict.fromkeys((1, 7, 300), EAST))
        held |= dict.fromkeys((1, 7, 300), EAST)
        assert near(store, EAST, 300) == expected(held, EAST, 300)
        with store.read() as unit:
            assert unit.vectors.count(ME, Kind.MEMORY, MODEL) == 300

    def test_removing_reaches_every_set_and_nothing_else(self, store: Store) -> None:
        put(store, {1: EAST, 2: NORTH})
        put(store, {1: LONG}, model=OTHER)
        put(store, {1: EAST}, kind=Kind.MESSAGE)
        put(store, {1: EAST}, scope=YOU)
        assert store.write(lambda unit: unit.vectors.remove(ME, Kind.MEMORY, [1, 9])) == 2
        assert [n.seq for n in near(store, EAST)] == [2]
        assert near(store, LONG, model=OTHER) == []
        assert [n.seq for n in near(store, EAST, kind=Kind.MESSAGE)] == [1]
        assert [n.seq for n in near(store, EAST, scope=YOU)] == [1]

    def test_many_are_added_and_taken_out_in_any_order(self, store: Store) -> None:
        held = random_vectors(1100)
        seqs = list(held)
        random.Random(3).shuffle(seqs)
        for start in range(0, len(seqs), 150):
            put(store, {seq: held[seq] for seq in seqs[start : start + 150]})
        query = quantise([0.3, -0.2, 0.9, 0.1, 0, -0.5, 0.4, 0.2])
        assert near(store, query, 20) == expected(held, query, 20)
        gone = random.Random(5).sample(seqs, 900)
        for start in range(0, len(gone), 100):
            some = gone[start : start + 100]
            assert store.write(lambda unit, some=some: unit.vectors.remove(ME, Kind.MEMORY, some)) == len(some)  # type: ignore[misc]
        left = {seq: v for seq, v in held.items() if seq not in set(gone)}
        assert near(store, query, 300) == expected(left, query, 300)
        with store.read() as unit:
            assert unit.vectors.held(ME, Kind.MEMORY, MODEL) == set(left)
            assert unit.vectors.count(ME, Kind.MEMORY, MODEL) == len(left)

    def test_high_dimensions_are_compared_exactly(self, store: Store) -> None:
        held = random_vectors(40, 3072)
        put(store, held, model=OTHER)
        assert near(store, held[7], 40, model=OTHER) == expected(held, held[7], 40)

    def test_a_set_is_begun_once_and_dropped_whole(self, store: Store) -> None:
        put(store, {1: EAST})
        put(store, {1: LONG}, model=OTHER)
        store.write(lambda unit: unit.vectors.mark_embedded_up_to(ME, OTHER, 12))
        with store.read() as unit:
            assert (unit.vectors.embedded_up_to(ME, OTHER), unit.vectors.embedded_up_to(ME, MODEL)) == (12, 0)
        assert store.write(lambda unit: unit.vectors.drop(ME, MODEL)) == 1
        assert near(store, EAST) == []
        with store.read() as unit:
            assert unit.vectors.sets(ME) == [VectorSet(OTHER, 2048)]
        store.write(lambda unit: unit.vectors.begin(ME, MODEL, DIMENSION))
        with store.read() as unit:
            assert unit.vectors.sets(ME) == [VectorSet(OTHER, 2048), VectorSet(MODEL, DIMENSION)]
        assert near(store, EAST) == []

    def test_what_does_not_fit_is_refused(self, store: Store) -> None:
        put(store, {1: EAST})
        refused = (
            lambda unit: unit.vectors.add(ME, Kind.MEMORY, MODEL, {2: NORTH, 3: LONG}),
            lambda unit: unit.vectors.add(ME, Kind.MEMORY, OTHER, {2: NORTH}),
            lambda unit: unit.vectors.begin(ME, MODEL, 9),
            lambda unit: unit.vectors.mark_embedded_up_to(ME, OTHER, 1),
        )
        for change in refused:
            with pytest.raises(InputError):
                store.write(change)
        with pytest.raises(InputError):
            near(store, LONG)
        assert [n.seq for n in near(store, NORTH)] == [1]

    def test_a_reading_unit_changes_nothing(self, store: Store) -> None:
        put(store, {1: EAST})
        with store.read() as unit:
            for change in (
                lambda: unit.vectors.begin(ME, OTHER, 3),
                lambda: unit.vectors.add(ME, Kind.MEMORY, MODEL, {2: EAST}),
                lambda: unit.vectors.remove(ME, Kind.MEMORY, [1]),
                lambda: unit.vectors.drop(ME, MODEL),
                lambda: unit.vectors.mark_embedded_up_to(ME, MODEL, 3),
            ):
                with pytest.raises(StoreError):
                    change()
        assert [n.seq for n in near(store, EAST)] == [1]

    def test_all_numbers_of_memories(self, store: Store) -> None:
        put_memories(store, ME, a_memory(3), a_memory(1, "另一条"))
        put_memories(store, YOU, a_memory(2))
        with store.read() as unit:
            assert unit.memories.numbers(ME) == [1, 3]
            assert unit.memories.numbers(NAMESAKE) == []

    @shared_store
    @given(held=st.dictionaries(st.integers(1, 40), vectors(DIMENSION), max_size=20), query=vectors(DIMENSION), limit=st.integers(0, 25))  # fmt: skip
    def test_any_vectors_come_in_the_one_order(
        self, store: Store, held: dict[int, Vector], query: Vector, limit: int
    ) -> None:
        scope = fresh_scope()
        put(store, held, scope=scope)
        assert near(store, query, limit, scope=scope) == expected(held, query, limit)
