"""Recall: the right few lines at the right moment (SPEC R1–R3).

read the question ─▶ facts · memories · passages ─▶ rescore ─▶ fuse ─▶ fold evidence into memories ─▶ cut
                                               └ nothing? ─▶ relax, and say so
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jiyi.domain.activation import Activated
from jiyi.domain.confidence import ConfidencePolicy, confidence
from jiyi.domain.heat import Heat, HeatPolicy
from jiyi.domain.memory import Memory, Message, Status, Tier, memory_id
from jiyi.domain.ranking import RankingPolicy, ScoreParts, fused, rescore, score_of
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.domain.tiers import TierPolicy, weight
from jiyi.errors import InputError, TooLarge
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.recalling.arising import Arising
from jiyi.pipelines.recalling.facts import Asked, FactFinder, as_former, turns_of_another
from jiyi.pipelines.recalling.filters import EVERYTHING, Filters, Span
from jiyi.pipelines.recalling.items import Item, Recollection, fuse, message_item, order, summary_item
from jiyi.pipelines.recalling.kinds import named
from jiyi.pipelines.recalling.matching import (
    CANDIDATES,
    Match,
    found_by,
    leans_on,
    match_texts,
    said_in,
    scan_single,
    scan_texts,
)
from jiyi.pipelines.recalling.meaning import Meaning, find_meaning
from jiyi.pipelines.recalling.passages import Found, Passages
from jiyi.pipelines.recalling.question import Question, QuestionReader, without_names
from jiyi.pipelines.recalling.reminding import CameToMind, Reminding
from jiyi.pipelines.recalling.spelling import spelt
from jiyi.pipelines.recalling.timing import Stopwatch
from jiyi.pipelines.summaries import standing
from jiyi.pipelines.vectors import Embedding, scores_of
from jiyi.ports import Kind, Unit
from jiyi.text.kinds import Kinds

WEAK = "nothing covers much of the question"


@dataclass(frozen=True, slots=True)
class Recall:
    """What recalling needs besides the store: how texts are read, and the policies."""

    indexing: Indexing
    read: QuestionReader
    passages: Passages
    facts: FactFinder
    ranking: RankingPolicy
    confidence: ConfidencePolicy
    heat: HeatPolicy
    max_query_chars: int
    tiers: TierPolicy
    kinds: Kinds
    embedding: Embedding | None = None
    arising: Arising | None = None
    reminding: Reminding | None = None

    def __call__(
        self, unit: Unit, scope: Scope, query: str, now: datetime, *, limit: int = 8, filters: Filters = EVERYTHING
    ) -> Recollection:
        """Recall inside one scope.

        Args:
            query: any text at all; quotes, operators, emoji, full-width and traditional characters are text.
            limit: items at the most, 1 or more.

        Raises:
            TooLarge: the query is longer than the limit.
            InputError: not text, or a limit below 1.
        """
        check_query(query, self.max_query_chars)
        if limit < 1:
            raise InputError(f"limit = {limit}: ask for 1 item or more")
        question = spelt(unit, scope, self.read(query, now), self.read.policy)
        question = named(unit, scope, self._of_time(question, query, now), self.kinds, self.read.policy)
        dropped: list[tuple[str, str]] = []
        watch = Stopwatch()
        mind = CameToMind(question) if self.reminding is None else self.reminding(unit, scope, question, now)
        question = mind.question
        watch.lap("graph")
        beside: list[Item] = []
        wanted = filters.kinds & {"fact", "memory"}
        asked = self.facts.facts(unit, scope, question.text, question.core, now) if wanted else Asked()
        facts = self._facts(unit, scope, question, asked, now, filters, dropped)
        watch.lap("facts")
        words = self.passages.find(unit, scope, question) if filters.messages else None
        watch.lap("words")
        near = self._near(unit, scope, question, words, filters)
        near = replace(near, mind=mind.memories) if mind.memories else near
        watch.lap("meaning")
        found, relaxed = self._matches(unit, scope, question, words, near, now, limit, filters, dropped, beside)
        watch.lap("words")
        found += self._by_meaning(unit, scope, question, near, now, filters, dropped, {item.id for item in found})
        if Kind.MEMORY in _text_kinds(filters):
            found += self._in_mind(unit, scope, question, mind.memories, now, filters, dropped, {i.id for i in found})
        shown = {item.id for item in found}
        weak = [item for item in beside if item.id not in shown]
        dropped.extend((item.id, "covers too little of the question") for item in weak)
        watch.lap("meaning")
        items = _of_kinds(fuse(facts, found), filters.kinds, dropped)
        items = self._as_asked(unit, scope, items, asked, filters, dropped)
        weak = self._as_asked(unit, scope, weak, asked, filters, [])
        # What is not believed comes back beside the answer as little as in it.
        beside = self._fold_evidence(unit, scope, _of_kinds(weak, filters.kinds, []), asked, filters, [], [])
        ranked = tuple(self._fold_evidence(unit, scope, items, asked, filters, dropped, beside))
        return Recollection(
            query, ranked[:limit], question.words, relaxed if ranked else "",
            "" if ranked else _cause(question, dropped), tuple(dropped), ranked, tuple(beside), near.nearness, question,
            took=watch.laps,
        )  # fmt: skip

    def _of_time(self, question: Question, query: str, now: datetime) -> Question:
        """A sentence whose every word names a time asks for what was said in it, not for talk of weeks."""
        if not (question.times and question.asks):
            return question
        fold = self.indexing.segmenter.fold
        spans = " ".join(fold(e.text) for e in self.read.times.find(query, now) if e.names_day)
        if any(t.text not in spans for t in question.content if t.kind != "bigram"):
            return question
        return replace(question, content=(), wider=(), raw="")

    # -------------------------------------------------------------- channels

    def _facts(
        self,
        unit: Unit,
        scope: Scope,
        question: Question,
        asked: Asked,
        now: datetime,
        filters: Filters,
        dropped: list[tuple[str, str]],
    ) -> list[Item]:
        if not filters.kinds & {"fact", "memory"} or filters.labels:
            return []
        items = []
        found = [(m, f"asked for by {words!r}") for m, words in asked.facts]
        if self.arising is not None:
            found += [(m, f"{what} comes up") for m, what in self.arising(unit, scope, question.text)]
        heats = unit.memories.heat(scope, [m.seq for m, _ in found]) if filters.read != Span() else {}
        for memory, why in found:
            if memory.over(now) and not asked.former:
                dropped.append((memory.id, _over(memory)))
            elif filters.takes_memory(memory, _read_at(heats.get(memory.seq))):
                parts = rescore(
                    (("asked for", 1.0), *((("former", self.ranking.former),) if asked.former else ())),
                    now=now,
                    at=memory.affirmed_at,
                    policy=self.ranking,
                    importance=memory.importance,
                )
                sure, faint = confidence(memory, now, self.confidence), weight(memory, now, self.tiers)
                item = _memory_item(memory, "fact", parts, why, sure, faint)
                items.append(replace(item, text=as_former(memory, now)) if asked.former else item)
        return items

    def _matches(
        self,
        unit: Unit,
        scope: Scope,
        question: Question,
        words: Found | None,
        near: Meaning,
        now: datetime,
        limit: int,
        filters: Filters,
        dropped: list[tuple[str, str]],
        beside: list[Item],
    ) -> tuple[list[Item], str]:
        """Items of the text channels; relaxed step by step while there are none."""
        steps: tuple[tuple[str, Callable[[Kind], list[Match]]], ...] = (
            ("", lambda kind: self._indexed(unit, scope, kind, question, words, near, limit, filters)),
            ("only a time was asked for, so what was said in it is shown",
             lambda kind: [] if question.content else said_in(unit, scope, kind, question.times, limit)),
            ("no indexed word matched, so the letters themselves were looked for",
             lambda kind: scan_texts(unit, scope, kind, question, self.indexing.segmenter)),
        )  # fmt: skip
        for relaxed, find in steps:
            items: list[Item] = []
            weak: list[Item] = []
            for kind in _text_kinds(filters):
                matches = near.beside(kind, find(kind))
                matches = self._standing(unit, scope, matches, now, dropped) if kind is Kind.SUMMARY else matches
                heats = unit.memories.heat(scope, [m.item.seq for m in matches]) if kind is Kind.MEMORY else {}
                for match in matches:
                    item = self._item(match, heats.get(match.item.seq), question, now, filters, dropped)
                    if item is not None:
                        (weak if self._chance(match) else items).append(item)
            if items and filters.kinds == {"message"}:
                # Whoever asks for messages alone gets them all.
                return items + weak, relaxed
            if items:
                beside += weak
                return items, relaxed
            if weak:
                return weak, relaxed or f"{WEAK}, so weak matches are shown"
        return [], ""

    def _indexed(
        self,
        unit: Unit,
        scope: Scope,
        kind: Kind,
        question: Question,
        words: Found | None,
        near: Meaning,
        limit: int,
        filters: Filters,
    ) -> list[Match]:
        """Matches through the index."""
        if kind is Kind.MESSAGE:
            if words is None:
                return []
            # Labels are known only from the whole message, so more of them are looked at.
            many = self.passages.policy.hits if filters.labels else limit
            turns = near.of(kind)
            takes = filters.at_place()
            found = self.passages(unit, scope, question, words, many, takes=takes, vectors=scores_of(turns))
            cosines = {n.seq: n.cosine for n in turns}
            if cosines:
                found = [m if m.words else m._replace(cosine=cosines.get(m.item.seq)) for m in found]
        else:
            found = match_texts(unit, scope, kind, question, limit)
        return found + scan_single(unit, scope, kind, question, self.indexing.segmenter, found)

    def _near(self, unit: Unit, scope: Scope, question: Question, words: Found | None, filters: Filters) -> Meaning:
        """What means the same as the question, of each kind that is asked for. Without the names of speakers, which pull in
        their greetings: words find those."""
        asked = question.meant if words is None else without_names(question.meant, words.named.values())
        fusion = self.passages.policy
        return find_meaning(unit, scope, asked, _text_kinds(filters), self.embedding, fusion, self.ranking)

    def _chance(self, match: Match) -> bool:
        """Whether a match may be chance. A memory that is near in meaning is found by that, whatever its words; one that the graph
        leads to is none."""
        by_meaning = isinstance(match.item, Message) and match.meaning >= self.ranking.min_meaning
        return match.coverage < self.ranking.min_coverage and not by_meaning and match.linked is None

    def _by_meaning(
        self,
        unit: Unit,
        scope: Scope,
        question: Question,
        near: Meaning,
        now: datetime,
        filters: Filters,
        dropped: list[tuple[str, str]],
        seen: Collection[str],
    ) -> list[Item]:
        """Memories and summaries that meaning alone finds. Of turns the fusion has taken in what is near."""
        items = []
        for kind, neighbours in near.near.items():
            if kind is Kind.MESSAGE:
                continue
            nearest = {n.seq: n.cosine for n in neighbours[:CANDIDATES]}
            matches = near.beside(
                kind,
                (Match(i, 0.0, 0.0, (), cosine=nearest[i.seq]) for i in _of_kind(unit, scope, kind, list(nearest))),
            )
            matches = self._standing(unit, scope, matches, now, dropped) if kind is Kind.SUMMARY else matches
            heats = unit.memories.heat(scope, list(nearest)) if kind is Kind.MEMORY else {}
            found = (self._item(m, heats.get(m.item.seq), question, now, filters, dropped) for m in matches)
            items += [item for item in found if item is not None and item.id not in seen]
        return items

    def _in_mind(
        self,
        unit: Unit,
        scope: Scope,
        question: Question,
        mind: Mapping[int, Activated],
        now: datetime,
        filters: Filters,
        dropped: list[tuple[str, str]],
        seen: Collection[str],
    ) -> list[Item]:
        """Memories that only the graph leads to."""
        lacking = [seq for seq in mind if memory_id(seq) not in seen]
        heats = unit.memories.heat(scope, lacking)
        matches = (Match(m, 0.0, 0.0, (), linked=mind[m.seq]) for m in unit.memories.get(scope, lacking))
        found = (self._item(m, heats.get(m.item.seq), question, now, filters, dropped) for m in matches)
        return [item for item in found if item is not None]

    def _item(
        self,
        match: Match,
        heat: Heat | None,
        question: Question,
        now: datetime,
        filters: Filters,
        dropped: list[tuple[str, str]],
    ) -> Item | None:
        why = found_by(match)
        phrase = question.phrase_in(match.folded or self.indexing.segmenter.fold(match.item.text))
        if phrase:
            why += ", as a phrase"
        if isinstance(match.item, Message):
            if not filters.takes_message(match.item):
                return None
            parts = rescore(
                _relevance(match), now=now, at=match.item.at, policy=self.ranking, phrase=phrase, message=True
            )
            return message_item(match.item, parts, why, leans_on(match))
        if isinstance(match.item, SessionSummary):
            if not filters.takes_summary(match.item):
                return None
            parts = rescore(
                _relevance(match), now=now, at=match.item.last_at, policy=self.ranking, phrase=phrase, message=True
            )
            return summary_item(match.item, parts, why)
        memory = match.item
        if memory.status is not Status.LIVE:
            dropped.append((memory.id, _not_believed(memory)))
            return None
        if memory.tier is Tier.ARCHIVE and Tier.ARCHIVE not in filters.tiers:
            dropped.append((memory.id, "is in the archive"))
            return None
        if memory.over(now) and memory.tier is not Tier.ARCHIVE:
            dropped.append((memory.id, _over(memory)))
            return None
        if filters.labels or not filters.takes_memory(memory, _read_at(heat)):
            return None
        sure, faint = confidence(memory, now, self.confidence), weight(memory, now, self.tiers)
        parts = rescore(
            _relevance(match), now=now, at=memory.affirmed_at, policy=self.ranking, importance=memory.importance,
            confidence=sure, heat=heat.value(now, self.heat) if heat else 0.0, phrase=phrase, weight=faint,
        )  # fmt: skip
        return _memory_item(memory, "memory", parts, why, sure, faint)

    def _standing(
        self, unit: Unit, scope: Scope, matches: Sequence[Match], now: datetime, dropped: list[tuple[str, str]]
    ) -> list[Match]:
        """Matches of summaries as they stand. A summary must not be found by what is no longer believed (SPEC B6)."""
        found = [m.item for m in matches if isinstance(m.item, SessionSummary)]
        stand = {s.seq: s for s in standing(unit, scope, found, now)}
        kept = []
        for match in matches:
            summary = stand.get(match.item.seq)
            if summary is not None and summary is not match.item:
                held = self.indexing.summary(summary).terms
                folded = self.indexing.segmenter.fold(summary.text)
                if match.words and not any(word in held or word in folded for word in match.words):
                    summary = None
            if summary is None:
                dropped.append((f"s{match.item.seq}", "what it says of this is no longer believed"))
            else:
                kept.append(match._replace(item=summary, folded=""))
        return kept

    # -------------------------------------------------------------- evidence

    def _as_asked(
        self,
        unit: Unit,
        scope: Scope,
        items: list[Item],
        asked: Asked,
        filters: Filters,
        dropped: list[tuple[str, str]],
    ) -> list[Item]:
        """Without what tells of somebody else what is asked, and turns that say nothing but that (SPEC R3); what tells
        something else than a clause asks for comes behind."""
        if filters.kinds == {"message"} or not asked.whose:
            return items
        turns = turns_of_another(unit, scope, [int(i.id[1:]) for i in items if i.kind == "message"], asked)
        kept = []
        for item in items:
            if (item.memory is not None and asked.of_another(item.memory)) or item.id in turns:
                dropped.append((item.id, "tells it of somebody else than is asked about"))
            elif item.kind == "memory" and item.memory is not None and asked.beside(item.memory):
                parts = tuple((name, value * self.ranking.beside_asked) for name, value in item.parts)
                kept.append(replace(item, parts=parts, score=score_of(parts)))
            else:
                kept.append(item)
        kept.sort(key=order)
        return kept

    def _fold_evidence(
        self,
        unit: Unit,
        scope: Scope,
        items: list[Item],
        asked: Asked,
        filters: Filters,
        dropped: list[tuple[str, str]],
        beside: list[Item],
    ) -> list[Item]:
        """Recall prefers what was distilled: a message is left out when its memory is in the answer, unless that tells
        something else than is asked outright, or when all it said is no longer believed (SPEC B6: nothing superseded comes back as current, also not through history).

        Whoever asks for messages alone gets them all.
        """
        if filters.kinds == {"message"}:
            return items
        shown = {item.memory.seq for item in items if item.memory is not None and not asked.beside(item.memory)}
        handles = {item.id: int(item.id[1:]) for item in items if item.kind == "message"}
        resting = unit.memories.resting_on(scope, handles.values())
        seqs = {seq for memories in resting.values() for seq in memories}
        live = {m.seq for m in unit.memories.get(scope, seqs) if m.status is Status.LIVE}
        kept = []
        for item in items:
            memories = resting.get(handles.get(item.id, 0), [])
            if told := [seq for seq in memories if seq in shown]:
                dropped.append((item.id, f"is the evidence of {memory_id(told[0])}"))
                beside.append(item)
            elif memories and not live.intersection(memories):
                dropped.append((item.id, f"rests on {memory_id(memories[0])}, which is not believed"))
            else:
                kept.append(item)
        return kept


def _memory_item(memory: Memory, kind: str, parts: ScoreParts, why: str, confident: float, faint: float) -> Item:
    """Args: confident: how sure it is now. faint: what it counts for by its age."""
    sure = round(confident, 3)
    return Item(
        kind, memory.id, memory.text, score_of(parts), memory.affirmed_at,
        f"{why}; importance {memory.importance}, {memory.source} {sure:.2f}{_aged(memory, faint)}",
        session=memory.evidence[-1].session if memory.evidence else None,
        confidence=sure, source=memory.source.value, category=memory.category.value, importance=memory.importance,
        memory=memory, tier=memory.tier.value, parts=parts,
    )  # fmt: skip


def _aged(memory: Memory, faint: float) -> str:
    """What its age says against a memory (SPEC F2, F3)."""
    told = "" if memory.tier is Tier.FACT else f"; {memory.tier} tier"
    told += ", low activity" if memory.low_activity else ""
    return told if faint == 1.0 else f"{told}; not mentioned for long, so its score counts × {faint:g}"


def _read_at(heat: Heat | None) -> datetime | None:
    return None if heat is None else heat.at


def _not_believed(memory: Memory) -> str:
    if memory.never_stood:
        return "waits: it contradicts what stands"
    since = "" if memory.valid_to is None else f" since {memory.valid_to.date().isoformat()}"
    return f"no longer believed{since}{', to be verified' if memory.status is Status.HELD else ''}"


def _over(memory: Memory) -> str:
    assert memory.valid_to is not None
    return f"was over on {memory.valid_to.date().isoformat()}"


def check_query(query: object, limit: int) -> None:
    """Raises: InputError when it is not text, TooLarge above the limit."""
    if not isinstance(query, str):
        raise InputError(f"a query must be text, not {type(query).__name__}")
    if len(query) > limit:
        raise TooLarge("the query", len(query), limit)


def _of_kind(unit: Unit, scope: Scope, kind: Kind, seqs: Sequence[int]) -> Sequence[Memory] | Sequence[SessionSummary]:
    return unit.summaries.get(scope, seqs) if kind is Kind.SUMMARY else unit.memories.get(scope, seqs)


def _text_kinds(filters: Filters) -> Sequence[Kind]:
    kinds = []
    if filters.kinds & {"fact", "memory"}:
        kinds.append(Kind.MEMORY)
    if "message" in filters.kinds:
        kinds.append(Kind.MESSAGE)
    if "summary" in filters.kinds:
        kinds.append(Kind.SUMMARY)
    return kinds


def _of_kinds(items: list[Item], kinds: Collection[str], dropped: list[tuple[str, str]]) -> list[Item]:
    """Whoever asks for facts alone does not get the memories that merely share words with the question."""
    if "memory" in kinds:
        return items
    dropped.extend((item.id, "is not a fact that was asked for") for item in items if item.kind == "memory")
    return [item for item in items if item.kind != "memory"]


def _relevance(match: Match) -> ScoreParts:
    """What makes a match relevant; of a passage, as the fusion made it up."""
    parts = match.parts
    if parts is None or not parts.total:
        return fused(match.relevance, match.meaning, 0.0 if match.linked is None else match.linked.energy)
    share = match.relevance / parts.total
    return (
        ("words", parts.own * share), ("session", parts.session * share), ("turns beside", parts.neighbours * share),
        *((("kind asked for", parts.expected * share),) if parts.expected else ())
    )  # fmt: skip


def _cause(question: Question, dropped: Collection[tuple[str, str]]) -> str:
    """Why an answer is empty (SPEC R10)."""
    if dropped:
        return f"{len(dropped)} found, all left out: {next(iter(dropped))[1]}"
    if not question.text.strip():
        return "the query is empty"
    if not question.content:
        return "the query has only words that are in every question"
    return "nothing here holds these words"
