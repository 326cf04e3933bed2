"""Names that a question holds: of people, makes and places, by how they are written (SPEC R4).

Only what is surely a name: a name that was never mentioned makes a question unanswerable, a noun does not. Latin names by
their capitals; Chinese ones by what stands around them: a surname before a title (裴医生), 老 or 阿 before one (老詹), two
characters that are no word behind a role (表妹菲菲); towns by a list, since a capital tells them only in Latin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from jiyi.text.segmentation import Segmenter

_LATIN = re.compile(r"[^\W\d_](?:[\w'’&.-]*\w)?")
_HAN_RUN = re.compile("[\u4e00-\u9fff]+")
_SENTENCE_END = re.compile(r"[.!?。！？:：\"“”‘(（]\s*$")
_POSSESSIVE = re.compile(r"['’]s?$")
TITLE_CASE = 0.6
"""Where more of the words than this are capitalised, capitals tell nothing."""
ACRONYM = 6
"""Letters up to which capitals make a term of the trade (SQL, HTTPS), not a name."""
NAMING = "老小阿"


@dataclass(frozen=True, slots=True)
class NameWords:
    """The vocabulary of names."""

    no_name: frozenset[str]
    surnames: frozenset[str]
    titles: tuple[str, ...]
    roles: frozenset[str]
    pointers: frozenset[str]
    measures: frozenset[str]
    relatives: tuple[tuple[str, ...], ...]
    places: frozenset[str]
    things: frozenset[str]
    calendar_short: frozenset[str]
    double_surnames: frozenset[str]
    surnames_too: frozenset[str]
    regions: Mapping[str, tuple[str, ...]]

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> NameWords:
        longest = sorted(data["titles"], key=lambda title: (-len(title), title))
        return cls(
            frozenset(data["no_name"]), frozenset(data["surnames"]), tuple(longest), frozenset(data["roles"]),
            frozenset(data["pointers"]), frozenset(data["measures"]), tuple(map(tuple, data["relatives"])),
            frozenset(data["places"]), frozenset(data["things"]),
            frozenset(data["calendar_short"]), frozenset(data["double_surnames"]),
            frozenset(data["surnames_too"]), {line[0]: tuple(line[1:]) for line in data["regions"]},
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written, and what of it, folded, would stand in a text that mentions it: any of these will do, and nothing
    else where it is `exact`."""

    text: str
    marks: tuple[str, ...]
    exact: bool = False


def latin_names(text: str, words: NameWords, is_stop: Callable[[str], bool]) -> list[Name]:
    """Capitalised words that do not merely open a sentence; of words in a row any makes the name known."""
    found = list(_LATIN.finditer(text))
    plain = [m.group() for m in found]
    if len(plain) > 3 and sum(word[0].isupper() for word in plain) > TITLE_CASE * len(plain):
        return []
    han = bool(_HAN_RUN.search(text))
    names: list[list[re.Match[str]]] = []
    for match in found:
        word = _POSSESSIVE.sub("", match.group())
        opens = not han and (match.start() == 0 or _SENTENCE_END.search(text[: match.start()]) is not None)
        if not _is_name(word, opens, words, is_stop):
            continue
        if names and text[names[-1][-1].end() : match.start()] == " ":
            names[-1].append(match)
        else:
            names.append([match])
    return [_name([_POSSESSIVE.sub("", m.group()) for m in row]) for row in names]


def _name(row: Sequence[str]) -> Name:
    return Name(" ".join(row), tuple(row))


def _is_name(word: str, opens: bool, words: NameWords, is_stop: Callable[[str], bool]) -> bool:
    folded = word.casefold()
    no_name = folded in words.no_name or folded.removesuffix("s") in words.no_name
    if len(word) < 2 or no_name or is_stop(folded) or not word.isalpha():
        return False
    if word.isupper():
        return len(word) > ACRONYM
    mixed = any(c.isupper() for c in word[1:])
    return mixed or (word[0].isupper() and not opens)


def han_names(text: str, words: NameWords, segmenter: Segmenter) -> Iterator[Name]:
    """Chinese names, by what stands around them; of towns the dictionary makes words."""
    for run in _HAN_RUN.findall(segmenter.fold(text)):
        cut = segmenter.cut(run)
        yield from _titled(run, words)
        for i, word in enumerate(cut):
            if word in words.places or word in words.regions:
                yield Name(word, (word, *words.regions.get(word, ())))
            yield from _behind(cut, i, word, words, segmenter.is_stop)
            yield from _full(cut, i, word, words, segmenter.is_stop)


def _titled(run: str, words: NameWords) -> Iterator[Name]:
    """裴医生: known where the surname stands in any text, in whatever form (姓裴, 裴主任)."""
    for title in words.titles:
        for match in re.finditer(title, run):
            double, single = (run[max(0, match.start() - n) : match.start()] for n in (2, 1))
            before = double if double in words.double_surnames else single
            if (before in words.surnames or before is double) and len(title) > 1:
                yield Name(before + title, (before,))


def _full(cut: Sequence[str], i: int, word: str, words: NameWords, is_stop: Callable[[str], bool]) -> Iterator[Name]:
    """韩梦瑶, 苏晴: a surname before characters that make no word; before a single one only where the surname is no word itself.
    曾姐: known where the surname stands, as 裴医生 is."""
    if word not in words.surnames:
        return
    given = list(takewhile(lambda c: len(c) == 1 and "\u4e00" <= c <= "\u9fff" and not is_stop(c), cut[i + 1 : i + 3]))
    if not given or given[0] in (word, "家"):
        return
    if given[0] in words.titles:
        yield Name(word + given[0], (word,))
    elif len(given) == 2 or word not in words.surnames_too:
        # What stands behind a name of two characters may be a verb: 孟凡吃 is known by 孟凡. Whoever told of 孟老师 or 小孟 may mean them.
        called = (*(name + word for name in ("老", "小")), *(word + title[0] for title in words.titles))
        yield Name(word + "".join(given), tuple(dict.fromkeys((word + "".join(given), word + given[0], *called))))


def _behind(cut: Sequence[str], i: int, word: str, words: NameWords, is_stop: Callable[[str], bool]) -> Iterator[Name]:
    after = cut[i + 1] if i + 1 < len(cut) else ""
    if word in NAMING and len(after) == 1 and not is_stop(after):
        if word == "阿" or after in words.surnames:
            yield Name(word + after, (word + after,))
        return
    if word not in words.roles and word not in words.pointers:
        return
    second = cut[i + 2] if i + 2 < len(cut) else ""
    if after in words.things or (second in words.measures and i + 3 < len(cut)):
        return
    if len(after) == len(second) == 1 and not is_stop(after) and not is_stop(second) and after not in NAMING:
        yield Name(after + second, (after + second,))
    elif word in words.roles and len(after) == 2 and after[0] == after[1]:
        yield Name(after, (after,))


def relatives_in(text: str, words: NameWords, segmenter: Segmenter) -> Iterator[Name]:
    """Relatives that a text speaks of; any word of the line mentions them."""
    said = set(segmenter.words(text))
    for line in words.relatives:
        if word := next((w for w in line if w in said), None):
            yield Name(word, line, exact=True)


def names_in(text: str, words: NameWords, segmenter: Segmenter) -> tuple[Name, ...]:
    """The names of a text, each once."""
    found: Iterable[Name] = (
        *latin_names(text, words, segmenter.is_stop),
        *han_names(text, words, segmenter),
        *relatives_in(text, words, segmenter),
    )
    return tuple({name.text: name for name in found}.values())
