"""What an edited `USER.md` says: a three-way merge of what was written, what is believed now, and the file (SPEC B7).

    the line in the file      what it told of          what follows
    as it was written         anything                 nothing
    reads differently         as it was written        the user corrects it
    reads differently         changed since            both stand, and the user is asked
    is gone                   as it was written        the user rejects it
    is gone                   changed since            it stands, and the user is asked
    is new                                             the user declares it

What was written is known from the file's last comment, and held against every text that a memory ever had. So no copy of
it is kept, an older file is understood as well as the last one, and there is nothing that forgetting could miss
(decision 0017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from jiyi.domain.memory import Evidence, Memory, Status, memory_id
from jiyi.domain.questions import ANSWERED
from jiyi.domain.scope import Scope
from jiyi.domain.settling import ENDING
from jiyi.domain.user_file import VERSION, FileLine, UserFile, digest_of, owner_mark
from jiyi.errors import InputError

READ_BACK = "USER.md:"
"""Begins the session of what was read back; the digest of its line follows, so that it is not read back again."""


class Said(StrEnum):
    """What an edit says."""

    CORRECTED = "corrected"
    ADDED = "added"
    REJECTED = "rejected"
    DISPUTED = "disputed"  # a changed line whose memory changed too
    DOUBTED = "doubted"  # a deleted line whose memory changed


@dataclass(frozen=True, slots=True)
class Edit:
    """`memory`: what the line told of. `line`: None for one that is gone."""

    said: Said
    line: FileLine | None
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a line cannot be read."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Mine:
    """What is stored. `past`: the digests of every text that a memory ever had, for those whose text may have changed;
    nothing for what was forgotten. `last`: the highest number that was given out."""

    memories: Mapping[int, Memory]
    past: Mapping[int, frozenset[str]]
    last: int


@dataclass(slots=True)
class Merge:
    edits: list[Edit] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def asks_past(file: UserFile, memories: Mapping[int, Memory]) -> set[int]:
    """The memories whose earlier texts `merge` needs."""
    named = {line.cites: line.digest for line in file.lines if line.cites is not None}
    if file.base is not None:
        named |= file.base.digests
    return {seq for seq, mark in named.items() if seq not in memories or digest_of(memories[seq]) != mark}


def merge(scope: Scope, file: UserFile, mine: Mine, now: datetime) -> Merge:
    """What the edits of a file say.

    Raises:
        InputError: the file was not written from this memory.
    """
    _check_origin(scope, file, mine)
    return _Merging(file, mine, now).merge()


def _check_origin(scope: Scope, file: UserFile, mine: Mine) -> None:
    base = file.base
    if base is not None and base.version != VERSION:
        raise InputError(f"this file is of version {base.version}, this jiyi reads version {VERSION}: update jiyi")
    if base is not None and base.owner != owner_mark(scope):
        raise InputError(
            "this file was written for another user: read it back as that one, or write it anew for this one. "
            "Nothing was changed"
        )
    ever = {seq: mine.past.get(seq, frozenset()) | _current(mine, seq) for seq in _named(file)}
    if base is not None:
        foreign = [s for s, mark in base.digests.items() if s > mine.last or (ever[s] and mark not in ever[s])]
        if foreign:
            raise InputError(
                f"this file was not written from this memory: {_ids(foreign)} never read so here. Nothing was changed"
            )
        return
    told = [line for line in file.lines if line.cites is not None]
    alike = sum(line.digest in ever[line.cites] for line in told if line.cites is not None)
    if alike * 2 < len(told):
        raise InputError(
            "the comment at the end of this file is gone, which says what was written, and most of its lines do not say "
            "what the memories they cite ever said. Write the profile anew and edit that. Nothing was changed"
        )


def _named(file: UserFile) -> set[int]:
    named = {line.cites for line in file.lines if line.cites is not None}
    return named if file.base is None else named | set(file.base.digests)


def _current(mine: Mine, seq: int) -> frozenset[str]:
    return frozenset([digest_of(mine.memories[seq])]) if seq in mine.memories else frozenset()


class _Merging:
    def __init__(self, file: UserFile, mine: Mine, now: datetime) -> None:
        self._file, self._mine, self._now = file, mine, now
        self._base = file.base
        live = [m for m in mine.memories.values() if m.status is Status.LIVE]
        self._believed = {digest_of(m): m.seq for m in live}
        self._over = {digest_of(m): m.seq for m in mine.memories.values() if m.status is not Status.LIVE}
        self._marks = {mark for line in file.lines for mark in (line.digest, line.stored_digest)}
        self._read = {_mark(e) for m in mine.memories.values() if not self._edited_away(m) for e in m.evidence}
        self._present: set[int] = set()
        self._gone: list[int] = []
        self._done = Merge()

    def merge(self) -> Merge:
        for line in self._changed():
            self._take(line)
        for seq in self._removed():
            target = self._follow(seq)
            if target is not None and digest_of(target) not in self._marks:
                self._take_removed(seq, target)
        return self._done

    # ------------------------------------------------------------------ lines of the file

    def _changed(self) -> list[FileLine]:
        """The lines that do not read as they were written."""
        kept, edited = list[FileLine](), list[FileLine]()
        for line in self._file.lines:
            (kept if line.cites is not None and line.digest in self._written(line.cites) else edited).append(line)
        self._present |= {line.cites for line in kept if line.cites is not None}
        # A tool took the id away, and the line is still the same.
        bare = {mark: seq for seq, mark in (self._base.digests if self._base else {}).items()}
        cited = {line.cites for line in self._file.lines}
        found = []
        times = Counter(line.cites for line in edited if line.cites is not None)
        for line in edited:
            seq = bare.get(line.digest)
            if line.cites is None and seq is not None and seq not in cited:
                self._present.add(seq)
            elif self._is_readable(line, times):
                found.append(line)
        return found

    def _is_readable(self, line: FileLine, times: Mapping[int, int]) -> bool:
        seq = line.cites
        if seq is None:
            return True
        if not 0 < seq <= self._mine.last:
            reason = f"{memory_id(seq)} never was a memory here: take the [{memory_id(seq)}] off a new line"
        elif not line.text:
            reason = f"it cites {memory_id(seq)} and says nothing: delete the whole line to reject it"
        elif times[seq] > 1 and seq not in self._present:
            reason = f"more than one changed line cites {memory_id(seq)}: leave it on the one that corrects it"
        else:
            return True
        self._done.problems.append(Problem(line.number, reason))
        return False

    def _take(self, line: FileLine) -> None:
        seq, said = line.cites, line.stored_digest
        if seq is not None and seq in self._present:
            seq = None  # The line itself stands as it was: this one was copied from it.
        if seq is not None and said not in self._read and self._believed.get(said, seq) != seq:
            self._gone.append(seq)  # It says what another memory says: there is nothing new, and its own is gone.
            return
        if seq is not None:
            self._present.add(seq)
        if said in self._believed or said in self._read or self._gave_way(said):
            return
        if seq is None or self._is_forgotten(seq):
            self._done.edits.append(Edit(Said.ADDED, line, None))
            return
        target = self._follow(seq)
        if target is None or not self._is_unchanged(seq, target):
            self._done.edits.append(Edit(Said.DISPUTED, line, target or self._mine.memories.get(seq)))
        else:
            self._done.edits.append(Edit(Said.CORRECTED, line, target))

    def _written(self, seq: int) -> frozenset[str]:
        """What the line of a memory read when it was written, as far as is known."""
        if self._base is not None and seq in self._base.digests:
            return frozenset([self._base.digests[seq]])
        return self._mine.past.get(seq, frozenset()) | _current(self._mine, seq)

    def _is_forgotten(self, seq: int) -> bool:
        return seq not in self._mine.memories and not self._mine.past.get(seq)

    def _gave_way(self, mark: str) -> bool:
        """What was over once another line of this very file had been read, which is still there."""
        seq, met = self._over.get(mark), set[int]()
        while seq is not None and seq in self._mine.memories and seq not in met:
            met.add(seq)
            memory = self._mine.memories[seq]
            if memory.status is Status.LIVE:
                return self._stands_here(memory)
            seq = memory.successor
        return False

    # ------------------------------------------------------------------ lines that are gone

    def _removed(self) -> list[int]:
        """What was written and is not there. Without the base nothing is known to be missing."""
        gone = set(self._base.digests) - self._present if self._base is not None else set()
        return sorted(gone | set(self._gone))

    def _take_removed(self, seq: int, target: Memory) -> None:
        if target.over(self._now) or self._is_settled(target):
            return
        said = Said.REJECTED if self._is_unchanged(seq, target) else Said.DOUBTED
        self._done.edits.append(Edit(said, None, target))

    # ------------------------------------------------------------------ what became of a memory

    def _follow(self, seq: int) -> Memory | None:
        """The live memory that tells of a line: its own, or what was read back from the line before and not written
        into the file since."""
        memory, met = self._mine.memories.get(seq), {seq}
        while memory is not None and memory.status is not Status.LIVE:
            after = memory.successor
            if after is None or after in met:
                return None
            met.add(after)
            memory = self._mine.memories.get(after)
            if memory is None or not _only_read_back(memory):
                return None
        return memory

    def _is_unchanged(self, seq: int, target: Memory) -> bool:
        if target.seq != seq:
            return True
        if self._base is None or seq not in self._base.digests:
            return len(self._written(seq)) == 1
        return digest_of(target) == self._base.digests[seq] and target.affirmed_at <= self._base.at

    def _is_settled(self, target: Memory) -> bool:
        """The user was asked about it since, and said that it holds."""
        written = self._base.at if self._base is not None else None
        return written is not None and any(e.session == ANSWERED and e.at > written for e in target.evidence)

    def _edited_away(self, memory: Memory) -> bool:
        """What was read back once and then edited into something else may be edited back. Two lines of one file that
        contradict each other are no such edit."""
        after = None if memory.successor is None else self._mine.memories.get(memory.successor)
        is_past = memory.status in (Status.ENDED, Status.RETRACTED)
        return is_past and after is not None and _only_read_back(after) and not self._stands_here(after)

    def _stands_here(self, memory: Memory) -> bool:
        """Whether a line of this file was read back as this memory."""
        return any(_mark(e) in self._marks for e in memory.evidence)


def _mark(said: Evidence) -> str:
    """The digest of the line that stated this; empty where it came otherwise, or where a line only ended it."""
    stated = said.session.startswith(READ_BACK) and said.mode not in ENDING
    return said.session.removeprefix(READ_BACK) if stated else ""


def _only_read_back(memory: Memory) -> bool:
    said = [e.session for e in memory.evidence if e.mode not in ENDING]
    return bool(said) and all(session.startswith(READ_BACK) for session in said)


def _ids(seqs: Iterable[int]) -> str:
    return ", ".join(map(memory_id, sorted(seqs)))
