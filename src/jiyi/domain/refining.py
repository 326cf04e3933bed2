"""When one value is a more precise form of another: PostgreSQL 16 of PostgreSQL, 杭州西湖区 of 杭州 (SPEC B2).

Values are compared as they are folded, on the borders of words: JavaScript is no Java, and what the dictionary holds as
one word (北京烤鸭) is no 北京. Each relation says in what way its values are refined (`refines` in relations.toml), and
one that says nothing is never refined; the words that tell are data (`vocabulary/refining.toml`). In doubt another value
is another value: a wrong refinement would hide a contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jiyi.domain.relations import Detail, Relation
from jiyi.errors import SettingsError

Finer: TypeAlias = Callable[[str, str], bool]
"""Whether the first value is a more precise form of the second."""


def never_finer(fine: str, coarse: str) -> bool:
    """Of relations whose values are not refined."""
    return False


_TABLES = ("joining", "editions", "place_ends", "roads", "inside", "parts", "called", "months")
_DATE_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_DATE_ZH = re.compile(r"(?:(\d{4})年)?(?:(\d{1,2})月(?:份)?)?(?:(\d{1,2})[日号])?")
_VERSION = re.compile(r"v?\d+(?:\.(?:\d+|x))*[a-z]?")
_TOKEN = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*")
_HAN_EDGE = re.compile(r"[\u3400-\u9fff]\Z")
# A name may run into its version only where it is long enough to be one: MySQL8 of MySQL, and no S3 of S.
_SHORTEST_GLUED = 3

DateParts: TypeAlias = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Refining:
    """The words of `refining.toml`, both languages together.

    `starts` gives the places in a folded text where a word begins, by the dictionary for Chinese; `stems` the words of a text
    that tell something, whatever their form.
    """

    words: Mapping[str, tuple[str, ...]]
    starts: Callable[[str], Collection[int]]
    stems: Callable[[str], Collection[str]]

    def of(self, relation: Relation | None) -> Finer:
        """How the values of a relation are refined; never, where it does not say."""
        if relation is None or relation.refines is None:
            return never_finer
        return {
            Detail.DATE: self._date,
            Detail.PLACE: self._place,
            Detail.RELEASE: self._release,
            Detail.MODEL: self._model,
            Detail.NAME: self._name,
            Detail.CALLED: self._called,
            Detail.HABIT: self._habit,
        }[relation.refines]

    # ------------------------------------------------------------------ one way of refining each

    def _date(self, fine: str, coarse: str) -> bool:
        """2026-03-15 of 2026-03; May 12, 1990 of May 12: all that the coarser one tells, and more."""
        known, told = self._date_parts(coarse), self._date_parts(fine)
        if known is None or told is None or known == told:
            return False
        return all(part is None or part == other for part, other in zip(known, told, strict=True))

    def _place(self, fine: str, coarse: str) -> bool:
        """A place inside another, only where the words contain it: 杭州西湖区 and 浙江杭州 of 杭州; Kreuzberg in Berlin."""
        for name in {coarse, self._bare(coarse)}:
            if len(name) < 2 or fine in (coarse, name):
                continue
            rest = fine.removeprefix(name)
            if rest != fine and self._continues(fine, name, rest):
                return True
            front = fine.removesuffix(name)
            if front != fine and self._leads(fine, front, name):
                return True
        return False

    def _release(self, fine: str, coarse: str) -> bool:
        """A version or an edition of the same product."""
        if not fine.startswith(coarse):  # as it is with nearly all of a thousand values
            return False
        if coarse[-1:].isdigit() and " " in coarse and re.fullmatch(r"(?:\.\d+)+", fine.removeprefix(coarse)):
            return fine.startswith(coarse)
        rest = self._after(fine, coarse, glued=True)
        return bool(rest) and all(_VERSION.fullmatch(w) or w in self.words["editions"] for w in rest)

    def _model(self, fine: str, coarse: str) -> bool:
        """A model of the same make: iPhone 15 Pro of iPhone."""
        rest = self._after(fine, coarse, glued=True)
        return bool(rest) and not any(w in self.words["joining"] for w in rest)

    def _name(self, fine: str, coarse: str) -> bool:
        """A full name after a first name, in letters with spaces between: a name of three characters is another name
        than that of its first two."""
        if not fine.startswith(coarse):
            return False
        rest = self._after(fine, coarse, glued=False)
        told = all(w.replace("'", "").replace("’", "").isalpha() and w not in self.words["joining"] for w in rest)
        return bool(rest) and told and not any(_HAN_EDGE.match(c) for c in fine)

    def _called(self, fine: str, coarse: str) -> bool:
        """The same with its name."""
        if coarse not in fine:
            return False
        said = "|".join(map(re.escape, self.words["called"]))
        return (
            re.fullmatch(rf"{re.escape(coarse)} (?:{said}) \S.*", fine) is not None
            or re.fullmatch(rf"[，,]?(?:{said})\S+的{re.escape(coarse)}", fine) is not None
            or re.fullmatch(rf"[^,]+, (?:my|our) {re.escape(coarse)}|{re.escape(coarse)}, (?!(?:an?|the|and|my|our)\b)[^\s,]+", fine) is not None
            or (_HAN_EDGE.search(coarse) is not None and re.fullmatch(rf"{re.escape(coarse)}[，,]?(?:{said})\S+", fine) is not None)
        )  # fmt: skip

    def _habit(self, fine: str, coarse: str) -> bool:
        """The same done with more said of it, in whatever form of the word: run every morning of running, 每天早上跑步 of 跑步."""
        said, more = set(self.stems(coarse)), set(self.stems(fine))
        return fine != coarse and bool(said) and said <= more and len(said) < len(more)

    # ------------------------------------------------------------------ parts

    def _after(self, fine: str, coarse: str, *, glued: bool) -> list[str]:
        """The words that a longer value adds behind a shorter one, on the border of words; empty where it does not."""
        rest = fine.removeprefix(coarse)
        if not coarse or rest == fine or not rest:
            return []
        apart = rest[0] in " -–/(（" or bool(_HAN_EDGE.match(coarse[-1])) is not bool(_HAN_EDGE.match(rest[0]))
        version = coarse[-1].isalpha() and rest[0].isdigit() and len(coarse) >= _SHORTEST_GLUED
        if not apart and not (glued and version):
            return []
        return _TOKEN.findall(rest) if re.fullmatch(r"[\w\s.\-–/()（）'’+]*", rest) else []

    def _continues(self, fine: str, name: str, rest: str) -> bool:
        """Whether what follows the name of a place lies in it."""
        if rest.startswith(", "):
            return len(rest) > 2
        if not _HAN_EDGE.search(name) or len(name) not in self.starts(fine):
            # What the dictionary holds as one word may still be the name with its rank: 吉林市.
            return bool(_HAN_EDGE.search(name)) and rest in self.words["place_ends"]
        return (len(rest) > 1 or rest in self.words["place_ends"]) and not rest.startswith(self.words["roads"])

    def _leads(self, fine: str, front: str, name: str) -> bool:
        """Whether what stands before the name of a place tells where in it, or where it lies."""
        if front.endswith(", "):
            return len(front) > 2
        words = front.split(" ")
        if front.endswith(" "):
            return front.strip() in self.words["parts"] or (len(words) > 2 and words[-2] in self.words["inside"])
        return bool(_HAN_EDGE.search(front)) and len(front) > 1 and len(front) in self.starts(fine)

    def _bare(self, place: str) -> str:
        """杭州市 as 杭州."""
        return place[:-1] if len(place) > 2 and place[-1] in self.words["place_ends"] else place

    def _date_parts(self, value: str) -> DateParts | None:
        """Year, month and day as far as they are told; None for what is no date."""
        if match := _DATE_ISO.fullmatch(value) or (_DATE_ZH.fullmatch(value) if value else None):
            year, month, day = (None if part is None else int(part) for part in match.groups())
            return year, month, day
        months = {name[:n]: number for number, name in enumerate(self.words["months"], 1) for n in (3, len(name))}
        found: dict[str, int] = {}
        for word in re.findall(r"[^\W_]+", value):
            bare = re.sub(r"(?<=\d)(?:st|nd|rd|th)\Z", "", word)
            if bare.isascii() and bare.isdigit():
                kind, number = ("year" if len(bare) == 4 else "day"), int(bare)
            elif bare in months:
                kind, number = "month", months[bare]
            elif bare in ("the", "of"):
                continue
            else:
                return None
            if kind in found:
                return None
            found[kind] = number
        return (found.get("year"), found.get("month"), found.get("day")) if "month" in found else None


def parse_refining(
    data: Mapping[str, Any], starts: Callable[[str], Collection[int]], stems: Callable[[str], Collection[str]]
) -> Refining:
    """From `refining.toml`: each table holds words by language. `starts` and `stems` are the segmenter's.

    Raises:
        SettingsError: a table is missing or holds something else than lists of words.
    """
    words: dict[str, tuple[str, ...]] = {}
    for name in _TABLES:
        table = data.get(name)
        if not isinstance(table, Mapping) or not all(type(some) is list for some in table.values()):
            raise SettingsError(f'refining: write [{name}] as lists of words by language, such as en = ["named"]')
        words[name] = tuple(str(word) for some in table.values() for word in some)
    return Refining(words, starts, stems)
