"""`jiyi eval retrieval`: labelled conversations told to each contender, its answers held against the gold (SPEC R12)."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeAlias

from jiyi.evaluation.contenders import Contender
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record
from jiyi.evaluation.metrics import RANKED, Measures, mean, measures, percentile, rounded

Opener: TypeAlias = Callable[[Path, DataSet], Contender]
"""Makes a contender in a fresh folder, for one set."""

Watch: TypeAlias = Callable[[Contender, Record, Asked, "Answered", Level], None]
"""Is told of every question right after it was answered."""

AFTERWARDS = timedelta(hours=1)
"""A question without an instant is asked so long after the last message before it."""
SESSION_DEPTH = 300
"""Turns looked at for a ranking of sessions: a session stands where its best turn does."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One question, and how well it was answered."""

    id: str
    category: str
    measures: Measures
    ranked: tuple[str, ...]
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of each search, over all threads of the process; turns stored a second of the clock; tokens handed over."""

    searches: tuple[float, ...] = ()
    turns: int = 0
    telling: float = 0.0
    tokens: tuple[int, ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "p50_ms": round(percentile(self.searches, 0.5) * 1000, 2),
            "p95_ms": round(percentile(self.searches, 0.95) * 1000, 2),
            "ingest_per_s": round(self.turns / self.telling, 1) if self.telling else None,
            "tokens": round(sum(self.tokens) / len(self.tokens), 1) if self.tokens else None,
        }


@dataclass(frozen=True, slots=True)
class Result:
    """What one contender came to on one set."""

    contender: str
    dataset: str
    half: str
    level: Level
    turns: int
    left_out: int
    told: str
    answers: tuple[Answered, ...]
    cost: Cost

    def overall(self) -> dict[str, float]:
        return mean([a.measures for a in self.answers])

    def by_category(self) -> dict[str, tuple[int, dict[str, float]]]:
        """Number of questions and means of each category, by name."""
        rows: dict[str, list[Measures]] = defaultdict(list)
        for answer in self.answers:
            rows[answer.category].append(answer.measures)
        return {name: (len(found), mean(found)) for name, found in sorted(rows.items())}

    def data(self) -> dict[str, Any]:
        """Plain JSON values; `answers` lists R@10 of every question, so that two runs can be compared question by question."""
        return {
            "contender": self.contender, "set": self.dataset, "half": self.half, "level": self.level.value,
            "questions": len(self.answers), "turns": self.turns, "left_out": self.left_out, "told": self.told,
            "all": rounded(self.overall()),
            "categories": {name: {"questions": n, **rounded(m)} for name, (n, m) in self.by_category().items()},
            "cost": self.cost.data(),
            "answers": {a.id: round(a.measures["R@10"], 4) for a in self.answers},
        }  # fmt: skip


@dataclass
class Meter:
    """Sums what telling and asking cost. `step` is called with the turns told, and with 1 for a question."""

    step: Callable[[int], None] = lambda _: None
    watch: Watch | None = None
    searches: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    turns: int = 0
    telling: float = 0.0

    def tell(self, contender: Contender, record: Record, start: int, end: int) -> None:
        begun = perf_counter()
        contender.learn(record.user, record.messages[start:end])
        self.telling += perf_counter() - begun
        self.turns += end - start
        self.step(end - start)

    def settle(self, contender: Contender) -> None:
        begun = perf_counter()
        contender.settle()
        self.telling += perf_counter() - begun

    def ask(self, contender: Contender, record: Record, asked: Asked, level: Level) -> Answered:
        limit = RANKED if level is Level.TURN else SESSION_DEPTH
        begun = process_time()
        found = contender.find(record.user, asked.text, limit, _when(record, asked))
        self.searches.append(process_time() - begun)
        if found.tokens is not None:
            self.tokens.append(found.tokens)
        ranked = found.ids
        if level is Level.SESSION:
            ranked = tuple(dict.fromkeys(record.sessions[i] for i in ranked))
        self.step(1)
        kept = tuple(dict.fromkeys(ranked))[:RANKED]
        answered = Answered(asked.id, asked.category, measures(kept, asked.gold), kept, asked.gold)
        if self.watch is not None:
            self.watch(contender, record, asked, answered, level)
        return answered

    def cost(self) -> Cost:
        return Cost(tuple(self.searches), self.turns, self.telling, tuple(self.tokens))


def _when(record: Record, asked: Asked) -> datetime:
    if asked.at is not None:
        return asked.at
    told = record.messages[: asked.after]
    return (told[-1] if told else record.messages[0]).at + AFTERWARDS


def measure(
    data: DataSet, open_contender: Opener, step: Callable[[int], None] = lambda _: None, watch: Watch | None = None
) -> Result:
    """Tell a fresh contender all records, then ask; a set with questions in the midst of the talk is told up to each of them.

    Args:
        step: called with the turns that were told, and with 1 after each question; `steps` of them in all.
        watch: is told of every answer.
    """
    meter = Meter(step=step, watch=watch)
    with (
        tempfile.TemporaryDirectory(prefix="jiyi-eval-") as folder,
        closing(open_contender(Path(folder), data)) as contender,
    ):
        tell_all(data, contender, meter)
        return ask_all(data, contender, meter)


def tell_all(data: DataSet, contender: Contender, meter: Meter) -> None:
    """Tell every record, unless the set has questions in the midst of the talk."""
    if not data.is_streamed:
        for record in data.records:
            meter.tell(contender, record, 0, len(record.messages))
        meter.settle(contender)


def ask_all(data: DataSet, contender: Contender, meter: Meter) -> Result:
    """Ask every question; of a set that is streamed each record is told meanwhile, up to each of its questions."""
    answers = []
    for record in data.records:
        told = 0 if data.is_streamed else len(record.messages)
        for place, asked in _places(record):
            if place > told:
                meter.tell(contender, record, told, place)
                meter.settle(contender)
                told = place
            answers.append(meter.ask(contender, record, asked, data.level))
    return Result(
        contender.name, data.name, data.half, data.level, data.turns, data.left_out, data.told, tuple(answers),
        meter.cost(),
    )  # fmt: skip


def steps(data: DataSet) -> int:
    """How many turns are told and questions asked in one measurement."""
    told = (
        max((place for place, _ in _places(r)), default=0) if data.is_streamed else len(r.messages)
        for r in data.records
    )
    return sum(told) + data.questions


def _places(record: Record) -> list[tuple[int, Asked]]:
    """Questions with the number of messages told before each, in that order."""
    found = [(len(record.messages) if q.after is None else q.after, q) for q in record.questions]
    return sorted(found, key=lambda pair: pair[0])


def results_data(results: Sequence[Result], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A run as one JSON document: what `jiyi eval regress` reads."""
    return {"run": "retrieval", "settings": dict(settings), "results": [r.data() for r in results]}
