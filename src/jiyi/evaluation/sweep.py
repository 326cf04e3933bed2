"""`jiyi eval sweep`: one set asked again and again under other settings (SPEC R12).

What only reading looks at (`READ_TIME`) is varied on one memory, told once; for anything else every setting gets a memory
of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jiyi.errors import InputError
from jiyi.evaluation.contenders import Jiyi, Via, settings_tree
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.retrieval import Meter, Result, ask_all, steps, tell_all

READ_TIME = frozenset(
    ("ranking", "fusion", "activation", "confidence", "heat", "context", "tiers", "limits", "profile")
)
"""Groups of settings that change nothing of what is stored."""

Grid = Mapping[str, Sequence[str]]

A2_TABLE: Grid = MappingProxyType(
    {
        "ranking.recency": ("0", "0.04", "0.08", "0.2"),  # how much a recent time adds: A2's decay
        "ranking.recency_half_life": ("7", "30", "60", "240"),  # days
        "ranking.importance": ("0", "0.04", "0.1"),  # A2's weight of importance
        "ranking.phrase": ("0", "0.15", "0.3"),
        "ranking.min_coverage": ("0", "0.15", "0.3"),  # between any word and all words
    }
)
"""A2's table of parameters as far as they are settings. Its top_k is the k of R@k, and needs no run of its own."""


@dataclass(frozen=True, slots=True)
class Point:
    """One choice of settings, and what came of it."""

    settings: Mapping[str, str]
    result: Result

    def label(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.settings.items()) or "defaults"

    def data(self) -> dict[str, Any]:
        return {"settings": dict(self.settings), "result": self.result.data()}


def parse_grid(given: Sequence[str]) -> Grid:
    """`NAME=V1,V2` pairs; the values are checked as settings.

    Raises:
        InputError: not written so. SettingsError: no such setting, or a value that it cannot have.
    """
    grid: dict[str, Sequence[str]] = {}
    for pair in given:
        name, equals, values = pair.partition("=")
        listed = [v.strip() for v in values.split(",") if v.strip()]
        if not equals or not name or not listed:
            raise InputError(f"--vary {pair!r}: write NAME=VALUE,VALUE, such as ranking.recency=0,0.1")
        grid[name.strip()] = listed
    return grid


def choices(grid: Grid, *, crossed: bool) -> list[dict[str, str]]:
    """The defaults first; then every combination, or one setting at a time."""
    if crossed:
        combined = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    else:
        combined = [{name: value} for name, values in grid.items() for value in values]
    return [{}, *combined]


def sweep_settings(
    data: DataSet, chosen: Sequence[Mapping[str, str]], base: Mapping[str, Any], via: Via, step: Callable[[int], None] = lambda _: None
) -> Iterator[Point]:  # fmt: skip
    """Measure every choice, on top of `base`; gives each as soon as it is measured."""
    return sweep_runs(data, [(via, settings) for settings in chosen], base, step)


def sweep_runs(
    data: DataSet, runs: Sequence[tuple[Via, Mapping[str, str]]], base: Mapping[str, Any], step: Callable[[int], None] = lambda _: None
) -> Iterator[Point]:  # fmt: skip
    """The same of choices that are each asked in a way of their own. Where it can, one memory serves all that need the same of it:
    those who ask for history alone need nothing distilled."""
    chosen = [settings for _, settings in runs]
    for settings in chosen:
        settings_tree({**base, **settings})
    once = is_told_once(data, chosen)
    with tempfile.TemporaryDirectory(prefix="jiyi-eval-") as folder:
        told = set[Path]()
        for number, (via, settings) in enumerate(runs):
            place = Path(folder) / (("history" if via is Via.MESSAGES else "all") if once else str(number))
            place.mkdir(exist_ok=True)
            with closing(Jiyi(place, via=via, distil=data.is_streamed, settings={**base, **settings})) as contender:
                meter = Meter(step=step)
                if place not in told:
                    tell_all(data, contender, meter)
                    told.add(place)
                yield Point(settings, ask_all(data, contender, meter))


def is_told_once(data: DataSet, chosen: Sequence[Mapping[str, str]]) -> bool:
    """Whether one memory serves all choices."""
    varied = {name.partition(".")[0] for settings in chosen for name in settings}
    return varied <= READ_TIME and not data.is_streamed


def sweep_steps(data: DataSet, chosen: Sequence[Mapping[str, str]]) -> int:
    """How many turns are told and questions asked in all."""
    every = len(chosen) * steps(data)
    return every - (len(chosen) - 1) * data.turns if is_told_once(data, chosen) else every


def sweep_table(points: Sequence[Point]) -> str:
    """A row for each choice, the first one being the defaults, with what each gains over them at R@10."""
    head = ["settings", "R@1", "R@5", "R@10", "against defaults", "R@20", "MRR", "nDCG@10", "p50 / p95 ms"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    base = points[0].result.overall()
    for point in points:
        m, cost = point.result.overall(), point.result.cost.data()
        gain = m["R@10"] - base["R@10"]
        rows.append([
            point.label(), *(f"{m[n]:.3f}" for n in ("R@1", "R@5", "R@10")), f"{gain:+.3f}",
            *(f"{m[n]:.3f}" for n in ("R@20", "MRR", "nDCG@10")), f"{cost['p50_ms']:.1f} / {cost['p95_ms']:.1f}",
        ])  # fmt: skip
    first = points[0].result
    title = f"## {first.dataset}, {first.half} half: {len(first.answers):,} questions"
    return "\n".join([title, "", *(f"| {' | '.join(row)} |" for row in rows)])
