"""What reading costs: CPU of each step a message goes through before and after it is stored (SPEC C6, C11), and how long
`observe` keeps its caller waiting beside a bare durable insert of the same rows (SPEC C1).

    python -m benchmarks.text --report FILE

With JIYI_EVALDATA the same is measured on short user messages of public conversations.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.report import cells, table
from benchmarks.timing import Job, Times, interleave
from jiyi.assembly import assemble, open_memory
from jiyi.domain.memory import Message, Role
from jiyi.evaluation.extract_report import evenly
from jiyi.evaluation.sampling import read_chats
from jiyi.pipelines.observe import clean_text
from jiyi.settings import Settings
from jiyi.shipped import load_segmenter

ROUNDS = 7
SHORT = 120  # characters of the longest short message
PUBLIC = 2_000  # of them are taken, evenly over all
TARGET = 2_000  # short messages a CPU second: clean, redact, distil by rules
OBSERVED, WARM_UP = 400, 40
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
PIECES = (
    "我最近在做一个排班系统，最头疼的是临时换班。", "今天食堂的面不错。", "好的，谢谢！", "我们的预算是 40 万，下周三开会。",
    "数据库从 MySQL 换成 PostgreSQL 了。", "我表弟住在合肥，在一家药厂上班。", "这个接口 POST /v1/shifts 返回 409。",
    "I moved to Leeds last month.", "We met on 2024-03-01 at 10:30 about version 1.2.3.", "Thanks, that works.",
    "My manager is Priya, she likes short reports.", "Order 20260302-88137 arrived, commit 9fceb02d0ae598e9.",
    "Could you write a test for build_status?", "I'm allergic to shellfish.", "ok", "收到，明白了。",
)  # fmt: skip


def messages(count: int, characters: int, seed: int) -> list[str]:
    """Texts of about that many characters, put together at random from the pieces."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        text = ""
        while len(text) < characters:
            text += rng.choice(PIECES)
        texts.append(text[:characters])
    return texts


def talk(count: int, seed: int) -> list[str]:
    """Messages of one or two whole sentences each."""
    rng = random.Random(seed)
    return [" ".join(rng.sample(PIECES, rng.choice((1, 1, 2)))) for _ in range(count)]


def cost(step: Callable[[str], object], texts: Sequence[str]) -> float:
    """Milliseconds of CPU a text: the best of several rounds, after one that warms the caches."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.thread_time()
        for text in texts:
            step(text)
        best = min(best, (time.thread_time() - began) / len(texts) * 1e3)
    return best


def public_talk() -> list[str]:
    """Short user messages of MemoryBank and LoCoMo, where JIYI_EVALDATA names their folder."""
    folder = os.environ.get("JIYI_EVALDATA")
    if not folder:
        return []
    texts = (m.text for chat in read_chats(Path(folder), "dev") for m in chat.messages if m.role is Role.USER)
    return evenly([text for text in texts if len(text) <= SHORT], PUBLIC)


# ------------------------------------------------------------------ observe beside a bare insert


def waiting(texts: Sequence[str], folder: Path) -> dict[str, Times]:
    """Wall seconds until `observe` returns, and until the rows it writes are inserted and committed by plain sqlite3.

    Both into files that jiyi made, write-ahead log, synchronous=FULL, a transaction for each message, interleaved.
    """
    turns = [{"role": "user", "text": text, "id": f"t{n}"} for n, text in enumerate(texts)]
    clock = lambda: AT  # noqa: E731
    with open_memory(folder / "rows.db", worker=False, clock=clock) as memory:
        for turn in turns:
            memory.scope("u").observe([turn], session="s")
    rows = list(_written(folder / "rows.db", len(turns)))
    for name in ("message.db", "rows-again.db"):
        open_memory(folder / name, worker=False).close()
    with (
        open_memory(folder / "observe.db", worker=False, clock=clock) as memory,
        closing(_bare(folder / "message.db")) as one,
        closing(_bare(folder / "rows-again.db")) as all_rows,
    ):
        me = memory.scope("u")
        jobs: list[Job] = [
            {
                "observe()": partial(me.observe, [turn], session="s"),
                "bare insert: the message": partial(_insert, one, written[:1]),
                "bare insert: the message and its jobs": partial(_insert, all_rows, written),
            }
            for turn, written in zip(turns, rows, strict=True)
        ]
        interleave(jobs[:WARM_UP], time.perf_counter)
        return interleave(jobs[WARM_UP:], time.perf_counter)


Insert = tuple[str, tuple[object, ...]]


def _written(path: Path, count: int) -> Iterator[list[Insert]]:
    """The statements that write what `observe` wrote, message by message: its row first, then its jobs."""
    with closing(sqlite3.connect(path)) as connection:
        messages = list(_rows(connection, "message", "key"))
        jobs = list(_rows(connection, "job", "id"))
    share = len(jobs) // count
    for number, message in enumerate(messages):
        yield [message, *jobs[number * share : (number + 1) * share]]


def _rows(connection: sqlite3.Connection, name: str, order: str) -> Iterator[Insert]:
    found = connection.execute(f"SELECT * FROM {name} ORDER BY {order}")
    places = ", ".join("?" for _ in found.description)
    for row in found:
        yield f"INSERT INTO {name} VALUES ({places})", row


def _bare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL").fetchall()
    return connection


def _insert(connection: sqlite3.Connection, statements: Sequence[Insert]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement, values in statements:
        connection.execute(statement, values)
    connection.execute("COMMIT")


# ------------------------------------------------------------------ the run


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dir", type=Path, help="not used: what is stored goes to a temporary folder")
    chosen = parser.parse_args(arguments)
    mixes = {"own, whole sentences": talk(300, 7)}
    mixes |= {"own, 40 characters": messages(300, 40, 7), "own, 200 characters": messages(300, 200, 7)}
    if public := public_talk():
        mixes[f"public, ≤ {SHORT} characters"] = public
    found = {name: {step: cost(do, texts) for step, do in steps().items()} for name, texts in mixes.items()}
    with tempfile.TemporaryDirectory(prefix="jiyi-bench-") as folder:
        times = waiting(talk(OBSERVED + WARM_UP, 11), Path(folder))
    sizes = {name: sum(map(len, texts)) / len(texts) for name, texts in mixes.items()}
    chosen.report.write_text(f"{_costs(found, sizes)}\n\n{_waits(times)}\n", "utf-8")
    if chosen.json:
        waits = {name: {"p50": t.p50, "p95": t.p95} for name, t in times.items()}
        chosen.json.write_text(json.dumps({"cpu_ms": found, "characters": sizes, "waits_s": waits}), "utf-8")


def steps() -> dict[str, Callable[[str], object]]:
    """What is done to a text, by name."""
    parts, segmenter = assemble(Settings(worker=False)), load_segmenter()

    def said(text: str) -> Message:
        return Message(1, "a", "s", Role.USER, text, AT)

    def distil(text: str) -> object:
        return parts.distiller.distil(said(text), zone=UTC)

    def guarded(text: str) -> object:
        message = said(text)
        found = parts.distiller.distil(message, zone=UTC, cleaned=parts.guard.read(message).cleaned)
        return found and parts.guard.admit(found, [message], ())

    return {
        "fold": segmenter.fold,
        "index terms": segmenter.index_terms,
        "query terms": segmenter.query_terms,
        "redact": lambda text: parts.redaction.text(text),
        "clean": lambda text: parts.guard.read(said(text)),
        "distil by rules": distil,
        "clean, distil by rules, screen what was found": guarded,
        WHOLE: lambda text: guarded(parts.redaction.text(clean_text(text))),
    }


WHOLE = "clean + redact + distil by rules"


def _costs(found: dict[str, dict[str, float]], sizes: dict[str, float]) -> str:
    rows = [[step, *(f"{found[mix][step]:.3f}" for mix in found)] for step in next(iter(found.values()))]
    rows.append([f"{WHOLE}, messages per CPU second", *(f"{1e3 / found[mix][WHOLE]:,.0f}" for mix in found)])
    rows.append(["characters a message", *(f"{sizes[mix]:.0f}" for mix in found)])
    short = {mix: 1e3 / steps[WHOLE] for mix, steps in found.items() if sizes[mix] <= SHORT}
    verdicts = [
        f"- {mix}: {rate:,.0f} a CPU second, target ≥ {TARGET:,}: "
        + ("met" if rate >= TARGET else f"**short by a factor {TARGET / rate:.2f}**")
        for mix, rate in short.items()
    ]
    return "\n".join(["## Reading: CPU ms a message", "", table(("", *found), rows), "", *verdicts])


def _waits(times: dict[str, Times]) -> str:
    observed = times["observe()"]
    rows = [
        [name, cells(t), f"{observed.p50 / t.p50:.2f}×", f"{observed.p95 / t.p95:.2f}×"] for name, t in times.items()
    ]
    head = ("", "p50 / p95 ms", "observe() takes, p50", "p95")
    return "\n".join(["## Waiting: wall ms until one message is durable", "", table(head, rows)])


if __name__ == "__main__":
    main()
