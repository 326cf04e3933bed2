"""Summaries in the reference store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from jiyi.domain.scope import Scope
from jiyi.domain.summary import WHOLE, SessionSummary
from jiyi.stores.reference_state import Access


class ReferenceSummaries:
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope, seqs: Collection[int]) -> list[SessionSummary]:
        held = self._access[scope].summaries
        return [held[seq] for seq in sorted(set(seqs)) if seq in held]

    def listing(self, scope: Scope, *, session: str | None = None) -> list[SessionSummary]:
        found = sorted(self._access[scope].summaries.items())
        return [s for _, s in found if session is None or s.session == session]

    def covered(self, scope: Scope) -> dict[str, tuple[int, datetime]]:
        return {s.session: (len(s.messages), s.last_at) for s in self.listing(scope) if s.block == WHOLE}

    def last_block(self, scope: Scope, session: str) -> SessionSummary | None:
        blocks = [s for s in self.listing(scope, session=session) if s.block]
        return max(blocks, key=lambda s: s.block, default=None)

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[SessionSummary]:
        found = reversed(self.listing(scope))
        return [s for s in found if any(n in p.text for n in needles for p in s.points)][:limit]

    def next_seq(self, scope: Scope) -> int:
        state = self._access.change(scope)
        state.last_summary += 1
        return state.last_summary

    def last_seq(self, scope: Scope) -> int:
        return self._access[scope].last_summary

    def skip_to(self, scope: Scope, seq: int) -> None:
        state = self._access.change(scope)
        state.last_summary = max(state.last_summary, seq)

    def write(self, scope: Scope, summaries: Sequence[SessionSummary]) -> None:
        state = self._access.change(scope)
        for summary in summaries:
            state.summaries[summary.seq] = summary
            state.last_summary = max(state.last_summary, summary.seq)

    def remove(self, scope: Scope, seqs: Collection[int]) -> None:
        summaries = self._access.change(scope).summaries
        for seq in seqs:
            summaries.pop(seq, None)

    def erase(self, scope: Scope, messages: Collection[int]) -> list[SessionSummary]:
        resting = [s for s in self.listing(scope) if set(messages).intersection(s.messages)]
        self.remove(scope, [s.seq for s in resting])
        return resting
