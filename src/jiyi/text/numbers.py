"""Numbers with their units in running text: amounts of money, percentages, plain numbers, zh and en (SPEC C8).

What is found is exact or it is not found: 三百多万, 两三万, 50-60万 and 三分之一 give nothing. Versions, dates, clock times,
phone-like runs, ids and numbers inside words are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

PERCENT = "%"

# A message is talk; a longer run of digits is data.
_LONGEST = 24


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number at `[start, end)` of the text. `unit` is an ISO 4217 code, "%" or "" for a plain number."""

    start: int
    end: int
    value: Decimal
    unit: str = ""

    def __str__(self) -> str:
        return f"{plain(self.value)} {self.unit}".strip()


# ------------------------------------------------------------------ words, zh and en side by side

_DIGITS = {
    "零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
}  # fmt: skip
_PLACES = {"十": 10, "百": 100, "千": 1000}
_GROUPS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_SCALES = {
    "百": 10**2, "千": 10**3, "万": 10**4, "w": 10**4, "十万": 10**5, "百万": 10**6, "千万": 10**7, "亿": 10**8,
    "十亿": 10**9, "百亿": 10**10, "千亿": 10**11, "万亿": 10**12,
    "k": 10**3, "m": 10**6, "b": 10**9, "bn": 10**9, "grand": 10**3,
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
}  # fmt: skip
_SIGNS = {"us$": "USD", "hk$": "HKD", "$": "USD", "¥": "CNY", "€": "EUR", "£": "GBP"}
_CURRENCIES = {
    "人民币": "CNY", "块钱": "CNY", "块": "CNY", "元": "CNY", "圆": "CNY", "美元": "USD", "美金": "USD", "美刀": "USD",
    "欧元": "EUR", "英镑": "GBP", "港币": "HKD", "港元": "HKD", "日元": "JPY", "韩元": "KRW",
    "rmb": "CNY", "cny": "CNY", "yuan": "CNY", "usd": "USD", "dollar": "USD", "dollars": "USD", "buck": "USD", "bucks": "USD",
    "eur": "EUR", "euro": "EUR", "euros": "EUR", "gbp": "GBP", "pound": "GBP", "pounds": "GBP", "quid": "GBP",
    "hkd": "HKD", "jpy": "JPY", "yen": "JPY",
}  # fmt: skip
_PERCENTS = ("%", "percent", "per cent")
_ONES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
# Full-width forms of what numbers are written with; one character each, so that places stay.
_WIDTH = str.maketrans("０１２３４５６７８９．，％￥＄：－／", "0123456789.,%¥$:-/")

# ------------------------------------------------------------------ numerals


def plain(value: Decimal) -> str:
    """Without exponent and without needless zeros: 3000000, 0.3."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def chinese_number(written: str) -> int | None:
    """三百万 → 3000000; 两千五 → 2500; 一万零二 → 10002; None when it is no whole numeral (两三, 万一).

    A last digit without a place takes the next lower one, as people say it (一万二).
    """
    total = section = 0
    digit: int | None = None
    last, zero = 0, False
    for character in written:
        if character in _DIGITS:
            if digit is not None:
                return None
            if _DIGITS[character]:
                digit = _DIGITS[character]
            else:
                zero = True
        elif character in _PLACES:
            place = _PLACES[character]
            if digit is None and place == 10:
                digit = 1  # 十五, 一百十五
            if digit is None or 0 < last <= place:
                return None
            section, digit, last, zero = section + digit * place, None, place, False
        elif character in _GROUPS:
            group = _GROUPS[character]
            section += digit or 0
            if not total + section or (group == 10**4 and total % 10**8):
                return None
            total = (total + section) * group if group == 10**8 else total + section * group
            section, digit, last, zero = 0, None, group, False
        else:
            return None
    if digit is not None:
        section += digit * (last // 10 if last and not zero else 1)
    elif zero and (total or section):
        return None
    return total + section if written else None


def digit_string(written: str) -> int | None:
    """二〇二六 → 2026: Chinese digits read one by one."""
    if not written or any(c not in _DIGITS for c in written):
        return None
    return int("".join(str(_DIGITS[c]) for c in written))


def english_number(written: str) -> Decimal | None:
    """ "two thousand five hundred" → 2500; "half a million" → 500000; None when it is no numeral."""
    total = Decimal(0)
    current: Decimal | None = None
    for word in re.split(r"[\s-]+", written.lower().strip()):
        if word in ("a", "an"):
            current = current if current is not None else Decimal(1)
        elif word == "and":
            continue
        elif word == "half":
            current = Decimal("0.5")
        elif word in _ONES or word in _TENS:
            current = (current or Decimal(0)) + _ONES.get(word, _TENS.get(word, 0))
        elif word == "hundred" and current is not None:
            current *= 100
        elif word in _SCALES and current is not None:
            total, current = total + current * _SCALES[word], None
        else:
            return None
    return total + (current or Decimal(0))


def whole_number(written: str) -> int | None:
    """A small whole number in any writing: 15, 十五, 两, three; None otherwise."""
    written = written.strip()
    if written.isascii() and written.isdigit():
        return int(written) if len(written) <= 9 else None
    if written[:1] in _DIGITS or written[:1] in _PLACES:
        return chinese_number(written)
    if not re.fullmatch(r"[A-Za-z]+(?:[\s-][A-Za-z]+)*", written):
        return None
    number = english_number(written)
    return int(number) if number is not None and number == int(number) else None


# ------------------------------------------------------------------ patterns


def _either(words: object) -> str:
    assert isinstance(words, dict | tuple | list)
    return "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))


_HAN_NUMERAL = "零〇一二两兩三四五六七八九十百千万萬亿億"
_WORD_NUMBER = rf"(?:{_either(list(_ONES))}|{_either(list(_TENS))})"
_ENGLISH = (
    rf"(?:(?:half\s+)?an?|{_WORD_NUMBER}(?:[\s-]{_WORD_NUMBER})?)"
    rf"(?:\s+(?:hundred|thousand|million|billion|trillion)(?:\s+(?:and\s+)?{_WORD_NUMBER}(?:[\s-]{_WORD_NUMBER})?)?)*"
)
_LATIN_UNITS = [w for w in _CURRENCIES if w.isascii()]
_HAN_UNITS = [w for w in _CURRENCIES if not w.isascii() and w not in ("块", "元", "圆")]
_SCALE = (
    r"(?:\s?(?P<scale>万亿|[十百千]?[万亿]|[百千])|\s?(?P<letter>bn|[kKmMwWbB])(?![A-Za-z0-9])"
    r"|\s(?P<word>hundred|thousand|million|billion|trillion|grand)(?![A-Za-z]))"
)
# 三块蛋糕 is no money, and 元旦 no currency.
_UNIT = (
    rf"(?:\s?(?P<unit>{_either(_HAN_UNITS)}|块(?=$|[\s,，。！!？?；;、）)了吧呢左以上一每的])|[元圆](?![旦宵素件老月年首器]))"
    rf"|\s?(?P<latin>{_either(_LATIN_UNITS)})(?![A-Za-z])|\s?(?P<percent>%|percent(?![A-Za-z])|per\s?cent(?![A-Za-z])))"
)
_NUMBER = re.compile(
    rf"(?P<sign>(?<![A-Za-z]){_either(_SIGNS)}|(?<![A-Za-z])(?:人民币|rmb|cny|usd|eur|gbp|hkd))?\s?"
    rf"(?:(?P<of>百分之)(?P<share>\d+(?:\.\d+)?|[{_HAN_NUMERAL}]+)"
    rf"|(?P<arabic>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d{{1,{_LONGEST}}}(?:\.\d+)?){_SCALE}?"
    rf"|(?P<han>[{_HAN_NUMERAL}]+)"
    rf"|(?<![A-Za-z])(?P<english>{_ENGLISH})(?![A-Za-z])){_UNIT}?",
    re.IGNORECASE,
)
_QUICK = re.compile(rf"\d|[{_HAN_NUMERAL}]|\b(?:{_either(list(_ONES))}|{_either(list(_TENS))}|an?)\b", re.IGNORECASE)
_BOUND_BEFORE = re.compile(r"[A-Za-z0-9_.,:/\\#@+\-~～–—第初万亿千]$")
_BOUND_AFTER = re.compile(r"[A-Za-z0-9_:/\\@]|[.,]\d|\s?[-~～–—至到](?=\s?[\d零〇一二两三四五六七八九十¥$])|-")
_INEXACT_BEFORE = re.compile(r"(?:[几数上好多近](?:[十百千万])?|[至到~～–—-]\s?|第\s?|周|星期|礼拜|[老初])$")
_INEXACT_AFTER = re.compile(r"[几多余来]|分之|点[零〇一二三四五六七八九]|成")
# 3月, 十五号 and 9点 are times, 302室 is a room: nobody's amount.
_OTHER_AFTER = re.compile(
    r"\s?(?:[年月日号點点时時秒周季世旬版楼室栋层]|星期|礼拜|小时|分钟|代|(?:st|nd|rd|th|am|pm)(?![A-Za-z]))", re.I
)
_NAME_BEFORE = re.compile(
    r"(?:[A-Z][A-Za-z]*|\b(?:v|version|no|nr|room|line|page|port|build|release|chapter|step|issue|level))\.?\s$"
)
_NO_NUMBERS = frozenset(
    {"万一", "千万", "百万", "十分", "万万", "千百", "十一", "亿万", "百十", "一百分", "百", "千", "十", "万", "亿"}
)


def find_numbers(text: str) -> list[Quantity]:
    """The exact numbers of a text, from left to right, without overlap. Never raises, whatever the text."""
    if _QUICK.search(text) is None:
        return []
    folded = text.translate(_WIDTH)
    return list(_found(folded))


def _found(text: str) -> Iterator[Quantity]:
    for match in _NUMBER.finditer(text):
        start = match.start() + (len(match.group()) - len(match.group().lstrip()))
        number = match.start(next(name for name in ("of", "arabic", "han", "english") if match.group(name)))
        if _out_of_bounds(text, start, match.end()):
            continue
        value, unit = _value(match), _unit(match)
        if value is not None and (unit or not _is_no_amount(text, match, number)):
            yield Quantity(start, match.end(), value, unit)


def _out_of_bounds(text: str, start: int, end: int) -> bool:
    """Inside a word, a version, a range, or said inexactly."""
    before = text[max(0, start - 4) : start]
    return bool(
        _BOUND_BEFORE.search(before)
        or _INEXACT_BEFORE.search(before)
        or _BOUND_AFTER.match(text, end)
        or _INEXACT_AFTER.match(text, end)
    )


def _value(match: re.Match[str]) -> Decimal | None:
    if share := match["share"]:
        return _decimal(share)
    if arabic := match["arabic"]:
        letter, number = match["letter"], _decimal(arabic)
        scale = match["scale"] or match["word"] or letter
        money = match["sign"] or match["unit"] or match["latin"]
        if letter and not money and (letter in "mbB" or (letter == "K" and arabic in ("2", "4", "8"))):
            return None  # 5m is a length, 4K a screen
        return None if number is None else number * (_SCALES[scale.lower()] if scale else 1)
    if han := match["han"]:
        number_of = chinese_number(han)
        return None if number_of is None else Decimal(number_of)
    return english_number(match["english"])


def _decimal(written: str) -> Decimal | None:
    if written[0] in _HAN_NUMERAL:
        number = chinese_number(written)
        return None if number is None else Decimal(number)
    return Decimal(written.replace(",", ""))


def _unit(match: re.Match[str]) -> str:
    if match["of"] or match["percent"]:
        return PERCENT
    if word := match["unit"] or match["latin"]:
        return _CURRENCIES[word.lower()]
    sign = (match["sign"] or "").lower()
    return _SIGNS.get(sign) or _CURRENCIES.get(sign, "")


def _is_no_amount(text: str, match: re.Match[str], number: int) -> bool:
    """A number without a unit that is a date, a year, an id, a version, or no number at all."""
    if _OTHER_AFTER.match(text, match.end()):
        return True
    if arabic := match["arabic"]:
        if match["scale"] or match["letter"] or match["word"]:
            return False
        digits = arabic.replace(",", "")
        year = len(digits) == 4 and arabic == digits and digits[:2] in ("19", "20")
        coded = len(digits) > 1 and digits[0] == "0" and digits[1] != "."
        longer = arabic == digits and len(digits.split(".")[0]) >= 7
        return bool(year or coded or longer or _NAME_BEFORE.search(text[max(0, number - 16) : number]))
    if han := match["han"]:
        return han in _NO_NUMBERS or len(han) < 2 or not any(c in _PLACES or c in _GROUPS for c in han)
    return not re.search(r"hundred|thousand|million|billion|trillion", match["english"], re.IGNORECASE)
