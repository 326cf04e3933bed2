"""The reading half of the façade for one user: every verb here leaves the memory as it is (SPEC U1, DESIGN §3)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TypeVar

from jiyi.asked_again import asked_again
from jiyi.domain.confidence import confidence
from jiyi.domain.forgetting import ForgettingReceipt
from jiyi.domain.language import language_of
from jiyi.domain.memory import Category, Language, Memory, Message, Status, Tier, parse_id
from jiyi.domain.plans import Actor, LedgerEntry
from jiyi.domain.profile import Profile, render_profile
from jiyi.domain.questions import Question
from jiyi.domain.scope import Scope, shared_name
from jiyi.domain.summary import SessionSummary
from jiyi.domain.tokens import estimate_tokens
from jiyi.domain.traces import Trace
from jiyi.engine import Engine
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.arguments import (
    read_as_of,
    read_category,
    read_kinds,
    read_language,
    read_status,
    read_tiers,
)
from jiyi.pipelines.as_of import memories_as_of, recall_as_of, versions_as_of
from jiyi.pipelines.context import ContextBlock
from jiyi.pipelines.explaining import Explanation, explain
from jiyi.pipelines.graph.exploring import Explorer
from jiyi.pipelines.graph.patterns import Noticed
from jiyi.pipelines.graph.questions import (
    Answers,
    Entity,
    Insight,
    NearBy,
    Path,
    Picture,
    Row,
    Walk,
    derived,
    entities,
    entity,
    match,
    neighbours,
    paths,
    picture,
    read_pattern,
    read_relations,
)
from jiyi.pipelines.history import History, read_history
from jiyi.pipelines.observe import instant
from jiyi.pipelines.recalling.filters import KINDS, NEAR, Filters, Span
from jiyi.pipelines.recalling.items import Item, Recollection
from jiyi.pipelines.summaries import standing
from jiyi.ports import GraphReader, JobCounts, SessionInfo, Unit
from jiyi.settings import Limits

N = TypeVar("N", str, str | None)
T = TypeVar("T")
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")  # a name of digits might be taken for a phone number
ALL = 1 << 53
"""More than a scope can hold."""


class MemoryReader:
    """One user's memory, to read. Reads are counted, as statistics."""

    def __init__(self, engine: Engine, scope: Scope, where: tzinfo, actor: Actor, *, traced: bool = True) -> None:
        self._engine, self._scope, self._zone, self._actor = engine, scope, where, actor
        self._store, self._parts, self._clock = engine.store, engine.parts, engine.clock
        self._traced, self._shared = traced, shared_name(scope)

    @property
    def user(self) -> Scope:
        return self._scope

    @property
    def limits(self) -> Limits:
        """Sizes above which input is refused."""
        return self._parts.settings.limits

    @asked_again
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
        tiers: Collection[Tier | str] | None = None,
        created_since: datetime | str | None = None,
        created_until: datetime | str | None = None,
        read_since: datetime | str | None = None,
        read_until: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        known_at: datetime | str | None = None,
    ) -> Recollection:
        """Answer a question with facts, memories and passages of history, best first (SPEC R1).

        Args:
            query: any text, up to 10 000 characters.
            limit: items at the most.
            kinds: of "fact", "memory", "message", "summary"; the first three by default. A summary opens into its
                messages with `history(around="s3")`.
            categories, min_importance, since, until, session, labels: drop what does not fit.
            tiers: of "working", "fact", "semantic", "archive"; all but the archive by default.
            created_since, created_until: memories learnt in that time. read_since, read_until: last read in that time.
                Each of these four, and `tiers`, leaves messages out.
            valid_at: what was true then, as far as we know today. known_at: what we knew then, and what had been
                said by then; what was forgotten since was never known. Both: what we knew then of that time (SPEC B6).

        Raises:
            InputError: a filter that does not exist. TooLarge: the query is above the limit.
        """
        filters = Filters(
            kinds=read_kinds(kinds),
            categories=frozenset(map(read_category, categories)),
            min_importance=min_importance,
            since=None if since is None else instant(since),
            until=None if until is None else instant(until),
            session=self._stored_name(session),
            labels=tuple((self._stored_name(k), self._stored_name(v)) for k, v in (labels or {}).items()),
            tiers=NEAR if tiers is None else read_tiers(tiers),
            created=Span(*(None if at is None else instant(at) for at in (created_since, created_until))),
            read=Span(*(None if at is None else instant(at) for at in (read_since, read_until))),
        )
        # The days that a question names are those of the user's own zone.
        now, then = self._clock().astimezone(self._zone), read_as_of(valid_at, known_at)
        with self._store.read(self._scope) as unit:
            found = recall_as_of(
                self._parts.recall, unit, self._scope, query, now, then, limit=limit, filters=filters
            )  # fmt: skip
            trace = self._trace(unit, "recall", found, now, limit, filters.kinds, found.items)
            # A look into the past is no sign of what is needed now.
            counts = then.present and self._awake(unit)
        if counts:
            self._engine.reads.note(self._scope, [i.memory.seq for i in found.items if i.memory], now)
        items = found.items if self._shared is None else tuple(replace(i, shared=self._shared) for i in found.items)
        return replace(found, items=items, trace_id=trace)

    @asked_again
    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        session: str | None = None,
        language: Language | str | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
        turns: int | None = None,
    ) -> ContextBlock:
        """The block for the system role: profile, rules, facts, memories, passages, under a budget (SPEC R4).

        Args:
            budget: tokens at the most, 800 by default.
            session: the conversation going on.
            language: of the headings, "zh" or "en"; the question's by default.
            count_tokens: the host's own counter, if it has one.
            turns: how many of the session's last turns are shown: 0 where the model gets them anyway.

        Raises:
            InputError: a budget below 60. TooLarge: the query is above the limit.
        """
        now = self._clock().astimezone(self._zone)
        tongue = None if language is None else read_language(language)
        with self._store.read(self._scope) as unit:
            block = self._parts.context(
                unit, self._scope, query, now, zone=self._zone, budget=budget, session=self._stored_name(session), language=tongue,
                count_tokens=count_tokens, turns=turns,
            )  # fmt: skip
            trace = self._trace(
                unit, "context", block.recollection, now, len(block.items), KINDS, block.items, block.read
            )
            counts = self._awake(unit)
        if counts:
            self._engine.reads.note(self._scope, block.read, now)
        return replace(block, trace_id=trace)

    def conversation(self, beginning: str) -> str:
        """The session of a conversation whose host gives it no name: the same all day for the same first words (SPEC U2).

        It tells nothing of the words, neither from the name nor by trying: it is made with a secret of the database.
        """
        day = self._clock().astimezone(self._zone).date().isoformat()
        words = f"{self._scope.tenant}\0{self._scope.user}\0{beginning}".encode("utf-8", "replace")
        digest = hmac.digest(self._store.secret, b"conversation\0" + words, hashlib.sha256).hex()[:12]
        return f"chat-{day}-{digest.translate(_LETTERS)}"

    @asked_again
    def history(
        self,
        query: str | None = None,
        *,
        session: str | None = None,
        around: str | None = None,
        before: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 50,
    ) -> History:
        """What was said (SPEC R5). With words: the turns that match, best first. Without: the turns in order.

        Args:
            around: a message id such as h17: the turns around it, in its session. Or a summary's, such as s3: the
                turns it was made from.
            before: a message id: the turns that come before it in time, without words and `around`.

        Raises:
            NotFound: no such message or summary.
        """
        start, end = (None if at is None else instant(at) for at in (since, until))
        session = self._stored_name(session)
        if query is not None and around is None:
            found = self.recall(query, limit=limit, kinds={"message"}, session=session, since=start, until=end)
            with self._store.read(self._scope) as unit:
                messages = {m.seq: m for m in unit.messages.get(self._scope, [int(i.id[1:]) for i in found.items])}
            return History(tuple(messages[int(i.id[1:])] for i in found.items if int(i.id[1:]) in messages), found)
        with self._store.read(self._scope) as unit:
            return read_history(
                unit, self._scope, session=session, around=around, before=before, since=start, until=end, limit=limit
            )  # fmt: skip

    @asked_again
    def sessions(self, limit: int = 1000, *, after: str | None = None) -> list[SessionInfo]:
        """Sessions, the latest first.

        Args:
            after: only those that come after this one.

        Raises:
            NotFound: no such session.
        """
        if limit < 1:
            raise InputError(f"limit = {limit}: ask for 1 session or more")
        with self._store.read(self._scope) as unit:
            if after is None:
                return unit.messages.sessions(self._scope, limit)
            every = unit.messages.sessions(self._scope, ALL)
        name = self._stored_name(after)
        place = next((n for n, info in enumerate(every) if info.session == name), None)
        if place is None:
            raise NotFound(f"no session {after!r} here", "session")
        return every[place + 1 :][:limit]

    @asked_again
    def summaries(self, session: str | None = None) -> list[SessionSummary]:
        """What sessions came to, by number: of one session, or of all (SPEC R6). Points that are no longer believed are
        left out; `history(around="s3")` opens one into its messages."""
        with self._store.read(self._scope) as unit:
            found = unit.summaries.listing(self._scope, session=self._stored_name(session))
            return standing(unit, self._scope, found, self._clock())

    @asked_again
    def profile(
        self,
        *,
        valid_at: datetime | str | None = None,
        known_at: datetime | str | None = None,
        max_chars: int | None = None,
    ) -> Profile:
        """The user in a few lines, each citing its memory (SPEC B7).

        Args:
            valid_at, known_at: as in `recall`; `domain.profile.diff_profiles` compares two profiles.
            max_chars: 400 by default.
        """
        policy, then = self._parts.settings.profile, read_as_of(valid_at, known_at)
        if max_chars is not None:
            policy = replace(policy, max_chars=max_chars)
        with self._store.read(self._scope) as unit:
            near = NEAR if then.present else ()
            memories = memories_as_of(unit, self._scope, then, categories=policy.categories, tiers=near)
        return render_profile(memories, then.age_at(self._clock()), policy, self._shared)

    @asked_again
    def memories(
        self,
        *,
        status: Status | str | None = Status.LIVE,
        categories: Collection[Category | str] = (),
        tiers: Collection[Tier | str] | None = None,
        valid_at: datetime | str | None = None,
        known_at: datetime | str | None = None,
    ) -> list[Memory]:
        """Memories by number; `status=None` also those that ended or were retracted.

        Args:
            tiers: of "working", "fact", "semantic", "archive". By default the archive is left out, unless every status
                or a time of the past is asked for.
            valid_at: those that were true then, whatever became of them. known_at: as they were known then.
        """
        wanted, then = None if status is None else read_status(status), read_as_of(valid_at, known_at)
        kinds = [read_category(c) for c in categories]
        near = NEAR if wanted is not None and then.present else frozenset()
        chosen = near if tiers is None else read_tiers(tiers)
        with self._store.read(self._scope) as unit:
            return memories_as_of(unit, self._scope, then, status=wanted, categories=kinds, tiers=chosen)

    @asked_again
    def memory(self, memory: str) -> Memory:
        """One memory, whatever became of it. Raises: NotFound."""
        with self._store.read(self._scope) as unit:
            return self._memory(unit, memory)

    @asked_again
    def versions(
        self, what: str, *, valid_at: datetime | str | None = None, known_at: datetime | str | None = None
    ) -> list[Memory]:
        """All values a fact has had, oldest first: by memory id (`m42`) or by the fact's name (数据库, budget).

        Args:
            valid_at: only what was true then. known_at: the values that were known then.

        Raises:
            NotFound: nothing of that id.
        """
        then, recall = read_as_of(valid_at, known_at), self._parts.recall
        with self._store.read(self._scope) as unit:
            return versions_as_of(unit, self._scope, then, what, recall.facts, recall.indexing)

    @asked_again
    def evidence(self, memory: str) -> list[Message]:
        """The messages a memory rests on. Raises: NotFound."""
        with self._store.read(self._scope) as unit:
            found = self._memory(unit, memory)
            return [m for m in unit.messages.get(self._scope, {e.message for e in found.evidence}) if not m.forgotten]

    def confidence(self, memory: Memory, *, at: datetime | None = None) -> float:
        """How sure we are of a memory now, or `at` another instant, in [0, 1] (SPEC B1).

        Raises:
            InputError: `at` has no time zone.
        """
        return confidence(memory, self._clock() if at is None else instant(at), self._parts.settings.confidence)

    @asked_again
    def patterns(self) -> list[Noticed]:
        """What repeats over sessions, as it is counted now, with its cases; what is a pattern first (SPEC G5).

        At night, and by `upkeep`, what is a pattern becomes an inferred memory, and what is none any more ends.
        """
        with self._store.read(self._scope) as unit:
            return self._parts.noticing.noticed(unit, self._scope)

    @asked_again
    def questions(self) -> list[Question]:
        """What only the user can settle: contradictions, hearsay, verifications that are past. The oldest first (SPEC B9)."""
        with self._store.read(self._scope) as unit:
            return self._parts.answering.questions(unit, self._scope, self._clock(), self._zone)

    @asked_again
    def receipts(self) -> list[ForgettingReceipt]:
        """What was forgotten so far: that, when and how much, never what; and the copies that still may hold it."""
        with self._store.read(self._scope) as unit:
            return unit.forgotten.receipts(self._scope)

    @asked_again
    def ledger(self, *, after: int = 0, latest: int | None = None, limit: int | None = None) -> list[LedgerEntry]:
        """Plans that were applied, oldest first: those numbered above `after`; of them the `latest` so many, or the first,
        up to `limit`."""
        with self._store.read(self._scope) as unit:
            start = after if latest is None else max(after, unit.ledger.last_seq(self._scope) - latest)
            return unit.ledger.entries(self._scope, after=start, limit=limit)

    @asked_again
    def lag(self) -> JobCounts:
        """Jobs of this scope that are still to run (SPEC O5)."""
        with self._store.read() as unit:
            return unit.jobs.counts(self._scope, self._clock())

    # ---------------------------------------------------------------- the graph (SPEC G1–G3)

    @asked_again
    def entities(
        self, limit: int = 50, *, after: str | None = None, language: Language | str | None = None
    ) -> list[Entity]:
        """What memories speak of now, with all names, those in most triples first.

        Args:
            after: only those that come after this one, by any of its names.
            language: in which the user's own side is told; by default that of what was said first.

        Raises:
            NotFound: no memory speaks of `after` now.
        """
        return self._explored(None, lambda e: entities(e, limit, self._tongue(e.unit, language), after))[0]

    @asked_again
    def entity(self, name: str, *, language: Language | str | None = None) -> Entity:
        """One of them by any of its names: why each is its name, and how much it matters now. Raises: NotFound."""
        return self._explored(None, lambda e: entity(e, name, self._tongue(e.unit, language, name)))[0]

    @asked_again
    def neighbours(
        self,
        name: str,
        *,
        hops: int = 1,
        relations: Collection[str] = (),
        min_confidence: float = 0.0,
        at: datetime | str | None = None,
        limit: int = 50,
        language: Language | str | None = None,
    ) -> Answers[NearBy]:
        """What is within so many steps of an entity, told or derived, the nearest and surest first.

        Args:
            name: any of its names; 用户 or User, 贵司 or User's company for the user's own side.
            relations: only these, by name (COMPETES_WITH) or by what people call them (竞品).
            min_confidence: of every step. at: what held then, now by default.

        Raises:
            NotFound: no memory speaks of it. InputError: a relation or number that does not exist.
        """
        walk = self._walk(relations, min_confidence)
        return self._answers(at, lambda e: neighbours(e, name, walk, hops, limit, self._tongue(e.unit, language, name)))

    @asked_again
    def paths(
        self,
        start: str,
        end: str,
        *,
        hops: int = 4,
        relations: Collection[str] = (),
        min_confidence: float = 0.0,
        at: datetime | str | None = None,
        limit: int = 10,
        language: Language | str | None = None,
    ) -> Answers[Path]:
        """Ways from one entity to another in at most so many steps, the shortest and surest first. Takes and raises what
        `neighbours` does."""
        walk = self._walk(relations, min_confidence)
        return self._answers(
            at, lambda e: paths(e, start, end, walk, hops, limit, self._tongue(e.unit, language, start, end))
        )

    @asked_again
    def match(
        self,
        pattern: Sequence[Sequence[str]],
        *,
        past: bool = False,
        min_confidence: float = 0.0,
        at: datetime | str | None = None,
        limit: int = 50,
        language: Language | str | None = None,
    ) -> Answers[Row]:
        """Where all triples of a pattern hold: `[("?who", "COMPETES_WITH", "?x"), ("?x", "HAS_PRICE", "?price")]`.

        Args:
            pattern: triples of ?variables and names; a relation by name, by what people call it, or "*" for any.
            past: also what is over. Each answer says how many days lie between the beginnings of its triples.

        Raises:
            InputError: a pattern that cannot be looked for.
        """
        atoms = read_pattern(pattern, self._parts.vocabulary, self._parts.graphing.rules, past=past)
        said = [t for a in atoms for t in a.terms if not t.startswith("?")]
        walk = self._walk((), min_confidence)
        return self._answers(at, lambda e: match(e, atoms, walk, limit, self._tongue(e.unit, language, *said)))

    @asked_again
    def derived(self, *, at: datetime | str | None = None, language: Language | str | None = None) -> Answers[Insight]:
        """What the fusion rules make of what is known now, each with its rule and its premises (SPEC G2)."""
        return self._answers(at, lambda e: derived(e, self._tongue(e.unit, language)))

    @asked_again
    def graph(
        self,
        *,
        around: str | None = None,
        hops: int = 2,
        relations: Collection[str] = (),
        min_confidence: float = 0.0,
        at: datetime | str | None = None,
        language: Language | str | None = None,
    ) -> Picture:
        """All of it, or what is near one entity. `pipelines.graph_export` writes it as GraphML, JSON or Mermaid."""
        walk, said = self._walk(relations, min_confidence), list(filter(None, [around]))
        found, note = self._explored(
            at, lambda e: picture(e, walk, around, hops, self._tongue(e.unit, language, *said))
        )
        return replace(found, note=note)

    # ---------------------------------------------------------------- why

    @asked_again
    def explain(self, trace: str, *, why: str | None = None) -> Explanation:
        """What a recall did (SPEC R10): what was looked for, every candidate with the parts of its score, what was left out.

        Args:
            trace: the `trace_id` of an answer.
            why: an id such as m42, h17 or s3: what became of that one, found or not, and at which stage.

        Raises:
            NotFound: no such trace is kept any more, or no such memory, message or summary is here.
        """
        self._engine.traces.flush()
        with self._store.read() as unit:
            return explain(unit, self._scope, trace, why, self._parts.indexing)

    @asked_again
    def traces(self, limit: int = 10) -> list[Trace]:
        """The latest recalls that are kept, newest first; `limits` of how many and how long: settings `traces`."""
        if limit < 1:
            raise InputError(f"limit = {limit}: ask for 1 trace or more")
        self._engine.traces.flush()
        with self._store.read() as unit:
            return unit.traces.latest(self._scope, limit)

    # ---------------------------------------------------------------- small parts

    def _explored(self, at: datetime | str | None, question: Callable[[Explorer], T]) -> tuple[T, str]:
        """The answer to a question about the graph, and why the database gave it where an engine follows (SPEC G4)."""
        then, now = None if at is None else instant(at), self._clock()
        with self._store.read(self._scope) as unit:

            def asked(graph: GraphReader | None = None) -> T:
                return question(Explorer(unit, self._scope, self._parts.graphing, now, then, graph))

            follower = self._engine.follower
            return (asked(), "") if follower is None else follower.asked(unit, self._scope, asked)

    def _answers(self, at: datetime | str | None, question: Callable[[Explorer], Sequence[T]]) -> Answers[T]:
        (found, cut), note = self._explored(at, lambda explorer: (tuple(question(explorer)), explorer.cut))
        return Answers(found, cut, note)

    def _walk(self, relations: Collection[str], min_confidence: float) -> Walk:
        if not 0 <= min_confidence <= 1:
            raise InputError(f"min_confidence = {min_confidence}: use 0 to 1")
        names = [relations] if isinstance(relations, str) else relations
        return Walk(read_relations(names, self._parts.vocabulary, self._parts.graphing.rules), min_confidence)

    def _tongue(self, unit: Unit, language: Language | str | None, *said: str) -> Language:
        """The language that was asked for; else Chinese where a name is, else that of what was said first: a Latin name
        tells nothing."""
        if language is not None:
            return read_language(language)
        if any(language_of(s, Language.EN) is Language.ZH for s in said):
            return Language.ZH
        first = unit.memories.listing(self._scope, limit=1)
        return first[0].language if first else Language.ZH

    def _trace(
        self,
        unit: Unit,
        verb: str,
        found: Recollection,
        now: datetime,
        limit: int,
        kinds: Collection[str],
        shown: Sequence[Item],
        read: Sequence[int] = (),
    ) -> str:
        if not self._traced:
            return ""
        ids = {item.id for item in shown}
        return self._engine.traces.note(unit, self._scope, verb, found, now, limit, kinds, ids, read)

    def _awake(self, unit: Unit) -> bool:
        return not unit.standings.get(self._scope).paused  # SPEC C5

    def _memory(self, unit: Unit, memory: str) -> Memory:
        found = unit.memories.get(self._scope, [parse_id(memory, "m")])
        if not found:
            raise NotFound(f"no memory {memory} here", "memory")
        return found[0]

    def _stored_name(self, name: N) -> N:
        """A session or label as `observe` stored it (SPEC C11)."""
        return name if name is None else self._parts.redaction.name(name)
