"""What every verb of the façade shares: the parts that assembly put together, and the work that runs behind them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.relations import Vocabulary
from jiyi.jobs import Clock, Handler, Runner, Worker
from jiyi.pipelines.context import Context
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.indexing import Indexing, index_messages
from jiyi.pipelines.observe import DISTIL, INDEX, distil_messages
from jiyi.pipelines.read_counts import ReadCounts
from jiyi.pipelines.recall import Recall
from jiyi.pipelines.redacting import Redaction
from jiyi.ports import Job, Store, Unit
from jiyi.settings import Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """What assembly puts together once and every verb shares."""

    settings: Settings
    dictionary: tuple[str, ...]
    vocabulary: Vocabulary
    distiller: Distiller
    indexing: Indexing
    gateway: Gateway
    recall: Recall
    context: Context
    redaction: Redaction


class Engine:
    """One open store with its parts and its background work; the façade's two halves hold the same one."""

    def __init__(self, store: Store, parts: Parts, clock: Clock) -> None:
        self.store, self.parts, self.clock = store, parts, clock
        settings = parts.settings
        self.reads = ReadCounts(store, settings.heat, settings.access.flush_after)
        self._runner = Runner(store, _handlers(parts), clock, settings.jobs)
        self._worker = Worker(self._runner) if settings.worker else None

    def work(self, limit: int | None = None) -> int:
        """Run due jobs until none is left (or `limit`), and write the reads; returns how many jobs ran."""
        done = self._runner.run_until_idle(limit)
        self.reads.flush()
        return done

    def wake(self) -> None:
        """Something was queued."""
        worker = self._worker  # close() in another thread may take it away
        if worker is not None:
            worker.wake()

    def close(self) -> None:
        """Finish the work at hand and close. Closing twice is fine."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()
        self.reads.close()
        self.store.close()


def _handlers(parts: Parts) -> dict[str, Handler]:
    def index(unit: Unit, job: Job, now: datetime) -> None:
        index_messages(unit, job.scope, int(job.payload["last"]), parts.indexing)

    def distil(unit: Unit, job: Job, now: datetime) -> None:
        first, last = int(job.payload["first"]), int(job.payload["last"])
        distil_messages(
            unit, job.scope, first, last, now, parts.distiller, parts.vocabulary, parts.gateway, parts.redaction
        )

    return {INDEX: index, DISTIL: distil}
