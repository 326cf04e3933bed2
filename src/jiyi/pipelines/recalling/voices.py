"""Whom a question names of those who speak, by the name or by the part of it that they are called by (SPEC R1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from jiyi.text.names import TITLE_CASE, NameWords
from jiyi.text.segmentation import Segmenter

_HAN = re.compile("[\u4e00-\u9fff]+")
_LETTER = "[^\\W\u2e80-\U0010ffff]"
_WORD = re.compile(rf"{_LETTER}+(?:['’-]{_LETTER}+)*")
_POSSESSIVE = re.compile(r"['’]s$")


def named_in(
    voices: Collection[str], folded: str, written: str, segmenter: Segmenter, words: NameWords
) -> dict[str, str]:
    """The voices that a question names, each with what names it there: the whole name, or a part of it that no other voice
    shares (Priya of Priya Nair, 晓彤 of 林晓彤).

    A part is more often a word than a name is. So one in letters counts where it is written with a capital (the van is not
    Van Dyke), a Chinese one only of a name by its surname and if it is no word (消息 of 系统消息); a word of the calendar never.

    Args:
        folded: the question, in which whole names are looked for. They are given back folded.
        written: the question as written, without the times in it: parts are looked for in it, and given back as they stand.
    """
    found: dict[str, str] = {}
    lacking: list[tuple[str, str]] = []
    for voice in voices:
        name = segmenter.fold(voice)
        if stands_in(name, folded):
            found[voice] = name
        else:
            lacking.append((voice, name))
    if not lacking:
        return found
    shared = Counter(
        part for voice in voices for part in {*_parts(segmenter.fold(voice), words), segmenter.fold(voice)}
    )
    simplified = segmenter.fold(written)
    capitals = {segmenter.fold(word): word for word in _capitals(written)}
    for voice, name in lacking:
        for part in _parts(name, words):
            # Will Baker is not named by "will he come?".
            if shared[part] > 1 or segmenter.is_stop(part) or _in_calendar(part, words):
                continue
            if _HAN.fullmatch(part):
                called = part if part in simplified and segmenter.cut(part) != [part] else None
            elif part[0] > "\u2e80":
                called = part if stands_in(part, written) else None
            else:
                called = capitals.get(part)
            if called is not None:
                found[voice] = called
                break
    return found


def _parts(name: str, words: NameWords) -> Iterator[str]:
    """What somebody of that name is called: any word of it, and in Chinese the given name."""
    whole = name.replace(" ", "")
    if _HAN.fullmatch(whole):
        surname = 2 if whole[:2] in words.double_surnames else 1
        if len(whole) == surname + 2 and (surname == 2 or whole[0] in words.surnames):
            yield whole[surname:]
    elif " " in name:
        yield from (word for word in re.findall(r"\w[\w'’-]*", name) if len(word) > 1 and not _HAN.fullmatch(word))


def _capitals(text: str) -> Iterator[str]:
    """The words of a text that may be names by how they are written; of scripts without capitals every word."""
    found = [_POSSESSIVE.sub("", word) for word in _WORD.findall(text)]
    if len(found) > 3 and sum(word[0].isupper() for word in found) > TITLE_CASE * len(found):
        return
    yield from (word for word in found if word[0].isalpha() and not word[0].islower())


def _in_calendar(part: str, words: NameWords) -> bool:
    return part in words.no_name or part.removesuffix("s") in words.no_name or part in words.calendar_short


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands free in a text; in scripts without spaces anywhere."""
    if len(name) < 2:
        return False
    return name in text if name[0] > "\u2e80" else re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
