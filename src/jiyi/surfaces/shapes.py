"""What services answer: the shapes of everything that a caller gets, for HTTP and whatever else speaks JSON.

The keys are those of the command line's `--json`. Instants are ISO 8601 in the user's zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from jiyi.domain.encoding import version_of
from jiyi.domain.forgetting import ForgettingReceipt
from jiyi.domain.memory import Category, Language, Role, Source, Status, Tier, memory_id, message_handle, plan_id
from jiyi.domain.memory import Memory as Remembered
from jiyi.domain.memory import Message as Turn
from jiyi.domain.plans import Change as Changed
from jiyi.domain.plans import LedgerEntry, Plan
from jiyi.domain.profile import Profile as Rendered
from jiyi.domain.questions import Question as Asked
from jiyi.domain.questions import Topic
from jiyi.domain.standing import Consent as Consented
from jiyi.domain.standing import Standing as Stands
from jiyi.domain.standing import StandingChange
from jiyi.domain.summary import PointKind, SessionSummary
from jiyi.domain.traces import Considered as Looked
from jiyi.domain.traces import Trace as Traced
from jiyi.pipelines.archive import Summary as Archived
from jiyi.pipelines.context import ContextBlock
from jiyi.pipelines.explaining import Explanation as Explained
from jiyi.pipelines.explaining import Stage
from jiyi.pipelines.gateway import ForgetReceipt
from jiyi.pipelines.gateway import Receipt as Done
from jiyi.pipelines.observe import Observed as Stored
from jiyi.pipelines.recall import Item as Found
from jiyi.pipelines.recall import Recollection as Recalled
from jiyi.pipelines.redistil import Redistilled as ReadAgain
from jiyi.pipelines.retention import Retention as Kept
from jiyi.pipelines.upkeep import Upkept as Moved
from jiyi.ports import SessionInfo
from jiyi.queues import DeadJob as Given
from jiyi.queues import JobCounts
from jiyi.scoped_memory import ScopedMemory

Moment = Annotated[str, Field(examples=["2026-03-01T09:00:00+08:00"])]
MemoryId = Annotated[str, Field(examples=["m42"])]
PlanId = Annotated[str, Field(examples=["p7"])]


def moment(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).isoformat()


def when(at: datetime | None, zone: tzinfo) -> str | None:
    return None if at is None else moment(at, zone)


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# ------------------------------------------------------------------ memories


class Fact(Shape):
    subject: str
    relation: str
    object: str
    negated: bool


class Evidence(Shape):
    """Where in which message it was said; message 0 stands for what was told outright."""

    message: str
    session: str
    start: int
    end: int


class Memory(Shape):
    id: MemoryId
    text: str
    category: Category
    importance: int
    source: Source
    confidence: float
    status: Status
    tier: Tier
    low_activity: bool
    affirmed_at: Moment
    valid_from: Moment
    valid_to: Moment | None
    learnt_at: Moment
    retired_at: Moment | None
    successor: MemoryId | None
    fact: Fact | None
    evidence: list[Evidence]
    version: str

    @classmethod
    def of(cls, memory: Remembered, confidence: float, zone: tzinfo) -> Memory:
        triple = memory.triple
        return cls(
            id=memory.id,
            text=memory.text,
            category=memory.category,
            importance=memory.importance,
            source=memory.source,
            confidence=round(confidence, 3),
            status=memory.status,
            tier=memory.tier,
            low_activity=memory.low_activity,
            affirmed_at=moment(memory.affirmed_at, zone),
            valid_from=moment(memory.valid_from, zone),
            valid_to=when(memory.valid_to, zone),
            learnt_at=moment(memory.learnt_at, zone),
            retired_at=when(memory.retired_at, zone),
            successor=None if memory.successor is None else memory_id(memory.successor),
            fact=None
            if triple is None
            else Fact(subject=triple.subject, relation=triple.relation, object=triple.object, negated=triple.negated),
            evidence=[
                Evidence(message=message_handle(e.message), session=e.session, start=e.start, end=e.end)
                for e in memory.evidence
            ],
            version=version_of(memory),
        )


def memories(me: ScopedMemory, some: Iterable[Remembered], zone: tzinfo, at: datetime | None = None) -> list[Memory]:
    """`at`: when we were as sure as is said; now by default."""
    return [Memory.of(m, me.confidence(m, at=at), zone) for m in some]


class Page(Shape):
    """`cursor` is what to ask for the next page with; null on the last."""

    cursor: str | None = None


class MemoryPage(Page):
    memories: list[Memory]


class Memories(Shape):
    memories: list[Memory]


# ------------------------------------------------------------------ recall


class Item(Shape):
    rank: int
    kind: str
    id: str
    text: str
    score: float
    at: Moment
    why: str
    session: str | None
    confidence: float | None
    source: str | None
    category: str | None
    importance: int | None
    tier: str | None
    role: str | None
    name: str | None
    message_id: str | None

    @classmethod
    def of(cls, item: Found, rank: int, zone: tzinfo) -> Item:
        return cls(
            rank=rank, kind=item.kind, id=item.id, text=item.text, score=item.score, at=moment(item.at, zone), why=item.why,
            session=item.session, confidence=item.confidence, source=item.source, category=item.category,
            importance=item.importance, tier=item.tier, role=item.role, name=item.name, message_id=item.message_id,
        )  # fmt: skip


def items(found: Iterable[Found], zone: tzinfo) -> list[Item]:
    return [Item.of(item, rank, zone) for rank, item in enumerate(found, 1)]


class LeftOut(Shape):
    id: str
    because: str


class Recollection(Shape):
    query: str
    items: list[Item]
    terms: list[str]
    relaxed: str | None
    nothing_because: str | None
    dropped: list[LeftOut]
    trace: str | None

    @classmethod
    def of(cls, found: Recalled, zone: tzinfo) -> Recollection:
        return cls(
            query=found.query,
            items=items(found.items, zone),
            terms=list(found.terms),
            relaxed=found.relaxed or None,
            nothing_because=found.nothing_because or None,
            dropped=[LeftOut(id=name, because=reason) for name, reason in found.dropped],
            trace=found.trace_id or None,
        )


class Context(Shape):
    query: str
    text: str
    tokens: int
    items: list[Item]
    nothing_because: str | None
    trace: str | None

    @classmethod
    def of(cls, block: ContextBlock, query: str, zone: tzinfo) -> Context:
        return cls(
            query=query,
            text=block.text,
            tokens=block.tokens,
            items=items(block.items, zone),
            nothing_because=block.recollection.nothing_because or None,
            trace=block.trace_id or None,
        )


class Considered(Shape):
    id: str
    score: float
    parts: dict[str, float]
    why: str
    shown: bool

    @classmethod
    def of(cls, looked: Looked) -> Considered:
        return cls(id=looked.id, score=looked.score, parts=dict(looked.parts), why=looked.why, shown=looked.shown)


class Trace(Shape):
    id: str
    at: Moment
    verb: str
    query: str
    terms: list[str]
    limit: int
    kinds: list[str]
    considered: list[Considered]
    dropped: list[LeftOut]
    relaxed: str | None
    nothing_because: str | None

    @classmethod
    def of(cls, trace: Traced, zone: tzinfo) -> Trace:
        return cls(
            id=trace.id, at=moment(trace.at, zone), verb=trace.verb, query=trace.query, terms=list(trace.terms),
            limit=trace.limit, kinds=list(trace.kinds), considered=[Considered.of(c) for c in trace.considered],
            dropped=[LeftOut(id=left.id, because=left.reason) for left in trace.left_out],
            relaxed=trace.relaxed or None, nothing_because=trace.nothing_because or None,
        )  # fmt: skip


class Traces(Shape):
    traces: list[Trace]


class Account(Shape):
    id: str
    stage: Stage
    reason: str


class Explanation(Shape):
    trace: Trace
    account: Account | None

    @classmethod
    def of(cls, found: Explained, zone: tzinfo) -> Explanation:
        told = found.account
        account = None if told is None else Account(id=told.id, stage=told.stage, reason=told.reason)
        return cls(trace=Trace.of(found.trace, zone), account=account)


# ------------------------------------------------------------------ history


class Message(Shape):
    id: Annotated[str, Field(examples=["h17"])]
    message_id: str
    session: str
    role: Role
    name: str | None
    text: str
    at: Moment
    labels: dict[str, str]
    digest: bool

    @classmethod
    def of(cls, message: Turn, zone: tzinfo) -> Message:
        return cls(
            id=message_handle(message.seq), message_id=message.id, session=message.session, role=message.role,
            name=message.name, text=message.text, at=moment(message.at, zone), labels=dict(message.labels),
            digest=message.digest,
        )  # fmt: skip


def messages(turns: Iterable[Turn], zone: tzinfo) -> list[Message]:
    return [Message.of(turn, zone) for turn in turns]


class Messages(Shape):
    messages: list[Message]


class MessagePage(Page):
    messages: list[Message]


class Observed(Shape):
    """`ids`: of the messages as stored, those that were known already too; `new` counts the others."""

    ids: list[str]
    new: int
    paused: bool

    @classmethod
    def of(cls, stored: Stored) -> Observed:
        return cls(ids=[message_handle(m.seq) for m in stored.messages], new=stored.new, paused=stored.paused)


class Session(Shape):
    session: str
    first_at: Moment
    last_at: Moment
    messages: int

    @classmethod
    def of(cls, info: SessionInfo, zone: tzinfo) -> Session:
        return cls(
            session=info.session, first_at=moment(info.first_at, zone), last_at=moment(info.last_at, zone),
            messages=info.messages,
        )  # fmt: skip


class SessionPage(Page):
    sessions: list[Session]


class Point(Shape):
    kind: PointKind
    text: str
    message: str
    start: int
    end: int


class Summary(Shape):
    id: Annotated[str, Field(examples=["s3"])]
    session: str
    block: int | None
    text: str
    language: Language
    first_at: Moment
    last_at: Moment
    made_at: Moment
    method: str
    messages: list[str]
    points: list[Point]

    @classmethod
    def of(cls, summary: SessionSummary, zone: tzinfo) -> Summary:
        return cls(
            id=summary.id, session=summary.session, block=summary.block or None, text=summary.text,
            language=summary.language, first_at=moment(summary.first_at, zone), last_at=moment(summary.last_at, zone),
            made_at=moment(summary.made_at, zone), method=summary.method,
            messages=[message_handle(seq) for seq in summary.messages],
            points=[
                Point(kind=p.kind, text=p.text, message=message_handle(p.message), start=p.start, end=p.end)
                for p in summary.points
            ],
        )  # fmt: skip


class SummaryPage(Page):
    summaries: list[Summary]


class Ended(Shape):
    session: str
    summary: Summary | None


# ------------------------------------------------------------------ the user


class ProfileLine(Shape):
    text: str
    memory: MemoryId
    unverified: bool


class Profile(Shape):
    text: str
    lines: list[ProfileLine]
    left_out: int

    @classmethod
    def of(cls, profile: Rendered) -> Profile:
        lines = [ProfileLine(text=p.text, memory=p.memory.id, unverified=p.unverified) for p in profile.lines]
        return cls(text=profile.text, lines=lines, left_out=profile.left_out)


class Option(Shape):
    id: MemoryId
    text: str


class Question(Shape):
    id: Annotated[str, Field(examples=["q3"])]
    topic: Topic
    text: str
    options: list[Option]
    since: Moment
    language: Language

    @classmethod
    def of(cls, asked: Asked, zone: tzinfo) -> Question:
        return cls(
            id=asked.id, topic=asked.topic, text=asked.text, since=moment(asked.since, zone), language=asked.language,
            options=[Option(id=m.id, text=m.text) for m in asked.options],
        )  # fmt: skip


class Questions(Shape):
    questions: list[Question]


class Consent(Shape):
    given: bool
    notice: str
    at: Moment

    @classmethod
    def of(cls, consent: Consented | None, zone: tzinfo) -> Consent | None:
        if consent is None:
            return None
        return cls(given=consent.given, notice=consent.notice, at=moment(consent.at, zone))


class Retention(Shape):
    """`unread`: messages that no rules have read yet."""

    detail: str
    chosen_at: Moment | None
    paused_at: Moment | None
    consent: Consent | None
    unread: int

    @classmethod
    def of(cls, kept: Kept, zone: tzinfo) -> Retention:
        return cls(
            detail=kept.detail.value, chosen_at=when(kept.chosen_at, zone), paused_at=when(kept.paused_at, zone),
            consent=Consent.of(kept.consent, zone), unread=kept.unread,
        )  # fmt: skip


# ------------------------------------------------------------------ receipts and the ledger


class Side(Shape):
    text: str
    status: Status


class Change(Shape):
    id: MemoryId
    before: Side | None
    after: Side | None

    @classmethod
    def of(cls, change: Changed) -> Change:
        sides = [None if m is None else Side(text=m.text, status=m.status) for m in (change.before, change.after)]
        return cls(id=memory_id(change.seq), before=sides[0], after=sides[1])


class Standing(Shape):
    detail: str | None
    detail_at: Moment | None
    paused_at: Moment | None
    consent: Consent | None

    @classmethod
    def of(cls, standing: Stands, zone: tzinfo) -> Standing:
        return cls(
            detail=None if standing.detail is None else standing.detail.value,
            detail_at=when(standing.detail_at, zone),
            paused_at=when(standing.paused_at, zone),
            consent=Consent.of(standing.consent, zone),
        )


class Turned(Shape):
    before: Standing
    after: Standing

    @classmethod
    def of(cls, turn: StandingChange | None, zone: tzinfo) -> Turned | None:
        if turn is None:
            return None
        return cls(before=Standing.of(turn.before, zone), after=Standing.of(turn.after, zone))


class Impact(Shape):
    added: int
    altered: int
    ended: int
    removed: int
    confident_relations: int


class Receipt(Shape):
    """What a change did, or would do. `plan` is null when nothing had to change, and with `dry_run`."""

    verb: str
    plan: PlanId | None
    dry_run: bool
    paused: bool
    memories: list[Memory]
    changes: list[Change]
    standing: Turned | None
    why: list[str]
    impact: Impact

    @classmethod
    def fields_of(cls, done: Done, me: ScopedMemory, zone: tzinfo, *, dry_run: bool = False) -> dict[str, Any]:
        hit = done.impact
        return {
            "verb": done.verb.value,
            "plan": done.plan_id,
            "dry_run": dry_run,
            "paused": done.paused,
            "memories": memories(me, done.memories, zone),
            "changes": [Change.of(c) for c in done.plan.changes],
            "standing": Turned.of(done.plan.standing, zone),
            "why": reasons(done.plan),
            "impact": Impact(
                added=hit.added, altered=hit.altered, ended=hit.ended, removed=hit.removed,
                confident_relations=hit.confident_relations,
            ),
        }  # fmt: skip

    @classmethod
    def of(cls, done: Done, me: ScopedMemory, zone: tzinfo, *, dry_run: bool = False) -> Receipt:
        return cls(**cls.fields_of(done, me, zone, dry_run=dry_run))


def reasons(plan: Plan) -> list[str]:
    return [f"{j.verdict.value} ({j.rule})" + "".join(f"; {r}" for r in j.reasons) for j in plan.judgements]


class Copy(Shape):
    """A file that may still hold what was forgotten. Where it lies is the operator's affair: `jiyi doctor` says it."""

    kind: str
    at: Moment


class Proof(Shape):
    """What is kept of a forgetting: that, when and how much, never what."""

    number: int
    plan: PlanId | None
    at: Moment
    reach: str
    erased: dict[str, int]
    copies: list[Copy]
    verified_at: Moment | None
    returned: int

    @classmethod
    def of(cls, receipt: ForgettingReceipt, zone: tzinfo) -> Proof:
        return cls(
            number=receipt.number, plan=plan_id(receipt.plan) if receipt.plan else None, at=moment(receipt.at, zone),
            reach=receipt.reach.value, erased=dict(receipt.erased),
            copies=[Copy(kind=c.kind, at=moment(c.at, zone)) for c in receipt.copies],
            verified_at=when(receipt.verified_at, zone), returned=receipt.returned,
        )  # fmt: skip


class Forgotten(Receipt):
    proof: Proof

    @classmethod
    def of_erasure(cls, done: ForgetReceipt, me: ScopedMemory, zone: tzinfo, *, dry_run: bool) -> Forgotten:
        return cls(**cls.fields_of(done, me, zone, dry_run=dry_run), proof=Proof.of(done.proof, zone))


class Proofs(Shape):
    receipts: list[Proof]


class Entry(Shape):
    plan: PlanId
    verb: str
    at: Moment
    who: str
    surface: str
    reason: str
    undoes: PlanId | None
    forgotten: bool
    changes: list[Change]
    standing: Turned | None
    why: list[str]

    @classmethod
    def of(cls, entry: LedgerEntry, zone: tzinfo) -> Entry:
        plan = entry.plan
        return cls(
            plan=plan_id(entry.seq), verb=plan.verb.value, at=moment(plan.at, zone), who=plan.actor.who,
            surface=plan.actor.surface, reason=plan.reason,
            undoes=None if plan.undoes is None else plan_id(plan.undoes), forgotten=entry.forgotten,
            changes=[Change.of(c) for c in plan.changes], standing=Turned.of(plan.standing, zone), why=reasons(plan),
        )  # fmt: skip


class LedgerPage(Page):
    plans: list[Entry]


# ------------------------------------------------------------------ care


class Unsupported(Shape):
    id: MemoryId
    text: str
    kept_because: str | None


class Redistilled(Shape):
    dry_run: bool
    messages: int
    plans: list[str]
    changes: list[Change]
    unsupported: list[Unsupported]
    refused: str | None

    @classmethod
    def of(cls, found: ReadAgain, *, dry_run: bool) -> Redistilled:
        return cls(
            dry_run=dry_run, messages=found.messages, plans=list(found.plans),
            changes=[Change.of(c) for c in found.changes], refused=found.refused or None,
            unsupported=[
                Unsupported(id=u.memory.id, text=u.memory.text, kept_because=u.kept_because or None)
                for u in found.unsupported
            ],
        )  # fmt: skip


class Move(Shape):
    id: MemoryId
    before: Tier
    to: Tier | None
    low_activity: bool
    rule: str
    because: str


class Merged(Shape):
    into: MemoryId
    gone: list[str]


class Upkept(Shape):
    dry_run: bool
    looked_at: int
    moves: list[Move]
    merges: list[Merged]
    plans: list[str]

    @classmethod
    def of(cls, upkept: Moved) -> Upkept:
        return cls(
            dry_run=upkept.dry_run, looked_at=upkept.scanned, plans=list(upkept.plans),
            moves=[
                Move(
                    id=memory_id(m.seq), before=m.before, to=m.to, low_activity=m.low_activity, rule=m.rule, because=m.reason
                )
                for m in upkept.moves
            ],
            merges=[
                Merged(into=memory_id(m.into), gone=[memory_id(seq) for seq in m.gone]) for m in upkept.merges
            ],
        )  # fmt: skip


class Lag(Shape):
    """How far behind learning is; `oldest_at`: since when the oldest job waits."""

    waiting: int
    running: int
    dead: int
    oldest_at: Moment | None

    @classmethod
    def of(cls, counts: JobCounts, zone: tzinfo) -> Lag:
        return cls(
            waiting=counts.waiting, running=counts.running, dead=counts.dead, oldest_at=when(counts.oldest_at, zone)
        )


class Archive(Shape):
    messages: int
    memories: int
    plans: int
    exported_at: Moment
    unfinished: int
    dry_run: bool

    @classmethod
    def of(cls, found: Archived, zone: tzinfo, *, dry_run: bool) -> Archive:
        return cls(
            messages=found.messages, memories=found.memories, plans=found.plans,
            exported_at=moment(found.exported_at, zone), unfinished=found.unfinished, dry_run=dry_run,
        )  # fmt: skip


class DeadJob(Shape):
    id: int
    user: str
    kind: str
    attempts: int
    error: str
    died_at: Moment

    @classmethod
    def of(cls, job: Given, zone: tzinfo) -> DeadJob:
        return cls(
            id=job.id, user=job.scope.user, kind=job.kind, attempts=job.attempts, error=job.error,
            died_at=moment(job.died_at, zone),
        )  # fmt: skip


class DeadJobs(Shape):
    jobs: list[DeadJob]


class Users(Page):
    users: list[str]


class ForgottenUsers(Shape):
    dry_run: bool
    users: dict[str, Proof]

    @classmethod
    def of(cls, receipts: Mapping[str, ForgettingReceipt], zone: tzinfo, *, dry_run: bool) -> ForgottenUsers:
        return cls(dry_run=dry_run, users={user: Proof.of(r, zone) for user, r in receipts.items()})


class Caller(Shape):
    """Who calls, and whose memory that reaches."""

    proof: str
    who: str
    tenant: str
    user: str
    roles: list[str]
    rights: list[str]
