"""Forgetting one memory reaches everything that said it, whenever and beside whatever it was said (SPEC F6)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.memory import Status
from jiyi.errors import InputError
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

SCAN = """
import pathlib, sys
data = b"".join(p.read_bytes() for p in pathlib.Path(sys.argv[1]).iterdir())
sys.exit(any(word.encode() in data for word in sys.argv[2:]))
"""
WORD = "zanzibar"
"""A word that nothing else in these tests says."""


def said(me: ScopedMemory, clock: Clock, *texts: str, name: str | None = None) -> None:
    for text in texts:
        clock.advance(minutes=1)
        me.observe([{"role": "user", "text": text, "name": name}], session="s1")


def shown(me: ScopedMemory) -> str:
    """Everything that can be asked for, as text."""
    recalled = me.recall(WORD, limit=50), me.recall(WORD, limit=50, kinds={"message"})
    asked = [i.text for found in recalled for i in found.items] + [me.context(WORD).text, me.profile().text]
    return repr((me.memories(status=None), me.ledger(), me.history(limit=100).messages, asked)).lower()


def test_what_was_said_but_not_distilled_yet_goes_with_it(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I love zanzibar tea.")
    layer.work()
    said(me, clock, "I love Zanzibar tea.")
    me.forget(memory="m1")
    layer.work()
    assert me.memories(status=None) == []
    assert WORD not in shown(me)


def test_a_memory_declared_before_the_talk_was_distilled_is_not_learnt_from_it(
    layer: MemoryLayer, clock: Clock
) -> None:
    me = layer.scope("ming")
    said(me, clock, "我住在桑给巴尔。")
    me.remember("我住在桑给巴尔")
    me.forget(memory="m1")
    layer.work()
    assert me.memories(status=None) == []
    assert me.history().messages == ()


@pytest.mark.parametrize("known", [False, True])
def test_the_old_value_goes_from_the_sentence_that_replaced_it(layer: MemoryLayer, clock: Clock, known: bool) -> None:
    """One span is evidence of both values; the other memory keeps its words."""
    me = layer.scope("ming")
    said(me, clock, *["数据库用的是 Zanzibar。"][: int(known)], "数据库从 Zanzibar 换成 PostgreSQL 了。")
    layer.work()
    [old] = me.memories(status=Status.ENDED)
    me.forget(memory=old.id)
    assert WORD not in shown(me)
    [new] = me.memories()
    assert [m.text for m in me.evidence(new.id)] == ["数据库从 ▇▇▇▇▇▇▇▇ 换成 PostgreSQL 了。"]


def test_what_a_memory_rested_on_before_an_undo_goes_too(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    for _ in range(2):
        said(me, clock, "I love zanzibar tea.")
        layer.work()
    me.undo("p2")
    me.forget(memory="m1")
    assert WORD not in shown(me)
    assert me.history().messages == ()


def test_evidence_is_the_same_in_whichever_order_a_change_arrives(layer: MemoryLayer, clock: Clock) -> None:
    texts = ["数据库用的是 MySQL。", "数据库从 MySQL 换成 PostgreSQL 了。"]
    messages = [
        {"role": "user", "text": text, "id": str(day), "at": f"2026-02-0{day}T09:00:00+08:00"}
        for day, text in enumerate(texts, 1)
    ]
    rested = []
    for user, order in (("ming", messages), ("nora", messages[::-1])):
        me = layer.scope(user)
        for message in order:
            me.observe([message])
            layer.work()
        [old] = me.memories(status=Status.ENDED)
        rested.append([m.id for m in sorted(me.evidence(old.id), key=lambda m: m.at)])
    assert rested == [["1", "2"], ["1", "2"]]


@pytest.mark.parametrize("index", ["postings", "native"])
@pytest.mark.parametrize(
    "talk",
    [
        lambda me, clock: said(me, clock, "I love zanzibar tea.", name="zanzibar"),
        lambda me, clock: said(me, clock, "I love zanzibar tea. I live in Leeds."),
        lambda me, clock: said(me, clock, "I love zanzibar tea.", "I love zanzibar tea."),
    ],
    ids=["the speaker's name", "beside another", "twice"],
)
def test_no_file_holds_a_byte_of_it(
    tmp_path: Path, clock: Clock, index: str, talk: Callable[[ScopedMemory, Clock], None]
) -> None:
    with open_memory(
        tmp_path / "memory.db", clock=clock, worker=False, memory_index=index, message_index=index
    ) as layer:
        me = layer.scope("ming")
        talk(me, clock)
        me.forget(memory=me.remember("I love zanzibar tea.").memories[0].id)
        # From another process: reading a database's file beside SQLite would drop its locks.
        assert subprocess.run([sys.executable, "-c", SCAN, str(tmp_path), WORD]).returncode == 0
        assert [c for c in layer.check() if not c.ok] == []


@pytest.mark.parametrize("topic", ["User's wife", "用户的妻子", "my wife", "我老婆"])
def test_a_relative_goes_by_whatever_words_they_were_told_by(layer: MemoryLayer, clock: Clock, topic: str) -> None:
    me = layer.scope("ming")
    said(me, clock, "I live in Bath.", "My wife works at Zanzibar.", "我老婆叫柳青青。", "I saw the wife of a friend.")
    layer.work()
    me.forget(topic=topic)
    assert not any("柳青青" in m.text or WORD in m.text.lower() for m in me.memories(status=None))
    assert [m.text for m in me.history().messages if "wife" in m.text] == ["I saw the wife of a friend."]
    assert not any("老婆" in m.text for m in me.history().messages)
    assert any("Bath" in m.text for m in me.memories())


@pytest.mark.parametrize("topic", ["User", "user", "用户"])
def test_the_word_that_every_memory_is_told_by_is_no_topic(layer: MemoryLayer, clock: Clock, topic: str) -> None:
    me = layer.scope("ming")
    said(me, clock, "I live in Bath.")
    layer.work()
    with pytest.raises(InputError, match="in every text"):
        me.forget(topic=topic)
    assert len(me.memories()) == 1
