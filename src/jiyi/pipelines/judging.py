"""From observations to one plan: each is judged against what is believed, the ones before it included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from jiyi.domain.closing import BY_AN_EVENT, Closings, Known, ended_by_event
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.inverses import FROM_THE_OTHER_SIDE, SIDES_DISAGREE, ended_from_the_other_side, opposed
from jiyi.domain.memory import Memory, Mode, Status
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.refining import Refining
from jiyi.domain.relations import Vocabulary, fact_key, render
from jiyi.domain.revision import retracted, revise
from jiyi.domain.scope import Scope
from jiyi.domain.settling import DECLARED, RANK, ArbitrationPolicy
from jiyi.domain.tiers import TierPolicy, judged
from jiyi.errors import PlanRefused
from jiyi.ports import Unit

LATEST = 256
"""So many facts of a relation are looked through for the other side of one (SPEC W2)."""


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
    """What judging needs besides what was said and what is believed. `fold` is the segmenter's."""

    vocabulary: Vocabulary
    confidence: ConfidencePolicy
    arbitration: ArbitrationPolicy
    tiers: TierPolicy
    refining: Refining
    closings: Closings
    fold: Callable[[str], str]

    def all(
        self,
        unit: Unit,
        scope: Scope,
        observations: Sequence[Observation],
        occasion: Occasion,
        *,
        dry_run: bool = False,
    ) -> Plan:
        """One plan for what was said together. A memory that several observations touch changes once.

        Args:
            dry_run: as in `edited`.
        """
        beliefs = _Beliefs(unit, scope, self.tiers, dry_run=dry_run)
        judgements = [self._one(beliefs, observation, occasion.now) for observation in observations]
        return self._plan(occasion, beliefs, judgements)

    def correction(
        self,
        unit: Unit,
        scope: Scope,
        wrong: Memory,
        observation: Observation,
        occasion: Occasion,
        besides: Sequence[Observation] = (),
    ) -> Plan:
        """The user says that this very memory is wrong and what is right (SPEC B3): it ends, whatever it was about. What the
        same words say `besides` is declared anew."""
        beliefs = _Beliefs(unit, scope, self.tiers)
        judgements = [self._corrected(beliefs, wrong, observation, occasion.now)]
        judgements += [self._one(beliefs, other, occasion.now) for other in besides]
        return self._plan(occasion, beliefs, judgements)

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
        return self._plan(occasion, beliefs, judgements)

    def decision(
        self, unit: Unit, scope: Scope, wrong: Sequence[Memory], said: Sequence[Observation], occasion: Occasion
    ) -> Plan:
        """The user settles a matter: these are wrong, and this is so (SPEC B8, B9)."""
        beliefs = _Beliefs(unit, scope, self.tiers)
        judgements = [_rejection(wrong)] if wrong else []
        beliefs.note([Change(m, retracted(m, max(occasion.now, m.affirmed_at), occasion.now)) for m in wrong])
        self._settle_again(beliefs, wrong, occasion.now)
        judgements += [self._one(beliefs, observation, occasion.now) for observation in said]
        return self._plan(occasion, beliefs, judgements)

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

    def recounted(
        self,
        unit: Unit,
        scope: Scope,
        counts: Sequence[tuple[Memory, Memory | None]],
        observations: Sequence[Observation],
        occasion: Occasion,
        told: Sequence[Judgement],
        *,
        dry_run: bool = False,
    ) -> Plan:
        """What memories rest on was counted anew (SPEC G5): each is settled from its new evidence, or goes. What was never
        remembered is judged like anything else that was observed.

        Args:
            counts: memories as they are, and with their new evidence.
            told: what the counting says of them.
            dry_run: as in `edited`.
        """
        beliefs = _Beliefs(unit, scope, self.tiers, dry_run=dry_run)
        beliefs.note([Change(before, after) for before, after in counts if after != before])
        self._settle_again(beliefs, [after for before, after in counts if after not in (None, before)], occasion.now)
        judgements = [self._one(beliefs, observation, occasion.now) for observation in observations]
        return self._plan(occasion, beliefs, [*told, *judgements])

    def unasked(self, unit: Unit, scope: Scope, memories: Sequence[Memory], occasion: Occasion) -> Plan:
        """The user was asked about these and does not want to decide."""
        changes = tuple(Change(m, replace(m, unasked=True)) for m in memories if not m.unasked)
        return Plan(occasion.verb, occasion.actor, occasion.now, occasion.reason, changes)

    # ------------------------------------------------------------------ the same from the other side (SPEC W2)

    def _plan(self, occasion: Occasion, beliefs: _Beliefs, judgements: Sequence[Judgement]) -> Plan:
        mended = [*self._close(beliefs, occasion.now), *self._mend(beliefs, occasion.now)]
        changes = beliefs.changes()
        # Restating what is already there word for word leaves no trace worth a ledger row; a refusal does.
        told = changes or any(j.verdict is Verdict.REFUSE for j in judgements)
        return Plan(
            occasion.verb,
            occasion.actor,
            occasion.now,
            occasion.reason,
            changes,
            (*judgements, *mended) if told else (),
        )

    def _close(self, beliefs: _Beliefs, now: datetime) -> list[Judgement]:
        """End what is over by something that happened, which the plan in the making tells or touches, in the same plan
        (SPEC B3)."""
        known = Known(beliefs.of_key, beliefs.of_relation)
        judgements: list[Judgement] = []
        looked: set[Memory] = set()
        while waiting := [m for m in self.closings.touched(beliefs.changed(), known) if m not in looked]:
            for memory in waiting:
                looked.add(memory)
                closed = self.closings.closed(memory, known) if beliefs.numbered(memory.seq) == memory else None
                if closed is not None:
                    event, word = closed
                    beliefs.note([Change(memory, ended_by_event(memory, word))])
                    self._settle_again(beliefs, [memory], now)
                    told = f"{event.id} tells what ended {memory.id}"
                    judgements.append(Judgement(Verdict.REPLACE, BY_AN_EVENT, (told,), ends=(memory.seq,)))
        return judgements

    def _mend(self, beliefs: _Beliefs, now: datetime) -> list[Judgement]:
        """End the other side of what is over, and tell of what cannot hold together from both sides, in the same plan."""
        judgements: list[Judgement] = []
        looked: set[Memory] = set()
        while waiting := [m for m in self._two_sided(beliefs) if m not in looked]:
            for memory in waiting:
                looked.add(memory)
                current = beliefs.numbered(memory.seq)
                if current == memory:
                    judgements += self._mended(beliefs, memory, now)
        return judgements

    def _two_sided(self, beliefs: _Beliefs) -> list[Memory]:
        """The live facts with another side that the plan in the making touches, or touches the other side of."""
        found: dict[int, Memory] = {}
        for memory in beliefs.changed():
            relation = self.vocabulary.get(memory.triple.relation) if memory.triple else None
            if relation is None or relation.inverse is None or memory.triple is None:
                continue
            mine = self.fold(memory.triple.subject)
            found[memory.seq] = beliefs.numbered(memory.seq) or memory
            found |= {m.seq: m for m in beliefs.of_relation(relation.inverse) if m.value == mine}
        live = (m for m in found.values() if m.status is Status.LIVE and m.triple and not m.triple.negated)
        return sorted(live, key=lambda m: m.seq)

    def _mended(self, beliefs: _Beliefs, memory: Memory, now: datetime) -> list[Judgement]:
        assert memory.triple is not None
        relation = self.vocabulary.get(memory.triple.relation)
        inverse = self.vocabulary.get(relation.inverse) if relation and relation.inverse else None
        if inverse is None:
            return []
        there = beliefs.of_key(fact_key(memory.triple.object, inverse.name))
        against = opposed(memory, inverse, there, self.fold)
        if against is None:
            return []
        if against.word is not None:
            beliefs.note([Change(memory, ended_from_the_other_side(memory, against.word))])
            self._settle_again(beliefs, [memory], now)
            told = f"{memory.id} told from the other side what is over by {against.by.id}"
            return [Judgement(Verdict.REPLACE, FROM_THE_OTHER_SIDE, (told,), ends=(memory.seq,))]
        pair = sorted((memory, against.by), key=lambda m: (m.affirmed_at, m.key, m.value))
        if any(m.doubted for m in pair):
            return []
        if all(RANK[m.source] >= DECLARED for m in pair):
            self._doubt(beliefs, pair[0])
        told = f"{memory.id} and {against.by.id} tell of the same from both sides and cannot both hold"
        return [Judgement(Verdict.COEXIST, SIDES_DISAGREE, (told,), same=memory.seq)]

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
        found = self._unit.memories.believed(self._scope, keys, values)
        return self._laid_over(found, lambda m: m.key in keys or (not m.key and m.value in values))

    def current(self, memory: Memory) -> Memory | None:
        """The memory as the plan in the making leaves it."""
        return self._last.get(memory.seq, memory)

    def telling(self, observation: Observation) -> int | None:
        """The number of the live memory that says what was observed."""
        found = self.about(observation, None)
        said = statements_of_observation(observation)[0].claim
        return next((m.seq for m in found if m.status is Status.LIVE and claim_of(m) == said), None)

    def changed(self) -> list[Memory]:
        """What the plan in the making touches, as it leaves it, or as it was where nothing is left."""
        pictures = ((self._last[seq], before) for seq, before in self._first.items() if self._last[seq] != before)
        return [memory for after, before in pictures if (memory := after or before) is not None]

    def of_key(self, key: str) -> list[Memory]:
        """Memories of one key, of any status."""
        return self._laid_over(self._unit.memories.believed(self._scope, [key]), lambda m: m.key == key)

    def of_relation(self, relation: str) -> list[Memory]:
        """Live memories of one relation, the latest so many."""
        found = self._unit.memories.of_relations(self._scope, [relation], LATEST)
        return self._laid_over(
            found, lambda m: m.status is Status.LIVE and m.triple is not None and m.triple.relation == relation
        )

    def _laid_over(self, stored: Sequence[Memory], wanted: Callable[[Memory], bool]) -> list[Memory]:
        found = {m.seq: m for m in stored if m.seq not in self._last}
        found |= {seq: m for seq, m in self._last.items() if m is not None and wanted(m)}
        return sorted(found.values(), key=lambda m: m.seq)

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


def _old_text(observation: Observation, vocabulary: Vocabulary) -> str:
    """How the named old value reads as a memory of its own."""
    if observation.triple is None or not observation.replaces_text:
        return ""
    relation = vocabulary.get(observation.triple.relation)
    if relation is None:
        return observation.replaces_text
    return render(relation, observation.triple.subject, observation.replaces_text, observation.language)
