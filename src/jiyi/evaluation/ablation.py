"""`jiyi eval ablation`: what one part of recall adds, a row for each category: the same memory asked with it and without (SPEC R12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.evaluation.contenders import Via
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.retrieval import Answered, Result
from jiyi.evaluation.retrieval_report import table
from jiyi.evaluation.sweep import sweep_runs, sweep_steps

GRAPH_OFF = "activation.weight=0"
"""What switches the channel of the graph off."""
ALL = "all"


@dataclass(frozen=True, slots=True)
class Row:
    """One category of a set, or all of it: R@5 and R@10 without and with the part, and the questions that won or lost by it
    at R@10."""

    category: str
    questions: int
    without: tuple[float, float]
    having: tuple[float, float]
    won: int
    lost: int

    def data(self) -> dict[str, Any]:
        return {
            "category": self.category, "questions": self.questions, "won": self.won, "lost": self.lost,
            "without": dict(zip(("R@5", "R@10"), self.without, strict=True)),
            "with": dict(zip(("R@5", "R@10"), self.having, strict=True)),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ablation:
    """One set asked through one verb, with the part and without."""

    via: Via
    having: Result
    without: Result

    def rows(self) -> list[Row]:
        pairs = list(zip(self.without.answers, self.having.answers, strict=True))
        names = sorted({a.category for a, _ in pairs})
        kinds = [*((n, [p for p in pairs if p[0].category == n]) for n in names), (ALL, pairs)]
        return [_row(name, some) for name, some in kinds]

    def data(self) -> dict[str, Any]:
        costs = {"with": self.having.cost.data(), "without": self.without.cost.data()}
        return {
            "set": self.having.dataset, "half": self.having.half, "via": self.via.value,
            "rows": [row.data() for row in self.rows()], "cost": costs,
        }  # fmt: skip


def _row(name: str, pairs: Sequence[tuple[Answered, Answered]]) -> Row:
    def mean(which: int, measure: str) -> float:
        return round(sum(p[which].measures[measure] for p in pairs) / len(pairs), 4)

    moved = [b.measures["R@10"] - a.measures["R@10"] for a, b in pairs]
    without, having = ((mean(n, "R@5"), mean(n, "R@10")) for n in (0, 1))
    return Row(name, len(pairs), without, having, sum(m > 0 for m in moved), sum(m < 0 for m in moved))


def ablate(
    data: DataSet, off: Mapping[str, str], base: Mapping[str, Any], vias: Sequence[Via], step: Callable[[int], None] = lambda _: None
) -> Iterator[Ablation]:  # fmt: skip
    """Measure a set through each verb, with the settings `base` and with `off` on top."""
    points = sweep_runs(data, [(via, settings) for via in vias for settings in ({}, off)], base, step)
    for via in vias:
        having, without = (next(points).result for _ in range(2))
        yield Ablation(via, having, without)


def ablation_steps(data: DataSet, off: Mapping[str, str], vias: Sequence[Via]) -> int:
    alike = [[v for v in vias if (v is Via.MESSAGES) is history] for history in (True, False)]
    return sum(sweep_steps(data, [{}, off] * len(some)) for some in alike if some)


def ablation_table(found: Sequence[Ablation], off: str) -> str:
    head = [
        "set",
        "asked by",
        "category",
        "questions",
        "R@5",
        "R@10",
        "R@10 without",
        "adds",
        "won / lost",
        "p50 ms",
        "without",
    ]
    rows = [head, ["---"] * 3 + ["---:"] * (len(head) - 3)]
    for one in found:
        for row in one.rows():
            last = row.category == ALL
            p50 = [f"{r.cost.data()['p50_ms']:.1f}" if last else "" for r in (one.having, one.without)]
            rows.append([
                one.having.dataset, one.via.value, row.category, f"{row.questions:,}", f"{row.having[0]:.3f}", f"{row.having[1]:.3f}",
                f"{row.without[1]:.3f}", f"{row.having[1] - row.without[1]:+.3f}", f"{row.won} / {row.lost}", *p50,
            ])  # fmt: skip
    halves = ", ".join(sorted({one.having.half for one in found}))
    return f"Without: {off}. Half: {halves}.\n\n{table(rows)}"
