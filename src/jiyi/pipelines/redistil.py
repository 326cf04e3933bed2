"""Kept evidence is distilled again after rules, vocabulary or model changed (SPEC C13).

    read every message again ─▶ judge like new talk ─▶ GATEWAY         in batches, each a job that queues the next
    look for what the rules no longer find ─▶ one plan ─▶ GATEWAY      at the end

What a message says counts from when it was said, so an old statement never overrides a later one. What the user took back
stays taken back (SPEC B8), and what was forgotten is not there to be read. The same result again changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jiyi.domain.belief import Observation
from jiyi.domain.bitemporal import AsOf
from jiyi.domain.memory import Memory, Message, Status, message_handle, plan_id
from jiyi.domain.plans import Actor, Change, GatewayPolicy, Plan, Verb, check_limit
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Detail
from jiyi.errors import PlanRefused
from jiyi.pipelines.as_of import MemoriesThen, UnitThen
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.judging import Judging, Occasion
from jiyi.pipelines.retaining import Retaining
from jiyi.ports import Unit

REDISTIL = "redistil"
"""Kind of the job. The payload is `{"learn": seq, "upto": seq}`: messages are read from above `learn` up to `upto`, then
`{"check": seq, "found": [seq, …]}`: memories are looked at from above `check`; `found` are those without support so far. Last
`{"retire": [seq, …]}`."""

BATCH = 200
"""Messages, and memories, of one job: short transactions, so that others can write meanwhile."""

RULES = Actor("rules", "job")
_OWN_VERBS = frozenset({Verb.DISTIL, Verb.REDISTIL})


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A memory that no message of its evidence states any more. `kept_because` is empty when it is retired."""

    memory: Memory
    kept_because: str = ""


@dataclass(frozen=True, slots=True)
class Redistilled:
    """What distilling again did, or would do.

    `messages` were read. `changes` are the pictures of every memory that changes, retired ones included; `plans` the ids
    of the plans that did it, none in a preview. `refused` says why the gateway will not retire so much at once.
    """

    messages: int
    changes: tuple[Change, ...]
    unsupported: tuple[Unsupported, ...]
    plans: tuple[str, ...] = ()
    refused: str = ""

    @property
    def added(self) -> tuple[Memory, ...]:
        return tuple(c.after for c in self.changes if c.before is None and c.after is not None)

    @property
    def ended(self) -> tuple[Memory, ...]:
        """Memories that stop being believed because of what messages say; those without support are not among them."""
        return tuple(c.before for c in self.changes if c.ends_belief and c.after is not None and c.before is not None)

    @property
    def retired(self) -> tuple[Memory, ...]:
        return tuple(u.memory for u in self.unsupported if not u.kept_because)


@dataclass(frozen=True, slots=True)
class Redistiller:
    """What distilling again needs besides the store. `identity` names the rules, for telling when they changed."""

    retaining: Retaining
    judging: Judging
    gateway: Gateway
    identity: str

    # -------------------------------------------------------------- the job

    def begin(self, unit: Unit, scope: Scope, now: datetime) -> None:
        """Queue the first batch. What is said from now on is read by the new rules anyway."""
        unit.jobs.put(scope, REDISTIL, {"learn": 0, "upto": unit.messages.last_seq(scope)}, now)

    def run(self, unit: Unit, scope: Scope, payload: Mapping[str, Any], now: datetime) -> None:
        """One batch; the next is queued in the same transaction, so a crash between two loses and repeats nothing.

        Raises:
            PlanRefused: more would be retired than the gateway takes at once (SPEC W1). Nothing is retired.
        """
        if "learn" in payload:
            upto = int(payload["upto"])
            read = [m for m in unit.messages.after_seq(scope, int(payload["learn"]), BATCH) if m.seq <= upto]
            self._learn(unit, scope, read, now)
            following = {"learn": read[-1].seq, "upto": upto} if read else {"check": 0, "found": []}
            unit.jobs.put(scope, REDISTIL, following, now)
            return
        if "retire" in payload:
            # SPEC W1: all of it as one plan, so that rules gone wrong cannot empty a memory unseen.
            plan = _retiring(unit.memories.get(scope, [int(seq) for seq in payload["retire"]]), now)
            self.gateway.apply(unit, scope, plan)
            return
        found = [int(seq) for seq in payload["found"]]
        if memories := _after(unit, scope, int(payload["check"])):
            found += [u.memory.seq for u in self._unsupported(unit, scope, memories) if not u.kept_because]
            unit.jobs.put(scope, REDISTIL, {"check": memories[-1].seq, "found": found}, now)
            return
        unit.memories.mark_distilled_by(scope, self.identity)
        if found:
            unit.jobs.put(scope, REDISTIL, {"retire": found}, now)

    def _learn(self, unit: Unit, scope: Scope, messages: Sequence[Message], now: datetime) -> None:
        rejected = _rejected(unit, scope)
        for message in messages:
            plan = self._plan(unit, scope, message, rejected, now)
            if plan.changes:
                self.gateway.apply(unit, scope, plan)

    # -------------------------------------------------------------- the preview

    def preview(self, unit: Unit, scope: Scope, now: datetime) -> Redistilled:
        """What a run would do, without doing it: the same steps over a snapshot that takes the changes in."""
        trial, rejected = _Trial(unit, scope, self.gateway), _rejected(unit, scope)
        for message in _messages(unit, scope):
            trial.take_in(self._plan(trial, scope, message, rejected, now).changes)
        unsupported = self._unsupported(trial, scope, trial.memories.listing(scope))
        retiring = _retiring([u.memory for u in unsupported if not u.kept_because], now)
        refused = _refusal(retiring, self.gateway.policy)
        trial.take_in(() if refused else retiring.changes)
        return Redistilled(_count(unit, scope), trial.changes(), tuple(unsupported), refused=refused)

    def outcome(self, unit: Unit, scope: Scope, after: int, now: datetime) -> Redistilled:
        """What a run did, from the plans numbered above `after` that it left in the ledger."""
        entries = [e for e in unit.ledger.entries(scope, after=after) if e.plan.verb is Verb.REDISTIL]
        first: dict[int, Memory | None] = {}
        last: dict[int, Memory | None] = {}
        for change in (c for e in entries for c in e.plan.changes):
            first.setdefault(change.seq, change.before)
            last[change.seq] = change.after
        changes = _net(first, last)
        remaining = self._unsupported(unit, scope, unit.memories.listing(scope))
        stuck = _retiring([u.memory for u in remaining if not u.kept_because], now)
        retired = [Unsupported(c.before) for c in changes if c.before is not None and c.after is None]
        left = [u for u in remaining if u.kept_because]
        plans = tuple(plan_id(e.seq) for e in entries)
        return Redistilled(_count(unit, scope), changes, (*retired, *left), plans, _refusal(stuck, self.gateway.policy))

    # -------------------------------------------------------------- parts of both

    def _plan(
        self, unit: Unit, scope: Scope, message: Message, rejected: frozenset[tuple[int, str]], now: datetime
    ) -> Plan:
        """What a message states, judged; but for what the user took back, and what it has told a memory that ended since:
        that is history, and no second statement."""
        stated = self.retaining.read(unit, scope, message, self.retaining.detail(unit, scope))
        read = [o for o in stated if (message.seq, o.value) not in rejected]
        # The same entrance as for new talk: what was forgotten, what echoes and what instructs stays out.
        told = self.retaining.admit(unit, scope, message, read).observations
        resting = unit.memories.resting_on(scope, [message.seq]).get(message.seq, ()) if told else ()
        holders: dict[tuple[str, str, bool], bool] = {}
        for memory in unit.memories.get(scope, resting):
            identity = (memory.key, memory.value, _negated(memory))
            holders[identity] = holders.get(identity, False) or memory.status in (Status.LIVE, Status.HELD)
        news = [o for o in told if holders.get(_identity(o), True)]
        return self.judging.all(unit, scope, news, _occasion(message, now))

    def _unsupported(self, unit: Unit, scope: Scope, memories: Sequence[Memory]) -> list[Unsupported]:
        """Those of live memories that rest on messages in which the rules of now do not find them."""
        seqs = {e.message for m in memories for e in m.evidence if e.message}
        evidence = {m.seq: m for m in unit.messages.get(scope, seqs)}
        # SPEC C5: what only a fuller detail keeps was kept while that one held.
        states = {
            seq: {_identity(o) for o in self.retaining.read(unit, scope, m, Detail.EVERYTHING)}
            for seq, m in evidence.items()
        }
        found = []
        for memory in memories:
            resting = {e.message for e in memory.evidence if e.message}
            stated = any((memory.key, memory.value, _negated(memory)) in states.get(seq, ()) for seq in resting)
            if memory.status is Status.LIVE and resting and not stated:
                readable = all(seq in evidence and not evidence[seq].altered for seq in resting)
                found.append(Unsupported(memory, _kept_because(unit, scope, memory, readable=readable)))
        return found


# ------------------------------------------------------------------ small parts


class _Trial(UnitThen):
    """A snapshot that takes changes in without writing them, so that each step sees those before it."""

    def __init__(self, unit: Unit, scope: Scope, gateway: Gateway) -> None:
        super().__init__(unit, scope, AsOf(), gateway.indexing)
        self._trial = _TrialMemories(unit, scope)
        self._first: dict[int, Memory | None] = {}

    @property
    def memories(self) -> _TrialMemories:
        return self._trial

    def take_in(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._first.setdefault(change.seq, change.before)
            self._trial.take_in(change)

    def changes(self) -> tuple[Change, ...]:
        return _net(self._first, self._trial.held)


class _TrialMemories(MemoriesThen):
    def __init__(self, unit: Unit, scope: Scope) -> None:
        super().__init__(unit, scope, AsOf())
        self.held = dict(self.pictures)
        self.pictures = self._seen = self.held
        self._stored, self._last = unit.memories, unit.memories.last_seq(scope)
        self._changed: set[int] = set()

    def take_in(self, change: Change) -> None:
        self._changed.add(change.seq)
        if change.after is None:
            self.held.pop(change.seq, None)
        else:
            self.held[change.seq] = change.after

    def next_seq(self, scope: Scope) -> int:
        self._last += 1
        return self._last

    # From the store's indexes where nothing changed: these two are asked for every statement.

    def believed(self, scope: Scope, keys: Collection[str] = (), values: Collection[str] = ()) -> list[Memory]:
        found = [m for m in self._stored.believed(scope, keys, values) if m.seq not in self._changed]
        changed = (self.held[seq] for seq in self._changed if seq in self.held)
        found += [m for m in changed if (m.key in keys if m.key else m.value in values)]
        return sorted(found, key=lambda m: m.seq)

    def resting_on(self, scope: Scope, message_seqs: Collection[int]) -> dict[int, list[int]]:
        stored = self._stored.resting_on(scope, message_seqs)
        resting = {message: [s for s in seqs if s not in self._changed] for message, seqs in stored.items()}
        for seq in self._changed & self.held.keys():
            for message in {e.message for e in self.held[seq].evidence if e.tells}.intersection(message_seqs):
                resting[message] = sorted([*resting.get(message, ()), seq])
        return resting


def _net(first: Mapping[int, Memory | None], last: Mapping[int, Memory | None]) -> tuple[Change, ...]:
    """Each memory as it was before the first change and as it is after the last; what is as it was is left out."""
    return tuple(Change(before, last.get(seq)) for seq, before in first.items() if before != last.get(seq))


def _messages(unit: Unit, scope: Scope) -> Iterator[Message]:
    seq = 0
    while some := unit.messages.after_seq(scope, seq, BATCH):
        yield from some
        seq = some[-1].seq


def _count(unit: Unit, scope: Scope) -> int:
    return sum(s.messages for s in unit.messages.sessions(scope, unit.messages.last_seq(scope) + 1))


def _after(unit: Unit, scope: Scope, seq: int) -> list[Memory]:
    """The next memories of any status above a number; numbers whose memory is gone are stepped over."""
    last = unit.memories.last_seq(scope)
    while seq < last:
        if found := unit.memories.get(scope, range(seq + 1, seq + BATCH + 1)):
            return found
        seq += BATCH
    return []


def _occasion(message: Message, now: datetime) -> Occasion:
    reason = f"said in {message_handle(message.seq)}, session {message.session}; distilled again"
    return Occasion(Verb.REDISTIL, RULES, now, reason)


def _retiring(memories: Sequence[Memory], now: datetime) -> Plan:
    changes = tuple(Change(m, None) for m in memories if m.status is Status.LIVE)
    return Plan(Verb.REDISTIL, RULES, now, "no message states this by the rules of now", changes)


def _refusal(plan: Plan, policy: GatewayPolicy) -> str:
    try:
        check_limit(plan, policy)
    except PlanRefused as refused:
        return str(refused)
    return ""


def _rejected(unit: Unit, scope: Scope) -> frozenset[tuple[int, str]]:
    """Message and value of what the user took back: by correcting it, or by undoing the plan that learnt it (SPEC B8)."""
    rejected: dict[int, Memory] = {}
    for entry in unit.ledger.entries(scope):
        for change in entry.plan.changes:
            before, after = change.before, change.after
            if after is None:
                undone = entry.plan.verb is Verb.UNDO
            else:
                undone = after.status is Status.RETRACTED and entry.plan.verb is not Verb.REDISTIL
            if undone and before is not None:
                rejected[change.seq] = before
            else:
                rejected.pop(change.seq, None)
    return frozenset((e.message, m.value) for m in rejected.values() for e in m.evidence)


def _kept_because(unit: Unit, scope: Scope, memory: Memory, *, readable: bool) -> str:
    """Why a memory without support stays all the same; empty when nobody but the rules ever spoke for it."""
    if not readable:
        return "part of what was said was forgotten, so it cannot be read again"
    if memory.kept:
        return "the user asked to keep it"
    entries = unit.ledger.about(scope, memory.seq)
    told = any(not e.message for e in memory.evidence)
    if told or any(e.plan.verb not in _OWN_VERBS or e.plan.actor.who != RULES.who for e in entries):
        return "more than the rules speaks for it"
    if older := [
        m.id for m in unit.memories.believed(scope, [memory.key] if memory.key else ()) if m.successor == memory.seq
    ]:
        return f"it took the place of {', '.join(older)}"
    return ""


def _identity(observation: Observation) -> tuple[str, str, bool]:
    return observation.key, observation.value, observation.negated


def _negated(memory: Memory) -> bool:
    return memory.triple is not None and memory.triple.negated
