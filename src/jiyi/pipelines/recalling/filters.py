"""What a recall may return at all: by kind, category, tier, time, session and labels (SPEC R1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.encoding import micros
from jiyi.domain.fusion import Place
from jiyi.domain.memory import Category, Memory, Message, Tier
from jiyi.domain.summary import SessionSummary

KINDS = frozenset({"fact", "memory", "message"})
"""What is recalled when no kind is asked for."""
ALL_KINDS = KINDS | {"summary"}
NEAR = frozenset(Tier) - {Tier.ARCHIVE}
"""What is recalled unless somebody asks for the archive (SPEC F3)."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, `since` included and `until` excluded; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, at: datetime | None) -> bool:
        """Whether the instant lies in it; what never happened lies only in the span without bounds."""
        if not self.bounded:
            return True
        return at is not None and (self.since is None or at >= self.since) and (self.until is None or at < self.until)

    @property
    def bounded(self) -> bool:
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class Filters:
    """What may be returned at all. A filter drops; it never reorders."""

    kinds: frozenset[str] = KINDS
    categories: frozenset[Category] = frozenset()
    min_importance: int = 1
    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    tiers: frozenset[Tier] = NEAR
    created: Span = Span()
    read: Span = Span()

    @property
    def messages(self) -> bool:
        """Whether turns of the history are asked for."""
        return "message" in self.kinds and not self.memories_only

    @property
    def memories_only(self) -> bool:
        """Whether something is asked that only memories have."""
        return self.tiers != NEAR or self.created.bounded or self.read.bounded

    def takes_memory(self, memory: Memory, read_at: datetime | None) -> bool:
        if self.categories and memory.category not in self.categories:
            return False
        if memory.tier not in self.tiers or not self.created.holds(memory.learnt_at) or not self.read.holds(read_at):
            return False
        if memory.importance < self.min_importance or not self._in_time(memory.affirmed_at):
            return False
        return self.session is None or any(e.session == self.session for e in memory.evidence)

    def takes_message(self, message: Message) -> bool:
        if self.memories_only:
            return False
        if self.session is not None and message.session != self.session:
            return False
        if self.labels and any(message.labels.get(name) != value for name, value in self.labels):
            return False
        return self._in_time(message.at)

    def at_place(self) -> Callable[[Place], bool] | None:
        """Whether a turn can be answered with, as far as its place tells; None when every place will do."""
        if self.session is None and self.since is None and self.until is None:
            return None
        since, until = (None if at is None else micros(at) for at in (self.since, self.until))
        return lambda place: (
            self.session in (None, place.session)
            and (since is None or place.at >= since)
            and (until is None or place.at < until)
        )

    def takes_summary(self, summary: SessionSummary) -> bool:
        """A summary has no labels and no category of its own; of a time is what was said in it."""
        if self.labels or self.categories or (self.session is not None and summary.session != self.session):
            return False
        return (self.since is None or summary.last_at >= self.since) and (
            self.until is None or summary.first_at < self.until
        )

    def _in_time(self, at: datetime) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


EVERYTHING = Filters()
