"""Which statements a message bears out (SPEC C7): values exactly, words in some form, denials alike."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.assembly import assemble
from jiyi.domain.language import language_of
from jiyi.domain.memory import Message, Role
from jiyi.models.scripted import Scripted
from jiyi.pipelines.modelling.support import Support
from jiyi.settings import Settings

AT = datetime.fromisoformat("2026-03-01T09:00:00+08:00")


@pytest.fixture(scope="module")
def support() -> Support:
    model = assemble(Settings(), chat=Scripted()).model
    assert model is not None
    return model.candidates.support


def message(text: str, name: str | None = None) -> Message:
    return Message(1, "a1", "s1", Role.USER, text, AT, name)


def reason(support: Support, said: str, statement: str, value: str = "") -> str:
    return support.check(statement, language_of(statement), [message(said)], value).reason


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        # in other writing: traditional, full width, numerals, units
        ("我們預算才５０萬", "用户预算才五十万"),
        ("we have 40k for it", "User has $40,000 for it".replace("$", "")),
        ("合同金额三百万", "合同金额是300万元"),
        ("我养了两只猫", "用户养了2只猫"),
        ("我养了3只猫", "用户养了三只猫"),
        # the same date in other words
        ("下周三去昆山", "用户2026年3月4日去昆山"),
        ("I fly to Oslo next Wednesday", "User flies to Oslo on March 4"),
        ("去年拿到驾照", "用户2025年拿到驾照"),
        # other forms and words of the same meaning
        ("我在律所上班", "用户在律所工作"),
        ("买了一辆旧车", "用户买车了"),
        ("I'm teaching chemistry", "User teaches chemistry"),
        ("my mom bought a cottage", "User's mother bought a cottage"),
        # 呢 after what is told
        ("昨天去了植物园，还画了几张草图呢。", "用户昨天去了植物园，画了几张草图"),
        ("他正在学车呢", "正在学车"),
        # denials that agree
        ("我不太能吃辣", "用户不能吃辣"),
        ("我家没有猫，养的是狗", "用户养狗"),
        ("I don't eat meat anymore", "User does not eat meat"),
        ("No worries, I love hiking", "User loves hiking"),
        ("差不多定了，团队去大理", "团队去大理"),
        ("我该不该买车？算了，已经买车了", "用户已经买车了"),
    ],
)
def test_what_is_said_is_borne_out(support: Support, said: str, statement: str) -> None:
    assert reason(support, said, statement) == ""


@pytest.mark.parametrize(
    ("said", "statement", "why"),
    [
        ("预算才50万", "用户预算是60万", "a number that is not said"),
        ("we have 40k for it", "User has 45k for it", "a number that is not said"),
        ("我养了两只猫", "用户养了三只猫", "words that are not said"),
        ("合同金额300万元", "合同金额300万美元", "a number that is not said"),
        ("预算150万", "用户预算是50万", "a number that is not said"),
        ("预算50万", "用户预算是50元", "a number that is not said"),
        ("we have 150k for it", "User has 50k for it", "a number that is not said"),
        ("I fly to Oslo on May 15", "User flies to Oslo on May 1", "a date that is not said"),
        ("Planning a trip with Anna", "User plans a trip with Ann", "a name that is not said"),
        ("星期三养了猫", "用户养了3只猫", "a number that is not said"),
        ("孩子上小学了", "用户的儿子上小学了", "words that are not said"),
        ("my sister moved", "User's brother moved", "words that are not said"),
        ("下周三去昆山", "用户3月5日去昆山", "a date that is not said"),
        ("I fly to Oslo next Wednesday", "User flies to Oslo on March 5", "a date that is not said"),
        ("升级到 v3.12 了", "用户升级到 v3.13 了", "a number that is not said"),
        ("我们用 MySQL", "用户用 PostgreSQL", "a name that is not said"),
        ("my sister runs a bakery", "User's sister Emma runs a bakery", "a name that is not said"),
        ("我在宁波上班", "用户在苏州上班", "words that are not said"),
        ("晚上去吃海鲜", "用户去上海", "words that are not said"),
        ("我喜欢红茶", "用户喜欢绿茶", "words that are not said"),
        ("I like black tea", "User likes green tea", "words that are not said"),
        ("我不吃香菜", "用户吃香菜", "a denial that does not agree"),
        ("我吃香菜", "用户不吃香菜", "a denial that does not agree"),
        ("I don't eat meat", "User eats meat", "a denial that does not agree"),
        ("I eat meat", "User does not eat meat", "a denial that does not agree"),
        ("担心跟不上进度", "用户不担心跟不上进度", "a denial that does not agree"),
        ("我该学 Rust 吗？", "用户学 Rust", "asked or supposed, not said"),
        ("还去哪里爬山呢", "用户去爬山", "asked or supposed, not said"),
        ("去爬山呢", "用户去爬山", "asked or supposed, not said"),
        ("Should I learn Rust?", "User learns Rust", "asked or supposed, not said"),
        ("如果我搬到苏州", "用户搬到苏州", "asked or supposed, not said"),
        ("if I move to Leeds", "User moves to Leeds", "asked or supposed, not said"),
    ],
)
def test_what_is_not_said_is_not(support: Support, said: str, statement: str, why: str) -> None:
    assert reason(support, said, statement) == why


@pytest.mark.parametrize(
    ("said", "statement", "value", "good"),
    [
        ("老板批了五十万", "老板批了五十万", "50万", True),
        ("老板批了五十万", "老板批了五十万", "60万", False),
        ("我住在宁波鄞州", "用户住在宁波", "宁波", True),
        ("我住在宁波鄞州", "用户住在宁波", "杭州", False),
        ("I live in Leeds", "User lives in Leeds", "leeds", True),
        ("I live in Leeds", "User lives in Leeds", "York", False),
        ("老板批了150万", "老板批了150万", "50万", False),
        ("Anna moved", "Anna moved", "Ann", False),
        ("我在看《三体》", "用户在看《三体》", "三体", True),
    ],
)
def test_a_value_stands_in_the_message(support: Support, said: str, statement: str, value: str, good: bool) -> None:
    assert (reason(support, said, statement, value) == "") is good


def test_the_evidence_is_the_clause_that_says_it(support: Support) -> None:
    said = "今天好累。我在宁波一家律所上班，周末带儿子踢球。晚安"
    found = support.check("用户周末带儿子踢球", language_of(said), [message(said)])
    [span] = found.evidence
    assert said[span.start : span.end] == "周末带儿子踢球"


def test_speakers_may_be_named(support: Support) -> None:
    found = support.check(
        "Priya moved to Leeds", language_of("Priya moved"), [message("I moved to Leeds", "Priya")], "", ["Priya"]
    )
    assert found.reason == ""


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=10))
def test_every_text_can_be_checked(support: Support, said: str, statement: str, value: str) -> None:
    found = support.check(statement, language_of(statement), [message(said)], value)
    assert all(0 <= e.start < e.end <= len(said) for e in found.evidence)


@given(st.text(alphabet="我在宁波苏州上班买了车不喜欢红绿茶，。 abcXYZ", min_size=1, max_size=40))
def test_digits_that_were_not_said_are_never_borne_out(support: Support, said: str) -> None:
    assert reason(support, said, f"{said}73") != "" or not said.strip()
