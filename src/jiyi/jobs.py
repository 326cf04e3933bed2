"""Background work: claim, run, retry with back-off, give up (SPEC O5).

Periodic work waits in the schedule, outside the queues, and becomes a job when it is due. To have some: name a kind, give
its handler to `engine._handlers`, and call `unit.schedule.sooner(scope, kind, at)` where something to do comes up.

A handler runs inside the same transaction that takes its job off the queue, so its effect and its
completion happen together, once, whatever crashes in between.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from jiyi.errors import JiyiError, PlanRefused, StoreClosed
from jiyi.ports import Job, Store, Unit
from jiyi.settings import JobPolicy

log = logging.getLogger("jiyi.jobs")

Handler: TypeAlias = Callable[[Unit, Job, datetime], None]
Clock: TypeAlias = Callable[[], datetime]

MAX_BACK_OFF = 8
"""The wait between two attempts grows fourfold so many times: from two seconds to a day and a half."""

IDLE_SECONDS = 5.0
"""How long an idle worker waits before it looks for retries and for jobs that other processes queued."""


DUE_AT_ONCE = 64
"""Entries of the schedule that become jobs in one step, so that a night in which many are due stays responsive."""


class LeaseLost(JiyiError):
    """Another worker took the job over; what was done is rolled back."""


class Runner:
    """Runs due jobs of one store, one at a time."""

    def __init__(self, store: Store, handlers: Mapping[str, Handler], clock: Clock, policy: JobPolicy) -> None:
        self._store, self._handlers, self._clock, self._policy = store, handlers, clock, policy
        # Whoever runs jobs by hand waits for the job that the worker has in hand, instead of finding nothing due.
        self._one_at_a_time = threading.Lock()

    def run_one(self) -> bool:
        """Run the next due job; false when nothing is due."""
        with self._one_at_a_time:
            now = self._clock()
            job = self._store.write(lambda unit: self._claim(unit, now))
            if job is None:
                return False
            self._run(job)
            return True

    def _claim(self, unit: Unit, now: datetime) -> Job | None:
        for due in unit.schedule.take(now, DUE_AT_ONCE):
            unit.jobs.put(due.scope, due.kind, {}, now)
        return unit.jobs.claim(now, now + self._policy.lease)

    def run_until_idle(self, limit: int | None = None) -> int:
        """Run due jobs until none is left, or `limit` of them; returns how many ran."""
        done = 0
        while (limit is None or done < limit) and self.run_one():
            done += 1
        return done

    def _run(self, job: Job) -> None:
        handler = self._handlers.get(job.kind)

        def work(unit: Unit) -> None:
            assert handler is not None
            handler(unit, job, self._clock())
            if not unit.jobs.finish(job):
                raise LeaseLost(f"job {job.id} was taken over")

        if handler is None:
            self._fail(job, f"no handler for {job.kind!r}: is this an older jiyi?")
            return
        try:
            self._store.write(work)
        except LeaseLost:
            log.info("job %s of kind %s was taken over by another worker", job.id, job.kind)
        except StoreClosed:
            raise
        except Exception as error:  # noqa: BLE001 — the edge of a job: any fault becomes a retry or a dead letter
            # The message of a foreign error may hold memory text, which must not reach the queue or the log.
            said = str(error) if isinstance(error, JiyiError) else "see the log of the worker"
            log.error("job %s of kind %s failed (attempt %s): %s", job.id, job.kind, job.attempt, type(error).__name__)
            # What the gateway refuses now it would refuse again: somebody has to look at it.
            self._fail(job, f"{type(error).__name__}: {said}", final=isinstance(error, PlanRefused))

    def _fail(self, job: Job, error: str, *, final: bool = False) -> None:
        now = self._clock()
        last = final or job.attempt >= self._policy.attempts
        retry_at = None if last else now + self._policy.first_retry * 4 ** min(job.attempt - 1, MAX_BACK_OFF)
        self._store.write(lambda unit: unit.jobs.fail(job, error, now, retry_at))


class Worker:
    """A thread that runs due jobs while the memory is open."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jiyi-worker", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something was queued."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the job at hand and stop; waiting jobs stay queued, durably."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                while not self._stop.is_set() and self._runner.run_one():
                    pass
            except StoreClosed:
                return
            except JiyiError as error:
                # The store is unwell (busy, full, corrupt): say so and try again later, the jobs are durable.
                log.error("background work paused: %s", error)
            self._wake.wait(IDLE_SECONDS)
