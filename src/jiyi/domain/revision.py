"""From a settlement to the changes that carry it out: one place knows how memories move (SPEC B2, B6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from jiyi.domain.belief import Observation, Settlement, claim_of, ended, statements_of_observation
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Evidence, Memory, Mode, Source, Status
from jiyi.domain.plans import Change
from jiyi.domain.settling import RANK, ArbitrationPolicy, Claim, Spell, stand

MIN_IMPORTANCE = 1


def revise(
    observation: Observation,
    settlement: Settlement,
    believed: Sequence[Memory],
    new_seqs: Iterator[int],
    now: datetime,
    old_text: str = "",
    confidence: ConfidencePolicy | None = None,
    policy: ArbitrationPolicy | None = None,
) -> tuple[Change, ...]:
    """The changes that a settlement asks for.

    Args:
        believed: what the observation was weighed against.
        new_seqs: fresh memory numbers; one is taken for each memory added.
        now: when we learn it (transaction time); `observation.at` is when it was said.
        old_text: how the old value reads as a memory, where the user named one; empty otherwise.
    """
    if settlement.known:
        return ()
    policies = (confidence or ConfidencePolicy(), policy or ArbitrationPolicy())
    mine = statements_of_observation(observation)[0].claim
    # The observation's own memory gets the lower number, whatever spell of another it splits.
    fresh = sorted((s for s, m in settlement.spells if m is None), key=lambda s: s.claim != mine)
    numbers = {id(spell): next(new_seqs) for spell in fresh}
    numbers |= {id(spell): memory.seq for spell, memory in settlement.spells if memory is not None}
    by_claim = {s.claim: m for s, m in reversed(settlement.spells) if m is not None}
    changes = []
    for spell, memory in settlement.spells:
        picture = memory or _begun(
            observation, mine, spell, by_claim.get(spell.claim), old_text, numbers[id(spell)], now
        )
        if spell.claim == mine and any(e.at == observation.at for e in spell.said):
            picture = _restated(picture, observation)
        successor = None if spell.by is None else numbers[id(spell.by)]
        after = _placed(picture, spell, successor, now, *policies)
        if after != memory:
            changes.append(Change(memory, after))
    changes += [Change(memory, None) for memory in settlement.absorbed]
    changes.sort(key=lambda c: (c.before is not None, c.seq))
    return (*changes, *_lowered(settlement, believed))


def _begun(
    observation: Observation, mine: Claim, spell: Spell, alike: Memory | None, old_text: str, seq: int, now: datetime
) -> Memory:
    """A memory for a spell that had none: the observation's, one split off a longer one, or its named old value's."""
    if spell.claim != mine and alike is not None:
        return replace(alike, seq=seq, learnt_at=now, unasked=False, doubted=False)
    memory = Memory(
        seq=seq,
        text=observation.text,
        category=observation.category,
        importance=observation.importance,
        source=observation.source,
        start=observation.start,
        affirmed_at=observation.at,
        valid_from=observation.at,
        learnt_at=now,
        value=observation.value,
        key=observation.key,
        triple=observation.triple,
        keywords=observation.keywords,
        kept=observation.kept,
        language=observation.language,
    )
    if spell.claim == mine or observation.triple is None:
        return memory
    named = replace(observation.triple, object=observation.replaces_text, negated=False)
    text = old_text or observation.replaces_text
    return replace(memory, text=text, value=observation.replaces, triple=named, keywords=())


def _restated(memory: Memory, observation: Observation) -> Memory:
    """What restating adds besides evidence."""
    return replace(
        memory,
        importance=max(memory.importance, observation.importance),
        kept=memory.kept or observation.kept,
        keywords=tuple(dict.fromkeys(memory.keywords + observation.keywords)),
        # Who says it again has answered the doubt; a weaker word, or one that was said before, has not.
        doubted=memory.doubted
        and (RANK[observation.source] < RANK[memory.source] or observation.at < memory.affirmed_at),
    )


def _placed(
    memory: Memory,
    spell: Spell,
    successor: int | None,
    now: datetime,
    confidence: ConfidencePolicy,
    policy: ArbitrationPolicy,
) -> Memory:
    """The memory as its spell has it: on whose word, from when to when, and whether it still stands."""
    standing = stand(spell.words or spell.refused, confidence, policy)
    live = spell.status is Status.LIVE
    believed = live or (spell.status is Status.HELD and not spell.demoted)
    # SPEC B4: what lost an arbitration drops to inferred, to be verified.
    source = Source.INFERRED if spell.demoted else standing.source
    return replace(
        memory,
        status=spell.status,
        source=source,
        start=min(standing.trust, confidence.start(source)) if spell.demoted else standing.trust,
        affirmed_at=standing.affirmed_at,
        changed_at=standing.changed_at,
        valid_from=spell.since,
        valid_to=spell.until if believed else spell.over,
        retired_at=None if believed else memory.retired_at or now,
        successor=None if live else successor,
        evidence=_evidence(spell),
        unasked=memory.unasked and spell.status is memory.status,
        doubted=memory.doubted and spell.status is memory.status,
    )


def retracted(memory: Memory, at: datetime, now: datetime, successor: int | None = None) -> Memory:
    """The memory once the user said that it is wrong (SPEC B3, B8): on their word, so that nothing weaker brings it
    back, whoever had said it first."""
    return replace(
        ended(memory, at, Mode.WRONG, Source.DECLARED),
        status=Status.RETRACTED,
        valid_to=max(at, memory.valid_from),
        retired_at=memory.retired_at or now,
        successor=successor,
    )


def resumed(memory: Memory) -> Memory:
    """A memory that was past only because another told the same more precisely, once that one is forgotten."""
    told = Spell(claim_of(memory), memory.valid_from, said=list(memory.evidence))
    return replace(memory, status=Status.LIVE, valid_to=told.until, retired_at=None, successor=None)


def _evidence(spell: Spell) -> tuple[Evidence, ...]:
    return tuple(sorted({*spell.said, *spell.refused}, key=lambda e: e.place))


def _lowered(settlement: Settlement, believed: Sequence[Memory]) -> list[Change]:
    lowers = set(settlement.judgement.lowers)
    return [
        Change(m, replace(m, importance=m.importance - 1))
        for m in believed
        if m.seq in lowers and m.importance > MIN_IMPORTANCE
    ]
