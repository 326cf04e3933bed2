"""A database as a whole, one view of it, and what stands beside it: keys and health."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from jiyi.asked_again import asked_again
from jiyi.domain.memory import Memory, Message
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.ports.forgotten import Forgotten
from jiyi.ports.graph import Graph, GraphFeed
from jiyi.ports.ledger import Ledger, Standings
from jiyi.ports.memories import Memories
from jiyi.ports.messages import Messages
from jiyi.ports.models import ModelCalls, Segments
from jiyi.ports.queues import Jobs, Schedule
from jiyi.ports.served import Once, ServiceKeys
from jiyi.ports.summaries import Summaries
from jiyi.ports.text_index import Document, Kind, TextIndex
from jiyi.ports.traces import Traces
from jiyi.ports.vectors import VectorIndex
from jiyi.text.redaction import Key

T = TypeVar("T")


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

    def read(self, scope: Scope | None = None) -> AbstractContextManager[Unit]:
        """A snapshot for reading. Writing through it is an error.

        Args:
            scope: the one that is read, where a copy that lags behind will do as far as the settings allow it: what this process
                wrote of the scope is always there (SPEC O2). Without it the snapshot is of this moment.
        """

    def view(self, work: Callable[[Unit], T], scope: Scope | None = None) -> T:
        """`work` on a snapshot of `read`, and what it returns; on another one where the server was lost under the first, so
        it must have no effect that a second run would double (SPEC O2).

        Raises:
            StoreAway: no server of the database answers.
        """
        return _viewed(self, work, scope)

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


@asked_again
def _viewed(store: Store, work: Callable[[Unit], T], scope: Scope | None) -> T:
    with store.read(scope) as unit:
        return work(unit)
