"""The reference store's part for language models: what was asked of them, and where sessions were cut for them."""

from __future__ import annotations

from datetime import datetime

from jiyi.domain.asking import OK, ModelCall, Spent
from jiyi.domain.scope import Scope
from jiyi.errors import StoreError
from jiyi.ports import ModelCalls, Segments
from jiyi.stores.reference_state import Access, ScopeState


class ReferenceSegments(Segments):
    def __init__(self, access: Access) -> None:
        self._access = access

    def open_at(self, scope: Scope, seq: int) -> None:
        self._mark(scope, seq, 0)

    def cut_after(self, scope: Scope, seq: int) -> None:
        self._mark(scope, seq, 1)

    def _mark(self, scope: Scope, seq: int, behind: int) -> None:
        state = self._access.change(scope)
        if seq not in state.messages:
            raise StoreError(f"there is no message {seq} to cut at")
        session = state.messages[seq].session
        for other in [s for s in _there(state) if state.messages[s].session == session]:
            del state.cuts[other]
        state.cuts[seq] = behind

    def opened(self, scope: Scope) -> list[str]:
        state = self._access[scope]
        return [state.messages[seq].session for seq in sorted(_there(state)) if not state.cuts[seq]]

    def open_from(self, scope: Scope, session: str) -> int | None:
        state = self._access[scope]
        marks = [seq for seq in _there(state) if state.messages[seq].session == session]
        return max(marks) + state.cuts[max(marks)] if marks else None


def _there(state: ScopeState) -> list[int]:
    """The marks whose messages exist: a mark goes with its message."""
    return [seq for seq in state.cuts if seq in state.messages]


class ReferenceModelCalls(ModelCalls):
    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, scope: Scope | None, call: ModelCall) -> None:
        if scope is not None:
            self._access.change(scope)
        calls = self._access.change_all().model_calls
        calls[len(calls) + 1] = call

    def spent(self, since: datetime, model: str | None = None) -> Spent:
        kept = self._access.all().model_calls.values()
        calls = [c for c in kept if c.at >= since and model in (None, c.model)]
        return Spent(
            calls=len(calls),
            failed=sum(c.outcome != OK for c in calls),
            tokens_in=sum(c.tokens_in for c in calls),
            tokens_out=sum(c.tokens_out for c in calls),
            cost=sum(c.cost for c in calls),
            seconds=sum(c.seconds for c in calls),
        )

    def latest(self, limit: int = 50) -> list[ModelCall]:
        return list(reversed(self._access.all().model_calls.values()))[: max(limit, 0)]
