"""From observations to one plan: each is judged against what is believed, the ones before it included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count

from jiyi.domain.belief import (
    Judgement,
    Observation,
    Verdict,
    claim_of,
    rival_keys,
    settled,
    statements_of_observation,
    unsettled,
    weigh,
)
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Memory, Mode, Status
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.refining import Refining
from jiyi.domain.relations import Vocabulary, fact_key, render
from jiyi.domain.revision import retracted, revise
from jiyi.domain.scope import Scope
from jiyi.domain.settling import ArbitrationPolicy
from jiyi.domain.tiers import TierPolicy, judged
from jiyi.errors import PlanRefused
from jiyi.ports import Unit


@dataclass(frozen=True, slots=True)
class Occasion:
    """On what occasion observations are judged: goes into the ledger."""

    verb: Verb
    actor: Actor
    now: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Edited:
    """What the user changed of what is remembered. `wrong`: they reject it. `corrected`: with what is right instead.
    `said`: declared anew. `disputed`: said of what has changed meanwhile. `doubted`: rejected, but it has changed."""

    wrong: tuple[Memory, ...] = ()
    corrected: tuple[tuple[Memory, Observation], ...] = ()
    said: tuple[Observation, ...] = ()
    disputed: tuple[Observation, ...] = ()
    doubted: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """What judging needs besides what was said and what is believed."""

    vocabulary: Vocabulary
    confidence: ConfidencePolicy
    arbitration: ArbitrationPolicy
    tiers: TierPolicy
    refining: Refining

    def all(self, unit: Unit, scope: Scope, observations: Sequence[Observation], occasion: Occasion) -> Plan:
        """One plan for what was said together. A memory that several observations touch changes once."""
        beliefs = _Beliefs(unit, scope, self.tiers)
        judgements = [self._one(beliefs, observation, occasion.now) for observation in observations]
        return _plan(occasion, beliefs, judgements)

    def correction(self, unit: Unit, scope: Scope, wrong: Memory, observation: Observation, occasion: Occasion) -> Plan:
        """The user says that this very memory is wrong and what is right (SPEC B3): it ends, whatever it was about."""
        beliefs = _Beliefs(unit, scope, self.tiers)
        return _plan(occasion, beliefs, [self._corrected(beliefs, wrong, observation, occasion.now)])

    def edited(self, unit: Unit, scope: Scope, edited: Edited, occasion: Occasion, *, dry_run: bool = False) -> Plan:
        """The user went over what is remembered, and this is what they changed, as one plan (SPEC B7).

        Args:
            dry_run: plan it in a unit for reading; numbers of new memories are those that would come next.
        """
        beliefs, now = _Beliefs(unit, scope, self.tiers, dry_run=dry_run), occasion.now
        judgements = [_rejection(edited.wrong)] if edited.wrong else []
        beliefs.note([Change(m, retracted(m, max(now, m.affirmed_at), now)) for m in edited.wrong])
        self._settle_again(beliefs, edited.wrong, now)
        for wrong, observation in edited.corrected:
            current = beliefs.current(wrong) or wrong
            if current.status is Status.LIVE and _says_the_same(observation, current):
                judgements.append(self._reworded(beliefs, current, observation, now))
            else:
                judgements.append(self._corrected(beliefs, wrong, observation, now))
        judgements += [self._one(beliefs, observation, now) for observation in edited.said]
        judgements += [self._disputed(beliefs, observation, now) for observation in edited.disputed]
        for memory in edited.doubted:
            self._doubt(beliefs, beliefs.current(memory))
        return _plan(occasion, beliefs, judgements)

    def decision(
        self, unit: Unit, scope: Scope, wrong: Sequence[Memory], said: Sequence[Observation], occasion: Occasion
    ) -> Plan:
        """The user settles a matter: these are wrong, and this is so (SPEC B8, B9)."""
        beliefs = _Beliefs(unit, scope, self.tiers)
        judgements = [_rejection(wrong)] if wrong else []
        beliefs.note([Change(m, retracted(m, max(occasion.now, m.affirmed_at), occasion.now)) for m in wrong])
        self._settle_again(beliefs, wrong, occasion.now)
        judgements += [self._one(beliefs, observation, occasion.now) for observation in said]
        return _plan(occasion, beliefs, judgements)

    def _settle_again(self, beliefs: _Beliefs, rejected: Sequence[Memory], now: datetime) -> None:
        """What waited only because of what was rejected is believed now (SPEC B4, B8)."""
        for memory in rejected:
            if memory.triple is None:
                continue
            relation = self.vocabulary.get(memory.triple.relation)
            about = Observation(
                memory.text,
                memory.category,
                memory.importance,
                memory.source,
                memory.start,
                now,
                memory.value,
                memory.triple,
            )
            believed = beliefs.about(about, relation.antonym if relation else None)
            finer = self.refining.of(relation)
            settlement = settled(about, believed, relation, self.confidence, self.arbitration, finer)
            seqs = beliefs.new_seqs()
            beliefs.note(revise(about, settlement, believed, seqs, now, "", self.confidence, self.arbitration))

    def check_consistent(self, unit: Unit, scope: Scope, undoing: Plan) -> None:
        """An undo brings things back as they were; what was learnt since must not contradict them, nor say them again.

        Raises:
            PlanRefused: it does; the undo has to be rolled back.
        """
        for change in undoing.changes:
            memory = change.after
            if memory is None or memory.status is not Status.LIVE or memory.triple is None:
                continue
            beside = unit.memories.of_keys(scope, rival_keys(memory, self.vocabulary))
            same = [
                m for m in beside if m.seq != memory.seq and claim_of(m) == claim_of(memory) and m.key == memory.key
            ]
            against = [m for m in beside if unsettled(memory, m, self.vocabulary)]
            if same or against:
                raise PlanRefused(
                    f"undoing p{undoing.undoes} would make {memory.id} stand beside {(against + same)[0].id}, which was learnt "
                    "since: undo that first, or say what is right"
                )

    def unasked(self, unit: Unit, scope: Scope, memories: Sequence[Memory], occasion: Occasion) -> Plan:
        """The user was asked about these and does not want to decide."""
        changes = tuple(Change(m, replace(m, unasked=True)) for m in memories if not m.unasked)
        return Plan(occasion.verb, occasion.actor, occasion.now, occasion.reason, changes)

    def _one(self, beliefs: _Beliefs, observation: Observation, now: datetime) -> Judgement:
        relation = self.vocabulary.get(observation.triple.relation) if observation.triple else None
        believed = beliefs.about(observation, relation.antonym if relation else None)
        finer = self.refining.of(relation)
        settlement = weigh(observation, believed, relation, self.confidence, self.arbitration, finer)
        old_text, seqs = _old_text(observation, self.vocabulary), beliefs.new_seqs()
        beliefs.note(revise(observation, settlement, believed, seqs, now, old_text, self.confidence, self.arbitration))
        return settlement.judgement

    def _corrected(self, beliefs: _Beliefs, wrong: Memory, observation: Observation, now: datetime) -> Judgement:
        # It was said after whatever it corrects, also where a clock was set back.
        at = max(observation.at, wrong.affirmed_at)
        observation = replace(observation, mode=Mode.CORRECTION, at=at)
        if observation.key == wrong.key and observation.value == wrong.value:
            return Judgement(Verdict.CORROBORATE, "known-already", (f"says what {wrong.id} says",), same=wrong.seq)
        if wrong.triple is not None and observation.key == wrong.key and not wrong.triple.negated:
            observation = replace(observation, replaces=wrong.value, replaces_text=wrong.triple.object)
        judgement = self._one(beliefs, observation, now)
        return self._retract(beliefs, wrong, observation, judgement, now)

    def _reworded(self, beliefs: _Beliefs, memory: Memory, observation: Observation, now: datetime) -> Judgement:
        """The same in other words: the user's are kept."""
        at = max(observation.at, memory.affirmed_at)
        said = replace(observation, mode=Mode.STATEMENT, at=at, replaces="", replaces_text="")
        judgement = self._one(beliefs, said, now)
        current = beliefs.current(memory)
        if current is not None and current.text != observation.text:
            beliefs.note([Change(current, replace(current, text=observation.text, language=observation.language))])
        return judgement

    def _disputed(self, beliefs: _Beliefs, observation: Observation, now: datetime) -> Judgement:
        """Said of something that changed meanwhile, so it is no order to change it: a bare statement (SPEC B4). Where
        nothing contradicts it, it stands and is asked about, as what became of the old one may."""
        believed = beliefs.telling(observation)
        judgement = self._one(beliefs, observation, now)
        told = beliefs.telling(observation)
        # What took the place of something is asked about already, with that.
        if believed is None and told is not None and judgement.verdict is not Verdict.REPLACE:
            self._doubt(beliefs, beliefs.numbered(told))
        return judgement

    def _doubt(self, beliefs: _Beliefs, memory: Memory | None) -> None:
        if memory is not None and memory.status is Status.LIVE and not memory.doubted:
            beliefs.note([Change(memory, replace(memory, doubted=True, unasked=False))])

    def _retract(
        self, beliefs: _Beliefs, wrong: Memory, observation: Observation, judgement: Judgement, now: datetime
    ) -> Judgement:
        """What was corrected ends even where the right statement is about something else."""
        current = beliefs.current(wrong)
        right = beliefs.telling(observation)
        if current is not None and current.status in (Status.LIVE, Status.HELD):
            beliefs.note([Change(current, retracted(current, observation.at, now, right))])
        ends = tuple(sorted({*judgement.ends, wrong.seq}))
        reasons = (f"the user corrected {wrong.id}",)
        return Judgement(Verdict.REPLACE, "user-corrected", reasons, same=judgement.same, ends=ends)


class _Beliefs:
    """What is believed, with the changes of the plan in the making laid over it."""

    def __init__(self, unit: Unit, scope: Scope, tiers: TierPolicy, *, dry_run: bool = False) -> None:
        self._unit, self._scope = unit, scope
        self._tiers = tiers
        self._tried = count(unit.memories.last_seq(scope) + 1) if dry_run else None
        self._first: dict[int, Memory | None] = {}
        self._last: dict[int, Memory | None] = {}

    def about(self, observation: Observation, antonym: str | None) -> list[Memory]:
        """Memories of the observation's key, of its antonym's, or of the same text."""
        keys, values = [], []
        if observation.triple is None:
            values.append(observation.value)
        else:
            keys.append(observation.key)
            if antonym:
                keys.append(fact_key(observation.triple.subject, antonym))
        found = {m.seq: m for m in self._unit.memories.believed(self._scope, keys, values)}
        for seq, memory in self._last.items():
            found.pop(seq, None)
            if memory is not None and (memory.key in keys or (not memory.key and memory.value in values)):
                found[seq] = memory
        return sorted(found.values(), key=lambda m: m.seq)

    def current(self, memory: Memory) -> Memory | None:
        """The memory as the plan in the making leaves it."""
        return self._last.get(memory.seq, memory)

    def telling(self, observation: Observation) -> int | None:
        """The number of the live memory that says what was observed."""
        found = self.about(observation, None)
        said = statements_of_observation(observation)[0].claim
        return next((m.seq for m in found if m.status is Status.LIVE and claim_of(m) == said), None)

    def numbered(self, seq: int) -> Memory | None:
        """The memory of that number, as the plan in the making leaves it."""
        if seq in self._last:
            return self._last[seq]
        return next(iter(self._unit.memories.get(self._scope, [seq])), None)

    def new_seqs(self) -> Iterator[int]:
        if self._tried is not None:
            yield from self._tried
        while True:
            yield self._unit.memories.next_seq(self._scope)

    def note(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._first.setdefault(change.seq, change.before)
            self._last[change.seq] = change.after

    def changes(self) -> tuple[Change, ...]:
        pairs = ((before, judged(before, self._last[seq], self._tiers)) for seq, before in self._first.items())
        return tuple(Change(before, after) for before, after in pairs if before != after)


def _rejection(wrong: Sequence[Memory]) -> Judgement:
    reasons = (f"the user rejected {', '.join(m.id for m in wrong)}",)
    return Judgement(Verdict.REFUSE, "user-rejected", reasons, ends=tuple(m.seq for m in wrong))


def _says_the_same(observation: Observation, memory: Memory) -> bool:
    return observation.key == memory.key and statements_of_observation(observation)[0].claim == claim_of(memory)


def _plan(occasion: Occasion, beliefs: _Beliefs, judgements: Sequence[Judgement]) -> Plan:
    changes = beliefs.changes()
    # Restating what is already there word for word leaves no trace worth a ledger row; a refusal does.
    telling = tuple(judgements) if changes or any(j.verdict is Verdict.REFUSE for j in judgements) else ()
    return Plan(occasion.verb, occasion.actor, occasion.now, occasion.reason, changes, telling)


def _old_text(observation: Observation, vocabulary: Vocabulary) -> str:
    """How the named old value reads as a memory of its own."""
    if observation.triple is None or not observation.replaces_text:
        return ""
    relation = vocabulary.get(observation.triple.relation)
    if relation is None:
        return observation.replaces_text
    return render(relation, observation.triple.subject, observation.replaces_text, observation.language)
