"""The scan by numpy, with and without simsimd, beside the one that is obviously right."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from jiyi.domain.vectors import MAX_DIMENSION, Chunk, Vector, chunk_of, plain_scan, quantise
from jiyi.errors import InputError
from jiyi.stores.scanning import MANY, numpy_scan, products_by_numpy, products_by_simd, quantised, scan

DIMENSIONS = (1, 2, 3, 7, 15, 16, 17, 31, 63, 64, 65, 127, 130, 384, 512, 896, 1024, 1025, 1500)


def vector(numbers: list[int]) -> Vector:
    return Vector(np.array(numbers, np.int8).tobytes(), sum(n * n for n in numbers))


@st.composite
def asked(draw: st.DrawFn) -> tuple[list[Chunk], Vector]:
    """Chunks of several sizes, one of them empty, with the largest numbers often and equal vectors now and then."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    dimension, steep = draw(st.sampled_from(DIMENSIONS)), draw(st.booleans())

    def some() -> Vector:
        ends = (-127, 127) if steep else range(-127, 128)
        return vector([127, *rng.choices(ends, k=dimension - 1)])

    told = [some() for _ in range(draw(st.integers(1, 40)))]
    held: Mapping[int, Vector] = {seq: rng.choice(told) for seq in rng.sample(range(1, 1 << 24), 60)}
    seqs, cut = list(held), sorted(rng.sample(range(60), 2))
    parts = (seqs[: cut[0]], [], seqs[cut[0] : cut[1]], seqs[cut[1] :])
    return [chunk_of({seq: held[seq] for seq in part}) for part in parts], rng.choice([some(), *told])


@given(asked(), st.integers(0, 70))
def test_both_products_give_what_plain_python_gives(told: tuple[list[Chunk], Vector], limit: int) -> None:
    chunks, query = told
    numbers = np.frombuffer(query.numbers, np.int8)
    right = plain_scan(chunks, query, limit)
    assert numpy_scan(chunks, query, limit) == right
    assert scan(chunks, query, limit, products_by_numpy(numbers)) == right
    assert scan(chunks, query, limit, products_by_simd(numbers)) == right


@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from((1, 2, 3, 16, 130)))
def test_of_many_none_is_left_out_that_is_among_the_nearest(seed: int, limit: int, dimension: int) -> None:
    """Most are equally near or nearly so, and what is nearest stands anywhere."""
    rng = random.Random(seed)
    told = [vector([127, *(rng.randint(-spread, spread) for _ in range(dimension - 1))]) for spread in (1, 9, 127)]
    seqs = rng.sample(range(1, 1 << 24), MANY * limit + rng.randint(0, 50))
    rare = {seq: rng.choice(told) for seq in rng.sample(seqs, limit)}
    chunks = [chunk_of({seq: rare.get(seq, told[0]) for seq in seqs})]
    query = rng.choice(told)
    assert numpy_scan(chunks, query, limit) == plain_scan(chunks, query, limit)


@given(arrays(np.float32, st.tuples(st.integers(0, 4), st.integers(1, 40)), elements=st.floats(width=32)))
def test_many_are_quantised_as_one_is(rows: NDArray[np.float32]) -> None:
    try:
        right = list(map(quantise, rows.tolist()))
    except InputError:
        with pytest.raises(InputError, match="no direction"):
            quantised(rows)
    else:
        assert quantised(rows) == right


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_products_are_exact(sign: int) -> None:
    largest = np.full(MAX_DIMENSION, 127, np.int8)
    for products in (products_by_numpy(largest), products_by_simd(largest)):
        assert products(np.stack([sign * largest] * 3)).tolist() == [sign * 127 * 127 * MAX_DIMENSION] * 3


def test_a_chunk_whose_parts_do_not_fit_is_damaged() -> None:
    whole, query = chunk_of({1: vector([127, 3]), 2: vector([127, -4])}), vector([127, 0])
    broken = (
        Chunk(whole.seqs[:4], whole.squares, whole.numbers),
        Chunk(whole.seqs, whole.squares[:4], whole.numbers),
        Chunk(whole.seqs, whole.squares, whole.numbers[:2]),
        Chunk(whole.seqs, whole.squares, whole.numbers[:3]),
    )
    for chunk in broken:
        with pytest.raises(ValueError, match=r"parts|reshape"):
            numpy_scan([chunk], query, 5)


def test_many_products_lose_no_reference() -> None:
    # simsimd lets one go at each call that writes into an array of ours, until the interpreter falls.
    products = products_by_simd(np.full(8, 127, np.int8))
    vectors = np.full((4, 8), 127, np.int8)
    before = [sys.getrefcount(thing) for thing in (None, vectors)]
    for _ in range(2_000):
        products(vectors)
    after = [sys.getrefcount(thing) for thing in (None, vectors)]
    assert all(abs(now - then) < 200 for then, now in zip(before, after, strict=True))


WITHOUT_SIMSIMD = """
import sys
sys.modules["simsimd"] = None  # as if it were not installed
from jiyi.domain.vectors import chunk_of, plain_scan, quantise
from jiyi.stores.scanning import numpy_scan

held = {n: quantise([1.0, n, -0.5 * n * n]) for n in range(1, 40)}
assert numpy_scan([chunk_of(held)], held[7], 9) == plain_scan([chunk_of(held)], held[7], 9)
print("equal")
"""


def test_without_simsimd_numpy_multiplies() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_SIMSIMD], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "equal"
