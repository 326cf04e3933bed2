"""The ports around language models: one to ask, what they were asked, and where talk was cut for them. The last two are parts
of `ports.Unit`, whose rules hold here too."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from jiyi.domain.asking import Answer, ModelCall, Question, Spent
from jiyi.domain.scope import Scope


class ChatModel(Protocol):
    """A language model behind some wire. May be used by several threads."""

    @property
    def name(self) -> str:
        """Provider and model, for the ledger and for people: `deepseek/deepseek-chat`. No key in it."""

    def ask(self, question: Question) -> Answer:
        """Raises:
        ModelUnavailable: no answer now; later there may be one. ModelRefused: it will not answer this, also not later.
        """

    def close(self) -> None:
        """Give up what is under way, soon, and let go of connections. Closing twice is fine."""


class ModelCalls(Protocol):
    """What language models were asked and what that came to (SPEC U8)."""

    def add(self, scope: Scope | None, call: ModelCall) -> None:
        """Keep a call that was made for a scope, or for none."""

    def spent(self, since: datetime, model: str | None = None) -> Spent:
        """*Operator.* Of all scopes, from that instant on, by one model or by all. An outcome other than `OK` is a failure."""

    def latest(self, limit: int = 50) -> list[ModelCall]:
        """*Operator.* The latest calls of all scopes, newest first."""


class Segments(Protocol):
    """How far sessions were cut into the segments that a language model reads (SPEC C7)."""

    def open_at(self, scope: Scope, seq: int) -> None:
        """The open segment of its session begins with this message, which exists, whatever was marked before."""

    def cut_after(self, scope: Scope, seq: int) -> None:
        """A segment of its session ends with this message, which exists, and none is open. The next begins behind it."""

    def opened(self, scope: Scope) -> list[str]:
        """The sessions that have an open segment, by where it begins."""

    def open_from(self, scope: Scope, session: str) -> int | None:
        """Messages of this session are uncut from that number on; None when the session was never opened."""
