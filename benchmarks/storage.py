"""Search, commits, deletion and file size of jiyi's store beside the recipes of the articles, in one process.

    python -m benchmarks.storage --entries 100000 --kind memory --dir /tmp/bench --report out.md

README.md says how to read the result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

import jieba

import jiyi
from benchmarks import data, report
from benchmarks.data import Corpus, Entry, Query, Texts
from benchmarks.ours import Ours, document, kind_of, memory_of, message_of, plain_of, question
from benchmarks.recipes import A1, A2, NOW, A1AnyWord, PrintedA2
from benchmarks.report import Build, Results
from benchmarks.timing import Job, Times, interleave
from jiyi.assembly import open_memory
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Kind
from jiyi.settings import TextIndexName
from jiyi.shipped import load_segmenter
from jiyi.text.segmentation import Segmenter

BATCH = 5_000
WARM_UP = 10
QUERIES = {10_000: 50, 100_000: 30}
QUERIES_OTHERWISE = 100
COMMITS = 200
DELETIONS = 25
OURS: Final[tuple[TextIndexName, ...]] = ("postings", "native")
GROWN = "postings, grown"
SCHEMA = Path(jiyi.__file__).parent / "stores" / "sql" / "sqlite"


class Loadable(Protocol):
    def prepare(self, entries: Sequence[Entry]) -> Any: ...
    def load(self, prepared: Any) -> None: ...
    def close(self) -> None: ...


STARTED = time.perf_counter()


def say(*words: object) -> None:
    print(f"[{time.perf_counter() - STARTED:5.0f} s]", *words, file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------- filling


@dataclass(frozen=True, slots=True)
class Bench:
    """One size and kind of data, and where its stores lie."""

    corpus: Corpus
    directory: Path
    segmenter: Segmenter

    def path(self, name: str) -> Path:
        plain = name.lower().replace(", ", "-").replace(" ", "-")
        return self.directory / f"{self.corpus.kind}-{self.corpus.entries}-{plain}.db"

    def ours(self, name: str, path: Path | None = None) -> Ours:
        index: TextIndexName = "native" if name == "native" else "postings"
        return Ours(path or self.path(name), index, self.corpus.kind, self.segmenter)

    def recipe(self) -> A1 | A2:
        return A2(self.path("A2")) if self.corpus.kind is Texts.MEMORY else A1(self.path("A1"))

    def key(self, name: str) -> str:
        """What a stored build depends on; of ours also the schema, and the terms as tried out on some texts."""
        if name not in (*OURS, GROWN):
            return f"data {data.VERSION}"
        sample = islice(self.corpus.of(self.corpus.planted[100][0]), 100)
        terms = [sorted(self.segmenter.index_terms(entry.text).counts.items()) for entry in sample]
        schemas = sorted(SCHEMA.glob("*.sql"))
        parts = [self.segmenter.identity, repr(terms), *(schema.read_text("utf-8") for schema in schemas)]
        return f"data {data.VERSION}, ours {hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def build(bench: Bench, *, grown: bool) -> list[Build]:
    """Fill what is not there yet. Ours by owner, as an import would; the recipe in order of arrival."""
    corpus = bench.corpus
    recipe = "A2" if corpus.kind is Texts.MEMORY else "A1"
    groups: list[tuple[list[str], Iterator[Entry]]] = [
        ([recipe], corpus.in_arrival_order()),
        (list(OURS), corpus.by_owner()),
    ]
    if grown:
        groups.append(([GROWN], corpus.in_arrival_order()))
    return [built for names, entries in groups for built in _build_group(bench, names, entries)]


def fill_some(bench: Bench, recipes: list[str], ours: list[str]) -> None:
    """Fill only these stores, where they are not there yet."""
    _build_group(bench, recipes, bench.corpus.in_arrival_order())
    _build_group(bench, ours, bench.corpus.by_owner())


def _build_group(bench: Bench, names: list[str], entries: Iterator[Entry]) -> list[Build]:
    notes = {name: bench.path(name).with_suffix(".json") for name in names}
    kept = [json.loads(note.read_text()) for note in notes.values() if note.exists()]
    if [note["key"] for note in kept] == [bench.key(name) for name in names]:
        return [Build(**note["build"]) for note in kept]
    stores: dict[str, Loadable] = {}
    for name in names:
        remove(bench.path(name))
        stores[name] = bench.recipe() if name in ("A1", "A2") else bench.ours(name)
    say(f"filling {', '.join(names)} with {bench.corpus.entries:,}")
    preparing, cpu, wall = _fill(stores, entries)
    builds = []
    for name, store in stores.items():
        store.close()
        path = bench.path(name)
        size = path.stat().st_size
        builds.append(Build(name, bench.corpus.entries, size, index_bytes(path), preparing, cpu[name], wall[name]))
        notes[name].write_text(json.dumps({"key": bench.key(name), "build": asdict(builds[-1])}))
    return builds


def _fill(stores: dict[str, Loadable], entries: Iterator[Entry]) -> tuple[float, dict[str, float], dict[str, float]]:
    """Stores of one group get the same prepared batches, so a text is segmented once."""
    preparing, cpu, wall = 0.0, dict.fromkeys(stores, 0.0), dict.fromkeys(stores, 0.0)
    done = 0
    first = next(iter(stores.values()))
    while batch := list(islice(entries, BATCH)):
        start = time.process_time()
        prepared = first.prepare(batch)
        preparing += time.process_time() - start
        for name, store in stores.items():
            start, clock = time.process_time(), time.perf_counter()
            store.load(prepared)
            cpu[name] += time.process_time() - start
            wall[name] += time.perf_counter() - clock
        done += len(batch)
        if done % 100_000 == 0:
            say(f"  {done:,}", ", ".join(f"{name} {done / cpu[name]:,.0f}/CPU s" for name in stores))
    return preparing, cpu, wall


def index_bytes(path: Path) -> int:
    """Pages of the text index alone; 0 where SQLite was built without `dbstat`."""
    sql = "SELECT sum(pgsize) FROM dbstat WHERE name = 'posting' OR name LIKE '%fts@_%' ESCAPE '@'"
    with closing(sqlite3.connect(path)) as connection:
        try:
            return int(connection.execute(sql).fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


# ---------------------------------------------------------------------------------- searching


def search(bench: Bench, results: Results, *, grown: bool) -> None:
    """Latency and agreement for each class of owner."""
    names = [*OURS, GROWN] if grown else list(OURS)
    ours = {name: bench.ours(name) for name in names}
    recipe = bench.recipe()
    recipes: dict[str, Any] = {recipe.name: recipe}
    for other in (PrintedA2, A1AnyWord):
        if isinstance(recipe, other.__bases__[0]):
            recipes[other.name] = other(recipe.path)
    for owner_class in bench.corpus.classes:
        say(f"searching, owners: {owner_class}")
        count = QUERIES.get(owner_class, QUERIES_OTHERWISE) if isinstance(owner_class, int) else QUERIES_OTHERWISE
        queries = bench.corpus.queries(owner_class, count + WARM_UP)
        segmenting = interleave(segmenting_jobs(bench, recipe, queries[WARM_UP:]), time.thread_time)
        results.segmenting[str(owner_class)] = segmenting
        interleave(search_jobs(bench, recipes, ours, queries[:WARM_UP]), time.thread_time)
        timed = interleave(search_jobs(bench, recipes, ours, queries[WARM_UP:]), time.thread_time)
        results.searches[str(owner_class)] = timed
        others = bench.corpus.queries(owner_class, count + WARM_UP, seed=2)
        interleave(question_jobs(bench, ours, others[:WARM_UP]), time.thread_time)
        results.questions[str(owner_class)] = interleave(question_jobs(bench, ours, others[WARM_UP:]), time.thread_time)
        results.agreement[str(owner_class)] = agreement(bench, recipe, ours, queries[WARM_UP:])
    for store in (*recipes.values(), *ours.values()):
        store.close()


def segmenting_jobs(bench: Bench, recipe: A1 | A2, queries: Sequence[Query]) -> Iterator[Job]:
    for query in queries:
        yield {
            recipe.name: partial(recipe.question, query.text),
            "jiyi": partial(question, bench.segmenter, query.text),
        }


def search_jobs(
    bench: Bench, recipes: Mapping[str, Any], ours: Mapping[str, Ours], queries: Sequence[Query]
) -> Iterator[Job]:
    """`index`: candidates only. `answer`: with the rows of all candidates and the second ranking, eight texts."""
    for query in queries:
        terms = question(bench.segmenter, query.text)
        job = {}
        for name, recipe in recipes.items():
            asked = recipe.question(query.text)
            job[f"{name}: answer"] = partial(recipe.search, query.owner, asked)
            if name == A2.name:
                job[f"{name}: index"] = partial(recipe.candidates, query.owner, asked)
        for name, store in ours.items():
            job[f"{name}: index"] = partial(store.search, query.owner, terms)
            job[f"{name}: answer"] = partial(store.answer, query.owner, terms)
        yield job


def question_jobs(bench: Bench, ours: Mapping[str, Ours], queries: Sequence[Query]) -> Iterator[Job]:
    """Segmenting and the index, without a recipe in between that empties the processor's caches with its scans."""
    for query in queries:
        yield {name: partial(_ask, bench.segmenter, store, query) for name, store in ours.items()}


def _ask(segmenter: Segmenter, store: Ours, query: Query) -> None:
    store.search(query.owner, question(segmenter, query.text))


def agreement(bench: Bench, recipe: A1 | A2, ours: Mapping[str, Ours], queries: Sequence[Query]) -> dict[str, float]:
    """Mean share of the reference's top eight that a variant gives too."""
    shares: dict[str, list[float]] = {}
    for query in queries:
        terms = question(bench.segmenter, query.text)
        plain = plain_of(bench.corpus, query.owner, bench.segmenter)
        wanted = set(plain.answer(terms, with_importance=kind_of(bench.corpus.kind) is Kind.MEMORY))
        if not wanted:
            continue
        given = {name: store.answer(query.owner, terms) for name, store in ours.items()}
        given[recipe.name] = recipe.search(query.owner, recipe.question(query.text))
        for name, texts in given.items():
            shares.setdefault(name, []).append(len(wanted & set(texts)) / len(wanted))
    return {name: sum(values) / len(values) for name, values in shares.items()}


def growth(bench: Bench, smaller: Bench, results: Results) -> None:
    """The same owners and questions in a store with a tenth of everybody else's data."""
    for name in OURS:
        large, small = bench.ours(name), smaller.ours(name)
        for owner_class in smaller.corpus.planted:
            queries = bench.corpus.queries(owner_class, QUERIES_OTHERWISE + WARM_UP, seed=1)
            assert queries == smaller.corpus.queries(owner_class, QUERIES_OTHERWISE + WARM_UP, seed=1)
            interleave(growth_jobs(bench, large, small, queries[:WARM_UP]), time.thread_time)
            times = interleave(growth_jobs(bench, large, small, queries[WARM_UP:]), time.thread_time)
            results.growth.setdefault(name, {})[str(owner_class)] = times
        large.close()
        small.close()


def growth_jobs(bench: Bench, large: Ours, small: Ours, queries: Sequence[Query]) -> Iterator[Job]:
    for query in queries:
        terms = question(bench.segmenter, query.text)
        yield {
            "large": partial(large.search, query.owner, terms),
            "small": partial(small.search, query.owner, terms),
        }


# ---------------------------------------------------------------------------------- writing


def write(bench: Bench, results: Results) -> None:
    """Single commits and deletions, on copies. Clock: CPU of the whole process, since our writer is a thread."""
    recipe = bench.recipe()
    copies = {name: copied(bench, name) for name in (*OURS, *([recipe.name] if isinstance(recipe, A2) else []))}
    ours: dict[str, Ours] = {name: bench.ours(name, copies[name]) for name in OURS}
    if isinstance(recipe, A2):
        recipe.close()
        recipe = A2(copies[recipe.name])
    for each in ours.values():
        each.make_plain_rows()
    say("committing one by one")
    fresh = bench.corpus.fresh(COMMITS + WARM_UP)
    results.segmenting["one text"] = interleave(text_jobs(bench, recipe, fresh[WARM_UP:]), time.thread_time)
    interleave(commit_jobs(bench, recipe, ours, fresh[:WARM_UP]), time.process_time)
    results.commits = interleave(commit_jobs(bench, recipe, ours, fresh[WARM_UP:]), time.process_time)
    if bench.corpus.kind is Texts.MEMORY:
        results.commits |= whole_commits(bench, fresh)
    say("deleting one by one")
    results.deletions = interleave(deletion_jobs(bench, recipe, ours), time.process_time)
    for store in (recipe, *ours.values()):
        store.close()
    for path in copies.values():
        remove(path)


def whole_commits(bench: Bench, fresh: Sequence[Entry]) -> dict[str, Times]:
    """The same facts through the whole gateway: reading, judging, ledger, segmenting, index, commit."""
    path = copied(bench, "postings", "gateway")
    with open_memory(path, worker=False, clock=lambda: NOW) as memory:
        interleave(remembering(memory, fresh[:WARM_UP]), time.process_time)
        times = interleave(remembering(memory, fresh[WARM_UP:]), time.process_time)
    remove(path)
    return times


def remembering(memory: MemoryLayer, entries: Iterable[Entry]) -> Iterator[Job]:
    for entry in entries:
        yield {"remember()": partial(memory.scope(entry.owner).remember, entry.text, importance=entry.importance)}


def copied(bench: Bench, name: str, purpose: str = "copy") -> Path:
    source = bench.path(name)
    target = source.with_name(f"{purpose}-of-{source.name}")
    remove(target)
    shutil.copy(source, target)
    return target


def text_jobs(bench: Bench, recipe: A1 | A2, entries: Iterable[Entry]) -> Iterator[Job]:
    for entry in entries:
        job: Job = {"jiyi": partial(document, bench.segmenter, 0, entry.text)}
        if isinstance(recipe, A2):
            job = {**job, recipe.name: partial(recipe.segment, entry.text)}
        yield job


def commit_jobs(bench: Bench, recipe: A1 | A2, ours: Mapping[str, Ours], entries: Iterable[Entry]) -> Iterator[Job]:
    """`index`: a row like the recipe's, and the text index. Else the whole memory or message."""
    for entry in entries:
        terms = document(bench.segmenter, entry.number, entry.text)
        messages = bench.corpus.kind is Texts.MESSAGE
        value = message_of(entry) if messages else memory_of(entry, bench.segmenter, 1)
        job: dict[str, Callable[[], Any]] = {}
        for name, store in ours.items():
            job[f"{name}: whole"] = partial(store.add, entry, value, terms)
            job[f"{name}: index"] = partial(store.add_plain, entry, terms)
        if isinstance(recipe, A2):
            segmented = " ".join(recipe.segment(entry.text))
            job[recipe.name] = partial(recipe.add, entry.owner, entry.text, segmented, entry.importance)
        yield job


def deletion_jobs(bench: Bench, recipe: A1 | A2, ours: Mapping[str, Ours]) -> Iterator[Job]:
    """`index`: what `commit_jobs` added last. Else whole memories or messages from anywhere."""
    rng = random.Random(data.SEED)
    for place, plain in enumerate(bench.corpus.fresh(COMMITS)[-DELETIONS:]):
        owner = bench.corpus.random_owner(rng)
        seq = rng.randint(1, bench.corpus.sizes[owner])
        job: dict[str, Callable[[], Any]] = {}
        for name, store in ours.items():
            value = store.stored(owner, seq)
            job[f"{name}: whole"] = partial(store.delete, owner, value, document(bench.segmenter, seq, value.text))
            terms = document(bench.segmenter, plain.number, plain.text)
            job[f"{name}: index"] = partial(store.delete_plain, plain, terms)
        if isinstance(recipe, A2):
            job[recipe.name] = partial(recipe.delete, 1 + place * (bench.corpus.entries // DELETIONS))
        yield job


# ---------------------------------------------------------------------------------- the command


def run(entries: int, kind: Texts, directory: Path) -> Results:
    directory.mkdir(parents=True, exist_ok=True)
    segmenter = load_segmenter()
    large = entries >= data.LARGE_FROM
    bench = Bench(Corpus(entries, kind), directory, segmenter)
    say(f"{entries:,} {kind} texts of {len(bench.corpus.sizes):,} owners")
    grown = not large
    results = Results(kind=str(kind), entries=entries, owners=len(bench.corpus.sizes), builds=build(bench, grown=grown))
    search(bench, results, grown=grown)
    if large and kind is Texts.MEMORY:
        smaller = Bench(Corpus(entries // 10, kind), directory, segmenter)
        build(smaller, grown=False)
        say("growth with everybody else's data")
        growth(bench, smaller, results)
    write(bench, results)
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storage", description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--kind", type=Texts, choices=list(Texts), default=Texts.MEMORY)
    parser.add_argument("--dir", type=Path, required=True, help="stores are kept here and used again")
    parser.add_argument("--report", type=Path, help="write the tables here instead of to the screen")
    parser.add_argument("--json", type=Path, help="write every timing here")
    chosen = parser.parse_args(arguments)
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    results = run(chosen.entries, chosen.kind, chosen.dir)
    text = report.markdown(results)
    if chosen.report:
        chosen.report.write_text(text, encoding="utf-8")
    else:
        print(text)
    if chosen.json:
        chosen.json.write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")
    say("done")


if __name__ == "__main__":
    main()
