"""The nouns of SPEC §1: message, evidence, triple, memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from jiyi.errors import NotFound

NO_LABELS: Mapping[str, str] = MappingProxyType({})


class Role(StrEnum):
    """Who speaks. `other` is another person in the room, whose words are hearsay about the user."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    OTHER = "other"


class Category(StrEnum):
    PROFILE = "profile"
    PREFERENCE = "preference"
    GOAL = "goal"
    PROJECT = "project"
    TASK = "task"
    EVENT = "event"
    RELATIONSHIP = "relationship"
    RULE = "rule"
    GENERAL = "general"


class Source(StrEnum):
    """Where a memory comes from; decides its first confidence and its decay (SPEC B1)."""

    DECLARED = "declared"
    INFERRED = "inferred"
    VERIFIED = "verified"
    IMPORTED = "imported"
    TOOL = "tool"


class Status(StrEnum):
    """`held`: said, but not believed while something that contradicts it stands (SPEC B4). `ended`: was true until
    `valid_to`. `retracted`: was a mistake and never true."""

    LIVE = "live"
    HELD = "held"
    ENDED = "ended"
    RETRACTED = "retracted"


class Mode(StrEnum):
    """How something was said."""

    STATEMENT = "statement"  # 数据库用的是 MySQL
    REQUEST = "request"  # 请记住：数据库用的是 MySQL
    CHANGE = "change"  # 数据库从 MySQL 换成 PostgreSQL 了
    CORRECTION = "correction"  # 记错了，实际是 …
    DENIAL = "denial"  # 不再用 MySQL 了
    SHIFT = "shift"  # 其实我更关注 …
    OVER = "over"  # 从 MySQL 换成 …, said of MySQL
    WRONG = "wrong"  # 不是 MySQL，是 …, said of MySQL
    CASE = "case"  # a case that a pattern was counted from: nobody said the pattern (SPEC G5)


class Tier(StrEnum):
    """How near at hand a memory is kept (SPEC F2). `working` is of one session; `fact` is always there and found by its
    key; `semantic` is the long tail, found by its words; `archive` is on its way out, and found by who asks for it."""

    WORKING = "working"
    FACT = "fact"
    SEMANTIC = "semantic"
    ARCHIVE = "archive"


class Language(StrEnum):
    ZH = "zh"
    EN = "en"


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A turn as the host hands it over, checked, before it has a number of ours."""

    id: str
    session: str
    role: Role
    text: str
    at: datetime
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)


@dataclass(frozen=True, slots=True)
class Message:
    """A stored turn: immutable evidence. Only forgetting and retention may change its text.

    `altered` says that a forgotten span was blotted out of it, `forgotten` that nothing is left. `digest`: the text is no
    longer what was said, but the words that a span of talk was about (SPEC C5). `seq` counts from 1 inside the scope and shows as `h17`; `id` is the caller's own.
    """

    seq: int
    id: str
    session: str
    role: Role
    text: str
    at: datetime
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    forgotten: bool = False
    altered: bool = False
    digest: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """One time that a memory was stated: the span `[start, end)` of a message's text, or message 0 when it was told
    to us outright.

    What was said is settled from these alone, whatever the order they came in (decision 0004): `mode` is how it was
    said, `source` on whose word, `trust` the confidence that this word begins with, `until` when it said that it would
    be over, and `own` whether the user said it, rather than a clerk or an agent in their name (SPEC B4).
    """

    message: int
    start: int
    end: int
    at: datetime
    session: str
    mode: Mode = Mode.STATEMENT
    source: Source = Source.DECLARED
    trust: float = 0.95
    until: datetime | None = None
    own: bool = True

    @property
    def tells(self) -> bool:
        """Whether its words say what the memory says. Those of a case say something else, of which it was counted."""
        return self.mode is not Mode.CASE

    @property
    def place(self) -> tuple[int, int, int, datetime, str, str]:
        """For sorting: by message, then by span."""
        return (self.message, self.start, self.end, self.at, self.session, self.mode)


@dataclass(frozen=True, slots=True)
class Triple:
    """subject – relation – object. `negated` states that it does not hold (不再用 X)."""

    subject: str
    relation: str
    object: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """One distilled statement about the scope's world.

    `key` is `subject|relation` for a memory with a triple and empty otherwise; `value` is the
    folded object (or the folded text), for comparing. Confidence is not stored: it follows from
    `source`, `start` and the time since `affirmed_at` (SPEC B1). `valid_from`/`valid_to` say when
    it was true (a live memory with a `valid_to` is over by itself then), `learnt_at`/`retired_at` when we believed it (SPEC B6). `changed_at` is the last
    time the user said outright that things changed *to* this value (SPEC B3). `unasked`: the user was asked about it
    and did not want to decide, so it is not asked again (SPEC B9). `doubted`: it stands, but the user is to be asked about
    it. `nudge` is by how much feedback has raised (1) or lowered (-1) its importance (SPEC R8). `moved_at` is when upkeep
    last changed its `tier`, `low_activity` that it has not been read or said for a long time (SPEC F2).
    """

    seq: int
    text: str
    category: Category
    importance: int
    source: Source
    start: float
    affirmed_at: datetime
    valid_from: datetime
    learnt_at: datetime
    value: str
    key: str = ""
    triple: Triple | None = None
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    changed_at: datetime | None = None
    status: Status = Status.LIVE
    successor: int | None = None
    evidence: tuple[Evidence, ...] = ()
    keywords: tuple[str, ...] = ()
    kept: bool = False
    language: Language = Language.ZH
    unasked: bool = False
    doubted: bool = False
    nudge: int = 0
    tier: Tier = Tier.FACT
    moved_at: datetime | None = None
    low_activity: bool = False

    @property
    def id(self) -> str:
        return memory_id(self.seq)

    def over(self, now: datetime) -> bool:
        """Whether a live memory is past by itself: nobody took an appointment back, but its day is gone (SPEC C8)."""
        return self.status is Status.LIVE and self.valid_to is not None and self.valid_to <= now

    @property
    def never_stood(self) -> bool:
        """Whether it waits without ever having been believed; what lost an arbitration was (SPEC B4)."""
        return self.status is Status.HELD and self.retired_at is None

    @property
    def unsettled(self) -> bool:
        """Whether the user could settle something about it: what waits, was only inferred, was verified once, or is
        doubted (SPEC B9)."""
        uncertain = self.doubted or self.source in (Source.INFERRED, Source.VERIFIED)
        return self.status is Status.HELD or (self.status is Status.LIVE and uncertain)


def memory_id(seq: int) -> str:
    return f"m{seq}"


def message_handle(seq: int) -> str:
    return f"h{seq}"


def plan_id(seq: int) -> str:
    return f"p{seq}"


def parse_id(text: object, prefix: str) -> int:
    """The number in a short id: `parse_id("m42", "m") == 42`.

    Raises:
        NotFound: not an id of that kind, so it names nothing in any scope.
    """
    if isinstance(text, str) and text[:1] == prefix and text[1:].isascii() and text[1:].isdigit() and len(text) < 18:
        return int(text[1:])
    kind = {"m": "memory", "h": "history message", "p": "plan", "q": "question", "s": "summary"}.get(prefix, "item")
    raise NotFound(f"no {kind} {text!r} here: {kind} ids look like {prefix}42")
