"""What a whole recall costs one user of many turns: read the question, find, rank, explain; as CPU time beside the recipes of
the articles and beside Chroma, in one process (SPEC O6, R1).

    python -m benchmarks.search --dir DIR --report FILE
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Entry, Vocabulary, compose
from benchmarks.recipes import A2, NOW, A1AnyWord
from benchmarks.report import cells, table
from benchmarks.timing import Times, interleave
from benchmarks.vectors import peak_mb
from jiyi.assembly import open_memory
from jiyi.embedders import open_local
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Embedder
from jiyi.stores.chroma import ChromaEngine, open_chroma
from jiyi.stores.scanning import quantised

SIZES = (6_000, 100_000)
TURNS_OF_A_SESSION = 20
OTHERS, TURNS_OF_OTHERS = 20, 500
BATCH = 500
FACTS = 300
EMBED_AT_ONCE = 2_000
QUESTIONS, WARM_UP = 60, 5
LIMIT = 10
EMBEDDERS = ("none", "use", "both")
TARGETS_MS = {("none", 6_000): 2, ("none", 100_000): 8, ("use", 6_000): 10, ("use", 100_000): 30, ("both", 6_000): 25,
              ("both", 100_000): 60}  # fmt: skip
"""p95, with the embedding of the question."""
LARGEST_IN_CHROMA = 6_000
FORMS = {
    True: ("我什么时候说过{0}和{1}？", "{0}{1}是怎么回事", "之前提到的{0}，还有{1}{2}"),
    False: ("When did I talk about {0} and {1}?", "What was it with the {0} {1}?", "{0} {1} {2}"),
}


class QuickDocuments:
    """A real model for questions; turns get directions out of their hash, since a hundred thousand are needed and a search
    costs the same whatever they are."""

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self.name, self.dimension = f"bench/{real.name}", real.dimension

    def documents(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        seeds = (int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") for text in texts)
        rows = [np.random.default_rng(seed).standard_normal(self.dimension, dtype=np.float32) for seed in seeds]
        return np.array([row / np.linalg.norm(row) for row in rows])

    def query(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        return self._real.query(text)

    def close(self) -> None:
        self._real.close()


class Talk:
    """Made-up turns of one user, Chinese and English, and questions about them."""

    def __init__(self, user: str, size: int, vocabulary: Vocabulary) -> None:
        self.user, self.size, self._vocabulary = user, size, vocabulary

    def turns(self) -> Iterator[Entry]:
        for number, (chinese, words) in enumerate(self._drawn(), start=1):
            yield Entry(self.user, number, compose(words, chinese), 3, 700.0 * (1 - (number - 0.5) / self.size))

    def _drawn(self) -> Iterator[tuple[bool, list[str]]]:
        rng = random.Random(f"search:{self.user}")
        for _ in range(self.size):
            chinese = rng.random() < 0.6
            yield chinese, self._vocabulary.words(rng, chinese, rng.randint(6, 29))

    def facts(self, count: int) -> Iterator[str]:
        """Short statements in the words of the turns."""
        rng = random.Random(f"facts:{self.user}")
        for _ in range(count):
            chinese = rng.random() < 0.6
            yield compose(self._vocabulary.words(rng, chinese, 6), chinese)

    def questions(self, count: int) -> list[str]:
        """Sentences around words of one turn, with a word or two from anywhere."""
        rng, drawn = random.Random(f"asked:{self.user}"), list(self._drawn())
        asked = []
        while len(asked) < count:
            chinese, words = rng.choice(drawn)
            known = [word for word in dict.fromkeys(words) if word not in self._vocabulary.common]
            if len(known) >= 2:
                other = self._vocabulary.words(rng, chinese, 1)
                asked.append(rng.choice(FORMS[chinese]).format(*rng.sample(known, 2), *other))
        return asked


# ------------------------------------------------------------------ filling


def opened(path: Path, embedder: str) -> MemoryLayer:
    own = None if embedder == "none" else QuickDocuments(open_local(embedder))
    return open_memory(path, embedder=own, worker=False, clock=lambda: NOW, embedding={"batch": EMBED_AT_ONCE})


def filled(folder: Path, name: str, talks: Sequence[Talk]) -> MemoryLayer:
    """The memory with that embedder. Words and facts are stored and indexed once; the others are copies that are embedded."""
    path, words = folder / f"search-{name}.db", folder / "search-none.db"
    fresh = not path.exists()
    if fresh and name != "none":
        with opened(words, "none") as told:
            told.backup(str(path))
    memory = opened(path, name)
    if fresh and name == "none":
        fill(memory, talks)
    if fresh:
        memory.work()
    return memory


def fill(memory: MemoryLayer, talks: Sequence[Talk]) -> None:
    """Tell everything. The turns are somebody else's, so that no rule reads them: random words state nothing, and reading
    them took three quarters of the time. Facts are remembered beside them."""
    for talk in talks:
        me, batch = memory.scope(user=talk.user), list[dict[str, str]]()
        if talk.size in SIZES:
            for fact in talk.facts(FACTS):
                me.remember(fact)
        for turn in talk.turns():
            at = NOW.timestamp() - turn.age_days * 86_400
            session = f"s{turn.number // TURNS_OF_A_SESSION}"
            batch.append(
                {"id": str(turn.number), "role": "other", "text": turn.text, "session": session, "at": stamp(at)}
            )
            if len(batch) == BATCH:
                me.observe(batch)
                batch.clear()
        if batch:
            me.observe(batch)
        memory.work()


def stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


# ------------------------------------------------------------------ measuring


def chroma_search(engine: ChromaEngine, embedder: Embedder, collection: str, question: str) -> None:
    [query] = quantised(embedder.query(question)[None])
    engine.near(collection, query, LIMIT)


def measure(folder: Path) -> tuple[list[list[str]], dict[str, Any]]:
    vocabulary = Vocabulary()
    talks = {size: Talk(f"u{size}", size, vocabulary) for size in SIZES}
    others = [Talk(f"o{n}", TURNS_OF_OTHERS, vocabulary) for n in range(OTHERS)]
    with ExitStack() as open_things:
        told = [*talks.values(), *others]
        memories = {name: open_things.enter_context(filled(folder, name, told)) for name in EMBEDDERS}
        recipes = {"A1": A1AnyWord(folder / "search-a1.db"), "A2": A2(folder / "search-a2.db")}
        for recipe in recipes.values():
            open_things.enter_context(closing(recipe))
            if not recipe.search("u6000", recipe.question("the")):
                everything = [turn for talk in told for turn in talk.turns()]
                recipe.load(recipe.prepare(everything))  # type: ignore[arg-type]
        engine = open_things.enter_context(closing(open_chroma(str(folder / "search-chroma"))))
        real, quick = open_local("use"), QuickDocuments(open_local("use"))
        rows, found = [], dict[str, Any]()
        for size, talk in talks.items():
            if size <= LARGEST_IN_CHROMA:
                texts = [turn.text for turn in talk.turns()]
                engine.put(talk.user, dict(enumerate(quantised(quick.documents(texts)), 1)))
            times = interleave(jobs(talk, memories, recipes, engine, real), time.process_time)
            times = {name: Times(t.seconds[WARM_UP:]) for name, t in times.items()}
            rows += [row(name, size, times) for name in times]
            found[str(size)] = {name: {"p50_ms": t.p50 * 1e3, "p95_ms": t.p95 * 1e3} for name, t in times.items()}
    return rows, found


def jobs(
    talk: Talk, memories: dict[str, MemoryLayer], recipes: dict[str, Any], engine: ChromaEngine, real: Embedder
) -> Iterator[dict[str, Callable[[], Any]]]:
    for question in talk.questions(WARM_UP + QUESTIONS):
        work: dict[str, Callable[[], Any]] = {
            name: partial(memory.scope(user=talk.user).recall, question, limit=LIMIT)
            for name, memory in memories.items()
        }
        for name, recipe in recipes.items():
            work[name] = partial(asked_of, recipe, talk.user, question)
        if talk.size <= LARGEST_IN_CHROMA:
            work["Chroma + USE"] = partial(chroma_search, engine, real, talk.user, question)
        yield work


def asked_of(recipe: Any, user: str, question: str) -> None:
    recipe.search(user, recipe.question(question))


def row(name: str, size: int, times: dict[str, Times]) -> list[str]:
    target = TARGETS_MS.get((name, size))
    told = "" if target is None else f"≤ {target}: {'met' if times[name].p95 * 1e3 <= target else 'short'}"
    if told.endswith("short"):
        told = told.replace("short", f"**short by a factor {times[name].p95 * 1e3 / target:.2f}**")  # type: ignore[operator]
    shown = name if target is None else f"jiyi, embedder {name}"
    return [f"{size:,}", shown, cells(times[name]), told, f"{times[name].p95 / times['none'].p95:.2f}×"]


def serve(folder: Path, embedder: str) -> None:
    """In a process of its own: the memory that it takes to answer, as JSON."""
    with opened(folder / f"search-{embedder}.db", embedder) as memory:
        vocabulary = Vocabulary()
        for size in SIZES:
            talk = Talk(f"u{size}", size, vocabulary)
            for question in talk.questions(20):
                memory.scope(user=talk.user).recall(question, limit=LIMIT)
    print(json.dumps(peak_mb()))


def memory_of(folder: Path, embedder: str) -> float:
    command = [sys.executable, "-m", "benchmarks.search", "--dir", str(folder), "--serve", embedder]
    return float(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", choices=EMBEDDERS, help="answer in this process and print what memory it took")
    parser.add_argument("--again", action="store_true", help="make the stores anew")
    chosen = parser.parse_args(arguments)
    if chosen.serve:
        return serve(chosen.dir, chosen.serve)
    if chosen.again:
        for path in chosen.dir.glob("search-*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    chosen.dir.mkdir(parents=True, exist_ok=True)
    rows, found = measure(chosen.dir)
    resident = {name: memory_of(chosen.dir, name) for name in EMBEDDERS}
    parts = [
        f"### Recall by a user of so many turns, {LIMIT} items, CPU ms p50 / p95",
        table(["turns", "", "p50 / p95", "target (p95)", "p95 beside jiyi's own words alone"], rows),
        "The recipes search everybody's turns; ours and Chroma's one user's. A question is read, and embedded where there is"
        " an embedder, inside the time.",
        "### Memory of a process that answers",
        table(["embedder", "MB at the most"], [[name, f"{mb:.0f}"] for name, mb in resident.items()]),
    ]
    chosen.report.write_text("\n\n".join(parts) + "\n", "utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps({"search": found, "resident_mb": resident}, indent=1), "utf-8")
    return None


if __name__ == "__main__":
    main()
