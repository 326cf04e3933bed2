"""Questions to the graph: what 1 to 3 steps cost at a large owner and at a usual one, alone and beside other users.

    python -m benchmarks.graph --edges 100000 --dir /tmp/bench --report graph.md

Measured is CPU time of one process, p50 / p95: the bare walk over the port, breadth first; the question `neighbours` without
rules, with its texts and types; and the same with the shipped rules.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import table
from benchmarks.timing import Times
from jiyi.assembly import load_segmenter, load_vocabulary
from jiyi.domain.entities import Name
from jiyi.domain.fusion_rules import RuleSet
from jiyi.domain.graph import Edge
from jiyi.domain.memory import Language, Source
from jiyi.domain.scope import Scope
from jiyi.graph_files import open_graphing
from jiyi.pipelines.graph.exploring import Explorer, Graphing
from jiyi.pipelines.graph.questions import Walk, neighbours
from jiyi.ports import Store, Unit
from jiyi.settings import Settings
from jiyi.stores.sqlite.store import open_sqlite

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)
USUAL, OTHERS, CHUNK, QUESTIONS = 200, 300, 5_000, 200
RELATIONS = ("BUYS_FROM", "COMPETES_WITH", "PARTNERS_WITH", "WORKS_AT")
TARGET_MS = 0.4


def fill(store: Store, scope: Scope, edges: int, chance: random.Random) -> list[str]:
    """Edges between four fifths as many entities; gives their names."""
    names = [f"thing {n}" for n in range(edges * 4 // 5)]

    def write(unit: Unit, start: int) -> None:
        some = range(start, min(start + CHUNK, edges + 1))
        unit.graph.put(scope, [
            Edge(n, chance.choice(names), chance.choice(RELATIONS), chance.choice(names), False, Source.DECLARED, 0.95, NOW, NOW)
            for n in some
        ])  # fmt: skip

    store.write(lambda unit: unit.graph.place(scope, [Name(n, n, n, n) for n in names]))
    for start in range(1, edges + 1, CHUNK):
        store.write(lambda unit, s=start: write(unit, s))  # type: ignore[misc]
    return names


def walk(unit: Unit, scope: Scope, start: str, hops: int) -> None:
    seen, level = {start}, [start]
    for _ in range(hops):
        near = unit.graph.links_of(scope, level)
        ahead = {link.other(node) for node in level for link in near[node]}
        level = [node for node in ahead if node not in seen]
        seen |= ahead


def ask(graphing: Graphing) -> Callable[[Unit, Scope, str, int], object]:
    def question(unit: Unit, scope: Scope, start: str, hops: int) -> object:
        return neighbours(Explorer(unit, scope, graphing, NOW), start, Walk(), hops, 50, Language.EN)

    return question


def measure(
    store: Store, scope: Scope, names: Sequence[str], hops: int, question: Callable[[Unit, Scope, str, int], object]
) -> Times:
    chance, seconds = random.Random(hops), []
    while len(seconds) < QUESTIONS:
        start = chance.choice(names)
        with store.read() as unit:
            if unit.graph.links(scope, start, limit=1):  # a few names have no edge
                begun = time.process_time()
                question(unit, scope, start, hops)
                seconds.append(time.process_time() - begun)
    return Times(tuple(seconds))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    folder = chosen.dir / "graph"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chance, large, usual = random.Random(1), Scope("large"), Scope("usual")
    ruled = open_graphing(Settings(), load_vocabulary(), load_segmenter())
    questions = {"walk": walk, "neighbours": ask(replace(ruled, rules=RuleSet((), {}))), "with rules": ask(ruled)}
    store = open_sqlite(folder / "memory.db", synchronous="NORMAL")
    try:
        names = {large: fill(store, large, chosen.edges, chance), usual: fill(store, usual, USUAL, chance)}
        rows, told = [], {}
        for label, scope in (
            (f"{chosen.edges:,} edges", large),
            (f"{USUAL} edges", usual),
            (f"the same, beside {OTHERS} users", usual),
        ):
            if "beside" in label:
                for n in range(OTHERS):
                    fill(store, Scope(f"other{n}"), USUAL, chance)
            for hops in (1, 2, 3):
                times = {name: measure(store, scope, names[scope], hops, q) for name, q in questions.items()}
                shown = [f"{t.p50 * 1e3:.2f} / {t.p95 * 1e3:.2f}" for t in times.values()]
                met = "yes" if times["walk"].p50 * 1e3 <= TARGET_MS else "no"
                rows.append([label, str(hops), *shown, met])
                told[f"{label}, {hops}"] = {name: [t.p50, t.p95] for name, t in times.items()}
    finally:
        store.close()
    heads = ["owner", "steps", *questions, f"walk ≤ {TARGET_MS} ms"]
    chosen.report.write_text(f"### Steps in the graph, CPU ms p50 / p95\n\n{table(heads, rows)}\n", "utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps(told, indent=1), "utf-8")


if __name__ == "__main__":
    main()
