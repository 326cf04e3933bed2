"""What reading costs: CPU of each step a message goes through before and after it is stored (SPEC C6, C11).

python -m benchmarks.text --report FILE
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from jiyi.assembly import assemble, load_segmenter
from jiyi.domain.memory import Message, Role
from jiyi.settings import Settings

ROUNDS = 7
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


def cost(step: Callable[[str], object], texts: Sequence[str]) -> float:
    """Milliseconds of CPU a text: the best of several rounds, after one that warms the caches."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.thread_time()
        for text in texts:
            step(text)
        best = min(best, (time.thread_time() - began) / len(texts) * 1e3)
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dir", type=Path, help="not used: nothing is stored")
    chosen = parser.parse_args(arguments)
    parts = assemble(Settings(worker=False))
    segmenter = load_segmenter()

    def distil(text: str) -> object:
        return parts.distiller.distil(Message(1, "a", "s", Role.USER, text, AT), zone=UTC)

    steps: dict[str, Callable[[str], object]] = {
        "fold": segmenter.fold,
        "index terms": segmenter.index_terms,
        "query terms": segmenter.query_terms,
        "redact": lambda text: parts.redaction.text(text),
        "distil by rules": distil,
    }
    sizes = (40, 200)
    found = {name: [cost(step, messages(300, size, 7)) for size in sizes] for name, step in steps.items()}
    lines = [
        "## Reading: CPU ms a message",
        "",
        f"|  | {' | '.join(f'{s} characters' for s in sizes)} | short ones per CPU second |",
    ]
    lines += ["| --- | --- | --- | --- |"]
    lines += [f"| {name} | {short:.3f} | {long:.3f} | {1e3 / short:,.0f} |" for name, (short, long) in found.items()]
    chosen.report.write_text("\n".join(lines) + "\n", "utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
