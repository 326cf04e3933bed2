"""Numbers in running text (SPEC C8): exact or absent."""

from __future__ import annotations

from decimal import Decimal
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.text.numbers import chinese_number, digit_string, find_numbers, plain, whole_number

# The words, then value and unit of each number in them.
TABLE = [
    ("三百万", "3000000"), ("300万", "3000000"), ("50万", "500000"), ("五十万", "500000"), ("两千五", "2500"),
    ("一万二", "12000"), ("一万零二", "10002"), ("三百五十", "350"), ("一千零五十", "1050"), ("两万五千", "25000"),
    ("三千五百万", "35000000"), ("3.5亿", "350000000"), ("一亿三", "130000000"), ("1.2万亿", "1200000000000"),
    ("5,000,000", "5000000"), ("1,234,567.5", "1234567.5"), ("20w", "200000"), ("20W元", "200000 CNY"),
    ("5k", "5000"), ("1.2M", "1200000"), ("3 million", "3000000"), ("two thousand five hundred", "2500"),
    ("half a million", "500000"), ("a hundred", "100"), ("1.5 billion", "1500000000"),
    ("百分之三十", "30 %"), ("30%", "30 %"), ("百分之5", "5 %"), ("12.5 percent", "12.5 %"), ("3 per cent", "3 %"),
    ("300万元", "3000000 CNY"), ("三百万元", "3000000 CNY"), ("¥300万", "3000000 CNY"), ("￥1200", "1200 CNY"),
    ("人民币300万", "3000000 CNY"), ("300万人民币", "3000000 CNY"), ("五千块", "5000 CNY"), ("五千块钱", "5000 CNY"),
    ("RMB 5000", "5000 CNY"), ("5 million yuan", "5000000 CNY"), ("3.5亿美元", "350000000 USD"), ("200美金", "200 USD"),
    ("$5k", "5000 USD"), ("$1.5 million", "1500000 USD"), ("US$20", "20 USD"), ("5000 dollars", "5000 USD"),
    ("twenty dollars", "20 USD"), ("€50", "50 EUR"), ("50 euros", "50 EUR"), ("£3,000", "3000 GBP"), ("800港币", "800 HKD"),
    ("１００万元", "1000000 CNY"), ("大约50万左右", "500000"), ("预算才50万，太少", "500000"), ("we paid 5,000 of 7,500", "5000, 7500"),
]  # fmt: skip
NOTHING = [
    "三百多万", "两三万", "几百万", "上百万", "50-60万", "五十到六十万", "三分之一", "十几万", "3亿5千万",
    "v1.2.3", "Python 3.11", "iPhone 15", "13812345678", "2026-03-11", "3月11日", "15号", "下午3点", "10:30", "2026年",
    "订单20260311001", "id 0042", "#123", "192.168.1.1", "a4f9", "room 302", "第三", "第15章", "Q3", "16G", "4K屏", "5m",
    "万一下雨", "十分高兴", "千万别忘", "三块蛋糕", "元旦", "one of them", "a cat", "一起", "统一", "十一假期", "https://a.example/2024",
]  # fmt: skip


@pytest.mark.parametrize(("text", "numbers"), TABLE, ids=[t for t, _ in TABLE])
def test_what_a_number_is(text: str, numbers: str) -> None:
    assert ", ".join(map(str, find_numbers(text))) == numbers


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_no_amount(text: str) -> None:
    assert find_numbers(text) == []


def test_the_table_is_broad() -> None:
    assert len(TABLE) + len(NOTHING) >= 60


def test_the_span_holds_sign_and_unit() -> None:
    text = "报价是人民币300万元，首付30%。"
    assert [text[q.start : q.end] for q in find_numbers(text)] == ["人民币300万元", "30%"]


def _spelt(number: int) -> str:
    """The Chinese numeral of a number below 10 000, as schoolbooks write it."""
    digits, places = "零一二三四五六七八九", ["", "十", "百", "千"]
    out = ""
    for power in (3, 2, 1, 0):
        digit = number // 10**power % 10
        if digit:
            out += digits[digit] + places[power]
        elif out and not out.endswith("零"):
            out += "零"
    return out.rstrip("零") or "零"


@given(st.integers(1, 9999), st.integers(0, 9999))
def test_numerals_are_read_as_they_are_written(high: int, low: int) -> None:
    assert chinese_number(_spelt(high)) == high
    written = _spelt(high) + "万" + ("" if not low else ("零" if low < 1000 else "") + _spelt(low))
    assert chinese_number(written) == high * 10_000 + low


@pytest.mark.parametrize("written", ["", "两三", "万一", "百", "十十", "一百百", "三点", "abc", "一万万"])
def test_no_numeral(written: str) -> None:
    assert chinese_number(written) is None


def test_small_parts() -> None:
    assert (digit_string("二〇二六"), digit_string("二十"), digit_string("")) == (2026, None, None)
    assert [whole_number(w) for w in ("15", "十五", "两", "three", "x", "")] == [15, 15, 2, 3, None, None]
    assert [plain(Decimal(d)) for d in ("3000000", "3E+6", "0.30", "1.0")] == ["3000000", "3000000", "0.3", "1"]


PIECES = st.sampled_from([*(t for t, _ in TABLE), *NOTHING, "约", "到", "-", "万", "元", "%", " ", ".", ",", "三", "1"])


@given(st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=60))
def test_any_text_has_numbers_inside_it_or_none(text: str) -> None:
    found = find_numbers(text)
    assert found == find_numbers(text)
    end = 0
    for quantity in found:
        assert end <= quantity.start < quantity.end <= len(text)
        assert quantity.value.is_finite()
        assert str(quantity)
        end = quantity.end


@pytest.mark.parametrize("text", ["1" * 4000, "三" * 4000, "一百" * 2000, "1," * 2000, "one hundred " * 400])
def test_no_text_takes_long(text: str) -> None:
    began = process_time()
    find_numbers(text)
    assert process_time() - began < 2
