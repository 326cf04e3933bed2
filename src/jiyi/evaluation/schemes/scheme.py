"""What the schemes have in common: they hear a conversation and hand a model a context for a question (SPEC R12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from jiyi.domain.memory import IncomingMessage
from jiyi.domain.tokens import estimate_tokens


@dataclass(frozen=True, slots=True)
class Handed:
    """The context for one question, and the messages whose words, or what was made of them, stand in it."""

    text: str
    ids: frozenset[str]

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)


class Scheme(Protocol):
    """A way to remember one user's conversation."""

    name: str

    def hear(self, messages: Sequence[IncomingMessage]) -> None:
        """Turns of the talk, in order; may be called again."""

    def hand(self, question: str, now: datetime) -> Handed:
        """The context for a question that opens a session of its own."""

    def close(self) -> None: ...


def line(message: IncomingMessage) -> str:
    """A turn as a context shows it."""
    return f"[{message.at:%Y-%m-%d}] {message.name or message.role.value}: {message.text}"
