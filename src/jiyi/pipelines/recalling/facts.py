"""The keyed-fact channel: which relations a question asks for, and the facts that answer (SPEC R1, C10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from jiyi.domain.memory import Memory
from jiyi.domain.relations import COMPANY, USER, Vocabulary
from jiyi.domain.scope import Scope
from jiyi.ports import Unit

FACTS_LIMIT = 24
_NOBODY: Mapping[str, Sequence[str]] = MappingProxyType({})


class FactFinder:
    """Finds relations by the names the vocabulary gives them, in either language.

    Built once; `fold` must be the folding of the segmenter, so that 數據庫 finds what 数据库 names. `kin` gives the words
    of both languages for each relative that a fact may be about: 我老婆 and my wife ask for the same one.
    """

    def __init__(
        self, vocabulary: Vocabulary, fold: Callable[[str], str], kin: Mapping[str, Sequence[str]] = _NOBODY
    ) -> None:
        self._fold = fold
        self._kin = {fold(word).strip(): subject for subject, words in kin.items() for word in words}
        relatives = sorted(self._kin, key=lambda word: (-len(word), word))
        self._relatives = _any_of(relatives)
        self._relations: dict[str, set[str]] = {}
        for relation in vocabulary:
            for name in relation.names.all:
                self._relations.setdefault(fold(name).strip(), set()).add(relation.name)
        # Longest first: 数据库连接串 asks for the connection string, not for the database.
        names = sorted((n for n in self._relations if n), key=lambda n: (-len(n), n))
        self._pattern = _any_of(names)

    def asked(self, question: str) -> dict[str, str]:
        """Relations that the question names: `{relation: the name found}`."""
        if self._pattern is None:
            return {}
        found: dict[str, str] = {}
        for match in self._pattern.finditer(self._fold(question)):
            for relation in self._relations[match.group()]:
                found.setdefault(relation, match.group())
        return found

    def facts(self, unit: Unit, scope: Scope, question: str) -> list[tuple[Memory, str]]:
        """Live facts of the relations asked for, with the name that found them, newest first.

        A fact about somebody else answers only a question that names them.
        """
        asked = self.asked(question)
        if not asked:
            return []
        folded = self._fold(question)
        relatives = self._relatives.findall(folded) if self._relatives else ()
        named = {USER, COMPANY, *(self._kin[word] for word in relatives)}
        facts = unit.memories.of_relations(scope, asked, FACTS_LIMIT)
        return [
            (m, asked[m.triple.relation])
            for m in facts
            if m.triple and (m.triple.subject in named or self._fold(m.triple.subject) in folded)
        ]


def _any_of(names: Sequence[str]) -> re.Pattern[str] | None:
    """A pattern of names, at each place the first that fits. ASCII names match whole words only: `db` is not in `feedback`.

    By first letters, so that a place in a question is held against a few names and not against all of them.
    """
    heads: dict[str, list[str]] = {}
    for name in names:
        end = r"(?![a-z0-9])" if name[-1].isascii() and name[-1].isalnum() else ""
        heads.setdefault(name[0], []).append(re.escape(name[1:]) + end)
    free, inside = list[str](), list[str]()
    for head, rest in heads.items():
        (free if head.isascii() and head.isalnum() else inside).append(f"{re.escape(head)}(?:{'|'.join(rest)})")
    parts = [rf"(?<![a-z0-9])(?:{'|'.join(free)})"] if free else []
    return re.compile("|".join(parts + inside)) if names else None
