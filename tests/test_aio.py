"""The async twin says and does what the façade does (SPEC U1)."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jiyi import open_memory_async
from jiyi.aio import THREADS, AsyncMemoryLayer, AsyncScopedMemory, AsyncTogether
from jiyi.errors import NotFound, StoreClosed
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.together import Together
from tests.conftest import Clock

TWINS = ((MemoryLayer, AsyncMemoryLayer), (ScopedMemory, AsyncScopedMemory), (Together, AsyncTogether))

OPENING = ("scope", "shared", "together", "once")
"""Verbs that only say whose memory is meant: there is nothing to wait for."""


def public(kind: type) -> dict[str, object]:
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("plain", "twin"), TWINS)
def test_the_twin_has_every_verb_with_the_same_arguments(plain: type, twin: type) -> None:
    ours, theirs = public(plain), public(twin)
    assert theirs.keys() == ours.keys(), "add the verb to jiyi/aio.py"
    for name, verb in ours.items():
        if callable(verb):
            assert inspect.signature(theirs[name]).parameters == inspect.signature(verb).parameters, name  # type: ignore[arg-type]
            assert inspect.iscoroutinefunction(theirs[name]) is (name not in OPENING), name


@pytest.mark.parametrize(
    ("text", "change", "question", "old", "new"),
    [
        ("我们的数据库用的是 Oracle。", "数据库从 Oracle 迁到 TiDB 了。", "数据库用什么", "Oracle", "TiDB"),
        ("I live in Leeds.", "I moved to York.", "Where do I live?", "Leeds", "York"),
    ],
)
@pytest.mark.parametrize("index", ["reference", "postings", "native"])
def test_a_life_with_await(
    tmp_path: Path, index: str, text: str, change: str, question: str, old: str, new: str
) -> None:
    clock = Clock()

    async def live() -> None:
        where = "reference" if index == "reference" else tmp_path / "memory.db"
        chosen = {} if index == "reference" else {"memory_index": index, "message_index": index}
        memory = await open_memory_async(where, clock=clock, worker=False, **chosen)
        async with memory:
            me = memory.scope("ming", tz="Asia/Shanghai")
            assert me.user.user == "ming"
            await me.observe([{"role": "user", "text": text}], session="s1")
            await memory.work()
            early = clock.now
            clock.advance(days=3)
            await me.observe([{"role": "user", "text": change}], session="s1")
            await me.end("s1")
            assert new in (await me.recall(question)).items[0].text
            assert old in (await me.recall(question, known_at=early)).items[0].text
            assert new in (await me.context(question)).text
            receipt = await me.remember("我的猫叫年糕", importance=4)
            await me.undo(receipt.plan_id or "")
            await me.export(tmp_path / "one.zip")
            again = memory.scope("nora")
            await again.import_(tmp_path / "one.zip")
            assert await again.memories(status=None) == await me.memories(status=None)
            assert all(check.ok for check in await memory.check())
            with pytest.raises(NotFound):
                await me.forget(memory="m99")

    asyncio.run(live())


def test_many_tasks_at_once(tmp_path: Path) -> None:
    async def live() -> list[int]:
        async with open_memory_async(tmp_path / "memory.db", worker=False) as memory:
            users = [memory.scope(f"u{n}") for n in range(6)]

            async def talk(number: int) -> None:
                me = users[number % 6]
                await asyncio.gather(
                    me.remember(f"第{number}号柜子放着礼物{number}"),
                    me.observe([{"role": "user", "text": f"locker {number}", "id": f"l{number}"}], session="s1"),
                    me.recall("柜子"),
                    me.context("locker"),
                )

            await asyncio.gather(*(talk(n) for n in range(48)))
            await memory.work()
            found = await asyncio.gather(*(me.recall("柜子", limit=20) for me in users))
            said = await asyncio.gather(*(me.history() for me in users))
            assert [len(h.messages) for h in said] == [8] * 6
            for number, one in enumerate(found):
                texts = {i.text for i in one.items if i.kind == "memory"}
                assert texts == {f"第{n}号柜子放着礼物{n}" for n in range(number, 48, 6)}
            assert sum(t.name.startswith("jiyi_") for t in threading.enumerate()) <= THREADS
            return [len(await me.ledger()) for me in users]

    assert asyncio.run(live()) == [8] * 6
    assert not [t.name for t in threading.enumerate() if t.name.startswith("jiyi_")]


def test_the_loop_goes_on_while_memory_works(tmp_path: Path) -> None:
    """A call that waits in its thread holds up no other task."""

    async def live() -> None:
        async with await open_memory_async("reference", worker=False) as memory:
            me = memory.scope("ming")
            await me.remember("我的猫叫年糕")
            asked, go_on = threading.Event(), threading.Event()

            def counter(text: str) -> int:
                asked.set()
                assert go_on.wait(20)
                return len(text)

            slow = asyncio.create_task(me.context("年糕", budget=4000, count_tokens=counter))
            while not asked.is_set():
                await asyncio.sleep(0.001)
            assert [i.text for i in (await me.recall("年糕")).items] == ["我的猫叫年糕"]
            assert not slow.done()
            go_on.set()
            assert "年糕" in (await slow).text

    asyncio.run(live())


def test_closing_waits_for_what_runs_and_twice_is_fine(tmp_path: Path) -> None:
    async def live() -> None:
        memory = await open_memory_async(tmp_path / "memory.db", worker=False)
        me = memory.scope("ming")
        writes = [asyncio.create_task(me.remember(f"事项{n}")) for n in range(20)]
        await asyncio.sleep(0)
        await memory.close()
        await memory.close()
        assert len(await asyncio.gather(*writes)) == 20
        with pytest.raises(StoreClosed):
            await me.memories()
        async with await open_memory_async(tmp_path / "memory.db", worker=False) as again:
            assert len(await again.scope("ming").memories()) == 20

    asyncio.run(live())


def test_who_does_not_await_does_not_load_asyncio() -> None:
    told = "import sys, jiyi; assert jiyi.open_memory_async; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
