"""What every verb of the façade shares: the parts that assembly put together, and the work that runs behind them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hmac import compare_digest
from pathlib import Path

from jiyi.asked_again import asked_again
from jiyi.domain.forgetting import Copy, ForgettingReceipt, Reach, Remains, scope_key
from jiyi.domain.plans import ADMIN, Actor
from jiyi.domain.relations import Vocabulary
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Detail
from jiyi.errors import EngineUnavailable, PlanRefused, StoreBusy
from jiyi.jobs import Clock, Handler, Runner, Thinking, Worker
from jiyi.pipelines.answering import Answering
from jiyi.pipelines.archive import Archive, is_there
from jiyi.pipelines.context import Context
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.forgetting import Erasure, Forgetting, Request
from jiyi.pipelines.gateway import UPKEEP, ForgetReceipt, Gateway
from jiyi.pipelines.graph.exploring import Graphing
from jiyi.pipelines.graph.following import GraphFollower
from jiyi.pipelines.graph.patterns import PATTERNS, Noticing
from jiyi.pipelines.guarding import Guard
from jiyi.pipelines.indexing import Indexing, index_messages
from jiyi.pipelines.judging import Judging
from jiyi.pipelines.model_distil import ModelDistiller
from jiyi.pipelines.observe import DISTIL, INDEX, RULES, distil_messages
from jiyi.pipelines.recall import Recall
from jiyi.pipelines.recalling.read_counts import ReadCounts
from jiyi.pipelines.recalling.tracing import TraceLog
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.redistil import REDISTIL, Redistiller
from jiyi.pipelines.retaining import Retaining
from jiyi.pipelines.segments import CLOSE, MODEL, SEGMENT, close_silent, cut_segments
from jiyi.pipelines.summaries import SUMMARISE
from jiyi.pipelines.summarise import Summariser, summarise
from jiyi.pipelines.upkeep import Upkeep
from jiyi.pipelines.user_file import ReadingBack
from jiyi.pipelines.vectors import EMBED, EMBED_SOON, Embedding
from jiyi.pipelines.verifying import came_back, place_of, verify_after_job
from jiyi.pipelines.visiting import VANISH
from jiyi.ports import Carried, GraphEngine, Job, Lane, Store, Unit
from jiyi.settings import Settings

SAVES = 8
MOMENT = timedelta(microseconds=1)

log = logging.getLogger("jiyi.engine")


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
    forgetting: Forgetting
    recall: Recall
    context: Context
    redaction: Redaction
    guard: Guard
    carried: Carried
    upkeep: Upkeep
    noticing: Noticing
    reading_back: ReadingBack
    summariser: Summariser
    redistiller: Redistiller
    retaining: Retaining
    graphing: Graphing
    graph_engine: GraphEngine | None = None
    model: ModelDistiller | None = None
    embedding: Embedding | None = None


PATIENCE = 5.0
"""Seconds that closing waits for a model at the most; its job is run again later."""


class Engine:
    """One open store with its parts and its background work; the façade's two halves hold the same one."""

    def __init__(self, store: Store, parts: Parts, clock: Clock) -> None:
        self.store, self.parts, self.clock = store, parts, clock
        settings = parts.settings
        self.reads = ReadCounts(store, settings.heat, settings.access.flush_after, parts.gateway.night)
        self.traces = TraceLog(store, settings.traces, parts.redaction, parts.retaining, parts.indexing)
        self.kinds = (INDEX, DISTIL) if parts.model is None else (INDEX, DISTIL, SEGMENT)
        # Without a model its jobs wait for the day when there is one.
        slow = parts.model is not None or parts.embedding is not None
        lanes = (Lane.QUICK, Lane.SLOW) if slow else (Lane.QUICK,)
        self.follower = None if parts.graph_engine is None else GraphFollower(store, parts.graph_engine, parts.graphing)
        self._purge_again_at: datetime | None = None
        self._purging = threading.Lock()
        handlers = _handlers(store, parts)
        self._runners = {lane: Runner(store, handlers, clock, settings.jobs, lane) for lane in lanes}
        self._workers = {n: Worker(r, self.tidy) for n, r in self._runners.items()} if settings.worker else {}

    def work(self, limit: int | None = None, *, slow: bool = False) -> int:
        """Write the reads, and run due jobs until none is left (or `limit`); returns how many jobs ran.

        Args:
            slow: also those that wait for a language model, for as long as it takes.
        """
        return self._work(None, limit, slow=slow)

    def work_for(self, scope: Scope, *, slow: bool = False) -> None:
        """Do what waits for one user, so that all they said before is known. What comes round by itself, as upkeep does, is
        left for its own time: no verb does more than it says, and nobody waits for other users (SPEC W1).

        Args:
            slow: as in `work`.
        """
        self._work(scope, None, slow=slow)

    def _work(self, scope: Scope | None, limit: int | None, *, slow: bool) -> int:
        self.reads.flush()  # First: upkeep asks when a memory was last read.
        self.traces.flush()
        done = self._runners[Lane.QUICK].run_until_idle(limit, scope)
        if slow and Lane.SLOW in self._runners:
            done += self._runners[Lane.SLOW].run_until_idle(None if limit is None else limit - done, scope)
        self.tidy()
        return done

    def tidy(self) -> None:
        """Tell the engines beside the database what changed. Purge what was erased, also by a process that was killed since. One purge serves
        many erasures: each rewrites the file, so no more than a tenth of the time goes into them."""
        with self._purging:
            try:
                self.store.catch_up()
            except EngineUnavailable as error:
                log.warning("%s", error)
            self._tell_graph()
            begun = self.clock()
            waits = self._purge_again_at is not None and begun < self._purge_again_at
            if waits or not self.store.erased():
                return
            if self.parts.carried.size() != self.store.view(
                lambda unit: unit.forgotten.size()
            ):  # a job forgot a visitor
                self.save_remains()
            try:
                self.store.purge()
            except StoreBusy as error:
                log.warning("what was erased is purged later: %s", error)
            ended = self.clock()
            self._purge_again_at = ended + 9 * (ended - begun)

    def _tell_graph(self) -> None:
        """Nothing is lost when the engine does not answer: it is told later."""
        if self.follower is not None:
            try:
                self.follower.catch_up()
            except EngineUnavailable as error:
                log.warning("the graph engine is told later: %s", error)

    # ---------------------------------------------------------------- forgetting (SPEC F6)

    def purge(self) -> None:
        """Leave no erased byte behind, in the database and beside it."""
        self.store.purge()
        self._tell_graph()

    @asked_again
    def now(self, scope: Scope) -> datetime:
        """When what is said now is said: after all that was forgotten, also where the clock stands still or was set back."""
        now = self.clock()
        with self.store.read() as unit:
            last = max((min(r.horizon, r.at + MOMENT) for r in unit.forgotten.receipts(scope)), default=now)
        return max(now, last)

    def forget(
        self,
        scope: Scope,
        request: Request,
        actor: Actor,
        *,
        dry_run: bool,
        purge: bool = True,
        write: Callable[[Callable[[Unit], ForgetReceipt]], ForgetReceipt] | None = None,
        seal: str | None = None,
    ) -> ForgetReceipt:
        """Plan a forgetting and carry it out; with `dry_run` only say what it would do, after the same work: what was said
        is read first. A topic of which nothing is there leaves nothing. With the `seal` of a preview, only what that showed
        is forgotten.

        Args:
            write: the store's by default.

        Raises:
            PlanRefused: something else would go by now.
        """
        parts, key = self.parts, scope_key(self.store.secret, scope.tenant, scope.user)

        def planned(unit: Unit) -> Erasure:
            return parts.forgetting.plan(unit, scope, request, actor, self.clock())

        if not request.everything:
            self.work_for(scope)  # so that all that rests on it is known
        if dry_run:

            def preview(unit: Unit) -> ForgetReceipt:
                erasure = planned(unit)
                shown = parts.gateway.preview_erasure(erasure, self._copies(unit, scope))
                return replace(shown, seal=erasure.seal(key, request))

            return self.store.view(preview)

        def work(unit: Unit) -> ForgetReceipt:
            erasure = planned(unit)
            if seal is not None and not compare_digest(
                seal.encode("utf-8", "surrogatepass"), erasure.seal(key, request).encode()
            ):
                raise PlanRefused("what would be forgotten is not what was shown with that seal: preview it again")
            if request.topic is not None and erasure.is_empty:
                # A tombstone would only keep the word that nobody had said.
                return parts.gateway.preview_erasure(erasure, ())
            return parts.gateway.erase(unit, scope, erasure, self._copies(unit, scope))

        receipt = (write or self.store.write)(work)
        if receipt.plan_id is None:
            return receipt
        self.save_remains()
        if not request.everything:
            self.work_for(scope)  # so that what is left of the talk is summarised again
        if purge:
            self.purge()
        return receipt

    def _copies(self, unit: Unit, scope: Scope) -> tuple[Copy, ...]:
        """The files that are known to hold what is there now."""
        carried = self.parts.carried
        return carried.still_there([*unit.forgotten.copies(scope), *carried.siblings()])

    def note_copy(self, scope: Scope | None, kind: str, path: Path) -> None:
        """A backup or an export is about to be made. Noted before, so that no forgetting in between can miss it."""
        made = Copy(kind, str(path.expanduser().absolute()), self.clock())
        if not is_there(path):
            self.store.write(lambda unit: self.parts.gateway.note_copy(unit, scope, made))

    def restore(self, scope: Scope, archive: Archive) -> None:
        """Bring an export back, without what the scope has forgotten since."""

        def work(unit: Unit) -> bool:
            self.parts.gateway.restore(unit, scope, archive, self.clock())
            receipts = unit.forgotten.receipts(scope)
            erasure = self._again(unit, scope, receipts[-1].reach) if receipts else None
            if erasure is None or erasure.is_empty:
                return False
            self.parts.gateway.erase(unit, scope, erasure)
            return True

        if self.store.write(work):
            self.save_remains()
            self.purge()

    def save_remains(self) -> None:
        """Keep the tombstones beside the database too."""

        def remains(unit: Unit) -> tuple[tuple[int, int], dict[Scope, Remains]]:
            forgotten = unit.forgotten
            found = {s: Remains(tuple(forgotten.receipts(s)), tuple(forgotten.tombstones(s))) for s in unit.scopes()}
            return forgotten.size(), {s: remains for s, remains in found.items() if remains.receipts}

        for _ in range(SAVES):
            size, found = self.store.view(remains)
            self.parts.carried.save(found)
            if self.store.view(lambda unit: unit.forgotten.size()) == size:
                return  # else another process forgot something meanwhile, and may have saved before this one did

    def carry_forward(self) -> list[Scope]:
        """Forget again what the database does not know to be forgotten because it is an old backup; gives the scopes."""
        kept = self.parts.carried.size()
        if self.store.view(lambda unit: unit.forgotten.size()) == kept:
            return []
        gateway, changed = self.parts.gateway, []
        for scope, remains in self.parts.carried.load().items() if kept != (0, 0) else ():

            def work(unit: Unit, scope: Scope = scope, remains: Remains = remains) -> bool:
                return gateway.carry(unit, scope, remains, lambda u: self._again(u, scope, remains.receipts[-1].reach))

            if self.store.write(work):
                changed.append(scope)
        if changed:
            self.purge()
        self.save_remains()
        return changed

    def forget_again(self) -> list[Scope]:
        """Forget what has come back, by whatever way, in every scope; gives the scopes in which something had."""
        found = []
        for scope in self.store.view(lambda unit: list(unit.scopes())):

            def work(unit: Unit, scope: Scope = scope) -> bool:
                receipts = unit.forgotten.receipts(scope)
                erasure = self._again(unit, scope, receipts[-1].reach) if receipts else None
                if erasure is None or erasure.is_empty:
                    return False
                self.parts.gateway.erase(unit, scope, erasure)
                self.parts.gateway.note_verified(unit, scope, 0, self.clock())
                return True

            if self.store.write(work):
                found.append(scope)
        if found:
            self.save_remains()
            self.purge()
        return found

    def _again(self, unit: Unit, scope: Scope, reach: Reach) -> Erasure:
        return self.parts.forgetting.plan_again(unit, scope, reach, Actor("jiyi", "upkeep"), self.clock())

    def verify_forgotten(self, scope: Scope) -> list[ForgettingReceipt]:
        """Hold all of a scope against its tombstones, and note it on the receipts."""

        def work(unit: Unit) -> list[ForgettingReceipt]:
            back = came_back(unit, scope, self.parts.indexing.folding)
            self.parts.gateway.note_verified(unit, scope, len(back), self.clock())
            return unit.forgotten.receipts(scope)

        found = self.store.write(work, again=True)
        return [replace(r, copies=self.parts.carried.still_there(r.copies)) for r in found]

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
        if self.parts.embedding is not None:
            self.parts.embedding.close()
        if Lane.SLOW in workers:
            workers[Lane.SLOW].stop(PATIENCE)
        self.reads.close()
        self.traces.close()
        self.store.close()
        if self.follower is not None:
            self.follower.close()


def _handlers(store: Store, parts: Parts) -> Mapping[str, Handler | Thinking]:
    def index(unit: Unit, job: Job, now: datetime) -> None:
        index_messages(unit, job.scope, int(job.payload["last"]), parts.indexing)
        parts.gateway.vectors.request(unit, job.scope)

    def distil(unit: Unit, job: Job, now: datetime) -> None:
        first, last = int(job.payload["first"]), int(job.payload["last"])
        said = job.payload.get("detail")
        detail = Detail(said) if said else parts.retaining.detail(unit, job.scope)
        actor = Actor(ADMIN, "job") if job.payload.get("approved") else RULES
        distil_messages(unit, job.scope, first, last, now, detail, parts.retaining, parts.judging, parts.gateway, actor)
        parts.noticing.come_tonight(unit, job.scope, now)
        if first == 1:
            # From the first message on; later rules are told by `doctor` that these have read everything (SPEC C13).
            unit.memories.mark_distilled_by(job.scope, parts.redistiller.identity)

    def summarised(unit: Unit, job: Job, now: datetime) -> None:
        # SPEC C5: a summary would keep words that `minimal` takes away; its digests stay.
        if parts.retaining.detail(unit, job.scope) is not Detail.MINIMAL:
            summarise(unit, job.scope, job.payload, now, parts.summariser)
            parts.gateway.vectors.request(unit, job.scope)

    def redistil(unit: Unit, job: Job, now: datetime) -> None:
        parts.redistiller.run(unit, job.scope, job.payload, now)

    def upkeep(unit: Unit, job: Job, now: datetime) -> None:
        parts.upkeep.job(unit, job.scope, job.payload, now)

    def patterns(job: Job, _now: datetime) -> Handler:
        # A long history is read outside the transaction; what is forgotten meanwhile takes the job away with it.
        seen = store.view(lambda unit: parts.noticing.seen(unit, job.scope))

        def follow(unit: Unit, job: Job, now: datetime) -> None:
            parts.noticing.follow(unit, job.scope, seen, now)

        return follow

    def vanish(unit: Unit, job: Job, now: datetime) -> None:
        # SPEC S3: the time of a visitor is over.
        erasure = parts.forgetting.plan(unit, job.scope, Request(everything=True), RULES, now)
        copies = parts.carried.still_there([*unit.forgotten.copies(job.scope), *parts.carried.siblings()])
        parts.gateway.erase(unit, job.scope, erasure, copies)

    def segment(unit: Unit, job: Job, now: datetime) -> None:
        first, last = int(job.payload["first"]), int(job.payload["last"])
        cut_segments(unit, job.scope, first, last, now, parts.settings.model)

    def close(unit: Unit, job: Job, now: datetime) -> None:
        close_silent(unit, job.scope, now, parts.settings.model)

    def embed_soon(unit: Unit, job: Job, now: datetime) -> None:
        if parts.embedding is not None:
            unit.jobs.put(job.scope, EMBED, {}, now, lane=Lane.SLOW)

    def embed_nothing(unit: Unit, job: Job, now: datetime) -> None:
        """What was queued when there was an embedder. All that is missing is asked for when there is one again."""

    handlers: dict[str, Handler | Thinking] = {
        INDEX: index,
        DISTIL: distil,
        SUMMARISE: summarised,
        REDISTIL: redistil,
        SEGMENT: segment,
        CLOSE: close,
        UPKEEP: upkeep,
        PATTERNS: Thinking(patterns, parts.settings.jobs.lease),
        VANISH: vanish,
        EMBED_SOON: embed_soon,
        EMBED: embed_nothing,
    }
    if parts.embedding is not None:
        handlers[EMBED] = Thinking(partial(parts.embedding.think, store), parts.embedding.lease)
    if parts.model is not None:
        handlers[MODEL] = Thinking(partial(parts.model.think, store), parts.model.lease)
    return {kind: _verified(handler, parts.gateway) for kind, handler in handlers.items()}


def _verified(handler: Handler | Thinking, gateway: Gateway) -> Handler | Thinking:
    """The handler, after which what it wrote is held against what was forgotten (SPEC F6)."""
    if isinstance(handler, Thinking):
        think = handler.think
        return replace(handler, think=lambda job, now: _verifying(think(job, now), gateway))
    return _verifying(handler, gateway)


def _verifying(handler: Handler, gateway: Gateway) -> Handler:
    def run(unit: Unit, job: Job, now: datetime) -> None:
        since = place_of(unit, job.scope)
        handler(unit, job, now)
        verify_after_job(unit, job.scope, gateway, since, now)

    return run
