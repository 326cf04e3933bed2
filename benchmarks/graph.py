"""Questions to the graph: what 1 to 3 steps cost at a large owner, at one with hubs and at a usual one, alone and beside other users.

    python -m benchmarks.graph --edges 100000 --dir /tmp/bench --report graph.md
    python -m benchmarks.graph --edges 5000 --others 20 --peers networkx,ladybug --dir /tmp/bench --report graph.md

Measured is CPU time of one process, p50 / p95: the bare walk over the port, breadth first; the question `neighbours` without
rules, with its texts and types; and the same with the shipped rules. Then the bare walk beside other graphs that hold the same edges
(`benchmarks.graph_peers`), CPU and by the clock, each answer held against ours.

Things are joined by chance, four fifths as many as edges. With hubs one end of each edge is drawn by Zipf's law. There the walk is
bounded as the question is: of a thing `[graph] fan` edges of each direction are read, and once fifty things are found (what `neighbours`
shows) no further step is taken.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

from benchmarks.graph_peers import PEERS, opened
from benchmarks.report import table
from benchmarks.timing import Times
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
from jiyi.shipped import load_segmenter, load_vocabulary
from jiyi.stores.sqlite.store import open_sqlite

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)
USUAL, OTHERS, CHUNK, QUESTIONS = 200, 300, 5_000, 200
RELATIONS = ("BUYS_FROM", "COMPETES_WITH", "PARTNERS_WITH", "WORKS_AT")
TARGET_MS = 0.4
SHOWN = 50
"""What `neighbours` shows unless it is told otherwise."""


def fill(store: Store, scope: Scope, edges: int, chance: random.Random, *, hubs: bool = False) -> list[tuple[str, str]]:
    """Edges between four fifths as many entities; gives what they join."""
    names = [f"thing {n}" for n in range(max(2, edges * 4 // 5))]
    weights = list(accumulate(1 / (n + 10) if hubs else 1.0 for n in range(len(names))))
    ends = zip(chance.choices(names, cum_weights=weights, k=edges), chance.choices(names, k=edges), strict=True)
    pairs = list(ends)

    def write(unit: Unit, start: int) -> None:
        some = range(start, min(start + CHUNK, edges + 1))
        unit.graph.put(scope, [
            Edge(n, pairs[n - 1][0], chance.choice(RELATIONS), pairs[n - 1][1], False, Source.DECLARED, 0.95, NOW, NOW)
            for n in some
        ])  # fmt: skip

    store.write(lambda unit: unit.graph.place(scope, [Name(n, n, n, n) for n in names]))
    for start in range(1, edges + 1, CHUNK):
        store.write(lambda unit, s=start: write(unit, s))  # type: ignore[misc]
    return pairs


def walk(unit: Unit, scope: Scope, start: str, hops: int, most: int | None = None) -> set[str]:
    seen, level = {start}, [start]
    for _ in range(hops):
        near = unit.graph.links_of(scope, level)
        ahead = {link.other(node) for node in level for link in near[node]}
        level = [node for node in ahead if node not in seen]
        seen |= ahead
        if most is not None and len(seen) > most:
            break
    return seen - {start}


def bounded(unit: Unit, scope: Scope, start: str, hops: int) -> set[str]:
    return walk(unit, scope, start, hops, SHOWN)


def ask(graphing: Graphing) -> Callable[[Unit, Scope, str, int], object]:
    def question(unit: Unit, scope: Scope, start: str, hops: int) -> object:
        return neighbours(Explorer(unit, scope, graphing, NOW), start, Walk(), hops, SHOWN, Language.EN)

    return question


def measure(
    store: Store, scope: Scope, starts: Sequence[str], hops: int, question: Callable[[Unit, Scope, str, int], object]
) -> Times:
    seconds = []
    for start in starts:
        with store.read() as unit:
            begun = time.process_time()
            question(unit, scope, start, hops)
            seconds.append(time.process_time() - begun)
    return Times(tuple(seconds))


def beside_peers(
    store: Store, pairs: Mapping[Scope, Sequence[tuple[str, str]]], starts: Mapping[Scope, Sequence[str]], names: Sequence[str]
) -> list[list[str]]:  # fmt: skip
    """A row for each graph and owner: the bare walk, CPU and by the clock.

    Raises:
        AssertionError: a peer answers otherwise than we do, so it was not asked the same.
    """

    def ours(owner: str, start: str, hops: int) -> set[str]:
        with store.read() as unit:
            return walk(unit, Scope(owner), start, hops)

    rows, edges = list[list[str]](), {scope.user: some for scope, some in pairs.items()}

    def timed(name: str, near: Callable[[str, str, int], set[str]]) -> None:
        for scope, some in starts.items():
            for hops in (1, 2, 3):
                cpu, wall = list[float](), list[float]()
                for start in some:
                    before = (time.process_time(), time.perf_counter())
                    found = near(scope.user, start, hops)
                    cpu.append(time.process_time() - before[0])
                    wall.append(time.perf_counter() - before[1])
                    assert found == ours(scope.user, start, hops), (name, scope, start, hops)
                shown = [f"{t.p50 * 1e3:.2f} / {t.p95 * 1e3:.2f}" for t in (Times(tuple(cpu)), Times(tuple(wall)))]
                rows.append([name, f"{len(pairs[scope]):,}", str(hops), *shown])

    timed("jiyi, SQLite", ours)
    for name in names:
        with opened(name, edges) as peer:
            if isinstance(peer, str):
                rows.append([peer, "", "", "", ""])
            else:
                timed(peer.name, peer.near)
    return rows


def fan_out(pairs: Sequence[tuple[str, str]]) -> str:
    counts = sorted(Counter(end for pair in pairs for end in pair).values())
    return f"{len(counts):,} things, mean {sum(counts) / len(counts):.1f}, p95 {counts[len(counts) * 95 // 100]:,}, most {counts[-1]:,}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument(
        "--others", type=int, default=OTHERS, help="other users, of 200 edges each; then ten times as many"
    )
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--peers", default=",".join(PEERS), help="of networkx, ladybug, neo4j; none: empty")
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    folder = chosen.dir / "graph"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chance, large, hubs, usual = random.Random(1), Scope("large"), Scope("hubs"), Scope("usual")
    ruled = open_graphing(Settings(), load_vocabulary(), load_segmenter())
    questions = {"walk": walk, "neighbours": ask(replace(ruled, rules=RuleSet((), {}))), "with rules": ask(ruled)}
    store = open_sqlite(folder / "memory.db", synchronous="NORMAL")
    rows, told = list[list[str]](), dict[str, dict[str, list[float]]]()

    def measured(label: str, scope: Scope) -> None:
        for hops in (1, 2, 3):
            asked = {**questions, "walk": bounded} if scope == hubs else questions
            times = {name: measure(store, scope, starts[scope], hops, q) for name, q in asked.items()}
            shown = [f"{t.p50 * 1e3:.2f} / {t.p95 * 1e3:.2f}" for t in times.values()]
            rows.append([label, str(hops), *shown, "yes" if times["walk"].p50 * 1e3 <= TARGET_MS else "no"])
            told[f"{label}, {hops}"] = {name: [t.p50, t.p95] for name, t in times.items()}

    try:
        pairs = {
            large: fill(store, large, chosen.edges, chance),
            hubs: fill(store, hubs, chosen.edges, chance, hubs=True),
            usual: fill(store, usual, USUAL, chance),
        }
        ends = {scope: sorted({end for pair in some for end in pair}) for scope, some in pairs.items()}
        starts = {scope: chance.choices(some, k=chosen.questions) for scope, some in ends.items()}
        names = {large: f"{chosen.edges:,} edges", hubs: f"{chosen.edges:,} edges, hubs", usual: f"{USUAL} edges"}
        for scope, label in names.items():
            measured(label, scope)
        done = 0
        for others in (chosen.others, 10 * chosen.others):
            for n in range(done, others):
                theirs = fill(store, Scope(f"other{n}"), USUAL, chance)
                if others == chosen.others:
                    pairs[Scope(f"other{n}")] = theirs
            done = others
            for scope in (large, usual):
                measured(f"{names[scope]}, beside {others:,} users", scope)
        held = {scope: some for scope, some in pairs.items() if scope != hubs}
        of = {scope: starts[scope] for scope in (large, usual)}
        peers = beside_peers(store, held, of, [name for name in chosen.peers.split(",") if name])
    finally:
        store.close()
    fans = [f"{names[scope]}: {fan_out(pairs[scope])}" for scope in names]
    heads = ["owner", "steps", *questions, f"walk ≤ {TARGET_MS} ms"]
    beside = table(["graph", "owner's edges", "steps", "CPU ms p50 / p95", "clock ms p50 / p95"], peers)
    chosen.report.write_text(
        f"### Steps in the graph, CPU ms p50 / p95\n\n{table(heads, rows)}\n\nEdges at a thing. {'. '.join(fans)}.\n\n### The bare walk beside other graphs\n\n{beside}\n",
        "utf-8",
    )
    if chosen.json:
        chosen.json.write_text(json.dumps(told, indent=1), "utf-8")


if __name__ == "__main__":
    main()
