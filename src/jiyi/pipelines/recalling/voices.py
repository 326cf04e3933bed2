"""Whom a question names of those who speak, by the name or by the part of it that they are called by (SPEC R1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from jiyi.text.segmentation import Segmenter

_HAN = re.compile("[\u4e00-\u9fff]{3,4}")


def named_in(voices: Collection[str], question: str, segmenter: Segmenter) -> dict[str, str]:
    """The voices that a folded question names, each with the folded name that stands in it: the whole, or a part that no
    other voice shares (Priya of Priya Nair, 晓彤 of 林晓彤)."""
    found: dict[str, str] = {}
    lacking: list[tuple[str, str]] = []
    for voice in voices:
        name = segmenter.fold(voice)
        if stands_in(name, question):
            found[voice] = name
        else:
            lacking.append((voice, name))
    shared = Counter(part for voice in voices for part in {*_parts(segmenter.fold(voice)), segmenter.fold(voice)})
    for voice, name in lacking:
        for part in _parts(name):
            # Will Baker is not named by "will he come?".
            if shared[part] == 1 and not segmenter.is_stop(part) and stands_in(part, question):
                found[voice] = part
                break
    return found


def _parts(name: str) -> Iterator[str]:
    """What somebody of that name is called: any word of it, and in Chinese the given name."""
    if _HAN.fullmatch(name):
        yield name[-2:]
    elif " " in name:
        yield from (word for word in re.findall(r"\w[\w'’-]*", name) if len(word) > 1)


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands free in a text; in scripts without spaces anywhere."""
    if len(name) < 2:
        return False
    return name in text if name[0] > "\u2e80" else re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
