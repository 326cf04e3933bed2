"""Why this, why not that (SPEC R10): a trace read back, and what became of one thing in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from jiyi.domain.memory import Memory, Message, Status, Tier, parse_id
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.domain.traces import Considered, Trace
from jiyi.errors import NotFound
from jiyi.pipelines.indexing import Indexing
from jiyi.ports import Unit

Told: TypeAlias = Memory | Message | SessionSummary


_NAMED = {"m": "memory", "h": "message", "s": "summary"}
KIND_NAMES = {"m": {"fact", "memory"}, "h": {"message"}, "s": {"summary"}}


class Stage(StrEnum):
    """How far a thing came in a recall."""

    SHOWN = "shown"  # in the answer
    CUT = "cut"  # ranked, but below what was asked for or fitted
    LEFT_OUT = "left out"  # found, and dropped for a reason
    FILTERED = "filtered"  # of a kind that was not asked for
    OUTRANKED = "outranked"  # holds words of the question, but so many others hold more
    UNMATCHED = "unmatched"  # no channel found it
    ABSENT = "absent"  # it was not there then, or no longer believed


@dataclass(frozen=True, slots=True)
class Account:
    """What became of one memory, message or summary: the stage that it reached, and the reason in words."""

    id: str
    stage: Stage
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A trace, and the account of the one thing that was asked about, if any was."""

    trace: Trace
    account: Account | None = None


def explain(unit: Unit, scope: Scope, trace_id: str, why: str | None, indexing: Indexing) -> Explanation:
    """Raises: NotFound: the trace is not kept (any more), or `why` names nothing that is here."""
    trace = unit.traces.get(scope, trace_id)
    if trace is None:
        raise NotFound(_no_trace(trace_id), "trace")
    return Explanation(trace, None if why is None else _account(unit, scope, trace, why, indexing))


def named(handle: str) -> str | None:
    """What an id is of that can be asked about in a trace: "memory", "message", "summary"; None for any other text."""
    return _NAMED.get(handle[:1]) if handle[1:].isdecimal() else None


def _no_trace(given: str) -> str:
    if not given.strip():
        return "no trace is named: one is called like t1a2b3c4d"
    if kind := named(given):
        return f"{given} is a {kind}, and a trace is called like t1a2b3c4d: name one, and {given} as what it is asked about"
    return f"no trace {given} here: traces are kept for a while only, and dropped by any forgetting; recall again"


def _account(unit: Unit, scope: Scope, trace: Trace, item: str, indexing: Indexing) -> Account:
    if item in trace.always:
        return Account(
            item, Stage.SHOWN, "stands in the block whatever is asked: in the profile or among what is ahead"
        )
    place = trace.place(item)
    if place is not None:
        return _ranked(trace, trace.considered[place - 1], place)
    left = next((one for one in trace.left_out if one.id == item), None)
    if left is not None:
        return Account(item, Stage.LEFT_OUT, left.reason)
    return _unranked(trace, item, _find(unit, scope, item), indexing)


def _ranked(trace: Trace, found: Considered, place: int) -> Account:
    score = f"{found.score:.3f}"
    if found.parts:
        score += " = " + " ".join(f"{value:+.3f} {name}" for name, value in found.parts)
    told = f"place {place} of {len(trace.considered)}, score {score}"
    if found.why:
        told += f" ({found.why})"
    if found.shown:
        return Account(found.id, Stage.SHOWN, told)
    room = f"the answer held {sum(c.shown for c in trace.considered)}"
    return Account(found.id, Stage.CUT, f"{told}; {room}")


def _find(unit: Unit, scope: Scope, item: str) -> Told:
    kind = item[:1]
    seq = parse_id(item, kind if kind in ("m", "h", "s") else "m")
    found: Mapping[str, list[Memory] | list[Message] | list[SessionSummary]] = {
        "m": unit.memories.get(scope, [seq]),
        "h": [m for m in unit.messages.get(scope, [seq]) if not m.forgotten],
        "s": unit.summaries.get(scope, [seq]),
    }
    if not found[kind]:
        raise NotFound(f"there is no {item} here")
    return found[kind][0]


def _unranked(trace: Trace, item: str, told: Told, indexing: Indexing) -> Account:
    """It left no mark in the trace, so its present state says why."""
    if isinstance(told, Memory):
        if told.learnt_at > trace.at:
            return Account(item, Stage.ABSENT, f"was learnt after this recall, at {told.learnt_at.isoformat()}")
        if told.status is not Status.LIVE:
            return Account(item, Stage.ABSENT, f"is not believed: {told.status}")
        if told.tier is Tier.ARCHIVE:
            return Account(item, Stage.ABSENT, "is in the archive, which is searched only when asked for")
        document = indexing.memory(told)
    elif isinstance(told, Message):
        document = indexing.message(told)
    else:
        document = indexing.summary(told)
    if not KIND_NAMES[item[:1]] & set(trace.kinds):
        return Account(item, Stage.FILTERED, f"only these kinds were asked for: {', '.join(trace.kinds)}")
    if not trace.query:
        return Account(item, Stage.UNMATCHED, "the words of the question were not kept, so they cannot be compared")
    shared = [t for t in trace.terms if t in document.terms]
    if not shared:
        asked = ", ".join(trace.terms) or "nothing that can select"
        return Account(item, Stage.UNMATCHED, f"holds none of the words that were looked for ({asked})")
    return Account(
        item,
        Stage.OUTRANKED,
        f"holds {', '.join(shared)}, but a filter or better matches kept it from being a candidate",
    )
