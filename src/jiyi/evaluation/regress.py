"""`jiyi eval regress`: a run held against an earlier one; a loss beyond the tolerance fails (SPEC R12)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jiyi.errors import InputError

MEASURED = ("R@1", "R@5", "R@10", "R@20", "MRR", "nDCG@10")
JUDGED = ("R@10", "MRR", "nDCG@10")
"""What may not get worse overall; of a category only R@10."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number, before and after. `lost` when it fell by more than is tolerated."""

    where: str
    measure: str
    before: float
    after: float | None
    tolerated: float
    judged: bool

    @property
    def lost(self) -> bool:
        return self.judged and (self.after is None or self.before - self.after > self.tolerated + 1e-9)

    def data(self) -> dict[str, Any]:
        return {
            "where": self.where, "measure": self.measure, "before": self.before, "after": self.after,
            "tolerated": self.tolerated, "lost": self.lost,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Regression:
    """All numbers, and how many questions got better and worse at R@10."""

    comparisons: tuple[Comparison, ...]
    better: int
    worse: int

    @property
    def ok(self) -> bool:
        return not any(c.lost for c in self.comparisons)

    def data(self) -> dict[str, Any]:
        shown = [c.data() for c in self.comparisons]
        return {"ok": self.ok, "better": self.better, "worse": self.worse, "comparisons": shown}

    def text(self) -> str:
        rows = ["| where | measure | before | after | change | |", "| --- | --- | ---: | ---: | ---: | --- |"]
        for c in self.comparisons:
            after, change = ("", "") if c.after is None else (f"{c.after:.3f}", f"{c.after - c.before:+.3f}")
            verdict = "not measured" if c.after is None else f"lost more than {c.tolerated:.3f}" if c.lost else ""
            rows.append(f"| {c.where} | {c.measure} | {c.before:.3f} | {after} | {change} | {verdict} |")
        said = "no loss beyond what is tolerated" if self.ok else "LOST"
        return "\n".join([*rows, "", f"{said}; at R@10 {self.better:,} questions got better and {self.worse:,} worse"])


def read_run(path: Path) -> Mapping[str, Any]:
    """A file that `jiyi eval retrieval --save` wrote.

    Raises:
        InputError: there is none, or it is something else.
    """
    try:
        run = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: `jiyi eval retrieval --save FILE` writes a run") from error
    except ValueError as error:
        raise InputError(f"{path}: no JSON ({error}): `jiyi eval retrieval --save FILE` writes a run") from error
    if not isinstance(run, dict) or run.get("run") != "retrieval" or not isinstance(run.get("results"), list):
        raise InputError(f"{path} is no run that `jiyi eval retrieval --save FILE` wrote")
    return run


def compare_runs(
    before: Mapping[str, Any], after: Mapping[str, Any], tolerance: float, contender: str | None = None
) -> Regression:
    """Every set that the earlier run measured.

    Args:
        contender: whose numbers; by default jiyi's, through whichever verb the earlier run asked it.
        tolerance: how far a share may fall. Of a category at least one of its questions may be lost.

    Raises:
        InputError: the earlier run has nothing of the contender, or two sets of the same name differ in their questions.
    """
    if contender is None:
        ours = (r["contender"] for r in before["results"] if r["contender"].partition(",")[0] == "jiyi")
        contender = next(ours, "jiyi")
    old, new = (
        {(r["set"], r["half"]): r for r in run["results"] if r["contender"] == contender} for run in (before, after)
    )
    if not old:
        measured = ", ".join(sorted({r["contender"] for r in before["results"]}))
        more = f"; it measured {measured}: name one with --contender" if measured else ""
        raise InputError(f"the earlier run measured nothing of {contender}{more}")
    found: list[Comparison] = []
    better = worse = 0
    for key, row in old.items():
        there = new.get(key)
        if there is not None and set(there["answers"]) != set(row["answers"]):
            raise InputError(
                f"{key[0]} was asked {len(row['answers']):,} questions then and {len(there['answers']):,} others now: "
                "compare runs over the same questions"
            )
        found += _of_set(" ".join(key), row, there, tolerance)
        if there is not None:
            changes = [there["answers"][q] - r for q, r in row["answers"].items()]
            better += sum(c > 0 for c in changes)
            worse += sum(c < 0 for c in changes)
    return Regression(tuple(found), better, worse)


def _of_set(
    where: str, old: Mapping[str, Any], new: Mapping[str, Any] | None, tolerance: float
) -> Iterator[Comparison]:
    for name in MEASURED:
        yield Comparison(where, name, old["all"][name], new["all"][name] if new else None, tolerance, name in JUDGED)
    for category, row in old["categories"].items():
        there = new["categories"].get(category) if new else None
        allowed = max(tolerance, 1 / row["questions"])
        yield Comparison(f"{where}: {category}", "R@10", row["R@10"], there["R@10"] if there else None, allowed, True)
