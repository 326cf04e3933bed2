"""Memory as it was: the same pipelines over another unit, in which the past is the present (SPEC B6).

    ledger up to known_at ─▶ pictures of that time ─▶ those that were true at valid_at count as live ─▶ recall, listing …

The text index holds every memory that is still stored, of any status, so it finds those of then as well; hits that
were not there yet are left out, and pictures that read otherwise today are scored beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from sys import maxsize
from typing import NoReturn

from jiyi.domain.bitemporal import AsOf, known, status_at, was_true
from jiyi.domain.encoding import micros
from jiyi.domain.fusion import Place
from jiyi.domain.heat import Heat
from jiyi.domain.memory import IncomingMessage, Memory, Message, Status, Tier
from jiyi.domain.plans import Change
from jiyi.domain.profile import AHEAD, lies_ahead
from jiyi.domain.ranking import inverse_frequency
from jiyi.domain.scope import Scope
from jiyi.domain.summary import WHOLE, SessionSummary
from jiyi.domain.tiers import Aging
from jiyi.errors import InputError, StoreError
from jiyi.pipelines.graph.then import GraphThen
from jiyi.pipelines.graph.view import GraphView
from jiyi.pipelines.history import read_versions
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.recall import Recall
from jiyi.pipelines.recalling.facts import FactFinder
from jiyi.pipelines.recalling.filters import Filters
from jiyi.pipelines.recalling.items import Recollection
from jiyi.pipelines.recalling.matching import overlay
from jiyi.ports import (
    Document,
    Forgotten,
    Graph,
    GraphFeed,
    Hit,
    Jobs,
    Kind,
    Ledger,
    Memories,
    Messages,
    ModelCalls,
    Occurrence,
    Once,
    Schedule,
    Segments,
    ServiceKeys,
    SessionInfo,
    Standings,
    Summaries,
    TextIndex,
    Traces,
    Unit,
    VectorIndex,
)

CHUNK = 256
"""Hits whose messages are looked up in one go."""
MOMENT = timedelta(microseconds=1)


def recall_as_of(
    recall: Recall, unit: Unit, scope: Scope, query: str, now: datetime, as_of: AsOf, *, limit: int, filters: Filters
) -> Recollection:
    """Recall as it would have answered; ranked the same way, with confidence and age as of then."""
    if as_of.present:
        return recall(unit, scope, query, now, limit=limit, filters=filters)
    view = None if recall.reminding is None else recall.reminding.view
    then = UnitThen(unit, scope, as_of, recall.indexing, view)
    found = recall(then, scope, query, as_of.age_at(now), limit=limit, filters=filters)
    items = (replace(i, memory=then.memories.picture(i.memory)) if i.memory else i for i in found.items)
    return replace(found, items=tuple(items))


def memories_as_of(
    unit: Unit,
    scope: Scope,
    as_of: AsOf,
    *,
    status: Status | None = Status.LIVE,
    categories: Collection[str] = (),
    tiers: Collection[Tier] = (),
) -> list[Memory]:
    """Memories by number, as they were known; with `valid_at` those that were true then, whatever became of them.

    Raises:
        InputError: `valid_at` together with a status that only says what became of them.
    """
    if as_of.present:
        return unit.memories.listing(scope, status=status, categories=categories, tiers=tiers)
    if as_of.valid_at is not None:
        if status not in (Status.LIVE, None):
            raise InputError(f"valid_at asks for what was true then: leave status = {status} out")
        status = Status.LIVE
    then = MemoriesThen(unit, scope, as_of)
    found = [then.picture(m) for m in then.listing(scope, status=status, categories=categories, tiers=tiers)]
    return found if as_of.valid_at is None else [m for m in found if was_true(m, as_of.valid_at)]


def versions_as_of(
    unit: Unit, scope: Scope, as_of: AsOf, what: str, facts: FactFinder, indexing: Indexing
) -> list[Memory]:
    """The values of a fact as they were known; with `valid_at` only what was true then. Raises: NotFound."""
    if as_of.present:
        return read_versions(unit, scope, what, facts)
    # Which values there were is a matter of what was known; which of them held, is asked of each.
    then = UnitThen(unit, scope, AsOf(known_at=as_of.known_at), indexing)
    chain = read_versions(then, scope, what, facts)
    return [m for m in chain if as_of.valid_at is None or was_true(m, as_of.valid_at)]


# ------------------------------------------------------------------ the unit of then


class UnitThen(Unit):
    """One scope as it was, for reading. Ledger, standing, jobs, schedule and tombstones are those of today."""

    def __init__(
        self, unit: Unit, scope: Scope, as_of: AsOf, indexing: Indexing, view: GraphView | None = None
    ) -> None:
        """`view`: how memories become a graph. Without it the graph is today's."""
        self._unit, self._view = unit, view
        self._graph: Graph | None = None
        self._memories = MemoriesThen(unit, scope, as_of)
        self._messages = unit.messages if as_of.known_at is None else MessagesThen(unit.messages, as_of.known_at)
        self._summaries = SummariesThen(unit.summaries, as_of.known_at)
        self._text = TextThen(unit, self._memories, self._messages, self._summaries, indexing)

    @property
    def forgotten(self) -> Forgotten:
        return self._unit.forgotten

    @property
    def messages(self) -> Messages:
        return self._messages

    @property
    def memories(self) -> MemoriesThen:
        return self._memories

    @property
    def summaries(self) -> Summaries:
        return self._summaries

    @property
    def text(self) -> TextIndex:
        return self._text

    @property
    def vectors(self) -> VectorIndex:
        """Those of today: what was not there then is left out when it is read."""
        return self._unit.vectors

    @property
    def ledger(self) -> Ledger:
        return self._unit.ledger

    @property
    def standings(self) -> Standings:
        return self._unit.standings

    @property
    def jobs(self) -> Jobs:
        return self._unit.jobs

    @property
    def schedule(self) -> Schedule:
        return self._unit.schedule

    @property
    def segments(self) -> Segments:
        return self._unit.segments

    @property
    def model_calls(self) -> ModelCalls:
        return self._unit.model_calls

    @property
    def graph(self) -> Graph:
        if self._graph is None:
            self._graph = self._unit.graph if self._view is None else GraphThen(self._memories.seen, self._view)
        return self._graph

    @property
    def graph_feed(self) -> GraphFeed:
        return self._unit.graph_feed

    @property
    def traces(self) -> Traces:
        return self._unit.traces

    @property
    def once(self) -> Once:
        return self._unit.once

    @property
    def service_keys(self) -> ServiceKeys:
        return self._unit.service_keys

    def scopes(self) -> list[Scope]:
        return list(self._unit.scopes())


class MemoriesThen(Memories):
    """The pictures of then. What was true at `valid_at` is live here, whatever became of it since."""

    def __init__(self, unit: Unit, scope: Scope, as_of: AsOf) -> None:
        self._unit, self._scope = unit, scope
        if as_of.known_at is None:
            stored = unit.memories.listing(scope, status=None)
        else:
            stored = list(known(unit.ledger.entries(scope), as_of.known_at).values())
        self.pictures: Mapping[int, Memory] = {m.seq: m for m in sorted(stored, key=lambda m: m.seq)}
        self._seen = self.pictures if as_of.valid_at is None else _standing(stored, as_of.valid_at)

    @property
    def seen(self) -> Collection[Memory]:
        return self._seen.values()

    def picture(self, memory: Memory) -> Memory:
        """The memory with its own status instead of the one it has here."""
        return self.pictures[memory.seq]

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        seen = self._of(scope)
        return [seen[seq] for seq in sorted(set(seqs)) if seq in seen]

    def believed(self, scope: Scope, keys: Collection[str] = (), values: Collection[str] = ()) -> list[Memory]:
        return [m for m in self._of(scope).values() if (m.key in keys if m.key else m.value in values)]

    def of_keys(self, scope: Scope, keys: Collection[str], limit: int = 64) -> list[Memory]:
        return self._newest(scope, lambda m: m.tier is not Tier.ARCHIVE and m.key != "" and m.key in keys)[:limit]

    def of_relations(self, scope: Scope, relations: Collection[str], limit: int = 64) -> list[Memory]:
        fits = lambda m: m.tier is Tier.FACT and m.triple is not None and m.triple.relation in relations  # noqa: E731
        return self._newest(scope, fits)[:limit]

    def _newest(self, scope: Scope, fits: Callable[[Memory], bool]) -> list[Memory]:
        return sorted(filter(fits, self.listing(scope)), key=lambda m: (m.affirmed_at, m.seq), reverse=True)

    def listing(
        self,
        scope: Scope,
        *,
        status: Status | None = Status.LIVE,
        categories: Collection[str] = (),
        tiers: Collection[Tier] = (),
        limit: int | None = None,
    ) -> list[Memory]:
        return [
            m for m in self._of(scope).values()
            if (status is None or m.status is status) and (not categories or m.category in categories)
            and (not tiers or m.tier in tiers)
        ][:limit]  # fmt: skip

    def aging(self, scope: Scope, after: int, limit: int) -> list[Aging]:
        _refuse()

    def replaced_by(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        return [m for m in self._of(scope).values() if m.successor in seqs]

    def foremost(self, scope: Scope, categories: Collection[str], limit: int) -> list[Memory]:
        found = self.listing(scope, categories=categories, tiers=[Tier.FACT]) if categories else []
        return sorted(found, key=lambda m: (m.importance, m.affirmed_at, m.seq), reverse=True)[: max(limit, 0)]

    def ahead(self, scope: Scope, now: datetime, limit: int) -> list[Memory]:
        found = self.foremost(scope, AHEAD, maxsize)
        return [m for m in found if lies_ahead(m, now)][: max(limit, 0)]

    def unsettled(self, scope: Scope) -> list[Memory]:
        return [m for m in self._of(scope).values() if m.unsettled]

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Memory]:
        return [m for m in reversed(self.listing(scope)) if any(n in m.text for n in needles)][:limit]

    def resting_on(self, scope: Scope, message_seqs: Collection[int]) -> dict[int, list[int]]:
        # Of all that was known: a message whose memory was not true then must not tell it all the same.
        self._of(scope)
        wanted, resting = set(message_seqs), dict[int, list[int]]()
        for seq, memory in self.pictures.items():
            for message in {e.message for e in memory.evidence if e.tells} & wanted:
                resting.setdefault(message, []).append(seq)
        return resting

    def heat(self, scope: Scope, seqs: Collection[int]) -> dict[int, Heat]:
        return self._unit.memories.heat(scope, seqs)

    def distilled_by(self, scope: Scope) -> str:
        return self._unit.memories.distilled_by(scope)

    def mark_distilled_by(self, scope: Scope, identity: str) -> None:
        _refuse()

    def next_seq(self, scope: Scope) -> int:
        _refuse()

    def write(self, scope: Scope, changes: Sequence[Change]) -> None:
        _refuse()

    def set_heat(self, scope: Scope, heats: Mapping[int, Heat]) -> None:
        _refuse()

    def numbers(self, scope: Scope) -> list[int]:
        return list(self._of(scope))

    def last_seq(self, scope: Scope) -> int:
        self._of(scope)
        return max(self.pictures, default=0)

    def skip_to(self, scope: Scope, seq: int) -> None:
        _refuse()

    def _of(self, scope: Scope) -> Mapping[int, Memory]:
        if scope != self._scope:
            raise StoreError(f"this view of the past is of {self._scope}: make another for {scope}")
        return self._seen


def _standing(memories: Collection[Memory], at: datetime) -> dict[int, Memory]:
    standing = {}
    for memory in sorted(memories, key=lambda m: m.seq):
        if (status := status_at(memory, at)) is not None:
            standing[memory.seq] = memory if status is memory.status else replace(memory, status=status)
    return standing


class MessagesThen(Messages):
    """The messages said up to an instant. When they were stored is not kept: one imported later counts as said."""

    def __init__(self, messages: Messages, until: datetime) -> None:
        self._messages, self._until = messages, until

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Message]:
        return self._said(self._messages.get(scope, seqs))

    def places(self, scope: Scope, seqs: Collection[int]) -> list[Place]:
        return [p for p in self._messages.places(scope, seqs) if p.at <= micros(self._until)]

    def by_id(self, scope: Scope, message_id: str) -> Message | None:
        message = self._messages.by_id(scope, message_id)
        return message if message is not None and message.at <= self._until else None

    def window(
        self,
        scope: Scope,
        *,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: tuple[datetime, int] | None = None,
        before: tuple[datetime, int] | None = None,
        latest: bool = False,
        limit: int = 50,
    ) -> list[Message]:
        end = self._until + MOMENT if until is None else min(until, self._until + MOMENT)
        return self._messages.window(
            scope, session=session, since=since, until=end, after=after, before=before, latest=latest, limit=limit
        )

    def after_seq(self, scope: Scope, seq: int, limit: int) -> list[Message]:
        return self._said(self._messages.after_seq(scope, seq, limit))

    def last_seq(self, scope: Scope) -> int:
        return self._messages.last_seq(scope)

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Message]:
        return self._said(self._messages.containing(scope, needles, self.last_seq(scope)))[:limit]

    def sessions(self, scope: Scope, limit: int = 1000) -> list[SessionInfo]:
        infos = [s for s in self._messages.sessions(scope, self.last_seq(scope)) if s.first_at <= self._until]
        return infos[:limit]

    def add(self, scope: Scope, messages: Sequence[IncomingMessage]) -> list[tuple[Message, bool]]:
        _refuse()

    def rewrite(self, scope: Scope, messages: Sequence[Message]) -> None:
        _refuse()

    def restore(self, scope: Scope, messages: Sequence[Message]) -> None:
        _refuse()

    def _said(self, messages: Sequence[Message]) -> list[Message]:
        return [m for m in messages if m.at <= self._until]


class SummariesThen(Summaries):
    """The summaries of what had all been said by an instant. One that was made again since counts with what it holds now."""

    def __init__(self, summaries: Summaries, until: datetime | None) -> None:
        self._summaries, self._until = summaries, until

    def get(self, scope: Scope, seqs: Collection[int]) -> list[SessionSummary]:
        return self._said(self._summaries.get(scope, seqs))

    def listing(self, scope: Scope, *, session: str | None = None) -> list[SessionSummary]:
        return self._said(self._summaries.listing(scope, session=session))

    def covered(self, scope: Scope) -> dict[str, tuple[int, datetime]]:
        found = [s for s in self.listing(scope) if s.block == WHOLE]
        return {s.session: (len(s.messages), s.last_at) for s in found}

    def last_block(self, scope: Scope, session: str) -> SessionSummary | None:
        return max((s for s in self.listing(scope, session=session) if s.block), key=lambda s: s.block, default=None)

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[SessionSummary]:
        return self._said(self._summaries.containing(scope, needles, self.last_seq(scope)))[:limit]

    def last_seq(self, scope: Scope) -> int:
        return self._summaries.last_seq(scope)

    def next_seq(self, scope: Scope) -> int:
        _refuse()

    def skip_to(self, scope: Scope, seq: int) -> None:
        _refuse()

    def write(self, scope: Scope, summaries: Sequence[SessionSummary]) -> None:
        _refuse()

    def remove(self, scope: Scope, seqs: Collection[int]) -> None:
        _refuse()

    def erase(self, scope: Scope, messages: Collection[int]) -> list[SessionSummary]:
        _refuse()

    def _said(self, summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
        return [s for s in summaries if self._until is None or s.last_at <= self._until]


class TextThen(TextIndex):
    """The text index of today, asked for what was there then."""

    def __init__(
        self, unit: Unit, memories: MemoriesThen, messages: Messages, summaries: Summaries, indexing: Indexing
    ) -> None:
        self._index, self._memories, self._messages, self._summaries = unit.text, memories, messages, summaries
        self._stored, self._indexing = unit.memories, indexing

    def search(self, scope: Scope, kind: Kind, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        # All hits: the best of today may be of things that nobody knew then.
        documents, holding = self._index.frequencies(scope, kind, [term for term, _ in terms])
        hits = self._index.search(scope, kind, terms, max(documents, 1))
        if kind is not Kind.MEMORY:
            return list(
                islice(self._said(scope, hits, self._messages if kind is Kind.MESSAGE else self._summaries), limit)
            )
        otherwise = self._otherwise_worded(scope)
        hits = [h for h in hits if h.seq in self._memories.pictures and h.seq not in otherwise]
        told = [weight * inverse_frequency(documents, holding.get(term, 0)) for term, weight in terms]
        hits += overlay(list(otherwise.values()), terms, told)
        return sorted(hits, key=lambda hit: (-hit.score, -hit.seq))[:limit]

    def _said(self, scope: Scope, hits: Sequence[Hit], holder: Messages | Summaries) -> Iterator[Hit]:
        for start in range(0, len(hits), CHUNK):
            some = hits[start : start + CHUNK]
            said = {item.seq for item in holder.get(scope, [h.seq for h in some])}
            yield from (h for h in some if h.seq in said)

    def _otherwise_worded(self, scope: Scope) -> dict[int, Document]:
        """Memories of then that are gone since (undone), or read otherwise now."""
        pictures = self._memories.pictures
        stored = {m.seq: (m.text, m.keywords) for m in self._stored.get(scope, pictures)}
        return {seq: self._indexing.memory(m) for seq, m in pictures.items() if stored.get(seq) != (m.text, m.keywords)}

    def frequencies(self, scope: Scope, kind: Kind, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        return self._index.frequencies(scope, kind, terms)

    def slips(self, scope: Scope, kind: Kind, word: str) -> dict[str, int]:
        return self._index.slips(scope, kind, word)

    def occurrences(self, scope: Scope, kind: Kind, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        # Of documents that the caller found here, so they were there then.
        return self._index.occurrences(scope, kind, terms, seqs)

    def indexed_up_to(self, scope: Scope) -> int:
        return self._index.indexed_up_to(scope)

    def add(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        _refuse()

    def remove(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        _refuse()

    def mark_indexed_up_to(self, scope: Scope, seq: int) -> None:
        _refuse()

    def clear(self, scope: Scope) -> None:
        _refuse()


def _refuse() -> NoReturn:
    raise StoreError("the past is for reading only: change the store inside store.write(...)")
