"""The profile as `USER.md`, written and read back (SPEC B7).

memories ─▶ lines ─▶ USER.md ─▶ (the user's editor) ─▶ lines ─▶ merge ─▶ screen ─▶ judge ─▶ one plan
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path

from jiyi.domain.belief import Observation
from jiyi.domain.memory import Category, Language, Memory, Mode
from jiyi.domain.plans import Plan
from jiyi.domain.profile import Profile, ProfilePolicy, render_profile
from jiyi.domain.read_back import READ_BACK, Edit, Merge, Mine, Problem, Said, asks_past, merge
from jiyi.domain.scope import Scope
from jiyi.domain.settling import ENDING
from jiyi.domain.user_file import UserFile, digest_of, read_user_file, write_user_file
from jiyi.errors import InputError, TooLarge, UnreadableLines
from jiyi.pipelines.correcting import read_correction
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.exporting import TITLE as EXPORTED
from jiyi.pipelines.gateway import Receipt
from jiyi.pipelines.judging import Edited, Judging, Occasion
from jiyi.pipelines.recalling.filters import NEAR
from jiyi.ports import Unit

Screen = Callable[[str, Category | None], str]
"""A statement as it may be stored: redacted, and refused with an `InputError` where it may not be (SPEC C11, C12)."""

MAX_BYTES = 4 * 1024 * 1024
"""Of a file that is read; as much as a request may bring (SPEC S5)."""


@dataclass(frozen=True, slots=True)
class WrittenProfile:
    """A file that was written. `text` is what it holds."""

    path: Path
    profile: Profile
    text: str


@dataclass(frozen=True, slots=True)
class ReadProfile:
    """What a file said. `ignored`: the numbers of lines that state nothing and were left alone."""

    receipt: Receipt
    edits: tuple[Edit, ...]
    ignored: tuple[int, ...]

    @property
    def plan_id(self) -> str | None:
        return self.receipt.plan_id


# ------------------------------------------------------------------ writing


def render_file(
    unit: Unit, scope: Scope, now: datetime, zone: tzinfo, policy: ProfilePolicy, language: Language | None
) -> tuple[Profile, str]:
    """The whole profile and its file: the budget of 400 characters is the context's, not the file's."""
    whole = replace(policy, max_chars=MAX_BYTES, categories=(*policy.categories, *policy.file_categories))
    profile = render_profile(unit.memories.listing(scope, categories=whole.categories, tiers=NEAR), now, whole)
    # Whatever was affirmed after this was so after the file was written, also where a clock was set back.
    at = max([now, *(line.memory.affirmed_at for line in profile.lines)])
    return profile, write_user_file(scope, profile.lines, at.astimezone(zone), language)


def check_overwriting(unit: Unit, scope: Scope, path: Path, file: UserFile, now: datetime) -> None:
    """Writing anew must not lose what somebody typed.

    Raises:
        InputError: the file holds something that is not in memory.
    """
    try:
        found = read_edits(unit, scope, path, file, now)
        typed = [*(e.line.number for e in found.edits if e.line), *(p.line for p in found.problems), *file.others]
        removed = [e.memory.id for e in found.edits if e.memory is not None and e.line is None]
    except InputError as error:
        raise InputError(f"{path} is left as it is: {error}. To replace it all the same, overwrite it") from error
    if typed or removed:
        where = ", ".join([*(f"line {n}" for n in sorted(typed)), *(f"{m} is deleted" for m in removed)])
        raise InputError(
            f"{path} holds what is not in memory ({where}): read it back first, or overwrite it. Nothing was written"
        )


def save(path: Path, text: str) -> None:
    """Put the file in place, all of it at once; a new one may be read by its owner only.

    Raises:
        InputError: it cannot be written.
    """
    try:
        target = path.resolve()
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        part = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.chmod(mode)
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} cannot be written ({error}): choose another name. Nothing was written") from error


# ------------------------------------------------------------------ reading


def load(path: Path, redact: Callable[[str], str]) -> UserFile:
    """The file as its lines.

    Args:
        redact: a text as it is stored; what is redacted is known again by its label, never by a hash of its own.

    Raises:
        InputError: there is no such file, it is no text, or it is the profile.md of an export. TooLarge.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file. Write one first") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error})") from error
    if len(data) > MAX_BYTES:
        raise TooLarge(f"{path}", len(data), MAX_BYTES)
    # What Windows calls Unicode is UTF-16.
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        found = read_user_file(data.decode(encoding))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is no text in UTF-8 ({error.reason}): save it as UTF-8. Nothing was changed"
        ) from None
    if EXPORTED in found.titles:
        raise InputError(
            f"{path} is the profile.md of an export, which is only for reading: write the profile and edit that"
        )
    return replace(found, lines=tuple(replace(line, stored=redact(line.text)) for line in found.lines))


def read_edits(unit: Unit, scope: Scope, path: Path, file: UserFile, now: datetime) -> Merge:
    """What was changed in the file. Raises: InputError: it was not written from this memory."""
    memories = {m.seq: m for m in unit.memories.listing(scope, status=None)}
    past = {seq: _past(unit, scope, seq) for seq in asks_past(file, memories)}
    try:
        return merge(scope, file, Mine(memories, past, unit.memories.last_seq(scope)), now)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _past(unit: Unit, scope: Scope, seq: int) -> frozenset[str]:
    changes = [c for entry in unit.ledger.about(scope, seq) for c in entry.plan.changes if c.seq == seq]
    return frozenset(digest_of(m) for c in changes for m in (c.before, c.after) if m is not None)


@dataclass(frozen=True, slots=True)
class ReadingBack:
    """What reading edits as declarations of the user needs."""

    judging: Judging
    distiller: Distiller

    def plan(
        self, unit: Unit, scope: Scope, path: Path, found: Merge, screen: Screen, occasion: Occasion, zone: tzinfo,
        *, dry_run: bool = False,
    ) -> Plan:  # fmt: skip
        """One plan for all edits of a file.

        Raises:
            UnreadableLines: lines that cannot be read, or may not be stored, with their numbers.
        """
        at, problems = occasion.now.astimezone(zone), list(found.problems)
        read = [(edit, self._observations(edit, screen, at, problems)) for edit in found.edits]
        if problems:
            raise UnreadableLines(path, [(p.line, p.reason) for p in sorted(problems, key=lambda p: p.line)])
        by: dict[Said, list[tuple[Edit, Sequence[Observation]]]] = {said: [] for said in Said}
        for edit, observations in read:
            by[edit.said].append((edit, observations))
        edited = Edited(
            wrong=tuple(_memories(by[Said.REJECTED])),
            corrected=tuple((e.memory, o) for e, os in by[Said.CORRECTED] for o in os if e.memory is not None),
            said=tuple(o for _, os in by[Said.ADDED] for o in os),
            disputed=tuple(o for _, os in by[Said.DISPUTED] for o in os),
            doubted=tuple(_memories(by[Said.DOUBTED])),
        )
        plan = self.judging.edited(unit, scope, edited, occasion, dry_run=dry_run)
        return replace(plan, changes=tuple(replace(c, after=_discreet(c.after)) for c in plan.changes))

    def _observations(self, edit: Edit, screen: Screen, at: datetime, problems: list[Problem]) -> Sequence[Observation]:
        line = edit.line
        if line is None:
            return ()
        category = line.category if edit.memory is None else edit.memory.category
        try:
            text = screen(line.text, category)
        except InputError as error:
            problems.append(Problem(line.number, str(error)))
            return ()
        session = READ_BACK + line.stored_digest
        if edit.said is Said.CORRECTED and edit.memory is not None:
            read = [read_correction(text, edit.memory, at, self.distiller, self.judging.vocabulary)]
        else:
            read = self.distiller.declare(text, at=at, session=session, category=category, importance=None)
        if edit.said is Said.DISPUTED:
            # No request to keep it: whether it holds is what is asked.
            read = [replace(o, kept=False, mode=Mode.STATEMENT, replaces="", replaces_text="") for o in read]
        return [replace(o, evidence=tuple(replace(e, session=session) for e in o.evidence)) for o in read]


def _discreet(memory: Memory | None) -> Memory | None:
    """A memory that a line ended keeps no digest of that line: it must be gone when what the line said is forgotten."""
    if memory is None:
        return None
    said = (
        replace(e, session=READ_BACK) if e.mode in ENDING and e.session.startswith(READ_BACK) else e
        for e in memory.evidence
    )
    return replace(memory, evidence=tuple(sorted(said, key=lambda e: e.place)))


def _memories(edits: Sequence[tuple[Edit, Sequence[Observation]]]) -> Iterator[Memory]:
    return (edit.memory for edit, _ in edits if edit.memory is not None)
