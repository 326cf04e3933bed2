"""The user's say over their memory as a whole: the retention dial, pause, resume, consent (SPEC C5).

Each is a plan that changes the scope's standing, so that it is previewed, recorded and undone like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from jiyi.domain.plans import Actor, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Consent, Detail, RetentionPolicy, Standing, StandingChange
from jiyi.errors import InputError, TooLarge
from jiyi.pipelines.observe import clean_text
from jiyi.pipelines.redacting import Redaction
from jiyi.ports import Check, Unit

NOTICE_CHARS = 500
"""A data-use notice is named by its version, or held in so many characters."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept of a user's talk, and on whose word.

    `chosen_at` is None where the deployment's default holds, `paused_at` while nothing is paused. `unread` are the jobs
    that are still to distil what was said: under `minimal` its full words are stored until they ran.
    """

    detail: Detail
    chosen_at: datetime | None
    paused_at: datetime | None
    consent: Consent | None
    unread: int

    @property
    def paused(self) -> bool:
        return self.paused_at is not None


def read_retention(unit: Unit, scope: Scope, policy: RetentionPolicy, now: datetime) -> Retention:
    """What holds for a scope now."""
    standing, jobs = unit.standings.get(scope), unit.jobs.counts(scope, now)
    return Retention(
        policy.detail_of(standing), standing.detail_at, standing.paused_at, standing.consent,
        jobs.waiting + jobs.running + jobs.dead,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """What the user decides: the verb, how it changes the standing, and what the ledger says of it."""

    verb: Verb
    change: Callable[[Standing, datetime], Standing]
    reason: str

    def plan(self, unit: Unit, scope: Scope, actor: Actor, now: datetime) -> Plan:
        """The plan that carries it out; without a change where things stand so already."""
        before = unit.standings.get(scope)
        after = self.change(before, now)
        turn = None if after == before else StandingChange(before, after)
        return Plan(self.verb, actor, now, self.reason, (), standing=turn)


def choose(detail: Detail, *, past: bool = False) -> Decision:
    """Set the dial; with `past` what is stored is treated by it too.

    Raises:
        InputError: `past` with another detail than minimal.
    """
    if past and detail is not Detail.MINIMAL:
        raise InputError(f"past goes with minimal: what was not kept cannot be brought back by {detail}")

    def change(standing: Standing, now: datetime) -> Standing:
        return standing if standing.detail is detail else replace(standing, detail=detail, detail_at=now)

    return Decision(Verb.RETENTION, change, f"detail set to {detail}")


def pause() -> Decision:
    def change(standing: Standing, now: datetime) -> Standing:
        return standing if standing.paused else replace(standing, paused_at=now)

    return Decision(Verb.PAUSE, change, "paused: nothing is written until it is resumed")


def resume() -> Decision:
    return Decision(Verb.RESUME, lambda standing, now: replace(standing, paused_at=None), "resumed")


def consent(*, given: bool, notice: str, redaction: Redaction) -> Decision:
    """The user's answer to a data-use notice; each is recorded anew, since its time counts.

    Raises:
        InputError: consent without the notice it is about. TooLarge: above 500 characters.
    """
    if not isinstance(given, bool):
        raise InputError(f"given = {given!r}: use True or False")
    if not isinstance(notice, str) or (given and not notice.strip()):
        raise InputError("consent to what? Name the data-use notice that was shown: its version, or its text")
    if len(notice) > NOTICE_CHARS:
        raise TooLarge("the notice", len(notice), NOTICE_CHARS)
    named = redaction.text(clean_text(notice.strip()))

    def change(standing: Standing, now: datetime) -> Standing:
        return replace(standing, consent=Consent(given, named, now))

    return Decision(Verb.CONSENT, change, f"consent {'given' if given else 'refused or withdrawn'}")


def survey(unit: Unit, policy: RetentionPolicy, now: datetime) -> Check:
    """*Operator.* How many users chose what, who paused, and where full words wait that `minimal` is to take away."""
    chosen: Counter[str] = Counter()
    paused = 0
    raw = [0, 0]
    for scope in unit.scopes():
        standing = unit.standings.get(scope)
        chosen[standing.detail or "no choice"] += 1
        paused += standing.paused
        if policy.detail_of(standing) is Detail.MINIMAL:
            jobs = unit.jobs.counts(scope, now)
            raw[0] += jobs.waiting + jobs.running
            raw[1] += jobs.dead
    users = ", ".join(f"{count} {name}" for name, count in sorted(chosen.items())) or "no users yet"
    detail = f"{policy.detail} by default; {users}; {paused} paused"
    if any(raw):
        detail += f"; under minimal the full words of {raw[0]} waiting and {raw[1]} given-up jobs are still stored"
    return Check("retention", not raw[1], detail, "`jiyi work --retry-dead ID` (`jiyi work` lists them)")
