"""Visitors: a scope that dies by itself, unless what it said is linked to somebody (SPEC S3).

open ─▶ talk as anybody does ─▶ link: its memories ─▶ judge in the user's scope, on nobody's word ─▶ GATEWAY
                             └▶ the time is over: all of it is forgotten
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from jiyi.domain.access import Visitor, read_visitor, visitor_name, visitor_token
from jiyi.domain.belief import Judgement, Observation, Verdict
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Evidence, Memory, Source, Status
from jiyi.domain.plans import Actor, Plan, Verb
from jiyi.domain.scope import Scope, check_name
from jiyi.errors import NotFound, PlanRefused
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.judging import Edited, Judging, Occasion
from jiyi.ports import Unit

VANISH = "vanish"
"""Kind of the job that forgets a visitor. A visitor is whoever has it in the schedule."""


def open_visitor(
    unit: Unit, secret: bytes, tenant: str, fingerprint: str | None, now: datetime, life: timedelta
) -> Visitor:
    """A visitor; the same one as before for a device that came already and whose time is not over.

    Raises:
        InputError: a tenant or fingerprint that cannot be one.
    """
    if fingerprint is not None:
        name = visitor_name(check_name("fingerprint", fingerprint), tenant, secret)
    else:
        name = visitor_name(secrets.token_hex(16), tenant, secret)
    scope = Scope(name, tenant)
    until = unit.schedule.get(scope, VANISH)
    if until is None:
        until = (now + life).replace(microsecond=0)
        unit.schedule.put(scope, VANISH, until)
    return Visitor(scope, until, visitor_token(scope, until, secret))


def find_visitor(unit: Unit, secret: bytes, token: str, now: datetime) -> Scope | None:
    """Whose token it is, while that visitor lives."""
    found = read_visitor(token, secret)
    if found is None or found[1] <= now or unit.schedule.get(found[0], VANISH) is None:
        return None
    return found[0]


def link(
    unit: Unit,
    scope: Scope,
    visitor: Scope,
    judging: Judging,
    gateway: Gateway,
    actor: Actor,
    confidence: ConfidencePolicy,
    now: datetime,
    *,
    dry_run: bool = False,
) -> Plan:
    """What a visitor is believed to have said, judged in the scope of the user that it turned out to be.

    A device may be anybody's: what was said there is a bare statement that is not the user's own. It ends nothing, whoever the
    user had that from: what it contradicts stays, and the user is asked. What the user forgot since does not come back.

    Raises:
        NotFound: the visitor's time is over. PlanRefused: it is of another tenant.
    """
    if visitor.tenant != scope.tenant or visitor == scope:
        raise PlanRefused("a visitor is linked to a user of its own tenant")
    if unit.schedule.get(visitor, VANISH) is None:
        raise NotFound("no such visitor: its time is over")
    said = unit.memories.listing(visitor, status=Status.LIVE)
    wanted = [_on_nobodys_word(m, visitor, confidence) for m in said if not m.over(now)]
    occasion = Occasion(Verb.LINK, actor, now, f"a visitor turned out to be this user; it had {len(wanted)} memories")
    fitting, asked, refused = list[Observation](), list[Memory](), list[Judgement]()
    for observation in gateway.admit(unit, scope, wanted):
        alone = judging.all(unit, scope, [observation], occasion, dry_run=True)
        ended, held = _ended(alone), any(c.after is not None and c.after.status is Status.HELD for c in alone.changes)
        if ended:
            told = f"{', '.join(m.id for m in ended)} would not stand any more"
            refused.append(Judgement(Verdict.REFUSE, "a-visitor-overwrites-nothing", (told,)))
        else:
            fitting.append(observation)
        asked += ended
        if held and observation.key:
            asked += [m for m in unit.memories.believed(scope, [observation.key]) if m.status is Status.LIVE]
    plan = judging.edited(unit, scope, _linked(fitting, asked), occasion, dry_run=dry_run)
    while _ended(plan) and fitting:  # two of them together may come to what neither does alone
        fitting.pop()
        plan = judging.edited(unit, scope, _linked(fitting, asked), occasion, dry_run=dry_run)
    # Linked again, nothing is told twice.
    return replace(plan, judgements=(*plan.judgements, *refused) if plan.changes else ())


def _linked(said: Sequence[Observation], asked: Sequence[Memory]) -> Edited:
    return Edited(said=tuple(said), doubted=tuple({m.seq: m for m in asked}.values()))


def _ended(plan: Plan) -> list[Memory]:
    return [c.before for c in plan.changes if c.ends_belief and c.before is not None]


def _on_nobodys_word(memory: Memory, visitor: Scope, confidence: ConfidencePolicy) -> Observation:
    trust = confidence.start(Source.IMPORTED)
    said = Evidence(
        0, 0, 0, memory.affirmed_at, visitor.user, source=Source.IMPORTED, trust=trust, until=memory.valid_to, own=False
    )
    return Observation(
        text=memory.text, category=memory.category, importance=memory.importance, source=Source.IMPORTED, start=trust,
        at=memory.affirmed_at, value=memory.value, triple=memory.triple, evidence=(said,), keywords=memory.keywords,
        language=memory.language, until=memory.valid_to,
    )  # fmt: skip
