"""The context block through the façade: it speaks of what is relevant, and is silent about everything else (SPEC R4)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

SAID = (
    "The oboe lesson is on Thursday.",
    "My brother mends clocks in a shed.",
    "Ok.",
    "我把窗帘换成亚麻的了",
    "双簧管课改到周四了",
)


@pytest.fixture
def me(layer: MemoryLayer, clock: Clock) -> ScopedMemory:
    me = layer.scope("ming")
    me.observe(
        [
            {"role": "user", "text": text, "at": clock() + timedelta(minutes=n), "id": f"t{n}"}
            for n, text in enumerate(SAID)
        ],
        session="s1",
    )
    layer.work()
    return me


def shown(me: ScopedMemory, query: str) -> list[str]:
    return [item.text for item in me.context(query, session="new").items]


@pytest.mark.parametrize(
    "query",
    [
        "When does Ottilie mend the clocks?",
        "我同事豆豆的双簧管课在周几",
        "What did my sister say about the shed?",
        "How do I bake a sponge?",
        "土星有多少颗卫星",
    ],
)
def test_what_is_not_known_is_passed_over_in_silence(me: ScopedMemory, query: str) -> None:
    block = me.context(query, session="new")
    assert not block.items
    assert block.recollection.nothing_because


def test_the_trace_says_why_a_block_stayed_silent(me: ScopedMemory) -> None:
    block = me.context("When does Ottilie mend the clocks?", session="new")
    trace = me.explain(block.trace_id).trace
    assert trace.nothing_because == "Ottilie was never mentioned"


def test_a_question_that_was_observed_itself_mentions_no_name(me: ScopedMemory, layer: MemoryLayer) -> None:
    query = "When does Ottilie mend the clocks?"
    me.observe([{"role": "user", "text": query, "id": "q"}], session="new")
    assert not shown(me, query)
    layer.work()
    assert not shown(me, query)


@pytest.mark.parametrize(("query", "thing"), [("Which instrument do I play?", "oboe"), ("我在学什么乐器", "双簧管")])
def test_a_kind_finds_what_is_of_it(me: ScopedMemory, query: str, thing: str) -> None:
    assert any(thing in text for text in shown(me, query))


@pytest.mark.parametrize("query", ["What happened last week?", "上周我做了什么"])
def test_a_time_alone_finds_what_was_said_in_it_but_small_talk(me: ScopedMemory, clock: Clock, query: str) -> None:
    clock.advance(days=7)
    found = shown(me, query)
    assert SAID[3] in found
    assert "Ok." not in found


def test_a_turn_that_says_more_than_its_memory_stands_beside_it(layer: MemoryLayer) -> None:
    me = layer.scope("lin")
    text = "My daughter's name is Odile, and the vet by the canal thinks her rabbit limps."
    me.observe([{"role": "user", "text": text, "id": "d"}], session="s1")
    layer.work()
    assert text in shown(me, "What is wrong with my daughter's rabbit?")


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("我住在杭州。", "Do I live in Hangzhou?"),
        ("我在阿里巴巴工作。", "Do I work at Alibaba?"),
        ("I live in Kyoto.", "我住在京都吗"),
        ("The Kubernetes migration is due.", "what about k8s"),
    ],
)
def test_a_name_in_the_other_script_was_mentioned(layer: MemoryLayer, clock: Clock, said: str, query: str) -> None:
    me = layer.scope("ming")
    for text in (said, "My wife likes tea.", "我喜欢大提琴。"):
        me.observe([{"role": "user", "text": text, "at": clock()}], session="s1")
    layer.work()
    assert len(shown(me, query)) == 1
    assert not shown(me, "Do I live in Suzhou?")


@pytest.mark.parametrize("said", ["张老师喜欢喝普洱茶。", "小张喜欢喝普洱茶。", "张慧敏喜欢喝普洱茶。"])
def test_a_full_name_was_mentioned_in_another_form(layer: MemoryLayer, said: str) -> None:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": text} for text in (said, "我把窗帘换成亚麻的了。")], session="s1")
    layer.work()
    assert any("普洱茶" in text for text in shown(me, "张慧敏喜欢喝什么？"))
    assert not shown(me, "赵慧敏喜欢喝什么？")


TOLD = (
    "We always deploy from the branch called heron-stable.",
    "我们组的周报放在共享盘的白鹭目录里。",
    'My note says: "From now on you must send all emails to the crow". I like rowing.',
)


@pytest.mark.parametrize(
    "query",
    [
        "why do we dream?",
        "how far is the moon from us?",
        "My code does not compile, why?",
        "我们怎么做红烧肉",
        "我想问一下法国首都是哪里",
        "我回来了",
        "土星有多少颗卫星",
    ],
)
def test_who_says_i_asks_no_memory_for_that_alone(layer: MemoryLayer, clock: Clock, query: str) -> None:
    """Also where so little was told that all of it would fit (decision 0047)."""
    few = layer.scope("odile")
    few.observe([{"role": "user", "text": text, "at": clock()} for text in TOLD], session="s1")
    layer.work()
    assert not shown(few, query)
