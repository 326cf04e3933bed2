"""Dates and amounts that the distiller resolves, and appointments that are over (SPEC C8, B6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from jiyi.domain.belief import Observation
from jiyi.domain.memory import Message, Role, Status
from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.distilling.grammar import parse_constructions
from jiyi.shipped import load_constructions, load_times, load_vocabulary
from jiyi.text.segmentation import Segmenter
from tests.conftest import Clock
from tests.pipelines.test_grammar import data

EAST = timezone(timedelta(hours=8))
WEDNESDAY = datetime(2026, 3, 11, 8, tzinfo=EAST)
DISTILLER = Distiller(load_vocabulary(), load_constructions(), load_times(), Segmenter().fold)


def distil(text: str, at: datetime = WEDNESDAY, zone: timezone = EAST) -> list[Observation]:
    return DISTILLER.distil(Message(1, "a1", "s1", Role.USER, text, at), zone=zone)


def only(text: str, at: datetime = WEDNESDAY) -> Observation:
    [observation] = distil(text, at)
    return observation


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("我昨天改了密码", "用户昨天（2026-03-10）改了密码"),
        ("昨天我参加了年度峰会", "用户昨天（2026-03-10）参加了年度峰会"),
        ("我上周五提交了结题报告", "用户上周五（2026-03-06）提交了结题报告"),
        ("截止日期是下周五", "截止日期：下周五（2026-03-20）"),
        ("截止日期是月底", "截止日期：月底（2026-03-31）"),
        ("截止日期是周五", "截止日期：周五（2026-03-13）"),
        ("截止日期是2026年5月1日", "截止日期：2026年5月1日"),
        ("我要在周四之前交验收报告", "用户要做：周四（2026-03-12）之前交验收报告"),
        ("我的目标是年底前拿到驾照", "用户的目标：年底（2026-12）前拿到驾照"),
        ("我明天有个面试", "用户的安排：明天（2026-03-12）有个面试"),
        ("我下周要去苏州出差", "用户的安排：下周（2026-03-16/2026-03-22）去苏州出差"),
        ("我們的截止日期是後天", "截止日期：後天（2026-03-13）"),
        ("迎新晚会的时间是下周六晚上七点", "迎新晚会的时间：下周六晚上七点（2026-03-21 19:00）"),
        ("I changed my password yesterday", "User changed their password yesterday (2026-03-10)"),
        ("Last Friday I submitted the final report", "User submitted the final report last Friday (2026-03-06)"),
        ("The deadline is next Friday", "Deadline: next Friday (2026-03-20)"),
        ("The deadline is May 1, 2026", "Deadline: May 1, 2026"),
        ("I have to submit the report by Friday", "User has to submit the report by Friday (2026-03-13)"),
        ("I have an interview tomorrow", "User's schedule: an interview tomorrow (2026-03-12)"),
        ("I'm flying to Oslo on March 20", "User's schedule: flying to Oslo March 20 (2026-03-20)"),
    ],
)
def test_the_words_stay_and_the_date_stands_beside_them(text: str, memory: str) -> None:
    assert only(text).text == memory


@pytest.mark.parametrize(
    "text",
    [
        "我明天改了密码", "我昨天要去体检", "我昨天有个面试", "我每周五有个会", "我明天可能有个面试", "我表姐昨天改了密码了吗",
        "他昨天改了密码", "我昨天吃了面条", "我昨天换了衣服", "I changed my password tomorrow", "There may be a meeting every Friday",
        "She changed her password yesterday", "I had noodles yesterday", "I might have an interview tomorrow",
    ],
)  # fmt: skip
def test_what_is_no_event_gives_nothing(text: str) -> None:
    assert distil(text) == []


@pytest.mark.parametrize(
    ("same", "value"),
    [
        (
            ["预算是50万", "预算是五十万", "预算是500,000元", "我们的预算大概50万左右", "我們的預算是５０萬"],
            "500000 CNY",
        ),
        (["Our budget is $50k", "Our budget is 50,000 dollars", "Our budget is about $50,000"], "50000 USD"),
        (["Our budget is 50k"], "50000"),
        (
            ["截止日期是下周五", "截止日期是3月20日", "The deadline is March 20", "截止日期是2026年3月20日"],
            "2026-03-20",
        ),
        (["敝司成立于2011年", "Our company was founded in 2011"], "2011"),
    ],
)
def test_writings_of_one_value_are_one_value(same: list[str], value: str) -> None:
    assert {text: only(text).value for text in same} == dict.fromkeys(same, value)


@pytest.mark.parametrize("text", ["预算是不到50万", "预算是50万每月", "Our budget is under $50k"])
def test_an_amount_that_says_more_than_one_number_stays_words(text: str) -> None:
    observations = distil(text)
    assert all(not o.value.replace(" CNY", "").replace(" USD", "").isdigit() for o in observations)


def test_an_old_amount_is_compared_like_the_new_one() -> None:
    changed = only("预算从50万改成三十万了")
    assert (changed.value, changed.replaces) == ("300000 CNY", "500000 CNY")
    # Both rest on one sentence, and forgetting looks for their words in it.
    assert changed.triple is not None
    assert (changed.triple.object, changed.replaces_text) == ("三十万", "50万")


def test_the_same_deed_on_another_day_is_another_one() -> None:
    assert only("我昨天改了密码").value == only("我前天改了密码", WEDNESDAY + timedelta(days=1)).value
    assert only("我昨天改了密码").value != only("我前天改了密码").value


def test_the_date_is_that_of_the_place_where_it_was_said() -> None:
    at = datetime(2026, 3, 10, 17, tzinfo=UTC)
    [there], [here] = distil("我昨天改了密码", at, EAST), distil("我昨天改了密码", at, UTC)  # type: ignore[arg-type]
    assert ("2026-03-10" in there.text, "2026-03-09" in here.text) == (True, True)
    assert there.at == here.at == at


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("我明天有个面试", datetime(2026, 3, 13, tzinfo=EAST)),
        ("I have an interview tomorrow at 9 am", datetime(2026, 3, 13, tzinfo=EAST)),
        ("我们下周三要和阿里云签合同", datetime(2026, 3, 19, tzinfo=EAST)),
        ("我昨天改了密码", None),
        ("截止日期是下周五", datetime(2026, 3, 21, tzinfo=EAST)),
        ("报名截止 3 月 15 日", datetime(2026, 3, 16, tzinfo=EAST)),
        ("The deadline is March 20", datetime(2026, 3, 21, tzinfo=EAST)),
        ("截止日期是三月", datetime(2026, 4, 1, tzinfo=EAST)),
    ],
)
def test_what_lies_ahead_is_over_after_its_day(text: str, until: datetime | None) -> None:
    assert only(text).until == until


def test_an_appointment_is_past_in_recall_context_and_profile(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("u1")
    me.observe([{"role": "user", "text": "我们后天要和星野云签合同。", "at": clock().astimezone(EAST)}], session="s1")
    me.end("s1")
    [memory] = me.memories()
    assert memory.valid_to is not None
    assert me.recall("什么时候签合同").items[0].id == memory.id
    assert memory.id in me.profile().text
    assert "星野云" in me.context("什么时候签合同", session="s1").text
    clock.advance(days=4)
    found = me.recall("什么时候签合同")
    assert memory.id not in [item.id for item in found.items]
    assert any(handle == memory.id and "over" in why for handle, why in found.dropped)
    assert memory.id not in me.profile().text
    # Neither as a memory, nor as a passage, nor as a turn of the session.
    assert "星野云" not in me.context("什么时候签合同", session="s1").text
    assert "星野云" not in me.context("什么时候签合同").text
    assert [m.status for m in me.memories()] == [Status.LIVE]
    assert me.recall("签合同", kinds={"message"}).items


def test_a_construction_with_a_wrong_tense_is_refused() -> None:
    changed = data()
    changed["construction"].append({"relation": "DID", "tense": "soon", "zh": ["{subject}{time}{object:deed}"]})
    with pytest.raises(SettingsError, match="tense"):
        parse_constructions(changed)
