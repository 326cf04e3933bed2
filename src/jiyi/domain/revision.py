"""From a verdict to the changes that carry it out: one place knows how memories move (SPEC B2, B6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from jiyi.domain.belief import OUTRIGHT, Judgement, Mode, Observation, Verdict, outranks
from jiyi.domain.memory import Memory, Status, Triple
from jiyi.domain.plans import Change

MIN_IMPORTANCE = 1


def revise(
    observation: Observation,
    judgement: Judgement,
    believed: Sequence[Memory],
    new_seqs: Iterator[int],
    now: datetime,
    old_text: str = "",
    *,
    many: bool = False,
) -> tuple[Change, ...]:
    """The changes that a judgement asks for, in the order in which they happen.

    Args:
        believed: what the judgement was made against.
        new_seqs: fresh memory numbers; one is taken for each memory added.
        now: when we learn it (transaction time); `observation.at` is when it was said.
        old_text: how the old value reads as a memory, where the user named one; empty otherwise.
        many: whether the relation holds many values at a time.
    """
    if judgement.verdict is Verdict.REFUSE:
        return ()
    by_seq = {m.seq: m for m in believed}
    outright = observation.mode in OUTRIGHT
    ended = [by_seq[seq] for seq in judgement.ends]
    changes: list[Change] = []

    if judgement.same is not None:
        old = by_seq[judgement.same]
        current = _restated(old, observation, outright)
        if current != old:
            changes.append(Change(old, current))
    else:
        current = _new(observation, judgement, by_seq, next(new_seqs), now, outright)
        if observation.mode is Mode.CORRECTION and ended:
            current = replace(current, valid_from=min(observation.at, *(m.valid_from for m in ended)))
        changes.append(Change(None, current))
    if outright and old_text and not _knows([*believed, current], observation, many):
        changes.append(Change(None, _unknown_old(observation, current, next(new_seqs), now, old_text)))

    for memory in ended:
        changes.append(Change(memory, _ended(memory, observation, current, now)))
    for seq in judgement.lowers:
        memory = by_seq[seq]
        if memory.importance > MIN_IMPORTANCE:
            changes.append(Change(memory, replace(memory, importance=memory.importance - 1)))
    return tuple(changes)


def _new(
    observation: Observation, judgement: Judgement, by_seq: dict[int, Memory], seq: int, now: datetime, outright: bool
) -> Memory:
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
        changed_at=observation.at if outright else None,
        evidence=observation.evidence,
        keywords=observation.keywords,
        kept=observation.kept,
        language=observation.language,
        valid_to=observation.until,
    )
    if judgement.ended_by is not None:
        later = by_seq[judgement.ended_by]
        return replace(memory, status=Status.ENDED, valid_to=later.changed_at, retired_at=now, successor=later.seq)
    return memory


def _restated(memory: Memory, observation: Observation, outright: bool) -> Memory:
    """Restating refreshes (SPEC B1). A weaker source only adds its evidence; a stronger one takes the memory over."""
    memory = replace(
        memory,
        valid_from=min(memory.valid_from, observation.at),
        importance=max(memory.importance, observation.importance),
        kept=memory.kept or observation.kept,
        evidence=tuple(sorted({*memory.evidence, *observation.evidence})),
        keywords=tuple(dict.fromkeys(memory.keywords + observation.keywords)),
        valid_to=_until(memory, observation),
    )
    if outranks(memory.source, observation.source):
        return memory
    changed_at = observation.at if outright else None
    stronger = outranks(observation.source, memory.source)
    if stronger:
        # What the weaker one said of time must not decide against what others, as strong as this one, say.
        affirmed_at = observation.at
    else:
        affirmed_at = max(memory.affirmed_at, observation.at)
        changed_at = max((at for at in (memory.changed_at, changed_at) if at is not None), default=None)
    return replace(
        memory,
        affirmed_at=affirmed_at,
        changed_at=changed_at,
        source=observation.source if stronger or observation.start >= memory.start else memory.source,
        start=max(memory.start, observation.start),
    )


def _until(memory: Memory, observation: Observation) -> datetime | None:
    """When a restated memory is over by itself: as late as anybody says, and never when somebody names no end."""
    if memory.status is not Status.LIVE or memory.valid_to is None:
        return memory.valid_to
    return None if observation.until is None else max(memory.valid_to, observation.until)


def _ended(memory: Memory, observation: Observation, successor: Memory, now: datetime) -> Memory:
    status = Status.RETRACTED if observation.mode is Mode.CORRECTION else Status.ENDED
    # Who says 从 A 换成 B tells of A too: it is evidence of both, whichever of them was heard of first.
    named = observation.evidence if memory.value == observation.replaces else ()
    return replace(
        memory,
        status=status,
        valid_to=max(observation.at, memory.valid_from),
        retired_at=now,
        successor=successor.seq,
        evidence=tuple(sorted({*memory.evidence, *named})),
    )


def _knows(believed: Sequence[Memory], observation: Observation, many: bool) -> bool:
    """Whether the old value is known to have held; that it did not, or its opposite, is other knowledge.

    Of one value the new one tells when the old ended last. Of many values only the old one's own history does, so it
    must be known up to now: whoever went back to it in between, and says so late, is not believed to use it still.
    """
    return any(
        m.key == observation.key
        and m.value == observation.replaces
        and not (m.triple and m.triple.negated)
        and (not many or m.status is Status.LIVE or m.valid_to is None or m.valid_to >= observation.at)
        for m in believed
    )


def _unknown_old(observation: Observation, successor: Memory, seq: int, now: datetime, text: str) -> Memory:
    """从 MySQL 换成 … tells us about MySQL too, even when we had never heard of it."""
    assert observation.triple is not None
    triple = Triple(observation.triple.subject, observation.triple.relation, observation.replaces_text)
    return replace(
        successor,
        seq=seq,
        text=text,
        triple=triple,
        value=observation.replaces,
        evidence=observation.evidence,
        source=observation.source,
        start=observation.start,
        affirmed_at=observation.at,
        learnt_at=now,
        # We know when it ended, not when it began: the moment it was told is the latest it can have been.
        valid_from=observation.at,
        valid_to=observation.at,
        retired_at=now,
        changed_at=None,
        status=Status.RETRACTED if observation.mode is Mode.CORRECTION else Status.ENDED,
        successor=successor.seq,
        keywords=(),
    )
