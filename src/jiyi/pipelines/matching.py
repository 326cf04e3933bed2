"""The text channel: which memories or messages hold the words of a question, and how well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jiyi.domain.memory import Memory, Message
from jiyi.domain.ranking import RankingPolicy, inverse_frequency, relevance
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.pipelines.indexing import Indexing
from jiyi.ports import BM25, MAX_QUERY_TERMS, Document, Hit, Kind, Memories, Messages, Summaries, Unit
from jiyi.text.segmentation import QueryTerm, Segmenter
from jiyi.text.writings import writings

CANDIDATES = 64
TAIL = 200
"""Messages not indexed yet that recall reads itself, so that what was just said is found at once."""
SCAN_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read once.

    `content` are the terms that can select; `raw` is the folded text to look for when there are none (a query of
    stop words only, SPEC R7), empty when every word is in every question anyway.
    """

    text: str
    folded: str
    content: tuple[QueryTerm, ...]
    raw: str

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(t.text for t in self.content if t.kind != "bigram")

    def phrase_in(self, folded: str) -> bool:
        """Whether the whole question stands in the text; single characters prove nothing."""
        return len(self.folded) > 1 and self.folded in folded


@dataclass(frozen=True, slots=True)
class Match:
    """A text that matched. `coverage` is the share of the question's information that it holds, in [0, 1].

    `cosine` is how near its meaning is, where that is what it was found by.
    """

    item: Memory | Message | SessionSummary
    relevance: float
    coverage: float
    words: tuple[str, ...]
    cosine: float | None = None


def read_question(query: str, segmenter: Segmenter) -> Question:
    terms = segmenter.query_terms(query)
    content = [t for t in terms if not t.stop]
    # A very long question: words say more than the pairs of characters across them.
    content.sort(key=lambda t: t.kind == "bigram")
    folded = " ".join(segmenter.fold(query).split())
    only_generic = bool(terms) and all(t.stop == "generic" for t in terms)
    return Question(query, folded, tuple(content[:MAX_QUERY_TERMS]), "" if content or only_generic else folded)


def match_texts(
    unit: Unit, scope: Scope, kind: Kind, question: Question, indexing: Indexing, ranking: RankingPolicy, limit: int
) -> list[Match]:
    """The best matches through the index, and through the tail that is not indexed yet."""
    if not question.content:
        return []
    terms = [(t.text, t.weight) for t in question.content]
    documents, holding = unit.text.frequencies(scope, kind, [t for t, _ in terms])
    information = _information(question.content, documents, holding)
    candidates = max(CANDIDATES, 4 * limit)
    hits = unit.text.search(scope, kind, terms, candidates)
    items: dict[int, Memory | Message | SessionSummary] = {}
    if kind is Kind.MESSAGE:
        tail = unit.messages.after_seq(
            scope, max(unit.text.indexed_up_to(scope), unit.messages.last_seq(scope) - TAIL), TAIL
        )
        items.update((m.seq, m) for m in tail)
        hits = [*hits, *overlay([indexing.message(m) for m in tail], terms, information)]
        items.update((m.seq, m) for m in unit.messages.get(scope, [h.seq for h in hits if h.seq not in items]))
    elif kind is Kind.SUMMARY:
        items.update((s.seq, s) for s in unit.summaries.get(scope, [h.seq for h in hits]))
    else:
        items.update((m.seq, m) for m in unit.memories.get(scope, [h.seq for h in hits]))
    best = max((h.score for h in hits), default=0.0)
    matches = [_match(items[h.seq], h, best, question.content, information) for h in hits if h.seq in items]
    # The dictionary hides single characters in words (猫 in 猫叫), and only words are indexed: look at the letters too.
    single = [t.text for t in question.content if t.kind == "char"]
    words = [t.text for t in question.content if t.kind != "bigram"]
    seen = {m.item.seq for m in matches}
    return matches + [m for m in _scan(unit, scope, kind, single, words, indexing.segmenter) if m.item.seq not in seen]


def scan_texts(unit: Unit, scope: Scope, kind: Kind, question: Question, segmenter: Segmenter) -> list[Match]:
    """Texts that hold the letters themselves: for words inside words, and for queries of stop words only."""
    needles = [t.text for t in question.content if t.kind != "bigram"] or ([question.raw] if question.raw else [])
    return _scan(unit, scope, kind, needles, needles, segmenter)


def _scan(
    unit: Unit, scope: Scope, kind: Kind, needles: Sequence[str], wanted: Sequence[str], segmenter: Segmenter
) -> list[Match]:
    """Texts that hold a needle, rated by how many of the wanted words they hold."""
    if not needles:
        return []
    forms = sorted({form for needle in needles for form in writings(needle)})
    holders: Mapping[Kind, Messages | Summaries | Memories] = {
        Kind.MESSAGE: unit.messages, Kind.SUMMARY: unit.summaries, Kind.MEMORY: unit.memories
    }  # fmt: skip
    found: Sequence[Memory | Message | SessionSummary] = holders[kind].containing(scope, forms, SCAN_LIMIT)
    matches = []
    for item in found:
        folded = segmenter.fold(item.text)
        held = tuple(n for n in wanted if n in folded)
        if held:
            coverage = len(held) / len(wanted)
            matches.append(Match(item, relevance(coverage, 1.0, coverage), coverage, held))
    return matches


def _information(terms: Sequence[QueryTerm], documents: int, holding: Mapping[str, int]) -> list[float]:
    """How much each term tells, 0 for pairs of characters that stand nowhere: they are cuts across words, not words."""
    return [
        0.0
        if t.kind == "bigram" and not holding.get(t.text)
        else t.weight * inverse_frequency(documents, holding.get(t.text, 0))
        for t in terms
    ]


def _match(
    item: Memory | Message | SessionSummary,
    hit: Hit,
    best: float,
    terms: Sequence[QueryTerm],
    information: Sequence[float],
) -> Match:
    held = [i for i in range(len(terms)) if hit.matched >> i & 1]
    total = sum(information)
    coverage = min(1.0, sum(information[i] for i in held) / total) if total else 1.0
    words = tuple(terms[i].text for i in held if terms[i].kind != "bigram") or tuple(terms[i].text for i in held)
    return Match(item, relevance(hit.score, best, coverage), coverage, words)


def overlay(
    documents: Sequence[Document], terms: Sequence[tuple[str, float]], information: Sequence[float]
) -> list[Hit]:
    """BM25 of texts that are not in the index, against the statistics of those that are."""
    formula = BM25()
    hits = []
    average = sum(d.length for d in documents) / len(documents) if documents else 1.0
    for document in documents:
        score, matched = 0.0, 0
        norm = formula.k1 * (1 - formula.b + formula.b * document.length / max(average, 1.0))
        for i, (term, weight) in enumerate(terms):
            count = document.terms.get(term, 0)
            if count:
                matched |= 1 << i
                told = information[i] or weight
                score += told * count * (formula.k1 + 1) / (count + norm)
        if matched:
            hits.append(Hit(document.seq, round(score, 6), matched))
    return hits
