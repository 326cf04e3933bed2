"""The shapes of what changed memory: receipts, the ledger, care, and the users of a tenant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from pydantic import Field

from jiyi.domain.access import Access
from jiyi.domain.forgetting import ForgettingReceipt
from jiyi.domain.memory import Status, Tier, memory_id, plan_id
from jiyi.domain.plans import Change as Changed
from jiyi.domain.plans import LedgerEntry, Plan
from jiyi.domain.standing import Standing as Stands
from jiyi.domain.standing import StandingChange
from jiyi.pipelines.archive import Summary as Archived
from jiyi.pipelines.gateway import ForgetReceipt
from jiyi.pipelines.gateway import Receipt as Done
from jiyi.pipelines.redistil import Redistilled as ReadAgain
from jiyi.pipelines.upkeep import Upkept as Moved
from jiyi.ports import DeadJob as Given
from jiyi.ports import JobCounts
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.shapes import Consent, Memory, MemoryId, Moment, Page, PlanId, Shape, memories, moment, when

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


class Visitor(Shape):
    """`token` opens the memory of this visitor until `until`; then all of it is forgotten."""

    user: str
    token: str
    until: Moment


class Caller(Shape):
    """Who calls, and whose memory that reaches."""

    proof: str
    who: str
    tenant: str
    user: str
    roles: list[str]
    rights: list[str]
    shared: dict[str, Access] = Field(description="The shared memories that it opens, and what it may do there.")
