"""The port of the summaries of sessions (SPEC R6). A part of `ports.Unit`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary


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
