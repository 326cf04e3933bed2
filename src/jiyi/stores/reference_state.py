"""What the reference store holds, and the way of one unit of work to it.

A committed `State` is never changed again: a write works on a copy and puts it in place at the end.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Self

from jiyi.domain.access import ServiceKey
from jiyi.domain.asking import ModelCall
from jiyi.domain.entities import Name
from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Tombstone
from jiyi.domain.graph import Edge, Followed
from jiyi.domain.heat import Heat
from jiyi.domain.memory import Memory, Message
from jiyi.domain.once import DoneOnce
from jiyi.domain.plans import LedgerEntry
from jiyi.domain.scope import Scope
from jiyi.domain.standing import UNDECIDED, Standing
from jiyi.domain.summary import SessionSummary
from jiyi.domain.traces import Trace
from jiyi.domain.vectors import Vector
from jiyi.errors import StoreError
from jiyi.ports import DeadJob, Document, Kind, Lane


@dataclass(frozen=True, slots=True)
class ReferenceVectorSet:
    """The vectors of one model, by kind and number."""

    dimension: int
    upto: int = 0
    vectors: Mapping[tuple[Kind, int], Vector] = field(default_factory=dict)


@dataclass(slots=True)
class ScopeState:
    """Everything of one scope. All values are frozen, so copying the dicts copies it all."""

    messages: dict[int, Message] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    last_memory: int = 0
    distilled_by: str = ""
    heats: dict[int, Heat] = field(default_factory=dict)
    summaries: dict[int, SessionSummary] = field(default_factory=dict)
    last_summary: int = 0
    documents: dict[tuple[Kind, int], Document] = field(default_factory=dict)
    indexed_up_to: int = 0
    vector_sets: dict[str, ReferenceVectorSet] = field(default_factory=dict)
    ledger: dict[int, LedgerEntry] = field(default_factory=dict)
    cuts: dict[int, int] = field(default_factory=dict)
    tombstones: dict[tuple[Mark, bytes], Tombstone] = field(default_factory=dict)
    receipts: dict[int, ForgettingReceipt] = field(default_factory=dict)
    standing: Standing = UNDECIDED
    traces: dict[str, Trace] = field(default_factory=dict)
    once: dict[bytes, DoneOnce] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    edges: dict[int, Edge] = field(default_factory=dict)
    followed: Followed | None = None
    outbox: dict[int, str] = field(default_factory=dict)

    def copy(self) -> Self:
        return replace(self, **_copied_dicts(self))


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """`turn` orders the queue: a revived job goes to its end and keeps its id. `lease_until` means running."""

    id: int
    turn: int
    scope: Scope
    kind: str
    payload: str
    attempt: int
    queued_at: datetime
    due_at: datetime
    lane: Lane = Lane.QUICK
    lease_until: datetime | None = None

    def running(self, now: datetime) -> bool:
        return self.lease_until is not None and now < self.lease_until


@dataclass(slots=True)
class State:
    """Everything of one database."""

    scopes: dict[Scope, ScopeState] = field(default_factory=dict)
    jobs: dict[int, QueuedJob] = field(default_factory=dict)
    dead: dict[int, tuple[QueuedJob, DeadJob]] = field(default_factory=dict)
    schedule: dict[tuple[Scope, str], datetime] = field(default_factory=dict)
    last_job: int = 0
    last_turn: int = 0
    model_calls: dict[int, ModelCall] = field(default_factory=dict)
    service_keys: dict[str, ServiceKey] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    copies: dict[int, tuple[Scope | None, Copy]] = field(default_factory=dict)
    erased: bool = False

    def copy(self) -> Self:
        scopes = {scope: state.copy() for scope, state in self.scopes.items()}
        return replace(self, **{**_copied_dicts(self), "scopes": scopes})


def _copied_dicts(state: ScopeState | State) -> dict[str, Any]:
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    return {name: dict(value) for name, value in values.items() if isinstance(value, dict)}


@dataclass(slots=True)
class ReferenceData:
    """What outlives a handle: give it to `open_reference` again, as one would a file. Backups go in `backups`."""

    state: State = field(default_factory=State)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    backups: dict[str, ReferenceData] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    writer: int | None = None


# ---------------------------------------------------------------------------------- a unit of work


class Access:
    """The way of one unit to the state, while the unit lasts."""

    def __init__(self, state: State, *, writable: bool) -> None:
        self._state = state
        self._writable = writable
        self._is_over = False

    def end(self) -> None:
        """A unit kept beyond its time must neither read on nor change what is committed."""
        self._is_over = True

    def __getitem__(self, scope: Scope) -> ScopeState:
        return self.all().scopes.get(scope) or ScopeState()

    def change(self, scope: Scope) -> ScopeState:
        return self.change_all().scopes.setdefault(scope, ScopeState())

    def all(self) -> State:
        if self._is_over:
            raise StoreError("this unit of work is over: read inside store.read(), change inside store.write(...)")
        return self._state

    def change_all(self) -> State:
        if not self._writable:
            raise StoreError("this unit is for reading only: change the store inside store.write(...)")
        return self.all()
