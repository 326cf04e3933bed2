"""Deterministic made-up memories and messages, Chinese and English, of many owners.

Words follow a Zipf-Mandelbrot law. Chinese words come from the dictionary that the installed `jieba` brings,
in its own order of frequency, so that segmentation meets real words; English words are made of syllables
behind a few real function words. Every owner has a random stream of its own: a planted owner holds the same
texts however many other owners there are, so its cost can be compared between a small and a large store.
"""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

import jieba

VERSION = 1
"""Raise it when the texts change: stores built from other data are then not reused."""

SEED = 20260301
CHINESE_WORDS = 30_000
ENGLISH_WORDS = 14_000
FUNCTION_WORDS = [
    "the",
    "to",
    "a",
    "and",
    "of",
    "in",
    "is",
    "for",
    "i",
    "my",
    "on",
    "it",
    "with",
    "that",
    "user",
    "we",
    "this",
    "at",
    "not",
    "have",
    "be",
    "are",
    "as",
    "was",
    "our",
    "from",
    "use",
    "or",
    "by",
    "an",
]
CHINESE_SHARE = 0.6
ENGLISH_IN_CHINESE = 0.12
QUERY_FROM_RANK = 15
"""Questions leave out the commonest words of each language, as the stop words that they are."""

ENTRIES_PER_OWNER = 100
PLANTED = {100: 20, 1_000: 10, 10_000: 2}
PLANTED_LARGE = {100_000: 1}
LARGE_FROM = 500_000
TYPICAL = "typical"


class Texts(StrEnum):
    """What the texts imitate: distilled memories, or raw messages, which are two to five times as long."""

    MEMORY = "memory"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Entry:
    """`number` counts from 1 inside the owner; higher is younger."""

    owner: str
    number: int
    text: str
    importance: int
    age_days: float


@dataclass(frozen=True, slots=True)
class Query:
    owner: str
    text: str


class Vocabulary:
    """Words of both languages with cumulative weights, as `random.choices` takes them."""

    def __init__(self) -> None:
        self.chinese = _dictionary_words(CHINESE_WORDS)
        self.english = _made_words(ENGLISH_WORDS)
        self.chinese_weights = _zipf(len(self.chinese))
        self.english_weights = _zipf(len(self.english))
        self.common = frozenset(self.chinese[:QUERY_FROM_RANK]) | frozenset(self.english[:QUERY_FROM_RANK])

    def words(self, rng: random.Random, chinese: bool, count: int) -> list[str]:
        if not chinese:
            return rng.choices(self.english, cum_weights=self.english_weights, k=count)
        words = rng.choices(self.chinese, cum_weights=self.chinese_weights, k=count)
        for place in range(count):
            if rng.random() < ENGLISH_IN_CHINESE:
                words[place] = rng.choices(self.english, cum_weights=self.english_weights)[0]
        return words


def _dictionary_words(count: int) -> list[str]:
    path = Path(jieba.__file__).parent / "dict.txt"
    entries = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    words = [(int(frequency), word) for word, frequency, *_ in entries if _is_plain_chinese(word)]
    words.sort(key=lambda entry: (-entry[0], entry[1]))
    return [word for _, word in words[:count]]


def _is_plain_chinese(word: str) -> bool:
    return len(word) <= 4 and all("\u4e00" <= character <= "\u9fff" for character in word)


def _made_words(count: int) -> list[str]:
    rng = random.Random(SEED)
    syllables = [consonant + vowel for consonant in "bcdfghjklmnprstvwz" for vowel in "aeiou"]
    endings = ("", "", "", "n", "r", "s", "t", "ing", "ed", "er", "tion")
    words = dict.fromkeys(FUNCTION_WORDS)
    while len(words) < count:
        stem = "".join(rng.choice(syllables) for _ in range(rng.choice((2, 2, 3, 3, 4))))
        words[stem + rng.choice(endings)] = None
    return list(words)


def _zipf(count: int) -> list[float]:
    return list(accumulate(1.0 / (rank + 10.0) ** 1.05 for rank in range(count)))


def compose(words: list[str], chinese: bool) -> str:
    """Words as a person would write them: Chinese in one run, English set off by spaces, a comma now and then."""
    if not chinese:
        return " ".join(words).capitalize() + "."
    parts: list[str] = []
    for place, word in enumerate(words, start=1):
        parts.append(f" {word} " if word.isascii() else word)
        if place % 8 == 0 and place < len(words):
            parts.append("，")
    return "".join(parts).strip() + "。"


class Corpus:
    """`entries` texts of one kind, spread over owners of very different size."""

    def __init__(self, entries: int, kind: Texts = Texts.MEMORY) -> None:
        planted = PLANTED | (PLANTED_LARGE if entries >= LARGE_FROM else {})
        reserved = sum(size * count for size, count in planted.items())
        if reserved >= entries:
            raise ValueError(f"{entries} entries leave no room beside the {reserved} of the planted owners")
        self.entries = entries
        self.kind = kind
        self.vocabulary = _vocabulary()
        self.planted = {
            size: [f"planted-{size}-{place:02d}" for place in range(count)] for size, count in planted.items()
        }
        self._arrival, self.names = self._arrivals(entries - reserved)
        sizes = Counter(self._arrival)
        self.sizes = {name: sizes[ordinal] for ordinal, name in enumerate(self.names) if sizes[ordinal]}

    def _arrivals(self, background: int) -> tuple[array[int], list[str]]:
        """Whose turn it is, entry by entry: owners talk in between one another, the busy ones more often."""
        rng = random.Random(f"{SEED}:arrivals")
        users = max(10, background // ENTRIES_PER_OWNER)
        weights = list(accumulate(1.0 / (place + 20.0) ** 0.8 for place in range(users)))
        turns = rng.choices(range(users), cum_weights=weights, k=background)
        names = [f"user-{place:06d}" for place in range(users)]
        for size, owners in self.planted.items():
            for owner in owners:
                turns.extend([len(names)] * size)
                names.append(owner)
        rng.shuffle(turns)
        return array("i", turns), names

    def of(self, owner: str) -> Iterator[Entry]:
        """The entries of one owner, oldest first."""
        size = self.sizes[owner]
        for number, (chinese, words, importance) in enumerate(self._drawn(owner), start=1):
            age_days = 700.0 * (1 - (number - 0.5) / size)
            yield Entry(owner, number, compose(words, chinese), importance, age_days)

    def _drawn(self, owner: str) -> Iterator[tuple[bool, list[str], int]]:
        """Per entry: whether it is Chinese, its words, its importance."""
        rng = random.Random(f"{SEED}:{self.kind}:{owner}")
        for _ in range(self.sizes[owner]):
            chinese = rng.random() < CHINESE_SHARE
            yield chinese, self.vocabulary.words(rng, chinese, self._length(rng)), rng.randint(1, 5)

    def _length(self, rng: random.Random) -> int:
        words = rng.randint(6, 29)
        return words if self.kind is Texts.MEMORY else round(words * rng.uniform(2, 5))

    def by_owner(self) -> Iterator[Entry]:
        """Everything, one owner after another: how an import would bring it."""
        for owner in self.sizes:
            yield from self.of(owner)

    def in_arrival_order(self) -> Iterator[Entry]:
        """Everything as a live service would meet it."""
        streams = {ordinal: self.of(name) for ordinal, name in enumerate(self.names) if name in self.sizes}
        for ordinal in self._arrival:
            yield next(streams[ordinal])

    def places(self) -> dict[str, array[int]]:
        """Of each owner the places of the entries among all, in order of arrival."""
        found: dict[str, array[int]] = {name: array("i") for name in self.sizes}
        for place, ordinal in enumerate(self._arrival):
            found[self.names[ordinal]].append(place)
        return found

    def fresh(self, count: int, seed: int = 0) -> list[Entry]:
        """New entries of owners drawn by activity, to be written on top of what is there. Their numbers lie above all others."""
        rng = random.Random(f"{SEED}:fresh:{self.kind}:{seed}")
        entries = []
        for number in range(self.entries + 1, self.entries + count + 1):
            owner, chinese = self.random_owner(rng), rng.random() < CHINESE_SHARE
            text = compose(self.vocabulary.words(rng, chinese, self._length(rng)), chinese)
            entries.append(Entry(owner, number, text, rng.randint(1, 5), 0.0))
        return entries

    @property
    def classes(self) -> list[int | str]:
        """What an owner can be, for the tables: a planted size, or drawn by activity."""
        return [TYPICAL, *self.planted]

    def random_owner(self, rng: random.Random) -> str:
        """Busy owners come more often."""
        return self.names[rng.choice(self._arrival)]

    def queries(self, owner_class: int | str, count: int, seed: int = 0) -> list[Query]:
        """Questions of two to six words, half of them from one entry of the owner, half from anywhere."""
        rng = random.Random(f"{SEED}:queries:{owner_class}:{seed}")
        return [self._query(rng, owner_class) for _ in range(count)]

    def _query(self, rng: random.Random, owner_class: int | str) -> Query:
        owner = self.random_owner(rng) if owner_class == TYPICAL else rng.choice(self.planted[int(owner_class)])
        return self._query_of(rng, owner)

    def queries_of(self, owner: str, count: int, rng: random.Random) -> list[Query]:
        """The same of one owner."""
        return [self._query_of(rng, owner) for _ in range(count)]

    def _query_of(self, rng: random.Random, owner: str) -> Query:
        chinese, drawn = rng.choice(_words_of(self, owner))
        wanted = rng.randint(2, 6)
        known = [word for word in dict.fromkeys(drawn) if word not in self.vocabulary.common]
        words = rng.sample(known, min(len(known), (wanted + 1) // 2))
        while len(words) < wanted:
            word = self.vocabulary.words(rng, chinese, 1)[0]
            if word not in self.vocabulary.common and word not in words:
                words.append(word)
        return Query(owner, compose(words, chinese))


@lru_cache(maxsize=1)
def _vocabulary() -> Vocabulary:
    return Vocabulary()


@lru_cache(maxsize=64)
def _words_of(corpus: Corpus, owner: str) -> list[tuple[bool, list[str]]]:
    return [(chinese, words) for chinese, words, _ in corpus._drawn(owner)]
