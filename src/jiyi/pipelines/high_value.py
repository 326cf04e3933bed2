"""What is worth keeping although nobody asked to, and what never is: `vocabulary/high_value.toml` (SPEC C5, C3, C4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from jiyi.domain.memory import Category, Language
from jiyi.errors import SettingsError
from jiyi.pipelines.distilling.grammar import compiled

SMALL_TALK = "small_talk"


@dataclass(frozen=True, slots=True)
class ValueClass:
    """One kind of what matters. `pattern` and `unless` are regexes by language; empty ones match nothing."""

    name: str
    category: Category
    importance: int
    relations: frozenset[str]
    categories: frozenset[Category]
    whole: bool
    pattern: Mapping[Language, str]
    unless: Mapping[Language, str]

    def names(self, sentence: str, language: Language) -> bool:
        return _has(self.pattern[language], sentence) and not _has(self.unless[language], sentence)


@dataclass(frozen=True, slots=True)
class HighValue:
    """The classes, in the order of the file, and what is small talk."""

    classes: tuple[ValueClass, ...]
    small_talk: Mapping[Language, str]

    def of_sentence(self, sentence: str, language: Language) -> ValueClass | None:
        """The first class that names it."""
        return next((c for c in self.classes if c.names(sentence, language)), None)

    def of_fact(self, relation: str | None, category: Category) -> ValueClass | None:
        """The class that a fact belongs to by what it is about."""
        return next((c for c in self.classes if relation in c.relations or category in c.categories), None)

    def trifling(self, sentence: str, language: Language) -> bool:
        return _has(self.small_talk[language], sentence.strip())


def parse_high_value(data: Mapping[str, Any], relations: Collection[str]) -> HighValue:
    """Read the file.

    Raises:
        SettingsError: a relation that the vocabulary does not hold.
    """
    classes = tuple(_class(name, table) for name, table in data.items() if name != SMALL_TALK)
    if unknown := {r for c in classes for r in c.relations} - set(relations):
        raise SettingsError(f"high_value.toml names relations that are not there: {', '.join(sorted(unknown))}")
    return HighValue(classes, _by_language(data[SMALL_TALK], ""))


def _class(name: str, table: Mapping[str, Any]) -> ValueClass:
    return ValueClass(
        name=name,
        category=Category(table["category"]),
        importance=table["importance"],
        relations=frozenset(table.get("relations", ())),
        categories=frozenset(map(Category, table.get("categories", ()))),
        whole=table.get("whole", False),
        pattern=_by_language(table, ""),
        unless=_by_language(table, "unless_"),
    )


def _by_language(table: Mapping[str, Any], prefix: str) -> dict[Language, str]:
    return {language: "|".join(f"(?:{p})" for p in table.get(f"{prefix}{language}", ())) for language in Language}


def _has(pattern: str, sentence: str) -> bool:
    return bool(pattern) and compiled(pattern).search(sentence) is not None
