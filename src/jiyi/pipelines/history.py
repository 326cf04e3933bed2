"""History read in order: a session, a span of time, or the turns around one (SPEC R5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.memory import Message, parse_id
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.recall import Recollection
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
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> History:
    """Turns in order of time; the latest `limit` of them, or half before and half after `around`.

    Raises:
        NotFound: `around` names no message here.
    """
    if limit < 1:
        raise InputError(f"limit = {limit}: ask for 1 message or more")
    if around is None:
        found = unit.messages.window(scope, session=session, since=since, until=until, latest=True, limit=limit)
        return History(tuple(found))
    centre = unit.messages.get(scope, [parse_id(around, "h")])
    if not centre or centre[0].forgotten:
        raise NotFound(f"no history message {around} here")
    place, here = (centre[0].at, centre[0].seq), centre[0].session
    half = (limit - 1) // 2
    before = unit.messages.window(scope, session=here, before=place, latest=True, limit=half) if half else []
    after = unit.messages.window(scope, session=here, after=place, limit=limit - 1 - half) if limit - 1 - half else []
    return History((*before, centre[0], *after))
