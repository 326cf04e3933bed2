"""How a user's memory stands: how much of talk is kept, whether it is paused, what was consented to (SPEC C5).

One frozen value a scope, changed like a memory: by a plan that holds it before and after.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Detail(StrEnum):
    """How much of talk is kept.

    `minimal`: what the user asked to keep or a high-value rule names, with the words it rests on, and a short digest of
    the rest. `balanced`: all talk is kept as evidence and distilled. `everything`: small things are distilled too.
    """

    MINIMAL = "minimal"
    BALANCED = "balanced"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Consent:
    """What the user said to a data-use notice. `notice` names the version that was shown, or holds its text."""

    given: bool
    notice: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """What the user decided about their memory as a whole, each with its time; nothing yet, by default.

    `detail` is None where the user chose none, so that the deployment's holds. `paused_at` is None while it is not paused.
    """

    detail: Detail | None = None
    detail_at: datetime | None = None
    paused_at: datetime | None = None
    consent: Consent | None = None

    @property
    def paused(self) -> bool:
        return self.paused_at is not None


UNDECIDED = Standing()


@dataclass(frozen=True, slots=True)
class StandingChange:
    """A standing before and after a plan."""

    before: Standing
    after: Standing

    def reversed(self) -> StandingChange:
        return StandingChange(self.after, self.before)


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How much of talk is kept for users who chose nothing, and what `minimal` leaves of the rest."""

    detail: Detail = Detail.BALANCED
    # SPEC C5: other talk leaves at most so many characters a span; 0 leaves none at all.
    digest_chars: int = 50
    # What one session says within this time is one span, and leaves one digest.
    digest_span: timedelta = timedelta(days=1)
    # So many messages with a name in them are read again once it is known whose it is.
    earlier: int = 20

    def detail_of(self, standing: Standing) -> Detail:
        """The detail in force for a user."""
        return standing.detail if standing.detail is not None else self.detail
