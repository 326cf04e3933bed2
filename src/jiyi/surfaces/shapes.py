"""What services answer: the shapes of everything that a caller gets, for HTTP and whatever else speaks JSON.

The keys are those of the command line's `--json`. Instants are ISO 8601 in the user's zone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from jiyi.domain.encoding import version_of
from jiyi.domain.memory import Category, Language, Role, Source, Status, Tier, memory_id, message_handle
from jiyi.domain.memory import Memory as Remembered
from jiyi.domain.memory import Message as Turn
from jiyi.domain.profile import Profile as Rendered
from jiyi.domain.questions import Question as Asked
from jiyi.domain.questions import Topic
from jiyi.domain.standing import Consent as Consented
from jiyi.domain.summary import PointKind, SessionSummary
from jiyi.domain.traces import Considered as Looked
from jiyi.domain.traces import Trace as Traced
from jiyi.pipelines.context import ContextBlock
from jiyi.pipelines.explaining import Explanation as Explained
from jiyi.pipelines.explaining import Stage
from jiyi.pipelines.observe import Observed as Stored
from jiyi.pipelines.recalling.items import Item as Found
from jiyi.pipelines.recalling.items import Recollection as Recalled
from jiyi.pipelines.retention import Retention as Kept
from jiyi.ports import SessionInfo
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


Shared = Annotated[str | None, Field(description="The shared memory that it, and its id, is of.", examples=["team"])]


class Item(Shape):
    rank: int
    kind: str
    id: str
    shared: Shared
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
            rank=rank, kind=item.kind, id=item.id, shared=item.shared, text=item.text, score=item.score,
            at=moment(item.at, zone), why=item.why, session=item.session, confidence=item.confidence, source=item.source, category=item.category,
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
    always: list[str]

    @classmethod
    def of(cls, trace: Traced, zone: tzinfo) -> Trace:
        return cls(
            id=trace.id, at=moment(trace.at, zone), verb=trace.verb, query=trace.query, terms=list(trace.terms),
            limit=trace.limit, kinds=list(trace.kinds), considered=[Considered.of(c) for c in trace.considered],
            dropped=[LeftOut(id=left.id, because=left.reason) for left in trace.left_out],
            relaxed=trace.relaxed or None, nothing_because=trace.nothing_because or None, always=list(trace.always),
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
    shared: Shared


class Profile(Shape):
    text: str
    lines: list[ProfileLine]
    left_out: int

    @classmethod
    def of(cls, profile: Rendered) -> Profile:
        lines = [
            ProfileLine(text=p.text, memory=p.memory.id, unverified=p.unverified, shared=p.shared)
            for p in profile.lines
        ]
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
