"""The relation vocabulary: what can be said about whom, as data (SPEC B5, C6).

The vocabulary file (`vocabulary/relations.toml`) is read by assembly and parsed here. Adding a relation
means adding a table to that file; nothing in the code names one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jiyi.domain.memory import Category, Language
from jiyi.errors import SettingsError

# Subjects that are not named in the text: the user, and the user's own side (我们公司, our team).
USER = "@user"
COMPANY = "@company"
# Whoever is called what a correction says is wrong (Evan, not Ethan): looked up before it is judged.
WHOEVER = "@whoever"
SUBJECT_NAMES: Mapping[Language, Mapping[str, str]] = {
    Language.ZH: {USER: "用户", COMPANY: "贵司"},
    Language.EN: {USER: "User", COMPANY: "User's company"},
}
_SPOKEN: Mapping[Language, str] = {Language.ZH: "我{}", Language.EN: "My {}"}
_RELATIVES: Mapping[Language, str] = {Language.ZH: "用户的{}", Language.EN: "User's {}"}


def relative_of_user(zh: str, en: str) -> str:
    """Somebody known by what they are to the user, in both languages: 我老婆 and my wife are one subject (SPEC C10)."""
    return f"{USER}/{zh}/{en}"


def subject_name(subject: str, language: Language) -> str:
    """A subject as it is told: @user → 用户, @user/妻子/wife → User's wife; a name stays."""
    if subject.startswith(f"{USER}/"):
        zh, _, en = subject.removeprefix(f"{USER}/").partition("/")
        return _RELATIVES[language].format(zh if language is Language.ZH else en)
    return SUBJECT_NAMES[language].get(subject, subject)


def spoken_of(subject: str, language: Language) -> str:
    """A subject as a statement may name it that is read by rules: 我妻子, My wife; 用户 for the user and for any name."""
    if subject.startswith(f"{USER}/"):
        zh, _, en = subject.removeprefix(f"{USER}/").partition("/")
        return _SPOKEN[language].format(zh if language is Language.ZH else en)
    return SUBJECT_NAMES[language][COMPANY if subject == COMPANY else USER]


def first_person(subject: str, language: Language) -> str:
    """The word that stands as it is where the user speaks of themselves: 我养狗, 用户养狗. English has none: I have, User has."""
    return "我" if subject == USER and language is Language.ZH else ""


def is_own_side(name: str) -> bool:
    """Whether a name is one that `subject_name` tells the user's own side by: 用户, User's company, User's wife."""
    folded = name.strip().casefold()
    told = {word.casefold() for words in SUBJECT_NAMES.values() for word in words.values()}
    openings = tuple(form.format("").casefold() for form in _RELATIVES.values())
    return folded in told or folded.startswith(("@", *openings))


@dataclass(frozen=True, slots=True)
class Phrases:
    """Wordings of one thing in both languages."""

    zh: tuple[str, ...] = ()
    en: tuple[str, ...] = ()

    def of(self, language: Language) -> tuple[str, ...]:
        return self.zh if language is Language.ZH else self.en

    @property
    def all(self) -> tuple[str, ...]:
        return self.zh + self.en


class Detail(StrEnum):
    """In what way a value is a more precise form of another (SPEC B2); `domain.refining` tells when."""

    DATE = "date"  # 3月 → 3月15日
    PLACE = "place"  # 杭州 → 杭州西湖区
    RELEASE = "release"  # PostgreSQL → PostgreSQL 16
    MODEL = "model"  # iPhone → iPhone 15 Pro
    NAME = "name"  # Anna → Anna Keller
    CALLED = "called"  # a dog → a dog named Biscuit
    HABIT = "habit"  # running → run every morning


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation.

    `names` are the nouns that ask for or state it (数据库, database): they also find the fact by alias.
    `verbs` are phrases that state it (喜欢, allergic to),
    `deeds` those of what was done once (参观了, visited). `says` renders the memory text from
    `{subject}`, `{object}` and `{time}`; without it the line is "name: object". `single` relations hold one value
    at a time. `subject` is whose it is when the text does not say. `antonym` names a relation that cannot
    hold for the same object; `inverse` the relation read from the object's side; `refines` in what way its values are made more
    precise, if they are. `of` is what its subjects are
    (person, company, thing, event), `scenes` where it comes up, `weight` how much it tells there (0 to 1).
    `identity`: its subject and object are two names of one thing (SPEC G1). `passing`: how things stand now, so that a later word
    takes the place of an earlier one.
    """

    name: str
    category: Category
    single: bool
    subject: str
    names: Phrases = Phrases()
    verbs: Phrases = Phrases()
    deeds: Phrases = Phrases()
    says: Mapping[Language, str] = field(default_factory=dict)
    importance: int = 3
    object_type: str = "text"
    inverse: str | None = None
    antonym: str | None = None
    refines: Detail | None = None
    of: tuple[str, ...] = ("person",)
    scenes: tuple[str, ...] = ("life",)
    weight: float = 0.5
    identity: bool = False
    passing: bool = False

    def label(self, language: Language) -> str:
        """The relation's everyday name, for a line of the profile."""
        for names in (self.names.of(language), self.names.all, self.verbs.all):
            if names:
                return names[0]
        return self.name


def fact_key(subject: str, relation: str) -> str:
    """What a keyed fact is found by: one subject, one relation."""
    return f"{subject}|{relation}"


class Vocabulary:
    """All relations by name, and their aliases."""

    __slots__ = ("_relations",)

    def __init__(self, relations: Iterable[Relation]) -> None:
        self._relations = {r.name: r for r in relations}
        for relation in self._relations.values():
            for other in (relation.antonym, relation.inverse):
                if other is not None and other not in self._relations:
                    raise SettingsError(f"relation {relation.name} names {other}, which the vocabulary does not hold")
            if relation.antonym is not None and self._relations[relation.antonym].refines is not relation.refines:
                raise SettingsError(f"relation {relation.name} and its antonym {relation.antonym} refine unlike")
            if relation.inverse is not None and self._relations[relation.inverse].inverse != relation.name:
                raise SettingsError(f"relation {relation.inverse} must name {relation.name} as its inverse too")

    def __iter__(self) -> Iterator[Relation]:
        return iter(self._relations.values())

    def __len__(self) -> int:
        return len(self._relations)

    def get(self, name: str) -> Relation | None:
        return self._relations.get(name)

    @property
    def identities(self) -> tuple[Relation, ...]:
        """The relations whose two ends are names of one thing."""
        return tuple(r for r in self._relations.values() if r.identity)


def parse_vocabulary(data: Mapping[str, Any]) -> Vocabulary:
    """Read `[RELATION_NAME]` tables of a parsed TOML file.

    Raises:
        SettingsError: a table lacks a field or holds a wrong one; names the table and the field.
    """
    return Vocabulary(_relation(name, table) for name, table in data.items())


def _relation(name: str, table: Any) -> Relation:
    if not isinstance(table, Mapping):
        raise SettingsError(f"relation {name}: expected a table [{name}]")
    unknown = set(table) - {
        "category", "single", "subject", "names", "verbs", "says", "importance", "object", "inverse", "antonym",
        "of", "scenes", "weight", "deeds", "refines", "identity",
        "passing",
    }  # fmt: skip
    if unknown:
        raise SettingsError(f"relation {name}: unknown field {', '.join(sorted(unknown))}")
    try:
        relation = Relation(
            name=name,
            category=Category(table["category"]),
            single=bool(table["single"]),
            subject={"user": USER, "company": COMPANY}[table["subject"]],
            names=_phrases(table.get("names", {})),
            verbs=_phrases(table.get("verbs", {})),
            deeds=_phrases(table.get("deeds", {})),
            says={Language(k): str(v) for k, v in table.get("says", {}).items()},
            importance=int(table.get("importance", 3)),
            object_type=str(table.get("object", "text")),
            inverse=table.get("inverse"),
            antonym=table.get("antonym"),
            refines=Detail(table["refines"]) if "refines" in table else None,
            of=tuple(table.get("of", ("person",))),
            scenes=tuple(table.get("scenes", ("life",))),
            weight=float(table.get("weight", 0.5)),
            identity=bool(table.get("identity", False)),
            passing=bool(table.get("passing", False)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(f"relation {name}: missing or wrong value {error}") from error
    if not (relation.names.all or relation.verbs.all or relation.deeds.all):
        raise SettingsError(f"relation {name}: needs names or verbs, in zh or en")
    if any("{object}" not in template for template in relation.says.values()):
        raise SettingsError(f"relation {name}: says needs {{object}}")
    return relation


def _phrases(table: Mapping[str, Sequence[str]]) -> Phrases:
    return Phrases(tuple(table.get("zh", ())), tuple(table.get("en", ())))


def render(
    relation: Relation, subject: str, value: str, language: Language, *, negated: bool = False, time: str = ""
) -> str:
    """The memory's text, in the language it was said in: 数据库：PostgreSQL · User likes tea. `time` is when it happens."""
    who = subject_name(subject, language)
    template = relation.says.get(language)
    if template is not None:
        text = template.format(subject=who, object=value, time=time)
    else:
        colon = "：" if language is Language.ZH else ": "
        label = relation.label(language)
        owner = "" if subject == relation.subject else (f"{who}的" if language is Language.ZH else f"{who}'s ")
        if language is Language.EN and not owner:
            label = label[:1].upper() + label[1:]
        text = f"{owner}{label}{colon}{value}"
    if negated:
        text = f"不再成立：{text}" if language is Language.ZH else f"No longer true: {text}"
    return text
