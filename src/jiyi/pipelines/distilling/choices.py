"""The choices between words that the forms of a language are made of, as regexes (SPEC C6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from unicodedata import normalize

BEGINS, ENDS = r"(?<![a-zA-Z])", r"(?![a-zA-Z])"


def literal(text: str) -> str:
    """Words of letters match as whole words, so that `hi` is not found in `this`; ASCII ends are bounded."""
    text = normalize("NFKC", text)
    source = re.escape(text)
    if text[0].isascii() and text[0].isalpha():
        source = BEGINS + source
    if text[-1].isascii() and text[-1].isalpha():
        source += ENDS
    return source


def whole(words: Sequence[str], others: Iterable[str] = ()) -> str:
    """One of these words, the longest first, where it is no half of a hyphenated one and none of `others` goes on from it."""
    longer = [other for other in others if other not in words and any(other.startswith(f"{word} ") for word in words)]
    barred = f"(?!{by_letter(_escaped(longer))}{ENDS})" if longer else ""
    return rf"{BEGINS}(?<![a-zA-Z]-){barred}(?>{by_letter(_escaped(words))}(?![a-zA-Z]|-[a-zA-Z]))"


def _escaped(words: Iterable[str]) -> list[str]:
    return [re.escape(normalize("NFKC", word)).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True)]


def one_beginning(parts: Sequence[str]) -> Iterator[str]:
    """The sides of a choice; where neighbours begin with a word, that one begins is asked once for all of them."""
    for bounded, side in groupby(parts, key=lambda part: part.startswith(BEGINS)):
        run = list(side)
        if bounded and len(run) > 1:
            yield f"{BEGINS}{by_letter([part.removeprefix(BEGINS) for part in run])}"
        else:
            yield from run


def by_letter(parts: Sequence[str]) -> str:
    """A choice, in its order, with the sides that begin with the same letter put together. Sides that begin with other
    letters cannot fit at the same place, and need not be tried there."""
    begun: dict[str, list[str]] = {}
    for part in parts:
        begun.setdefault(part[0].lower() if part[0].isalpha() else part, []).append(part[1:])
    sides = [
        first if not first.isalpha() else first + (rest[0] if len(rest) == 1 else f"(?:{'|'.join(rest)})")
        for first, rest in begun.items()
    ]
    return f"(?:{'|'.join(sides)})"
