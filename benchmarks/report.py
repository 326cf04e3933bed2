"""The tables of a run, and each target with its number, met or not."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks.timing import Times

BASELINE = {"memory": "A2", "message": "A1, any word"}
CHEAPER_SEARCH = {"100": 150, "1000": 150, "10000": 70, "100000": 25}
MOST_GROWTH = 1.5
LEAST_AGREEMENT = 0.99
LEAST_COMMIT_RATE = 0.75
CHEAPER_DELETION = {100_000: 50, 1_000_000: 200}
LARGEST_FILE = 3.0
SLOWEST_QUERY_MS = 0.35
QUERY_CLASSES = ("100", "1000")
INDEXES = ("postings", "native")


@dataclass(frozen=True, slots=True)
class Build:
    """Filling one store: CPU seconds of segmenting and of writing, wall seconds of writing, size of the file.

    `index_bytes` is the part of the file that the text index takes, 0 when that is not known.
    """

    name: str
    texts: int
    bytes: int
    index_bytes: int
    preparing: float
    cpu: float
    wall: float


@dataclass(slots=True)
class Results:
    """Everything a run measured. Keys are classes of owner, then variants."""

    kind: str
    entries: int
    owners: int
    builds: list[Build]
    segmenting: dict[str, dict[str, Times]] = field(default_factory=dict)
    searches: dict[str, dict[str, Times]] = field(default_factory=dict)
    questions: dict[str, dict[str, Times]] = field(default_factory=dict)
    agreement: dict[str, dict[str, float]] = field(default_factory=dict)
    growth: dict[str, dict[str, dict[str, Times]]] = field(default_factory=dict)
    commits: dict[str, Times] = field(default_factory=dict)
    deletions: dict[str, Times] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        return BASELINE[self.kind]


@dataclass(frozen=True, slots=True)
class Target:
    """What `postings` must reach; `native` stands beside it, for comparison only."""

    what: str
    wanted: float
    measured: dict[str, float]
    unit: str
    at_least: bool = True

    @property
    def verdict(self) -> str:
        value = self.measured["postings"]
        if value >= self.wanted if self.at_least else value <= self.wanted:
            return "met"
        short = self.wanted / value if self.at_least else value / self.wanted
        return f"**short by a factor {short:.2f}**"

    @property
    def row(self) -> list[str]:
        sign = "≥" if self.at_least else "≤"
        numbers = [f"{self.measured[name]:,.4g}{self.unit}" for name in INDEXES]
        return [self.what, f"{sign} {self.wanted:g}{self.unit}", *numbers, self.verdict]


def targets(results: Results) -> Iterator[Target]:
    """Only memories have targets; messages have no recipe that keeps users apart to be held against."""
    if results.kind != "memory":
        return
    yield from _search_targets(results)
    for owner_class in results.growth.get("postings", {}):
        grew = {name: _ratio(results.growth[name][owner_class], "large", "small") for name in INDEXES}
        yield Target(f"others' data ×10, {_owner(owner_class)}", MOST_GROWTH, grew, "×", at_least=False)
    for owner_class, shares in results.agreement.items():
        yield Target(f"top 8 as plain BM25, {_owner(owner_class)}", LEAST_AGREEMENT, shares, "")
    for step in ("index", "whole"):
        base = results.commits[results.baseline].mean
        rates = {name: base / results.commits[f"{name}: {step}"].mean for name in INDEXES}
        yield Target(f"commits of one fact ({step}), rate", LEAST_COMMIT_RATE, rates, "×")
    for step in ("index", "whole"):
        if results.entries in CHEAPER_DELETION:
            base = results.deletions[results.baseline].mean
            cheaper = {name: base / results.deletions[f"{name}: {step}"].mean for name in INDEXES}
            yield Target(f"deletion ({step}), times cheaper", CHEAPER_DELETION[results.entries], cheaper, "×")
    yield from _file_targets(results)
    for owner_class in QUERY_CLASSES:
        taken = {name: _whole_query(results, owner_class, name).p50 * 1e3 for name in INDEXES}
        what = f"segmenting + index, p50, {_owner(owner_class)}"
        yield Target(f"{what}, between the recipe's scans", SLOWEST_QUERY_MS, taken, " ms", at_least=False)
        taken = {name: results.questions[owner_class][name].p50 * 1e3 for name in INDEXES}
        yield Target(f"{what}, by itself", SLOWEST_QUERY_MS, taken, " ms", at_least=False)


def _search_targets(results: Results) -> Iterator[Target]:
    for step in ("index", "answer"):
        for owner_class, wanted in CHEAPER_SEARCH.items():
            if owner_class in results.searches:
                times = results.searches[owner_class]
                cheaper = {name: _ratio(times, f"{results.baseline}: {step}", f"{name}: {step}") for name in INDEXES}
                yield Target(f"search ({step}), times cheaper, {_owner(owner_class)}", wanted, cheaper, "×")


def _file_targets(results: Results) -> Iterator[Target]:
    builds = {build.name: build for build in results.builds}
    base = builds[results.baseline]
    rows = base.bytes - base.index_bytes
    if base.index_bytes:
        files = {name: (builds[name].index_bytes + rows) / base.bytes for name in INDEXES}
        yield Target("file (index, beside the recipe's rows)", LARGEST_FILE, files, "×", at_least=False)
    files = {name: builds[name].bytes / base.bytes for name in INDEXES}
    yield Target("file (whole)", LARGEST_FILE, files, "×", at_least=False)


def _ratio(times: dict[str, Times], above: str, below: str) -> float:
    return times[above].p50 / times[below].p50


def _whole_query(results: Results, owner_class: str, name: str) -> Times:
    return results.segmenting[owner_class]["jiyi"].plus(results.searches[owner_class][f"{name}: index"])


# ---------------------------------------------------------------------------------- tables


def markdown(results: Results) -> str:
    parts = [
        f"## {results.entries:,} {'memories' if results.kind == 'memory' else 'messages'} of {results.owners:,} owners",
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores. "
        "CPU milliseconds, variants in random order inside one process.",
    ]
    rows = [target.row for target in targets(results)]
    if rows:
        parts += ["### Targets", table(("", "target", "`postings`", "`native`", "`postings` is"), rows)]
    parts += ["### Search: p50 / p95 (times cheaper than the recipe)", _search_table(results)]
    parts += ["### The same eight texts as plain per-owner BM25 and the second ranking", _agreement_table(results)]
    if results.growth:
        parts += ["### Index search of the same owner, a tenth of others' data → all", _growth_table(results)]
    parts += ["### One text", _write_table(results)]
    parts += ["### Filling, and the file", _build_table(results)]
    return "\n\n".join(parts) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cells(times: Times) -> str:
    """p50 / p95 in milliseconds."""
    return f"{times.p50 * 1e3:.3f} / {times.p95 * 1e3:.3f}"


def _search_table(results: Results) -> str:
    classes = list(results.searches)
    variants = list(dict.fromkeys(name for times in results.searches.values() for name in sorted(times)))
    rows = []
    for variant in variants:
        row = [variant]
        for owner_class in classes:
            times = results.searches[owner_class]
            step = variant.rpartition(": ")[2]
            base = times.get(f"{results.baseline}: {step}") or times[f"{results.baseline}: answer"]
            row.append(f"{cells(times[variant])} ({base.p50 / times[variant].p50:.3g}×)")
        rows.append(row)
    for who in results.segmenting[classes[0]]:
        rows.append([f"segmenting: {who}", *(cells(results.segmenting[each][who]) for each in classes)])
    for name in INDEXES:
        rows.append([f"{name}: segmenting + index", *(cells(_whole_query(results, each, name)) for each in classes)])
    for name in results.questions[classes[0]]:
        rows.append([f"{name}: the same by itself", *(cells(results.questions[each][name]) for each in classes)])
    return table(("", *(_owner(each) for each in classes)), rows)


def _owner(owner_class: str) -> str:
    return f"owner of {int(owner_class):,}" if owner_class.isdigit() else f"{owner_class} owner"


def _agreement_table(results: Results) -> str:
    classes = list(results.agreement)
    names = list(results.agreement[classes[0]])
    rows = [[name, *(f"{results.agreement[each][name]:.4f}" for each in classes)] for name in names]
    return table(("", *(_owner(each) for each in classes)), rows)


def _growth_table(results: Results) -> str:
    rows = []
    for name, classes in results.growth.items():
        for owner_class, times in classes.items():
            small, large = cells(times["small"]), cells(times["large"])
            rows.append([name, _owner(owner_class), small, large, f"{_ratio(times, 'large', 'small'):.2f}×"])
    return table(("", "", "tenth", "all", "growth of p50"), rows)


def _write_table(results: Results) -> str:
    rows = []
    for what, measured in (("commit", results.commits), ("deletion", results.deletions)):
        for name, times in sorted(measured.items()):
            rows.append([f"{what}: {name}", cells(times), f"{times.mean * 1e3:.3f}", f"{1 / times.mean:,.0f}"])
    for name, times in sorted(results.segmenting["one text"].items()):
        rows.append([f"segmenting: {name}", cells(times), f"{times.mean * 1e3:.3f}", f"{1 / times.mean:,.0f}"])
    return table(("", "p50 / p95 ms", "mean ms", "per CPU second"), rows)


def _build_table(results: Results) -> str:
    base = next(build.bytes for build in results.builds if build.name == results.baseline.partition(",")[0])
    rows = [
        [
            build.name,
            f"{build.texts / build.cpu:,.0f}",
            f"{build.texts / (build.cpu + build.preparing):,.0f}",
            f"{build.texts / build.wall:,.0f}",
            f"{build.bytes / 1e6:,.1f}",
            f"{build.bytes / base:.2f}×",
            f"{build.index_bytes / 1e6:,.1f}",
        ]
        for build in results.builds
    ]
    head = ("", "per CPU second", "with segmenting", "per second of wall time", "file, MB", "file", "of it index, MB")
    return table(head, rows)
