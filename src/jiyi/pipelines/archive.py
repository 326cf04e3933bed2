"""The export file of one scope: one zip, JSON lines for programs and Markdown for people (SPEC F7).

    manifest.json    format, version, counts, the last number of each kind, the SHA-256 of every other part
    messages.jsonl   every message, tombstones included        memories.jsonl   every memory, of any status
    ledger.jsonl     every plan with its pictures              heat.jsonl       how much memories are read
    summaries.jsonl  every summary, with its messages
    standing.jsonl   what the user decided about it all: one line with detail, pause and consent
    profile.md       what is believed, to read; importing leaves it out

Whose memory it is the file does not say. The parts of the same memory are the same to the byte.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import os
import struct
import types
import typing
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypeVar

from jiyi.domain.encoding import (
    entry_from_fields,
    heat_from_fields,
    memory_from_fields,
    message_from_fields,
    standing_from_fields,
    summary_from_fields,
    to_json,
)
from jiyi.domain.heat import Heat
from jiyi.domain.memory import Memory, Message
from jiyi.domain.plans import LedgerEntry
from jiyi.domain.scope import check_name
from jiyi.domain.standing import Standing
from jiyi.domain.summary import SessionSummary
from jiyi.errors import InputError, TooLarge, UnreadableFile

T = TypeVar("T")

FORMAT, VERSION = "jiyi", 1
MANIFEST = "manifest.json"
MESSAGES, MEMORIES, LEDGER, HEAT, SUMMARIES, STANDING, PROFILE = (
    "messages.jsonl",
    "memories.jsonl",
    "ledger.jsonl",
    "heat.jsonl",
    "summaries.jsonl",
    "standing.jsonl",
    "profile.md",
)
PARTS = (MESSAGES, MEMORIES, LEDGER, HEAT, SUMMARIES, STANDING, PROFILE)
MAX_MANIFEST = 1 << 20

# What reading back a value raises when it is not as it was written.
_WRONG = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
# What the zip reader of the standard library raises on damaged archives.
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The last number given out of each kind; those of what was removed are not given out again."""

    message: int
    memory: int
    plan: int
    summary: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What an export holds. `unfinished`: jobs that had not ended; what they would have learnt is not in it."""

    messages: int
    memories: int
    plans: int
    exported_at: datetime
    unfinished: int = 0


# ------------------------------------------------------------------ writing


def write_archive(
    path: Path, parts: Mapping[str, Iterable[str]], numbers: Numbers, now: datetime, unfinished: int, limit: int
) -> Summary:
    """Write the lines of each part to a new file that only its owner may read. All of it or no file.

    Raises:
        InputError: the file exists, or cannot be written. TooLarge: the parts are above `limit` bytes.
    """
    with _new_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        hashes, counts, left = dict[str, str](), dict[str, int](), limit
        for name, lines in parts.items():
            digest, counts[name] = hashlib.sha256(), 0
            with archive.open(_member(name), "w") as part:
                for line in lines:
                    data = f"{line}\n".encode()
                    left -= len(data)
                    if left < 0:
                        raise TooLarge("what is to be exported (limits.archive_bytes)", limit - left, limit)
                    digest.update(data)
                    part.write(data)
                    counts[name] += 1
            hashes[name] = digest.hexdigest()
        summary = Summary(counts[MESSAGES], counts[MEMORIES], counts[LEDGER], now, unfinished)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "exported_at": now.isoformat(),
            "unfinished": unfinished,
            "numbers": dataclasses.asdict(numbers),
            "counts": {"messages": summary.messages, "memories": summary.memories, "plans": summary.plans},
            "sha256": hashes,
        }
        archive.writestr(_member(MANIFEST), json.dumps(manifest, indent=2) + "\n")
    return summary


def is_there(path: Path) -> bool:
    """Whether there is such a file; no for a name that no file can have, which writing will tell."""
    try:
        return path.exists()
    except OSError:
        return False


def told(error: OSError | ValueError) -> str:
    """What is wrong with a file, without its name."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _member(name: str) -> zipfile.ZipInfo:
    """Always the same time and mode, so that the same memory gives the same file."""
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o600 << 16
    return member


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name when it is complete."""
    if is_there(path):
        raise InputError(f"{path} exists already: choose another name for the export")
    try:
        part = path.with_name(f"{path.name}.part")
        part.unlink(missing_ok=True)  # first, since its name is the longer one
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise InputError(f"{path} exists already: choose another name for the export") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be written ({told(error)}): choose another name. Nothing was exported"
        ) from None
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"{path} cannot be written ({error.strerror or error}): nothing was exported") from error
        raise


# ------------------------------------------------------------------ reading


@dataclass(frozen=True, slots=True)
class Archive:
    """An export that was read whole and checked. Each method reads its part again, from the start."""

    path: Path
    summary: Summary
    numbers: Numbers
    parts: Mapping[str, bytes]

    def messages(self) -> Iterator[Message]:
        return self._records(MESSAGES, lambda fields: _message(message_from_fields(fields)))

    def memories(self) -> Iterator[Memory]:
        return self._records(MEMORIES, lambda fields: _memory(memory_from_fields(fields)))

    def entries(self) -> Iterator[LedgerEntry]:
        return self._records(LEDGER, lambda fields: _entry(entry_from_fields(fields)))

    def heats(self) -> Iterator[tuple[int, Heat]]:
        return self._records(HEAT, lambda fields: _heat(*heat_from_fields(fields)))

    def summaries(self) -> Iterator[SessionSummary]:
        return self._records(SUMMARIES, lambda fields: _summary(summary_from_fields(fields)))

    def standing(self) -> Standing:
        return next(self._records(STANDING, lambda fields: _standing(standing_from_fields(fields))))

    def _records(self, part: str, read: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
        for number, line in enumerate(io.BytesIO(self.parts[part]), 1):
            try:
                yield read(_parsed(line))
            except _WRONG as error:
                raise UnreadableFile(f"{self.path}/{part}", f"no line of an export ({error})", number) from error


def looks_like_export(path: Path) -> bool:
    """Whether this is a zip that holds what `write_archive` puts in one, whatever its state."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {MANIFEST, MEMORIES} <= set(archive.namelist())
    except (*_DAMAGED, ValueError):
        return False


def read_archive(path: Path, limit: int) -> Archive:
    """Read an export whole and check every line of it.

    Args:
        limit: bytes of all parts together, unpacked.

    Raises:
        UnreadableFile: not there, no export of jiyi or of a version this jiyi knows, damaged, or edited.
        TooLarge: above the limit.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if MANIFEST not in names:
                raise UnreadableFile(path, "this is no export of jiyi: it has no manifest.json")
            manifest = _manifest(path, _unpacked(path, archive, MANIFEST, MAX_MANIFEST))
            if sorted(names) != sorted([MANIFEST, *PARTS]):
                raise UnreadableFile(path, f"an export has the parts {', '.join(PARTS)}, this has {', '.join(names)}")
            parts, left = dict[str, bytes](), limit
            for name in PARTS:
                parts[name] = _unpacked(path, archive, name, left)
                left -= len(parts[name])
    except InputError:
        raise
    except FileNotFoundError:
        raise UnreadableFile(path, "there is no such file") from None
    except (*_DAMAGED, ValueError) as error:
        raise UnreadableFile(path, f"the archive is damaged ({error}): export it again") from error
    found = Archive(path, manifest.summary, manifest.numbers, parts)
    _check(found, manifest)
    return found


@dataclass(frozen=True, slots=True)
class _Manifest:
    summary: Summary
    numbers: Numbers
    sha256: Mapping[str, str]


def _unpacked(path: Path, archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    with archive.open(name) as part:
        # What the directory says about sizes may be a lie, so count what comes out.
        data = part.read(limit + 1)
    if len(data) > limit:
        raise TooLarge(f"{path}/{name} (limits.archive_bytes)", len(data), limit)
    return data


def _manifest(path: Path, data: bytes) -> _Manifest:
    try:
        fields = _parsed(data)
        if fields["format"] != FORMAT:
            raise UnreadableFile(path, f"this is no export of jiyi but of {fields['format']!r}")
        if fields["version"] != VERSION:
            raise UnreadableFile(
                path, f"it is of version {fields['version']!r}, this jiyi reads version {VERSION}: update jiyi"
            )
        counts, exported_at = fields["counts"], datetime.fromisoformat(fields["exported_at"])
        summary = Summary(**counts, exported_at=exported_at, unfinished=fields["unfinished"])
        manifest = _Manifest(summary, Numbers(**fields["numbers"]), fields["sha256"])
        _check_types(manifest)
    except UnreadableFile:
        raise
    except _WRONG as error:
        raise UnreadableFile(f"{path}/{MANIFEST}", f"it is no manifest of an export ({error})") from error
    return manifest


def _check(archive: Archive, manifest: _Manifest) -> None:
    """Every part is what was written, every line can be read, and the numbers are those of the manifest."""
    for name, data in archive.parts.items():
        if hashlib.sha256(data).hexdigest() != manifest.sha256.get(name):
            raise UnreadableFile(f"{archive.path}/{name}", "it is not as it was exported (its SHA-256 differs)")
    if archive.parts[STANDING].count(b"\n") != 1:
        raise UnreadableFile(f"{archive.path}/{STANDING}", "it must have one line")
    archive.standing()
    numbers, summary = archive.numbers, archive.summary
    for name, found, count, last, dense in (
        (MESSAGES, [m.seq for m in archive.messages()], summary.messages, numbers.message, False),
        (MEMORIES, [m.seq for m in archive.memories()], summary.memories, numbers.memory, False),
        (LEDGER, [e.seq for e in archive.entries()], summary.plans, numbers.plan, True),
        (HEAT, [seq for seq, _ in archive.heats()], None, numbers.memory, False),
        (SUMMARIES, [s.seq for s in archive.summaries()], None, numbers.summary, False),
    ):
        ascending = all(a < b for a, b in pairwise([0, *found]))
        fits = count in (None, len(found)) and max(found, default=0) <= last and (not dense or len(found) == last)
        if not (ascending and fits):
            raise UnreadableFile(f"{archive.path}/{name}", "its numbers are not those of the manifest")


# ------------------------------------------------------------------ values from outside


def _parsed(line: bytes) -> Mapping[str, Any]:
    fields = json.loads(line.decode(), parse_constant=_no_number)
    if not isinstance(fields, dict):
        raise TypeError("no object")
    if b"\\u" in line:
        json.dumps(fields, ensure_ascii=False).encode()  # A lone surrogate cannot be stored.
    return fields


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _message(message: Message) -> Message:
    _check_types(message)
    check_name("id", message.id)
    check_name("session", message.session)
    return message


def _memory(memory: Memory) -> Memory:
    _check_types(memory)
    if not (1 <= memory.importance <= 5 and 0 <= memory.start <= 1):
        raise ValueError(f"importance {memory.importance}, confidence {memory.start}")
    return memory


def _summary(summary: SessionSummary) -> SessionSummary:
    _check_types(summary)
    check_name("session", summary.session)
    if summary.block < 0 or any(a >= b for a, b in pairwise((0, *summary.messages))):
        raise ValueError(f"block {summary.block} of messages {summary.messages}")
    return summary


def _entry(entry: LedgerEntry) -> LedgerEntry:
    _check_types(entry)
    for change in entry.plan.changes:
        for picture in (change.before, change.after):
            if picture is not None:
                _memory(picture)
    return entry


def _heat(memory: int, heat: Heat) -> tuple[int, Heat]:
    _check_types(heat)
    if isinstance(memory, bool) or not isinstance(memory, int) or not 0 <= heat.visits < math.inf:
        raise ValueError(f"heat of {memory}: {heat.visits}")
    return memory, heat


def _standing(standing: Standing) -> Standing:
    _check_types(standing)
    return standing


def _check_types(value: Any) -> None:
    """The fields of one of our dataclasses hold what they are declared to hold. Raises: TypeError."""
    kind: Any = type(value)
    for name, hint in _hints(kind).items():
        if not _fits(getattr(value, name), hint):
            raise TypeError(f"{name} = {getattr(value, name)!r}")


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return typing.get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(v, inner[0]) for v in value)
    if origin is not None:  # Mapping[str, str]
        return isinstance(value, Mapping) and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, typing.cast(type, hint)):
            return False
        _check_types(value)
        return True
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return isinstance(value, hint)


def line(fields: Mapping[str, Any]) -> str:
    """One line of a part. Line ends inside a text are escaped by JSON."""
    return to_json(fields)
