"""Read a file of another system: which format it is, and all of it or nothing (SPEC U6)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from types import MappingProxyType

from jiyi.errors import InputError, InstantWithoutZone, UnreadableFile
from jiyi.importers import chatgpt, locomo, memorybank, openai_messages
from jiyi.importers.documents import Document, Node, decode, lines, parse, printable
from jiyi.importers.files import read_parts
from jiyi.importers.parsed import Conversation, Found, Limits, ParsedFile, Reading


@dataclass(frozen=True, slots=True)
class _Format:
    """`shape`: what such a file looks like, for people."""

    fits: Callable[[Node], bool]
    parse: Callable[[Sequence[Node], Reading], Iterator[Found]]
    shape: str


_FORMATS: Mapping[str, _Format] = MappingProxyType(
    {
        chatgpt.FORMAT: _Format(chatgpt.fits, chatgpt.parse, chatgpt.SHAPE),
        locomo.FORMAT: _Format(locomo.fits, locomo.parse, locomo.SHAPE),
        openai_messages.FORMAT: _Format(openai_messages.fits, openai_messages.parse, openai_messages.SHAPE),
        # Last, because a person of any name may stand at its top.
        memorybank.FORMAT: _Format(memorybank.fits, memorybank.parse, memorybank.SHAPE),
    }
)

FORMATS: tuple[str, ...] = tuple(sorted(_FORMATS))
SHAPES: Mapping[str, str] = MappingProxyType({name: _FORMATS[name].shape.removeprefix("expected ") for name in FORMATS})
"""What a file of each format looks like, for people."""

_LINE_SUFFIXES = {".jsonl", ".ndjson"}
_NAMES_SHOWN = 20

DEFAULT_LIMITS = Limits()


def read_file(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word of the flag --format
    zone: tzinfo,
    self_name: str | None = None,
    assume_time: datetime | None = None,
    only: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> ParsedFile:
    """Parse a whole file into messages with stable ids, so that storing it again changes nothing.

    Args:
        path: a file; for ChatGPT also the export's zip or folder.
        format: one of FORMATS; by default told from the content.
        zone: for dates that name no time zone.
        self_name: LoCoMo: which of the two speakers is the user.
        assume_time: when talk without any time began; must name a zone.
        only: one conversation or person of a file that holds several: a LoCoMo sample_id, a MemoryBank
            person, a ChatGPT conversation's id or title, a session of an OpenAI file.

    Raises:
        UnreadableFile: the file is broken, too large or of another shape; with the line where it is known.
        InputError: an argument does not fit the file, or a time is missing and none was assumed.
    """
    if format is not None and format not in _FORMATS:
        raise InputError(f"unknown format {format!r}: expected {', '.join(FORMATS)}")
    if assume_time is not None and assume_time.utcoffset() is None:
        raise InstantWithoutZone(assume_time)
    reading = Reading(zone, self_name, assume_time, only, limits)
    roots = [root for part, data in read_parts(path, limits.file) for root in _roots(part, data, format)]
    name = format or _sniff(roots)
    # A list, so that the last record is read before anything of the first is given out.
    found = list(_FORMATS[name].parse(roots, reading))
    return _assembled(path, name, found, reading)


def _roots(path: Path, data: bytes, name: str | None) -> list[Node]:
    text = decode(path, data)
    if _by_line(path, text, name):
        return [parse(line) for line in lines(path, text)]
    return [parse(Document(path, text))]


def _by_line(path: Path, text: str, name: str | None) -> bool:
    """Whether every line is a JSON text of its own: the name says so, or the first line is one and more follows."""
    if name not in (None, openai_messages.FORMAT):
        return False
    if path.suffix.lower() in _LINE_SUFFIXES:
        return True
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def _sniff(roots: Sequence[Node]) -> str:
    for name, candidate in _FORMATS.items():
        if any(candidate.fits(root) for root in roots):
            return name
    return roots[0].fail(
        f"this is no format that jiyi reads: expected {', '.join(FORMATS)}; name it with --format if it is one of them"
    )


def _assembled(path: Path, name: str, found: Sequence[Found], reading: Reading) -> ParsedFile:
    chosen = [f for f in found if reading.wants(f.names)]
    if not found:
        raise UnreadableFile(path, "it holds no conversation")
    if not chosen:
        names = [printable(f.names[-1]) for f in found[:_NAMES_SHOWN]]
        more = ", …" if len(found) > _NAMES_SHOWN else ""
        raise InputError(f"{path} holds no conversation {reading.only!r}: it holds {', '.join(names)}{more}")
    skipped: Counter[str] = Counter()
    for part in chosen:
        skipped.update(part.skipped)
    conversations = tuple(_without_repeats(path, [c for f in chosen for c in f.conversations], skipped))
    if not conversations:
        left = ", ".join(f"{reason} {count:,}" for reason, count in sorted(skipped.items()))
        raise UnreadableFile(path, f"no message was found in it, read as {name} ({left}): {_FORMATS[name].shape}")
    return ParsedFile(name, conversations, MappingProxyType(dict(sorted(skipped.items()))))


def _without_repeats(
    path: Path, conversations: Sequence[Conversation], skipped: Counter[str]
) -> Iterator[Conversation]:
    """What the file holds twice is given once.

    Raises:
        UnreadableFile: one id with two texts, of which the store could keep only one.
    """
    texts: dict[tuple[str | None, str], str] = {}
    for conversation in conversations:
        messages = []
        for message in conversation.messages:
            key = (conversation.user, message.id)
            if key not in texts:
                texts[key] = message.text
                messages.append(message)
            elif texts[key] != message.text:
                raise UnreadableFile(path, f"the message id {message.id!r} stands for two different texts")
            else:
                skipped["given twice"] += 1
        if messages:
            yield Conversation(conversation.user, conversation.session, tuple(messages))
