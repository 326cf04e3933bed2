"""Working memory: what one conversation holds for as long as it goes on (SPEC F1, B4).

It is read from what is stored, so a restart loses nothing of it: the last turns, what the talk is about, and the
user's latest word where that contradicts what is believed. An hour after the last turn it is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.memory import Memory, Message, Source, Status
from jiyi.domain.relations import COMPANY, USER
from jiyi.domain.scope import Scope
from jiyi.ports import Unit
from jiyi.settings import WorkingPolicy


@dataclass(frozen=True, slots=True)
class Working:
    """`claims`: the user's word in this session that is not believed beyond it. `entities`: the latest first."""

    turns: tuple[Message, ...] = ()
    claims: tuple[Memory, ...] = ()
    entities: tuple[str, ...] = ()


def read_working(unit: Unit, scope: Scope, session: str, now: datetime, policy: WorkingPolicy) -> Working:
    """The working memory of a session at `now`; empty once the session has been idle for too long."""
    turns = unit.messages.window(scope, session=session, latest=True, limit=policy.turns)
    claims = [m for m in unit.memories.unsettled(scope) if claimed_in(m, session)]
    said = [m.at for m in turns] + [e.at for m in claims for e in m.evidence if e.session == session]
    if not said or now - max(said) > policy.idle:
        return Working()
    return Working(tuple(turns), tuple(claims), _entities(unit, scope, turns, policy.entities))


def claimed_in(memory: Memory, session: str) -> bool:
    """Whether it is the user's own claim of this session that waits to be settled."""
    if not memory.never_stood or memory.source not in (Source.DECLARED, Source.VERIFIED):
        return False
    return any(e.session == session for e in memory.evidence)


def _entities(unit: Unit, scope: Scope, turns: Sequence[Message], limit: int) -> tuple[str, ...]:
    """Who and what the memories of these turns are about."""
    resting = unit.memories.resting_on(scope, [m.seq for m in turns])
    memories = {m.seq: m for m in unit.memories.get(scope, {s for seqs in resting.values() for s in seqs})}
    named: dict[str, None] = {}
    for turn in reversed(turns):
        for memory in (memories[seq] for seq in reversed(resting.get(turn.seq, [])) if seq in memories):
            if memory.triple is None or memory.status not in (Status.LIVE, Status.HELD):
                continue
            names = (memory.triple.subject, memory.triple.object)
            named |= dict.fromkeys(n for n in names if n not in (USER, COMPANY))
    return tuple(named)[:limit]
