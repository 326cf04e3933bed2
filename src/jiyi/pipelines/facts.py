"""The keyed-fact channel: which relations a question asks for, and the facts that answer (SPEC R1, C10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from jiyi.domain.memory import Memory
from jiyi.domain.relations import COMPANY, USER, Vocabulary
from jiyi.domain.scope import Scope
from jiyi.ports import Unit

FACTS_LIMIT = 24


class FactFinder:
    """Finds relations by the names the vocabulary gives them, in either language.

    Built once; `fold` must be the folding of the segmenter, so that 數據庫 finds what 数据库 names.
    """

    def __init__(self, vocabulary: Vocabulary, fold: Callable[[str], str]) -> None:
        self._fold = fold
        self._relations: dict[str, set[str]] = {}
        for relation in vocabulary:
            for name in relation.names.all:
                self._relations.setdefault(fold(name).strip(), set()).add(relation.name)
        # Longest first: 数据库连接串 asks for the connection string, not for the database.
        names = sorted((n for n in self._relations if n), key=lambda n: (-len(n), n))
        self._pattern = re.compile("|".join(map(_bounded, names))) if names else None

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
        facts = unit.memories.of_relations(scope, asked, FACTS_LIMIT)
        return [(m, asked[m.triple.relation]) for m in facts if m.triple and self._about(m.triple.subject, folded)]

    def _about(self, subject: str, folded_question: str) -> bool:
        if subject in (USER, COMPANY):
            return True
        return any(part in folded_question for part in _names(self._fold(subject)))


def _bounded(name: str) -> str:
    """ASCII names match whole words only: `db` is not in `feedback`."""
    start = r"(?<![a-z0-9])" if name[0].isascii() and name[0].isalnum() else ""
    end = r"(?![a-z0-9])" if name[-1].isascii() and name[-1].isalnum() else ""
    return f"{start}{re.escape(name)}{end}"


def _names(subject: str) -> Iterable[str]:
    """用户的表弟 is asked for as 表弟 and User's wife as wife."""
    yield subject
    for mark in ("的", "'s "):
        if mark in subject:
            yield subject.rsplit(mark, 1)[1]
