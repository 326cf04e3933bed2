"""Recall through the façade, on every store, with and without the message index caught up (SPEC R1–R3, R7)."""

from __future__ import annotations

import pytest

from jiyi.errors import InputError, TooLarge
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock


def texts(memory: ScopedMemory, query: str, **how: object) -> list[str]:
    return [item.text for item in memory.recall(query, **how).items]  # type: ignore[arg-type]


def say(memory: ScopedMemory, *sentences: str, session: str = "s1", role: str = "user") -> None:
    memory.observe([{"role": role, "text": sentence} for sentence in sentences], session=session)


@pytest.fixture(params=["indexed", "just said"])
def kitchen(request: pytest.FixtureRequest, layer: MemoryLayer) -> ScopedMemory:
    """History of one user, through the index or still in the tail that recall overlays."""
    me = layer.scope("ming")
    say(me, "烤箱预热到 200 度再放面团", "我家的猫叫团子", "她养了一只小猫", "反向隧道用 autossh 起来了")
    say(me, "The GitHub webhook posts to /hooks/build_status", "Our café opens at nine", session="s2")
    if request.param == "indexed":
        layer.work()
    return me


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("面团", "烤箱预热到 200 度再放面团"),
        ("隧道", "反向隧道用 autossh 起来了"),
        ("烤箱預熱", "烤箱预热到 200 度再放面团"),
        ("ＡＵＴＯＳＳＨ", "反向隧道用 autossh 起来了"),
        ("build_status", "The GitHub webhook posts to /hooks/build_status"),
        ("status of builds", "The GitHub webhook posts to /hooks/build_status"),
        ("cafe", "Our café opens at nine"),
    ],
)
def test_words_find_what_holds_them(kitchen: ScopedMemory, query: str, expected: str) -> None:
    assert texts(kitchen, query, kinds={"message"})[0] == expected


def test_a_single_character_finds_it_inside_words_too(kitchen: ScopedMemory) -> None:
    # The dictionary knows 猫叫 and 小猫, so only a look at the letters finds both.
    assert set(texts(kitchen, "猫", kinds={"message"})) == {"我家的猫叫团子", "她养了一只小猫"}


def test_question_words_select_nothing(kitchen: ScopedMemory) -> None:
    for query in ("怎么", "为什么", "how", "what is the problem"):
        found = kitchen.recall(query)
        assert found.items == ()
        assert found.nothing_because == "the query has only words that are in every question"


def test_an_empty_answer_says_why(kitchen: ScopedMemory) -> None:
    assert kitchen.recall("区块链").nothing_because == "nothing here holds these words"
    assert kitchen.recall("   ").nothing_because == "the query is empty"


def test_a_part_of_a_word_is_found_by_relaxing_and_said_so(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    say(me, "部署用的是 Kubernetes")
    found = me.recall("ubernete", kinds={"message"})
    assert [item.text for item in found.items] == ["部署用的是 Kubernetes"]
    assert "letters themselves" in found.relaxed


def test_a_name_of_stop_words_is_found_as_written(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    say(me, "Tickets for The Who are booked", "They told us about it")
    assert texts(me, "the who", kinds={"message"}) == ["Tickets for The Who are booked"]


def test_limits_and_wrong_arguments(kitchen: ScopedMemory) -> None:
    with pytest.raises(TooLarge, match="10,001"):
        kitchen.recall("x" * 10_001)
    with pytest.raises(InputError, match="limit"):
        kitchen.recall("猫", limit=0)
    with pytest.raises(InputError, match="kinds"):
        kitchen.recall("猫", kinds={"rumour"})
    with pytest.raises(InputError, match="category"):
        kitchen.recall("猫", categories=["pets"])
    with pytest.raises(InputError, match="no time zone"):
        kitchen.recall("猫", since="2026-03-01T00:00:00")


def test_filters_drop_and_nothing_else(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": "预约牙医", "agent": "desk"}], session="s1")
    clock.advance(days=10)
    me.observe([{"role": "user", "text": "牙医改到周五"}], session="s2")
    me.remember("牙医的电话在冰箱上", category="general", importance=2)
    everything = texts(me, "牙医")
    assert len(everything) == 3
    assert texts(me, "牙医", session="s1", kinds={"message"}) == ["预约牙医"]
    assert texts(me, "牙医", labels={"agent": "desk"}) == ["预约牙医"]
    assert texts(me, "牙医", until="2026-03-05T00:00:00+08:00") == ["预约牙医"]
    assert texts(me, "牙医", categories=["general"], kinds={"memory"}) == ["牙医的电话在冰箱上"]
    assert texts(me, "牙医", min_importance=3, kinds={"memory"}) == []


def test_the_evidence_of_a_memory_is_not_repeated_beside_it(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    say(me, "我住在无锡。")
    layer.work()
    found = me.recall("无锡")
    assert [item.kind for item in found.items] == ["memory"]
    assert ("h1", "is the evidence of m1") in found.dropped


def test_what_is_no_longer_believed_does_not_come_back_through_history(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, "我住在无锡。")
    clock.advance(days=40)
    say(me, "我搬到常州了。", session="s2")
    layer.work()
    assert texts(me, "我住在哪个城市")[:1] != []
    found = me.recall("无锡")
    assert all("无锡" not in item.text or item.kind == "message" for item in found.items)
    assert "h1" not in {item.id for item in found.items}
    assert texts(me, "无锡", kinds={"message"})  # asked for history alone, it is all there


def test_two_users_see_nothing_of_each_other(layer: MemoryLayer) -> None:
    ming, nora = layer.scope("ming"), layer.scope("nora")
    twin = layer.scope("ming", tenant="elsewhere")
    say(ming, "我的暗号是海棠依旧")
    ming.remember("暗号写在便签上")
    layer.work()
    for other in (nora, twin):
        assert other.recall("暗号 海棠").items == ()
        assert "海棠" not in other.context("暗号是什么").text
        assert other.memories(status=None) == []
        assert other.history().messages == ()


def test_reading_warms_what_was_read_without_writing_each_time(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.remember("绿萝每周浇一次水")
    me.remember("绿萝放在书架上")
    for _ in range(5):
        assert me.recall("书架").items
    layer.work()
    assert texts(me, "绿萝")[0] == "绿萝放在书架上"


def test_the_user_is_no_word_that_tells_memories_of_the_user_apart(layer: MemoryLayer) -> None:
    me = layer.scope("u1")
    for text in ("用户在学吉他", "用户来自湖南", "用户表有三百行", "青霉素会让我起疹子"):
        me.remember(text)
    assert [item.text for item in me.recall("用户对什么药过敏").items if "用户" in item.text] == []
    assert "三百行" in me.recall("用户表").items[0].text
    # Where nothing else was asked, everything about the user is what was asked for.
    assert {"用户在学吉他"} <= {item.text for item in me.recall("介绍一下用户").items}
