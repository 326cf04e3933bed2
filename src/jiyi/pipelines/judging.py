"""From observations to one plan: each is judged against what is believed, the ones before it included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jiyi.domain.belief import Judgement, Mode, Observation, Verdict, judge
from jiyi.domain.memory import Memory
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.relations import Vocabulary, fact_key, render
from jiyi.domain.revision import revise
from jiyi.domain.scope import Scope
from jiyi.ports import Unit


@dataclass(frozen=True, slots=True)
class Occasion:
    """On what occasion observations are judged: goes into the ledger."""

    verb: Verb
    actor: Actor
    now: datetime
    reason: str


def judge_all(
    unit: Unit, scope: Scope, observations: Sequence[Observation], vocabulary: Vocabulary, occasion: Occasion
) -> Plan:
    """One plan for what was said together. A memory that several observations touch changes once."""
    beliefs = _Beliefs(unit, scope)
    judgements = []
    for observation in observations:
        relation = vocabulary.get(observation.triple.relation) if observation.triple else None
        antonym = relation.antonym if relation else None
        believed = beliefs.about(observation, antonym)
        judgement = judge(observation, believed, relation)
        judgements.append(judgement)
        many = relation is not None and not relation.single
        old_text, seqs = _old_text(observation, vocabulary), beliefs.new_seqs()
        beliefs.note(revise(observation, judgement, believed, seqs, occasion.now, old_text, many=many))
    return _plan(occasion, beliefs, judgements)


def judge_correction(
    unit: Unit, scope: Scope, wrong: Memory, observation: Observation, vocabulary: Vocabulary, occasion: Occasion
) -> Plan:
    """The user says that this very memory is wrong and what is right (SPEC B3): it ends, whatever it was about."""
    relation = vocabulary.get(observation.triple.relation) if observation.triple else None
    observation = replace(observation, mode=Mode.CORRECTION)
    beliefs = _Beliefs(unit, scope)
    believed = beliefs.about(observation, relation.antonym if relation else None)
    if wrong.seq not in {m.seq for m in believed}:
        believed = sorted([*believed, wrong], key=lambda m: m.seq)
    judgement = judge(observation, believed, relation)
    if judgement.same == wrong.seq:
        return _plan(occasion, beliefs, [judgement])
    judgement = Judgement(
        Verdict.REPLACE,
        "user-corrected",
        (f"the user corrected {wrong.id}",),
        same=judgement.same,
        ends=tuple(sorted({*judgement.ends, wrong.seq})),
    )
    beliefs.note(revise(observation, judgement, believed, beliefs.new_seqs(), occasion.now))
    return _plan(occasion, beliefs, [judgement])


class _Beliefs:
    """What is believed, with the changes of the plan in the making laid over it."""

    def __init__(self, unit: Unit, scope: Scope) -> None:
        self._unit, self._scope = unit, scope
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

    def new_seqs(self) -> Iterator[int]:
        while True:
            yield self._unit.memories.next_seq(self._scope)

    def note(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._first.setdefault(change.seq, change.before)
            self._last[change.seq] = change.after

    def changes(self) -> tuple[Change, ...]:
        pairs = ((before, self._last[seq]) for seq, before in self._first.items())
        return tuple(Change(before, after) for before, after in pairs if before != after)


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
