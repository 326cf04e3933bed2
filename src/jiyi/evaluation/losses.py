"""What became of every gold turn that was not among the first ten: the stage that lost it and the reason (SPEC R10, R12).

Both come from the trace of the recall itself, as `jiyi explain` tells them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jiyi.evaluation.contenders import Contender, Jiyi
from jiyi.evaluation.datasets.records import Asked, Level, Record
from jiyi.evaluation.retrieval import Answered
from jiyi.pipelines.explaining import Stage

FIRST = 10
"""Places that count as found."""
BELOW = "below the first ten"
"""The stage of what was shown further down."""


@dataclass(frozen=True, slots=True)
class Lost:
    """One gold turn that a question did not bring up."""

    user: str
    question: str
    text: str
    category: str
    turn: str
    stage: str
    reason: str

    def data(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Losses:
    """Watches a run of jiyi and takes down what was lost, right after each question, while its trace is kept."""

    lost: list[Lost] = field(default_factory=list)
    gold: int = 0

    def __call__(self, contender: Contender, record: Record, asked: Asked, answered: Answered, level: Level) -> None:
        if not isinstance(contender, Jiyi) or level is not Level.TURN:
            return
        self.gold += len(asked.gold)
        missed = sorted(asked.gold - set(answered.ranked[:FIRST]))
        for turn, account in contender.accounts(record.user, missed).items():
            stage = BELOW if account.stage is Stage.SHOWN else account.stage.value
            self.lost.append(Lost(record.user, asked.id, asked.text, asked.category, turn, stage, account.reason))

    def text(self) -> str:
        """Counts by stage, as Markdown."""
        counts = Counter(one.stage for one in self.lost)
        rows = [f"| {stage} | {count:,} | {count / len(self.lost):.1%} |" for stage, count in counts.most_common()]
        head = f"## Lost: {len(self.lost):,} of {self.gold:,} gold turns are not among the first {FIRST}"
        return "\n".join([head, "", "| stage | turns | share |", "| --- | ---: | ---: |", *rows])

    def lines(self) -> Iterator[str]:
        """One JSON object a lost turn."""
        return (json.dumps(one.data(), ensure_ascii=False) for one in self.lost)

    def data(self) -> dict[str, Any]:
        return {"gold": self.gold, "lost": dict(Counter(one.stage for one in self.lost))}
