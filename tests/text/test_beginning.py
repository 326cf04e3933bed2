"""Patterns tried only where they may begin find what they find everywhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.shipped import read_toml, shipped_text
from jiyi.text.beginning import DIGIT, AnyPattern, beginning
from jiyi.text.expecting import LANGUAGES

TABLE = read_toml(shipped_text("expecting.toml"), "expecting.toml")["time"]
SHIPPED = [pattern for language in LANGUAGES for pattern in TABLE[f"holds_{language}"]]
ALL_AT_ONCE = re.compile("|".join(f"(?:{pattern})" for pattern in SHIPPED))
ANY = AnyPattern(SHIPPED)
PIECES = st.sampled_from(
    ["3", "12", "2019", "一", "十", "点", "月", "日", "天", "上", "周", "春", "节", "我", "生日", "之后", "前", "室", " ", ":", "/", ".", "-",
     "a", "may", "in", "last", "week", "after", "look ", "the", "work", "until", "jan", "st", "pm", "o'clock", "٣", "é", "，"]
)  # fmt: skip


@given(st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(max_size=40)))
def test_shipped_patterns_hold_as_all_of_them_at_once(text: str) -> None:
    assert ANY.search(text) is (ALL_AT_ONCE.search(text) is not None)


@pytest.mark.parametrize(
    ("pattern", "edge", "first"),
    [
        ("cat|dog", "", {"c", "d"}),
        (r"\b(cat|dog)s?", r"\b", {"c", "d"}),
        (r"(?<!hot )\bdog", r"\b", {"d"}),
        (r"(?=d)[a-e]?x", "", {*"abcdex"}),
        (r"\bcat|dog", "", {"c", "d"}),
        (r"(?<!a )dog\b", "", {"d"}),
        (r"c?\bdog", "", {"c", "d"}),
        (r"\d猫", "", {*"0123456789", DIGIT}),
        ("x+?y", "", {"x"}),
        # What cannot be told.
        ("x*", "", None),
        ("(?:x?)", "", None),
        (".x", "", None),
        (r"\w", "", None),
        ("[^x]", "", None),
        ("(?i)x", "", None),
        ("(?i:x)", "", None),
        (r"(x)?\1y", "", None),
        ("[\u4e00-\u9fff]", "", None),
    ],
)
def test_where_a_pattern_may_begin(pattern: str, edge: str, first: set[str] | None) -> None:
    assert beginning(pattern) == (edge, first)


@given(st.text("abc1٣ ", max_size=6))
def test_every_kind_of_beginning_is_looked_for(text: str) -> None:
    patterns = [r"\bab", "bc", r"(?<!a)\d", "[^abc ]c", "ca$"]
    expected = any(re.search(pattern, text) for pattern in patterns)
    assert AnyPattern(patterns).search(text) is expected
