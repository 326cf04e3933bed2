"""What jiyi asks of a store, cut by role. Each method carries its promise; the contract suites in
`jiyi.testing` hold every backend to them, with `jiyi.stores.reference` as the oracle.

Rules that hold for every port:

- The scope comes first and nothing outside it is read, changed or named. Methods marked *operator* see
  all scopes and return no memory text.
- Sequence numbers (`seq`) count from 1 inside a scope, per kind, and are never used twice.
- Reading what is not there gives nothing (an empty list, `None`); it is not an error.
- Instants are aware datetimes; stores keep microseconds and, for messages, the offset they were said in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from jiyi.domain.asking import Answer, Question
from jiyi.domain.fusion import Place
from jiyi.domain.heat import Heat
from jiyi.domain.memory import IncomingMessage, Memory, Message, Status, Tier
from jiyi.domain.plans import Change, LedgerEntry, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Standing
from jiyi.domain.summary import SessionSummary
from jiyi.domain.tiers import Aging
from jiyi.domain.vectors import Neighbour, Vector, VectorSet
from jiyi.forgotten import Forgotten
from jiyi.graphs import Graph, GraphFeed
from jiyi.modelled import ModelCalls, Segments
from jiyi.queues import Jobs, Schedule
from jiyi.served import Once, ServiceKeys
from jiyi.text.redaction import Key
from jiyi.traced import Traces

T = TypeVar("T")

MAX_QUERY_TERMS = 62
"""Terms one search may bring: matches are reported as bits of a signed 64-bit integer."""


class Kind(StrEnum):
    """What a text index holds; each kind is scored on its own."""

    MEMORY = "memory"
    MESSAGE = "message"
    SUMMARY = "summary"


# ---------------------------------------------------------------------------------- messages


@dataclass(frozen=True, slots=True)
class SessionInfo:
    session: str
    first_at: datetime
    last_at: datetime
    messages: int


class Messages(Protocol):
    """Raw turns: immutable evidence (SPEC C1)."""

    def add(self, scope: Scope, messages: Sequence[IncomingMessage]) -> list[tuple[Message, bool]]:
        """Store messages in the given order; `(stored, is_new)` for each.

        A known id with the same text, or one whose text was forgotten in whole or in part, changes nothing and gives
        the stored message: re-reading an old source brings nothing back.

        Raises:
            ConflictingMessage: a known id with another text. Nothing of the batch is stored.
        """

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Message]:
        """The messages that exist, by seq ascending."""

    def places(self, scope: Scope, seqs: Collection[int]) -> list[Place]:
        """Where the messages of these numbers stand, by seq ascending, without their texts; none of a forgotten one."""

    def by_id(self, scope: Scope, message_id: str) -> Message | None: ...

    def window(
        self,
        scope: Scope,
        *,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: tuple[datetime, int] | None = None,
        before: tuple[datetime, int] | None = None,
        latest: bool = False,
        limit: int = 50,
    ) -> list[Message]:
        """Messages in order of `(at, seq)`, `since` included and `until` excluded, at most `limit`.

        `after` and `before` exclude everything up to / from that `(at, seq)`. With `latest` the last `limit` of
        them are given, still in ascending order.
        """

    def after_seq(self, scope: Scope, seq: int, limit: int) -> list[Message]:
        """The messages numbered above `seq`, ascending, at most `limit`."""

    def last_seq(self, scope: Scope) -> int:
        """The highest number given out, 0 if none."""

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Message]:
        """Messages whose text contains any needle byte for byte, newest number first. A plain scan, for what no index holds."""

    def sessions(self, scope: Scope, limit: int = 1000) -> list[SessionInfo]:
        """Sessions by their last instant, newest first."""

    def rewrite(self, scope: Scope, messages: Sequence[Message]) -> None:
        """Forgetting and retention only: put each message in the place of the one of its number, as it is given, id and session too.

        It counts as `altered` from now on. A forgotten one is a tombstone: no reading method but `get` and `by_id` gives
        it. Numbers that no message has change nothing. No byte of what stood there stays after a purge. Gateway, and
        observing for what it just stored.
        """

    def restore(self, scope: Scope, messages: Sequence[Message]) -> None:
        """Store messages exactly as they are, numbers and tombstones included (SPEC F7). Gateway only.

        Raises:
            InputError: a number is not above all given out so far and before it, or an id is taken. Nothing is stored.
        """


# ---------------------------------------------------------------------------------- memories


class Memories(Protocol):
    """What we believe, in every version that still exists. Only the gateway calls `write`."""

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        """The memories that exist, by seq ascending."""

    def believed(self, scope: Scope, keys: Collection[str] = (), values: Collection[str] = ()) -> list[Memory]:
        """Memories of any status with one of these non-empty keys, or without a key and with one of these values; by seq."""

    def of_keys(self, scope: Scope, keys: Collection[str], limit: int = 64) -> list[Memory]:
        """Live memories with one of these keys, but for the archive, by `affirmed_at` then seq, newest first."""

    def of_relations(self, scope: Scope, relations: Collection[str], limit: int = 64) -> list[Memory]:
        """Live memories of the fact tier whose triple has one of these relations, by `affirmed_at` then seq, newest first."""

    def listing(
        self,
        scope: Scope,
        *,
        status: Status | None = Status.LIVE,
        categories: Collection[str] = (),
        tiers: Collection[Tier] = (),
        limit: int | None = None,
    ) -> list[Memory]:
        """Memories by seq; all statuses with `status=None`, all categories and all tiers when none is named."""

    def foremost(self, scope: Scope, categories: Collection[str], limit: int) -> list[Memory]:
        """Live memories of the fact tier and of these categories: the most important first, then the last affirmed, then by higher seq."""

    def unsettled(self, scope: Scope) -> list[Memory]:
        """What is not settled: held memories, and live ones that were only inferred or once verified; by seq."""

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Memory]:
        """Live memories whose text contains any needle byte for byte, newest number first. A plain scan."""

    def aging(self, scope: Scope, after: int, limit: int) -> list[Aging]:
        """What upkeep must know of the live memories numbered above `after`, with their heat, by seq, at most `limit`."""

    def replaced_by(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        """The memories, of any status, whose successor is one of these, by seq."""

    def resting_on(self, scope: Scope, message_seqs: Collection[int]) -> dict[int, list[int]]:
        """For each message that is evidence: the memories, of any status, that it tells of, ascending; so not those that were
        counted from it. Number 0, which stands for what was told outright, is no message."""

    def next_seq(self, scope: Scope) -> int:
        """Take a fresh memory number (inside a write)."""

    def numbers(self, scope: Scope) -> list[int]:
        """The numbers of all memories, of any status, ascending; cheap."""

    def last_seq(self, scope: Scope) -> int:
        """The highest number given out, 0 if none. Its memory may be gone."""

    def skip_to(self, scope: Scope, seq: int) -> None:
        """Count the numbers up to `seq` as given out (SPEC F7). One that is given out already changes nothing."""

    def write(self, scope: Scope, changes: Sequence[Change]) -> None:
        """Write the `after` picture of each change; remove the memory where there is none.

        Gateway only. `seq` of an added memory may be one that existed before (undo of a removal).
        """

    def distilled_by(self, scope: Scope) -> str:
        """The distiller that all messages so far were read by, at the oldest; empty when that is not known (SPEC C13)."""

    def mark_distilled_by(self, scope: Scope, identity: str) -> None:
        """`identity`: twelve hexadecimal digits."""

    def heat(self, scope: Scope, seqs: Collection[int]) -> dict[int, Heat]: ...

    def set_heat(self, scope: Scope, heats: Mapping[int, Heat]) -> None:
        """Store heat of memories; numbers that no memory has are ignored."""


# ---------------------------------------------------------------------------------- summaries


class Summaries(Protocol):
    """Digests of what was said, one for each session and block (SPEC R6). A view: messages can make them again."""

    def get(self, scope: Scope, seqs: Collection[int]) -> list[SessionSummary]:
        """The summaries that exist, by seq ascending."""

    def listing(self, scope: Scope, *, session: str | None = None) -> list[SessionSummary]:
        """Summaries by seq, of one session or of all; those without points too."""

    def covered(self, scope: Scope) -> dict[str, tuple[int, datetime]]:
        """For each session with a summary of the whole: of how many messages it was made, and when the latest was said."""

    def last_block(self, scope: Scope, session: str) -> SessionSummary | None:
        """The summary of a session's highest block, None when it has none but that of the whole."""

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[SessionSummary]:
        """Summaries of which a point contains any needle byte for byte, newest number first. A plain scan."""

    def next_seq(self, scope: Scope) -> int:
        """Take a fresh summary number (inside a write)."""

    def last_seq(self, scope: Scope) -> int:
        """The highest number given out, 0 if none. Its summary may be gone."""

    def skip_to(self, scope: Scope, seq: int) -> None:
        """Count the numbers up to `seq` as given out (SPEC F7). One that is given out already changes nothing."""

    def write(self, scope: Scope, summaries: Sequence[SessionSummary]) -> None:
        """Store summaries, each in the place of the one of its number.

        The caller sees to it that a session and block have one number.
        """

    def remove(self, scope: Scope, seqs: Collection[int]) -> None:
        """Take summaries out; numbers that no summary has are ignored. No byte of them stays after a checkpoint."""

    def erase(self, scope: Scope, messages: Collection[int]) -> list[SessionSummary]:
        """Take out every summary that was made from one of these messages; gives them, by seq (SPEC F6)."""


# ---------------------------------------------------------------------------------- text index


@dataclass(frozen=True, slots=True)
class Document:
    """What one text brings to the index: its terms with counts, and their sum."""

    seq: int
    terms: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class Hit:
    """`matched` has bit `i` set when the document holds the i-th query term. A higher score is better."""

    seq: int
    score: float
    matched: int


class Occurrence(NamedTuple):
    """That a document of so many terms in all holds a term so often. A tuple, because a search reads hundreds of them."""

    seq: int
    term: str
    often: int
    length: int


@dataclass(frozen=True, slots=True)
class BM25:
    """Okapi BM25 with the inverse document frequency of the one scope: ln(1 + (N - n + 0.5) / (n + 0.5))."""

    k1: float = 0.9
    b: float = 0.4


class TextIndex(Protocol):
    """Full-text search inside one scope and kind, on terms that the caller segmented."""

    def add(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        """Index documents that are not in the index yet (inside a write)."""

    def remove(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        """Take documents out, given as they were added. Documents that are not there change nothing."""

    def search(self, scope: Scope, kind: Kind, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        """Documents that hold any of the terms, best first, at most `limit`; equal scores by higher seq.

        The score is the sum of weight × BM25 over the terms. Terms are distinct, at most MAX_QUERY_TERMS;
        weights are positive.
        """

    def frequencies(self, scope: Scope, kind: Kind, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """`(documents in this scope and kind, {term: documents that hold it})`; absent terms are left out."""

    def occurrences(self, scope: Scope, kind: Kind, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        """How often these documents hold these terms, in any order; nothing for what is not held. For words so frequent that
        their lists are not worth reading: the cost follows the documents named, not those that hold the words."""

    def indexed_up_to(self, scope: Scope) -> int:
        """The highest message number up to which messages are indexed (or never will be), 0 at first."""

    def mark_indexed_up_to(self, scope: Scope, seq: int) -> None: ...

    def clear(self, scope: Scope) -> None:
        """Drop everything of this scope, all kinds, and the mark (before a rebuild)."""


# ---------------------------------------------------------------------------------- vectors


class VectorIndex(Protocol):
    """Nearest neighbours inside one scope, kind and model (SPEC R11). A view: an embedder can make it again.

    A scope may have several sets, one a model; no search reaches more than one.
    """

    def begin(self, scope: Scope, model: str, dimension: int) -> None:
        """There is a set of this model from now on. One that is there already stays as it is.

        Raises:
            InputError: it is there with another dimension.
        """

    def sets(self, scope: Scope) -> list[VectorSet]:
        """The sets of a scope, by when they were begun."""

    def add(self, scope: Scope, kind: Kind, model: str, vectors: Mapping[int, Vector]) -> None:
        """Put vectors by the number of their text, each in the place of the one of its number.

        Raises:
            InputError: the set was not begun, or has another dimension. Nothing is stored.
        """

    def remove(self, scope: Scope, kind: Kind, seqs: Collection[int]) -> int:
        """Take these texts out of every set; gives the number of vectors that went. No byte of them stays after a purge."""

    def search(self, scope: Scope, kind: Kind, model: str, query: Vector, limit: int) -> list[Neighbour]:
        """The nearest, best first, at most `limit`; equal cosines by higher seq. Nothing where there is no such set.

        Raises:
            InputError: the query has another dimension than the set.
        """

    def held(self, scope: Scope, kind: Kind, model: str) -> set[int]:
        """The texts that have a vector."""

    def count(self, scope: Scope, kind: Kind, model: str) -> int: ...

    def embedded_up_to(self, scope: Scope, model: str) -> int:
        """The highest message number up to which messages have vectors (or never will), 0 at first."""

    def mark_embedded_up_to(self, scope: Scope, model: str, seq: int) -> None:
        """Raises: InputError when the set was not begun."""

    def drop(self, scope: Scope, model: str) -> int:
        """Take a whole set away; gives the number of vectors that went."""


# ---------------------------------------------------------------------------------- ledger


class Ledger(Protocol):
    """Every applied plan, for good; the pictures inside can be erased by forgetting (SPEC F6, W4)."""

    def append(self, scope: Scope, plan: Plan) -> LedgerEntry:
        """Record an applied plan under the next plan number. Gateway only."""

    def restore(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        """Record entries exactly as they are, under their own numbers (SPEC F7). Gateway only.

        Raises:
            InputError: they do not follow on the last number without a gap. Nothing is recorded.
        """

    def get(self, scope: Scope, seq: int) -> LedgerEntry | None: ...

    def entries(self, scope: Scope, *, after: int = 0, limit: int | None = None) -> list[LedgerEntry]:
        """Entries numbered above `after`, ascending."""

    def last_seq(self, scope: Scope) -> int:
        """The number of the latest entry, 0 if there is none."""

    def about(self, scope: Scope, memory: int) -> list[LedgerEntry]:
        """The entries that changed this memory, ascending."""

    def undone(self, scope: Scope, verb: Verb, memories: Collection[int]) -> dict[int, datetime]:
        """For each memory that a plan of this verb changed and that was then taken back (an undo): when, the last time."""

    def erase(self, scope: Scope, memories: Collection[int]) -> None:
        """Forgetting only: drop every picture of these memories, and the words (reason, judgements) of the
        entries that held one; those entries become `forgotten`. No byte of them stays after a checkpoint."""

    def rewrite(self, scope: Scope, entries: Sequence[LedgerEntry]) -> None:
        """Forgetting only: put each entry in the place of the one of its number. Numbers that no entry has change
        nothing. No byte of what stood there stays after a checkpoint. Gateway only."""


# ---------------------------------------------------------------------------------- standing


class Standings(Protocol):
    """What each user decided about their memory as a whole (SPEC C5). Only the gateway calls `set`."""

    def get(self, scope: Scope) -> Standing:
        """The scope's standing; `UNDECIDED` where nothing was ever decided."""

    def set(self, scope: Scope, standing: Standing) -> None:
        """Put this standing in the place of the one before."""


# ---------------------------------------------------------------------------------- language models


class ChatModel(Protocol):
    """A language model behind some wire. May be used by several threads."""

    @property
    def name(self) -> str:
        """Provider and model, for the ledger and for people: `deepseek/deepseek-chat`. No key in it."""

    def ask(self, question: Question) -> Answer:
        """Raises:
        ModelUnavailable: no answer now; later there may be one. ModelRefused: it will not answer this, also not later.
        """

    def close(self) -> None:
        """Give up what is under way, soon, and let go of connections. Closing twice is fine."""


# ---------------------------------------------------------------------------------- the whole


class Unit(Protocol):
    """One consistent view of the store: a snapshot for reading, or a transaction for writing."""

    @property
    def forgotten(self) -> Forgotten: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def summaries(self) -> Summaries: ...
    @property
    def text(self) -> TextIndex: ...
    @property
    def vectors(self) -> VectorIndex: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def standings(self) -> Standings: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def segments(self) -> Segments: ...
    @property
    def model_calls(self) -> ModelCalls: ...
    @property
    def traces(self) -> Traces: ...
    @property
    def once(self) -> Once: ...
    @property
    def service_keys(self) -> ServiceKeys: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def graph_feed(self) -> GraphFeed: ...

    def scopes(self) -> Iterable[Scope]:
        """*Operator.* Every scope that was ever written to, in order of creation."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a health check. `fix` says what to do when it failed."""

    name: str
    ok: bool
    detail: str = ""
    fix: str = ""


class Keys(Protocol):
    """The keys of redacted values, kept apart from the database (SPEC C11)."""

    def all(self) -> Sequence[Key]:
        """The oldest first, the last one current; there is always one."""

    def rotate(self) -> Key:
        """*Operator.* Add a new current key. Older ones stay for comparing."""

    def copy_to(self, target: str) -> None:
        """*Operator.* Put a copy beside a backup of the database."""

    def check(self) -> Iterator[Check]:
        """*Operator.* Whether the keys that the database has used are there, and private."""

    def accept_loss(self) -> list[str]:
        """*Operator.* Stop asking for keys that are gone for good; gives their ids."""


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """*Operator.* What kind of store this is, for people and for `doctor`."""

    kind: str
    place: str
    schema_version: int
    details: Mapping[str, str] = field(default_factory=dict)


class Store(Protocol):
    """A database: units of work over all ports, and its care."""

    def read(self) -> AbstractContextManager[Unit]:
        """A snapshot for reading. Writing through it is an error."""

    def write(self, work: Callable[[Unit], T], *, again: bool = False) -> T:
        """Run `work` in a transaction and return its result once it is durable.

        All or nothing: if `work` raises, nothing of it is kept and the error comes back. `work` may run again
        after a conflict, so it must have no effect outside the unit.

        Args:
            again: done twice it comes to the same, so that it may run again although it may have been kept.

        Raises:
            StoreAway: no server of the database answers. WriteUncertain: it was lost while it ended the write.
        """

    def meta(self, name: str) -> str | None:
        """A stored setting of the database itself (segmenter identity, …)."""

    def set_meta(self, name: str, value: str) -> None: ...

    @property
    def secret(self) -> bytes:
        """32 random bytes made with the database; keys the hashes of terms and message ids."""

    def info(self) -> StoreInfo: ...

    def check(self, terms_of: Callable[[Kind, Memory | Message | SessionSummary], Document]) -> Iterator[Check]:
        """*Operator.* Go through the integrity of the database and of its views, one line each, slow ones too.

        Args:
            terms_of: how a text is indexed; compared with what the index holds.
        """

    def erased(self) -> bool:
        """*Operator.* Whether anything was erased since the last purge, also by a process that was killed since."""

    def purge(self) -> None:
        """*Operator.* Make erased bytes unfindable: checkpoint the log, drop freed pages' content."""

    def catch_up(self) -> int:
        """*Operator.* Tell what follows the database from outside, a vector engine, what changed; gives how many changes.

        Raises:
            EngineUnavailable: it does not answer; nothing is lost, and it is told later.
        """

    def backup(self, target: str) -> None:
        """Copy the database to a new file while it is in use.

        Raises:
            StoreError: the target exists, or cannot be written.
        """

    def close(self) -> None:
        """Finish queued writes and let go of every handle. Closing twice is fine."""
