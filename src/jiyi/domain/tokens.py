"""How many tokens a text costs, without anybody's tokenizer (SPEC R4)."""

from __future__ import annotations

import math


def estimate_tokens(text: str) -> int:
    """An upper-leaning estimate: one token for each Han, kana, hangul or emoji character, one for each three
    and a half other characters of a word, one for each run of punctuation.

    Current vocabularies need 0.6–1.0 tokens a Han character and about one for four Latin letters, so a block
    that fits by this count fits in practice. Hosts with a tokenizer at hand can give their own counter.
    """
    tokens = 0.0
    run = 0
    for character in text:
        if ord(character) < 0x2E80:
            run += 1
            if not character.isalnum():
                tokens += math.ceil(run / 3.5)
                run = 0
        else:
            tokens += math.ceil(run / 3.5) + 1
            run = 0
    return int(tokens + math.ceil(run / 3.5))
