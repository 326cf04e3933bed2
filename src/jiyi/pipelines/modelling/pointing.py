"""What the words of a statement point at, where they do not name it (SPEC C7, C10)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jiyi.domain.memory import Language

_NAMES = ("determiners", "empty", "clause", "answers", "own_side", "predicates", "tails")


@dataclass(frozen=True, slots=True)
class PointingWords:
    """The lists of one language in `vocabulary/pointing.toml`, which says what each holds."""

    determiners: tuple[str, ...]
    empty: tuple[str, ...]
    clause: tuple[str, ...]
    answers: tuple[str, ...]
    own_side: tuple[str, ...]
    predicates: tuple[str, ...]
    tails: tuple[str, ...]


def parse_pointing(data: Mapping[str, Any]) -> Pointing:
    """Read `vocabulary/pointing.toml`. Raises: KeyError when it lacks a list."""
    return Pointing(
        {k: PointingWords(**{name: tuple(data[k.value][name]) for name in _NAMES}) for k in Language},
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pointing:
    """Tells names from words that only point. Built once."""

    words: Mapping[Language, PointingWords]

    def named(self, said: str, language: Language) -> str:
        """A value without what points at it (my other pets → other pets); "" where nothing else is left."""
        said = said.strip()
        words, gap = self.words[language], "" if language is Language.ZH else r"\s+"
        if self._is_empty(said, words):
            return ""
        found = re.match(rf"{_one_of(words.determiners)}{gap}(?=\S)", said, re.IGNORECASE)
        rest = said[found.end() :] if found else said
        return "" if self._is_empty(rest, words) else rest

    def says_nothing(self, statement: str, language: Language) -> bool:
        """Whether all that a statement tells of is one of these words: she finished something she was at for ages."""
        words = self.words[language]
        empty = _one_of(words.empty)
        if language is Language.ZH:
            source = rf"用户(?:已经|刚刚|刚|终于|最近|今天)?[\u4e00-\u9fff]{{1,3}}[了过完]{{0,2}}{empty}"
        else:
            again = rf"(?:\s+{_one_of(words.clause)}\b[^,;]*)?(?:,[\w\s]*\b{_one_of(words.tails)})?"
            source = rf"(?:the )?\S+\s+(?:(?:just|finally|already|recently|has|have|had|\w+ly)\s+)*\w+\s+{empty}{again}"
        return re.fullmatch(source, statement.strip(" .。!！"), re.IGNORECASE) is not None

    def answers_advice(self, statement: str, language: Language) -> bool:
        """Whether a statement begins as one that only answers advice."""
        words = self.words[language]
        begins = "|".join(re.escape(a).replace("…", r"\S+(?:\s\S+)?") for a in words.answers)
        before = "用户" if language is Language.ZH else r"(?:the )?\S+\s+"
        return re.match(rf"{before}(?:{begins})", statement, re.IGNORECASE) is not None

    def thing(self, statement: str, language: Language) -> str | None:
        """What of the user's a statement is about (User's mill is busy); "" where that is their own side, or not said,
        and None where it is not clear."""
        words = self.words[language]
        if language is Language.ZH:
            begun, free = re.match(r"用户的", statement), r"[^，,。；;的\s]{1,12}?"
            ends = rf"(?=的(?:进度|状态|进展|情况|生意)|{_one_of(words.predicates)}|[：:])"
        else:
            begun, free = re.match(r"(?:the )?user's\s+", statement, re.IGNORECASE), r"[^,.;:]{2,40}?"
            ends = rf"(?=\s+{_one_of(words.predicates)}\b|'s\s+(?:status|progress)\b)"
        if begun is None:
            return ""
        found = re.compile(free + ends, re.IGNORECASE).match(statement, begun.end())
        if found is None:
            return None
        said = found.group().strip()
        return "" if said.lower().endswith(words.own_side) else said

    def _is_empty(self, said: str, words: PointingWords) -> bool:
        return said.lower().strip(" .,。，") in ("", *words.empty)


@cache
def _one_of(words: Sequence[str]) -> str:
    return f"(?:{'|'.join(re.escape(w) for w in sorted(words, key=len, reverse=True))})"
