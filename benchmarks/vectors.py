"""What vectors cost: search in one user's among other users' vectors, as CPU time beside a row for each vector and beside
Chroma; what embedding a text and a question costs, and the memory of a process that does it; and what embedders find (SPEC R11).

    python -m benchmarks.vectors --dir DIR --report FILE
    python -m benchmarks.vectors --pairs use
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import cells, table
from benchmarks.timing import Times, interleave
from jiyi import open_memory
from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Neighbour, Vector
from jiyi.embedders import LOCAL, open_local
from jiyi.evaluation.pairs import by_embedder, by_recall, load_distractors, load_pairs, measure
from jiyi.ports import Kind
from jiyi.settings import EmbedderName
from jiyi.stores.chroma import ChromaEngine, open_chroma
from jiyi.stores.scanning import numpy_scan, quantised
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.stores.sqlite.vectors import VectorRules

SIZES = (1_000, 10_000, 100_000)
OTHERS = 50
"""Other users, of 1,000 vectors each, whose vectors lie between."""
DIMENSION, LATENT, MODEL, LIMIT = 512, 48, "bench", 10
QUERIES = 40
LARGEST_IN_CHROMA = 10_000
"""Chroma takes about a millisecond a vector to build."""
TARGETS_MS = {1_000: 0.25, 10_000: 2.0, 100_000: 20.0}
EMBEDDED = 200
FINDERS: tuple[EmbedderName, ...] = ("none", "use", "e5", "both", "all")


def vectors(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Directions of 48 latent dimensions with noise, as texts of one life have them."""
    rng = np.random.default_rng(seed)
    space = np.random.default_rng(0).standard_normal((LATENT, DIMENSION)).astype(np.float32)
    found = rng.standard_normal((count, LATENT)).astype(np.float32) @ space
    found += 0.5 * np.sqrt(LATENT) * rng.standard_normal((count, DIMENSION)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


# ------------------------------------------------------------------ search


def fill(store: SqliteStore) -> None:
    """Owners of each size, arriving in turns with the others."""
    owners = [(Scope(f"u{size}"), size, size) for size in SIZES] + [(Scope(f"o{n}"), 1_000, n) for n in range(OTHERS)]
    rows = {scope: quantised(vectors(size, seed)) for scope, size, seed in owners}
    for scope in rows:
        store.write(lambda unit, s=scope: unit.vectors.begin(s, MODEL, DIMENSION))  # type: ignore[misc]
    done = dict.fromkeys(rows, 0)
    while left := [scope for scope in rows if done[scope] < len(rows[scope])]:
        for scope in left:
            step = max(250, len(rows[scope]) // 50)
            some = {n + 1: rows[scope][n] for n in range(done[scope], min(done[scope] + step, len(rows[scope])))}
            store.write(lambda unit, s=scope, v=some: unit.vectors.add(s, Kind.MESSAGE, MODEL, v))  # type: ignore[misc]
            done[scope] += len(some)


def fill_naive(path: Path) -> None:
    """One float32 BLOB for each vector, as one would begin."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE vector (owner TEXT, seq INTEGER, v BLOB, PRIMARY KEY (owner, seq)) WITHOUT ROWID"
        )
        for size in SIZES:
            rows = vectors(size, size)
            data = [(f"u{size}", n + 1, row.tobytes()) for n, row in enumerate(rows)]
            connection.executemany("INSERT INTO vector VALUES (?, ?, ?)", data)
        connection.commit()


def search_naive(connection: sqlite3.Connection, owner: str, query: np.ndarray[Any, Any]) -> list[int]:
    found = connection.execute("SELECT seq, v FROM vector WHERE owner = ?", (owner,)).fetchall()
    matrix = np.frombuffer(b"".join(v for _, v in found), np.float32).reshape(len(found), -1)
    scores = matrix @ query
    best = np.argpartition(-scores, LIMIT)[:LIMIT]
    return [found[n][0] for n in sorted(best, key=lambda n: -scores[n])]


def search(store: SqliteStore, size: int, query: Vector) -> list[Neighbour]:
    with store.read() as unit:
        return unit.vectors.search(Scope(f"u{size}"), Kind.MESSAGE, MODEL, query, LIMIT)


def measure_search(folder: Path) -> tuple[list[list[str]], dict[str, Any]]:
    folder.mkdir(parents=True, exist_ok=True)
    ours, naive, chroma = folder / "vectors.db", folder / "vectors-naive.db", folder / "vectors-chroma"
    for path in (ours, naive):
        path.unlink(missing_ok=True)
    shutil.rmtree(chroma, ignore_errors=True)
    fill_naive(naive)
    table_rows, found = [], dict[str, Any]()
    with (
        closing(open_sqlite(ours, synchronous="NORMAL", vectors=VectorRules(numpy_scan))) as store,
        closing(sqlite3.connect(naive)) as connection,
        closing(open_chroma(str(chroma))) as engine,
    ):
        begun = time.process_time()
        fill(store)
        found["add_per_second"] = (sum(SIZES) + 1_000 * OTHERS) / (time.process_time() - begun)
        for size in SIZES:
            row, numbers = measure_size(store, connection, engine, size)
            table_rows.append(row)
            found[str(size)] = numbers
    return table_rows, found


def measure_size(
    store: SqliteStore, connection: sqlite3.Connection, engine: ChromaEngine, size: int
) -> tuple[list[str], dict[str, Any]]:
    in_chroma = size <= LARGEST_IN_CHROMA
    if in_chroma:
        engine.put(f"bench-{size}", dict(enumerate(quantised(vectors(size, size)), 1)))
    asked = vectors(QUERIES, seed=1)
    jobs, agreed = [], []
    for row, query in zip(asked, quantised(asked), strict=True):
        work: dict[str, Callable[[], Any]] = {
            "ours": partial(search, store, size, query),
            "rows": partial(search_naive, connection, f"u{size}", row),
        }
        if in_chroma:
            work["chroma"] = partial(engine.near, f"bench-{size}", query, LIMIT)
        exact = search_naive(connection, f"u{size}", row)
        agreed.append(len({n.seq for n in search(store, size, query)} & set(exact)) / LIMIT)
        jobs.append(work)
    times = interleave(jobs, time.process_time)
    target = TARGETS_MS[size]
    met = (
        "met" if times["ours"].p50 * 1e3 <= target else f"**short by a factor {times['ours'].p50 * 1e3 / target:.2f}**"
    )
    ratio = {name: t.p50 / times["ours"].p50 for name, t in times.items()}
    row = [
        f"{size:,}", cells(times["ours"]), f"≤ {target:g}: {met}", f"{cells(times['rows'])} (×{ratio['rows']:.1f})",
        f"{cells(times['chroma'])} (×{ratio['chroma']:.1f})" if in_chroma else "not built",
        f"{statistics.fmean(agreed):.3f}",
    ]  # fmt: skip
    return row, {"p50_ms": {n: t.p50 * 1e3 for n, t in times.items()}, "recall": statistics.fmean(agreed)}


# ------------------------------------------------------------------ embedding


def peak_mb() -> float:
    """The most memory of this process so far. `getrusage` would count what its parent had."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def embed(name: str) -> None:
    """In a process of its own: what one embedder costs, as JSON."""
    embedder = open_local(name)
    texts = random.Random(3).sample(load_distractors(), EMBEDDED)
    begun = time.process_time()
    embedder.query("hello")
    loaded = time.process_time() - begun
    begun = time.process_time()
    embedder.documents(texts)
    batch = time.process_time() - begun
    times = []
    for text in texts[:60]:
        begun = time.process_time()
        embedder.query(text)
        times.append(time.process_time() - begun)
    spent = Times(tuple(times))
    told = {
        "load_s": loaded, "per_text_ms": batch / EMBEDDED * 1e3, "query_p50_ms": spent.p50 * 1e3,
        "query_p95_ms": spent.p95 * 1e3, "rss_mb": peak_mb(),
    }  # fmt: skip
    print(json.dumps(told))


def measure_embedding() -> tuple[list[list[str]], dict[str, Any]]:
    rows, found = [], dict[str, Any]()
    for name in LOCAL:
        command = [sys.executable, "-m", "benchmarks.vectors", "--embed", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told: Mapping[str, float] = json.loads(done.stdout)
        found[name] = told
        query = f"{told['query_p50_ms']:.1f} / {told['query_p95_ms']:.1f}"
        rows.append([name, f"{told['load_s']:.1f}", f"{told['per_text_ms']:.1f}", query, f"{told['rss_mb']:.0f}"])
    return rows, found


def find_pairs(name: EmbedderName, file: str = "pairs") -> tuple[list[list[str]], dict[str, Any]]:
    """What one embedder finds, its vectors alone and through `recall`; "none" is recall by words."""
    pairs = load_pairs(file)
    pool = [*(p.memory for p in pairs), *load_distractors()]
    rows, found = [], dict[str, Any]()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder) / "pairs.db", worker=False, embedder=name, synchronous="NORMAL") as layer,
    ):
        ways = {"recall": by_recall(layer, pool)}
        if name != "none":
            ways["vectors alone"] = by_embedder(pool, open_local(name))
        for way, ranking in ways.items():
            results = list(measure(pairs, ranking))
            found[way] = {
                f.group: {"pairs": f.pairs, "first": f.first, "five": f.five, "rank": f.rank} for f in results
            }
            rows.append([name, way, *(f"{f.first:.2f} / {f.five:.2f}" for f in results)])
    return rows, found


def pairs_table(rows: Sequence[Sequence[str]]) -> str:
    return table(["embedder", "by", *dict.fromkeys(p.group for p in load_pairs())], rows)


def measure_pairs() -> tuple[list[list[str]], dict[str, Any]]:
    rows, found = [], dict[str, Any]()
    for name in FINDERS:
        more, found[name] = find_pairs(name)
        rows += more
    return rows, found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--embed", choices=LOCAL, help="measure one embedder in this process and print it")
    parser.add_argument("--pairs", choices=FINDERS, help="measure what one embedder finds and print it")
    parser.add_argument("--developer", action="store_true", help="with --pairs: by the pairs that things are tried on")
    chosen = parser.parse_args(arguments)
    if chosen.embed:
        return embed(chosen.embed)
    if chosen.pairs:
        return print(pairs_table(find_pairs(chosen.pairs, "pairs_developer" if chosen.developer else "pairs")[0]))
    searching, searched = measure_search(chosen.dir)
    embedding, embedded = measure_embedding()
    finding, found = measure_pairs()
    parts = [
        f"### Search of {DIMENSION} numbers, {LIMIT} nearest, CPU ms p50 / p95",
        table(["vectors", "ours", "target", "a row each", "Chroma", "recall@10 of float32"], searching),
        f"{searched['add_per_second']:,.0f} vectors a CPU second are added, {OTHERS} other users in between.",
        "### Embedding, CPU of one core",
        table(["embedder", "load s", "ms a text", "ms a question p50 / p95", "RSS MB"], embedding),
        f"### Pairs that share no word, in a pool of {len(load_pairs()) + len(load_distractors()):,}: R@1 / R@5",
        pairs_table(finding),
    ]
    chosen.report.write_text("\n\n".join(parts) + "\n", "utf-8")
    if chosen.json:
        told = {"search": searched, "embedding": embedded, "pairs": found}
        chosen.json.write_text(json.dumps(told, indent=1), "utf-8")
    return None


if __name__ == "__main__":
    main()
