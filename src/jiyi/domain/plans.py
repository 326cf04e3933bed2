"""Plans: every change of memory as data, before it happens (SPEC W1, W2).

A change is a pair of pictures of one memory, before and after. So the preview is the plan itself,
applying is writing the second pictures, undoing is the plan turned round, and the ledger read from
the start rebuilds every memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jiyi.domain.belief import Judgement
from jiyi.domain.memory import Memory, Status, memory_id
from jiyi.domain.standing import UNDECIDED, Standing, StandingChange
from jiyi.errors import InputError, PlanRefused


@dataclass(frozen=True, slots=True)
class Change:
    """`before is None`: added. `after is None`: removed. Both: altered."""

    before: Memory | None
    after: Memory | None

    def __post_init__(self) -> None:
        if self.before is None and self.after is None:
            raise InputError("a change needs a memory before or after it")
        if self.before is not None and self.after is not None and self.before.seq != self.after.seq:
            raise InputError("a change is about one memory")

    @property
    def seq(self) -> int:
        memory = self.after if self.after is not None else self.before
        assert memory is not None
        return memory.seq

    @property
    def ends_belief(self) -> bool:
        """A live memory stops being live."""
        was_live = self.before is not None and self.before.status is Status.LIVE
        return was_live and (self.after is None or self.after.status is not Status.LIVE)

    def reversed(self) -> Change:
        return Change(self.after, self.before)


class Verb(StrEnum):
    """What a plan is for; the user sees it in the ledger."""

    REMEMBER = "remember"
    DISTIL = "distil"
    REDISTIL = "redistil"
    CORRECT = "correct"
    ANSWER = "answer"
    FEEDBACK = "feedback"
    PROFILE = "profile"
    FORGET = "forget"
    UNDO = "undo"
    UPKEEP = "upkeep"
    MERGE = "merge"
    PATTERN = "pattern"
    UNITE = "unite"
    SPLIT = "split"
    RETENTION = "retention"
    PAUSE = "pause"
    RESUME = "resume"
    CONSENT = "consent"
    TRIM = "trim"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asked, and through which surface (SPEC W4)."""

    who: str = "user"
    surface: str = "library"


@dataclass(frozen=True, slots=True)
class Plan:
    """What would change, why, and on whose word. Nothing has happened yet."""

    verb: Verb
    actor: Actor
    at: datetime
    reason: str
    changes: tuple[Change, ...]
    judgements: tuple[Judgement, ...] = ()
    undoes: int | None = None
    standing: StandingChange | None = None

    @property
    def empty(self) -> bool:
        """Neither a memory nor the standing would change."""
        return not self.changes and self.standing is None


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A plan that was applied, with its number. Append-only.

    `forgotten` says that the pictures were erased because a memory in them was forgotten: the
    ledger keeps that something was forgotten, not what (SPEC F6).
    """

    seq: int
    plan: Plan
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class GatewayPolicy:
    # SPEC W1: more than 5 relations whose confidence when last affirmed was > 0.8 needs an administrator.
    max_confident_relations: int = 5
    confident: float = 0.8


@dataclass(frozen=True, slots=True)
class Impact:
    """What a plan would touch."""

    added: int
    altered: int
    ended: int
    removed: int
    confident_relations: int


# What the user does to their own memory, and the rules of retention, are exempt from the limit, not from the plan (SPEC
# W1). A merge ends no belief: what it takes away stands in the memory that stays (SPEC F4).
EXEMPT = frozenset({Verb.FORGET, Verb.UNDO, Verb.PROFILE, Verb.UPKEEP, Verb.MERGE, Verb.TRIM})
# What these took away is nowhere any more.
FINAL = frozenset({Verb.FORGET, Verb.TRIM})
# SPEC C5: nothing is written while paused, but for what the user does to the memory as a whole, and forgetting.
WHILE_PAUSED = frozenset({Verb.FORGET, Verb.TRIM, Verb.RETENTION, Verb.PAUSE, Verb.RESUME, Verb.CONSENT})


def impact(plan: Plan, policy: GatewayPolicy) -> Impact:
    added = sum(c.before is None for c in plan.changes)
    removed = sum(c.after is None for c in plan.changes)
    ended = sum(c.ends_belief and c.after is not None for c in plan.changes)
    confident = sum(
        c.ends_belief and c.before is not None and c.before.triple is not None and c.before.start > policy.confident
        for c in plan.changes
    )
    return Impact(added, len(plan.changes) - added - removed - ended, ended, removed, confident)


ADMIN = "admin"
"""Who may override the limit (SPEC W1, S2): the ledger names them."""


def check_limit(plan: Plan, policy: GatewayPolicy) -> None:
    """Refuse a plan that ends too much that we were sure of, unless an administrator says so.

    Raises:
        PlanRefused: more confident relations would end than the policy allows.
    """
    if plan.actor.who == ADMIN:
        return
    hit = impact(plan, policy).confident_relations
    if plan.verb not in EXEMPT and hit > policy.max_confident_relations:
        raise PlanRefused(
            f"this {plan.verb} would end {hit} relations we are sure of, the limit is {policy.max_confident_relations}: "
            "make it smaller, or let an administrator override it"
        )


def undo(
    entry: LedgerEntry, current: Mapping[int, Memory], actor: Actor, at: datetime, standing: Standing = UNDECIDED
) -> Plan:
    """The plan that takes `entry` back to the exact prior state.

    Args:
        current: what is stored now for the memories that the entry touched.
        standing: the scope's standing now.

    Raises:
        PlanRefused: it was a forgetting, was erased by one, or a later plan has since changed one of its memories.
    """
    turn = entry.plan.standing
    if entry.forgotten or entry.plan.verb in FINAL:
        raise PlanRefused(f"plan p{entry.seq} cannot be undone: what it held was forgotten for good")
    if entry.plan.empty:
        raise PlanRefused(f"plan p{entry.seq} changed nothing, so there is nothing to undo")
    moved = [memory_id(c.seq) for c in entry.plan.changes if current.get(c.seq) != c.after]
    if turn is not None and standing != turn.after:
        moved.append("what is kept (retention, pause or consent)")
    back = turn is None or standing == turn.before
    if moved and back and all(current.get(c.seq) == c.before for c in entry.plan.changes):
        raise PlanRefused(f"plan p{entry.seq} is undone already: things are as they were before it")
    if moved:
        raise PlanRefused(
            f"plan p{entry.seq} cannot be undone now: {', '.join(moved)} changed since. Undo the later plans first"
        )
    changes = tuple(c.reversed() for c in reversed(entry.plan.changes))
    taken_back = None if turn is None else turn.reversed()
    return Plan(Verb.UNDO, actor, at, f"undo of p{entry.seq}", changes, undoes=entry.seq, standing=taken_back)


def replay(entries: Sequence[LedgerEntry]) -> dict[int, Memory]:
    """The memories that the ledger adds up to, from empty."""
    memories: dict[int, Memory] = {}
    for entry in entries:
        for change in entry.plan.changes:
            if change.after is None:
                memories.pop(change.seq, None)
            else:
                memories[change.seq] = change.after
    return memories


def replay_standing(entries: Sequence[LedgerEntry]) -> Standing:
    """The standing that the ledger adds up to."""
    turns = [entry.plan.standing for entry in entries if entry.plan.standing is not None]
    return turns[-1].after if turns else UNDECIDED
