"""The pairs are what they are said to be, and the measure counts right."""

from __future__ import annotations

from collections import Counter

from jiyi.assembly import load_segmenter
from jiyi.evaluation.pairs import Found, Pair, load_distractors, load_pairs, measure, shared_words


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


def test_the_measure() -> None:
    pairs = [Pair("a", "m0", "q0"), Pair("a", "m1", "q1"), Pair("b", "m2", "q2")]
    answers = {"q0": [0, 1], "q1": [0, 2, 1], "q2": [5, 6, 7, 8, 9, 2]}
    assert list(measure(pairs, answers.__getitem__)) == [
        Found("a", 2, 0.5, 1.0, (1 + 1 / 3) / 2),
        Found("b", 1, 0.0, 0.0, 1 / 6),
    ]
