"""What article A4 claims, measured: exact questions under 50 ms and fuzzy ones under 200 ms at a million memories in one store.

    python -m benchmarks.claims --entries 1132000 --dir DIR --report FILE
    python -m benchmarks.claims --entries 200000 --engines --dir DIR --report FILE

Asked is the façade, by the clock, of owners of several sizes among all the others. Every memory of the store is in the text index,
is a triple of its owner's graph and has a vector, so a million memories are a million triples and vectors too. Exact: an entity, what
is near it, a pattern of two triples, and a question for one fact. Fuzzy: recall by words, vectors and the graph together. `--engines`:
Neo4j answers for the graph and Chroma for the vectors, both following the same store.

The filled store is kept and used again, but for one that engines follow. The triples and vectors are drawn by chance, not read from the texts: what they say does not matter to what finding them costs. The
few facts that are asked for are remembered through the façade.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import TYPICAL, Corpus
from benchmarks.graph import CHUNK, NOW, fill
from benchmarks.report import table
from benchmarks.storage import Bench, copied, fill_some, say
from benchmarks.timing import Times
from benchmarks.vectors import vectors
from jiyi import open_memory
from jiyi.domain.scope import Scope
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Kind
from jiyi.scoped_memory import ScopedMemory
from jiyi.shipped import load_segmenter
from jiyi.stores.scanning import quantised

EXACT_MS, FUZZY_MS = 50.0, 200.0
POOL = 20_000
"""Different vectors; each is had by many texts, of other owners mostly."""
OWNERS, QUESTIONS = 20, 60
FACTS = ("我住在宁波。", "我们的竞品是云栖数科。", "云栖数科的报价是八十万。", "My sister is called Vera.")
ASKED = ("我住在哪里？", "我们的竞品是谁？", "What is my sister called?")
Ask = Callable[[ScopedMemory, str, str], object]


@dataclass(frozen=True, slots=True)
class Asking:
    """One kind of question, and by when it has to be answered. It is given the memory, a thing of its graph, and words."""

    name: str
    target_ms: float
    ask: Ask


PATTERN = [("{thing}", "BUYS_FROM", "?x"), ("?x", "COMPETES_WITH", "?y")]
EXACT = (
    Asking("entity()", EXACT_MS, lambda me, thing, _: me.entity(thing)),
    Asking("neighbours(), 1 step", EXACT_MS, lambda me, thing, _: me.neighbours(thing)),
    Asking("neighbours(), 2 steps", EXACT_MS, lambda me, thing, _: me.neighbours(thing, hops=2)),
    Asking("match(), two triples", EXACT_MS, lambda me, thing, _: me.match(
        [tuple(term.format(thing=thing) for term in triple) for triple in PATTERN], min_confidence=0.5)),
)  # fmt: skip
FACT = Asking("recall() of one fact", EXACT_MS, lambda me, _, words: me.recall(words))
FUZZY = Asking("recall(), words + vectors + graph", FUZZY_MS, lambda me, _, words: me.recall(words))


@contextmanager
def neo4j_server(folder: Path) -> Iterator[str]:
    """A Neo4j of its own.

    Raises:
        ImportError: there can be none here; says why.
    """
    from tests.graph_engine import server

    if reason := server.missing():
        raise ImportError(reason)
    with server.shared_server(folder) as address:
        yield address


def fill_views(layer: MemoryLayer, corpus: Corpus) -> None:
    """For every memory a triple and a vector, owner by owner."""
    store, chance = layer._store, random.Random(1)
    embedding = layer._parts.embedding
    assert embedding is not None
    model, dimension = embedding.current.name, len(embedding.current.query("x"))
    pool = quantised(vectors(POOL, seed=3)[:, :dimension])
    done, begun = 0, time.process_time()
    for owner, size in corpus.sizes.items():
        scope = Scope(owner)
        fill(store, scope, size, chance)
        store.write(lambda unit, s=scope: unit.vectors.begin(s, model, dimension))  # type: ignore[misc]
        for start in range(1, size + 1, CHUNK):
            some = {n: chance.choice(pool) for n in range(start, min(start + CHUNK, size + 1))}
            store.write(lambda unit, s=scope, v=some: unit.vectors.add(s, Kind.MEMORY, model, v))  # type: ignore[misc]
        if (done + size) // 100_000 > done // 100_000:
            say(f"{done + size:,} triples and vectors, {time.process_time() - begun:.0f} CPU s")
        done += size


def tell_engines(layer: MemoryLayer, corpus: Corpus) -> None:
    """Have both engines hear of everything, and say how long it took."""
    for scope in map(Scope, corpus.sizes):
        layer._store.write(lambda unit, s=scope: unit.graph_feed.begin(s))  # type: ignore[misc]
    begun = time.perf_counter()
    layer._engine.tidy()
    say(f"engines told in {time.perf_counter() - begun:.0f} s")
    for check in layer.check():
        if "engine" in check.name:
            say(check.name, check.detail)
            assert check.ok, check
            assert "everything" in check.detail, check


def owners_of(corpus: Corpus, size: int | str) -> list[str]:
    if size == TYPICAL:
        chance = random.Random(5)
        return [corpus.random_owner(chance) for _ in range(OWNERS)]
    return corpus.planted[int(size)][:OWNERS]


def measure(
    layer: MemoryLayer, owners: Sequence[str], questions: Mapping[str, Sequence[str]], asking: Asking, count: int
) -> tuple[Times, Times]:
    """CPU time of this process, and by the clock."""
    chance, cpu, wall = random.Random(9), list[float](), list[float]()
    noted = 0
    for n in range(count):
        owner = owners[n % len(owners)]
        me = layer.scope(owner)
        with layer._store.read() as unit:
            size = max(1, unit.graph.count(Scope(owner))[1] * 3 // 4)
            links = unit.graph.listing(Scope(owner), after=chance.randrange(size), limit=1)
        words = questions[owner][n % len(questions[owner])]
        before = (time.process_time(), time.perf_counter())
        answer = asking.ask(me, links[0].start, words)
        cpu.append(time.process_time() - before[0])
        wall.append(time.perf_counter() - before[1])
        noted += bool(getattr(answer, "note", ""))
    assert noted == 0, f"{asking.name}: the database answered {noted} of {count} in the engine's place"
    return Times(tuple(cpu)), Times(tuple(wall))


def ask_all(layer: MemoryLayer, corpus: Corpus, count: int) -> tuple[list[list[str]], dict[str, Any]]:
    rows, told = list[list[str]](), dict[str, Any]()
    chance = random.Random(7)
    chosen = {size: owners_of(corpus, size) for size in corpus.classes}
    for owner in {owner for some in chosen.values() for owner in some}:
        for fact in FACTS:
            layer.scope(owner).remember(fact)
    layer._engine.tidy()
    say("facts remembered")
    for size, owners in chosen.items():
        facts = dict.fromkeys(owners, ASKED)
        words = {
            owner: [query.text for query in corpus.queries_of(owner, 3, chance)] for owner in dict.fromkeys(owners)
        }
        for asking, given in [*((asking, facts) for asking in EXACT), (FACT, facts), (FUZZY, words)]:
            measure(layer, owners, given, asking, len(set(owners)))  # once, so that no first time is counted
            cpu, wall = measure(layer, owners, given, asking, count)
            met = ["yes" if times.p95 * 1e3 < asking.target_ms else "no" for times in (wall, cpu)]
            label = str(size) if size == TYPICAL else f"{size:,}"
            rows.append([
                asking.name, label, *(f"{t.p50 * 1e3:.1f} / {t.p95 * 1e3:.1f}" for t in (wall, cpu)), f"{max(wall.seconds) * 1e3:.0f}",
                f"p95 < {asking.target_ms:.0f}", *met,
            ])  # fmt: skip
            told[f"{asking.name}, {label}"] = {"clock": [wall.p50, wall.p95], "cpu": [cpu.p50, cpu.p95]}
            say(*rows[-1])
    return rows, told


def run(bench: Bench, engines: Mapping[str, str], count: int) -> tuple[str, dict[str, Any]]:
    path, note = (
        bench.path("postings").with_name(f"claims-of-{bench.path('postings').name}"),
        bench.directory / "claims.json",
    )
    filled = not engines and path.exists() and note.exists() and note.read_text("utf-8") == bench.key("postings")
    if not filled:
        note.unlink(missing_ok=True)
        path = copied(bench, "postings", "claims")
    layer = open_memory(path, embedder="use", worker=False, synchronous="NORMAL", clock=lambda: NOW, **engines)
    try:
        if not filled:
            fill_views(layer, bench.corpus)
        if engines:
            tell_engines(layer, bench.corpus)
        else:
            note.write_text(bench.key("postings"), "utf-8")
        rows, told = ask_all(layer, bench.corpus, count)
        with layer._store.read() as unit:
            edges = sum(unit.graph.count(scope)[1] for scope in unit.scopes())
    finally:
        layer.close()
    held = (
        f"{bench.corpus.entries:,} memories of {len(bench.corpus.sizes):,} owners, {edges:,} triples, as many vectors"
    )
    by = "Neo4j and Chroma beside SQLite" if engines else "SQLite alone"
    heads = [
        "question",
        "owner of",
        "clock ms p50 / p95",
        "CPU ms p50 / p95",
        "slowest",
        "wanted, ms",
        "by the clock",
        "by CPU",
    ]
    return f"{by}: {held}; {count} questions a line.\n\n{table(heads, rows)}", told


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_132_000)
    parser.add_argument("--engines", action="store_true", help="with Neo4j and Chroma beside the store")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    chosen.dir.mkdir(parents=True, exist_ok=True)
    bench = Bench(Corpus(chosen.entries), chosen.dir, load_segmenter())
    fill_some(bench, [], ["postings"])
    if chosen.engines:
        chroma = chosen.dir / "chroma"
        shutil.rmtree(chroma, ignore_errors=True)
        with neo4j_server(chosen.dir) as address:
            text, told = run(bench, {"graph_engine": address, "vector_engine": f"chroma:{chroma}"}, chosen.questions)
    else:
        text, told = run(bench, {}, chosen.questions)
    chosen.report.write_text(text + "\n", "utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps(told, indent=1), "utf-8")


if __name__ == "__main__":
    main()
