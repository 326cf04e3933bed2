"""Summaries are made: read the messages ─▶ cut into units ─▶ weigh ─▶ choose ─▶ store and index (SPEC R6).

Always from messages, never from a summary, so nothing drifts: a summary made again after more was said is the one that
would have been made of it all at once. Made when a session ends or falls silent, and of each full block of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jiyi.domain.language import language_of
from jiyi.domain.memory import Language, Message, Role
from jiyi.domain.scope import Scope
from jiyi.domain.summary import WHOLE, Point, SessionSummary, SummaryPolicy
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.summaries import SUMMARISE
from jiyi.pipelines.summarising.choosing import ChoicePolicy, choose
from jiyi.pipelines.summarising.cues import Cues
from jiyi.pipelines.summarising.units import Statement, units
from jiyi.ports import Kind, SessionInfo, Unit

METHOD = "rules/1"
"""Raise the number with any change of what the rules choose."""

CHUNK = 500
EVERY = 1 << 30


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes points out of messages by rules alone; pure. Built once, serves all threads."""

    cues: Cues
    indexing: Indexing
    distiller: Distiller
    redaction: Redaction
    policy: SummaryPolicy
    weights: ChoicePolicy = field(default_factory=ChoicePolicy)

    def points(self, messages: Sequence[Message]) -> tuple[Language, tuple[Point, ...]]:
        """What is worth telling of messages in the order of time, and in which language."""
        segmenter = self.indexing.segmenter
        found = [u for m in messages for u in units(m, self.cues, self._statements, segmenter.fold)]
        language = self._language(messages)
        return language, choose(found, language, segmenter, self.policy, self.weights)

    def _statements(self, message: Message) -> list[Statement]:
        read = self.distiller.distil(self.redaction.legible(message), zone=message.at.tzinfo or UTC)
        return [Statement(e.start, e.end, o.category) for o in read if self.redaction.tells(o) for e in o.evidence]

    def _language(self, messages: Sequence[Message]) -> Language:
        """Of the user's words; commands and error text are English in every language."""
        said = [m for m in messages if m.role is Role.USER] or messages
        words = []
        for message in said:
            text = message.text
            for detail in reversed(self.cues.details.find(text)):
                text = text[: detail.start] + " " + text[detail.end :]
            words.append(text)
        return language_of("\n".join(words), language_of("\n".join(m.text for m in messages)))


# ------------------------------------------------------------------ when


def queue_summaries(unit: Unit, scope: Scope, fresh: Sequence[Message], now: datetime, policy: SummaryPolicy) -> None:
    """What newly stored messages make due: a block that is full, and, once nobody has spoken for a while, their session."""
    for session in dict.fromkeys(m.session for m in fresh):
        if len(_next_block(unit, scope, session, policy)) == policy.block:
            unit.jobs.put(scope, SUMMARISE, {"session": session, "blocks": True}, now)
    unit.schedule.sooner(scope, SUMMARISE, now + policy.idle)


def queue_session(unit: Unit, scope: Scope, session: str, now: datetime) -> None:
    """Queue the summary of a session that is over. One that never was changes nothing."""
    if unit.messages.window(scope, session=session, limit=1):
        unit.jobs.put(scope, SUMMARISE, {"session": session}, now)


def _out_of_date(unit: Unit, scope: Scope) -> list[SessionInfo]:
    """The sessions whose summary is missing, or lacks messages; oldest first."""
    covered = unit.summaries.covered(scope)
    sessions = reversed(unit.messages.sessions(scope, EVERY))
    return [s for s in sessions if covered.get(s.session) != (s.messages, s.last_at)]


# ------------------------------------------------------------------ how


def summarise(unit: Unit, scope: Scope, payload: Mapping[str, Any], now: datetime, summariser: Summariser) -> None:
    """The summarise job.

    Args:
        payload: `{"session": name}` makes all summaries of a session; with `"blocks": true` only those of blocks that
            are full and have none; `{}`, as the schedule gives it, queues the sessions that fell silent.
    """
    session = payload.get("session")
    if session is None:
        _queue_silent(unit, scope, now, summariser.policy)
    elif payload.get("blocks"):
        _summarise_blocks(unit, scope, session, now, summariser)
    else:
        _summarise_session(unit, scope, session, now, summariser)


def _queue_silent(unit: Unit, scope: Scope, now: datetime, policy: SummaryPolicy) -> None:
    for info in _out_of_date(unit, scope):
        if info.last_at + policy.idle <= now:
            unit.jobs.put(scope, SUMMARISE, {"session": info.session}, now)
        else:
            unit.schedule.sooner(scope, SUMMARISE, info.last_at + policy.idle)


def _summarise_session(unit: Unit, scope: Scope, session: str, now: datetime, summariser: Summariser) -> None:
    messages, size = _messages(unit, scope, session), summariser.policy.block
    spans = {WHOLE: messages} if messages else {}
    if len(messages) > size:
        # Of a session that is one block at most, the whole says it all.
        for number in range(len(messages) // size):
            spans[number + 1] = messages[number * size : (number + 1) * size]
    made = {s.block: s for s in unit.summaries.listing(scope, session=session)}
    for block, span in spans.items():
        _make(unit, scope, session, block, span, made.get(block), now, summariser)
    _remove(unit, scope, [s for s in made.values() if s.block not in spans], summariser.indexing)


def _summarise_blocks(unit: Unit, scope: Scope, session: str, now: datetime, summariser: Summariser) -> None:
    size = summariser.policy.block
    while len(span := _next_block(unit, scope, session, summariser.policy)) == size:
        last = unit.summaries.last_block(scope, session)
        _make(unit, scope, session, 1 if last is None else last.block + 1, span, None, now, summariser)


def _next_block(unit: Unit, scope: Scope, session: str, policy: SummaryPolicy) -> list[Message]:
    """The messages after the last block that has a summary, as many as a block has."""
    last = unit.summaries.last_block(scope, session)
    after = None
    if last is not None:
        after = max((m.at, m.seq) for m in unit.messages.get(scope, last.messages))
    return unit.messages.window(scope, session=session, after=after, limit=policy.block)


def _make(
    unit: Unit,
    scope: Scope,
    session: str,
    block: int,
    messages: Sequence[Message],
    former: SessionSummary | None,
    now: datetime,
    summariser: Summariser,
) -> None:
    """A summary of the messages, in the place of the former one and under its number; the same again changes nothing."""
    language, points = summariser.points(messages)
    summary = SessionSummary(
        seq=unit.summaries.next_seq(scope) if former is None else former.seq,
        session=session,
        block=block,
        messages=tuple(sorted(m.seq for m in messages)),
        first_at=messages[0].at.astimezone(UTC),
        last_at=messages[-1].at.astimezone(UTC),
        language=language,
        points=points,
        made_at=now.astimezone(UTC),
        method=METHOD,
    )
    if former is not None and former.says_what(summary):
        return
    _remove(unit, scope, [former] if former else [], summariser.indexing)
    unit.summaries.write(scope, [summary])
    unit.text.add(scope, Kind.SUMMARY, [summariser.indexing.summary(summary)])


def _remove(unit: Unit, scope: Scope, summaries: Sequence[SessionSummary], indexing: Indexing) -> None:
    unit.text.remove(scope, Kind.SUMMARY, [indexing.summary(s) for s in summaries])
    unit.vectors.remove(scope, Kind.SUMMARY, [s.seq for s in summaries])
    unit.summaries.remove(scope, [s.seq for s in summaries])


def _messages(unit: Unit, scope: Scope, session: str) -> list[Message]:
    found: list[Message] = []
    while some := unit.messages.window(
        scope, session=session, after=(found[-1].at, found[-1].seq) if found else None, limit=CHUNK
    ):
        found += some
    return found
