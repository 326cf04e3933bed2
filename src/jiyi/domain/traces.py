"""What a recall did, kept for a while so that it can be explained (SPEC R10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.ranking import ScoreParts


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate that was ranked. `id` is `m42`, `h17` or `s3`; `shown` says whether it was in the answer."""

    id: str
    score: float
    parts: ScoreParts
    why: str
    shown: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that was found and left out, with the reason."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One recall, redacted: what was asked, what it was looked for by, and what became of every candidate.

    `verb` is "recall" or "context", `kinds` are those that were asked for. `considered` stands in the order of the ranking, best first. `query` and `terms` are
    empty where words of the talk are not kept (SPEC C5 `minimal`). `always` are the memories that stood in a context block
    whatever was asked: of the profile, and of what is ahead.
    """

    id: str
    at: datetime
    verb: str
    query: str
    terms: tuple[str, ...]
    limit: int
    kinds: tuple[str, ...]
    considered: tuple[Considered, ...]
    left_out: tuple[LeftOut, ...] = ()
    relaxed: str = ""
    nothing_because: str = ""
    always: tuple[str, ...] = ()

    def place(self, item: str) -> int | None:
        """The rank of an item, 1 is the best; None when it was not ranked."""
        return next((i for i, c in enumerate(self.considered, 1) if c.id == item), None)


@dataclass(frozen=True, slots=True)
class TracePolicy:
    """How much of what recalls did is kept, per scope."""

    keep: int = 50
    days: int = 30
    candidates: int = 40
    """Ranked candidates, and as many that were left out, that one trace holds at the most."""
    flush_after: int = 16
    """Recalls that are written together. A crash loses at most that many traces, never a memory."""
