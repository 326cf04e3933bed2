"""The ports of what waits to be done: the queue of jobs and the schedule (SPEC O5). Parts of `ports.Unit`, whose rules hold
here too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from jiyi.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class Job:
    """A unit of background work of one scope. `attempt` counts from 1 and fences late finishers."""

    id: int
    scope: Scope
    kind: str
    payload: Mapping[str, Any]
    attempt: int
    queued_at: datetime


@dataclass(frozen=True, slots=True)
class DeadJob:
    id: int
    scope: Scope
    kind: str
    attempts: int
    error: str
    died_at: datetime


@dataclass(frozen=True, slots=True)
class JobCounts:
    """`oldest_at` is when the oldest waiting job was queued: the write-to-readable lag (SPEC O5)."""

    waiting: int
    running: int
    dead: int
    oldest_at: datetime | None


class Lane(StrEnum):
    """Which worker runs a job. What waits for a language model never holds back what does not (SPEC C1)."""

    QUICK = "quick"
    SLOW = "slow"


class Jobs(Protocol):
    """A durable queue in the same database and transaction as the data (SPEC O5).

    Jobs of one scope and lane run one after another, in the order they were queued.
    """

    def put(
        self,
        scope: Scope,
        kind: str,
        payload: Mapping[str, Any],
        now: datetime,
        *,
        lane: Lane = Lane.QUICK,
    ) -> int:
        """Queue a job; the payload is plain JSON and holds no memory text."""

    def claim(
        self, now: datetime, lease_until: datetime, lane: Lane = Lane.QUICK, scope: Scope | None = None
    ) -> Job | None:
        """*Operator.* The next job of the lane that is due and whose scope has none of it running and is not
        paused, leased to the caller; of one scope, or of all.

        A job that was never tried is due, even if the clock was set back since it was queued.

        A lease that has passed counts as lost: the job is due again, with a higher attempt.
        """

    def renew(self, job: Job, lease_until: datetime) -> bool:
        """Hold a running job until then; false when the lease was lost to another worker."""

    def finish(self, job: Job) -> bool:
        """Take the job off the queue; false when the lease was lost to another worker (then undo your work)."""

    def fail(self, job: Job, error: str, now: datetime, retry_at: datetime | None) -> None:
        """Back on the queue for `retry_at`, or to the dead letters when it is None. No effect when the lease was lost."""

    def recall(self, scope: Scope, now: datetime) -> int:
        """Take the running jobs of a scope back: they are due again, and whoever runs one can no longer finish it, so
        that nothing read before this moment is written after it. Gives their number."""

    def drop(self, scope: Scope) -> int:
        """Take every job of a scope off the queue, running ones and dead letters too; gives their number."""

    def counts(self, scope: Scope | None, now: datetime) -> JobCounts:
        """Of one scope, or of all (*operator*)."""

    def dead(self, limit: int = 100) -> list[DeadJob]:
        """*Operator.* Dead letters, oldest first."""

    def revive(self, job_id: int, now: datetime, *, approved: bool = False) -> bool:
        """*Operator.* Queue a dead letter again from attempt 1; false when there is none of that id.

        `approved` puts `"approved": true` into its payload: an administrator lets it pass the limit (SPEC W1).
        """


@dataclass(frozen=True, slots=True)
class Due:
    """Periodic work of one scope whose time has come."""

    scope: Scope
    kind: str
    at: datetime


class Schedule(Protocol):
    """When periodic work of a scope is due next: one instant for each scope and kind of job (SPEC O5).

    A scope that has nothing to do has no entry, so idle scopes cost nothing. When its instant comes an entry is taken
    off and becomes an ordinary job of that kind with an empty payload (`jiyi.jobs.Runner` does that); nothing waits in
    the scope's queue until then. Whoever wants to run again puts the next instant from inside the job's handler.
    """

    def put(self, scope: Scope, kind: str, at: datetime) -> None:
        """Due at `at`, whatever stood there before."""

    def sooner(self, scope: Scope, kind: str, at: datetime) -> None:
        """Due at `at`, unless it is due earlier already."""

    def get(self, scope: Scope, kind: str) -> datetime | None: ...

    def drop(self, scope: Scope, kind: str) -> None:
        """Not due any more; nothing happens when it was not."""

    def take(self, now: datetime, limit: int) -> list[Due]:
        """*Operator.* Take off what is due at `now`, the earliest first, at most `limit`. Paused scopes wait."""
