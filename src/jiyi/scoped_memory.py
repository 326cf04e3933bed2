"""The façade for one user: one short method per verb, the same verbs as in every other surface (SPEC U1, DESIGN §3)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, overload

from jiyi.domain.encoding import version_of
from jiyi.domain.feedback import Feedback, heeded
from jiyi.domain.forgetting import ForgettingReceipt
from jiyi.domain.memory import Category, IncomingMessage, Language, Source, Status, parse_id
from jiyi.domain.plans import Change, Plan, Verb
from jiyi.domain.profile import Profile
from jiyi.domain.scope import check_name
from jiyi.domain.standing import Detail
from jiyi.domain.summary import WHOLE, SessionSummary
from jiyi.errors import InputError, PlanRefused, TooLarge, VersionMismatch
from jiyi.memory_reader import MemoryReader
from jiyi.pipelines.archive import Summary, is_there, read_archive
from jiyi.pipelines.arguments import (
    read_category,
    read_detail,
    read_feedback,
    read_language,
    read_source,
)
from jiyi.pipelines.correcting import read_corrections
from jiyi.pipelines.exporting import export_scope
from jiyi.pipelines.forgetting import Request, read_request
from jiyi.pipelines.gateway import ForgetReceipt, Left, Receipt
from jiyi.pipelines.graph.uniting import check_names, unite
from jiyi.pipelines.judging import Occasion
from jiyi.pipelines.observe import Observed, check_messages, clean_text, instant, observe
from jiyi.pipelines.once import Asked, write_once
from jiyi.pipelines.redistil import Redistilled
from jiyi.pipelines.retention import Decision, Retention, choose, consent, pause, read_retention, resume
from jiyi.pipelines.segments import close_segment
from jiyi.pipelines.summarise import queue_session
from jiyi.pipelines.upkeep import Upkept, keep_up
from jiyi.pipelines.user_file import (
    ReadProfile,
    WrittenProfile,
    check_overwriting,
    load,
    read_edits,
    render_file,
    save,
)
from jiyi.ports import Unit

N = TypeVar("N", str, str | None)
T = TypeVar("T")


class ScopedMemory(MemoryReader):
    """One user's memory: every verb below is bound to this scope. Make it with `MemoryLayer.scope`."""

    _asked: Asked | None = None

    def once(self, key: str, request: bytes = b"", *, call: str = "", by: str = "") -> ScopedMemory:
        """This memory for one request: the change that is made through it is made once for this key, however often it is
        asked for, also after a crash (SPEC S5). Asked again it does nothing and answers as it did then, less what was
        forgotten since.

        It holds for `observe`, `remember`, `correct`, `answer`, `feedback`, `forget`, `undo`, `retention`, `pause`,
        `resume`, `consent`, `merge_entities` and `split_entities`; the other verbs come to the same when they are called twice.

        Args:
            key: a name that the caller makes up for the request. Known for a while: settings `once`.
            request: what is asked, as bytes, so that another request under the same key is refused.
            call: the name of what is called; unlike `request` it is heeded after a forgetting too.
            by: whose key it is, where several write to one memory.

        Raises:
            InputError: a key that cannot be one. The verb raises ConflictingRequest: the key stands for another request.
        """
        other = ScopedMemory(self._engine, self._scope, self._zone, self._actor)
        other._asked = Asked.of(key, request, self._store.secret, call, by)
        return other

    # ---------------------------------------------------------------- in

    def observe(
        self, messages: Sequence[Mapping[str, Any] | IncomingMessage], *, session: str | None = None
    ) -> Observed:
        """Store turns of a conversation; durable on return. Distilling follows in a background job (SPEC C1).

        While the memory is paused nothing is stored, and the answer says so: `.paused`.

        Args:
            messages: mappings with `role` (user, assistant, system, tool, other), `text` (or `content`, also as
                parts), and optionally `at` (ISO 8601 with zone; now by default), `id`, `name`, `session`,
                `agent`, `app`, `run`.
            session: for messages that name none.

        Raises:
            InputError: what is wrong and in which message. ConflictingMessage: a known id with another text.
            In both cases nothing of the call is stored.
        """
        now, settings = self._engine.now(self._scope), self._parts.settings
        checked = check_messages(messages, session=session, now=now.astimezone(self._zone), limits=settings.limits)
        observed = observe(
            self._write, self._store.secret, self._scope, checked, now, self._parts.redaction,
            self._parts.indexing.folding, settings.summaries, settings.retention, self._engine.kinds,
        )  # fmt: skip
        if observed.new:
            self._engine.wake()
        return observed

    def remember(
        self,
        text: str,
        *,
        category: Category | str | None = None,
        importance: int | None = None,
        session: str = "remember",
        source: Source | str = Source.DECLARED,
    ) -> Receipt:
        """Remember a statement, as declared by the user, at once.

        While the memory is paused nothing is remembered, and the receipt says so: `.paused`.

        Args:
            text: one statement, up to 500 characters.
            category: profile, preference, goal, project, task, event, relationship, rule or general.
            importance: 1 to 5.
            session: in which it was said.
            source: on whose word, where it is not the user's: verified (by a third party), inferred, imported, tool.

        Raises:
            InputError: empty text, or a category, source or importance that does not exist. TooLarge: above the limit.
            InstructsAgent: the text tries to instruct the agent, and a category was asked for; without one it is kept as a
                quotation, and the receipt says so (SPEC C12).
        """
        text = self._statement(text)
        kind = None if category is None else read_category(category)
        if importance is not None and importance not in range(1, 6):
            raise InputError(f"importance = {importance}: use 1 (trifle) to 5 (vital)")
        now = self._clock()
        declared = self._parts.guard.declared(text, kind)
        observations = self._parts.distiller.declare(
            declared.text,
            at=now.astimezone(self._zone),
            session=self._stored_name(check_name("session", session)),
            category=kind,
            importance=importance,
            source=read_source(source),
            verbatim=declared.cites,
        )
        occasion = Occasion(Verb.REMEMBER, self._actor, now, "asked to remember")

        def work(unit: Unit) -> Receipt:
            if unit.standings.get(self._scope).paused:
                return self._parts.gateway.nothing_while_paused(Verb.REMEMBER, self._actor, now)
            plan = self._parts.judging.all(unit, self._scope, observations, occasion)
            plan = replace(plan, judgements=(*plan.judgements, *declared.refusals))
            return self._parts.gateway.apply(unit, self._scope, plan)

        return self._write(work)

    # ---------------------------------------------------------------- out

    def write_profile(
        self, path: str | os.PathLike[str], *, language: Language | str | None = None, overwrite: bool = False
    ) -> WrittenProfile:
        """Write the whole profile to a Markdown file that the user may edit and `read_profile` reads back (SPEC B7).

        What was said so far is distilled first. The file is under no budget.

        Args:
            language: of the headings, "zh" or "en"; by default the one that most lines are in.
            overwrite: also a file that holds what is not in memory.

        Raises:
            InputError: the file holds edits that were not read back, or cannot be written.
        """
        tongue = None if language is None else read_language(language)
        self._engine.work_for(self._scope)
        where, now, policy = Path(path), self._clock(), self._parts.settings.profile

        def render(unit: Unit) -> tuple[Profile, str]:
            if is_there(where) and not overwrite:
                check_overwriting(unit, self._scope, where, load(where, self._stored), now)
            return render_file(unit, self._scope, now, self._zone, policy, tongue)

        profile, text = self._store.view(render)
        save(where, text)
        return WrittenProfile(where, profile, text)

    def read_profile(self, path: str | os.PathLike[str], *, dry_run: bool = False) -> ReadProfile:
        """Take over what the user changed in a file of `write_profile`, as their own declarations, in one plan (SPEC B7).

        A changed line corrects its memory, a new one is remembered, one that is gone is rejected. What has changed in
        memory since the file was written is not overwritten: the user is asked. Reading a file twice changes nothing.

        Args:
            dry_run: only say what would change.

        Raises:
            UnreadableLines: lines that cannot be taken over, with their numbers; nothing was. InputError: no such file,
                or not one of this user's.
        """
        self._engine.work_for(self._scope)
        where, now = Path(path), self._clock()
        file, gateway = load(where, self._stored), self._parts.gateway
        occasion = Occasion(Verb.PROFILE, self._actor, now, f"the user edited {where.name}")

        def work(unit: Unit) -> ReadProfile:
            if not dry_run:
                gateway.check_awake(unit, self._scope, Verb.PROFILE)
            found = read_edits(unit, self._scope, where, file, now)
            plan = self._parts.reading_back.plan(
                unit, self._scope, where, found, self._declared, occasion, self._zone,
                dry_run=dry_run,
            )  # fmt: skip
            receipt = gateway.preview(plan) if dry_run else gateway.apply(unit, self._scope, plan)
            return ReadProfile(receipt, tuple(found.edits), file.others)

        return self._store.view(work) if dry_run else self._store.write(work)

    # ---------------------------------------------------------------- changes

    def correct(self, memory: str, text: str, *, version: str | None = None) -> Receipt:
        """This memory is wrong; `text` is right: a value or a sentence. The old one stays as history (SPEC B3).

        Args:
            version: of the memory that is meant, as `domain.encoding.version_of` gives it: another one is not corrected.

        Raises:
            NotFound: no such memory. VersionMismatch: it is not that version any more. PlanRefused: it is no longer believed. InputError: empty text.
            InstructsAgent: the text tries to instruct the agent (SPEC C12). MemoryPaused: the memory is paused.
        """
        text = self._statement(text)
        now = self._clock()

        def work(unit: Unit) -> Receipt:
            self._parts.gateway.check_awake(unit, self._scope, Verb.CORRECT)
            wrong = self._memory(unit, memory)
            if version is not None and version_of(wrong) != version:
                raise VersionMismatch(wrong.id)
            if wrong.status is not Status.LIVE:
                raise PlanRefused(f"{wrong.id} is no longer believed: correct the memory that replaced it")
            said = self._parts.guard.declared(text, wrong.category).text
            at = now.astimezone(self._zone)
            right, besides = read_corrections(said, wrong, at, self._parts.distiller, self._parts.vocabulary)
            occasion = Occasion(Verb.CORRECT, self._actor, now, f"{wrong.id} corrected by the user")
            plan = self._parts.judging.correction(unit, self._scope, wrong, right, occasion, besides)
            return self._parts.gateway.apply(unit, self._scope, plan)

        return self._write(work)

    def answer(self, question: str, text: str) -> Receipt:
        """Settle an open question (SPEC B9).

        Args:
            question: its id, such as q12.
            text: the id of the option that holds (m12), its value, yes or no, “neither”, “skip” (not asked again), or
                the right value in words; in Chinese or English.

        Raises:
            NotFound: no open question of that id. InputError: the text does not answer it. InstructsAgent: it tries to
                instruct the agent (SPEC C12).
        """
        text, now = self._statement(text), self._clock()
        self._parts.guard.declared(text, Category.PROFILE)
        occasion = Occasion(Verb.ANSWER, self._actor, now, f"{question} answered by the user")

        def work(unit: Unit) -> Receipt:
            self._parts.gateway.check_awake(unit, self._scope, Verb.ANSWER)
            plan = self._parts.answering.plan(unit, self._scope, question, text, occasion, self._zone)
            return self._parts.gateway.apply(unit, self._scope, plan)

        return self._write(work)

    def feedback(self, memory: str, verdict: Feedback | str, *, trace: str | None = None) -> Receipt:
        """Say of a memory that came up whether that was good (SPEC R8).

        Args:
            verdict: "helpful" raises its importance by one, "irrelevant" lowers it, "wrong" lowers it and asks the user
                whether it is so (`questions`). However often feedback is given, it moves a memory by one at the most.

            trace: the recall in which it came up, for the ledger.

        Raises:
            NotFound: no such memory or trace. PlanRefused: it is no longer believed. InputError: no such verdict.
        """
        said, now = read_feedback(verdict), self._clock()
        occasion = "" if trace is None else f" in {self.explain(trace, why=memory).trace.id}"

        def work(unit: Unit) -> Receipt:
            self._parts.gateway.check_awake(unit, self._scope, Verb.FEEDBACK)
            found = self._memory(unit, memory)
            if found.status not in (Status.LIVE, Status.HELD):
                raise PlanRefused(f"{found.id} is no longer believed, so there is nothing to say of it")
            after = heeded(found, said)
            changes = () if after == found else (Change(found, after),)
            plan = Plan(Verb.FEEDBACK, self._actor, now, f"{found.id} was {said}{occasion}, the user says", changes)
            return self._parts.gateway.apply(unit, self._scope, plan)

        return self._write(work)

    def merge_entities(self, one: str, other: str, *, dry_run: bool = False) -> Receipt:
        """Two names mean one thing: from now on all that is known of either is known of both (SPEC G1).

        It is a statement of the user, so it can be undone, corrected and forgotten like one.

        Raises:
            NotFound: no memory speaks of either. InputError: no two names. MemoryPaused: the memory is paused.
        """
        return self._unite(one, other, Verb.UNITE, dry_run=dry_run)

    def split_entities(self, one: str, other: str, *, dry_run: bool = False) -> Receipt:
        """Two names do not mean one thing, whoever said or knows so (SPEC G1). Takes and raises what `merge_entities` does."""
        return self._unite(one, other, Verb.SPLIT, dry_run=dry_run)

    def forget(
        self,
        *,
        memory: str | None = None,
        topic: str | None = None,
        session: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        seal: str | None = None,
    ) -> ForgetReceipt:
        """Forget for good: one memory, a topic, a session, a span of time, or everything (SPEC F6).

        It reaches messages, memories with all their versions, the ledger, every index and view, and jobs. It cannot be
        undone. Old sources and backups bring nothing back; what the user says anew is learnt. What was said before is
        distilled first, so that all that rests on it is known. With `dry_run` nothing more happens, and the receipt says
        what would.

        Args:
            memory: an id such as m42. The words of its value also go from other turns, unless another memory says them.
            topic: a term, in either language and script; a name of a relation (数据库) stands for all its names. Where
                nothing of it is there, nothing happens: the receipt has no `plan_id`.
            session: all that was said in it, and what was learnt from that alone.
            since, until: the same for a span of time; `until` is not part of it.
            seal: the `.seal` of the receipt that a `dry_run` of the same gave: what it showed is forgotten, or nothing.

        Raises:
            NotFound: no such memory or session. InputError: nothing or several things asked for, a topic without words.
            PlanRefused: by now something else would go than was shown with `seal`.
        """
        request = read_request(
            Request(
                memory=None if memory is None else parse_id(memory, "m"),
                topic=topic,
                session=self._stored_name(session),
                since=None if since is None else instant(since),
                until=None if until is None else instant(until),
                everything=everything,
            )
        )
        return self._engine.forget(
            self._scope, request, self._actor, dry_run=dry_run, write=self._write, seal=seal
        )  # fmt: skip

    def verify_forgotten(self) -> list[ForgettingReceipt]:
        """Hold all that is kept against every tombstone now; gives the receipts, with what came back in `returned`."""
        return self._engine.verify_forgotten(self._scope)

    def undo(self, plan: str) -> Receipt:
        """Take an applied plan back to the exact prior state (SPEC W2).

        Raises:
            NotFound: no such plan. PlanRefused: it forgot something, later plans changed the same memories, or what was
                learnt since contradicts what would stand again.
            MemoryPaused: the memory is paused.
        """
        seq, now = parse_id(plan, "p"), self._clock()

        def work(unit: Unit) -> Receipt:
            receipt = self._parts.gateway.undo(unit, self._scope, seq, self._actor, now)
            self._parts.judging.check_consistent(unit, self._scope, receipt.plan)
            return receipt

        return self._write(work)

    def redistil(self, *, dry_run: bool = False) -> Redistilled:
        """Distil everything that was said again, by the rules of now (SPEC C13).

        What messages state is judged like new talk, as of when it was said; what the user took back or forgot does not
        come back. Memories that no message states any more are retired when nobody but the rules ever spoke for them.
        Every plan can be undone. It runs as jobs in batches, so one that was cut off goes on with the next `work()`.
        With `dry_run` only what waits is distilled, and the answer says what more would happen.
        """
        redistiller, now = self._parts.redistiller, self._clock()
        if dry_run:
            self._engine.work_for(self._scope)
            return self._store.view(lambda unit: redistiller.preview(unit, self._scope, now))
        after = self._store.write(lambda unit: self._begin_redistilling(unit, now))
        self._engine.work_for(self._scope)
        return self._store.view(lambda unit: redistiller.outcome(unit, self._scope, after, now))

    def end(self, session: str) -> SessionSummary | None:
        """The session is over: what it said is distilled, by the language model too where there is one, and summarised
        before this returns (SPEC R6).

        Returns:
            The summary of the session; None when it held nothing worth telling, or was never there.
        """
        name, now = self._stored_name(check_name("session", session)), self._clock()

        def queue(unit: Unit) -> None:
            if self._awake(unit):
                queue_session(unit, self._scope, name, now)

        self._store.write(queue)
        self._engine.work_for(self._scope)
        if self._parts.model is not None:
            policy = self._parts.settings.model

            def close(unit: Unit) -> None:
                if self._awake(unit):
                    close_segment(unit, self._scope, name, now, policy)

            self._store.write(close)

            self._engine.work_for(self._scope, slow=True)
        return next((s for s in self.summaries(session) if s.block == WHOLE), None)

    def upkeep(self, *, dry_run: bool = False) -> Upkept:
        """Do now what is done every night: move, archive and erase what the rules say is due, count patterns (SPEC F2, F3, G5).

        With `dry_run` nothing happens, and the answer says what would and why. A plan that moved something can be undone.
        """
        self._engine.reads.flush()
        upkept = keep_up(self._store, self._scope, self._parts.upkeep, self._actor, self._clock(), dry_run=dry_run)
        if any(move.to is None for move in upkept.moves) and not dry_run:
            self._store.purge()
        return upkept

    # ---------------------------------------------------------------- how much is kept

    @overload
    def retention(self) -> Retention: ...
    @overload
    def retention(self, detail: Detail | str, *, past: bool = False, dry_run: bool = False) -> Receipt: ...
    def retention(
        self, detail: Detail | str | None = None, *, past: bool = False, dry_run: bool = False
    ) -> Retention | Receipt:
        """How much of talk is kept, whether it is paused, what was consented to; with `detail` the dial is set (SPEC C5).

        Args:
            detail: "minimal", "balanced" or "everything", for what is said from now on.
            past: with "minimal", treat what is stored already as if it had been said under it. What that takes away is
                gone for good; `dry_run` shows it first.
            dry_run: only say what would change.

        Raises:
            InputError: no such detail, or `past` with another than minimal.
        """
        if detail is not None:
            return self._decide(choose(read_detail(detail), past=past), dry_run=dry_run, past=past)
        if past:
            raise InputError('past=True goes with detail="minimal"')
        policy = self._parts.settings.retention
        return self._store.view(lambda unit: read_retention(unit, self._scope, policy, self._clock()))

    def pause(self, *, dry_run: bool = False) -> Receipt:
        """Write nothing at all until `resume`: no message, no memory, no count of reads. Recall goes on.

        What was said before is distilled first. Jobs that could not be done by then wait until the memory is resumed.
        """
        self._engine.work_for(self._scope)
        return self._decide(pause(), dry_run=dry_run)

    def resume(self, *, dry_run: bool = False) -> Receipt:
        """Go on after `pause`. What was said meanwhile was not stored and is not known."""
        receipt = self._decide(resume(), dry_run=dry_run)
        self._engine.wake()
        return receipt

    def consent(self, *, given: bool, notice: str = "", dry_run: bool = False) -> Receipt:
        """Record the user's answer to a data-use notice, with its time. It records and does no more: see `pause`.

        Args:
            given: whether the user agrees.
            notice: the version of the notice that was shown, or its text, up to 500 characters.

        Raises:
            InputError: consent without a notice. TooLarge: a longer one.
        """
        return self._decide(consent(given=given, notice=notice, redaction=self._parts.redaction), dry_run=dry_run)

    # ---------------------------------------------------------------- out of here and back

    def export(self, path: str | os.PathLike[str]) -> Summary:
        """Write everything that is known to one new zip: JSON lines, and Markdown to read (SPEC F7).

        What was said so far is distilled first. Only its owner may read the file; it does not say whose memory it is.

        Raises:
            InputError: the file exists, or cannot be written. TooLarge: above `limits.archive_bytes`.
        """
        self._engine.work_for(self._scope)
        self._engine.note_copy(self._scope, "export", Path(path))
        now, limit = self._clock(), self._parts.settings.limits.archive_bytes

        def write(unit: Unit) -> Summary:
            jobs = unit.jobs.counts(self._scope, now)
            left = jobs.waiting + jobs.running + jobs.dead
            return export_scope(unit, self._scope, Path(path), now, zone=self._zone, unfinished=left, limit=limit)

        return self._store.view(write)

    def import_(self, path: str | os.PathLike[str], *, dry_run: bool = False) -> Summary:
        """Bring an export back exactly as it was, ledger and numbers included, into a scope that holds nothing.

        What the scope has forgotten since the export was made does not come with it (SPEC F6).

        With `dry_run` the file is only checked, every line of it.

        Raises:
            UnreadableFile: no export, damaged, edited, or of another version. TooLarge: above `limits.archive_bytes`.
            PlanRefused: the scope is not empty. In every case nothing was imported.
        """
        archive = read_archive(Path(path), self._parts.settings.limits.archive_bytes)
        if not dry_run:
            self._engine.restore(self._scope, archive)
        return archive.summary

    # ---------------------------------------------------------------- small parts

    def _write(self, work: Callable[[Unit], T], *, again: bool = False) -> T:
        """Change the store; once, where this is for one request."""
        if self._asked is None:
            return self._store.write(work, again=again)
        settings = self._parts.settings
        return write_once(
            self._store, self._scope, self._asked, work, self._clock(), settings.once, settings.gateway
        )  # fmt: skip

    def _unite(self, one: str, other: str, verb: Verb, *, dry_run: bool) -> Receipt:
        parts, now = self._parts, self._clock()
        names = (self._declared(one, Category.GENERAL), self._declared(other, Category.GENERAL))
        check_names(*names)
        told = " and ".join(names)
        occasion = Occasion(verb, self._actor, now, f"{told} are {'two things' if verb is Verb.SPLIT else 'one thing'}")

        def plan(unit: Unit) -> Plan:
            parts.gateway.check_awake(unit, self._scope, verb)
            return unite(
                unit, self._scope, names, occasion, parts.judging, parts.graphing.view, apart=verb is Verb.SPLIT, dry_run=dry_run
            )  # fmt: skip

        if dry_run:
            return self._store.view(lambda unit: parts.gateway.preview(plan(unit)))
        return self._write(lambda unit: parts.gateway.apply(unit, self._scope, plan(unit)))

    def _begin_redistilling(self, unit: Unit, now: datetime) -> int:
        self._parts.gateway.check_awake(unit, self._scope, Verb.REDISTIL)
        self._parts.redistiller.begin(unit, self._scope, now)
        return unit.ledger.last_seq(self._scope)

    def _decide(self, decision: Decision, *, dry_run: bool, past: bool = False) -> Receipt:
        parts, now = self._parts, self._clock()

        def plan(unit: Unit) -> tuple[Plan, list[Left]]:
            made = decision.plan(unit, self._scope, self._actor, now)
            return parts.retaining.past(unit, self._scope, made) if past else (made, [])

        if past:
            self._engine.work_for(self._scope)
        if dry_run:
            return self._store.view(lambda unit: parts.gateway.preview(plan(unit)[0]))
        if not past:
            return self._write(lambda unit: parts.gateway.apply(unit, self._scope, plan(unit)[0]))

        def trim(unit: Unit) -> Receipt:
            # A job that another process has in hand may have read what goes now: it must not end.
            unit.jobs.recall(self._scope, now)
            return parts.gateway.trim(unit, self._scope, *plan(unit))

        receipt = self._write(trim)
        self._store.purge()
        return receipt

    def _declared(self, text: str, category: Category | None) -> str:
        """A statement as it may be kept (SPEC C11, C12). Raises: InstructsAgent."""
        return self._parts.guard.declared(self._statement(text), category).text

    def _statement(self, text: object) -> str:
        if not isinstance(text, str) or not text.strip():
            raise InputError("there is nothing to remember: give one statement as text")
        limit = self._parts.settings.limits.memory_chars
        if len(text) > limit:
            raise TooLarge("the statement", len(text), limit)
        return self._stored(text.strip())

    def _stored(self, text: str) -> str:
        """A text as it is stored (SPEC C11)."""
        return self._parts.redaction.text(clean_text(text))
