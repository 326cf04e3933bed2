"""Runs golden cases, each on a memory of its own, and reports (SPEC R12).

A case passes, fails, or is *not built*: it pins a policy that nothing here can set. That is reported as such and never
counts as passed.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from jiyi.assembly import open_memory
from jiyi.domain.memory import Source, plan_id
from jiyi.domain.plans import Verb
from jiyi.errors import InputError, JiyiError
from jiyi.evaluation.case_files import Case, Step, load_cases, span
from jiyi.evaluation.expectations import EXPECTED, Gap, Matcher, in_files, shown
from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.observe import instant
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings
from jiyi.shipped import load_segmenter

OWN_CASES = Path(__file__).with_name("cases")
"""The cases that ship with jiyi."""
START = datetime.fromisoformat("2026-03-02T09:00:00+08:00")
"""A Monday. The clock of a case stands here and moves one minute with each message."""
TIMEZONE = "Asia/Shanghai"
USER, SESSION = "u001", "s1"

OpenLayer: TypeAlias = Callable[[Path, Clock], MemoryLayer]
"""Opens the memory of a case, without a worker, at a path in a fresh folder. It must tell the time by the clock given."""


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_BUILT = "not built"
    NOT_SUPPORTED = "not supported"  # by this store: an in-memory store has no files to look into


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a case did not pass, and at which step; 0 is the case as a whole."""

    outcome: Outcome
    step: int
    what: str
    expected: str
    got: str = ""

    def __str__(self) -> str:
        where = f"step {self.step}, {self.what}" if self.step else self.what
        if self.outcome is Outcome.FAILED:
            got = self.got.replace("\n", "\n         ")
            return f"{where}: expected {self.expected}\n    got: {got}"
        return f"{where}: {self.outcome}: {self.expected}"


@dataclass(frozen=True, slots=True)
class CaseResult:
    case: Case
    findings: tuple[Finding, ...] = ()

    @property
    def outcome(self) -> Outcome:
        found = {finding.outcome for finding in self.findings}
        worst = (Outcome.FAILED, Outcome.NOT_BUILT, Outcome.NOT_SUPPORTED)
        return next((outcome for outcome in worst if outcome in found), Outcome.PASSED)


@dataclass(frozen=True, slots=True)
class Report:
    """What the cases of a folder came to."""

    folder: Path
    results: tuple[CaseResult, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Cases by outcome, every outcome named."""
        found = Counter(result.outcome for result in self.results)
        return {outcome.value: found[outcome] for outcome in Outcome}

    @property
    def ok(self) -> bool:
        """No case failed. Cases that are not built are no failure, and no success: look at `counts`."""
        return self.counts[Outcome.FAILED.value] == 0

    def text(self) -> str:
        """For people: the cases that did not pass with their reasons, then the counts."""
        lines = []
        for result in self.results:
            if result.findings:
                case = result.case
                lines.append(f"{result.outcome.upper()}  {case.id}  ({', '.join(case.rows)}; {case.file})")
                lines += [f"  {finding}" for finding in result.findings]
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items() if number)
        return "\n".join([*lines, f"{self.folder}: {len(self.results)} cases: {counts}"])

    def data(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "folder": str(self.folder),
            "counts": dict(self.counts),
            "cases": [
                {
                    "id": result.case.id,
                    "file": result.case.file,
                    "rows": list(result.case.rows),
                    "outcome": result.outcome.value,
                    "findings": [
                        {"outcome": f.outcome.value, "step": f.step, "what": f.what, "expected": f.expected, "got": f.got}
                        for f in result.findings
                    ],
                }
                for result in self.results
            ],
        }  # fmt: skip


def run_folder(path: Path, *, open_layer: OpenLayer | None = None, only: Collection[str] = ()) -> Report:
    """Run the cases of a folder's `*.toml` files.

    Args:
        open_layer: opens the memory for a case; by default SQLite with default settings.
        only: ids of the cases to run; all when empty.

    Raises:
        InputError: a malformed case (names file, case and step), or an id in `only` that no case has.
    """
    cases = load_cases(path)
    if unknown := set(only) - {case.id for case in cases}:
        raise InputError(f"{path}: no case {', '.join(sorted(unknown))}; there are {', '.join(c.id for c in cases)}")
    chosen = [case for case in cases if not only or case.id in only]
    return Report(path, tuple(run_case(case, open_layer or open_default) for case in chosen))


def open_default(path: Path, clock: Clock) -> MemoryLayer:
    """SQLite with the default settings, whatever the environment says: a case pins the defaults.

    Only the disk is not waited for: no case outlives its process.
    """
    settings = Settings(path=str(path), timezone=TIMEZONE, worker=False, synchronous="NORMAL")
    return open_memory(settings=settings, clock=clock)


def run_case(case: Case, open_layer: OpenLayer) -> CaseResult:
    """Run one case on a fresh memory."""
    if case.policy and not _is_set_by_a_step(case):
        # A setting that a case pins and that nothing here can set yet.
        return CaseResult(case, (Finding(Outcome.NOT_BUILT, 0, "policy", case.policy),))
    with tempfile.TemporaryDirectory(prefix="jiyi-case-") as folder, closing(_Run(Path(folder), open_layer)) as run:
        return CaseResult(case, tuple(run.findings(case)))


def _is_set_by_a_step(case: Case) -> bool:
    """Whether the policy only says in words what a step of the case sets: `detail = minimal`."""
    name, _, value = case.policy.partition(" = ")
    return any(step.verb == "retention" and step.value.get(name) == value for step in case.steps)


# ------------------------------------------------------------------ one case


class CaseClock:
    """A clock that moves when it is told to."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def __call__(self) -> datetime:
        return self._at

    def advance(self, by: timedelta) -> None:
        self._at += by

    def reach(self, at: datetime) -> None:
        """Move on to `at`; a message from the past does not turn the clock back."""
        self._at = max(self._at, at)


class _Stopped(Exception):
    """A step cannot be carried out or judged."""

    def __init__(self, outcome: Outcome, expected: str, got: str = "") -> None:
        super().__init__(expected)
        self.outcome, self.expected, self.got = outcome, expected, got


class _Run:
    """A case under way."""

    def __init__(self, folder: Path, open_layer: OpenLayer) -> None:
        self._folder, self._open_layer = folder, open_layer
        self._clock = CaseClock(START)
        self._session = SESSION
        self._users: dict[str, None] = {}
        self._match = Matcher(load_segmenter().fold)
        self._layer = self._open()

    def close(self) -> None:
        self._layer.close()

    def findings(self, case: Case) -> Iterator[Finding]:
        """Carry the steps out in order. An expectation that fails does not stop the case, an action does: what
        follows it would be about another story."""
        for step in case.steps:
            try:
                for gap in self._check(step) if step.expects else self._act(step):
                    yield Finding(Outcome.FAILED, step.number, str(step), gap.expected, gap.got)
                continue
            except _Stopped as stop:
                yield Finding(stop.outcome, step.number, str(step), stop.expected, stop.got)
            except JiyiError as error:
                yield _raised(step, error)
            except Exception as error:  # noqa: BLE001 — the edge of a case: a fault in one must not hide the others
                yield _raised(step, error)
                return
            if not step.expects:
                return

    # -------------------------------------------------------------- expectations

    def _check(self, step: Step) -> Iterable[Gap]:
        self._settle()
        if step.verb == "stored":
            return in_files(self._contents(), step, self._match)
        return EXPECTED[step.verb](self._me(step), step, self._match, self._session)

    def _contents(self) -> dict[str, bytes]:
        """The bytes of the store's files. It is closed meanwhile: whoever reads and closes a file that SQLite
        holds open in the same process takes SQLite's locks away."""
        if not any(self._folder.iterdir()):
            raise _Stopped(Outcome.NOT_SUPPORTED, "this store keeps no files to look into")
        self._layer.close()
        contents = {file.name: file.read_bytes() for file in sorted(self._folder.rglob("*")) if file.is_file()}
        self._layer = self._open()
        return contents

    def _settle(self) -> None:
        """Run the jobs until idle. One that failed would make every later expectation a riddle."""
        self._layer.work()
        lag = self._layer.lag()
        if lag.waiting or lag.running or lag.dead:
            died = "; ".join(job.error for job in self._layer.dead_jobs())
            left = f"{lag.waiting + lag.running} left to retry, {lag.dead} given up"
            raise _Stopped(Outcome.FAILED, "all background jobs done", f"{left} {died}".strip() + "; see the log")

    # -------------------------------------------------------------- actions

    def _act(self, step: Step) -> Iterable[Gap]:
        value, args = step.value, step.args
        if step.verb in ("correct", "forget", "undo", "answer"):
            self._settle()  # they are about what was distilled from the talk so far
        match step.verb:
            case "say":
                self._say(step)
            case "remember":
                self._me(step).remember(value, category=args.get("category"), importance=args.get("importance"))
            case "session":
                self._end_session(value)
            case "advance":
                self._clock.advance(span(value))
            case "correct":
                me = self._me(step)
                me.correct(self._about(me, value), args["to"])
            case "forget":
                me = self._me(step)
                self._forget(me, value)
            case "retention":
                self._decide(self._me(step), value)
            case "undo":
                self._undo(self._me(step))
            case "verify":
                self._me(step).remember(value, source=Source.VERIFIED, session=self._session)
            case "answer":
                self._answer(self._me(step), value)
            case other:
                raise _Stopped(Outcome.NOT_BUILT, f"the harness does not know how to {other}")
        return ()

    def _forget(self, me: ScopedMemory, asked: Mapping[str, Any]) -> None:
        if "memory" in asked:
            asked = {"memory": self._about(me, asked["memory"])}
        me.forget(**asked)
        # A later job must not bring it back, and the receipt must say so.
        self._settle()
        returned = max(receipt.returned for receipt in me.verify_forgotten())
        if returned:
            raise _Stopped(Outcome.FAILED, "a receipt that holds", f"{returned} of what was forgotten came back")

    def _say(self, step: Step) -> None:
        if "at" in step.args:
            self._clock.reach(instant(step.args["at"]))
        message = {"role": "user", "text": step.value, "session": self._session}
        message |= {k: v for k, v in step.args.items() if k != "user"}
        self._me(step).observe([message])
        self._clock.advance(timedelta(minutes=1))

    def _end_session(self, following: str) -> None:
        for user in self._users:
            self._scope(user).end(self._session)
        self._session = following

    def _about(self, me: ScopedMemory, named: str) -> str:
        """The id of the live memory that is meant: by id, or by a piece of its text."""
        if re.fullmatch(r"m\d+", named):
            return named
        memories = me.memories()
        found = [m for m in memories if self._match.holds(m.text, named)]
        if len(found) != 1:
            got = f"{len(found)} of {len(memories)}: {shown([m.text for m in found or memories])}"
            raise _Stopped(Outcome.FAILED, f"one memory with {named!r}", got)
        return found[0].id

    def _decide(self, me: ScopedMemory, what: Mapping[str, Any]) -> None:
        if "detail" in what:
            me.retention(what["detail"], past=what.get("past", False))
        if "consent" in what:
            me.consent(given=what["consent"], notice="the notice of this case")
        if what.get("paused") is True:
            me.pause()
        elif what.get("paused") is False:
            me.resume()

    def _undo(self, me: ScopedMemory) -> None:
        entries = me.ledger()
        undone = {e.plan.undoes for e in entries}
        able = [e.seq for e in entries if e.plan.changes and e.plan.verb is not Verb.UNDO and e.seq not in undone]
        if not able:
            raise _Stopped(Outcome.FAILED, "a plan to undo", "the ledger holds none")
        me.undo(plan_id(able[-1]))

    def _answer(self, me: ScopedMemory, text: str) -> None:
        asked = me.questions()
        if not asked:
            raise _Stopped(Outcome.FAILED, "an open question", "there is none")
        me.answer(asked[0].id, text)

    # -------------------------------------------------------------- small parts

    def _open(self) -> MemoryLayer:
        return self._open_layer(self._folder / "memory.db", self._clock)

    def _me(self, step: Step) -> ScopedMemory:
        return self._scope(step.args.get("user", USER))

    def _scope(self, user: str) -> ScopedMemory:
        self._users.setdefault(user)
        return self._layer.scope(user=user, tz=TIMEZONE, surface="evaluation")


def _raised(step: Step, error: Exception) -> Finding:
    return Finding(Outcome.FAILED, step.number, str(step), "no error", f"{type(error).__name__}: {error}")
