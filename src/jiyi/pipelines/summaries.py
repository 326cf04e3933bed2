"""Summaries that exist: what of them still stands, and how they go when their messages do (SPEC R6, B6, F6)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jiyi.domain.forgetting import Erased
from jiyi.domain.memory import Memory, Status
from jiyi.domain.scope import Scope
from jiyi.domain.summary import Point, SessionSummary
from jiyi.pipelines.indexing import Indexing
from jiyi.ports import Kind, Unit, View

SUMMARISE = "summarise"
"""Kind of the job that makes summaries; the payload is that of `summarise.summarise`."""


def standing(unit: Unit, scope: Scope, summaries: Sequence[SessionSummary], now: datetime) -> list[SessionSummary]:
    """The summaries without the points that say only what is no longer believed, or is over; those left without any go.

    A point is judged by the memories that rest on its words, as a message is in recall (SPEC B6).
    """
    resting = unit.memories.resting_on(scope, {p.message for s in summaries for p in s.points})
    memories = {m.seq: m for m in unit.memories.get(scope, {seq for seqs in resting.values() for seq in seqs})}

    def stands(point: Point) -> bool:
        here = [memories[seq] for seq in resting.get(point.message, ()) if _rests_on(memories[seq], point)]
        return not here or any(m.status is Status.LIVE and not m.over(now) for m in here)

    kept = (replace(s, points=tuple(filter(stands, s.points))) for s in summaries)
    return [s for s in kept if s.points]


def _rests_on(memory: Memory, point: Point) -> bool:
    return any(e.message == point.message and e.start < point.end and e.end > point.start for e in memory.evidence)


def forget_summaries(unit: Unit, scope: Scope, messages: Collection[int], now: datetime, indexing: Indexing) -> int:
    """Take out every summary made from one of these messages, with its index, and have what is left summarised again.

    Returns:
        How many went.
    """
    gone = unit.summaries.erase(scope, messages)
    unit.text.remove(scope, Kind.SUMMARY, [indexing.summary(s) for s in gone])
    unit.vectors.remove(scope, Kind.SUMMARY, [s.seq for s in gone])
    for session in sorted({s.session for s in gone}):
        if unit.messages.window(scope, session=session, limit=1):  # else not even its name may stay
            unit.jobs.put(scope, SUMMARISE, {"session": session}, now)
    return len(gone)


@dataclass(frozen=True, slots=True)
class SummaryView(View):
    """Summaries as a view that forgetting reaches (SPEC F6)."""

    indexing: Indexing

    @property
    def name(self) -> str:
        return "summaries"

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        return forget_summaries(unit, scope, [b.before.seq for b in erased.messages], erased.at, self.indexing)

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        """They are kept, not cached: those that are stored stay, and the text view finds them again."""
        return 0
