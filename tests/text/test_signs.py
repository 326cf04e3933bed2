"""Signs of an occasion, and of what somebody then wants (SPEC G5)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import SettingsError
from jiyi.shipped import load_segmenter, load_signs
from jiyi.text.signs import NEAR, _meets, parse_signs

SIGNS = load_signs(load_segmenter())


def read(text: str) -> tuple[set[str], set[str]]:
    found = SIGNS.read(text)
    return {c for m in found for c in m.conditions}, {c for m in found for c in m.consequences}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("他们的技术参数是多少", "parameters"),
        ("他們的技術參數是多少", "parameters"),
        ("规格发我看看", "parameters"),
        ("What are their technical parameters?", "parameters"),
        ("please send me the spec sheet", "parameters"),
        ("这个多少钱", "price"),
        ("How much is it", "price"),
        ("和上一代有什么区别", "comparison"),
        ("Can you compare the two?", "comparison"),
        ("有没有成功案例", "references"),
        ("Do you have any case studies?", "references"),
        ("简短点", "brief"),
        ("Keep it short.", "brief"),
        ("帮我列个表格", "table"),
        ("Could you write a script for that", "code"),
        ("给我讲讲步骤", "steps"),
        ("为什么会这样", "reasons"),
        ("Why does it do that?", "reasons"),
        ("工期要多久", "timing"),
        ("有哪些风险", "risks"),
        ("举几个例子", "examples"),
        ("帮我翻译成英文", "translation"),
        ("请起草一份回复", "draft"),
        ("有什么推荐", "recommendation"),
        ("市场份额是多少", "figures"),
        ("资料发我一份", "sources"),
    ],
)
def test_what_is_wanted_is_known_by_its_words_where_they_are_asked_for(text: str, wanted: str) -> None:
    assert wanted in read(text)[1]


@pytest.mark.parametrize(
    "text",
    [
        "他们的技术参数比我们好",
        "The spec sheet of the old model was thin.",
        "规格书我昨天已经寄出去了",
        "Their price went up",
        # What asks is too far away from what is only named.
        "Please look after the cat while I am away at the fair with its new prices and all those stands",
        "he prices himself out of the market",
        "I read the reasons",
    ],
)
def test_what_is_only_told_is_not_wanted(text: str) -> None:
    assert read(text)[1] == set()


@pytest.mark.parametrize(
    ("text", "occasion"),
    [
        ("竞品又降价了", "competitor"),
        ("our competitors are cheaper", "competitor"),
        ("迁到Aliyun之后", "cloud"),
        ("PostgreSQL 又慢了", "database"),
        ("今天要部署", "deployment"),
        ("My daughter's school called", "child"),
        ("下周要出差", "trip"),
    ],
)
def test_what_comes_up(text: str, occasion: str) -> None:
    assert occasion in read(text)[0]
    assert occasion in SIGNS.occasions(text)


def test_words_stand_whole_and_names_are_added() -> None:
    assert "trip" not in read("the tripod and the striptease")[0]
    known = SIGNS.with_names({"飞鹭科技": frozenset({"competitor"}), "Heronix": frozenset({"competitor"})})
    assert known.occasions("飛鷺科技來了") == known.occasions("HERONIX's new unit") == {"competitor"}
    assert known.occasions("Heronixes") == SIGNS.occasions("飞鹭科技来了") == set()


def test_a_word_for_an_occasion_is_no_wish_inside_it() -> None:
    data = tables()
    data["condition"]["budget"]["words"]["zh"] = ["报价单"]
    signs = parse_signs(data, str)
    assert [(m.conditions, m.consequences) for m in signs.read("报价单在哪")] == [({"budget"}, set())]
    assert [m.consequences for m in signs.read("报价单在哪，报价是多少")] == [{"price"}]


@pytest.mark.parametrize(("one", "other"), [("报价", "多少"), ("多少", "报价")])
def test_what_asks_stands_near(one: str, other: str) -> None:
    signs = parse_signs(tables(), str)
    assert [m.consequences for m in signs.read(one + "件" * NEAR + other)] == [{"price"}]
    assert signs.read(one + "件" * (NEAR + 1) + other) == []


@given(
    lengths=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=8),
    left=st.integers(-5, 40),
    length=st.integers(1, 9),
)
def test_what_is_looked_up_is_what_would_be_found_by_looking_at_all(
    lengths: list[tuple[int, int]], left: int, length: int
) -> None:
    spans, at = list[tuple[int, int]](), 0
    for gap, size in lengths:
        spans.append((at + gap, at + gap + size))
        at += gap + size
    assert _meets(spans, left, left + length) == any(a < left + length and left < b for a, b in spans)


@pytest.mark.parametrize("piece", ["吗报价", "客户报价吗", "how price "])
def test_no_sentence_takes_longer_than_its_length(piece: str) -> None:
    # By the square of its length this would take minutes.
    [found] = SIGNS.read(piece * 30_000)
    assert "price" in found.consequences


def test_a_sentence_has_its_place_in_the_text() -> None:
    text = "早！  竞品又来了。\n他们的规格是什么？谢谢"
    assert [text[m.start : m.end] for m in SIGNS.read(text)] == ["竞品又来了。", "他们的规格是什么？"]


def tables() -> dict[str, Any]:
    both = {"zh": ["报价"], "en": ["price"]}
    return {
        "says": {"zh": "{condition}{consequence}", "en": "{condition} {consequence}"},
        "asking": {"zh": ["哪", "多少"], "en": ["what"]},
        "condition": {"budget": {"name": {"zh": "预算", "en": "budget"}, "words": {"zh": ["预算"], "en": ["budget"]}}},
        "consequence": {"price": {"name": {"zh": "问价", "en": "asks"}, "words": both}},
    }


@pytest.mark.parametrize("missing", ["says", "asking", "condition", "consequence"])
def test_a_file_that_lacks_something_says_what(missing: str) -> None:
    data = tables()
    del data[missing]
    with pytest.raises(SettingsError, match=missing):
        parse_signs(data, str)
