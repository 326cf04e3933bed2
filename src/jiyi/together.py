"""One user's memory and the shared ones beside it, to read (SPEC S6): each piece says of which it is, and none is written to.

own: recall ──┐
team: recall ─┴▶ by score, labelled        A question leaves a trace in the user's own memory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from itertools import chain
from typing import Any

from jiyi.asked_again import asked_again
from jiyi.domain.memory import Language
from jiyi.domain.profile import Profile, joined
from jiyi.domain.scope import Scope, shared_name
from jiyi.domain.tokens import estimate_tokens
from jiyi.engine import Engine
from jiyi.pipelines.arguments import read_language
from jiyi.pipelines.context import ContextBlock
from jiyi.pipelines.recalling.filters import KINDS
from jiyi.pipelines.recalling.items import Recollection
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Limits


class Together:
    """What a user may read: `own`, and `shared`. Make it with `MemoryLayer.together`."""

    def __init__(self, engine: Engine, own: ScopedMemory, shared: Sequence[ScopedMemory], where: tzinfo) -> None:
        self._engine, self._zone = engine, where
        self.own, self.shared = own, tuple(shared)

    @property
    def user(self) -> Scope:
        return self.own.user

    @property
    def limits(self) -> Limits:
        """Sizes above which input is refused."""
        return self.own.limits

    def recall(self, /, query: str, *, limit: int = 8, **filters: Any) -> Recollection:
        """As `ScopedMemory.recall`, from all of them, best first; among equals the user's own come first. An item's `shared`
        names the shared memory that it, and its id, is of. `trace_id` and `dropped` are of the user's own."""
        own = self.own.recall(query, limit=limit, **filters)
        found = [own, *(memory.recall(query, limit=limit, **filters) for memory in self.shared)]
        # Where something fits as asked, nobody wants what only fits when matching is relaxed.
        fitting = [one for one in found if not one.relaxed] if any(o.items and not o.relaxed for o in found) else found
        items = sorted(chain.from_iterable(one.items for one in fitting), key=lambda item: -item.score)[:limit]
        if not items:
            return own
        relaxed = next((one.relaxed for one in fitting if one.items), "")
        return replace(own, items=tuple(items), relaxed=relaxed, nothing_because="")

    @asked_again
    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        session: str | None = None,
        language: Language | str | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
        turns: int | None = None,
    ) -> ContextBlock:
        """As `ScopedMemory.context`: one block under one budget, in which lines of a shared memory stand behind the user's
        own and are cited as `m3@team`. The session going on is the user's own."""
        engine, scope, others = self._engine, self.own.user, [memory.user for memory in self.shared]
        now = engine.clock().astimezone(self._zone)
        name = None if session is None else engine.parts.redaction.name(session)
        with engine.store.read() as unit:
            block = engine.parts.context(
                unit, scope, query, now, zone=self._zone, budget=budget, session=name,
                language=None if language is None else read_language(language), count_tokens=count_tokens, turns=turns,
                shared=others,
            )  # fmt: skip
            own = {item.id for item in block.items if item.shared is None}
            trace = engine.traces.note(
                unit, scope, "context", block.recollection, now, len(own), KINDS, own, block.read
            )
            awake = [one for one in (scope, *others) if not unit.standings.get(one).paused]
        for one in awake:
            label = shared_name(one)
            engine.reads.note(one, block.read if label is None else block.read_shared.get(label, ()), now)
        return replace(block, trace_id=trace)

    def profile(
        self,
        *,
        valid_at: datetime | str | None = None,
        known_at: datetime | str | None = None,
        max_chars: int | None = None,
    ) -> Profile:
        """As `ScopedMemory.profile`; what the shared memories hold of that kind comes behind it, as far as there is room."""
        found = [m.profile(valid_at=valid_at, known_at=known_at, max_chars=max_chars) for m in (self.own, *self.shared)]
        room = self._engine.parts.settings.profile.max_chars if max_chars is None else max_chars
        return joined(found[0], found[1:], room)
