"""What every verb of the façade shares: the parts that assembly put together, and the work that runs behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from jiyi.domain.relations import Vocabulary
from jiyi.jobs import Clock, Handler, Runner, Thinking, Worker
from jiyi.pipelines.answering import Answering
from jiyi.pipelines.context import Context
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.guarding import Guard
from jiyi.pipelines.indexing import Indexing, index_messages
from jiyi.pipelines.judging import Judging
from jiyi.pipelines.model_distil import ModelDistiller
from jiyi.pipelines.observe import DISTIL, INDEX, distil_messages
from jiyi.pipelines.read_counts import ReadCounts
from jiyi.pipelines.recall import Recall
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.segments import CLOSE, MODEL, SEGMENT, close_silent, cut_segments
from jiyi.ports import Job, Lane, Store, Unit
from jiyi.settings import Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """What assembly puts together once and every verb shares."""

    settings: Settings
    dictionary: tuple[str, ...]
    vocabulary: Vocabulary
    distiller: Distiller
    judging: Judging
    answering: Answering
    indexing: Indexing
    gateway: Gateway
    recall: Recall
    context: Context
    redaction: Redaction
    guard: Guard
    model: ModelDistiller | None = None


PATIENCE = 5.0
"""Seconds that closing waits for a language model at the most; its job is run again later."""


class Engine:
    """One open store with its parts and its background work; the façade's two halves hold the same one."""

    def __init__(self, store: Store, parts: Parts, clock: Clock) -> None:
        self.store, self.parts, self.clock = store, parts, clock
        settings = parts.settings
        self.reads = ReadCounts(store, settings.heat, settings.access.flush_after)
        self.kinds = (INDEX, DISTIL) if parts.model is None else (INDEX, DISTIL, SEGMENT)
        # Without a model its jobs wait for the day when there is one.
        lanes = (Lane.QUICK,) if parts.model is None else (Lane.QUICK, Lane.SLOW)
        handlers = _handlers(store, parts)
        self._runners = {lane: Runner(store, handlers, clock, settings.jobs, lane) for lane in lanes}
        self._workers = {lane: Worker(runner) for lane, runner in self._runners.items()} if settings.worker else {}

    def work(self, limit: int | None = None, *, slow: bool = False) -> int:
        """Run due jobs until none is left (or `limit`), and write the reads; returns how many jobs ran.

        Args:
            slow: also those that wait for a language model, for as long as it takes.
        """
        done = self._runners[Lane.QUICK].run_until_idle(limit)
        if slow and Lane.SLOW in self._runners:
            done += self._runners[Lane.SLOW].run_until_idle(None if limit is None else limit - done)
        self.reads.flush()
        return done

    def wake(self) -> None:
        """Something was queued."""
        for worker in list(self._workers.values()):  # close() in another thread may take them away
            worker.wake()

    def close(self) -> None:
        """Finish the work at hand and close. Closing twice is fine."""
        workers, self._workers = self._workers, {}
        if Lane.QUICK in workers:
            workers[Lane.QUICK].stop()
        if self.parts.model is not None:
            self.parts.model.spending.model.close()
        if Lane.SLOW in workers:
            workers[Lane.SLOW].stop(PATIENCE)
        self.reads.close()
        self.store.close()


def _handlers(store: Store, parts: Parts) -> Mapping[str, Handler | Thinking]:
    def index(unit: Unit, job: Job, now: datetime) -> None:
        index_messages(unit, job.scope, int(job.payload["last"]), parts.indexing)

    def distil(unit: Unit, job: Job, now: datetime) -> None:
        first, last = int(job.payload["first"]), int(job.payload["last"])
        distil_messages(
            unit,
            job.scope,
            first,
            last,
            now,
            parts.distiller,
            parts.judging,
            parts.gateway,
            parts.redaction,
            parts.guard,
        )

    def segment(unit: Unit, job: Job, now: datetime) -> None:
        first, last = int(job.payload["first"]), int(job.payload["last"])
        cut_segments(unit, job.scope, first, last, now, parts.settings.model)

    def close(unit: Unit, job: Job, now: datetime) -> None:
        close_silent(unit, job.scope, now, parts.settings.model)

    handlers: dict[str, Handler | Thinking] = {INDEX: index, DISTIL: distil, SEGMENT: segment, CLOSE: close}
    if parts.model is not None:
        handlers[MODEL] = Thinking(partial(parts.model.think, store), parts.model.lease)
    return handlers
