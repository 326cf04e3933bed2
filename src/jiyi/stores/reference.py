"""The reference store: plain dicts, obviously right, gone with the process. The oracle of the tests.

A committed `State` is never changed again. A write works on a copy and puts it in place at the end, so
an error needs no undoing, and reading a snapshot is holding on to a `State`. Every scope has a
`ScopeState` of its own, and every method works on that one alone.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from sys import maxsize
from typing import Any, TypeVar

from jiyi.domain.fusion import Place, place_of
from jiyi.domain.heat import Heat
from jiyi.domain.memory import IncomingMessage, Memory, Message, Status, Tier
from jiyi.domain.plans import Change
from jiyi.domain.profile import AHEAD, lies_ahead
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.domain.tiers import Aging, aging
from jiyi.errors import ConflictingMessage, InputError, StoreClosed, StoreError
from jiyi.ports import (
    BM25,
    Check,
    DeadJob,
    Document,
    Hit,
    Job,
    JobCounts,
    Kind,
    Lane,
    Occurrence,
    SessionInfo,
    Store,
    StoreInfo,
    Unit,
)
from jiyi.stores.reference_forgotten import ReferenceForgotten
from jiyi.stores.reference_graph import ReferenceGraph
from jiyi.stores.reference_graph_feed import ReferenceGraphFeed
from jiyi.stores.reference_ledger import ReferenceLedger, ReferenceStandings
from jiyi.stores.reference_model import ReferenceModelCalls, ReferenceSegments
from jiyi.stores.reference_schedule import ReferenceSchedule
from jiyi.stores.reference_served import ReferenceOnce, ReferenceServiceKeys
from jiyi.stores.reference_state import Access, QueuedJob, ReferenceData, ScopeState, State
from jiyi.stores.reference_summaries import ReferenceSummaries
from jiyi.stores.reference_traces import ReferenceTraces
from jiyi.stores.reference_vectors import ReferenceVectors
from jiyi.text.slips import slips_of

T = TypeVar("T")

_STANDARD = BM25()


# ---------------------------------------------------------------------------------- a unit of work


class _Unit:
    def __init__(self, access: Access, bm25: BM25, secret: bytes) -> None:
        self._access = access
        self.forgotten = ReferenceForgotten(access, secret)
        self.messages = _Messages(access)
        self.memories = _Memories(access)
        self.summaries = ReferenceSummaries(access)
        self.text = _TextIndex(access, bm25)
        self.vectors = ReferenceVectors(access)
        self.ledger = ReferenceLedger(access)
        self.standings = ReferenceStandings(access)
        self.jobs = _Jobs(access)
        self.schedule = ReferenceSchedule(access)
        self.segments = ReferenceSegments(access)
        self.model_calls = ReferenceModelCalls(access)
        self.traces = ReferenceTraces(access)
        self.once = ReferenceOnce(access)
        self.service_keys = ReferenceServiceKeys(access)
        self.graph = ReferenceGraph(access)
        self.graph_feed = ReferenceGraphFeed(access)

    def scopes(self) -> list[Scope]:
        return list(self._access.all().scopes)


class _Messages:
    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, scope: Scope, messages: Sequence[IncomingMessage]) -> list[tuple[Message, bool]]:
        by_id = {m.id: m for m in self._access[scope].messages.values()}
        fresh: list[Message] = []
        answer: list[tuple[Message, bool]] = []
        for incoming in messages:
            stored = by_id.get(incoming.id)
            is_new = stored is None
            if stored is None:
                stored = by_id[incoming.id] = _numbered(incoming, self.last_seq(scope) + len(fresh) + 1)
                fresh.append(stored)
            elif stored.text != incoming.text and not stored.altered:
                raise ConflictingMessage(incoming.id)
            answer.append((stored, is_new))
        self._access.change(scope).messages.update({m.seq: m for m in fresh})
        return answer

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Message]:
        return _by_seq(self._access[scope].messages, seqs)

    def places(self, scope: Scope, seqs: Collection[int]) -> list[Place]:
        return [place_of(m) for m in self.get(scope, seqs) if not m.forgotten]

    def by_id(self, scope: Scope, message_id: str) -> Message | None:
        return next((m for m in self._access[scope].messages.values() if m.id == message_id), None)

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
        found = [
            m
            for m in self._readable(scope)
            if (session is None or m.session == session)
            and (since is None or m.at >= since)
            and (until is None or m.at < until)
            and (after is None or (m.at, m.seq) > after)
            and (before is None or (m.at, m.seq) < before)
        ]
        found.sort(key=lambda m: (m.at, m.seq))
        return found[max(0, len(found) - limit) :] if latest else found[:limit]

    def after_seq(self, scope: Scope, seq: int, limit: int) -> list[Message]:
        return [m for m in self._readable(scope) if m.seq > seq][:limit]

    def last_seq(self, scope: Scope) -> int:
        return max(self._access[scope].messages, default=0)

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Message]:
        return [m for m in reversed(self._readable(scope)) if any(n in m.text for n in needles)][:limit]

    def sessions(self, scope: Scope, limit: int = 1000) -> list[SessionInfo]:
        sessions: dict[str, list[Message]] = {}
        for message in self.window(scope, limit=len(self._access[scope].messages)):
            sessions.setdefault(message.session, []).append(message)
        infos = [SessionInfo(name, turns[0].at, turns[-1].at, len(turns)) for name, turns in sessions.items()]
        infos.sort(key=lambda info: info.session)
        infos.sort(key=lambda info: info.last_at, reverse=True)
        return infos[:limit]

    def rewrite(self, scope: Scope, messages: Sequence[Message]) -> None:
        stored = self._access.change(scope).messages
        stored.update({m.seq: replace(m, altered=True) for m in messages if m.seq in stored})
        if messages:
            self._access.change_all().erased = True

    def restore(self, scope: Scope, messages: Sequence[Message]) -> None:
        numbers = [self.last_seq(scope), *(m.seq for m in messages)]
        ids = {m.id for m in self._access[scope].messages.values()}
        new_ids = {m.id for m in messages}
        if any(a >= b for a, b in pairwise(numbers)) or ids & new_ids or len(new_ids) < len(messages):
            raise InputError("these messages cannot be restored: a number or an id is taken")
        self._access.change(scope).messages.update({m.seq: m for m in messages})

    def _readable(self, scope: Scope) -> list[Message]:
        """By number; tombstones left out."""
        return [m for _, m in sorted(self._access[scope].messages.items()) if not m.forgotten]


def _numbered(message: IncomingMessage, seq: int) -> Message:
    return Message(
        seq,
        message.id,
        message.session,
        message.role,
        message.text,
        message.at,
        message.name,
        dict(message.labels),
    )


class _Memories:
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        return _by_seq(self._access[scope].memories, seqs)

    def believed(self, scope: Scope, keys: Collection[str] = (), values: Collection[str] = ()) -> list[Memory]:
        return [m for m in self._all(scope) if (m.key in keys if m.key else m.value in values)]

    def of_keys(self, scope: Scope, keys: Collection[str], limit: int = 64) -> list[Memory]:
        near = (m for m in self.listing(scope) if m.tier is not Tier.ARCHIVE)
        return _newest(m for m in near if m.key and m.key in keys)[:limit]

    def of_relations(self, scope: Scope, relations: Collection[str], limit: int = 64) -> list[Memory]:
        facts = self.listing(scope, tiers=[Tier.FACT])
        return _newest(m for m in facts if m.triple is not None and m.triple.relation in relations)[:limit]

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
            m
            for m in self._all(scope)
            if (status is None or m.status is status)
            and (not categories or m.category in categories)
            and (not tiers or m.tier in tiers)
        ][:limit]

    def foremost(self, scope: Scope, categories: Collection[str], limit: int) -> list[Memory]:
        found = self.listing(scope, categories=categories, tiers=[Tier.FACT]) if categories else []
        found.sort(key=lambda m: (m.importance, m.affirmed_at, m.seq), reverse=True)
        return found[: max(limit, 0)]

    def ahead(self, scope: Scope, now: datetime, limit: int) -> list[Memory]:
        found = self.foremost(scope, AHEAD, maxsize)
        return [m for m in found if lies_ahead(m, now)][: max(limit, 0)]

    def unsettled(self, scope: Scope) -> list[Memory]:
        return [m for m in self._all(scope) if m.unsettled]

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Memory]:
        return [m for m in reversed(self.listing(scope)) if any(n in m.text for n in needles)][:limit]

    def aging(self, scope: Scope, after: int, limit: int) -> list[Aging]:
        heats = self._access[scope].heats
        return [aging(m, heats.get(m.seq)) for m in self.listing(scope) if m.seq > after][:limit]

    def replaced_by(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        return [m for m in self._all(scope) if m.successor in seqs]

    def resting_on(self, scope: Scope, message_seqs: Collection[int]) -> dict[int, list[int]]:
        resting: dict[int, list[int]] = {}
        for memory in self._all(scope):
            for message in {e.message for e in memory.evidence if e.message and e.tells} & set(message_seqs):
                resting.setdefault(message, []).append(memory.seq)
        return resting

    def next_seq(self, scope: Scope) -> int:
        state = self._access.change(scope)
        state.last_memory += 1
        return state.last_memory

    def numbers(self, scope: Scope) -> list[int]:
        return sorted(self._access[scope].memories)

    def last_seq(self, scope: Scope) -> int:
        return self._access[scope].last_memory

    def skip_to(self, scope: Scope, seq: int) -> None:
        state = self._access.change(scope)
        state.last_memory = max(state.last_memory, seq)

    def write(self, scope: Scope, changes: Sequence[Change]) -> None:
        state = self._access.change(scope)
        for change in changes:
            if change.after is not None:
                state.memories[change.seq] = change.after
                state.last_memory = max(state.last_memory, change.seq)
            else:
                state.memories.pop(change.seq, None)
                state.heats.pop(change.seq, None)

    def distilled_by(self, scope: Scope) -> str:
        return self._access[scope].distilled_by

    def mark_distilled_by(self, scope: Scope, identity: str) -> None:
        self._access.change(scope).distilled_by = identity

    def heat(self, scope: Scope, seqs: Collection[int]) -> dict[int, Heat]:
        heats = self._access[scope].heats
        return {seq: heats[seq] for seq in seqs if seq in heats}

    def set_heat(self, scope: Scope, heats: Mapping[int, Heat]) -> None:
        state = self._access.change(scope)
        state.heats.update({seq: heat for seq, heat in heats.items() if seq in state.memories})

    def _all(self, scope: Scope) -> list[Memory]:
        return [m for _, m in sorted(self._access[scope].memories.items())]


def _by_seq(items: Mapping[int, T], seqs: Collection[int]) -> list[T]:
    return [items[seq] for seq in sorted(set(seqs)) if seq in items]


def _newest(memories: Iterator[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda m: (m.affirmed_at, m.seq), reverse=True)


class _TextIndex:
    """A document without terms can never be found: it is not counted either."""

    def __init__(self, access: Access, bm25: BM25) -> None:
        self._access = access
        self._bm25 = bm25

    def add(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        index = self._access.change(scope).documents
        index.update({(kind, d.seq): replace(d, terms=dict(d.terms)) for d in documents if d.terms})

    def remove(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        index = self._access.change(scope).documents
        for document in documents:
            index.pop((kind, document.seq), None)

    def search(self, scope: Scope, kind: Kind, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        total, holding = self.frequencies(scope, kind, [term for term, _ in terms])
        documents = self._of_kind(scope, kind)
        average = sum(d.length for d in documents) / max(1, total)
        hits = []
        for document in documents:
            score, matched = 0.0, 0
            for i, (term, weight) in enumerate(terms):
                if term in document.terms:
                    matched |= 1 << i
                    score += weight * self._score(document, term, total, holding[term], average)
            if matched:
                hits.append(Hit(document.seq, round(score, 6), matched))
        return sorted(hits, key=lambda hit: (-hit.score, -hit.seq))[:limit]

    def _score(self, document: Document, term: str, total: int, holding: int, average: float) -> float:
        k1, b, count = self._bm25.k1, self._bm25.b, document.terms[term]
        idf = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
        return idf * count * (k1 + 1) / (count + k1 * (1 - b + b * document.length / average))

    def frequencies(self, scope: Scope, kind: Kind, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        documents = self._of_kind(scope, kind)
        counts = {term: sum(term in d.terms for d in documents) for term in terms}
        return len(documents), {term: count for term, count in counts.items() if count}

    def slips(self, scope: Scope, kind: Kind, word: str) -> dict[str, int]:
        return self.frequencies(scope, kind, slips_of(word))[1]

    def occurrences(self, scope: Scope, kind: Kind, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        index = self._access[scope].documents
        documents = [index[kind, seq] for seq in sorted(set(seqs)) if (kind, seq) in index]
        wanted = dict.fromkeys(terms)
        return [Occurrence(d.seq, t, d.terms[t], d.length) for d in documents for t in wanted if t in d.terms]

    def indexed_up_to(self, scope: Scope) -> int:
        return self._access[scope].indexed_up_to

    def mark_indexed_up_to(self, scope: Scope, seq: int) -> None:
        self._access.change(scope).indexed_up_to = seq

    def clear(self, scope: Scope) -> None:
        state = self._access.change(scope)
        state.documents.clear()
        state.indexed_up_to = 0

    def _of_kind(self, scope: Scope, kind: Kind) -> list[Document]:
        return [d for (k, _), d in self._access[scope].documents.items() if k is kind]


class _Jobs:
    def __init__(self, access: Access) -> None:
        self._access = access

    def put(
        self,
        scope: Scope,
        kind: str,
        payload: Mapping[str, Any],
        now: datetime,
        *,
        lane: Lane = Lane.QUICK,
    ) -> int:
        self._access.change(scope)
        state = self._access.change_all()
        state.last_job += 1
        state.last_turn += 1
        text = json.dumps(dict(payload), ensure_ascii=False)
        state.jobs[state.last_job] = QueuedJob(state.last_job, state.last_turn, scope, kind, text, 0, now, now, lane)
        return state.last_job

    def claim(
        self, now: datetime, lease_until: datetime, lane: Lane = Lane.QUICK, scope: Scope | None = None
    ) -> Job | None:
        jobs = self._access.change_all().jobs
        queued = (j for j in jobs.values() if j.lane is lane and scope in (None, j.scope))
        seen = {scope for scope, state in self._access.all().scopes.items() if state.standing.paused}
        for job in sorted(queued, key=lambda j: j.turn):
            # Only the first job of a queue may run: one that waits for its retry holds back those behind it.
            due = job.due_at <= now or job.attempt == 0
            if job.scope not in seen and not job.running(now) and due:
                jobs[job.id] = job = replace(job, attempt=job.attempt + 1, lease_until=lease_until)
                return Job(job.id, job.scope, job.kind, json.loads(job.payload), job.attempt, job.queued_at)
            seen.add(job.scope)
        return None

    def renew(self, job: Job, lease_until: datetime) -> bool:
        jobs = self._access.change_all().jobs
        if not self._holds(job):
            return False
        jobs[job.id] = replace(jobs[job.id], lease_until=lease_until)
        return True

    def finish(self, job: Job) -> bool:
        jobs = self._access.change_all().jobs
        if not self._holds(job):
            return False
        del jobs[job.id]
        return True

    def fail(self, job: Job, error: str, now: datetime, retry_at: datetime | None) -> None:
        state = self._access.change_all()
        if not self._holds(job):
            return
        queued = replace(state.jobs[job.id], lease_until=None)
        if retry_at is not None:
            state.jobs[job.id] = replace(queued, due_at=retry_at)
            return
        del state.jobs[job.id]
        state.dead[job.id] = queued, DeadJob(job.id, queued.scope, queued.kind, queued.attempt, error, now)

    def recall(self, scope: Scope, now: datetime) -> int:
        jobs = self._access.change_all().jobs
        running = [j for j in jobs.values() if j.scope == scope and j.lease_until is not None]
        jobs.update({j.id: replace(j, lease_until=None, due_at=now) for j in running})
        return len(running)

    def drop(self, scope: Scope) -> int:
        state = self._access.change_all()
        queued = [j.id for j in state.jobs.values() if j.scope == scope]
        dead = [number for number, (job, _) in state.dead.items() if job.scope == scope]
        for number in queued:
            del state.jobs[number]
        for number in dead:
            del state.dead[number]
        return len(queued) + len(dead)

    def counts(self, scope: Scope | None, now: datetime) -> JobCounts:
        state = self._access.all()
        jobs = [j for j in state.jobs.values() if scope is None or j.scope == scope]
        waiting = [j for j in jobs if not j.running(now)]
        dead = sum(scope is None or d.scope == scope for _, d in state.dead.values())
        oldest_at = min((j.queued_at for j in waiting), default=None)
        return JobCounts(len(waiting), len(jobs) - len(waiting), dead, oldest_at)

    def dead(self, limit: int = 100) -> list[DeadJob]:
        letters = [letter for _, letter in self._access.all().dead.values()]
        return sorted(letters, key=lambda d: (d.died_at, d.id))[:limit]

    def revive(self, job_id: int, now: datetime, *, approved: bool = False) -> bool:
        state = self._access.change_all()
        if job_id not in state.dead:
            return False
        queued, _ = state.dead.pop(job_id)
        state.last_turn += 1
        payload = json.dumps({**json.loads(queued.payload), "approved": True}) if approved else queued.payload
        state.jobs[job_id] = replace(
            queued, turn=state.last_turn, attempt=0, queued_at=now, due_at=now, payload=payload
        )
        return True

    def _holds(self, job: Job) -> bool:
        """Whether the job is still running under this attempt. An overrun lease that nobody took still counts."""
        queued = self._access.all().jobs.get(job.id)
        return queued is not None and queued.lease_until is not None and queued.attempt == job.attempt


# ---------------------------------------------------------------------------------- the store


class ReferenceStore(Store):
    """All ports over dicts. `data` survives `close()` and can be given to another store."""

    def __init__(self, data: ReferenceData, bm25: BM25) -> None:
        self.data = data
        self._bm25 = bm25
        self._closed = False

    @contextmanager
    def read(self, scope: Scope | None = None) -> Iterator[Unit]:
        self._check_open()
        access = Access(self.data.state, writable=False)
        try:
            yield _Unit(access, self._bm25, self.data.secret)
        finally:
            access.end()

    def write(self, work: Callable[[Unit], T], *, again: bool = False) -> T:
        def in_unit(state: State) -> T:
            access = Access(state, writable=True)
            try:
                return work(_Unit(access, self._bm25, self.data.secret))
            finally:
                access.end()

        return self._transaction(in_unit)

    def _transaction(self, work: Callable[[State], T]) -> T:
        self._check_open()
        if self.data.writer == threading.get_ident():
            raise StoreError("write() inside write(): do it all in one write, or one after the other")
        with self.data.lock:
            self.data.writer = threading.get_ident()
            try:
                state = self.data.state.copy()
                result = work(state)
                self.data.state = state
            finally:
                self.data.writer = None
        return result

    def meta(self, name: str) -> str | None:
        self._check_open()
        return self.data.state.meta.get(name)

    def set_meta(self, name: str, value: str) -> None:
        self._transaction(lambda state: state.meta.update({name: value}))

    @property
    def secret(self) -> bytes:
        self._check_open()
        return self.data.secret

    def info(self) -> StoreInfo:
        self._check_open()
        return StoreInfo("reference", "memory of this process", 1, {"text_index": "brute force"})

    def check(self, terms_of: Callable[[Kind, Memory | Message | SessionSummary], Document]) -> Iterator[Check]:
        self._check_open()
        state = self.data.state
        unit = _Unit(Access(state, writable=False), self._bm25, self.data.secret)
        for scope, held in state.scopes.items():
            yield _index_check(unit, held, scope, terms_of)

    def erased(self) -> bool:
        self._check_open()
        return self.data.state.erased

    def purge(self) -> None:
        if self.erased():
            self._transaction(lambda state: setattr(state, "erased", False))

    def catch_up(self) -> int:
        return 0

    def backup(self, target: str) -> None:
        self._check_open()
        if target in self.data.backups:
            raise StoreError(f"{target} exists already: choose another name for the backup")
        self.data.backups[target] = ReferenceData(self.data.state, self.data.secret)

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed


def _index_check(
    unit: Unit, state: ScopeState, scope: Scope, terms_of: Callable[[Kind, Memory | Message | SessionSummary], Document]
) -> Check:
    """The index must hold exactly the memories, of any status, and the readable messages up to the mark."""
    expected: dict[tuple[Kind, int], Document] = {}
    for memory in unit.memories.listing(scope, status=None):
        expected[Kind.MEMORY, memory.seq] = terms_of(Kind.MEMORY, memory)
    for message in unit.messages.after_seq(scope, 0, state.indexed_up_to):
        if message.seq <= state.indexed_up_to:
            expected[Kind.MESSAGE, message.seq] = terms_of(Kind.MESSAGE, message)
    for summary in unit.summaries.listing(scope):
        expected[Kind.SUMMARY, summary.seq] = terms_of(Kind.SUMMARY, summary)
    expected = {at: document for at, document in expected.items() if document.terms}
    wrong = sum(expected.get(at) != state.documents.get(at) for at in expected.keys() | state.documents.keys())
    detail = f"{scope}: {wrong} texts are indexed wrongly" if wrong else f"{scope}: {len(expected)} texts"
    return Check("text index", not wrong, detail, "run `jiyi reindex`" if wrong else "")


def open_reference(data: ReferenceData | None = None, *, bm25: BM25 = _STANDARD) -> ReferenceStore:
    """An empty reference store, or another handle on `data`."""
    return ReferenceStore(data if data is not None else ReferenceData(), bm25)
