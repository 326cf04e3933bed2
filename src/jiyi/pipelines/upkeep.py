"""Upkeep: a memory is gone through in batches; what the rules of F2 and F3 say is due is done, and what says the same is
merged (SPEC F4).

    narrow rows ─▶ next_move ─▶ left alone what was taken back ─▶ one plan to move, one to erase ─▶ GATEWAY ─▶ next batch
        └▶ the hottest ─▶ what says the same ─▶ one plan to merge each ────────────────────────▶ ┘    └ at the end: when to come again

Each batch is one transaction. Where it ended stands in the payload of the next job, so a kill costs one batch at most,
and doing one twice changes nothing the second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from jiyi.domain.belief import Judgement, Verdict
from jiyi.domain.encoding import instant, optional_micros
from jiyi.domain.merging import Merge, nominees
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Detail
from jiyi.domain.tiers import Aging, Move, TierPolicy, moved, next_due, outlook
from jiyi.pipelines.gateway import UPKEEP, Gateway, Receipt
from jiyi.pipelines.graph.patterns import Noticing
from jiyi.pipelines.merging import Merging
from jiyi.pipelines.retaining import Retaining
from jiyi.ports import Store, Unit
from jiyi.settings import UpkeepPolicy

Look: TypeAlias = tuple[Move | None, datetime | None]
"""What is due for a memory now, and when something is next."""
RULES = Actor("rules", "job")


@dataclass(frozen=True, slots=True)
class Step:
    """One batch. `last` is the number it ended with, None when it was the last batch; `due` is when the earliest of its
    memories has to be looked at again, as far as silence goes."""

    scanned: int
    last: int | None
    due: datetime | None
    moves: tuple[Move, ...] = ()
    merges: tuple[Merge, ...] = ()
    receipts: tuple[Receipt, ...] = ()


@dataclass(frozen=True, slots=True)
class Upkept:
    """What upkeep did, or with `dry_run` would do, to one user's memory. `patterns`: what counting changed (SPEC G5)."""

    scanned: int
    moves: tuple[Move, ...]
    merges: tuple[Merge, ...]
    plans: tuple[str, ...]
    dry_run: bool = False
    patterns: tuple[Receipt, ...] = ()


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What upkeep needs besides the store; with `noticing` patterns are counted whenever the whole of a memory is gone
    through. Under `minimal` nothing is archived: what goes is erased (SPEC F3)."""

    gateway: Gateway
    merging: Merging
    retaining: Retaining
    tiers: TierPolicy
    policy: UpkeepPolicy
    noticing: Noticing | None = None

    def step(
        self, unit: Unit, scope: Scope, after: int, now: datetime, *, actor: Actor = RULES, dry_run: bool = False
    ) -> Step:
        """Look at the memories numbered above `after`, one batch of them, and do what is due."""
        if not dry_run:
            self.gateway.check_awake(unit, scope, Verb.UPKEEP)
        known = unit.memories.aging(scope, after, self.policy.batch)
        at_once = self.retaining.detail(unit, scope) is Detail.MINIMAL
        looks = [outlook(m, now, self.tiers, at_once=at_once) for m in known]
        wanted = {move.seq: move for move, _ in looks if move is not None}
        held = self._left_alone(unit, scope, wanted, now)
        moves = tuple(move for seq, move in wanted.items() if seq not in held)
        plans = self._plans(unit, scope, moves, now, actor)
        receipts = [self.gateway.preview(plan) if dry_run else self._carry_out(unit, scope, plan) for plan in plans]
        if at_once and not dry_run:
            receipts += [self._trim(unit, scope, plan) for plan in plans if plan.verb is Verb.FORGET]
        merges = list(self._merge(unit, scope, known, now, actor, dry_run=dry_run))
        return Step(
            scanned=len(known),
            last=known[-1].seq if len(known) == self.policy.batch else None,
            due=self._due(known, looks, held, now),
            moves=moves,
            merges=tuple(_merge_of(receipt) for receipt in merges),
            receipts=(*receipts, *merges),
        )

    def job(self, unit: Unit, scope: Scope, payload: Mapping[str, Any], now: datetime) -> None:
        """One batch as a job: the next one is queued behind what waits already, the last one asks to be woken again."""
        step = self.step(unit, scope, int(payload.get("after", 0)), now)
        before = payload.get("due")
        due = earliest([step.due, None if before is None else instant(before)])
        if step.last is not None:
            unit.jobs.put(scope, UPKEEP, {"after": step.last, "due": optional_micros(due)}, now)
        else:
            self.come_again(unit, scope, due, now)

    def come_again(self, unit: Unit, scope: Scope, due: datetime | None, now: datetime) -> None:
        """The next night on which there may be something to do; none when silence moves nothing any more."""
        if due is not None:
            unit.schedule.sooner(scope, UPKEEP, self.gateway.night(max(due, now)))

    # -------------------------------------------------------------- parts

    def _left_alone(self, unit: Unit, scope: Scope, wanted: Mapping[int, Move], now: datetime) -> dict[int, datetime]:
        """What somebody took back from upkeep, and until when it is not tried again."""
        undone = unit.ledger.undone(scope, Verb.UPKEEP, wanted.keys())
        until = {seq: at + self.tiers.left_alone for seq, at in undone.items()}
        return {seq: at for seq, at in until.items() if at > now}

    def _plans(self, unit: Unit, scope: Scope, moves: Iterable[Move], now: datetime, actor: Actor) -> list[Plan]:
        by_seq = {move.seq: move for move in moves}
        memories = unit.memories.get(scope, by_seq.keys())
        plans = []
        for verb, goes in ((Verb.UPKEEP, False), (Verb.FORGET, True)):
            chosen = [(m, by_seq[m.seq]) for m in memories if (by_seq[m.seq].to is None) is goes]
            if chosen:
                changes = tuple(Change(m, None if goes else moved(m, move, now)) for m, move in chosen)
                told = tuple(Judgement(Verdict.MOVE, move.rule, (move.words,), same=m.seq) for m, move in chosen)
                plans.append(
                    Plan(verb, actor, now, "erased by the rules" if goes else "moved by the rules", changes, told)
                )
        return plans

    def _merge(
        self, unit: Unit, scope: Scope, known: Sequence[Aging], now: datetime, actor: Actor, *, dry_run: bool
    ) -> Iterator[Receipt]:
        seen = set[int]()
        for seq in nominees(known, now, self.merging.policy, self.merging.heat):
            plan = None if seq in seen else self.merging.plan(unit, scope, seq, now, actor)
            if plan is None:
                continue
            seen |= {c.seq for c in plan.changes}
            if dry_run:
                yield self.gateway.preview(plan)
            else:
                self.merging.join_heat(unit, scope, plan, now)
                yield self.gateway.apply(unit, scope, plan)

    def _carry_out(self, unit: Unit, scope: Scope, plan: Plan) -> Receipt:
        return (self.gateway.expire if plan.verb is Verb.FORGET else self.gateway.apply)(unit, scope, plan)

    def _trim(self, unit: Unit, scope: Scope, erased: Plan) -> Receipt:
        """SPEC C5: of a message of which only cited words were left, those go that no memory cites any more."""
        seqs = {e.message for c in erased.changes if c.before is not None for e in c.before.evidence}
        trimmed = [m for m in unit.messages.get(scope, seqs) if m.altered]
        return self.gateway.trim(unit, scope, *self.retaining.trimming(unit, scope, trimmed, erased.actor, erased.at))

    def _due(
        self, known: Sequence[Aging], looks: Iterable[Look], held: Mapping[int, datetime], now: datetime
    ) -> datetime | None:
        dues = [*held.values()]
        for memory, (move, due) in zip(known, looks, strict=True):
            if move is not None and move.seq not in held:
                due = None if move.to is None else next_due(moved(memory, move, now), now, self.tiers)
            if due is not None:
                dues.append(due)
        return min(dues, default=None)


def _merge_of(receipt: Receipt) -> Merge:
    [told] = receipt.plan.judgements
    assert told.same is not None
    return Merge(told.same, told.ends)


def keep_up(
    store: Store, scope: Scope, upkeep: Upkeep, actor: Actor, now: datetime, *, dry_run: bool = False
) -> Upkept:
    """Go through the whole of one memory, a transaction a batch, and count its patterns; with `dry_run` only look."""
    after: int | None = 0
    scanned, due = 0, None
    moves, merges, plans = list[Move](), list[Merge](), list[str]()
    while after is not None:

        def work(unit: Unit, after: int = after) -> Step:
            return upkeep.step(unit, scope, after, now, actor=actor, dry_run=dry_run)

        step = store.view(work) if dry_run else store.write(work)
        scanned, after, due = scanned + step.scanned, step.last, earliest([due, step.due])
        moves += step.moves
        merges += step.merges
        plans += [receipt.plan_id for receipt in step.receipts if receipt.plan_id is not None]
    counted = _count(store, scope, upkeep.noticing, actor, now, dry_run=dry_run)
    plans += [receipt.plan_id for receipt in counted if receipt.plan_id is not None]
    if not dry_run:
        store.write(lambda unit: _done_for_today(unit, scope, upkeep, due, now))
    return Upkept(scanned, tuple(moves), tuple(merges), tuple(plans), dry_run, tuple(counted))


def _count(
    store: Store, scope: Scope, noticing: Noticing | None, actor: Actor, now: datetime, *, dry_run: bool
) -> list[Receipt]:
    if noticing is None:
        return []
    if not dry_run:
        return store.write(lambda unit: noticing.run(unit, scope, now, actor=actor))
    return store.view(lambda unit: noticing.run(unit, scope, now, actor=actor, dry_run=True))


def _done_for_today(unit: Unit, scope: Scope, upkeep: Upkeep, due: datetime | None, now: datetime) -> None:
    waiting = unit.schedule.get(scope, UPKEEP)
    if waiting is not None and waiting <= now:
        unit.schedule.drop(scope, UPKEEP)
    upkeep.come_again(unit, scope, due, now)


def earliest(instants: Iterable[datetime | None]) -> datetime | None:
    return min((at for at in instants if at is not None), default=None)
