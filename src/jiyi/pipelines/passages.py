"""Passages of history: which turns answer a question, by their words and by what stands around them (SPEC R1, R5).

words ─▶ hits ─▶ bridge ─▶ fuse ─▶ places of hits and neighbours ─▶ speaker · time · session · neighbours ─▶ texts of the best
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from jiyi.domain.fusion import Asked, FusionPolicy, Parts, Place, fuse, neighbours, surrounded
from jiyi.domain.memory import Message
from jiyi.domain.ranking import inverse_frequency
from jiyi.domain.scope import Scope
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.matching import Match, overlay
from jiyi.pipelines.question import Question
from jiyi.ports import Hit, Kind, Unit

TAIL = 200
"""Messages not indexed yet that recall reads itself, so that what was just said is found at once."""
SPARE = 2
"""Texts read for each item asked for, since some are left out once they are seen; at least FINALISTS."""
FINALISTS = 24
NOTHING: Mapping[int, float] = {}


@dataclass(frozen=True, slots=True)
class Passages:
    """What finding passages needs besides the store."""

    indexing: Indexing
    policy: FusionPolicy

    def __call__(
        self,
        unit: Unit,
        scope: Scope,
        question: Question,
        takes: Callable[[Place], bool],
        limit: int,
        vectors: Mapping[int, float] = NOTHING,
    ) -> list[Match]:
        """The best turns, best first, `limit` or a few more.

        Args:
            takes: whether a turn at that place may be answered with; those around it count all the same.
            vectors: scores of another channel, by message number.
        """
        terms = question.search
        if not terms and not vectors:
            return []
        documents, holding = unit.text.frequencies(scope, Kind.MESSAGE, [t for t, _ in terms])
        information = question.information(documents, holding)
        hits = unit.text.search(scope, Kind.MESSAGE, terms, self.policy.hits)
        hits += self._tail(unit, scope, terms, documents, holding)
        words = {hit.seq: hit.score for hit in hits}
        bridged, over = self._bridge(unit, scope, question, hits, documents)
        for seq, score in bridged.items():
            words[seq] = words.get(seq, 0.0) + score
        scores = fuse([(words, self.policy.words), (vectors, self.policy.vectors)])
        places = {p.seq: p for p in unit.messages.places(scope, scores.keys() | neighbours(scores, self.policy))}
        asked = Asked(self._named(places.values(), question.folded), question.times)
        parts = surrounded(scores, places, asked, self.policy)
        matched = {hit.seq: hit.matched for hit in hits}
        able = {seq: p for seq, p in places.items() if (question.asks or seq in scores) and takes(p)}
        best = sorted(able, key=lambda seq: (-round(parts[seq].total, 6), -seq))[: max(SPARE * limit, FINALISTS)]
        top = max((p.total for p in parts.values()), default=0.0)
        texts = {m.seq: m for m in unit.messages.get(scope, best)}
        covered = _Coverage(question, information, matched)
        return [
            _match(texts[seq], parts[seq], top, covered, matched.get(seq, 0), question, over if seq in bridged else ())
            for seq in best
            if seq in texts
        ]

    def _tail(
        self,
        unit: Unit,
        scope: Scope,
        terms: Sequence[tuple[str, float]],
        documents: int,
        holding: Mapping[str, int],
    ) -> list[Hit]:
        """Hits among the turns that are not indexed yet."""
        indexed, last = unit.text.indexed_up_to(scope), unit.messages.last_seq(scope)
        if indexed >= last:
            return []
        tail = unit.messages.after_seq(scope, max(indexed, last - TAIL), TAIL)
        told = [weight * inverse_frequency(documents, holding.get(term, 0)) for term, weight in terms]
        return overlay([self.indexing.message(m) for m in tail], terms, told)

    def _bridge(
        self, unit: Unit, scope: Scope, question: Question, hits: Sequence[Hit], documents: int
    ) -> tuple[dict[int, float], tuple[str, ...]]:
        """Scores by the rare words of short statements among the best hits, and those words.

        "My cousin is a dentist" answers one half of "what is the dentist's phone number", and names the other: cousin.
        """
        policy, asked = self.policy, {t.text for t in question.content}
        best = max((hit.score for hit in hits), default=0.0)
        first = sorted(hits, key=lambda h: (-h.score, -h.seq))[: policy.bridge_turns]
        first = [hit for hit in first if 2 * hit.score >= best]
        if policy.bridge <= 0 or not first:
            return {}, ()
        found: dict[str, float] = {}
        for message in unit.messages.get(scope, [hit.seq for hit in first]):
            if _letters(message.text) <= policy.bridge_letters:
                for term in self.indexing.segmenter.query_terms(message.text):
                    if not term.stop and term.text not in asked:
                        found[term.text] = max(found.get(term.text, 0.0), term.weight)
        if not found:
            return {}, ()
        _, held = unit.text.frequencies(scope, Kind.MESSAGE, list(found))
        most = policy.bridge_share * documents + 3
        rare = {t: w * inverse_frequency(documents, held[t]) for t, w in found.items() if 2 <= held.get(t, 0) <= most}
        words = tuple(sorted(rare, key=lambda t: (-rare[t], t))[: policy.bridge_words])
        terms = [(word, policy.bridge) for word in words]
        return {h.seq: h.score for h in unit.text.search(scope, Kind.MESSAGE, terms, policy.hits)}, words

    def _named(self, places: Collection[Place], question: str) -> frozenset[str]:
        """The voices that the question names."""
        fold = self.indexing.segmenter.fold
        return frozenset(voice for voice in {p.voice for p in places} if _stands_in(fold(voice), question))


def _letters(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if char > "\u2e80" else 1 for char in text)


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands free in a text; in scripts without spaces anywhere."""
    if len(name) < 2:
        return False
    return name in text if name[0] > "\u2e80" else re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


class _Coverage:
    """How much of a question turns cover. Many turns hold the same words, so it is worked out once for each set."""

    def __init__(self, question: Question, information: Sequence[float], matched: Mapping[int, int]) -> None:
        self._question, self._information, self._matched = question, information, matched
        self._known: dict[int, float] = {}
        self.best = max(map(self.of, matched), default=0.0)

    def of(self, seq: int | None) -> float:
        bits = self._matched.get(seq, 0) if seq is not None else 0
        if bits not in self._known:
            self._known[bits] = self._question.coverage(bits, self._information)
        return self._known[bits]


def _match(
    message: Message,
    parts: Parts,
    top: float,
    covered: _Coverage,
    matched: int,
    question: Question,
    over: Sequence[str],
) -> Match:
    own = covered.of(message.seq)
    # What the turn beside holds of the question is half held here: a question and its answer are read together.
    coverage = max(own, 0.5 * covered.of(parts.beside))
    strength = parts.total / top if top > 0 else 0.0
    return Match(
        message,
        strength * (0.5 + 0.5 * covered.best),
        coverage,
        question.matched_words(matched),
        parts=parts,
        over=tuple(over),
    )
