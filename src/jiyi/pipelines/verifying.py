"""Has anything that was forgotten come back? (SPEC F6)

After every job only what the job wrote is looked at: plans numbered above the last one before it, and messages that came
since. Each of their texts is hashed with the scope's key and looked up among the tombstones; a scope in which nothing was
ever forgotten costs one look at its receipts. On request, and in the health check, everything is looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.memory import Memory, Message, memory_id, message_handle, plan_id
from jiyi.domain.scope import Scope
from jiyi.pipelines.forgetting import all_messages
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.tombstones import Tombs
from jiyi.ports import Check, Unit
from jiyi.text.passages import Folding

log = logging.getLogger("jiyi.forgetting")

FORGET_AGAIN = "run `jiyi doctor --fix`: it is forgotten again"


@dataclass(frozen=True, slots=True)
class Place:
    """Up to where a scope had been written."""

    plan: int
    message: int


def place_of(unit: Unit, scope: Scope) -> Place:
    return Place(unit.ledger.last_seq(scope), unit.messages.last_seq(scope))


def came_back(unit: Unit, scope: Scope, folding: Folding, since: Place | None = None) -> list[str]:
    """The ids of messages, memories and plans that hold what was forgotten; only of those written since, if it is given."""
    if unit.forgotten.horizon(scope) is None:
        return []
    tombs = Tombs(unit, scope, folding, whole=since is None)
    messages: Iterable[Message] = all_messages(unit, scope)
    memories: Iterable[Memory] = unit.memories.listing(scope, status=None)
    entries = unit.ledger.entries(scope, after=0 if since is None else since.plan)
    if since is not None:
        messages = unit.messages.after_seq(scope, since.message, unit.messages.last_seq(scope) + 1)
        memories = [c.after for e in entries for c in e.plan.changes if c.after is not None]
    pictures = ((e.seq, m) for e in entries for c in e.plan.changes for m in (c.before, c.after) if m is not None)
    back = [message_handle(m.seq) for m in messages if tombs.hits(m)]
    back += [memory_id(m.seq) for m in memories if tombs.holds(m)]
    back += [plan_id(seq) for seq, picture in pictures if tombs.holds(picture)]
    return list(dict.fromkeys(back))


def verify_after_job(unit: Unit, scope: Scope, gateway: Gateway, since: Place, now: datetime) -> list[str]:
    """What the job that just ran brought back. The receipts say that they were verified, when it wrote anything."""
    if place_of(unit, scope) == since:
        return []
    back = came_back(unit, scope, gateway.indexing.folding, since)
    if back:
        log.error("%s of %s hold what was forgotten: %s", ", ".join(back), scope, FORGET_AGAIN)
    if unit.forgotten.horizon(scope) is not None:
        gateway.note_verified(unit, scope, len(back), now, whole=False)
    return back


def forgotten_check(unit: Unit, folding: Folding) -> Check:
    """One line of the health check over all scopes; ids only, no words."""
    problems, receipts = [], 0
    for scope in unit.scopes():
        receipts += len(unit.forgotten.receipts(scope))
        if back := came_back(unit, scope, folding):
            problems.append(f"{scope}: {', '.join(back[:5])}{' and more' if len(back) > 5 else ''}")
    if problems:
        return Check("forgotten", False, f"what was forgotten is back in {'; '.join(problems)}", FORGET_AGAIN)
    return Check(
        "forgotten", True, f"{receipts} receipts, nothing came back" if receipts else "nothing was forgotten yet"
    )
