"""What is no talk goes before distilling; everything else stays, and knows its place (SPEC C2, C3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import SettingsError
from jiyi.shipped import load_guard_rules
from jiyi.text.cleaning import Cleaner, Sought, parse_cleaning

CLEANER = Cleaner(load_guard_rules()[0])

CLEANED = [
    ("好的好的收到，明白了！我们的预算是50万", "好的！我们的预算是50万"),
    ("ok, got it, thanks. I live in Paris", "ok. I live in Paris"),
    ("收到\n明白了\n好的", "收到"),
    ("我们那个啥，预算是50万", "我们预算是50万"),
    ("就是吧，我住在北京", "我住在北京"),
    ("嗯，那个啥，我住在北京", "我住在北京"),
    ("Um, I live in Paris", "I live in Paris"),
    ("yeah right, yeah right. I live in Paris", "yeah right. I live in Paris"),
    ("I live in, uh, Paris, you know.", "I live in Paris."),
    ("Our budget, you know, is 50k", "Our budget is 50k"),
    ("we um use MySQL", "we use MySQL"),
    ("[2024-03-01 09:15:22] 我住在北京", "我住在北京"),
    ("3/4/24, 9:15 AM - I live in Paris", "I live in Paris"),
    ("2024年3月1日 09:15\n我住在北京", "我住在北京"),
    ("王芳撤回了一条消息\n我住在北京", "我住在北京"),
    ("Anna unsent a message\nI live in Paris", "I live in Paris"),
    ("————以上为历史消息————\n我住在北京", "我住在北京"),
    ("[图片]我住在北京", "我住在北京"),
    ("[Image] I live in Paris\nSent from my phone", " I live in Paris\n"),
    ("You are a helpful assistant. Always be brief.\nUser: I live in Paris", " I live in Paris"),
    ("你是一名翻译助手。只输出译文。\n用户：我住在北京", "我住在北京"),
    ("<|im_start|>system\nBe nice.<|im_end|>I live in Paris", "I live in Paris"),
]
UNTOUCHED = [
    "Yeah right, I live in Paris",
    "最好的收到", "那个啥都不会的人", "就是吧台那边", "You know Anna lives in Paris.", "I like tea.", "你是一个好助手！我住在北京",
    "2024-03-01 我们签了合同", "2024-03-01 09:15:22 ERROR disk full, um, retry", "好的方案", "right side", "OK键坏了",
    "see `um, you know, x`", "```\n[09:15] um, ok, ok\n```", "https://example.com/um,ok,ok?a=1.2.3", "ok", "收到",
]  # fmt: skip
# What must come through byte for byte, wherever it stands (SPEC C2).
PRECISE = [
    "`a, um, b`", "```\nok ok\n[图片]\n```", "https://example.com/那个啥/um?v=1.2.3", "/srv/um/那个啥.log", "v2.14.0-rc.1", "1,234.50",
    "TypeError: cannot read, um, undefined", "C:\\tmp\\um.txt", "300万", "2026-03-01", "错误：连接失败，那个啥", "src/app.py:42", "a@example.com",
]  # fmt: skip
TALK = [
    "好的", "收到", "，", "。", " ", "\n", "那个啥", "就是吧，", "um", ", uh,", "you know", "ok", "got it", ".", "!", "[图片]", "[Image]",
    "[09:15] ", "2024-03-01 09:15", "王芳撤回了一条消息", "You are a helpful assistant.", "User:", "我们的预算是50万", "I live in Paris", "嗯，",
    "<|im_start|>system", "<|im_end|>", "`", "```", "error: ", "以上为历史消息", "你是一名助手。", "用户：", "最", "Sent from my phone",
]  # fmt: skip
texts = st.lists(st.sampled_from(TALK + PRECISE) | st.text(max_size=6), max_size=14).map("".join)


@pytest.mark.parametrize(("text", "clean"), CLEANED)
def test_what_is_no_talk_goes(text: str, clean: str) -> None:
    assert CLEANER.clean(text).text == clean


@pytest.mark.parametrize("text", UNTOUCHED)
def test_talk_stays_as_it_is(text: str) -> None:
    assert CLEANER.clean(text).text == text


@given(texts)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = CLEANER.clean(text).text
    assert CLEANER.clean(once).text == once


@given(texts)
def test_what_stays_stands_where_it_stood(text: str) -> None:
    cleaned = CLEANER.clean(text)
    assert "".join(text[start:end] for start, end in cleaned.kept) == cleaned.text
    for at, character in enumerate(cleaned.text):
        start, end = cleaned.original(at, at + 1)
        assert text[start:end] == character


@given(
    st.lists(st.sampled_from(PRECISE), min_size=1, max_size=4),
    st.lists(st.sampled_from(TALK[:14]), min_size=5, max_size=5),
)
def test_code_numbers_links_paths_versions_and_errors_survive(precise: list[str], talk: list[str]) -> None:
    text = "".join(f"{before}\n{piece}\n" for before, piece in zip(talk, precise, strict=False))
    cleaned = CLEANER.clean(text).text
    assert [piece for piece in precise if piece not in cleaned] == []


def test_in_a_copied_chat_others_are_told_from_the_user() -> None:
    chat = "王芳 2024-03-01 09:15\n我住在天津\n我 2024-03-01 09:16\n我住在北京"
    assert [chat[start:end] for start, end in CLEANER.others(chat, None)] == ["王芳 2024-03-01 09:15\n我住在天津\n"]
    assert CLEANER.others(chat, "王芳") == []


@pytest.mark.parametrize("data", [{}, {"fillers": {}}])
def test_rules_that_cannot_be_read_say_so(data: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"cleaning\.toml"):
        parse_cleaning(data)


SOUGHT = [CLEANER.rules.lines, CLEANER.rules.prefix, CLEANER.rules.prompts, *CLEANER.rules.removed]


@pytest.mark.parametrize("sought", SOUGHT, ids=["lines", "prefix", "prompts", "tokens", "fillers-en", "fillers-zh"])
@given(st.data())
def test_what_is_looked_for_is_never_passed_over(sought: Sought, data: st.DataObject) -> None:
    found = data.draw(st.from_regex(sought.pattern))
    assert sought.may_be_in(found.casefold())
