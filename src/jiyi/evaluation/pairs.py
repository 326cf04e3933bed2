"""Memories that only their meaning leads to, in a pool of other sentences: what an embedder finds (SPEC R11).

The pairs are ours, written before anything was tuned on them; see `pairs.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import Any, TypeAlias

from jiyi.domain.vectors import cosine, quantise
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Embedder
from jiyi.shipped import load_voice
from jiyi.text.segmentation import Segmenter

GROUPS = ("paraphrase", "across", "exact")
Ranking: TypeAlias = Callable[[str], Sequence[int]]
"""From a question to the places in the pool that answer it, best first."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, and the one memory of the pool that answers it. `group` is one of `GROUPS`, of which paraphrases and
    those across languages name the language of the question too: `paraphrase.zh`."""

    group: str
    memory: str
    question: str


@dataclass(frozen=True, slots=True)
class Found:
    """How often the memory was the first, among the first five, and its mean reciprocal rank among the first ten."""

    group: str
    pairs: int
    first: float
    five: float
    rank: float


def load_pairs(name: str = "pairs") -> list[Pair]:
    """The pairs that are measured on; of "pairs_developer" those that everything is tried on and chosen by."""
    document = _document(name)
    return [
        Pair(group if group == "exact" else f"{group}.{_language(p['question'])}", p["memory"], p["question"])
        for group in GROUPS
        for p in document[group]
    ]


def load_distractors() -> list[str]:
    """Sentences of everyday life and work in both languages, the same ones in the same order each time."""
    words: Mapping[str, Any] = _document()["distractors"]
    zh = [f"{who}{when}{what}" for who, when, what in product(*(words["zh"][k] for k in ("who", "when", "what")))]
    en = [f"{who} {what} {when}" for who, when, what in product(*(words["en"][k] for k in ("who", "when", "what")))]
    return [*zh, *en]


def shared_words(pair: Pair, segmenter: Segmenter) -> set[str]:
    """The words that both sides have, stop words aside."""
    return set(segmenter.content_words(pair.memory)) & set(segmenter.content_words(pair.question))


def measure(pairs: Sequence[Pair], ranking: Ranking) -> Iterator[Found]:
    """Ask every question of a pool in which the memory of `pairs[n]` has place n."""
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        ranked = list(ranking(pair.question))[:10]
        places.setdefault(pair.group, []).append(ranked.index(place) + 1 if place in ranked else 0)
    for group, found in places.items():
        count = len(found)
        first, five = (sum(0 < place <= most for place in found) / count for most in (1, 5))
        yield Found(group, count, first, five, sum(1 / place for place in found if place) / count)


def by_embedder(pool: Sequence[str], embedder: Embedder) -> Ranking:
    """The ranking of the vectors alone, as they are kept."""
    voice = load_voice()
    vectors = [quantise(row) for row in embedder.documents([voice(text) for text in pool]).tolist()]

    def ranking(question: str) -> Sequence[int]:
        asked = quantise(embedder.query(voice(question)).tolist())
        return sorted(range(len(pool)), key=lambda place: -cosine(asked, vectors[place]))[:10]

    return ranking


def by_recall(layer: MemoryLayer, pool: Sequence[str]) -> Ranking:
    """The ranking as a user has it: everything of the pool is remembered, the layer's jobs are run, and `recall` answers by
    words, other words and, where there is an embedder, meaning."""
    me = layer.scope("pairs")
    places: dict[str, int] = {}
    for place, text in enumerate(pool):
        # What is kept may be worded otherwise (a date written out, a fact of its own), and answers for what was said.
        for memory in me.remember(text).memories:
            places.setdefault(memory.id, place)
    layer.work()
    # So that no question changes what the next one finds.
    me.pause()

    def ranking(question: str) -> Sequence[int]:
        found = me.recall(question, limit=10).items
        return list(dict.fromkeys(places[item.id] for item in found if item.id in places))

    return ranking


def _document(name: str = "pairs") -> Mapping[str, Any]:
    return tomllib.loads((resources.files("jiyi") / "evaluation" / f"{name}.toml").read_text("utf-8"))


def _language(text: str) -> str:
    return "zh" if any("一" <= c <= "鿿" for c in text) else "en"
