"""Which lines a context block takes, and what they say of each other (SPEC R4, R3, B5)."""

from __future__ import annotations

import pytest

from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory

ZH_LIKES = [
    f"我喜欢{what}" for what in ("摄影", "爬山", "爵士乐", "科幻电影", "龙井茶", "滑雪", "书法", "园艺", "下棋", "跑步")
]
EN_LIKES = [f"I like {what}" for what in ("hiking", "jazz", "chess", "pottery", "skiing", "sailing", "baking", "opera")]


def tell(layer: MemoryLayer, text: str) -> ScopedMemory:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": text}], session="s1")
    layer.work()
    return me


@pytest.mark.parametrize(
    ("about", "rest", "question", "profile"),
    [
        ("陈婧对海鲜过敏", ZH_LIKES, "给陈婧做什么菜？", "用户画像"),
        ("Nadia is allergic to shellfish", EN_LIKES, "What can I cook for Nadia?", "Profile"),
    ],
)
def test_what_holds_the_question_goes_before_the_profile(
    layer: MemoryLayer, about: str, rest: list[str], question: str, profile: str
) -> None:
    me = layer.scope("ming")
    for text in (about, *rest):
        me.remember(text)
    block = me.context(question, budget=140)
    likes = sum(text in block.text for text in rest)
    assert about in block.text
    assert profile in block.text
    # There was no room for all, so something was chosen; the profile still stands first.
    assert 0 < likes < len(rest)
    assert block.text.index(profile) < block.text.index(about)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("我妹妹上周六结婚了。", "我妹妹怎么样？"),
        ("My sister Aoife got married on Saturday.", "How is my sister Aoife?"),
    ],
)
def test_two_relations_that_tell_of_one_day_are_not_at_odds(layer: MemoryLayer, said: str, question: str) -> None:
    me = tell(layer, said)
    told = {m.triple.relation: m.value for m in me.memories() if m.triple}
    assert told["DID"] == f"{told['MARITAL_STATUS']} 2026-02-28"  # a deed has its day, what holds since has none
    text = me.context(question).text
    assert all(m.text in text for m in me.memories())
    assert "不一致" not in text
    assert "disagrees" not in text


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        ("My husband Tom's birthday is 9 June.", "When is my husband's birthday?", "Tom's birthday: 9 June"),
        ("My husband Tom's birthday is 9 June.", "我老公的生日是哪天？", "Tom's birthday: 9 June"),
        ("我妹妹王芳的生日是6月9日。", "我妹妹的生日是哪天？", "王芳的生日：6月9日"),
    ],
)
def test_a_relative_leads_to_the_facts_under_their_name(
    layer: MemoryLayer, said: str, question: str, answer: str
) -> None:
    me = tell(layer, said)
    assert me.recall(question).items[0].text == answer


HEARD = {
    "en": (
        ("user", "My sister Aoife lives in Cork."), ("assistant", "Thanks, noted."),
        ("user", "I work as a nurse at the city hospital."), ("assistant", "Got it, thanks for telling me."),
        ("user", "Which bay is my car in?"), ("assistant", "Seventeen."),
        ("user", "The plumber came about the boiler."), ("assistant", "Try bleeding the radiators tonight."),
    ),
    "zh": (
        ("user", "我妹妹小雅住在深圳。"), ("assistant", "好的，记下了。"),
        ("user", "我在市医院当护士。"), ("assistant", "明白，谢谢告诉我。"),
        ("user", "我的车停在几号位？"), ("assistant", "十七号位。"),
        ("user", "水管工来修过锅炉。"), ("assistant", "今晚给暖气片放放气。"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "questions", "answers"),
    [
        ("en", ("Where does Aoife live?", "What is my job?", "my car bay", "What about the boiler?"), (5, 7)),
        ("zh", ("小雅住哪儿？", "我做什么工作？", "我的车停在哪个车位？", "锅炉怎么样了？"), (5, 7)),
    ],
)
def test_an_assistant_that_only_heard_is_no_evidence(
    layer: MemoryLayer, language: str, questions: tuple[str, ...], answers: tuple[int, ...]
) -> None:
    me, turns = layer.scope("ming"), HEARD[language]
    me.observe([{"role": role, "text": text} for role, text in turns], session="s1")
    layer.work()
    found = {i.text for q in questions for i in me.recall(q, limit=20).items}
    found |= {i.text for q in questions for i in me.recall(q, limit=20, kinds=["message"]).items}
    assert turns[1][1] not in found
    assert turns[3][1] not in found
    # What answers a question, or says something of its own, is still found beside what was asked.
    assert {turns[i][1] for i in answers} <= found
