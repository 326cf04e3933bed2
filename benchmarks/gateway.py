"""The whole way through jiyi, as a caller feels it: remember(), recall(), observe(), and the work behind observe().

    python -m benchmarks.gateway --entries 100000 --dir /tmp/bench

Runs on a copy of the store that `benchmarks.storage` fills (and fills it when it is not there).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from benchmarks.data import Corpus, Entry
from benchmarks.recipes import NOW
from benchmarks.report import cells, table
from benchmarks.storage import WARM_UP, Bench, build, copied, remembering, remove
from benchmarks.timing import Job, Times, interleave
from jiyi.assembly import open_memory
from jiyi.memory_layer import MemoryLayer
from jiyi.shipped import load_segmenter

CALLS = 100
CLASSES = (100, 1_000, 10_000)


@dataclass(slots=True)
class Calls:
    """Times of each verb, per class of owner."""

    entries: int
    verbs: dict[str, dict[str, Times]] = field(default_factory=dict)


def recalling(memory: MemoryLayer, corpus: Corpus, owner_class: int, seed: int, count: int) -> Iterator[Job]:
    for query in corpus.queries(owner_class, count, seed=seed):
        scope = memory.scope(query.owner)
        yield {"recall()": partial(scope.recall, query.text), "context()": partial(scope.context, query.text)}


def observing(memory: MemoryLayer, entries: Sequence[Entry]) -> Iterator[Job]:
    for entry in entries:
        turn = {"role": "user", "text": entry.text, "id": f"t{entry.number}"}
        yield {"observe()": partial(memory.scope(entry.owner).observe, [turn], session="s1")}


def measure(memory: MemoryLayer, corpus: Corpus) -> Calls:
    calls = Calls(corpus.entries)
    for place, owner_class in enumerate(CLASSES):
        entries = [
            replace(entry, owner=corpus.planted[owner_class][number % len(corpus.planted[owner_class])])
            for number, entry in enumerate(corpus.fresh(CALLS + WARM_UP, seed=place + 1))
        ]
        recalls = partial(recalling, memory, corpus, owner_class)
        interleave(recalls(1, WARM_UP), time.thread_time)
        verbs = interleave(recalls(2, CALLS), time.thread_time)
        interleave(remembering(memory, entries[:WARM_UP]), time.process_time)
        verbs |= interleave(remembering(memory, entries[WARM_UP:]), time.process_time)
        # Numbered apart, because a message id must not come twice.
        turns = [replace(entry, number=entry.number + place * CALLS * 10) for entry in entries]
        interleave(observing(memory, turns[:WARM_UP]), time.process_time)
        memory.work()
        verbs |= interleave(observing(memory, turns[WARM_UP:]), time.process_time)
        verbs["work() per message"] = _work(memory)
        calls.verbs[str(owner_class)] = verbs
    return calls


def _work(memory: MemoryLayer) -> Times:
    """Distilling and indexing all that waits, spread over its messages."""
    start = time.process_time()
    memory.work()
    return Times(((time.process_time() - start) / CALLS,))


def markdown(calls: Calls) -> str:
    rows = []
    for verb in next(iter(calls.verbs.values())):
        rows.append([verb, *(cells(verbs[verb]) for verbs in calls.verbs.values())])
    rates = [f"{1 / verbs['remember()'].mean:,.0f}" for verbs in calls.verbs.values()]
    rows.append(["remember(), per CPU second", *rates])
    head = ("", *(f"user of {int(owner_class):,}" for owner_class in calls.verbs))
    return f"## The whole way, {calls.entries:,} memories in all: CPU ms, p50 / p95\n\n{table(head, rows)}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    bench = Bench(Corpus(chosen.entries), chosen.dir, load_segmenter())
    build(bench, grown=False)
    path = copied(bench, "postings")
    later = NOW + timedelta(days=1)
    with open_memory(path, worker=False, clock=lambda: later) as memory:
        calls = measure(memory, bench.corpus)
    remove(path)
    text = markdown(calls)
    if chosen.report:
        chosen.report.write_text(text, encoding="utf-8")
    else:
        print(text)
    if chosen.json:
        chosen.json.write_text(json.dumps(asdict(calls), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
