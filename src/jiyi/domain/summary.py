"""Summaries: digests of what was said in a session, each a few points that cite the messages they stand in (SPEC R6).

A summary is a view: it is made from messages, never from another summary, and can be dropped and made again. Of each session
there is one of the whole, and one of every full stretch of messages (a *block*) when the session is longer than one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from jiyi.domain.memory import Language

WHOLE = 0
"""The block number of a summary of a whole session; blocks count from 1."""


class PointKind(StrEnum):
    """What a point tells, in the order in which a summary tells it."""

    PROBLEM = "problem"
    CONCLUSION = "conclusion"
    PREFERENCE = "preference"
    INTENT = "intent"
    TODO = "todo"
    NOTE = "note"


LABELS: Mapping[Language, Mapping[PointKind, str]] = {
    Language.ZH: {
        PointKind.PROBLEM: "问题", PointKind.CONCLUSION: "结论", PointKind.PREFERENCE: "偏好", PointKind.INTENT: "意图",
        PointKind.TODO: "待办", PointKind.NOTE: "要点",
    },
    Language.EN: {
        PointKind.PROBLEM: "Problem", PointKind.CONCLUSION: "Conclusion", PointKind.PREFERENCE: "Preferences",
        PointKind.INTENT: "Intent", PointKind.TODO: "To do", PointKind.NOTE: "Noted",
    },
}  # fmt: skip
_COLON = {Language.ZH: "：", Language.EN: ": "}
_BETWEEN = {Language.ZH: "；", Language.EN: "; "}


@dataclass(frozen=True, slots=True)
class SummaryPolicy:
    """How long summaries are and when they are made."""

    characters: int = 200  # of one in Chinese
    words: int = 200  # of one in English
    block: int = 20  # messages of one stretch
    idle: timedelta = timedelta(hours=1)  # after its last message a session counts as over
    points: int = 8  # at the most


@dataclass(frozen=True, slots=True)
class Point:
    """One thing a summary tells, and the span `[start, end)` of the message that says it."""

    kind: PointKind
    text: str
    message: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A digest of messages of one session.

    `block` is 0 for the whole session, else the number of the stretch. `messages` are all it was made from, ascending;
    `first_at` and `last_at` the instants of the earliest and the latest of them. `method` names what made it, with its
    version. One without points says that the messages hold nothing worth telling.
    """

    seq: int
    session: str
    block: int
    messages: tuple[int, ...]
    first_at: datetime
    last_at: datetime
    language: Language
    points: tuple[Point, ...]
    made_at: datetime
    method: str

    @property
    def id(self) -> str:
        return summary_id(self.seq)

    @property
    def text(self) -> str:
        return render_points(self.points, self.language)

    def says_what(self, other: SessionSummary) -> bool:
        """Whether the two differ at most in number and in when they were made."""
        return replace(self, seq=other.seq, made_at=other.made_at) == other


def summary_id(seq: int) -> str:
    return f"s{seq}"


def render_points(points: Sequence[Point], language: Language) -> str:
    """The points as one text, each kind under its label."""
    labels, parts = LABELS[language], []
    for kind in PointKind:
        said = [p.text for p in points if p.kind is kind]
        if said:
            parts.append(f"{labels[kind]}{_COLON[language]}{_BETWEEN[language].join(said)}")
    return "\n".join(parts)


def size(text: str, language: Language) -> int:
    """Characters of a Chinese text, words of an English one: what its limit counts."""
    return len(text) if language is Language.ZH else len(text.split())


def limit(policy: SummaryPolicy, language: Language) -> int:
    return policy.characters if language is Language.ZH else policy.words
