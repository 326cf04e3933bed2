"""History read in order: a session, a span of time, or the turns around one (SPEC R5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.memory import Memory, Message, memory_id, parse_id
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.recalling.facts import FactFinder
from jiyi.pipelines.recalling.items import Recollection
from jiyi.ports import Unit


@dataclass(frozen=True, slots=True)
class History:
    """Messages, and the recollection they come from when they were searched for by words."""

    messages: tuple[Message, ...]
    recollection: Recollection | None = None


def read_history(
    unit: Unit,
    scope: Scope,
    *,
    session: str | None,
    around: str | None,
    before: str | None = None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> History:
    """Turns in order of time; the latest `limit` of them, of those before `before` where it is given; or half before and half after
    `around`. Around a summary: the turns it was made from, and where they are too many those it quotes, with their neighbours.

    Raises:
        NotFound: `around` names no message and no summary here, or `before` no message.
    """
    if limit < 1:
        raise InputError(f"limit = {limit}: ask for 1 message or more")
    if around is None:
        place = None if before is None else _place(_turn(unit, scope, before))
        found = unit.messages.window(
            scope, session=session, since=since, until=until, before=place, latest=True, limit=limit
        )  # fmt: skip
        return History(tuple(found))
    if around[:1] == "s":
        found_summary = unit.summaries.get(scope, [parse_id(around, "s")])
        if not found_summary:
            raise NotFound(f"no summary {around} here", "summary")
        return History(tuple(_opened(unit, scope, found_summary[0], limit)))
    centre = _turn(unit, scope, around)
    place, here = _place(centre), centre.session
    half = (limit - 1) // 2
    earlier = unit.messages.window(scope, session=here, before=place, latest=True, limit=half) if half else []
    after = unit.messages.window(scope, session=here, after=place, limit=limit - 1 - half) if limit - 1 - half else []
    return History((*earlier, centre, *after))


def _turn(unit: Unit, scope: Scope, handle: str) -> Message:
    found = unit.messages.get(scope, [parse_id(handle, "h")])
    if not found or found[0].forgotten:
        raise NotFound(f"no history message {handle} here", "message")
    return found[0]


def _place(message: Message) -> tuple[datetime, int]:
    return message.at, message.seq


def _opened(unit: Unit, scope: Scope, summary: SessionSummary, limit: int) -> list[Message]:
    turns = [m for m in unit.messages.get(scope, summary.messages) if not m.forgotten]
    turns.sort(key=lambda m: (m.at, m.seq))
    cited = {p.message for p in summary.points}
    quoted = [i for i, m in enumerate(turns) if m.seq in cited] or [0]
    near = sorted(range(len(turns)), key=lambda i: (min(abs(i - q) for q in quoted), i))[:limit]
    return [turns[i] for i in sorted(near)]


def read_versions(unit: Unit, scope: Scope, what: str, facts: FactFinder) -> list[Memory]:
    """The values a fact has had, oldest first: of the key of memory `m42`, or of the relations that `what` names.

    A memory without a key is followed through what replaced it and what it replaced.

    Raises:
        NotFound: `what` looks like an id, and there is no such memory.
    """
    if not (what[:1] == "m" and what[1:].isdigit()):
        names = set(facts.asked(what))
        chain = [m for m in unit.memories.listing(scope, status=None) if m.triple and m.triple.relation in names]
        return sorted(chain, key=oldest_first)
    found = unit.memories.get(scope, [parse_id(what, "m")])
    if not found:
        raise NotFound(f"no memory {memory_id(parse_id(what, 'm'))} here", "memory")
    if found[0].key:
        return sorted(unit.memories.believed(scope, [found[0].key]), key=oldest_first)
    return sorted(_linked(unit.memories.listing(scope, status=None), found[0]), key=oldest_first)


def _linked(memories: list[Memory], start: Memory) -> list[Memory]:
    """Everything that is joined to `start` by "was replaced by", either way."""
    chain = {start.seq: start}
    grown = True
    while grown:
        grown = False
        for memory in memories:
            linked = memory.successor in chain or any(m.successor == memory.seq for m in chain.values())
            if linked and memory.seq not in chain:
                chain[memory.seq] = memory
                grown = True
    return list(chain.values())


def oldest_first(memory: Memory) -> tuple[datetime, bool, datetime, int]:
    """Sorts versions. Two can begin at one instant (从 A 改成 B tells us of both): the one that ended comes first."""
    return memory.valid_from, memory.valid_to is None, memory.valid_to or memory.valid_from, memory.seq
