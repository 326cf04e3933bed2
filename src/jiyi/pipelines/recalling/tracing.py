"""Every recall leaves a trace, redacted and written in batches, so that it can be explained (SPEC R10)."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias

from jiyi.domain.forgetting import Erased
from jiyi.domain.memory import memory_id
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Detail
from jiyi.domain.traces import Considered, LeftOut, Trace, TracePolicy
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.recalling.gathering import Gathered
from jiyi.pipelines.recalling.items import Recollection
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.retaining import Retaining
from jiyi.pipelines.tombstones import Tombs
from jiyi.ports import Kind, Store, Unit, View

Noted: TypeAlias = tuple[Scope, Trace]


class TraceLog:
    """The traces of recalls, written together. What was asked is redacted on the way into the store."""

    def __init__(
        self, store: Store, policy: TracePolicy, redaction: Redaction, retaining: Retaining, indexing: Indexing
    ) -> None:
        self._policy, self._redaction, self._retaining, self._indexing = policy, redaction, retaining, indexing
        self._gathered: Gathered[Noted] = Gathered(store, policy.flush_after, self._add, "traces of recalls")
        self.flush, self.close = self._gathered.flush, self._gathered.close

    def note(
        self,
        unit: Unit,
        scope: Scope,
        verb: str,
        found: Recollection,
        now: datetime,
        limit: int,
        kinds: Collection[str],
        shown: Collection[str],
        read: Collection[int] = (),
    ) -> str:
        """Take down what a recall did; gives the id of its trace, empty where none is kept.

        `shown`: the ids of what was in the answer. `read`: the memories in it, those also that no search found.
        """
        # What holds when it is asked counts, and again what holds when it is written (SPEC C5).
        if not self._policy.keep or unit.standings.get(scope).paused:
            return ""
        silent = self._retaining.detail(unit, scope) is Detail.MINIMAL
        trace_id = f"t{secrets.token_hex(4)}"
        most = self._policy.candidates
        ranked = [Considered(i.id, i.score, i.parts, i.why, i.id in shown) for i in found.ranked[:most]]
        left = [LeftOut(item, reason) for item, reason in found.dropped[:most]]
        trace = Trace(
            trace_id, now, verb, found.query, found.terms, limit, tuple(sorted(kinds)), tuple(ranked), tuple(left),
            found.relaxed, found.nothing_because, tuple(one for one in map(memory_id, read) if one not in shown),
        )  # fmt: skip
        self._gathered.note([(scope, _without_words(trace) if silent else trace)])
        return trace_id

    def _add(self, unit: Unit, noted: Sequence[Noted]) -> None:
        by_scope: dict[Scope, list[Trace]] = defaultdict(list)
        for scope, trace in noted:
            by_scope[scope].append(trace)
        for scope, traces in by_scope.items():
            decided = unit.standings.get(scope)
            if decided.paused:
                continue  # SPEC C5
            # Another process may have forgotten something since: a trace from before must not bring it back (SPEC F6).
            forgotten = [r.at for r in unit.forgotten.receipts(scope)[-1:]]
            fresh = [t for t in traces if not forgotten or t.at > forgotten[0]]
            silent = self._retaining.policy.detail_of(decided) is Detail.MINIMAL
            unit.traces.add(
                scope,
                [
                    _without_words(t)
                    if silent or (forgotten and self._recalls_it(unit, scope, t))
                    else self._redacted(t)
                    for t in fresh
                ],
            )
            if fresh:
                latest = max(t.at for t in fresh)
                unit.traces.trim(scope, self._policy.keep, latest - timedelta(days=self._policy.days))

    def _recalls_it(self, unit: Unit, scope: Scope, trace: Trace) -> bool:
        """Whether a question may hold words of what was forgotten: whoever asks for that does not want them kept anew. So may
        every word that stands nowhere here."""
        known: set[str] = set()
        for kind in Kind:
            known |= unit.text.frequencies(scope, kind, trace.terms)[1].keys()
        return bool(set(trace.terms) - known) or Tombs(unit, scope, self._indexing.folding).mentions(trace.query)

    def _redacted(self, trace: Trace) -> Trace:
        # A query is any text at all; half a character cannot be stored.
        query = self._redaction.text(trace.query.encode("utf-8", "replace").decode("utf-8"))
        folded = self._indexing.segmenter.fold(query)
        if query != trace.query:
            # Words that matched may be parts of what was redacted.
            trace = replace(trace, considered=_without_reasons(trace))
        return replace(trace, query=query, terms=tuple(t for t in trace.terms if t in folded))


def _without_words(trace: Trace) -> Trace:
    """`minimal` keeps no talk, and a question is talk (SPEC C5)."""
    return replace(trace, query="", terms=(), considered=_without_reasons(trace))


def _without_reasons(trace: Trace) -> tuple[Considered, ...]:
    return tuple(replace(c, why="") for c in trace.considered)


class TraceView(View):
    """Traces hold words of questions and say what was found: any forgetting drops all of the scope's (SPEC F6)."""

    @property
    def name(self) -> str:
        return "traces"

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        return unit.traces.clear(scope)

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        """A log of what was: it is not made again."""
        return 0
