"""What takes part in a comparison: jiyi through its public façade, and whatever else can be told turns and asked (SPEC R12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from jiyi.assembly import open_memory
from jiyi.domain.memory import IncomingMessage, memory_id, message_handle
from jiyi.domain.tokens import estimate_tokens
from jiyi.evaluation.harness import TIMEZONE
from jiyi.evaluation.observing import TalkClock
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.explaining import Account
from jiyi.pipelines.recalling.items import Item
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings, read_settings

BATCH = 500
"""Messages that are observed at once."""
EVERYTHING = 1_000_000
"""More turns than a labelled conversation has."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to one question: ids of messages, best first, and what it costs to hand over.

    `tokens` is of the texts handed over, by `domain.tokens`; None where a contender has no say in it.
    """

    ids: tuple[str, ...]
    tokens: int | None = None


class Contender(Protocol):
    """A memory under comparison. Everything of one user is told before that user's questions, or between them."""

    name: str

    def learn(self, user: str, messages: Sequence[IncomingMessage]) -> None:
        """Store turns, in order; all have ids, which are unique for the user."""

    def settle(self) -> None:
        """What was told so far must be found from now on."""

    def find(self, user: str, question: str, limit: int, now: datetime) -> Found:
        """Up to `limit` ids of messages of this user."""

    def close(self) -> None: ...


class Via(StrEnum):
    """Through which verb jiyi is asked."""

    MESSAGES = "messages"  # recall(kinds={"message"}): passages of history alone
    RECALL = "recall"  # recall(): facts, memories and passages; a memory stands for the turns it rests on
    CONTEXT = "context"  # context(): what a language model would be handed, under its budget


class Jiyi:
    """jiyi in a real file, with default settings but for those given.

    Passages of history need nothing but the text index. So, unless memories are asked for too, the jobs that `observe`
    queued are left waiting, and `reindex` builds the index of all that was said; distilling is no part of the numbers.
    """

    def __init__(
        self, folder: Path, *, via: Via = Via.MESSAGES, distil: bool = False, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.name = "jiyi" if via is Via.MESSAGES else f"jiyi, {via}"
        # Vectors are made by the jobs too.
        embeds = (settings or {}).get("embedder", "none") != "none"
        self.via, self.distils = via, distil or embeds or via is not Via.MESSAGES
        self._clock = TalkClock()
        self._trace = ""
        self._handles: dict[str, dict[str, str]] = {}
        self._layer = open_with(folder / "memory.db", self._clock, settings or {})

    def _me(self, user: str) -> ScopedMemory:
        return self._layer.scope(user, tz=TIMEZONE, surface="evaluation")

    def learn(self, user: str, messages: Sequence[IncomingMessage]) -> None:
        me = self._me(user)
        self._handles.pop(user, None)
        for session, turns in groupby(messages, key=lambda m: m.session):
            told = list(turns)
            for start in range(0, len(told), BATCH):
                batch = told[start : start + BATCH]
                self._clock.at = batch[-1].at
                me.observe(batch, session=session)
            if self.distils:
                self._layer.work()

    def settle(self) -> None:
        if not self.distils:
            self._layer.reindex()

    def find(self, user: str, question: str, limit: int, now: datetime) -> Found:
        if self.via is Via.CONTEXT:
            handed, ids = self.hand(user, question, now)
            return Found(ids[:limit], estimate_tokens(handed))
        self._clock.at = now
        me = self._me(user)
        kinds = {"message"} if self.via is Via.MESSAGES else None
        found = me.recall(question, limit=limit, kinds=kinds)
        items, self._trace = found.items, found.trace_id
        return Found(
            tuple(dict.fromkeys(_pointed(me, items)))[:limit], sum(estimate_tokens(i.text) for i in items[:10])
        )

    def hand(self, user: str, question: str, now: datetime, session: str | None = None) -> tuple[str, tuple[str, ...]]:
        """The context block for a question, and the messages that its lines and its profile rest on."""
        self._clock.at = now
        me = self._me(user)
        block = me.context(question, session=session)
        self._trace = block.trace_id
        profile = [pointed for seq in block.read for pointed in _rests_on(me, memory_id(seq))]
        return block.text, tuple(dict.fromkeys([*_pointed(me, block.items), *profile]))

    def accounts(self, user: str, turns: Sequence[str]) -> dict[str, Account]:
        """What became of these turns of the user in the latest search, by the callers' ids."""
        me = self._me(user)
        if user not in self._handles:
            self._handles[user] = {m.id: message_handle(m.seq) for m in me.history(limit=EVERYTHING).messages}
        handles = self._handles[user]
        told = {turn: me.explain(self._trace, why=handles[turn]).account for turn in turns if turn in handles}
        return {turn: account for turn, account in told.items() if account is not None}

    def close(self) -> None:
        self._layer.close()


def _pointed(me: ScopedMemory, items: Sequence[Item]) -> Iterator[str]:
    """The messages that items stand for: themselves, or those a memory rests on."""
    for item in items:
        if item.message_id is not None:
            yield item.message_id
        elif item.memory is not None:
            yield from _rests_on(me, item.id)


def _rests_on(me: ScopedMemory, memory: str) -> list[str]:
    """The latest first."""
    return [m.id for m in reversed(me.evidence(memory))]


def open_with(path: Path, clock: TalkClock, settings: Mapping[str, Any]) -> MemoryLayer:
    """SQLite with the default settings, whatever the environment says, but for those given by dotted name.

    Raises:
        SettingsError: no such setting, or a value that it cannot have.
    """
    return open_memory(settings=settings_tree(settings, path=str(path), synchronous="NORMAL"), clock=clock)


def settings_tree(settings: Mapping[str, Any], **more: Any) -> Settings:
    """Settings from dotted names, `{"ranking.recency": "0"}`. Raises what `open_with` does."""
    tree: dict[str, Any] = {"timezone": TIMEZONE, "worker": False, **more}
    for name, value in settings.items():
        *groups, last = name.split(".")
        branch = tree
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[last] = value
    return read_settings({}, tree)
