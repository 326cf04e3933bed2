"""How memory changes its mind: a new observation against what is believed (SPEC B2–B5).

One pure function decides, and says by which rule and why. It lays the new statement beside all that was said of the
same thing, settles the whole (`domain.settling`) and reads the verdict off what came out, so the verdict on an
observation never depends on what happened to arrive before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Category, Evidence, Language, Memory, Mode, Source, Status, Triple, memory_id
from jiyi.domain.refining import Finer, never_finer
from jiyi.domain.relations import Relation, Vocabulary, fact_key
from jiyi.domain.settling import (
    ENDING,
    OUTRIGHT,
    REFINE,
    REFINED,
    ArbitrationPolicy,
    Claim,
    Spell,
    Statement,
    contradiction,
    settle,
)


class Verdict(StrEnum):
    """`refine`: it says more precisely what is believed already. `hold`: kept beside a better word. `provisional`: the user's own word, for this session only (SPEC B4)."""

    ADD = "add"
    CORROBORATE = "corroborate"
    REFINE = "refine"
    REPLACE = "replace"
    COEXIST = "coexist"
    HOLD = "hold"
    PROVISIONAL = "provisional"
    REFUSE = "refuse"
    # Of upkeep, which weighs no observation (SPEC F2–F4).
    MOVE = "move"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Observation:
    """A statement found in talk, not yet believed.

    `value` is the folded object (or text), for comparing; `replaces` the folded old value where the
    user named it (从 MySQL 换成 …), `replaces_text` the same as written. `until` is when it is over by itself, as an
    appointment is after its day (SPEC C8). Where there are relations in `known`, it says something only if a fact of one of
    them names what it speaks of.
    """

    text: str
    category: Category
    importance: int
    source: Source
    start: float
    at: datetime
    value: str
    triple: Triple | None = None
    mode: Mode = Mode.STATEMENT
    replaces: str = ""
    replaces_text: str = ""
    evidence: tuple[Evidence, ...] = ()
    keywords: tuple[str, ...] = ()
    kept: bool = False
    language: Language = Language.ZH
    until: datetime | None = None
    known: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        return fact_key(self.triple.subject, self.triple.relation) if self.triple else ""

    @property
    def negated(self) -> bool:
        return self.triple is not None and self.triple.negated


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict with the rule that gave it and the reasons in words.

    `same`: the memory that already says this. `ends`: the memories that stop being believed.
    `lowers`: the memories that lose importance. `ended_by`: a later change that had already
    ended what is observed now, so that it enters as history.
    """

    verdict: Verdict
    rule: str
    reasons: tuple[str, ...] = ()
    same: int | None = None
    ends: tuple[int, ...] = ()
    lowers: tuple[int, ...] = ()
    ended_by: int | None = None


Pairs: TypeAlias = tuple[tuple[Spell, Memory | None], ...]


@dataclass(frozen=True, slots=True)
class Settlement:
    """What is so once an observation is counted in: the judgement, and every spell with the memory that tells of it.

    `spells`: `(spell, memory or None for a new one)`. `absorbed`: memories that turned out to tell of another's spell.
    `known`: nothing was said that was not known.
    """

    judgement: Judgement
    spells: Pairs = ()
    absorbed: tuple[Memory, ...] = ()
    known: bool = False


def judge(
    observation: Observation,
    believed: Sequence[Memory],
    relation: Relation | None,
    confidence: ConfidencePolicy | None = None,
    policy: ArbitrationPolicy | None = None,
    finer: Finer = never_finer,
) -> Judgement:
    """Decide what an observation does to what is believed; see `weigh`."""
    return weigh(observation, believed, relation, confidence, policy, finer).judgement


def weigh(
    observation: Observation,
    believed: Sequence[Memory],
    relation: Relation | None,
    confidence: ConfidencePolicy | None = None,
    policy: ArbitrationPolicy | None = None,
    finer: Finer = never_finer,
) -> Settlement:
    """Settle an observation with what is believed.

    Args:
        observation: what was said.
        believed: the memories of the same key, of its antonym's key, and of the same text, of any status.
        relation: the vocabulary's entry for the observation's relation, if it has one.
        finer: how its values are refined (`Refining.of`).

    Returns:
        The verdict and what follows from it; deterministic, and total over its inputs.
    """
    confidence, policy = confidence or ConfidencePolicy(), policy or ArbitrationPolicy()
    group = sorted(_of_the_same(observation, believed, relation, finer), key=lambda m: m.seq)
    said = statements_of_observation(observation)
    told = {m.seq: statements_of(m) for m in group}
    before = {s for statements in told.values() for s in statements}
    if before.issuperset(said):
        same = next(seq for seq, statements in told.items() if said[0] in statements)
        return Settlement(
            Judgement(Verdict.CORROBORATE, "known-already", (f"{memory_id(same)} rests on it",), same=same), known=True
        )
    spells = settle([*before.union(said)], relation, confidence, policy, finer)
    pairs = _match(spells, told, group)
    mine, words = said[0].claim, said[0].evidence
    here, memory = next(p for p in pairs if p[0].claim == mine and (words in p[0].said or words in p[0].refused))
    if words in here.refused:
        rejected = None if memory is None else memory.seq
        judgement = Judgement(Verdict.REFUSE, here.rule, here.reasons, same=rejected)
    else:
        judgement = _verdict(observation, here, memory, pairs, believed)
    told_of = {m.seq for _, m in pairs if m is not None}
    return Settlement(judgement, pairs, tuple(m for m in group if m.seq not in told_of))


def settled(
    observation: Observation,
    believed: Sequence[Memory],
    relation: Relation | None,
    confidence: ConfidencePolicy,
    policy: ArbitrationPolicy,
    finer: Finer = never_finer,
) -> Settlement:
    """What is so of the matter that an observation is about, without it: once something of it was rejected, what waited
    only because of that is believed."""
    group = sorted(_of_the_same(observation, believed, relation, finer), key=lambda m: m.seq)
    told = {m.seq: statements_of(m) for m in group}
    spells = settle({s for statements in told.values() for s in statements}, relation, confidence, policy, finer)
    pairs = _match(spells, told, group)
    kept = {m.seq for _, m in pairs if m is not None}
    judgement = Judgement(Verdict.REPLACE, "settled-again")
    return Settlement(judgement, pairs, tuple(m for m in group if m.seq not in kept))


def claim_of(memory: Memory) -> Claim:
    triple = memory.triple
    return Claim("", memory.value) if triple is None else Claim(triple.relation, memory.value, triple.negated)


def statements_of(memory: Memory) -> list[Statement]:
    """What was said of a memory. One that came without its evidence stands for one statement."""
    if memory.evidence:
        return [Statement(claim_of(memory), e) for e in memory.evidence]
    mode = Mode.STATEMENT if memory.changed_at is None else Mode.CHANGE
    at = memory.changed_at or memory.affirmed_at
    alone = Evidence(0, 0, 0, at, "", mode, memory.source, memory.start)
    return [Statement(claim_of(memory), alone), *_end_of(memory)]


def statements_of_observation(observation: Observation) -> list[Statement]:
    """What an observation says: its claim first, then that the old value it names is over or was wrong."""
    relation = observation.triple.relation if observation.triple else ""
    mode = observation.mode
    if mode is Mode.STATEMENT and observation.kept:
        mode = Mode.REQUEST
    evidence = observation.evidence or (Evidence(0, 0, 0, observation.at, ""),)
    spoken = [
        replace(
            e, at=observation.at, mode=mode, source=observation.source, trust=observation.start, until=observation.until
        )
        for e in evidence
    ]
    said = [Statement(Claim(relation, observation.value, observation.negated), e) for e in spoken]
    if observation.replaces and observation.replaces != observation.value and observation.mode in OUTRIGHT:
        over = Mode.WRONG if observation.mode is Mode.CORRECTION else Mode.OVER
        named = Claim(relation, observation.replaces)
        said += [Statement(named, replace(e, mode=over, until=None)) for e in spoken]
    return said


def ended(memory: Memory, at: datetime, mode: Mode = Mode.OVER, source: Source | None = None) -> Memory:
    """The memory with a statement of its own that it is over (or wrong), so that it stays so whatever becomes of what
    ended it: when that is forgotten, when a policy ended it, when the user rejects it.

    `source`: on whose word it is over; by default that on which it stood, which any equal word outweighs again.
    """
    assert mode in ENDING
    told = (Evidence(0, 0, 0, at, "", mode, source or memory.source, memory.start),)
    evidence = memory.evidence or tuple(s.evidence for s in statements_of(memory))
    return replace(memory, evidence=tuple(sorted({*evidence, *told}, key=lambda e: e.place)))


def rival_keys(memory: Memory, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The keys under which something that contradicts this memory could stand."""
    if memory.triple is None:
        return ()
    relation = vocabulary.get(memory.triple.relation)
    antonym = relation.antonym if relation else None
    return (memory.key,) if antonym is None else (memory.key, fact_key(memory.triple.subject, antonym))


def unsettled(memory: Memory, other: Memory, vocabulary: Vocabulary) -> bool:
    """Whether two memories contradict each other."""
    if memory.seq == other.seq or memory.triple is None or other.triple is None:
        return False
    if memory.triple.subject != other.triple.subject:
        return False
    relation = vocabulary.get(memory.triple.relation)
    # Of two relations only opposites can: 结婚 as what was done and as how things stand, told of one day, are no conflict.
    if other.triple.relation not in (memory.triple.relation, relation.antonym if relation else None):
        return False
    return contradiction(relation)(claim_of(memory), claim_of(other))


def _of_the_same(
    observation: Observation, believed: Sequence[Memory], relation: Relation | None, finer: Finer
) -> list[Memory]:
    """The memories whose fate the observation could touch. Of many values each stands for itself (SPEC B5), together
    with its finer and coarser forms (SPEC B2)."""
    if observation.triple is None:
        return [m for m in believed if m.triple is None and m.value == observation.value]
    subject, names = observation.triple.subject, {observation.triple.relation}
    if relation is not None and relation.antonym:
        names.add(relation.antonym)
    near = [m for m in believed if m.triple and m.triple.subject == subject and m.triple.relation in names]
    if relation is not None and relation.single:
        return near
    values = {observation.value, observation.replaces} - {""}
    if finer is not never_finer:
        values = _forms(values, {m.value for m in near}, finer)
    return [m for m in near if m.value in values]


def _forms(values: set[str], known: set[str], finer: Finer) -> set[str]:
    """Values with all known ones that are finer or coarser forms of them, and of those again."""
    found, fresh = set(values), set(values)
    while fresh:
        left = known - found
        fresh = {v for one in fresh for v in left if finer(v, one) or finer(one, v)}
        found |= fresh
    return found


def _match(spells: Sequence[Spell], told: Mapping[int, Sequence[Statement]], group: Sequence[Memory]) -> Pairs:
    """Which memory tells of which spell: the one that shares most of what was said. What is believed keeps its number
    also where what was told late splits a part off that is past, or shows it to be one with what is past."""
    tellers: dict[Statement, list[int]] = {}
    for seq, statements in told.items():
        for statement in statements:
            tellers.setdefault(statement, []).append(seq)
    current = {m.seq for m in group if m.status is Status.LIVE}
    shared = Counter(
        (at, seq)
        for at, spell in enumerate(spells)
        for e in (*spell.said, *spell.refused)
        for seq in tellers.get(Statement(spell.claim, e), ())
    )

    def closeness(pair: tuple[int, int]) -> tuple[bool, bool, int, int, int]:
        at, seq = pair
        return seq in current and spells[at].status is Status.LIVE, seq in current, shared[pair], -at, -seq

    of_spell: dict[int, int] = {}
    taken: set[int] = set()
    for at, seq in sorted(shared, key=closeness, reverse=True):
        if at not in of_spell and seq not in taken:
            of_spell[at] = seq
            taken.add(seq)
    memories = {m.seq: m for m in group}
    return tuple((spell, memories[of_spell[at]] if at in of_spell else None) for at, spell in enumerate(spells))


def _verdict(
    observation: Observation, here: Spell, memory: Memory | None, pairs: Pairs, believed: Sequence[Memory]
) -> Judgement:
    same = None if memory is None else memory.seq
    if here.status is Status.HELD:
        verdict = Verdict.HOLD if here.rule == "weaker-source" else Verdict.PROVISIONAL
        return Judgement(verdict, here.rule, here.reasons, same=same)
    ends = tuple(m.seq for s, m in pairs if m and m.status is Status.LIVE and s.status is not Status.LIVE)
    finer = here.by if here.refined else None
    if finer is not None and not ends:
        # A coarser form bears out what stands, whichever of the two was told first.
        better = next((m for s, m in pairs if s is finer), None)
        told = f"{better.id} says it more precisely" if better else "it is said more precisely"
        return Judgement(Verdict.CORROBORATE, "less-precise", (told,), same=better.seq if better else same)
    if here.status is not Status.LIVE:
        later = next((m for s, m in pairs if s is here.by and m), None)
        reasons = (f"{later.id} has since replaced it: kept as history",) if later else here.reasons
        verdict = Verdict.REPLACE if ends else Verdict.CORROBORATE if memory else Verdict.ADD
        return Judgement(
            verdict, "older-than-a-change", reasons, same=same, ends=ends, ended_by=later.seq if later else None
        )
    coarser = {m.seq for s, m in pairs if m and s.refined and s.by is here}
    if ends and coarser.issuperset(ends) and here.rule in (REFINE, "new"):
        return Judgement(Verdict.REFINE, REFINE, (*REFINED[1], f"than {_ids(ends)}"), same=same, ends=ends)
    if ends:
        # What ends later contradictions without a word against them at its time was only told late.
        rule = "told-late" if here.rule == "new" else here.rule
        return Judgement(Verdict.REPLACE, rule, (*here.reasons, f"ends {_ids(ends)}"), same=same, ends=ends)
    if memory is not None:
        return Judgement(Verdict.CORROBORATE, "restated", (f"says what {memory.id} says",), same=same)
    if observation.mode is Mode.SHIFT:
        displaced = tuple(m.seq for m in believed if m.key == observation.key and m.status is Status.LIVE)
        if displaced:
            return Judgement(
                Verdict.COEXIST, "concern-shift", (f"takes precedence over {_ids(displaced)}",), lowers=displaced
            )
    return Judgement(Verdict.ADD, here.rule, here.reasons)


def _end_of(memory: Memory) -> list[Statement]:
    if memory.status is Status.LIVE or memory.valid_to is None:
        return []
    mode = Mode.WRONG if memory.status is Status.RETRACTED else Mode.OVER
    return [Statement(claim_of(memory), Evidence(0, 0, 0, memory.valid_to, "", mode, memory.source, memory.start))]


def _ids(memories: Sequence[int]) -> str:
    return ", ".join(map(memory_id, memories))
