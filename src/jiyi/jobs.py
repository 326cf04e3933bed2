"""Background work: claim, run, retry with back-off, give up (SPEC O5).

Periodic work waits in the schedule, outside the queues, and becomes a job when it is due. To have some: name a kind, give
its handler to `engine._handlers`, and call `unit.schedule.sooner(scope, kind, at)` where something to do comes up.

A handler runs inside the same transaction that takes its job off the queue, so its effect and its
completion happen together, once, whatever crashes in between. What takes long, as a language model does, is thought out
before that transaction begins, and only what came of it is written inside.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from jiyi.domain.scope import Scope
from jiyi.errors import JiyiError, ModelUnavailable, StoreClosed
from jiyi.ports import Job, Lane, Store, Unit
from jiyi.settings import JobPolicy

log = logging.getLogger("jiyi.jobs")

Handler: TypeAlias = Callable[[Unit, Job, datetime], None]
Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Thinking:
    """A job with something slow to do: `think` runs outside every transaction, and gives the handler that writes.

    The lease is made as long as thinking may take at the most.
    """

    think: Callable[[Job, datetime], Handler]
    lease: timedelta


MAX_BACK_OFF = 8
"""The wait between two attempts grows fourfold so many times: from two seconds to a day and a half."""

IDLE_SECONDS = 5.0
"""How long an idle worker waits before it looks for retries and for jobs that other processes queued."""


DUE_AT_ONCE = 64
"""Entries of the schedule that become jobs in one step, so that a night in which many are due stays responsive."""


class LeaseLost(JiyiError):
    """Another worker took the job over; what was done is rolled back."""


class Paused(JiyiError):
    """The user paused the memory after the job was claimed: it waits, and is due again when its lease has passed."""


class Runner:
    """Runs due jobs of one lane of a store, one at a time.

    All it writes may be written again: of a job that is ended, or that another attempt has, nothing is done, and one that was
    claimed without an answer waits for the end of its lease.
    """

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Handler | Thinking],
        clock: Clock,
        policy: JobPolicy,
        lane: Lane = Lane.QUICK,
    ) -> None:
        self._store, self._handlers, self._clock, self._policy, self._lane = store, handlers, clock, policy, lane
        # Whoever runs jobs by hand waits for the job that the worker has in hand, instead of finding nothing due.
        self._one_at_a_time = threading.Lock()

    def run_one(self, scope: Scope | None = None) -> bool:
        """Run the next due job; false when nothing is due.

        Args:
            scope: only what is queued there; what comes round again is left for its own time.
        """
        with self._one_at_a_time:
            now = self._clock()
            job = self._store.write(lambda unit: self._claim(unit, now, scope), again=True)
            if job is None:
                return False
            self._run(job)
            return True

    def _claim(self, unit: Unit, now: datetime, scope: Scope | None) -> Job | None:
        for due in unit.schedule.take(now, DUE_AT_ONCE) if scope is None else ():
            unit.jobs.put(due.scope, due.kind, {}, now)
        return unit.jobs.claim(now, now + self._policy.lease, self._lane, scope)

    def run_until_idle(self, limit: int | None = None, scope: Scope | None = None) -> int:
        """Run due jobs until none is left, or `limit` of them; returns how many ran. Those of one scope, or of all."""
        done = 0
        while (limit is None or done < limit) and self.run_one(scope):
            done += 1
        return done

    def _run(self, job: Job) -> None:
        found = self._handlers.get(job.kind)
        if found is None:
            self._fail(job, f"no handler for {job.kind!r}: is this an older jiyi?")
            return
        try:
            handler = self._thought_out(found, job) if isinstance(found, Thinking) else found

            def work(unit: Unit) -> None:
                _check_awake(unit, job)
                # First, in the same transaction: a job that forgets a whole scope takes all jobs of it away.
                if not unit.jobs.finish(job):
                    raise LeaseLost(f"job {job.id} was taken over")
                handler(unit, job, self._clock())

            self._store.write(work, again=True)
        except LeaseLost:
            log.info("job %s of kind %s was taken over by another worker", job.id, job.kind)
        except Paused:
            log.info("job %s of kind %s waits until its memory is resumed", job.id, job.kind)
        except StoreClosed:
            raise
        except Exception as error:  # noqa: BLE001 — the edge of a job: any fault becomes a retry or a dead letter
            # The message of a foreign error may hold memory text, which must not reach the queue or the log.
            said = str(error) if isinstance(error, JiyiError) else "see the log of the worker"
            log.error("job %s of kind %s failed (attempt %s): %s", job.id, job.kind, job.attempt, type(error).__name__)
            self._fail(job, f"{type(error).__name__}: {said}", error)

    def _thought_out(self, thinking: Thinking, job: Job) -> Handler:
        now = self._clock()

        def renew(unit: Unit) -> bool:
            _check_awake(unit, job)
            return unit.jobs.renew(job, now + thinking.lease)

        if not self._store.write(renew, again=True):
            raise LeaseLost(f"job {job.id} was taken over")
        return thinking.think(job, now)

    def _fail(self, job: Job, said: str, error: Exception | None = None) -> None:
        now = self._clock()
        # What is refused now would be refused again: somebody has to look at it.
        final = isinstance(error, JiyiError) and not error.passing
        wait = self._policy.first_retry * 4 ** min(job.attempt - 1, MAX_BACK_OFF)
        if isinstance(error, ModelUnavailable) and error.retry_after is not None:
            wait = max(wait, error.retry_after)
        retry_at = None if final or job.attempt >= self._policy.attempts else now + wait

        def fail(unit: Unit) -> None:
            if not unit.standings.get(job.scope).paused:
                unit.jobs.fail(job, said, now, retry_at)

        self._store.write(fail, again=True)


def _check_awake(unit: Unit, job: Job) -> None:
    if unit.standings.get(job.scope).paused:  # SPEC C5: nothing is written while paused.
        raise Paused(f"job {job.id} waits")


class Worker:
    """A thread that runs due jobs while the memory is open, and tidies up when none is left."""

    def __init__(self, runner: Runner, tidy: Callable[[], None]) -> None:
        self._runner, self._tidy = runner, tidy
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jiyi-worker", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something was queued."""
        self._wake.set()

    def stop(self, patience: float | None = None) -> None:
        """Finish the job at hand and stop; waiting jobs stay queued, durably.

        Args:
            patience: seconds to wait for the job at hand at the most. One that takes longer is left: its lease runs out.
        """
        self._stop.set()
        self._wake.set()
        self._thread.join(patience)

    def _loop(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                while not self._stop.is_set() and self._runner.run_one():
                    pass
                self._tidy()
            except StoreClosed:
                return
            except JiyiError as error:
                # The store is unwell (busy, full, corrupt): say so and try again later, the jobs are durable.
                log.error("background work paused: %s", error)
            self._wake.wait(IDLE_SECONDS)
