"""`jiyi eval schemes`: does what each scheme hands a model hold the evidence, and what does that cost? (SPEC R12)

A3's own kind of test is `situations.toml`: a fact in the first round, thirteen rounds of other talk (`rounds.toml`), and three
ways of asking for it in another session. What is asked for must stand in the context. Of labelled conversations a question's
evidence is in the context when one of the gold turns is: as a passage, which jiyi may cut short, as a sentence of it, or as a
memory that rests on it. So this is an upper bound of what a model could read there.
"""

from __future__ import annotations

import random
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.harness import TIMEZONE
from jiyi.evaluation.metrics import percentile
from jiyi.evaluation.retrieval import AFTERWARDS
from jiyi.evaluation.schemes.ours import JiyiContext
from jiyi.evaluation.schemes.plain import WINDOW, Hybrid, JsonFacts, StuffEverything, SummaryChain, VectorsOnly
from jiyi.evaluation.schemes.scheme import Handed, Scheme
from jiyi.ports import Embedder
from jiyi.text.segmentation import Segmenter

A3 = "A3's test"
SITUATIONS, ROUNDS = (Path(__file__).with_name(name) for name in ("situations.toml", "rounds.toml"))
WAYS = ("word for word", "reworded", "from afar")
BETWEEN = 13
"""Rounds between telling and asking: told in round 1, asked in round 15."""
SESSION_ROUNDS = 5
PARAGRAPHS = 3
START = datetime(2026, 3, 2, 9, tzinfo=ZoneInfo(TIMEZONE))

OpenScheme: TypeAlias = Callable[[Path], Scheme]


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing to ask of a talk; `holds` judges the context."""

    text: str
    kind: str
    holds: Callable[[Handed], bool]
    at: datetime


@dataclass(frozen=True, slots=True)
class Trial:
    """A talk of one user, in batches as they were said, and what is asked afterwards."""

    test: str
    batches: tuple[tuple[IncomingMessage, ...], ...]
    probes: tuple[Probe, ...]


@dataclass
class Tally:
    """What one scheme came to on one test."""

    held: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    hearing: float = 0.0
    turns: int = 0

    @property
    def questions(self) -> int:
        return len(self.tokens)

    @property
    def share(self) -> float:
        return sum(map(sum, self.held.values())) / self.questions if self.questions else 0.0

    def data(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            "held": round(self.share, 4),
            "by_kind": {k: round(sum(v) / len(v), 4) for k, v in self.held.items()},
            "tokens_mean": round(sum(self.tokens) / max(1, self.questions), 1),
            "tokens_p95": percentile(self.tokens, 0.95),
            "p50_ms": round(percentile(self.seconds, 0.5) * 1000, 2),
            "p95_ms": round(percentile(self.seconds, 0.95) * 1000, 2),
            "ms_per_turn": round(self.hearing * 1000 / max(1, self.turns), 2),
        }


Tallies: TypeAlias = dict[str, dict[str, Tally]]
"""Test to scheme to what it came to."""


def open_schemes(settings: Mapping[str, Any], embedder: Embedder | None, window: int = WINDOW) -> dict[str, OpenScheme]:
    """The schemes by name; without an embedder those that need one are left out."""
    found: dict[str, OpenScheme] = {StuffEverything.name: lambda _: StuffEverything(window)}
    if embedder is not None:
        found[VectorsOnly.name] = lambda _: VectorsOnly(embedder)
    found[JsonFacts.name] = lambda _: JsonFacts()
    found[SummaryChain.name] = lambda _: SummaryChain()
    if embedder is not None:
        found[Hybrid.name] = lambda _: Hybrid(embedder)
    found[JiyiContext.name] = lambda folder: JiyiContext(folder, settings)
    return found


def compare_schemes(
    trials: Sequence[Trial], openers: Mapping[str, OpenScheme], step: Callable[[int], None] = lambda _: None
) -> Tallies:
    """Run every trial with every scheme, each on a memory of its own.

    Args:
        step: called with 1 after each trial with each scheme.
    """
    tallies: Tallies = {}
    for trial in trials:
        of_test = tallies.setdefault(trial.test, {name: Tally() for name in openers})
        for name, opener in openers.items():
            _run(trial, opener, of_test[name])
            step(1)
    return tallies


def _run(trial: Trial, opener: OpenScheme, tally: Tally) -> None:
    with tempfile.TemporaryDirectory(prefix="jiyi-eval-") as folder, closing(opener(Path(folder))) as scheme:
        begun = process_time()
        for batch in trial.batches:
            scheme.hear(batch)
            tally.turns += len(batch)
        tally.hearing += process_time() - begun
        for probe in trial.probes:
            begun = process_time()
            handed = scheme.hand(probe.text, probe.at)
            tally.seconds.append(process_time() - begun)
            tally.tokens.append(handed.tokens)
            tally.held[probe.kind].append(probe.holds(handed))


# ------------------------------------------------------------------ A3's test


def situations(seed: int = 1) -> list[Trial]:
    """The shipped situations, each among rounds of other talk in its language; the same for the same seed."""
    rows = tomllib.loads(SITUATIONS.read_text("utf-8"))["situation"]
    talk = tomllib.loads(ROUNDS.read_text("utf-8"))
    return [_trial(row, talk[row["id"][:2]], random.Random(f"{seed}/{row['id']}")) for row in rows]


def _trial(row: Mapping[str, Any], talk: Sequence[Mapping[str, str]], draw: random.Random) -> Trial:
    rounds = [
        (row["says"], "好的，记下了。" if row["id"].startswith("zh") else "All right, noted."),
        *_rounds(talk, draw),
    ]
    batches = []
    for first in range(0, len(rounds), SESSION_ROUNDS):
        number = first // SESSION_ROUNDS
        start = START + timedelta(days=number)
        said = [
            pair
            for r in rounds[first : first + SESSION_ROUNDS]
            for pair in zip((Role.USER, Role.ASSISTANT), r, strict=True)
        ]
        batches.append(tuple(
            IncomingMessage(f"s{number}:{n}", f"s{number}", role, text, start + timedelta(minutes=n))
            for n, (role, text) in enumerate(said)
        ))  # fmt: skip
    asked_at = batches[-1][-1].at + timedelta(days=1)
    wanted = [Segmenter.fold(part) for part in row["holds"].split("|")]

    def holds(handed: Handed) -> bool:
        folded = Segmenter.fold(handed.text)
        return all(part in folded for part in wanted)

    probes = tuple(Probe(text, way, holds, asked_at) for way, text in zip(WAYS, row["ask"], strict=True))
    return Trial(A3, tuple(batches), probes)


def _rounds(talk: Sequence[Mapping[str, str]], draw: random.Random) -> Iterator[tuple[str, str]]:
    """Rounds of which each asks one thing; the reply has the paragraph about it and two of others."""
    for topic in draw.sample(list(talk), BETWEEN):
        others = draw.sample([t for t in talk if t is not topic], PARAGRAPHS - 1)
        yield topic["user"], "\n\n".join([topic["reply"], *(t["reply"] for t in others)])


# ------------------------------------------------------------------ labelled conversations


def trials_of(data: DataSet) -> list[Trial]:
    """A trial for each record. Questions in the midst of a talk are asked at its end, so such a set is no good here."""
    trials = []
    for record in data.records:
        end = record.messages[-1].at + AFTERWARDS
        probes = tuple(Probe(q.text, q.category, _holds_one_of(q.gold), q.at or end) for q in record.questions)
        trials.append(Trial(data.name, (record.messages,), probes))
    return trials


def _holds_one_of(gold: frozenset[str]) -> Callable[[Handed], bool]:
    return lambda handed: not gold.isdisjoint(handed.ids)


# ------------------------------------------------------------------ report


def schemes_table(tallies: Tallies) -> str:
    """A table for each test."""
    parts = []
    for test, by_scheme in tallies.items():
        kinds = sorted(
            {k for t in by_scheme.values() for k in t.held}, key=lambda k: (WAYS.index(k) if k in WAYS else 9, k)
        )
        head = ["scheme", "evidence in context", *kinds, "tokens mean / p95", "p50 / p95 ms", "ms a turn"]
        rows = [head, ["---", *["---:"] * (len(head) - 1)]]
        for name, tally in by_scheme.items():
            d = tally.data()
            rows.append([
                name, f"{d['held']:.1%}", *(f"{d['by_kind'].get(k, 0.0):.1%}" for k in kinds),
                f"{d['tokens_mean']:,.0f} / {d['tokens_p95']:,.0f}", f"{d['p50_ms']:.1f} / {d['p95_ms']:.1f}", f"{d['ms_per_turn']:.2f}",
            ])  # fmt: skip
        size = next(iter(by_scheme.values()))
        parts += [f"## {test}: {size.questions:,} questions", "\n".join(f"| {' | '.join(row)} |" for row in rows)]
    return "\n\n".join(parts)
