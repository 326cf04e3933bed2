"""Cut sessions into the segments that a language model reads, one call each (SPEC C7).

A segment is closed when it holds enough messages or characters, when its session has been silent for a while, or when the
session ends. So no message is left out, none is read twice, and a talk of short turns costs few calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from jiyi.domain.memory import Message, Role
from jiyi.domain.scope import Scope
from jiyi.ports import Lane, Unit
from jiyi.settings import ModelPolicy

SEGMENT, CLOSE, MODEL = "segment", "close", "model"
"""Kinds of jobs: cut what came in; close a segment after a silence; have a model read one."""

READ = frozenset({Role.USER, Role.ASSISTANT, Role.OTHER})
"""What a model reads. System prompts and the output of tools are neither evidence nor needed to understand the talk."""
SPEAKING = frozenset({Role.USER, Role.OTHER})


def cut_segments(unit: Unit, scope: Scope, first: int, last: int, now: datetime, policy: ModelPolicy) -> None:
    """The segment job: full segments of the sessions that these messages belong to are queued for reading, and what is
    left of each is to be closed when its session falls silent."""
    fresh = [m for m in unit.messages.after_seq(scope, first - 1, last - first + 1) if m.seq <= last]
    for session, opening in {m.session: m.seq for m in reversed(fresh)}.items():
        if unit.segments.open_from(scope, session) is None:
            unit.segments.open_at(scope, opening)
        rest = _queue_full(unit, scope, pending(unit, scope, session), now, policy)
        if rest:
            unit.segments.open_at(scope, rest[0].seq)
            unit.schedule.sooner(scope, CLOSE, min(rest[-1].at, now) + timedelta(seconds=policy.quiet_seconds))


def close_segment(unit: Unit, scope: Scope, session: str, now: datetime, policy: ModelPolicy) -> None:
    """The session is over, or silent: all that is left of it is queued for reading."""
    rest = _queue_full(unit, scope, pending(unit, scope, session), now, policy)
    if rest:
        _queue(unit, scope, rest, now)


def close_silent(unit: Unit, scope: Scope, now: datetime, policy: ModelPolicy) -> None:
    """The close job: segments of sessions that fell silent are closed; for the others it comes again."""
    for session in unit.segments.opened(scope):
        for latest in pending(unit, scope, session)[-1:]:
            quiet = timedelta(seconds=policy.quiet_seconds)
            # What claims to be from tomorrow is not waited for.
            if now < latest.at + quiet and latest.at <= now + quiet:
                unit.schedule.sooner(scope, CLOSE, latest.at + quiet)
            else:
                close_segment(unit, scope, session, now, policy)


def pending(unit: Unit, scope: Scope, session: str) -> list[Message]:
    """The messages of a session that are in no segment yet, by number."""
    start = unit.segments.open_from(scope, session)
    if start is None:
        return []
    count = unit.messages.last_seq(scope) - start + 1
    return [m for m in unit.messages.after_seq(scope, start - 1, max(count, 0)) if m.session == session]


def messages_of(unit: Unit, scope: Scope, first: int, last: int) -> list[Message]:
    """The messages of a segment that a model reads: those of the last one's session. Forgotten ones are left out."""
    found = [m for m in unit.messages.after_seq(scope, first - 1, last - first + 1) if m.seq <= last]
    session = next((m.session for m in unit.messages.get(scope, [last])), None)
    return [m for m in found if m.session == session and m.role in READ and not m.digest]


def _queue_full(
    unit: Unit, scope: Scope, messages: Sequence[Message], now: datetime, policy: ModelPolicy
) -> list[Message]:
    """Queue each full segment; gives the messages that fill none."""
    held: list[Message] = []
    for message in messages:
        chars = sum(len(m.text) for m in held)
        if held and chars + len(message.text) > policy.segment_chars:
            _queue(unit, scope, held, now)
            held = []
        held.append(message)
        if sum(m.role in READ for m in held) >= policy.segment_messages:
            _queue(unit, scope, held, now)
            held = []
    return held


def _queue(unit: Unit, scope: Scope, messages: Sequence[Message], now: datetime) -> None:
    unit.segments.cut_after(scope, messages[-1].seq)
    # Where nobody but the assistant speaks there is nothing to learn about the user (SPEC C4).
    if any(m.role in SPEAKING for m in messages):
        unit.jobs.put(scope, MODEL, {"first": messages[0].seq, "last": messages[-1].seq}, now, lane=Lane.SLOW)
