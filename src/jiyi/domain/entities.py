"""What memories speak of, under all its names (SPEC G1): which names mean one thing, why, and what it is.

A name belongs with another when both are written alike, when everybody knows them for one (the shipped lists), when they
differ in a legal form, or when the user says so; and never when the user says that they are two. All of it follows from the
names and from what was said, never from the order in which it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from jiyi.domain.relations import COMPANY, Relation
from jiyi.errors import SettingsError

Pair: TypeAlias = tuple[str, str]


class EntityType(StrEnum):
    PERSON = "person"
    COMPANY = "company"
    TEAM = "team"
    PRODUCT = "product"
    PROJECT = "project"
    PLACE = "place"
    EVENT = "event"
    THING = "thing"
    VALUE = "value"  # a number, a date, a path: it names nothing, so no way leads through it


class Reason(StrEnum):
    """Why a name belongs to an entity."""

    SPELLING = "spelling"  # written alike, but for capitals, width or script
    KNOWN = "known"  # in the shipped lists: 阿里云, Aliyun, Alibaba Cloud
    FORM = "form"  # but for a legal form: Acme, Acme Inc.
    SAID = "said"  # the user says so
    ALONE = "alone"  # no other name is known


@dataclass(frozen=True, slots=True)
class Name:
    """A name as a memory writes it. `spelling`: folded, the same for all ways to write it. `base`: the same for all names
    that are known for one. `node`: the name that stands for all names of the entity, in this scope, for now."""

    name: str
    spelling: str
    base: str
    node: str = ""


_CALLED = re.compile(r"\s*[(（][^()（）]*[)）]\Z")


@dataclass(frozen=True, slots=True)
class EntityWords:
    """The shipped words (`vocabulary/entities.toml`), folded: `known` leads from a spelling to its group, `groups` from
    there to type and kind (cloud, database, …). `types` leads from what a relation's objects look like to their type, `own`
    from the words of the user's own side (User's wife, 我老婆) to the subject that memories have for it."""

    known: Mapping[str, str]
    groups: Mapping[str, tuple[EntityType, str]]
    forms: tuple[str, ...]
    articles: frozenset[str]
    types: Mapping[str, EntityType]
    fold: Callable[[str], str] = field(compare=False)
    own: Mapping[str, str] = field(default_factory=dict)

    def subject_of(self, name: str) -> str:
        """A name as memories have it: User → @user, User's wife → @user/妻子/wife, also as answers tell it: User (Ming). Any
        other stays."""
        folded = self.fold(name).strip()
        return self.own.get(folded) or self.own.get(_CALLED.sub("", folded), name)

    def ways_to_say(self, name: str) -> list[str]:
        """All words for whom a name of the user's own side stands for; none for any other name."""
        subject = self.subject_of(name)
        return [] if subject == name else [told for told, one in self.own.items() if one == subject]

    def named(self, name: str) -> Name:
        """A name with its spelling and base. What stands for the user's own side (@user) is only itself."""
        if name.startswith("@"):
            return Name(name, name, name, name)
        spelling = _bare(self.fold(name)) or name
        base = self.known.get(spelling)
        if base is None:
            short = self._without_form(spelling)
            base = self.known.get(short, short)
        return Name(name, spelling, base, name)

    def _without_form(self, spelling: str) -> str:
        words = spelling.split()
        if len(words) > 1 and words[0] in self.articles:
            words = words[1:]
        if len(words) > 1 and words[-1] in self.forms:
            words = words[:-1]
        short = " ".join(words)
        for form in self.forms:
            if not form.isascii() and short.endswith(form) and len(short) >= len(form) + 2:
                return short[: -len(form)]
        return short

    def kind_of(self, base: str) -> str:
        """What well-known things are alike: AWS and 阿里云 are both of kind cloud. Empty where it is not known."""
        return self.groups[base][1] if base in self.groups else ""

    def object_type(self, relation: Relation | None) -> EntityType:
        """What the objects of a relation are."""
        return EntityType.THING if relation is None else self.types.get(relation.object_type, EntityType.THING)

    def type_of(self, base: str, subject_of: Iterable[Relation], object_of: Iterable[Relation]) -> EntityType:
        """What an entity is: as it is known, else as the relations that it stands in tell, the more telling first."""
        if base in self.groups:
            return self.groups[base][0]
        if base.startswith("@"):
            return EntityType.COMPANY if base == COMPANY else EntityType.PERSON
        objects = [self.object_type(r) for r in object_of]
        told: list[EntityType] = [t for t in objects if t not in (EntityType.THING, EntityType.VALUE)]
        # A relation that takes several kinds of subject tells little of this one.
        told += [t for r in subject_of if len(r.of) == 1 for t in [_of(r.of[0])] if t is not EntityType.THING]
        if told:
            return min(told, key=lambda t: (-told.count(t), _TELLING.index(t)))
        subjects = [_of(kind) for r in subject_of for kind in r.of]
        if subjects:
            return min(subjects, key=lambda t: (-subjects.count(t), _TELLING.index(t)))
        return EntityType.VALUE if objects and set(objects) == {EntityType.VALUE} else EntityType.THING


_TELLING = list(EntityType)
_TYPES = {t.value: t for t in EntityType}


def _of(kind: str) -> EntityType:
    return _TYPES.get(kind, EntityType.THING)


def _bare(folded: str) -> str:
    """Words alone; signs that tell names apart (c++, c#, .net) stay."""
    return " ".join(re.sub(r"[^\w+#.&/\-]+|\.(?=\s|$)", " ", folded).split())


def grouped(names: Iterable[Name], said: Iterable[Pair], denied: Iterable[Pair]) -> dict[str, str]:
    """For each name the one that stands for its entity: the shortest of all its names.

    What is denied is never joined, by whatever way; what was said joins before what is known.

    Args:
        names: names with all others of their bases, and all that was said or denied of them.
        said, denied: pairs of names that the user says are one, or are two.
    """
    by_name = {n.name: n for n in names}
    spelled = {n.name: n.spelling for n in by_name.values()}
    groups = _Groups(
        sorted(set(spelled.values())), [(spelled[a], spelled[b]) for a, b in denied if {a, b} <= spelled.keys()]
    )
    for a, b in sorted({tuple(sorted((spelled[a], spelled[b]))) for a, b in said if {a, b} <= spelled.keys()}):
        groups.join(a, b)
    bases: dict[str, set[str]] = {}
    for one in by_name.values():
        bases.setdefault(one.base, set()).add(one.spelling)
    for _, alike in sorted(bases.items()):
        before: list[str] = []
        for spelling in sorted(alike, key=lambda s: (len(s), s)):
            any(groups.join(spelling, other) for other in before)
            before.append(spelling)
    members: dict[str, list[str]] = {}
    for name, spelling in spelled.items():
        members.setdefault(groups.root(spelling), []).append(name)
    heads = {root: min(found, key=lambda n: (not n.startswith("@"), len(n), n)) for root, found in members.items()}
    return {name: heads[groups.root(spelling)] for name, spelling in spelled.items()}


class _Groups:
    """Spellings that are joined step by step, but never two that are said to be two."""

    def __init__(self, spellings: Iterable[str], denied: Iterable[Pair]) -> None:
        self._up = {s: s for s in spellings}
        self._denied = [(a, b) for a, b in denied if a != b]

    def root(self, spelling: str) -> str:
        while self._up[spelling] != spelling:
            spelling = self._up[spelling]
        return spelling

    def join(self, one: str, other: str) -> bool:
        """Whether they are together now."""
        here, there = self.root(one), self.root(other)
        if here == there:
            return True
        if any({self.root(a), self.root(b)} == {here, there} for a, b in self._denied):
            return False
        # The lower name leads, so that the outcome does not depend on the order of the pair.
        self._up[max(here, there)] = min(here, there)
        return True


def why_named(name: Name, others: Iterable[Name], said: Iterable[Pair]) -> Reason:
    """Why a name stands with the others of its entity."""
    rest = [o for o in others if o.name != name.name]
    if not rest:
        return Reason.ALONE
    if any(o.spelling == name.spelling for o in rest):
        return Reason.SPELLING
    if any(name.name in pair for pair in said):
        return Reason.SAID
    alike = [o for o in rest if o.base == name.base]
    if not alike:
        return Reason.SAID
    return Reason.FORM if any(_one_extends(o.spelling, name.spelling) for o in alike) else Reason.KNOWN


def _one_extends(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short in long


def parse_entities(data: Mapping[str, Any], fold: Callable[[str], str]) -> EntityWords:
    """Raises: SettingsError, which names the table."""
    try:
        known: dict[str, str] = {}
        groups: dict[str, tuple[EntityType, str]] = {}
        for group in data["known"]:
            spellings = [_bare(fold(name)) for name in group["names"]]
            groups[spellings[0]] = (EntityType(group["type"]), str(group.get("kind", "")))
            for spelling in spellings:
                if known.setdefault(spelling, spellings[0]) != spellings[0]:
                    raise SettingsError(f"entities.toml: {spelling!r} stands in two groups of names")
        forms = [_bare(fold(form)) for form in (*data["forms"]["zh"], *data["forms"]["en"])]
        types = {shape: EntityType(kind) for kind, shapes in data["types"].items() for shape in shapes}
        articles = frozenset(fold(a) for a in data["forms"]["articles"])
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(f"entities.toml: missing or wrong value {error}") from error
    return EntityWords(known, groups, tuple(sorted(set(forms), key=lambda f: (-len(f), f))), articles, types, fold)
