"""Memory changes its mind when told, keeps what was, and can be taken back exactly (SPEC B3, B5, W1, W2)."""

from __future__ import annotations

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.memory import Status
from jiyi.domain.plans import replay
from jiyi.errors import InputError, NotFound, PlanRefused, TooLarge
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock


def say(layer: MemoryLayer, me: ScopedMemory, text: str, session: str) -> None:
    me.observe([{"role": "user", "text": text}], session=session)
    layer.work()


@pytest.mark.parametrize(
    ("before", "change", "question", "old", "new"),
    [
        ("我们的数据库用的是 Oracle。", "数据库从 Oracle 迁到 TiDB 了。", "现在用哪个数据库", "Oracle", "TiDB"),
        (
            "Our database is Oracle.",
            "We switched our database from Oracle to TiDB.",
            "which database now?",
            "Oracle",
            "TiDB",
        ),
        ("我住在无锡。", "我搬到常州了。", "我住在哪里", "无锡", "常州"),
        ("I live in Leeds.", "I moved to York.", "Where do I live?", "Leeds", "York"),
    ],
)
def test_an_explicit_change(
    layer: MemoryLayer, clock: Clock, before: str, change: str, question: str, old: str, new: str
) -> None:
    me = layer.scope("ming")
    say(layer, me, before, "s1")
    prior = me.memories(status=None)
    clock.advance(days=30)
    say(layer, me, change, "s2")
    clock.advance(days=1)

    # The new value is the only current answer …
    found = me.recall(question)
    assert new in found.items[0].text
    assert not any(old in item.text for item in found.items)
    block = me.context(question).text
    assert new in block
    assert old not in block
    # … the old one is dated history …
    chain = me.versions(me.memories()[0].id)
    assert [m.status for m in chain] == [Status.ENDED, Status.LIVE]
    assert [w in m.text for w, m in zip((old, new), chain, strict=True)] == [True, True]
    assert chain[0].valid_to == chain[1].valid_from
    # … the ledger rebuilds it all, and the change can be taken back to the exact prior state.
    entries = me.ledger()
    assert replay(entries) == {m.seq: m for m in me.memories(status=None)}
    me.undo(f"p{entries[-1].seq}")
    assert me.memories(status=None) == prior
    assert replay(me.ledger()) == {m.seq: m for m in prior}


def test_undoing_in_the_wrong_order_is_refused_and_says_so(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    for text in ("我住在无锡。", "我搬到常州了。", "我搬到扬州了。"):
        say(layer, me, text, "s1")
        clock.advance(days=1)
    with pytest.raises(PlanRefused, match="Undo the later plans first"):
        me.undo("p2")
    me.undo("p3")
    me.undo("p2")
    assert [m.text for m in me.memories()] == ["用户住在无锡"]
    # An undo is a plan like any other.
    me.undo("p5")
    assert [m.text for m in me.memories()] == ["用户住在常州"]


@pytest.mark.parametrize("wrong", ["m9", "h1", "m", "", "m-1", "m1 ", "M1", "m01x", "mⅧ", "m" + "9" * 40])
def test_ids_that_name_nothing(layer: MemoryLayer, wrong: str) -> None:
    me = layer.scope("ming")
    me.remember("我住在无锡")
    for call in (
        lambda: me.correct(wrong, "常州"),
        lambda: me.forget(memory=wrong),
        lambda: me.undo(wrong.replace("m", "p")),
        lambda: me.evidence(wrong),
    ):
        with pytest.raises(NotFound):
            call()
    assert [m.text for m in me.memories()] == ["我住在无锡"]


def test_what_cannot_be_remembered(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    with pytest.raises(InputError):
        me.remember("  ")
    with pytest.raises(InputError, match="importance"):
        me.remember("我住在无锡", importance=6)
    with pytest.raises(InputError, match="category"):
        me.remember("我住在无锡", category="pets")
    with pytest.raises(TooLarge):
        me.remember("啊" * 501)
    assert me.memories() == []
    assert me.ledger() == []


@pytest.mark.parametrize(("value", "text"), [("常州", "用户住在常州"), ("我住在常州", "我住在常州")])
def test_a_correction_takes_a_value_or_a_statement(layer: MemoryLayer, clock: Clock, value: str, text: str) -> None:
    me = layer.scope("ming")
    me.remember("我住在无锡")
    clock.advance(days=3)
    receipt = me.correct("m1", value)
    assert [m.text for m in me.memories()] == [text]
    assert [m.status for m in me.versions("m1")] == [Status.RETRACTED, Status.LIVE]
    assert receipt.ended[0].id == "m1"
    with pytest.raises(PlanRefused, match="no longer believed"):
        me.correct("m1", "扬州")


NAMED = "我朋友小雅住在深圳。"
GAELIC = "I'm considering learning Gaelic."


@pytest.mark.parametrize(
    ("said", "right", "text", "relation"),
    [
        (NAMED, "小雅住在北京", "小雅住在北京", "LIVES_IN"),
        (NAMED, "小雅从来没住过深圳", "小雅从来没住过深圳", None),
        (NAMED, "她搬走了", "她搬走了", None),
        ("我养了一只狗。", "我养了两只狗，豆豆和毛毛", "用户养了两只狗，豆豆和毛毛", "HAS_PET"),
        ("我在腾讯工作。", "用户在阿里工作", "用户在阿里工作", "WORKS_AT"),
        ("My sister lives in Cork.", "User's sister lives in Dublin", "User's sister lives in Dublin", "LIVES_IN"),
        ("I have a dog.", "User has one dog, Pickle", "User has one dog, Pickle", "HAS_PET"),
        (GAELIC, "User gave up learning Gaelic", "User gave up learning Gaelic", None),
        (GAELIC, "learning Irish", "User is considering learning Irish", "CONSIDERS"),
        ("I live in Cork.", "my old house in Dublin", "User lives in my old house in Dublin", "LIVES_IN"),
    ],
)
def test_a_correcting_sentence_is_never_an_object(
    layer: MemoryLayer, clock: Clock, said: str, right: str, text: str, relation: str | None
) -> None:
    me = layer.scope("ming")
    say(layer, me, said, "s1")
    clock.advance(days=3)
    wrong = me.memories()[-1]
    receipt = me.correct(wrong.id, right)
    (told,) = receipt.memories
    assert told.text == text
    assert (told.triple.relation if told.triple else None) == relation
    assert told.triple is None or (wrong.triple and told.triple.subject == wrong.triple.subject)
    assert me.memory(wrong.id).status is Status.RETRACTED


def test_forgetting_leaves_nothing_to_read(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    say(layer, me, "我住在无锡。我的职业是会计。", "s1")
    assert len(me.memories()) == 2
    preview = me.forget(memory="m1", dry_run=True)
    assert preview.impact.removed == 1
    assert len(me.memories()) == 2
    me.forget(memory="m1")
    assert [m.text for m in me.memories(status=None)] == ["用户的职业：会计"]
    # The message stays, without what was forgotten, since another memory rests on it.
    (message,) = me.history().messages
    assert "无锡" not in message.text
    assert "会计" in message.text
    assert "无锡" not in str(me.ledger())
    assert me.recall("无锡", kinds={"message"}).items == ()
    # The same words from the same source bring nothing back.
    me.observe([{"role": "user", "text": "我住在无锡。我的职业是会计。", "id": message.id}], session="s1")
    layer.work()
    assert len(me.memories()) == 1


@pytest.mark.parametrize(
    ("before", "said", "now"),
    [
        ("我住在杭州。", "我从杭州搬到成都了。", "成都"),
        ("我住在杭州。", "我上个月从杭州搬到了成都。", "成都"),
        ("I live in Leeds.", "I moved from Leeds to York.", "york"),
    ],
)
def test_a_move_from_one_place_to_another_is_a_change_of_residence(before: str, said: str, now: str) -> None:
    with open_memory("reference", worker=False) as layer:
        me = layer.scope("ming")
        for number, text in enumerate((before, said)):
            me.observe([{"role": "user", "text": text, "at": f"2026-03-0{number + 1}T09:00:00+08:00"}])
            layer.work()
        assert [(m.key, m.value) for m in me.memories()] == [("@user|LIVES_IN", now)]
