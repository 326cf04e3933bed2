"""What every reader of labelled conversations gives: who said what, what is asked, and which turns answer it (SPEC R12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from jiyi.domain.memory import IncomingMessage
from jiyi.errors import InputError


class Level(StrEnum):
    """What a question's gold names, and so what is ranked."""

    TURN = "turn"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its gold.

    Args:
        gold: ids of messages, or names of sessions, by the level of the set.
        at: when it is asked; after the last message told before it by default.
        after: how many messages of the record are told before it; None: all.
    """

    id: str
    text: str
    gold: frozenset[str]
    category: str
    at: datetime | None = None
    after: int | None = None


@dataclass(frozen=True)
class Record:
    """All that one user said and heard, in order, and the questions about it. Messages have ids."""

    user: str
    messages: tuple[IncomingMessage, ...]
    questions: tuple[Asked, ...]

    @cached_property
    def sessions(self) -> Mapping[str, str]:
        """Message id to session."""
        return {m.id: m.session for m in self.messages}


@dataclass(frozen=True, slots=True)
class DataSet:
    """One set, or a half of it.

    Args:
        half: which half it is: dev (tuning is allowed), heldout (it is not), or all where a set has no halves.
        told: how its talk is observed, in a sentence.
        left_out: questions without usable gold.
    """

    name: str
    half: str
    level: Level
    records: tuple[Record, ...]
    told: str
    left_out: int = 0

    @property
    def turns(self) -> int:
        return sum(len(r.messages) for r in self.records)

    @property
    def questions(self) -> int:
        return sum(len(r.questions) for r in self.records)

    @property
    def is_streamed(self) -> bool:
        """Whether questions are asked before all is told."""
        return any(q.after is not None for r in self.records for q in r.questions)


def usable(records: Sequence[Record], what: str) -> tuple[Record, ...]:
    """The records that have questions.

    Raises:
        InputError: none has.
    """
    kept = tuple(r for r in records if r.questions)
    if not kept:
        raise InputError(f"{what}: no question with gold in it")
    return kept
