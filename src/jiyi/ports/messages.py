"""The port of what was said (SPEC W5). A part of `ports.Unit`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from jiyi.domain.fusion import Place
from jiyi.domain.memory import IncomingMessage, Message
from jiyi.domain.scope import Scope


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
