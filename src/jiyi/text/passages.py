"""Where words and sentences stand in a text as it was written, found by their folded form (SPEC F6).

Folding goes character by character, so that each folded character knows the one it comes from. Both sides of a
comparison must be folded here: the segmenter folds a text as a whole, which is not always the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category, combining, normalize

Span = tuple[int, int]

_ENDS = re.compile(r"[。！？!?；;\n\r\u2026]+|\.+(?=\s|$|[\u4e00-\u9fff])")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with its folded form. `origins[i]` is the place in `text` that `folded[i]` comes from."""

    text: str
    folded: str
    origins: tuple[int, ...]

    def places(self, words: str) -> Iterator[Span]:
        """Where the folded words stand in `text`; Latin ones only as whole words."""
        start = self.folded.find(words) if words else -1
        while start >= 0:
            if self.is_whole(start, start + len(words)):
                yield self.span(start, start + len(words))
            start = self.folded.find(words, start + 1)

    def is_whole(self, start: int, end: int) -> bool:
        """Whether a stretch of `folded` begins and ends with a word, not inside one."""
        text = self.folded
        cut_before = start > 0 and _latin(text[start - 1]) and _latin(text[start])
        cut_after = end < len(text) and _latin(text[end - 1]) and _latin(text[end])
        return not cut_before and not cut_after

    def windows(self, length: int) -> Iterator[tuple[str, int]]:
        """Every stretch of `folded` of that length that could be words, and where it begins."""
        text = self.folded
        for start in range(len(text) - length + 1):
            if text[start] != " " and text[start + length - 1] != " " and self.is_whole(start, start + length):
                yield text[start : start + length], start

    def span(self, start: int, end: int) -> Span:
        """The place in `text` of a stretch of `folded`; a character that folds into several is taken whole."""
        return self.origins[start], self.origins[end - 1] + 1


class Folding:
    """Makes passages. One may serve all threads.

    Args:
        fold: the segmenter's folding.
    """

    def __init__(self, fold: Callable[[str], str]) -> None:
        self._character = lru_cache(maxsize=1 << 16)(lambda c: _plain(c, fold))

    def passage(self, text: str) -> Passage:
        folded, origins, blank = list[str](), list[int](), True
        for place, character in enumerate(text):
            plain = self._character(character)
            if plain == " " and blank:
                continue  # runs of blanks are one, those in front are none
            folded.append(plain)
            origins.extend([place] * len(plain))
            blank = plain == " " or (blank and not plain)
        while folded and folded[-1] in ("", " "):
            if folded.pop():
                origins.pop()
        return Passage(text, "".join(folded), tuple(origins))

    def words(self, text: str) -> str:
        """Words as they are looked for."""
        return self.passage(text).folded

    def sentences(self, text: str) -> Iterator[tuple[str, Span]]:
        """Each sentence in its folded form, without the marks around it, and its place in the text, marks included."""
        start = 0
        for end in [*(m.end() for m in _ENDS.finditer(text)), len(text)]:
            if words := _bare(self.words(text[start:end])):
                yield words, (start, end)
            start = end


def bare_words(text: str) -> int:
    """How many letters and digits a text has."""
    return sum(c.isalnum() for c in text)


def _bare(folded: str) -> str:
    start, end = 0, len(folded)
    while start < end and not folded[start].isalnum():
        start += 1
    while end > start and not folded[end - 1].isalnum():
        end -= 1
    return folded[start:end]


def _plain(character: str, fold: Callable[[str], str]) -> str:
    if character.isspace():
        return " "
    # Taken apart, so that é is found whichever way it is written.
    plain = normalize("NFKD", fold(character) if character > "\x7f" else character.lower())
    return "".join(c for c in plain if category(c) != "Cf" and not c.isspace())


def _latin(character: str) -> bool:
    """A character of a word that is written with blanks around it; a mark that belongs to the letter before it too."""
    if combining(character):
        return True
    return character.isalnum() and not "\u2e80" <= character <= "\ud7ff" and not "\uf900" <= character <= "\ufaff"
