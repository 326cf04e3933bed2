"""What judging one observation costs beside a thousand beliefs (SPEC B2), in CPU time.

python -m benchmarks.run judging
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from jiyi.domain.belief import Observation, weigh
from jiyi.domain.memory import Category, Evidence, Memory, Mode, Source, Triple
from jiyi.domain.relations import USER, Detail, Relation
from jiyi.domain.revision import revise
from jiyi.shipped import load_refining, load_segmenter

BELIEFS = 1000
ROUNDS = 200
START = datetime(2026, 1, 1, tzinfo=UTC)
MANY = Relation("USES_TOOL", Category.PREFERENCE, False, USER, refines=Detail.RELEASE)
ONE = Relation("LIVES_IN", Category.PROFILE, True, USER, refines=Detail.PLACE)
REFINING = load_refining(load_segmenter())


def said(relation: Relation, value: str, number: int, mode: Mode = Mode.STATEMENT) -> Observation:
    at = START + timedelta(hours=number)
    return Observation(
        value, relation.category, 3, Source.DECLARED, 0.95, at, value, Triple(USER, relation.name, value), mode,
        evidence=(Evidence(number, 0, 5, at, f"s{number // 10}"),),
    )  # fmt: skip


def believed(relation: Relation, talk: Sequence[Observation]) -> list[Memory]:
    beliefs: dict[int, Memory] = {}
    for observation in talk:
        # Each value stands for itself, or follows on the last one: what lies further back does not change any more.
        near = list(beliefs.values())[-2:]
        settlement = weigh(observation, near, relation, finer=REFINING.of(relation))
        for change in revise(observation, settlement, near, count(len(beliefs) + 1), observation.at):
            if change.after is not None:
                beliefs[change.seq] = change.after
    return list(beliefs.values())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dir", type=Path, help="not used: nothing is stored")
    chosen = parser.parse_args(arguments)
    rows = (
        ("1 000 values that stand side by side", MANY, Mode.STATEMENT, BELIEFS),
        ("100 values, each replaced by the next", ONE, Mode.CHANGE, BELIEFS // 10),
        ("1 000 values, each replaced by the next", ONE, Mode.CHANGE, BELIEFS),
    )
    prepared = [
        (name, relation, believed(relation, [said(relation, f"v{n}", n, mode) for n in range(count_)]))
        for name, relation, mode, count_ in rows
    ]
    spent: dict[str, list[float]] = {name: [] for name, *_ in prepared}
    for number in range(ROUNDS):
        for name, relation, beliefs in prepared:
            fresh = said(relation, "v7", 2 * BELIEFS + number)
            began = time.process_time()
            weigh(fresh, beliefs, relation, finer=REFINING.of(relation))
            spent[name].append(time.process_time() - began)
    lines = ["| beside | p50 CPU ms | p95 CPU ms |", "|---|---:|---:|"]
    found = {}
    for name, times in spent.items():
        times.sort()
        p50, p95 = (1000 * times[len(times) * share // 100] for share in (50, 95))
        found[name] = {"p50_ms": p50, "p95_ms": p95}
        lines.append(f"| {name} | {p50:.3f} | {p95:.3f} |")
    chosen.report.write_text("\n".join(lines) + "\n", "utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
