"""Measures of a ranking: values worked out by hand, and what holds for every ranking."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.evaluation.metrics import CUTS, mean, measures, percentile

RANKINGS = st.lists(st.integers(0, 30), max_size=40)
GOLD = st.sets(st.integers(0, 30), min_size=1, max_size=8)


def test_values_worked_out_by_hand() -> None:
    # Gold a and b: a stands second, b sixth.
    found = measures(["x", "a", "y", "z", "v", "b"], {"a", "b"})
    assert found["R@1"] == 0.0
    assert found["R@5"] == 0.5
    assert found["R@10"] == found["R@20"] == 1.0
    assert found["hit@10"] == 1.0
    assert found["MRR"] == 0.5
    gained, ideal = 1 / math.log2(3) + 1 / math.log2(7), 1 + 1 / math.log2(3)
    assert found["nDCG@10"] == pytest.approx(gained / ideal)
    assert found["nDCG@10"] == pytest.approx(0.6053, abs=1e-4)


def test_what_stands_beyond_twenty_counts_for_nothing() -> None:
    ranked = [f"x{i}" for i in range(20)] + ["a"]
    assert set(measures(ranked, {"a"}).values()) == {0.0}
    assert measures(ranked[1:], {"a"})["R@20"] == 1.0
    assert measures(ranked[1:], {"a"})["MRR"] == 1 / 20
    assert measures(ranked[1:], {"a"})["nDCG@10"] == 0.0


def test_more_gold_than_places_can_still_be_ranked_ideally() -> None:
    gold = list(range(15))
    found = measures(gold, gold)
    assert found["nDCG@10"] == 1.0
    assert found["R@10"] == pytest.approx(10 / 15)


def test_without_gold_nothing_is_measured() -> None:
    with pytest.raises(ValueError, match="without gold"):
        measures(["a"], ())


@given(RANKINGS, GOLD)
def test_every_measure_lies_between_0_and_1_and_recall_grows(ranked: list[int], gold: set[int]) -> None:
    found = measures(ranked, gold)
    assert all(0.0 <= value <= 1.0 for value in found.values())
    recalls = [found[f"R@{k}"] for k in CUTS]
    assert recalls == sorted(recalls)
    assert (found["hit@10"] > 0) == (found["R@10"] > 0) == (found["nDCG@10"] > 0)


@given(RANKINGS, GOLD)
def test_naming_something_again_changes_nothing(ranked: list[int], gold: set[int]) -> None:
    repeated = [item for item in ranked for _ in range(2)]
    assert measures(repeated, gold) == measures(ranked, gold)


@given(RANKINGS, GOLD, st.data())
def test_gold_moved_up_never_costs(ranked: list[int], gold: set[int], data: st.DataObject) -> None:
    order = list(dict.fromkeys(ranked))
    places = [i for i, item in enumerate(order) if item in gold and i and order[i - 1] not in gold]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    better = [*order[: place - 1], order[place], order[place - 1], *order[place + 1 :]]
    before, after = measures(order, gold), measures(better, gold)
    assert all(after[name] >= before[name] - 1e-12 for name in before)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_one_of_the_values_and_covers_its_share(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(v <= found for v in values) >= share * len(values) - 1e-9
    assert sum(v < found for v in values) < share * len(values) + 1e-9


def test_percentile_and_mean_of_little() -> None:
    assert percentile([], 0.5) == 0.0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert mean([]) == {}
    assert mean([{"a": 1.0}, {"a": 0.0}]) == {"a": 0.5}
