"""`jiyi demo`: earlier conversations, a new one, and what the agent is told (SPEC §1).

The people and sentences are invented. The clock is fixed, so that every run prints the same.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from jiyi.assembly import open_memory
from jiyi.errors import InputError
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.context import ContextBlock
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import zone
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line
from jiyi.surfaces.cli.wording import (
    BOLD,
    item_document,
    item_lines,
    memories_document,
    memories_lines,
    message_document,
    message_lines,
    receipt_document,
    receipt_lines,
)

DATABASE, USER, TIMEZONE = Path("demo") / "memory.db", "demo", "Asia/Shanghai"


@dataclass(frozen=True, slots=True)
class Talk:
    """An earlier conversation; `at` is when it began. Turns alternate, the user first."""

    session: str
    at: str
    turns: tuple[str, ...]


EARLIER = (
    Talk(
        "demo-1", "2026-09-07T09:10:00+08:00",
        ("我叫林夏，住在杭州。", "你好，林夏。",
         "我们的数据库是 MySQL，连接串在 .env 的 DB_URL。", "好的。",
         "今天天气不错，哈哈。", "是啊。"),
    ),
    Talk(
        "demo-2", "2026-09-21T20:05:00+08:00",
        ("I'm allergic to peanuts.", "Noted.",
         "I prefer short answers with one code example.", "Will do.",
         "I'm responsible for the stocktaking module.", "Sounds useful."),
    ),
    Talk(
        "demo-3", "2026-10-12T14:30:00+08:00",
        ("以后回答先说结论。", "好的。",
         "我们的预算是30万。", "收到。"),
    ),
    Talk(
        "demo-4", "2026-11-02T10:00:00+08:00",
        ("数据库从 MySQL 换成 PostgreSQL 了。", "好的，以后按 PostgreSQL 来。"),
    ),
)  # fmt: skip
TODAY = "2026-11-20T09:00:00+08:00"
NEW_SESSION = "demo-5"
QUESTIONS = {
    "question_zh": "数据库连不上了，先看哪里？",
    "question_en": "Which database do we use now, and what should lunch avoid?",
}
CHANGED = "database"
"""The fact that changed between the conversations."""
MISTAKE = "I live in Ningbo"
STRANGER = "guest"
PACE = timedelta(seconds=30)


class Clock:
    """Stands where it was set."""

    def __init__(self, at: str) -> None:
        self.at = datetime.fromisoformat(at)

    def __call__(self) -> datetime:
        return self.at


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the story, for people and as a document under `key`."""

    key: str
    title: str
    lines: tuple[Line, ...]
    document: Any


def demo(call: Call) -> None:
    """Show what jiyi does, in Chinese and English: no key, no server, no network.

    Earlier conversations are stored in demo/memory.db (or --db), then a new session asks. The file is
    made anew each time.
    """
    path = Path(call.common.db) if call.common.db else DATABASE
    user, tz = call.common.user or USER, call.common.tz or TIMEZONE
    _make_room(path)
    clock = Clock(EARLIER[0].at)
    with open_memory(path, clock=clock, worker=False, timezone=tz, synchronous="NORMAL") as layer:
        me = layer.scope(user, tenant=call.tenant, surface="demo")
        chapters = list(_chapters(layer, me, clock, zone(tz)))
    commands = _commands(path, user, tz, call)
    document = {"database": str(path), "user": user, **{c.key: c.document for c in chapters}, "commands": commands}
    call.out.show(document, _pages(chapters, commands))


def _pages(chapters: list[Chapter], commands: list[str]) -> Iterator[Line]:
    for number, chapter in enumerate(chapters, 1):
        yield ((f"{number}. {chapter.title}", BOLD),)
        yield from chapter.lines
        yield ""
    yield (("现在你来试 · Now try it yourself", BOLD),)
    yield from commands


# ------------------------------------------------------------------ the story


def _chapters(layer: MemoryLayer, me: ScopedMemory, clock: Clock, where: tzinfo) -> Iterator[Chapter]:
    for talk in EARLIER:
        clock.at = datetime.fromisoformat(talk.at)
        me.observe(list(_messages(talk)), session=talk.session)
        me.end(talk.session)
    clock.at = datetime.fromisoformat(TODAY)
    yield _said(me, where)
    yield _kept(me, where)
    for key, question in QUESTIONS.items():
        yield _told(key, question, me.context(question, session=NEW_SESSION), where)
    yield _changed(me, where)
    yield _undone(me, where)
    yield _apart(layer, me)


def _messages(talk: Talk) -> Iterator[dict[str, Any]]:
    start = datetime.fromisoformat(talk.at)
    for number, text in enumerate(talk.turns):
        yield {
            "id": f"{talk.session}:{number}",
            "role": "assistant" if number % 2 else "user",
            "text": text,
            "at": (start + number * PACE).isoformat(),
        }


def _said(me: ScopedMemory, zone: tzinfo) -> Chapter:
    turns = me.history(limit=100).messages
    document = [message_document(m, zone) for m in turns]
    return Chapter("said", "之前的会话 · Earlier conversations", tuple(message_lines(turns, zone)), document)


def _kept(me: ScopedMemory, zone: tzinfo) -> Chapter:
    memories = me.memories(status=None)
    lines = tuple(memories_lines(me, memories, zone, "nothing"))
    return Chapter("kept", "记住了什么 · What was kept of them", lines, memories_document(me, memories, zone))


def _told(key: str, question: str, block: ContextBlock, zone: tzinfo) -> Chapter:
    lines: list[Line] = [f"   {question}", "", *block.text.splitlines(), "", "   为什么是这些 · Why these"]
    for rank, item in enumerate(block.items, 1):
        lines += item_lines(item, rank, zone)
    document = {
        "query": question,
        "text": block.text,
        "tokens": block.tokens,
        "items": [item_document(item, rank, zone) for rank, item in enumerate(block.items, 1)],
    }
    return Chapter(
        key, "新会话里问，智能体会被告知 · A new session asks, and the agent is told", tuple(lines), document
    )


def _changed(me: ScopedMemory, zone: tzinfo) -> Chapter:
    values = me.versions(CHANGED)
    lines = tuple(memories_lines(me, values, zone, "nothing"))
    title = "变化有日期，旧值留作历史 · A change is dated, and the old value stays as history"
    return Chapter("changed", title, lines, memories_document(me, values, zone))


def _undone(me: ScopedMemory, zone: tzinfo) -> Chapter:
    done = me.remember(MISTAKE)
    assert done.plan_id is not None
    back = me.undo(done.plan_id)
    lines = (*receipt_lines(done, "记下 · remembered"), *receipt_lines(back, "撤销 · undone"))
    document = {"remembered": receipt_document(done, me, zone), "undone": receipt_document(back, me, zone)}
    return Chapter("undone", "说错了可以撤销 · What was a mistake can be undone", lines, document)


def _apart(layer: MemoryLayer, me: ScopedMemory) -> Chapter:
    question = QUESTIONS["question_en"]
    other = layer.scope(STRANGER, tenant=me.user.tenant).context(question)
    title = "别人问同样的问题，什么也得不到 · Somebody else asks the same and gets nothing"
    return Chapter("apart", title, tuple(other.text.splitlines()), {"query": question, "text": other.text})


def _commands(path: Path, user: str, tz: str, call: Call) -> list[str]:
    where = ["--db", str(path), "--user", user, *(["--tenant", call.tenant] if call.common.tenant else []), "--tz", tz]
    asked = list(QUESTIONS.values())
    tries = (
        ["recall", asked[0]], ["recall", asked[1]], ["context", asked[0], "--explain"], ["versions", CHANGED],
        ["profile"], ["ledger"],
    )  # fmt: skip
    return [f"{_program()} {shlex.join([*words, *where])}" for words in tries]


def _program() -> str:
    """How this program can be called again from here: it may stand in an environment that is not active."""
    if shutil.which("jiyi"):
        return "jiyi"
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.stem == "jiyi" else f"{shlex.quote(sys.executable)} -m jiyi"


# ------------------------------------------------------------------ the file


def _make_room(path: Path) -> None:
    """Delete what an earlier demo left, and note that what comes next is a demo's.

    Raises:
        InputError: there is a file that the demo did not make.
    """
    note = Path(f"{path}.made-by-demo")
    if path.exists() and not note.exists():
        raise InputError(f"{path} was not made by `jiyi demo`, so it is left alone: name another file with --db")
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}.key")):
        file.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("The database beside this file is made anew by every `jiyi demo`.\n", "utf-8")
