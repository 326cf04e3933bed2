"""A query, read once: the question in it, what to look for, and what it names besides words (SPEC R1, R7).

isolate ─▶ terms, with those of the talk around it ─▶ widen by other words ─▶ names, times, quotations
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jiyi.domain.fusion import FusionPolicy
from jiyi.domain.ranking import inverse_frequency
from jiyi.ports import MAX_QUERY_TERMS
from jiyi.text.query_reading import Announcements, quoted
from jiyi.text.segmentation import QueryTerm, Segmenter
from jiyi.text.synonyms import Synonyms, Wider
from jiyi.text.times import TimeExpression, Times
from jiyi.text.voice import Voice

Stretch = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read once.

    `content` are the terms that can select, of the question and of the talk around it; `wider` are looked for because of
    them, `stops` are its stop words, which weigh among what was found. `raw` is the folded text to look for when there are none (a query of stop words only, SPEC R7), empty when every
    word is in every question anyway. `quotes` are folded, `times` the stretches that it names. `asks`: it is a sentence, whose
    answer may stand beside its words; key words alone want what holds them. `untimed` is the text as written without the
    times in it. `core` is the question in the text, as written,
    `meant` the text whose meaning is looked for. Where it asks several things, `parts` are the terms of each, stop words too. `talk`: it is
    a talk that was handed over.
    """

    text: str
    folded: str
    content: tuple[QueryTerm, ...]
    raw: str
    wider: tuple[Wider, ...] = ()
    stops: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    times: tuple[Stretch, ...] = ()
    asks: bool = False
    untimed: str = ""
    core: str = ""
    meant: str = ""
    parts: tuple[frozenset[str], ...] = ()
    talk: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(t.text for t in self.content if t.kind != "bigram")

    @property
    def search(self) -> list[tuple[str, float]]:
        """The terms to search for, with their weights: the question's own, then the wider ones."""
        own = [(t.text, t.weight) for t in self.content]
        return own + [(w.term.text, w.term.weight * w.share * self.content[w.origin].weight) for w in self.wider]

    def part(self, terms: Collection[str]) -> tuple[Question, list[int]]:
        """One of its parts as a question, and where each term of that one's `search` stands in this one's."""
        own = [i for i, t in enumerate(self.content) if t.text in terms]
        place = {i: n for n, i in enumerate(own)}
        others = [i for i, w in enumerate(self.wider) if w.origin in place]
        asked = replace(
            self,
            content=tuple(self.content[i] for i in own),
            wider=tuple(replace(self.wider[i], origin=place[self.wider[i].origin]) for i in others),
            stops=tuple(stop for stop in self.stops if stop in terms),
            parts=(),
        )
        return asked, [*own, *(len(self.content) + i for i in others)]

    def phrase_in(self, folded: str) -> bool:
        """Whether the whole question stands in the text, or what it quotes; single characters prove nothing."""
        if len(self.folded) > 1 and self.folded in folded:
            return True
        return bool(self.quotes) and any(quote in folded for quote in self.quotes)

    def information(self, documents: int, holding: Mapping[str, int]) -> list[float]:
        """How much each content term tells: a thing of several names is as frequent as its names together. 0 for pairs of
        characters that stand nowhere: they are cuts across words, not words."""
        held = [holding.get(t.text, 0) for t in self.content]
        for wider in self.wider:
            held[wider.origin] += holding.get(wider.term.text, 0)
        return [
            0.0 if t.kind == "bigram" and not n else t.weight * inverse_frequency(documents, min(n, documents))
            for t, n in zip(self.content, held, strict=True)
        ]

    def coverage(self, matched: int, information: Sequence[float]) -> float:
        """The share of the question's information that a text holds, in [0, 1]; another word for it counts for a part.

        Args:
            matched: bits of the terms of `search` that the text holds.
        """
        total = sum(information)
        if not total:
            return 1.0
        own = len(self.content)
        held = [1.0 if matched >> i & 1 else 0.0 for i in range(own)]
        for i, wider in enumerate(self.wider, own):
            if matched >> i & 1:
                held[wider.origin] = max(held[wider.origin], wider.share)
        return min(1.0, sum(map(float.__mul__, held, information)) / total)

    def matched_words(self, matched: int) -> tuple[str, ...]:
        """The words behind the bits, for people; of another word it is said what it stands for."""
        own = len(self.content)
        found = [t for i, t in enumerate(self.content) if matched >> i & 1]
        words = [t.text for t in found if t.kind != "bigram"] or [t.text for t in found]
        for i, wider in enumerate(self.wider, own):
            if matched >> i & 1:
                words.append(f"{wider.term.text} (for {self.content[wider.origin].text})")
        return tuple(words)


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Reads queries, with the words and the policy it was given."""

    segmenter: Segmenter
    synonyms: Synonyms
    announcements: Announcements
    times: Times
    policy: FusionPolicy
    voice: Voice

    def __call__(self, query: str, now: datetime) -> Question:
        """Read a query. `now` is the instant of asking, in the zone of whoever asks."""
        isolated, policy = self.announcements.isolate(query), self.policy
        times = self.times.find(query, now)
        core = self._own(isolated.core)
        content = self._with_last(core.content, isolated.last) if isolated.last else list(core.content)
        if isolated.rest:
            have = {t.text for t in content}
            share = policy.beside_question if isolated.announced else policy.around_question
            rest = self._own(isolated.rest).content if share > 0 else ()
            content += [replace(t, weight=t.weight * share) for t in rest if t.text not in have]
        content = content[:MAX_QUERY_TERMS]
        room = min(policy.wider_words, MAX_QUERY_TERMS - len(content))
        wider = self.synonyms.wider(content[: len(core.content)], policy.same_word, policy.near_word, room)
        return replace(
            core,
            text=query,
            core=isolated.core,
            meant=isolated.core if isolated.announced or not isolated.rest else query,
            folded=_folded(query, self.segmenter),
            content=tuple(content),
            raw="" if content else core.raw or read_question(query, self.segmenter).raw,
            wider=tuple(w for w in wider if all(w.term.text != t.text for t in content)),
            quotes=tuple(self.segmenter.fold(quote) for quote in quoted(query)),
            times=tuple(_stretches(times, now)),
            untimed=_without_times(query, times),
            parts=self._parts(isolated.parts),
            talk=isolated.talk,
        )

    def _parts(self, questions: Sequence[str]) -> tuple[frozenset[str], ...]:
        """The terms of each of several questions; one that holds none that could be found is no question of its own."""
        read = [self._own(question) for question in questions]
        parts = tuple(frozenset((*(t.text for t in one.content), *one.stops)) for one in read if one.content)
        return parts if len(parts) > 1 else ()

    def _with_last(self, content: Sequence[QueryTerm], last: str) -> list[QueryTerm]:
        """The terms of a talk, first what was said last: that is what is asked, the rest is what it is about."""
        asked = [replace(t, weight=t.weight * self.policy.said_last) for t in self._own(last).content]
        have = {t.text for t in asked}
        # As in `read_question`: words say more than the pairs of characters across them.
        return sorted((*asked, *(t for t in content if t.text not in have)), key=lambda t: t.kind == "bigram")

    def _own(self, text: str) -> Question:
        """The terms of a text as the user would say it: in their own memory "the user" is in every other text, and tells
        nothing. Unless nothing else is left."""
        read, own = read_question(text, self.segmenter), self.voice(text)
        if own == text:
            return read
        voiced = read_question(own, self.segmenter)
        return replace(voiced, asks=read.asks) if voiced.content else read


def read_question(query: str, segmenter: Segmenter) -> Question:
    """The terms of a text taken as one question."""
    terms = segmenter.query_terms(query)
    content = [t for t in terms if not t.stop]
    # A very long question: words say more than the pairs of characters across them.
    content.sort(key=lambda t: t.kind == "bigram")
    only_generic = bool(terms) and all(t.stop == "generic" for t in terms)
    folded = _folded(query, segmenter)
    raw = "" if content or only_generic else folded
    stops = tuple(t.text for t in terms if t.stop)
    # A stop word that stands free; the "my" of MySQL makes no sentence.
    asks = any(t.stop and t.kind in ("word", "char") for t in terms)
    return Question(query, folded, tuple(content[:MAX_QUERY_TERMS]), raw, stops=stops, asks=asks)


def _stretches(times: Sequence[TimeExpression], now: datetime) -> list[Stretch]:
    """The stretches that the question names; a time to come boosts nothing, since nothing was said in it yet."""
    found = (e.when for e in times if e.names_day)
    return [(when.start, when.end) for when in found if when is not None and when.start <= now]


def _without_times(query: str, times: Sequence[TimeExpression]) -> str:
    for time in reversed(times):
        query = f"{query[: time.start]} {query[time.end :]}"
    return query


def without_names(question: str, names: Collection[str]) -> str:
    """The question without these names, and without what English hangs on them. The whole of it where nothing else is left.
    A name with a capital is one only where it is written so: the van of Van Dyke."""
    for name in sorted(names, key=lambda n: (-len(n), n)):
        around = ("", "") if name[0] > "\u2e80" else (r"(?<!\w)", r"(?:['’]s)?(?!\w)")
        flags = re.IGNORECASE if name == name.casefold() else re.NOFLAG
        question = re.sub(f"{around[0]}{re.escape(name)}{around[1]}", " ", question, flags=flags)
    left = " ".join(question.split())
    return left if any(c.isalnum() for c in left) else question


def _folded(query: str, segmenter: Segmenter) -> str:
    return " ".join(segmenter.fold(query).split())
