"""Where a text names a relation: a look-up by first characters, so that most text costs almost nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import normalize

from jiyi.domain.memory import Language
from jiyi.domain.relations import Relation, Vocabulary

_EDGE = re.compile(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])")
_IRREGULAR = {"have": "has", "do": "does", "go": "goes", "don't": "doesn't"}


@dataclass(frozen=True, slots=True)
class Trigger:
    """One wording of one or more relations. `kind` is "name", "verb", "deed" (what was done once) or "be" (an English verb after
    am/is/are).

    `third`: an English verb bent for he, she and names (lives in).
    """

    text: str
    kind: str
    relations: tuple[Relation, ...]
    third: bool = False


@dataclass(frozen=True, slots=True)
class Occurrence:
    trigger: Trigger
    start: int
    end: int


class Triggers:
    """All wordings of the vocabulary in one language."""

    __slots__ = ("_by_head", "_starts")

    def __init__(self, vocabulary: Vocabulary, language: Language, only_find: frozenset[str]) -> None:
        relations: dict[tuple[str, str, bool], list[Relation]] = {}
        for relation in vocabulary:
            for kind, text, third in _wordings(relation, language, only_find):
                same = relations.setdefault((kind, text, third), [])
                if relation not in same:
                    same.append(relation)
        begun: dict[str, list[Trigger]] = {}
        for (kind, text, third), same in sorted(relations.items(), key=lambda item: (-len(item[0][1]), item[0])):
            begun.setdefault(_head(text), []).append(Trigger(text, kind, tuple(same), third))
        # Under each head what shorter heads hold as well, so that one look-up finds all that may stand at a place.
        heads = {head: dict.fromkeys(head[:n] for n in (4, 3, 2, 1)) for head in begun}
        self._by_head = {head: [t for h in shorter for t in begun.get(h, ())] for head, shorter in heads.items()}
        self._starts = _starts({head[0] for head in begun})

    def find(self, lower: str, start: int, end: int) -> list[Occurrence]:
        """The longest wording of each kind at every place of `lower[start:end]`; longer ones first, then from the left."""
        found = []
        heads = self._by_head
        for place in self._starts.finditer(lower, start, end):
            at = place.start()
            head = lower[at : at + 4]
            begun = heads.get(head) or heads.get(head[:3]) or heads.get(head[:2]) or heads.get(head[:1])
            if begun is None:
                continue
            kinds: set[str] = set()
            for trigger in begun:
                stop = at + len(trigger.text)
                if trigger.kind in kinds or stop > end or not lower.startswith(trigger.text, at):
                    continue
                if _ends(lower, stop):
                    kinds.add(trigger.kind)
                    found.append(Occurrence(trigger, at, stop))
        found.sort(key=lambda o: (o.start - o.end, o.start))
        return found


def _head(text: str) -> str:
    """What a wording is looked up by; few share it."""
    return text[:4] if text.isascii() else text[:2]


def _starts(characters: Iterable[str]) -> re.Pattern[str]:
    """Where a wording with one of these first characters may begin: not inside an ASCII word."""
    ascii_, others = ("".join(sorted(c for c in characters if c.isascii() is plain)) for plain in (True, False))
    sides = ([rf"(?<![a-z0-9])[{re.escape(ascii_)}]"] if ascii_ else []) + (
        [f"[{re.escape(others)}]"] if others else []
    )
    return re.compile("|".join(sides) or r"(?!)")


def _wordings(relation: Relation, language: Language, only_find: frozenset[str]) -> Iterator[tuple[str, str, bool]]:
    # Chinese talk uses English nouns (我们的 DB 是 …); English talk has no Chinese ones.
    names = relation.names.all if language is Language.ZH else relation.names.en
    for name in names:
        if name not in only_find:
            yield from (("name", text, False) for text in _spaced(normalize("NFKC", name).lower()))
    for deed in relation.deeds.of(language):
        yield "deed", normalize("NFKC", deed).lower(), False
    for verb in relation.verbs.of(language):
        text = normalize("NFKC", verb).lower()
        if language is Language.ZH:
            yield from (("verb", t, False) for t in _spaced(text))
        elif text.startswith("be "):
            yield "be", text[3:], False
        else:
            yield "verb", text, False
            yield "verb", _third_person(text), True


def _spaced(text: str) -> Iterable[str]:
    """DB配置 is written DB 配置 as well."""
    return dict.fromkeys((text, _EDGE.sub(" ", text)))


def _third_person(phrase: str) -> str:
    """live in → lives in; a phrase that cannot be bent comes back as it is."""
    first, space, rest = phrase.partition(" ")
    if first in _IRREGULAR:
        bent = _IRREGULAR[first]
    elif first.endswith(("s", "sh", "ch", "x", "o")):
        bent = first + "es"
    elif first.endswith("y") and first[-2:-1] not in "aeiou":
        bent = first[:-1] + "ies"
    else:
        bent = first + "s"
    return bent + space + rest


def _ends(lower: str, end: int) -> bool:
    """ASCII words are whole words: `db` is not in `dbus`."""
    last, following = lower[end - 1], lower[end : end + 1]
    return not (following.isascii() and following.isalnum() and last.isascii() and last.isalnum())
