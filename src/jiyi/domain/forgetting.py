"""What forgetting leaves behind: keyed tombstones, receipts without words, and the copies that are out of reach (SPEC F6)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from jiyi.domain.memory import Memory, Message

BLOT = "▇"
"""Stands for each forgotten character of a message that other memories still rest on: their spans keep their place."""
BURIED = "forgotten"
"""Stands for the session of a message of which nothing is left."""


class Reach(StrEnum):
    """What was asked to be forgotten."""

    MEMORY = "memory"
    TOPIC = "topic"
    SESSION = "session"
    TIME = "time"
    EVERYTHING = "everything"


class Mark(StrEnum):
    """What a tombstone keeps from coming back, in anything that was said before its instant."""

    ID = "id"  # the message of that id
    TEXT = "text"  # a message that reads so
    SENTENCE = "sentence"  # a sentence that reads so, in whatever message
    WORDS = "words"  # these words, wherever they stand
    TOPIC = "topic"  # every message and memory that has these words
    VALUE = "value"  # a memory of this fact and value
    RELATION = "relation"  # every memory of this relation


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A keyed hash of what was forgotten, which tells nothing to who does not have it already.

    `length` counts the folded characters of WORDS and TOPIC, so that a text can be looked through for them; else it
    is 0. Whatever was said at `at` or later is said anew. `receipt` is the number of the forgetting.
    """

    mark: Mark
    digest: bytes
    at: datetime
    length: int = 0
    receipt: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that was made before and that forgetting cannot reach: a `backup`, or an `export` of the scope."""

    kind: str
    path: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ForgettingReceipt:
    """That something was forgotten, never what.

    `erased` counts by kind. `copies` are the backups and exports made before that may still hold it. `horizon` is the
    latest instant of a tombstone. `verified_at` is when the memory was last held against the tombstones, `returned` how
    many things had come back then: 0 in a memory that is well.
    """

    number: int
    plan: int
    at: datetime
    horizon: datetime
    reach: Reach
    erased: Mapping[str, int] = field(default_factory=dict)
    copies: tuple[Copy, ...] = ()
    verified_at: datetime | None = None
    returned: int = 0


@dataclass(frozen=True, slots=True)
class Remains:
    """What forgetting left in one scope."""

    receipts: tuple[ForgettingReceipt, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()

    def joined(self, other: Remains) -> Remains:
        """Both together. Receipts are the same when they were given at the same instant for the same reach."""
        receipts = {(r.at, r.reach): r for r in (*self.receipts, *other.receipts)}
        stones: dict[tuple[Mark, bytes], Tombstone] = {}
        for stone in sorted((*self.tombstones, *other.tombstones), key=lambda t: t.at):
            stones[stone.mark, stone.digest] = stone
        return Remains(tuple(receipts.values()), tuple(stones.values()))


@dataclass(frozen=True, slots=True)
class Blotted:
    """A message before and after: `after.forgotten` when nothing of it is left."""

    before: Message
    after: Message


@dataclass(frozen=True, slots=True)
class Erased:
    """What views must let go: the messages that changed, and the memories that went. `at` is when."""

    at: datetime
    messages: tuple[Blotted, ...] = ()
    memories: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgettingPolicy:
    """How specific words must be to be looked for anywhere: 35 or "ok" would blot out what has nothing to do with it."""

    han_words: int = 2
    other_words: int = 3
    digits: int = 5
    han_sentence: int = 4
    other_sentence: int = 10


def digest_of(key: bytes, mark: Mark, words: str) -> bytes:
    """16 bytes. `key` is the scope's own, so that what one user forgot cannot be compared with what another did."""
    return hashlib.blake2b(f"{mark.value}\x1f{words}".encode(), key=key, digest_size=16).digest()


def scope_key(secret: bytes, tenant: str, user: str) -> bytes:
    """The key of one scope's tombstones, derived from the secret of the store."""
    return hashlib.blake2b(f"forgotten\x1f{tenant}\x1f{user}".encode(), key=secret, digest_size=32).digest()


def buried_id(key: bytes, message_id: str) -> str:
    """What takes the place of a forgotten message's id: the same id is known again, and cannot be read."""
    return f"~{digest_of(key, Mark.ID, message_id).hex()}"


def value_words(key: str, value: str) -> str:
    """A fact and its value as one text to hash; a memory without a triple has no key."""
    return f"{key}\x1f{value}"
