"""Doing what is asked under a key once, however often it is asked (SPEC S5).

That it is done is written in the same transaction as what it does, so that no crash can part the two. Only numbers are
kept; the answer to a request that comes again is read from the ledger and the messages as they are then, and so tells
nothing that was forgotten since.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from jiyi.domain.encoding import instant, micros
from jiyi.domain.forgetting import Erased
from jiyi.domain.memory import parse_id
from jiyi.domain.once import DoneOnce, OncePolicy
from jiyi.domain.plans import Actor, GatewayPolicy, Plan, Verb, impact
from jiyi.domain.scope import Scope, check_name
from jiyi.errors import ConflictingRequest, NotFound
from jiyi.pipelines.gateway import ForgetReceipt, Receipt
from jiyi.pipelines.observe import Observed
from jiyi.ports import Store, Unit, View

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and the key that stands for it, hashed with a secret of the database: neither can be read from there. `call`
    is the name of what is called, which says nothing of what is asked and is kept also when something is forgotten. So is
    `bound`, the request hashed together with a key that nobody can guess: whoever tries requests has to know the key too, and
    it stands nowhere."""

    name: str
    key: bytes
    request: bytes
    call: str = ""
    bound: str = ""

    @classmethod
    def of(cls, key: str, request: bytes, secret: bytes, call: str = "", by: str = "") -> Asked:
        """Raises: InputError: a key that cannot be one."""
        name = check_name("the key of a request", key)
        # Of several that write to one memory, each makes up keys of its own (SPEC S6).
        told = f"{by}\0{name}" if by else name
        hashed = hmac.digest(secret, b"once\0" + told.encode(), hashlib.sha256)
        if not request:
            return cls(name, hashed, b"", call)
        asked = hmac.digest(secret, b"asked\0" + request, hashlib.sha256)
        both = b"asked under\0" + told.encode() + b"\0" + request
        bound = hmac.digest(secret, both, hashlib.sha256).hex() if nobody_guesses(name) else ""
        return cls(name, hashed, asked, call, bound)

    def differs(self, before: DoneOnce) -> bool:
        """Whether the key stood for something else before, as far as that is known."""
        pairs = (
            (before.request, self.request),
            (before.outcome.get("call", ""), self.call),
            (before.outcome.get("asked", ""), self.bound),
        )
        return any(was and now and was != now for was, now in pairs)

    def done(self, outcome: Mapping[str, Any], at: datetime) -> DoneOnce:
        kept = {name: value for name, value in (("call", self.call), ("asked", self.bound)) if value}
        return DoneOnce(self.key, b"" if self.bound else self.request, {**outcome, **kept}, at)


RANDOM = re.compile(
    r"(?<![0-9a-zA-Z])(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32,}"
    r"|(?=[0-9a-zA-Z]*[0-9])(?=[0-9a-zA-Z]*[a-z])(?=[0-9a-zA-Z]*[A-Z])[0-9a-zA-Z]{22,})(?![0-9a-zA-Z])"
)
"""A UUID, or as much in other letters."""
VARIED = 8
"""Different characters in it at the least: a zero with a one behind it is no random number."""


def nobody_guesses(key: str) -> bool:
    """Whether a key holds what was drawn by lot."""
    return any(len(set(found[0])) > VARIED for found in RANDOM.finditer(key))


def write_once(
    store: Store,
    scope: Scope,
    asked: Asked,
    work: Callable[[Unit], T],
    now: datetime,
    policy: OncePolicy,
    gateway: GatewayPolicy,
) -> T:
    """`store.write(work)`, or what it came to when it was done before.

    Raises:
        ConflictingRequest: the key stands for another request.
    """

    def once(unit: Unit) -> T:
        before = unit.once.get(scope, asked.key)
        if before is not None:
            if asked.differs(before):
                raise ConflictingRequest(asked.name)
            return cast(T, _told_again(unit, scope, before, gateway))
        result = work(unit)
        outcome = _outcome(result)
        if not outcome["paused"]:  # SPEC C5: nothing was done, so that it can be asked again when the memory is resumed
            unit.once.add(scope, asked.done(outcome, now))
            unit.once.trim(scope, policy.keep, now - timedelta(days=policy.days))
        return result

    return store.write(once, again=True)


def _outcome(result: object) -> dict[str, Any]:
    """What came of it, in numbers."""
    if isinstance(result, Observed):
        return {"messages": [m.seq for m in result.messages], "new": result.new, "paused": result.paused}
    if not isinstance(result, Receipt):
        raise TypeError(f"a {type(result).__name__} cannot be told again")
    plan = result.plan
    return {
        "plan": None if result.plan_id is None else parse_id(result.plan_id, "p"),
        "verb": plan.verb.value,
        "who": plan.actor.who,
        "surface": plan.actor.surface,
        "at": micros(plan.at),
        "paused": result.paused,
    }


def _told_again(unit: Unit, scope: Scope, done: DoneOnce, policy: GatewayPolicy) -> Observed | Receipt:
    outcome = done.outcome
    if "messages" in outcome:
        return Observed(tuple(unit.messages.get(scope, outcome["messages"])), int(outcome["new"]))
    plan_number = outcome["plan"]
    if plan_number is None:
        return _unchanged(outcome, policy)
    entry = unit.ledger.get(scope, int(plan_number))
    if entry is None:
        raise NotFound(f"what this request did is not in the ledger any more: p{plan_number}")
    name, plan = f"p{entry.seq}", entry.plan
    proof = next((r for r in unit.forgotten.receipts(scope) if r.plan == entry.seq), None)
    if proof is None:
        return Receipt(plan.verb, name, plan, impact(plan, policy))
    return ForgetReceipt(plan.verb, name, plan, impact(plan, policy), proof=proof)


def _unchanged(outcome: Mapping[str, Any], policy: GatewayPolicy) -> Receipt:
    """What was answered when nothing had to change."""
    actor = Actor(outcome["who"], outcome["surface"])
    plan = Plan(Verb(outcome["verb"]), actor, instant(outcome["at"]), "", ())
    return Receipt(plan.verb, None, plan, impact(plan, policy))


class OnceView(View):
    """The hash of a request under a key that might be guessed can be guessed itself: a forgetting drops them all. That the request was carried
    out stays known, so that sending it again brings nothing back (SPEC F6)."""

    @property
    def name(self) -> str:
        return "requests"

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        return unit.once.blank(scope)

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        """A log of what was: it is not made again."""
        return 0
