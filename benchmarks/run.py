"""`make bench TARGET=…`: one of the benchmarks with its stores and its report in `reports/`.

python -m benchmarks.run storage-100k
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    claims,
    gateway,
    graph,
    judging,
    postgres,
    postgres_vectors,
    search,
    service,
    storage,
    streaming,
    text,
    upkeep,
    vectors,
)

TARGETS = {
    "storage-100k": (storage.main, ["--entries", "100000", "--kind", "memory"]),
    "storage-1m": (storage.main, ["--entries", "1000000", "--kind", "memory"]),
    "messages-1m": (storage.main, ["--entries", "1000000", "--kind", "message"]),
    "gateway": (gateway.main, ["--entries", "100000"]),
    "upkeep": (upkeep.main, ["--memories", "1000000"]),
    "text": (text.main, []),
    "judging": (judging.main, []),
    "vectors": (vectors.main, []),
    "search": (search.main, []),
    "service": (service.main, []),
    "streaming": (streaming.main, []),
    "graph": (graph.main, ["--edges", "100000"]),
    "claims": (claims.main, []),
    "claims-engines": (claims.main, ["--entries", "200000", "--engines"]),
    "postgres": (postgres.main, []),
    "postgres-vectors": (postgres_vectors.main, []),
}
REPORTS = Path("reports")


def commit() -> str:
    """The commit that is measured, marked when the tree has changes; empty outside a repository."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )  # fmt: skip
    return described.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="make bench", description="Benchmarks; benchmarks/README.md says how to read them."
    )
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--dir", type=Path, default=REPORTS / "bench", help="stores are kept here and used again")
    chosen = parser.parse_args(arguments)
    REPORTS.mkdir(exist_ok=True)
    report = REPORTS / f"{chosen.target}.md"
    run, fixed = TARGETS[chosen.target]
    run([*fixed, "--dir", str(chosen.dir), "--report", str(report), "--json", str(report.with_suffix(".json"))])
    table = report.read_text("utf-8")
    if measured := commit():
        table = f"{table}\nMeasured at commit {measured}.\n"
        report.write_text(table, "utf-8")
    print(table)


if __name__ == "__main__":
    main()
