"""What `jiyi eval retrieval` prints: one table over all sets with the floors beside, and one by category."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jiyi.evaluation.metrics import CUTS
from jiyi.evaluation.retrieval import Result

FLOORS = Path(__file__).with_name("floors.toml")
_SHOWN = (*(f"R@{k}" for k in CUTS), "MRR", "nDCG@10")


@dataclass(frozen=True, slots=True)
class Floor:
    """R@10 that is wanted at least of all questions of a set, or of one category; with text alone, and with vectors."""

    dataset: str
    half: str
    category: str = ""
    text: float | None = None
    all: float | None = None

    def __str__(self) -> str:
        parts = [
            f"{self.text:.2f} text" if self.text is not None else "",
            f"{self.all:.2f}" if self.all is not None else "",
        ]
        return " / ".join(p for p in parts if p)


@cache
def floors() -> tuple[Floor, ...]:
    """The shipped `floors.toml`."""
    rows = tomllib.loads(FLOORS.read_text("utf-8"))["floor"]
    return tuple(Floor(r["set"], r["half"], r.get("category", ""), r.get("text"), r.get("all")) for r in rows)


def floor_of(result: Result, category: str = "") -> Floor | None:
    wanted = (result.dataset, result.half, category)
    return next((f for f in floors() if (f.dataset, f.half, f.category) == wanted), None)


def retrieval_tables(results: Sequence[Result], *, categories: bool = True) -> str:
    """The tables of a run."""
    parts = [_overall(results)]
    if categories:
        parts.append(_by_category(results))
    parts.append(_notes(results))
    return "\n\n".join(parts)


def _overall(results: Sequence[Result]) -> str:
    head = [
        "set",
        "half",
        "level",
        "questions",
        "contender",
        *_SHOWN,
        "floor R@10",
        "p50 / p95 ms",
        "turns/s",
        "tokens",
    ]
    rows = [head, ["---"] * 3 + ["---:", "---"] + ["---:"] * (len(head) - 5)]
    for r in results:
        overall, cost = r.overall(), r.cost.data()
        floor = floor_of(r) if r.contender == "jiyi" else None
        rows.append([
            r.dataset, r.half, r.level.value, f"{len(r.answers):,}", r.contender, *(_share(overall[n]) for n in _SHOWN),
            str(floor or ""), f"{cost['p50_ms']:.1f} / {cost['p95_ms']:.1f}", _number(cost["ingest_per_s"]), _number(cost["tokens"]),
        ])  # fmt: skip
    return table(rows)


def _by_category(results: Sequence[Result]) -> str:
    """R@10 of each category, a column for each contender."""
    contenders = list(dict.fromkeys(r.contender for r in results))
    head = ["set", "category", "questions", *(f"{name} R@10" for name in contenders), "floor"]
    rows = [head, ["---", "---", "---:", *["---:"] * (len(contenders) + 1)]]
    for name in dict.fromkeys(r.dataset for r in results):
        found = {r.contender: r for r in results if r.dataset == name}
        first = next(iter(found.values()))
        tables = {contender: r.by_category() for contender, r in found.items()}
        for category, (count, _) in first.by_category().items():
            shares = [_share(tables[c][category][1]["R@10"]) if c in tables else "" for c in contenders]
            rows.append([name, category, f"{count:,}", *shares, str(floor_of(first, category) or "")])
    return table(rows)


def _notes(results: Sequence[Result]) -> str:
    told = {r.dataset: f"- {r.dataset}: {r.turns:,} turns; {r.told}." for r in results}
    left = {r.dataset: r.left_out for r in results if r.left_out}
    for name, count in left.items():
        told[name] += f" {count:,} questions have no usable gold and are left out."
    return "\n".join([
        "Means over questions; R@k is the share of the gold among the first k. Milliseconds are CPU time of one search over "
        "all threads of the process, turns/s is storing and indexing by the clock. tokens: what is handed over, by our estimate: the "
        "first 10 hits, or the context block.",
        *told.values(),
    ])  # fmt: skip


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows, of which the second says how columns are aligned, as a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _share(value: float) -> str:
    return f"{value:.3f}"


def _number(value: Any) -> str:
    return "" if value is None else f"{value:,.0f}"
