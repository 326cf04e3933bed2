"""A text as the detectors see it: the same length, full-width and other digits and letters in their ASCII form (SPEC C11)."""

from __future__ import annotations

import re

# The first of ten digits: Arabic, Persian, Devanagari, Bengali, Thai, and the five styles of mathematics.
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1FBF0)


def _table() -> dict[int, str]:
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    for zero in _ZEROS:
        table |= {zero + digit: str(digit) for digit in range(10)}
    spaces = (0xA0, 0x3000, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD, *range(0x2000, 0x200B), 0x202F, 0x205F)
    table |= dict.fromkeys(spaces, " ")
    table |= dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xFE58, 0xFE63), "-")
    return table


_FOLD = _table()
_SPELLED = re.compile(r"[0-9〇零一二三四五六七八九幺两]{11,}")
_SPELLED_DIGITS = str.maketrans("〇零一二三四五六七八九幺两", "0012345678912")


def shadow_of(text: str) -> str:
    """The text with digits, letters, blanks and dashes in their ASCII form; of the same length."""
    if text.isascii():
        return text
    shadow = text.translate(_FOLD)
    if _SPELLED.search(shadow):
        shadow = _SPELLED.sub(lambda m: m.group().translate(_SPELLED_DIGITS), shadow)
    return shadow
