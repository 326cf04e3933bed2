"""The signals by which a context is filled or stays silent, gathered for one question (SPEC R4, decision 0025).

question ─┬─ words, weighed by how telling they are here ─▶ what the candidates cover of them
          ├─ names ─▶ were they ever mentioned?
          └─ vectors, where there are any ─▶ how far the nearest stands out, and which side the question leans to
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.domain.language import language_of
from jiyi.domain.memory import Language, Memory, Message
from jiyi.domain.relevance import RelevancePolicy, Signals, Verdict, judge
from jiyi.domain.scope import Scope
from jiyi.pipelines.recalling.items import Item
from jiyi.pipelines.recalling.passages import TAIL
from jiyi.pipelines.recalling.question import Question
from jiyi.pipelines.vectors import Embedding
from jiyi.ports import Kind, Memories, Messages, Unit
from jiyi.text.names import Name, NameWords, names_in
from jiyi.text.segmentation import Segmenter
from jiyi.text.writings import writings

KINDS = (Kind.MESSAGE, Kind.MEMORY)
LOOKED_AT = 48
"""Candidates whose words are counted, best first."""
GRAMMAR = {Language.ZH: ("的", "了", "我", "是"), Language.EN: ("the", "a", "i", "is")}
"""What every talk in a language holds: where none of it stands, nothing was said in that language."""


@dataclass(frozen=True, slots=True)
class RelevanceWords:
    """The vocabulary of relevance: words that tell little, words of whoever asks, how the world is asked, and how names are
    written."""

    common: frozenset[str]
    own: frozenset[str]
    service: re.Pattern[str]
    worldly: re.Pattern[str]
    names: NameWords

    @classmethod
    def parse(cls, data: Mapping[str, Any], segmenter: Segmenter) -> RelevanceWords:
        common = (
            term.text for words in data["common"].values() for word in words for term in segmenter.query_terms(word)
        )
        own = (word for words in data["own"].values() for word in words)
        service = _any_of(re.escape(p) for ps in data["service"].values() for p in ps)
        worldly = _any_of(form for forms in data["worldly"].values() for form in forms)
        return cls(frozenset(common), frozenset(own), service, worldly, NameWords.parse(data["names"]))


def _any_of(forms: Iterable[str]) -> re.Pattern[str]:
    """Any of the forms; Latin ones as whole words."""
    return re.compile("|".join(rf"\b(?:{form})\b" if form.isascii() else form for form in forms))


@dataclass(frozen=True, slots=True)
class Relevance:
    """Decides for a question and what was found for it whether anything is relevant."""

    words: RelevanceWords
    segmenter: Segmenter
    policy: RelevancePolicy
    embedding: Embedding | None = None

    def __call__(
        self, unit: Unit, scope: Scope, question: Question, found: Sequence[Item], nearness: float | None
    ) -> Verdict:
        """Args:
        found: candidates, best first. nearness: how far the nearest stands out in meaning, where there are vectors.
        """
        return judge(self.signals(unit, scope, question, found, nearness), self.policy)

    def signals(
        self, unit: Unit, scope: Scope, question: Question, found: Sequence[Item], nearness: float | None
    ) -> Signals:
        names = names_in(question.core, self.words.names, self.segmenter)
        voices = {self.segmenter.fold(i.name) for i in found if i.name} | {self.segmenter.fold(scope.user)}
        unknown = self._unknown(unit, scope, question, names, voices)
        own = self._own(question) or len(unknown) < len(names)
        return Signals(
            coverage=self._coverage(unit, scope, question, found),
            nearness=nearness,
            leaning=self._leaning(unit, scope, question, nearness),
            unknown=tuple(name.text for name in unknown),
            own=own,
            worldly=not own and self.words.worldly.search(self.segmenter.fold(question.core)) is not None,
            words=sum(t.kind != "bigram" for t in question.content),
            keyed=any(i.kind == "fact" for i in found),
            timely=bool(question.times) and not question.content and bool(found),
        )

    def _own(self, question: Question) -> bool:
        left = self.words.service.sub(" ", self.segmenter.fold(question.core))
        return any(t.text in self.words.own for t in self.segmenter.query_terms(left) if t.stop)

    def _leaning(self, unit: Unit, scope: Scope, question: Question, nearness: float | None) -> float:
        if nearness is None or self.embedding is None:
            return 0.0
        return self.embedding.leaning(unit, scope, question.core) or 0.0

    # -------------------------------------------------------------- words

    def _coverage(self, unit: Unit, scope: Scope, question: Question, found: Sequence[Item]) -> float:
        """The largest share of what the question tells that one of the candidates holds."""
        terms = [term for term, _ in question.search]
        if not question.content or not found:
            return 0.0
        documents, holding = 0, dict[str, int]()
        for kind in KINDS:
            count, held = unit.text.frequencies(scope, kind, terms)
            documents += count
            for term, number in held.items():
                holding[term] = holding.get(term, 0) + number
        told = [
            share * (self.policy.common if term.text in self.words.common else 1.0)
            for term, share in zip(question.content, question.information(documents, holding), strict=True)
        ]
        counted = ~self._slips(question)
        return max(question.coverage(self._held(item.text, terms) & counted, told) for item in found[:LOOKED_AT])

    def _slips(self, question: Question) -> int:
        """Bits of the words that would be others by a slip of the pen, where one of the two is in every kind of talk."""
        common, own = self.words.common, len(question.content)
        return sum(
            1 << i
            for i, w in enumerate(question.wider, own)
            if w.slip and (w.term.text in common or question.content[w.origin].text in common)
        )

    def _held(self, text: str, terms: Sequence[str]) -> int:
        """Bits of the terms that a text holds; not of those that are cut across its words (二分 of 十二分钟)."""
        counts, folded = self.segmenter.index_terms(text).counts, self.segmenter.fold(text)
        starts = self.segmenter.word_starts(folded) | {len(folded)}

        def stands(term: str) -> bool:
            if term not in counts:
                return term in folded if len(term) == 1 else False
            if term[0] < "\u2e80":
                return True
            place = folded.find(term)
            while place >= 0:
                if place in starts or place + len(term) in starts:
                    return True
                place = folded.find(term, place + 1)
            return False

        return sum(1 << i for i, term in enumerate(terms) if stands(term))

    # -------------------------------------------------------------- names

    def _unknown(
        self, unit: Unit, scope: Scope, question: Question, names: Sequence[Name], voices: set[str]
    ) -> list[Name]:
        """The names that stand in no text, as far as that can be told: not while many texts wait to be indexed, and not in
        a language in which nothing was ever said, since 京都 may be known as Kyoto."""
        indexed = unit.text.indexed_up_to(scope)
        if not names or unit.messages.last_seq(scope) - indexed > TAIL:
            return []
        language = language_of(question.core)
        if not any(unit.text.frequencies(scope, kind, GRAMMAR[language])[1] for kind in KINDS):
            return []
        fold = self.segmenter.fold
        # The question itself may have been observed before it is asked.
        tail = [fold(m.text) for m in unit.messages.after_seq(scope, indexed, TAIL)]
        heard = {*voices, *(text for text in tail if " ".join(text.split()) != question.folded)}
        slips = self._slips(question)
        own = len(question.content)
        meant = dict[str, list[str]]()
        for i, w in enumerate(question.wider, own):
            if not slips >> i & 1:
                meant.setdefault(question.content[w.origin].text, []).append(w.term.text)
        return [name for name in names if not self._known(unit, scope, name, question, meant, heard)]

    def _known(
        self, unit: Unit, scope: Scope, name: Name, question: Question, meant: Mapping[str, list[str]], heard: set[str]
    ) -> bool:
        common, terms = self.words.common, list[str]()
        for mark in [m for m in name.marks if self.segmenter.fold(m) not in common] or name.marks:
            if any(self.segmenter.fold(mark) in text for text in heard):
                return True
            if len(mark) == 1:
                if any(self._contains(unit, scope, kind, mark, question) for kind in KINDS):
                    return True
                continue
            # Two characters that are no word are indexed as a pair.
            own = [t.text for t in self.segmenter.query_terms(mark)][:1] if mark[0] < "\u2e80" else [mark]
            # What stands there under another name or spelling is known by that.
            terms += own if name.exact else [*own, *(other for term in own for other in meant.get(term, ()))]
        return bool(terms) and any(self._holds(unit, scope, kind, terms, question) for kind in KINDS)

    def _holds(self, unit: Unit, scope: Scope, kind: Kind, terms: Sequence[str], question: Question) -> bool:
        _, held = unit.text.frequencies(scope, kind, terms)
        if kind is Kind.MESSAGE and max(held.values(), default=0) != 1:
            return bool(held)
        hits = [hit.seq for hit in unit.text.search(scope, kind, [(term, 1.0) for term in terms], 8)] if held else []
        if kind is Kind.MESSAGE:
            return self._others(unit.messages.get(scope, hits), question)
        # A memory is indexed under the other names of its relation too, and a brother mentions no sister.
        index = self.segmenter.index_terms
        return any(not index(m.text).counts.keys().isdisjoint(terms) for m in unit.memories.get(scope, hits))

    def _contains(self, unit: Unit, scope: Scope, kind: Kind, mark: str, question: Question) -> bool:
        holder: Messages | Memories = unit.messages if kind is Kind.MESSAGE else unit.memories
        return self._others(holder.containing(scope, writings(mark), 2), question)

    def _others(self, found: Sequence[Message | Memory], question: Question) -> bool:
        """Whether any of these is something else than the question itself."""
        return any(" ".join(self.segmenter.fold(item.text).split()) != question.folded for item in found)
