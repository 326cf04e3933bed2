"""The façade: one short method per verb, the same verbs as in every other surface (SPEC U1, DESIGN §3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from types import TracebackType
from typing import Any, TypeVar

from jiyi.domain.confidence import confidence
from jiyi.domain.memory import Category, IncomingMessage, Language, Memory, Message, Status, parse_id
from jiyi.domain.plans import Actor, LedgerEntry, Verb
from jiyi.domain.profile import Profile, render_profile
from jiyi.domain.relations import Vocabulary
from jiyi.domain.scope import Scope, check_name
from jiyi.domain.tokens import estimate_tokens
from jiyi.errors import InputError, NotFound, PlanRefused, TooLarge
from jiyi.jobs import Clock, Handler, Runner, Worker
from jiyi.pipelines.context import Context, ContextBlock
from jiyi.pipelines.correcting import read_correction
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.gateway import Gateway, Receipt
from jiyi.pipelines.history import History, read_history, read_versions
from jiyi.pipelines.indexing import Indexing, index_messages, rebuild
from jiyi.pipelines.judging import Occasion, judge_all, judge_correction
from jiyi.pipelines.observe import (
    DISTIL,
    INDEX,
    Observed,
    check_messages,
    clean_text,
    distil_messages,
    instant,
    observe,
)
from jiyi.pipelines.read_counts import ReadCounts
from jiyi.pipelines.recall import KINDS, Filters, Recall, Recollection
from jiyi.ports import Check, DeadJob, Job, JobCounts, SessionInfo, Store, StoreInfo, Unit
from jiyi.settings import Settings, zone

E = TypeVar("E", bound=StrEnum)

SEGMENTER = "segmenter"
DICTIONARY = "dictionary"
"""Names of what a database stores of its segmenter: the identity it was indexed with, and its own words, one a line."""
UNFINISHED = "(a rebuild that did not finish)"
"""Stands for the segmenter of an index while it is rebuilt."""


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


class MemoryLayer:
    """One open memory: all scopes of one database. Make it with `jiyi.open_memory`.

    Use it as a context manager, or call `close()`. Methods here are operator calls: they see all scopes and
    return no memory text; `scope(...)` gives one user's memory.
    """

    def __init__(self, store: Store, parts: Parts, clock: Clock) -> None:
        self._store, self._parts, self._clock = store, parts, clock
        settings = parts.settings
        self._reads = ReadCounts(store, settings.heat, settings.access.flush_after)
        self._runner = Runner(store, _handlers(parts), clock, settings.jobs)
        self._worker = Worker(self._runner) if settings.worker else None

    def scope(
        self, user: str, *, tenant: str = "default", tz: str | None = None, surface: str = "library"
    ) -> ScopedMemory:
        """The memory of one user.

        Args:
            tz: the user's time zone, e.g. Asia/Shanghai; dates are written in it. From the settings by default.

        Raises:
            InputError: a name that cannot be one. SettingsError: no such time zone.
        """
        where = zone(tz or self._parts.settings.timezone)
        return ScopedMemory(self, Scope(user, tenant), where, Actor("user", surface))

    def work(self, limit: int | None = None) -> int:
        """Run due background jobs until none is left (or `limit`); returns how many ran. Reads are written too."""
        done = self._runner.run_until_idle(limit)
        self._reads.flush()
        return done

    def lag(self) -> JobCounts:
        """Waiting, running and dead jobs of all scopes: how far behind distilling is (SPEC O5)."""
        with self._store.read() as unit:
            return unit.jobs.counts(None, self._clock())

    def dead_jobs(self, limit: int = 100) -> list[DeadJob]:
        """Jobs that were given up, oldest first."""
        with self._store.read() as unit:
            return unit.jobs.dead(limit)

    def retry_job(self, job_id: int) -> None:
        """Queue a dead job again. Raises: NotFound."""
        if not self._store.write(lambda unit: unit.jobs.revive(job_id, self._clock())):
            raise NotFound(f"no dead job {job_id}: dead_jobs() lists them")
        self._wake()

    def scopes(self) -> list[Scope]:
        """Every scope that was ever written to."""
        with self._store.read() as unit:
            return list(unit.scopes())

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Build the text index of every scope anew, one transaction a scope; returns the documents indexed.

        Args:
            progress: called with (scopes done, scopes in all).
        """
        scopes, done = self.scopes(), 0
        self._store.set_meta(SEGMENTER, UNFINISHED)
        for number, scope in enumerate(scopes, 1):
            done += self._store.write(lambda unit, s=scope: rebuild(unit, s, self._parts.indexing))  # type: ignore[misc]
            if progress is not None:
                progress(number, len(scopes))
        self._store.set_meta(DICTIONARY, "\n".join(self._parts.dictionary))
        self._store.set_meta(SEGMENTER, self._parts.indexing.segmenter.identity)
        return done

    def check(self) -> Iterator[Check]:
        """Go through the health of the database and its views, a line at a time."""
        yield from self._store.check(lambda _kind, item: self._parts.indexing.any(item))

    def info(self) -> StoreInfo:
        return self._store.info()

    def backup(self, path: str) -> None:
        """Copy the database to a new file while it is in use. Raises: StoreError when the file exists."""
        self._store.backup(path)

    def close(self) -> None:
        """Finish the work at hand and close. Waiting jobs stay queued, durably. Closing twice is fine."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
        self._reads.close()
        self._store.close()

    def __enter__(self) -> MemoryLayer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wake(self) -> None:
        if self._worker is not None:
            self._worker.wake()


class ScopedMemory:
    """One user's memory: every verb below is bound to this scope. Make it with `MemoryLayer.scope`."""

    def __init__(self, layer: MemoryLayer, scope: Scope, where: tzinfo, actor: Actor) -> None:
        self._layer, self._scope, self._zone, self._actor = layer, scope, where, actor
        self._store, self._parts, self._clock = layer._store, layer._parts, layer._clock

    @property
    def user(self) -> Scope:
        return self._scope

    # ---------------------------------------------------------------- in

    def observe(
        self, messages: Sequence[Mapping[str, Any] | IncomingMessage], *, session: str | None = None
    ) -> Observed:
        """Store turns of a conversation; durable on return. Distilling follows in a background job (SPEC C1).

        Args:
            messages: mappings with `role` (user, assistant, system, tool, other), `text` (or `content`, also as
                parts), and optionally `at` (ISO 8601 with zone; now by default), `id`, `name`, `session`,
                `agent`, `app`, `run`.
            session: for messages that name none.

        Raises:
            InputError: what is wrong and in which message. ConflictingMessage: a known id with another text.
            In both cases nothing of the call is stored.
        """
        now, limits = self._clock(), self._parts.settings.limits
        checked = check_messages(
            messages, session=session, now=now.astimezone(self._zone), limits=limits, secret=self._store.secret
        )
        observed = observe(self._store, self._scope, checked, now)
        if observed.new:
            self._layer._wake()
        return observed

    def remember(
        self,
        text: str,
        *,
        category: Category | str | None = None,
        importance: int | None = None,
        session: str = "remember",
    ) -> Receipt:
        """Remember a statement, as declared by the user, at once.

        Args:
            text: one statement, up to 500 characters.
            category: profile, preference, goal, project, task, event, relationship, rule or general.
            importance: 1 to 5.

        Raises:
            InputError: empty text, or a category or importance that does not exist. TooLarge: above the limit.
        """
        text = self._statement(text)
        kind = None if category is None else _category(category)
        if importance is not None and not 1 <= importance <= 5:
            raise InputError(f"importance = {importance}: use 1 (trifle) to 5 (vital)")
        now = self._clock()
        observations = self._parts.distiller.declare(
            text, at=now, session=session, category=kind, importance=importance
        )
        occasion = Occasion(Verb.REMEMBER, self._actor, now, "asked to remember")

        def work(unit: Unit) -> Receipt:
            plan = judge_all(unit, self._scope, observations, self._parts.vocabulary, occasion)
            return self._parts.gateway.apply(unit, self._scope, plan)

        return self._store.write(work)

    # ---------------------------------------------------------------- out

    def recall(
        self,
        query: str,
        *,
        limit: int = 8,
        kinds: Collection[str] | None = None,
        categories: Collection[Category | str] = (),
        min_importance: int = 1,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        session: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Recollection:
        """Answer a question with facts, memories and passages of history, best first (SPEC R1).

        Args:
            query: any text, up to 10 000 characters.
            limit: items at the most.
            kinds: of "fact", "memory", "message"; all by default.
            categories, min_importance, since, until, session, labels: drop what does not fit.

        Raises:
            InputError: a filter that does not exist. TooLarge: the query is above the limit.
        """
        filters = Filters(
            kinds=_kinds(kinds),
            categories=frozenset(map(_category, categories)),
            min_importance=min_importance,
            since=None if since is None else instant(since),
            until=None if until is None else instant(until),
            session=session,
            labels=tuple((labels or {}).items()),
        )
        now = self._clock()
        with self._store.read() as unit:
            found = self._parts.recall(unit, self._scope, query, now, limit=limit, filters=filters)
        self._layer._reads.note(self._scope, [i.memory.seq for i in found.items if i.memory], now)
        return found

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        session: str | None = None,
        language: Language | str | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> ContextBlock:
        """The block for the system role: profile, rules, facts, memories, passages, under a budget (SPEC R4).

        Args:
            budget: tokens at the most, 800 by default.
            session: the conversation going on.
            language: of the headings, "zh" or "en"; the question's by default.
            count_tokens: the host's own counter, if it has one.

        Raises:
            InputError: a budget below 60. TooLarge: the query is above the limit.
        """
        now = self._clock()
        tongue = None if language is None else _language(language)
        with self._store.read() as unit:
            block = self._parts.context(
                unit, self._scope, query, now, zone=self._zone, budget=budget, session=session, language=tongue,
                count_tokens=count_tokens,
            )  # fmt: skip
        self._layer._reads.note(self._scope, [i.memory.seq for i in block.items if i.memory], now)
        return block

    def history(
        self,
        query: str | None = None,
        *,
        session: str | None = None,
        around: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 50,
    ) -> History:
        """What was said (SPEC R5). With words: the turns that match, best first. Without: the turns in order.

        Args:
            around: a message id such as h17: the turns around it, in its session.

        Raises:
            NotFound: no such message.
        """
        start, end = (None if at is None else instant(at) for at in (since, until))
        if query is not None and around is None:
            found = self.recall(query, limit=limit, kinds={"message"}, session=session, since=start, until=end)
            with self._store.read() as unit:
                messages = {m.seq: m for m in unit.messages.get(self._scope, [int(i.id[1:]) for i in found.items])}
            return History(tuple(messages[int(i.id[1:])] for i in found.items if int(i.id[1:]) in messages), found)
        with self._store.read() as unit:
            return read_history(unit, self._scope, session=session, around=around, since=start, until=end, limit=limit)

    def sessions(self, limit: int = 1000) -> list[SessionInfo]:
        """Sessions, the latest first."""
        with self._store.read() as unit:
            return unit.messages.sessions(self._scope, limit)

    def profile(self) -> Profile:
        """The user in a few lines, each citing its memory (SPEC B7)."""
        policy = self._parts.settings.profile
        with self._store.read() as unit:
            memories = unit.memories.listing(self._scope, categories=policy.categories)
        return render_profile(memories, self._clock(), policy)

    def memories(
        self, *, status: Status | str | None = Status.LIVE, categories: Collection[Category | str] = ()
    ) -> list[Memory]:
        """Memories by number; `status=None` also those that ended or were retracted."""
        wanted = None if status is None else _status(status)
        with self._store.read() as unit:
            return unit.memories.listing(self._scope, status=wanted, categories=[_category(c) for c in categories])

    def versions(self, what: str) -> list[Memory]:
        """All values a fact has had, oldest first: by memory id (`m42`) or by the fact's name (数据库, budget).

        Raises:
            NotFound: nothing of that id.
        """
        with self._store.read() as unit:
            return read_versions(unit, self._scope, what, self._parts.recall.facts)

    def evidence(self, memory: str) -> list[Message]:
        """The messages a memory rests on. Raises: NotFound."""
        with self._store.read() as unit:
            found = self._memory(unit, memory)
            return [m for m in unit.messages.get(self._scope, {e.message for e in found.evidence}) if not m.forgotten]

    def confidence(self, memory: Memory) -> float:
        """How sure we are of a memory now, in [0, 1] (SPEC B1)."""
        return confidence(memory, self._clock(), self._parts.settings.confidence)

    # ---------------------------------------------------------------- changes

    def correct(self, memory: str, text: str) -> Receipt:
        """This memory is wrong; `text` is right. The old one stays as history (SPEC B3).

        Raises:
            NotFound: no such memory. PlanRefused: it is no longer believed. InputError: empty text.
        """
        text = self._statement(text)
        now = self._clock()

        def work(unit: Unit) -> Receipt:
            wrong = self._memory(unit, memory)
            if wrong.status is not Status.LIVE:
                raise PlanRefused(f"{wrong.id} is no longer believed: correct the memory that replaced it")
            observation = read_correction(
                text, wrong, now, self._parts.distiller, self._parts.vocabulary, self._parts.indexing.segmenter.fold
            )
            occasion = Occasion(Verb.CORRECT, self._actor, now, f"{wrong.id} corrected by the user")
            plan = judge_correction(unit, self._scope, wrong, observation, self._parts.vocabulary, occasion)
            return self._parts.gateway.apply(unit, self._scope, plan)

        return self._store.write(work)

    def forget(self, *, memory: str, dry_run: bool = False) -> Receipt:
        """Forget one memory for good: its text, its index, its place in the ledger and its words in the messages.

        It cannot be undone. With `dry_run` nothing happens and the receipt says what would.

        Raises:
            NotFound: no such memory.
        """
        now, gateway, seq = self._clock(), self._parts.gateway, parse_id(memory, "m")
        if dry_run:
            with self._store.read() as unit:
                return gateway.preview(gateway.plan_forgetting(unit, self._scope, seq, self._actor, now))
        receipt = self._store.write(
            lambda unit: gateway.forget(
                unit, self._scope, gateway.plan_forgetting(unit, self._scope, seq, self._actor, now)
            )
        )
        self._store.purge()
        return receipt

    def undo(self, plan: str) -> Receipt:
        """Take an applied plan back to the exact prior state (SPEC W2).

        Raises:
            NotFound: no such plan. PlanRefused: it forgot something, or later plans changed the same memories.
        """
        seq, now = parse_id(plan, "p"), self._clock()
        return self._store.write(lambda unit: self._parts.gateway.undo(unit, self._scope, seq, self._actor, now))

    def ledger(self, *, after: int = 0, latest: int | None = None) -> list[LedgerEntry]:
        """Plans that were applied, oldest first: those numbered above `after`, the `latest` so many of them."""
        with self._store.read() as unit:
            start = after if latest is None else max(after, unit.ledger.last_seq(self._scope) - latest)
            return unit.ledger.entries(self._scope, after=start)

    def end(self, session: str) -> None:
        """The session is over: what it said is distilled before this returns."""
        check_name("session", session)
        self._layer.work()

    def lag(self) -> JobCounts:
        """Jobs of this scope that are still to run (SPEC O5)."""
        with self._store.read() as unit:
            return unit.jobs.counts(self._scope, self._clock())

    # ---------------------------------------------------------------- small parts

    def _memory(self, unit: Unit, memory: str) -> Memory:
        found = unit.memories.get(self._scope, [parse_id(memory, "m")])
        if not found:
            raise NotFound(f"no memory {memory} here")
        return found[0]

    def _statement(self, text: object) -> str:
        if not isinstance(text, str) or not text.strip():
            raise InputError("there is nothing to remember: give one statement as text")
        limit = self._parts.settings.limits.memory_chars
        if len(text) > limit:
            raise TooLarge("the statement", len(text), limit)
        return clean_text(text.strip())


def _handlers(parts: Parts) -> dict[str, Handler]:
    def index(unit: Unit, job: Job, now: datetime) -> None:
        index_messages(unit, job.scope, int(job.payload["last"]), parts.indexing)

    def distil(unit: Unit, job: Job, now: datetime) -> None:
        first, last = int(job.payload["first"]), int(job.payload["last"])
        distil_messages(unit, job.scope, first, last, now, parts.distiller, parts.vocabulary, parts.gateway)

    return {INDEX: index, DISTIL: distil}


def _kinds(kinds: Collection[str] | None) -> frozenset[str]:
    if kinds is None:
        return KINDS
    wanted = frozenset([kinds] if isinstance(kinds, str) else kinds)
    if not wanted or not wanted <= KINDS:
        raise InputError(f"kinds = {sorted(wanted)}: use some of {', '.join(sorted(KINDS))}")
    return wanted


def _member(kind: type[E], value: str, what: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{what} = {value!r}: use one of {', '.join(e.value for e in kind)}") from None


def _category(value: Category | str) -> Category:
    return _member(Category, value, "category")


def _status(value: Status | str) -> Status:
    return _member(Status, value, "status")


def _language(value: Language | str) -> Language:
    return _member(Language, value, "language")
