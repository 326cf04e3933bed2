"""Vectors on PostgreSQL: looked through by jiyi, which the server sends them to, beside pgvector; searches in one user's among
other users', and what adding costs (docs/decisions/0045-pgvector-as-a-copy.md).

    python -m benchmarks.postgres_vectors --report postgres-vectors.md

CPU is that of the caller and of the server's process, as in `benchmarks.postgres`. Both give the same, number by number, or the run ends.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import psycopg

from benchmarks.postgres import WARM_UP, Cost, burnt, say, serving
from benchmarks.report import table
from benchmarks.timing import Times
from benchmarks.vectors import DIMENSION, LIMIT, MODEL, OTHERS, SIZES, vectors
from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Neighbour, Vector
from jiyi.ports import Kind
from jiyi.settings import PostgresPolicy
from jiyi.stores.postgres.store import PostgresStore, open_postgres
from jiyi.stores.scanning import numpy_scan, quantised
from jiyi.stores.text_index import KIND_NUMBERS
from tests.postgres.server import Server

CHUNKS, PGVECTOR = "looked through by jiyi", "pgvector"
QUERIES = 40
ADDED = 500
MIXED = 100
"""So many of an owner lie side by side at the most, then come some of the others."""


def open_on(server: Server, name: str) -> PostgresStore:
    return open_postgres(server.url(name), PostgresPolicy(pool_size=1), durable=False, scan=numpy_scan)


def fill(store: PostgresStore, url: str) -> None:
    """Owners of each size and the others, past the store: a hundred thousand go through it one by one."""
    sizes = {f"u{size}": size for size in SIZES} | {f"o{n}": 1_000 for n in range(OTHERS)}
    held = {name: quantised(vectors(size, seed)) for seed, (name, size) in enumerate(sizes.items())}
    for name in sizes:
        store.write(lambda unit, name=name: unit.vectors.begin(Scope(name), MODEL, DIMENSION))  # type: ignore[misc]
    with psycopg.connect(url, options="-c search_path=jiyi") as connection:
        sql = "SELECT usr, owner.number, vector_set.number FROM owner JOIN vector_set ON owner = owner.number"
        places: dict[str, tuple[int, int]] = {name: (owner, of) for name, owner, of in connection.execute(sql)}
        columns = "(owner, vset, kind, seq, square, numbers)"
        kind = KIND_NUMBERS[Kind.MEMORY]
        with connection.cursor() as cursor, cursor.copy(f"COPY vector {columns} FROM STDIN") as copy:
            for start in range(0, max(sizes.values()), MIXED):
                for name, rows in held.items():
                    share = -(-len(rows) * MIXED // max(sizes.values()))
                    first = start // MIXED * share
                    for seq, vector in enumerate(rows[first : first + share], first + 1):
                        copy.write_row((*places[name], kind, seq, vector.square, vector.numbers))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")


def near(store: PostgresStore, owner: str, query: Vector) -> list[Neighbour]:
    with store.read() as unit:
        return unit.vectors.search(Scope(owner), Kind.MEMORY, MODEL, query, LIMIT)


def add(store: PostgresStore, seq: int, vector: Vector) -> None:
    store.write(lambda unit: unit.vectors.add(Scope("u1000"), Kind.MEMORY, MODEL, {seq: vector}))


def measured(pids: Mapping[str, int], works: Sequence[Mapping[str, Callable[[], object]]]) -> dict[str, Cost]:
    """Each work by each, in turns; the first ones do not count."""
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in pids}
    for number, work in enumerate(works):
        answers = []
        for name in sorted(pids, reverse=bool(number % 2)):
            before = burnt(pids[name])
            wall, cpu = time.perf_counter(), time.thread_time()
            answers.append(work[name]())
            cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
            server = burnt(pids[name]) - before
            taken[name].append((cpu + server, server, wall))
        assert answers[0] == answers[1]
    columns = {name: zip(*rows[WARM_UP:], strict=True) for name, rows in taken.items()}
    return {name: Cost(*(Times(tuple(column)) for column in rows)) for name, rows in columns.items()}


def run(server: Server) -> str:
    with ExitStack() as opened:
        server.run("CREATE DATABASE chunks")
        with closing(open_on(server, "chunks")) as store:
            fill(store, server.url("chunks"))
        server.run("CREATE DATABASE pgvector TEMPLATE chunks STRATEGY file_copy")
        server.run("CREATE EXTENSION vector", database="pgvector")
        stores = {name: opened.enter_context(closing(open_on(server, base)))
                  for name, base in ((CHUNKS, "chunks"), (PGVECTOR, "pgvector"))}  # fmt: skip
        start = time.perf_counter()
        say(*stores[PGVECTOR].repair())
        copied = time.perf_counter() - start
        server.run("VACUUM (ANALYZE)", database="pgvector")
        pids = {}
        for name, store in stores.items():
            with store.read() as unit:
                pids[name] = int(cast(Any, unit).access.value("SELECT pg_backend_pid()"))
        rows = []
        for size in SIZES:
            queries = quantised(vectors(QUERIES + WARM_UP, 999))
            works = [{n: partial(near, s, f"u{size}", q) for n, s in stores.items()} for q in queries]
            rows += [(f"search in {size:,}", name, cost) for name, cost in measured(pids, works).items()]
            say(f"searched in {size:,}")
        fresh = list(enumerate(quantised(vectors(ADDED, 998)), 2_000))
        adds = [{n: partial(add, s, seq, v) for n, s in stores.items()} for seq, v in fresh]
        rows += [("add one", name, cost) for name, cost in measured(pids, adds).items()]
        sizes = {base: _bytes(server, base) for base in ("chunks", "pgvector")}
    head = ("", "", "CPU, ms: p50 / p95", "of that the server, p50", "wall, ms: p50 / p95")
    cells = [
        [what, name, _pair(cost.cpu), f"{cost.server.p50 * 1e3:.2f}", _pair(cost.wall)] for what, name, cost in rows
    ]
    told = f"{DIMENSION} numbers, the {LIMIT} nearest. {sum(SIZES) + 1_000 * OTHERS:,} vectors take {sizes['chunks'] / 1e6:,.0f} MB, "
    told += f"{sizes['pgvector'] / 1e6:,.0f} MB with the copy for pgvector, which was made in {copied:,.0f} s."
    return f"# Vectors on PostgreSQL\n\n{told}\n\n{table(head, cells)}\n"


def _bytes(server: Server, base: str) -> int:
    sql = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname ~ '^vector(_near)?_p'"
    with psycopg.connect(server.url(base)) as connection:
        [(size,)] = connection.execute(sql).fetchall()
    return int(size)


def _pair(times: Times) -> str:
    return f"{times.p50 * 1e3:.2f} / {times.p95 * 1e3:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.postgres_vectors", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path, help="the tables again")
    parser.add_argument("--dir", type=Path, help="not used: the server has a folder of its own")
    chosen = parser.parse_args(arguments)
    with serving(None) as server:
        told = run(server)
    chosen.report.write_text(told, "utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps(told), "utf-8")


if __name__ == "__main__":
    main()
