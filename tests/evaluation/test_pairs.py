"""The pairs are what they are said to be, and the measure counts right."""

from __future__ import annotations

from collections import Counter

from jiyi.evaluation.pairs import Found, Pair, load_distractors, load_pairs, measure, shared_words
from jiyi.shipped import load_segmenter


def test_there_are_enough_and_they_share_no_word() -> None:
    pairs, segmenter = load_pairs(), load_segmenter()
    counts = Counter(p.group for p in pairs)
    assert counts["paraphrase.zh"] >= 30
    assert counts["paraphrase.en"] >= 30
    assert counts["across.zh"] >= 15
    assert counts["across.en"] >= 15
    assert counts["exact"] >= 40
    sharing = {p.question: shared_words(p, segmenter) for p in pairs if p.group != "exact"}
    assert {q: words for q, words in sharing.items() if words} == {}
    assert len({p.memory for p in pairs}) == len(pairs)
    distractors = load_distractors()
    assert len(set(distractors)) == len(distractors) >= 1_000
    assert distractors == load_distractors()


def test_pairs_to_try_things_on_are_others() -> None:
    tried, measured, segmenter = load_pairs("pairs_developer"), load_pairs(), load_segmenter()
    counts = Counter(p.group for p in tried)
    assert min(counts["paraphrase.zh"], counts["paraphrase.en"]) >= 30
    assert [p for p in tried if p.group != "exact" and shared_words(p, segmenter)] == []
    texts = [{text for p in pairs for text in (p.memory, p.question)} for pairs in (tried, measured)]
    assert texts[0] & texts[1] == set()
    assert {p.memory for p in tried} & set(load_distractors()) == set()


def test_the_measure() -> None:
    pairs = [Pair("a", "m0", "q0"), Pair("a", "m1", "q1"), Pair("b", "m2", "q2")]
    answers = {"q0": [0, 1], "q1": [0, 2, 1], "q2": [5, 6, 7, 8, 9, 2]}
    assert list(measure(pairs, answers.__getitem__)) == [
        Found("a", 2, 0.5, 1.0, (1 + 1 / 3) / 2),
        Found("b", 1, 0.0, 0.0, 1 / 6),
    ]
