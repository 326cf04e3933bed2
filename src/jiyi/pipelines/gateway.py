"""The one door: every change of memory passes here as a plan (SPEC W1, W2, W4).

No other module calls `memories.write`, `ledger.append`, `ledger.erase`, `standings.set` or what restores an export; a test reads the source to make sure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

from jiyi.domain.belief import Observation, ended
from jiyi.domain.forgetting import Blotted, Copy, Erased, ForgettingReceipt, Reach, Remains
from jiyi.domain.memory import NO_LABELS, Memory, Message, Status, memory_id, plan_id
from jiyi.domain.plans import (
    WHILE_PAUSED,
    Actor,
    Change,
    GatewayPolicy,
    Impact,
    Plan,
    Verb,
    check_limit,
    impact,
    undo,
)
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Standing
from jiyi.errors import MemoryPaused, NotFound, PlanRefused
from jiyi.pipelines.archive import Archive
from jiyi.pipelines.forgetting import Erasure
from jiyi.pipelines.graph.view import GraphView
from jiyi.pipelines.indexing import Indexing, TextView
from jiyi.pipelines.merging import merged_into
from jiyi.pipelines.summaries import SummaryView
from jiyi.pipelines.tombstones import Tombs
from jiyi.pipelines.vectors import VectorView
from jiyi.ports import Kind, Unit, View

T = TypeVar("T")

SAID_NOW = frozenset({Verb.REMEMBER, Verb.CORRECT, Verb.ANSWER, Verb.PROFILE, Verb.UNITE, Verb.SPLIT, Verb.FORGET})
"""What the user says at this moment is said anew, whatever was forgotten before."""

UPKEEP = "upkeep"
"""Kind of the nightly job that looks for what is due; what changes a memory asks for it (SPEC O5)."""


@dataclass(frozen=True, slots=True)
class Left:
    """What retention leaves of a message: the cited words in their places, the digest of a span, or nothing."""

    message: Message
    text: str
    digest: bool = False

    def blotted(self) -> Blotted:
        """The message before and after. Who said a digest, and in which app, goes with the words."""
        after = replace(self.message, text=self.text, forgotten=not self.text, altered=True, digest=self.digest)
        own = self.text and not self.digest
        return Blotted(self.message, after if own else replace(after, name=None, labels=NO_LABELS))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a call did. `plan_id` is None when nothing had to change, or when the memory is `paused` and nothing was written."""

    verb: Verb
    plan_id: str | None
    plan: Plan
    impact: Impact
    paused: bool = False

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The live memories that the plan added or altered."""
        after = [c.after for c in self.plan.changes]
        return tuple(m for m in after if m is not None and m.status is Status.LIVE)

    @property
    def ended(self) -> tuple[Memory, ...]:
        """The memories that stopped being believed, as they were before."""
        return tuple(c.before for c in self.plan.changes if c.ends_belief and c.before is not None)

    @property
    def standing(self) -> Standing | None:
        """What the user decided about the memory as a whole, where the plan changed it."""
        return None if self.plan.standing is None else self.plan.standing.after


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt(Receipt):
    """What a forgetting did, or would do. `proof` is the part that is kept: counts, no words. Once it is done, `plan` holds
    only what changed in memories that stay. `seal` stands for what a preview shows: `forget(seal=…)` does that or nothing."""

    proof: ForgettingReceipt
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Applies plans. Holds no state but its policy.

    `views` is everything that is made from messages and memories, the text index first: forgetting reaches each of them.
    """

    indexing: Indexing
    policy: GatewayPolicy
    night: Callable[[datetime], datetime]
    graph: GraphView
    vectors: VectorView = field(default_factory=VectorView)
    more_views: tuple[View, ...] = ()

    @property
    def views(self) -> tuple[View, ...]:
        return (TextView(self.indexing), SummaryView(self.indexing), self.vectors, self.graph, *self.more_views)

    def preview(self, plan: Plan) -> Receipt:
        """What `apply` would answer, without doing it."""
        return Receipt(plan.verb, None, plan, impact(plan, self.policy))

    def preview_erasure(self, erasure: Erasure, copies: Sequence[Copy]) -> ForgetReceipt:
        """What `erase` would answer, without doing it."""
        plan = erasure.plan
        counts = {kind: n for kind, n in erasure.counts().items() if n}
        proof = ForgettingReceipt(0, 0, plan.at, erasure.horizon, erasure.reach, counts, tuple(copies))
        return ForgetReceipt(plan.verb, None, plan, impact(plan, self.policy), proof=proof)

    def nothing_while_paused(self, verb: Verb, actor: Actor, now: datetime) -> Receipt:
        """What is answered to whoever would add to a paused memory: nothing was written (SPEC C5)."""
        return replace(self.preview(Plan(verb, actor, now, "the memory is paused", ())), paused=True)

    def check_awake(self, unit: Unit, scope: Scope, verb: Verb) -> None:
        """Ask before a plan is made: making one may take numbers. Raises: MemoryPaused."""
        if verb not in WHILE_PAUSED and unit.standings.get(scope).paused:
            raise MemoryPaused(f"this {verb}")

    def apply(self, unit: Unit, scope: Scope, plan: Plan) -> Receipt:
        """Carry a plan out, all of it or nothing.

        A plan without changes is recorded only if a verdict refused something.

        Raises:
            MemoryPaused: the user paused this memory, and the plan is not about that.
            PlanRefused: over the limit of W1, or memory moved since the plan was made.
        """
        if plan.empty and not plan.judgements:
            return self.preview(plan)
        self.check_awake(unit, scope, plan.verb)
        check_limit(plan, self.policy)
        self._fence(unit, scope, plan)
        self._check_current(unit, scope, plan)
        unit.memories.write(scope, plan.changes)
        if plan.standing is not None:
            unit.standings.set(scope, plan.standing.after)
        self._reindex(unit, scope, plan)
        self.graph.follow(unit, scope, plan.changes)
        entry = unit.ledger.append(scope, plan)
        if plan.changes and plan.verb is not Verb.UPKEEP:
            unit.schedule.sooner(scope, UPKEEP, self.night(plan.at))
        return Receipt(plan.verb, plan_id(entry.seq), plan, impact(plan, self.policy))

    def expire(self, unit: Unit, scope: Scope, plan: Plan) -> Receipt:
        """Carry out a plan of the retention rules to remove memories for good (SPEC F3): the memories, their index, heat
        and every picture of them in the ledger. The messages they rested on are under a rule of their own (SPEC C5).

        It cannot be undone. What they had replaced points nowhere from now on.
        """
        self._check_current(unit, scope, plan)
        gone = {c.seq for c in plan.changes}
        left = [m for m in unit.memories.replaced_by(scope, gone) if m.seq not in gone]
        pointing = [Change(m, replace(ended(m, m.valid_to or plan.at), successor=None)) for m in left]
        whole = replace(plan, changes=(*plan.changes, *pointing))
        unit.memories.write(scope, whole.changes)
        self._reindex(unit, scope, plan)
        self.graph.follow(unit, scope, whole.changes)
        unit.ledger.erase(scope, gone | merged_into(unit, scope, gone))
        entry = unit.ledger.append(scope, replace(plan, changes=tuple(pointing)))
        return Receipt(plan.verb, plan_id(entry.seq), whole, impact(whole, self.policy))

    def undo(self, unit: Unit, scope: Scope, seq: int, actor: Actor, now: datetime) -> Receipt:
        """Take an applied plan back to the exact prior state (SPEC W2). An undo can itself be undone.

        Raises:
            NotFound: no such plan.
            PlanRefused: it forgot something, or later plans changed the same memories.
        """
        entry = unit.ledger.get(scope, seq)
        if entry is None:
            raise NotFound(f"no plan {plan_id(seq)} here: the ledger lists them", "plan")
        current = {m.seq: m for m in unit.memories.get(scope, [c.seq for c in entry.plan.changes])}
        return self.apply(unit, scope, undo(entry, current, actor, now, unit.standings.get(scope)))

    def erase(self, unit: Unit, scope: Scope, erasure: Erasure, copies: Sequence[Copy] = ()) -> ForgetReceipt:
        """Carry out a forgetting (SPEC F6): memories with their heat, words in messages, pictures in the ledger, all views,
        jobs in hand; then leave its tombstones and its receipt. The ledger keeps that something was forgotten, not what.

        Args:
            copies: the files known to hold what goes; they are listed in the receipt.

        Raises:
            PlanRefused: memory moved since it was planned.
        """
        plan = erasure.plan
        stored = {m.seq for m in unit.memories.get(scope, [c.seq for c in plan.changes])}
        changes = tuple(c for c in plan.changes if c.after is not None or c.seq in stored)
        self._check_current(unit, scope, replace(plan, changes=changes))
        unit.memories.write(scope, changes)
        self.graph.follow(unit, scope, [c for c in changes if c.after is not None])
        self._rewrite_messages(unit, scope, erasure.blots)
        erased = Erased(
            plan.at, erasure.blots, tuple(c.before for c in changes if c.after is None and c.before is not None)
        )
        counts = erasure.counts() | {view.name: view.erase(unit, scope, erased) for view in self.views}
        counts["ledger"] = self._forget_pictures(unit, scope, erasure)
        # A job that another process has in hand may have read what is gone now: it must not end.
        counts["jobs"] = (unit.jobs.drop if erasure.reach is Reach.EVERYTHING else self._recall(plan.at, unit))(scope)
        told = tuple(
            Change(erasure.of_picture(c.before), c.after)
            for c in changes
            if c.before is not None and c.after is not None and erasure.of_picture(c.before) != c.after
        )
        entry = unit.ledger.append(scope, replace(plan, changes=told))
        proof = self._prove(unit, scope, erasure, entry.seq, {kind: n for kind, n in counts.items() if n}, copies)
        # The plan as the ledger has it: a receipt that is kept somewhere must not hold what is gone.
        return ForgetReceipt(plan.verb, plan_id(entry.seq), entry.plan, impact(plan, self.policy), proof=proof)

    def trim(self, unit: Unit, scope: Scope, plan: Plan, left: Sequence[Left]) -> Receipt:
        """Take away for good what retention does not keep (SPEC C5, F3): the memories that the plan removes, with their
        pictures in the ledger, and of the messages all that is not left. The ledger keeps how much went, not what.
        """
        if plan.empty and not left:
            return self.preview(plan)
        self._check_current(unit, scope, plan)
        unit.memories.write(scope, plan.changes)
        if plan.standing is not None:
            unit.standings.set(scope, plan.standing.after)
        self.graph.follow(unit, scope, [c for c in plan.changes if c.after is not None])
        blots = tuple(one.blotted() for one in left)
        self._rewrite_messages(unit, scope, blots)
        gone = tuple(c.before for c in plan.changes if c.after is None and c.before is not None)
        for view in self.views:
            view.erase(unit, scope, Erased(plan.at, blots, gone))
        seqs = {m.seq for m in gone}
        unit.ledger.erase(scope, seqs | merged_into(unit, scope, seqs))
        staying = tuple(c for c in plan.changes if c.after is not None)
        entry = unit.ledger.append(scope, replace(plan, changes=staying))
        return Receipt(plan.verb, plan_id(entry.seq), plan, impact(plan, self.policy))

    def _rewrite_messages(self, unit: Unit, scope: Scope, blots: Sequence[Blotted]) -> None:
        """Where the segment that a model is to read began with a message that went, it begins with the next one left."""
        starts = {b.before.session: unit.segments.open_from(scope, b.before.session) for b in blots}
        unit.messages.rewrite(scope, [b.after for b in blots])
        for session, start in starts.items():
            if start is not None and unit.segments.open_from(scope, session) is None:
                rest = unit.messages.after_seq(scope, start - 1, unit.messages.last_seq(scope))
                if left := [m.seq for m in rest if m.session == session]:
                    unit.segments.open_at(scope, left[0])

    def _recall(self, now: datetime, unit: Unit) -> Callable[[Scope], int]:
        return lambda scope: unit.jobs.recall(scope, now)

    def _forget_pictures(self, unit: Unit, scope: Scope, erasure: Erasure) -> int:
        """Take what goes out of the ledger; gives the number of entries that held something of it."""
        before = unit.ledger.entries(scope)
        unit.ledger.erase(scope, erasure.gone)
        left = unit.ledger.entries(scope)
        cleaned = [erasure.of_entry(e) for e in left]
        unit.ledger.rewrite(scope, [new for new, old in zip(cleaned, left, strict=True) if new is not old])
        return sum(new != old for new, old in zip(cleaned, before, strict=True))

    def _prove(
        self, unit: Unit, scope: Scope, erasure: Erasure, plan: int, counts: Mapping[str, int], copies: Sequence[Copy]
    ) -> ForgettingReceipt:
        number = 1 + max((r.number for r in unit.forgotten.receipts(scope)), default=0)
        unit.forgotten.add(scope, [replace(t, receipt=number) for t in erasure.tombstones])
        at = erasure.plan.at
        proof = ForgettingReceipt(
            number, plan, at, erasure.horizon, erasure.reach, counts, tuple(copies), verified_at=at
        )
        unit.forgotten.write(scope, proof)
        return proof

    def carry(self, unit: Unit, scope: Scope, remains: Remains, erasing: Callable[[Unit], Erasure]) -> bool:
        """Take over what was forgotten in a later state of this scope, and forget it again here; false when all of it is
        known. `erasing` plans that, once the tombstones are in place.
        """
        known = {(t.mark, t.digest): t.at for t in unit.forgotten.tombstones(scope)}
        stones = [
            t
            for t in remains.tombstones
            if known.get((t.mark, t.digest), t.at) < t.at or (t.mark, t.digest) not in known
        ]
        receipts = unit.forgotten.receipts(scope)
        given = {(r.at, r.reach) for r in receipts}
        fresh = [r for r in remains.receipts if (r.at, r.reach) not in given]
        if not stones and not fresh:
            return False
        last = max((r.number for r in receipts), default=0)
        renumbered = {r.number: number for number, r in enumerate(fresh, last + 1)}
        unit.forgotten.add(scope, [replace(t, receipt=renumbered.get(t.receipt, t.receipt)) for t in stones])
        for receipt in fresh:
            unit.forgotten.write(scope, replace(receipt, number=renumbered[receipt.number]))
        erasure = erasing(unit)
        if not erasure.is_empty:
            self.erase(unit, scope, erasure)
        return True

    def note_verified(self, unit: Unit, scope: Scope, returned: int, now: datetime, *, whole: bool = True) -> None:
        """The receipts of a scope were verified. Where only a part was looked at, what had come back before still counts."""
        for receipt in unit.forgotten.receipts(scope):
            count = returned if whole else max(returned, receipt.returned)
            unit.forgotten.write(scope, replace(receipt, verified_at=now, returned=count))

    def note_copy(self, unit: Unit, scope: Scope | None, copy: Copy) -> None:
        """A backup or an export was made, which forgetting will not reach."""
        unit.forgotten.note_copy(scope, copy)

    def admit(self, unit: Unit, scope: Scope, observations: Iterable[Observation]) -> list[Observation]:
        """What may be learnt of these observations: nothing that was forgotten after it was said, nothing that rests on
        a message of which nothing is left. For whoever learns from old messages: distilling, again or for the first time.
        """
        tombs = Tombs(unit, scope, self.indexing.folding)
        found = [admitted for o in observations if (admitted := tombs.admit(o)) is not None]
        if tombs.horizon is None:
            return found
        gone = self._gone(unit, scope, {e.message for o in found for e in o.evidence})
        return [o for o in found if not any(e.message in gone for e in o.evidence)]

    def _gone(self, unit: Unit, scope: Scope, messages: Collection[int]) -> set[int]:
        there = {m.seq for m in unit.messages.get(scope, messages) if not m.forgotten}
        return set(messages) - there - {0}  # 0 stands for what was told without a message

    def _fence(self, unit: Unit, scope: Scope, plan: Plan) -> None:
        """The last fence: whoever made the plan, what was forgotten does not come back on words from before (SPEC F6)."""
        tombs = Tombs(unit, scope, self.indexing.folding)
        if tombs.horizon is None or plan.verb in SAID_NOW:
            return
        fresh = [c.after for c in plan.changes if c.after is not None and not tombs.is_free(c.after.affirmed_at)]
        back = [m.id for m in fresh if tombs.holds(m) or self._gone(unit, scope, {e.message for e in m.evidence})]
        if back:
            raise PlanRefused(
                f"{', '.join(back)} would bring back what was forgotten: only a new statement of the user can do that"
            )

    def restore(self, unit: Unit, scope: Scope, archive: Archive, now: datetime) -> None:
        """Bring an exported scope back exactly as it was (SPEC F7). Not a plan of its own: its ledger comes with it.

        Raises:
            PlanRefused: the scope holds something, or once did.
        """
        if unit.messages.last_seq(scope) or unit.memories.last_seq(scope) or unit.ledger.last_seq(scope):
            if unit.forgotten.receipts(scope) and not unit.memories.listing(scope, status=None, limit=1):
                raise PlanRefused(
                    f"what {scope} held was forgotten, and its numbers stay given out, so an export cannot come back there "
                    "exactly as it was: import it as a new user"
                )
            raise PlanRefused(
                f"{scope} already has a memory, and an export is never mixed into one: import it as a new user"
            )
        for messages in _chunks(archive.messages()):
            unit.messages.restore(scope, messages)
        for memories in _chunks(archive.memories()):
            unit.memories.write(scope, [Change(None, m) for m in memories])
        unit.memories.skip_to(scope, archive.numbers.memory)
        unit.memories.set_heat(scope, dict(archive.heats()))
        for summaries in _chunks(archive.summaries()):
            unit.summaries.write(scope, summaries)
        unit.summaries.skip_to(scope, archive.numbers.summary)
        for entries in _chunks(archive.entries()):
            unit.ledger.restore(scope, entries)
        unit.standings.set(scope, archive.standing())
        self.rebuild_views(unit, scope)
        unit.schedule.sooner(scope, UPKEEP, self.night(now))

    def rebuild_views(self, unit: Unit, scope: Scope) -> int:
        """Make every view of a scope again from messages and memories; gives the entries made."""
        return sum(view.rebuild(unit, scope) for view in self.views)

    def _check_current(self, unit: Unit, scope: Scope, plan: Plan) -> None:
        current = {m.seq: m for m in unit.memories.get(scope, [c.seq for c in plan.changes])}
        moved = [memory_id(c.seq) for c in plan.changes if current.get(c.seq) != c.before]
        if plan.standing is not None and unit.standings.get(scope) != plan.standing.before:
            moved.append("what is kept")
        if moved:
            raise PlanRefused(f"{', '.join(moved)} changed since this plan was made: look again and make a new one")

    def _reindex(self, unit: Unit, scope: Scope, plan: Plan) -> None:
        """Only what is searched by counts: a memory that merely ended keeps its terms, and its vector."""
        gone, come = [], []
        for change in plan.changes:
            before, after = change.before, change.after
            if before and after and (before.text, before.keywords) == (after.text, after.keywords):
                continue
            if before is not None:
                gone.append(self.indexing.memory(before))
            if after is not None:
                come.append(self.indexing.memory(after))
        unit.text.remove(scope, Kind.MEMORY, gone)
        unit.text.add(scope, Kind.MEMORY, come)
        self.vectors.outdated(unit, scope, Kind.MEMORY, [document.seq for document in gone])
        if come:
            self.vectors.request(unit, scope)


def _chunks(items: Iterator[T], size: int = 500) -> Iterator[list[T]]:
    while some := list(islice(items, size)):
        yield some
