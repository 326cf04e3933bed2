"""The text channel: which memories or summaries hold the words of a question, and how well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from jiyi.domain.activation import Activated
from jiyi.domain.fusion import Parts
from jiyi.domain.memory import Memory, Message, message_handle
from jiyi.domain.ranking import relevance, yardstick
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.pipelines.recalling.question import Question
from jiyi.ports import BM25, Document, Hit, Kind, Memories, Messages, Summaries, Unit
from jiyi.text.segmentation import Segmenter
from jiyi.text.writings import writings

CANDIDATES = 64
SCAN_LIMIT = 64
PAIRS = 32
"""So many pairs of characters of what is looked for are asked of the index first."""


class Match(NamedTuple):
    """A text that matched. A tuple, because a recall makes some two hundred of them. `coverage` is the share of the question's information that it holds, in [0, 1].

    `relevance` is that by words. `cosine` is how near its meaning is, where that is what it was found by, and `meaning` how relevant that makes it.
    `timely`: it was found by when it was said, and by nothing else. `linked`: how the graph leads to it.
    Of a passage of history `parts` are what its score is made of, and `over` the words of another turn that led to it. `folded`: its
    folded text, where that was looked through.
    """

    item: Memory | Message | SessionSummary
    relevance: float
    coverage: float
    words: tuple[str, ...]
    cosine: float | None = None
    meaning: float = 0.0
    parts: Parts | None = None
    over: tuple[str, ...] = ()
    timely: bool = False
    linked: Activated | None = None
    folded: str = ""

    def beside(self, meaning: float, linked: Activated | None) -> Match:
        """The same with what meaning and the graph add. Written out: `_replace` takes three times as long."""
        item, by_words, coverage, words, cosine, _, parts, over, timely, _, folded = self
        return Match(item, by_words, coverage, words, cosine, meaning, parts, over, timely, linked, folded)


def match_texts(unit: Unit, scope: Scope, kind: Kind, question: Question, limit: int) -> list[Match]:
    """The best matches of memories or summaries through the index."""
    terms = question.search
    if not terms:
        return []
    documents, holding = unit.text.frequencies(scope, kind, [t for t, _ in terms])
    if not documents:
        return []
    information = question.information(documents, holding)
    hits = unit.text.search(scope, kind, terms, max(CANDIDATES, 4 * limit))
    holder: Summaries | Memories = unit.summaries if kind is Kind.SUMMARY else unit.memories
    items: dict[int, Memory | SessionSummary] = {i.seq: i for i in holder.get(scope, [h.seq for h in hits])}
    best = max((h.score for h in hits), default=0.0)
    covered = max((question.coverage(h.matched, information) for h in hits), default=0.0)
    return [_match(items[h.seq], h, yardstick(best, covered), question, information) for h in hits if h.seq in items]


def said_in(
    unit: Unit, scope: Scope, kind: Kind, times: Sequence[tuple[datetime, datetime]], limit: int
) -> list[Match]:
    """The latest turns of stretches of time, for a question that asks for nothing else."""
    if kind is not Kind.MESSAGE:
        return []
    found = (
        message
        for start, end in times
        for message in unit.messages.window(scope, since=start, until=end, latest=True, limit=limit)
    )
    return [Match(m, 0.5, 1.0, (), timely=True) for m in {m.seq: m for m in found}.values()]


def scan_single(
    unit: Unit, scope: Scope, kind: Kind, question: Question, segmenter: Segmenter, seen: Sequence[Match]
) -> list[Match]:
    """Texts that hold a single character that the question asks for. The dictionary hides it in words (猫 in 猫叫), and only
    words are indexed: look at the letters too."""
    single = [t.text for t in question.content if t.kind == "char"]
    if not single:
        return []
    known = {m.item.seq for m in seen}
    terms = [t.text for t in question.content]
    information = question.information(*unit.text.frequencies(scope, kind, terms))
    rated = dict[int, tuple[float, tuple[str, ...]]]()
    matches = []
    bits = [(1 << i, term) for i, term in enumerate(terms)]
    for item in _containing(unit, scope, kind, single, segmenter):
        if item.seq in known:
            continue
        folded = segmenter.fold(item.text)
        held = sum([bit for bit, term in bits if term in folded])
        if held:
            # By what its words tell, as in the index: a character that many texts hold is no third of a question of three words.
            if held not in rated:
                rated[held] = question.coverage(held, information), question.matched_words(held)
            coverage, words = rated[held]
            matches.append(Match(item, relevance(coverage, 1.0, coverage), coverage, words, folded=folded))
    return matches


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
    matches = []
    for item in _containing(unit, scope, kind, needles, segmenter):
        folded = segmenter.fold(item.text)
        held = tuple(n for n in wanted if n in folded)
        if held:
            coverage = len(held) / len(wanted)
            matches.append(Match(item, relevance(coverage, 1.0, coverage), coverage, held, folded=folded))
    return matches


def _containing(
    unit: Unit, scope: Scope, kind: Kind, needles: Sequence[str], segmenter: Segmenter
) -> Sequence[Memory | Message | SessionSummary]:
    forms = sorted({form for needle in needles for form in writings(needle)})
    if kind is Kind.MESSAGE:
        forms = _possible(unit, scope, forms, segmenter)
    holders: Mapping[Kind, Messages | Summaries | Memories] = {
        Kind.MESSAGE: unit.messages, Kind.SUMMARY: unit.summaries, Kind.MEMORY: unit.memories
    }  # fmt: skip
    return holders[kind].containing(scope, forms, SCAN_LIMIT)


def _possible(unit: Unit, scope: Scope, forms: Sequence[str], segmenter: Segmenter) -> list[str]:
    """Those of the forms that a message may hold: each two characters of one stand side by side in a text that holds it, and all
    such pairs are indexed. So the index says of many that no text need be read for them."""
    pairs = {form: segmenter.pairs(form)[:PAIRS] for form in forms}
    every = list(dict.fromkeys(pair for some in pairs.values() for pair in some))
    if not every or unit.text.indexed_up_to(scope) < unit.messages.last_seq(scope):
        return list(forms)
    held = unit.text.frequencies(scope, Kind.MESSAGE, every)[1]
    return [form for form in forms if held.keys() >= set(pairs[form])]


def _match(
    item: Memory | SessionSummary, hit: Hit, best: float, question: Question, information: Sequence[float]
) -> Match:
    coverage = question.coverage(hit.matched, information)
    return Match(item, relevance(hit.score, best, coverage), coverage, question.matched_words(hit.matched))


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


def found_by(match: Match) -> str:
    """How a text was found, in words; of a passage, the parts that made its score (SPEC R10)."""
    parts = match.parts
    if match.timely:
        return "was said in the time that is asked about"
    linked = [] if match.linked is None else [f"is linked: {' → '.join(match.linked.way)} ({match.linked.energy:.2f})"]
    if parts is None and match.cosine is not None:
        return "; ".join([f"is near in meaning ({match.cosine:.2f})", *linked])
    if parts is None and linked and not match.coverage:
        return linked[0]
    if parts is None:
        also = [f"is near in meaning ({match.meaning:.2f})"] if match.meaning >= 0.005 else []
        words = f"matches {', '.join(match.words)}" if match.words else "contains the words as written"
        return "; ".join([words, *also, *linked])
    told = [f"matches {', '.join(match.words)} ({parts.own:.2f})"] if match.words else []
    if match.cosine is not None:
        told.append(f"is near in meaning ({match.cosine:.2f})")
    if match.over:
        told.append(f"shares {', '.join(match.over)} with a turn that answers half of the question")
    if parts.beside is not None:
        told.append(f"stands beside {message_handle(parts.beside)} ({parts.neighbours:.2f})")
    told.append(f"in a session about it ({parts.session:.2f})")
    if parts.spoken:
        told.append("said by whom the question names")
    if parts.timely:
        told.append("said in the time that the question names")
    if parts.expected:
        told.append("holds something of the kind that is asked for")
    return "; ".join(told)


def leans_on(match: Match) -> str | None:
    """The turn beside it, where nothing but that turn speaks for a passage."""
    if match.words or match.over or match.cosine is not None or match.parts is None or match.parts.beside is None:
        return None
    return message_handle(match.parts.beside)
