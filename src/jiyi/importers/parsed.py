"""What every parser takes and gives, and how imported messages get their ids and instants (SPEC U6)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.scope import check_name
from jiyi.errors import InputError
from jiyi.importers.documents import Node
from jiyi.importers.instants import fill_gaps, pinned

NO_TIME = (
    "the file does not say when this was said: pass --assume-time with the moment it began, "
    "such as 2026-03-01T09:00:00+08:00"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """SPEC S5. `text`: characters of one message. `file`: bytes of one file, after unpacking."""

    text: int = 100_000
    file: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Conversation:
    """One session of one person. `user` is whose it is when the file says so; messages are in order."""

    user: str | None
    session: str
    messages: tuple[IncomingMessage, ...]


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A whole file, read without error. `skipped` counts what was left out on purpose, by reason."""

    format: str
    conversations: tuple[Conversation, ...]
    skipped: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a file: what the person who imports it knows and the file may not say."""

    zone: tzinfo
    self_name: str | None = None
    assume_time: datetime | None = None
    only: str | None = None
    limits: Limits = Limits()

    def wants(self, names: Sequence[str]) -> bool:
        return self.only is None or self.only in names


@dataclass(frozen=True, slots=True)
class Found:
    """What a parser yields: the names that `only` may choose it by, and the sessions unless it was not chosen."""

    names: tuple[str, ...]
    conversations: tuple[Conversation, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message before it has an id and an instant. `node` is where the file holds it; `at` is None when it is undated.

    `key` is the file's own id of the message, if it has one. `said` is the instant as the file writes it: it is
    part of the content that ids are made from, whatever the reader's time zone.
    """

    node: Node
    role: Role
    text: str
    name: str | None = None
    at: datetime | None = None
    key: str = ""
    said: str = ""


def checked_text(node: Node, text: str, limits: Limits) -> str:
    """The text, unchanged.

    Raises:
        UnreadableFile: it is longer than the limit (SPEC S5).
    """
    if len(text) > limits.text:
        node.fail(f"the text has {len(text):,} characters, the limit is {limits.text:,}: split it or leave it out")
    return text


def checked(node: Node, what: str, name: str) -> str:
    """A name that the store accepts.

    Raises:
        UnreadableFile: it is empty, too long or holds control characters.
    """
    try:
        return check_name(what, name)
    except InputError as error:
        node.fail(str(error))


def message_id(origin: str, *parts: str) -> str:
    """`origin:part:part…`, or `origin:` and a hash where that could not be stored."""
    plain = ":".join((origin, *parts))
    try:
        return check_name("message id", plain)
    except InputError:
        return f"{origin}:{marked(digest(parts))}"


def digest(value: object, length: int = 32) -> str:
    """Hex digits that depend on nothing but the JSON of `value`."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=True, sort_keys=True).encode()).hexdigest()[:length]


def marked(digest: str) -> str:
    """A digest of a text inside a name. The mark asks `observe` to hash it again with a key (SPEC C11): as it is, it could be
    tried against every number that may have stood in the text."""
    return f"~{digest}"


def chain(seed: str, turns: Sequence[Turn]) -> list[str]:
    """One key per turn, made from everything up to it.

    So a file that has grown keeps the keys of what was there, a copy under another name has the same keys,
    and the same words said again later have another. The assumed time is no part of it.
    """
    keys: list[str] = []
    last = seed
    for turn in turns:
        last = digest([last, turn.role, turn.name, turn.said, turn.text])
        keys.append(last)
    return keys


def dated(turns: Sequence[Turn], start: datetime | None, reading: Reading) -> list[datetime]:
    """The instant of each turn: its own, else its neighbour's, else counted in seconds from `start` or the assumed time.

    Raises:
        InputError: nothing says when it was.
    """
    own = [turn.at for turn in turns]
    if any(own):
        return fill_gaps(own, start)
    start = start or reading.assume_time
    if start is None and turns:
        raise InputError(f"{turns[0].node.place}: {NO_TIME}")
    return [pinned(start) + timedelta(seconds=i) for i in range(len(turns))] if start else []
