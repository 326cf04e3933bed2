"""Two wordings of a value, and whether a sentence holds one: the rules by which distilling is measured."""

from __future__ import annotations

import pytest

from jiyi.evaluation.values import fold, held, same

SAME = [
    ("text", "测量员", "测量员"),
    ("text", "桥梁设计师", "设计师"),
    ("text", "设计师", "桥梁设计师"),
    ("text", "队长或者总教练", "队长/总教练"),
    ("text", "药厂的质检员", "药厂质检员"),
    ("text", "a nurse", "Nurse"),
    ("text", "senior welder", "welder"),
    ("place", "绍兴", "浙江绍兴"),
    ("place", "绍兴浙江", "浙江绍兴"),
    ("place", "Leeds", "Leeds, England"),
    ("date", "5月3号", "05月03日"),
    ("date", "五月三日", "1990年5月3日"),
    ("date", "May 3rd", "1990-05-03"),
    ("date", "3 May", "May 3"),
    ("number", "四十一岁", "41岁"),
    ("number", "41", "41 years old"),
    ("length", "1米71", "171cm"),
    ("length", "1.7m", "170厘米"),
    ("name", "周砚秋", "周砚秋"),
]
OTHER = [
    ("text", "药厂", "药厂质检员"),  # a beginning is another thing
    ("text", "师", "设计师"),
    ("text", "员", "质检员"),
    ("text", "城东药厂老厂区驻厂质检员", "质检员"),  # too much besides
    ("text", "队长助理", "队长"),
    ("text", "教书的", "教师"),  # no synonyms
    ("text", "nursery", "nurse"),
    ("place", "绍", "浙江绍兴"),
    ("place", "苏州", "浙江绍兴"),
    ("date", "5月13号", "5月3日"),
    ("date", "1991年5月3日", "1990年5月3日"),
    ("date", "some day", "5月3日"),
    ("number", "14岁", "41岁"),
    ("length", "1米71", "172cm"),
    ("name", "", "周砚秋"),
]


@pytest.mark.parametrize(("kind", "claimed", "true"), SAME)
def test_the_same_value_in_other_words(kind: str, claimed: str, true: str) -> None:
    assert same(kind, claimed, true)


@pytest.mark.parametrize(("kind", "claimed", "true"), OTHER)
def test_another_value(kind: str, claimed: str, true: str) -> None:
    assert not same(kind, claimed, true)


@pytest.mark.parametrize(
    ("kind", "value", "text", "where"),
    [
        ("text", "药厂质检员", "我表弟在药厂上班，是质检员。", ["药厂", "质检员"]),
        ("place", "浙江绍兴", "他老家绍兴那边", ["绍兴"]),
        ("date", "05月03日", "生日是五月三号", ["五月三号"]),
        ("length", "171cm", "个子有1米71", ["1米71"]),
        ("text", "quantity surveyor", "My brother is a Quantity Surveyor now", ["quantity surveyor"]),
        ("text", "药厂质检员", "我表弟在药厂上班", []),
        ("place", "浙江绍兴", "他在浙江上班", []),  # the province alone is less than the value
        ("text", "nurse", "the nursery is closed", []),
    ],
)
def test_where_a_sentence_holds_a_value(kind: str, value: str, text: str, where: list[str]) -> None:
    assert [fold(text)[a:b] for a, b in held(kind, value, text)] == where
