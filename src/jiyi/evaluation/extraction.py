"""How much of what people said ends up as the right memory: precision and recall of distilling (SPEC R12).

Two kinds of gold, and what counts for each. Everything here is pure: memories come in, numbers go out.

**Attributes** (`score_talk`): a person has one true value per attribute; `extract.toml` says which relations state it.

- *stated*: a message that speaks of exactly one of the talk's people holds the value (`values.held`). Where values of two
  attributes overlap in a message the longer one is meant, and of two equal ones the one whose cue stands there; without
  a cue the message counts for neither (*unclear*). A name is stated only beside another word for the person. A value of
  the user is stated only near a cue, at most `NEAR` characters away: "I" stands in messages about everything.
- *found* (of stated): a live memory, not a denial, of the right person, with a relation of that attribute and the
  true value (`values.same`). recall = found / stated. Values of classes that redaction removes are counted apart.
- *stored*: live memories, not denials, with such a relation about one of the talk's people; *right*: those whose value is
  the person's true one, stated or not. precision = right / stored. A value in other words than the data's (老师 for 教师)
  counts as wrong, so precision is a lower bound; *reworded* are those of them that a message about the person holds word
  for word while it holds none of the person's values, so (right + reworded) / stored is an upper bound. A denial of the true value is stored and wrong; other denials say nothing.

**Facts** (`score_chat`): sentences that a data set says are worth knowing. *stored*: one live memory's text holds at least
`FactPolicy.share` of the fact's content words (stems, no stop words, no names of the speakers), or its object's words, at
least `key_words` of them, all stand in the fact together with a word for its relation. *sayable*: one message of the session the fact comes from
holds that share, so a rule that copies words could have stored it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jiyi.domain.memory import IncomingMessage, Language, Memory, Role
from jiyi.domain.relations import USER, Vocabulary, subject_name
from jiyi.errors import SettingsError
from jiyi.evaluation.values import KINDS, Span, fold, held, same, within

NEAR = 6

# ------------------------------------------------------------------ what is asked


@dataclass(frozen=True, slots=True)
class Attribute:
    """One row of `extract.toml`."""

    id: str
    names: tuple[str, ...]
    relations: tuple[str, ...] = ()
    kind: str = "text"
    cues: tuple[str, ...] = ()
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class AttributeMap:
    """`extract.toml`: attributes, and the words for people."""

    attributes: tuple[Attribute, ...]
    same_people: tuple[tuple[str, ...], ...]
    own: tuple[str, ...]
    lead: tuple[str, ...]

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> AttributeMap:
        """Raises: SettingsError."""
        people = data["people"]
        found = []
        for name, row in data["attribute"].items():
            if row.get("kind", "text") not in KINDS:
                raise SettingsError(f"extract.toml, {name}: kind must be one of {', '.join(KINDS)}")
            found.append(
                Attribute(
                    name, _both(row["names"]), tuple(row.get("relations", ())), row.get("kind", "text"),
                    _both(row.get("cues", {})), row.get("redacted", False),
                )
            )  # fmt: skip
        return cls(tuple(found), tuple(map(tuple, people["same"])), tuple(people["own"]), tuple(people["lead"]))

    def named(self, name: str) -> Attribute | None:
        """The attribute that a data set calls so."""
        wanted = fold(name)
        return next((a for a in self.attributes if wanted in map(fold, a.names)), None)

    def words_for(self, role: str) -> tuple[str, ...]:
        return next((words for words in self.same_people if role in words), (role,))


def _both(phrases: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return (*phrases.get("zh", ()), *phrases.get("en", ()))


@dataclass(frozen=True, slots=True)
class Person:
    """`role` is what the person is to the user (表弟, boss), or "" for the user; `values` are by the data's own names."""

    role: str
    values: Mapping[str, str]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """What one user said, and who the people in it truly are."""

    id: str
    messages: tuple[IncomingMessage, ...]
    people: tuple[Person, ...]


# ------------------------------------------------------------------ what came out


@dataclass(frozen=True, slots=True)
class Example:
    """A line to look at: which talk, who and what, the true value, and the message or memory."""

    talk: str
    attribute: str
    person: str
    true: str
    text: str


@dataclass(slots=True)
class Scores:
    """Counts by attribute, added up over talks."""

    stated: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    reworded: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    unmatched: int = 0
    unclear: int = 0
    others: int = 0
    talks: int = 0
    messages: int = 0
    misses: list[Example] = field(default_factory=list)
    wrong: list[Example] = field(default_factory=list)

    def precision(self, attribute: str | None = None) -> float | None:
        return _share(self.right, self.stored, attribute)

    def precision_at_most(self) -> float | None:
        return _share(self.right + self.reworded, self.stored, None)

    def recall(self, attribute: str | None = None) -> float | None:
        return _share(self.found, self.stated, attribute)


def _share(part: Counter[str], whole: Counter[str], key: str | None) -> float | None:
    a, b = (part.total(), whole.total()) if key is None else (part[key], whole[key])
    return a / b if b else None


@dataclass(frozen=True, slots=True)
class _Statement:
    person: int
    attribute: Attribute
    value: str
    text: str
    spans: tuple[Span, ...] = ()


class _People:
    """Finds who is spoken of, in a message and in the subject of a memory. A word that fits two people names neither."""

    def __init__(self, people: Sequence[Person], rules: AttributeMap) -> None:
        by_word: dict[str, set[int]] = {}
        self.own = next((i for i, p in enumerate(people) if not p.role), None)
        for number, person in enumerate(people):
            for word in (*(rules.words_for(person.role) if person.role else ()), person.name):
                if word:
                    by_word.setdefault(fold(word), set()).add(number)
        # Words for people who are not in this talk: 舅妈 is not 妈.
        for words in rules.same_people:
            for word in words:
                by_word.setdefault(fold(word), set())
        self._people = by_word
        self._names = {fold(p.name) for p in people if p.name}
        self._word = re.compile("|".join(map(_whole, sorted(by_word, key=len, reverse=True))))
        self._own = re.compile("|".join(_whole(fold(w)) for w in rules.own))
        self._lead = re.compile("|".join(re.escape(fold(w)) for w in sorted(rules.lead, key=len, reverse=True)))

    def in_message(self, text: str) -> tuple[int | None, bool]:
        """The one person a message speaks of, and whether by another word than the name; None when not exactly one."""
        folded = fold(text)
        words = [m.group() for m in self._word.finditer(folded)]
        found = {frozenset(self._people[word]) for word in words}
        if not found:
            return (self.own, True) if self._own.search(folded) else (None, False)
        who = set().union(*found)
        by_role = any(word not in self._names for word in words)
        return (who.pop(), by_role) if len(who) == 1 and frozenset() not in found else (None, False)

    def of_subject(self, subject: str) -> int | None:
        """Whom a memory is about: the subject must consist of words for one person."""
        if subject == USER:
            return self.own
        folded = fold(subject_name(subject, Language.ZH))
        lead = self._lead.match(folded)
        rest = folded[lead.end() :] if lead else folded
        words = [m.group() for m in self._word.finditer(rest)]
        if not words or self._word.sub("", rest).strip(" 的,，()（）"):
            return None
        who = set().union(*(self._people[word] for word in words))
        return who.pop() if len(who) == 1 else None


def _whole(word: str) -> str:
    """A word of letters matches whole words only."""
    return rf"(?<![a-z]){re.escape(word)}(?![a-z])" if word.isascii() else re.escape(word)


# ------------------------------------------------------------------ attributes


def score_talk(talk: Talk, memories: Iterable[Memory], rules: AttributeMap, scores: Scores) -> None:
    """Add what one talk came to: `memories` are its live ones."""
    people = _People(talk.people, rules)
    statements, unmatched = _stated(talk, people, rules, scores)
    claims = _claims(memories, people, rules, scores)
    scores.talks += 1
    scores.messages += len(talk.messages)
    scores.unmatched += len(unmatched)
    for statement in statements.values():
        attribute, person = statement.attribute, talk.people[statement.person]
        if attribute.redacted:
            scores.redacted[attribute.id] += 1
            continue
        scores.stated[attribute.id] += 1
        if any(_claims_it(memory, who, statement) for who, memory in claims):
            scores.found[attribute.id] += 1
        else:
            scores.misses.append(Example(talk.id, attribute.id, _shown(person), statement.value, statement.text))
    for who, memory in claims:
        _judge(memory, who, talk, statements, unmatched, rules, scores)


Statements = dict[tuple[int, str], _Statement]
Unmatched = list[tuple[int, str]]


def _stated(talk: Talk, people: _People, rules: AttributeMap, scores: Scores) -> tuple[Statements, Unmatched]:
    """The first message for each attribute of each person, and messages about a person, not the user, without any."""
    found: Statements = {}
    unmatched: Unmatched = []
    for message in talk.messages:
        who, by_role = people.in_message(message.text)
        if who is None:
            continue
        own = not talk.people[who].role
        held_here = [
            _Statement(who, attribute, value, message.text, spans)
            for attribute, value in _true(talk.people[who], rules)
            if (by_role or attribute.kind != "name")
            and (spans := _where(attribute, value, message.text))
            and (not own or _near_cue(attribute, spans, message.text))
        ]
        meant = [s for s in held_here if not any(_outdone(s, other) for other in held_here)]
        scores.unclear += len(held_here) > 0 and not meant
        for statement in meant:
            found.setdefault((who, statement.attribute.id), statement)
        if not held_here and not own:
            unmatched.append((who, message.text))
    return found, unmatched


def _true(person: Person, rules: AttributeMap) -> list[tuple[Attribute, str]]:
    pairs = [(rules.named(name), value) for name, value in person.values.items()]
    return [(attribute, value) for attribute, value in pairs if attribute is not None and value]


def _where(attribute: Attribute, value: str, text: str) -> tuple[Span, ...]:
    if attribute.redacted:
        at = fold(text).find(fold(value))
        return ((at, at + len(fold(value))),) if at >= 0 else ()
    return held(attribute.kind, value, text)


def _near_cue(attribute: Attribute, spans: Sequence[Span], text: str) -> bool:
    folded = fold(text)
    cues = "|".join(_whole(fold(cue)) for cue in (*attribute.cues, *attribute.names))
    places = [m.span() for m in re.finditer(cues, folded)]
    return any(0 <= s[0] - p[1] <= NEAR or 0 <= p[0] - s[1] <= NEAR for p in places for s in spans)


def _outdone(one: _Statement, other: _Statement) -> bool:
    """Whether another attribute is meant where this one's value stands."""
    if one is other or not within(one.spans, other.spans):
        return False
    if not within(other.spans, one.spans):
        return True
    if set(one.attribute.relations) & set(other.attribute.relations):
        return other.attribute.id < one.attribute.id  # the same relation says both: count it once
    return not _cued(one) or _cued(other)


def _cued(statement: _Statement) -> bool:
    text = fold(statement.text)
    return any(fold(cue) in text for cue in statement.attribute.cues)


def _claims(
    memories: Iterable[Memory], people: _People, rules: AttributeMap, scores: Scores
) -> list[tuple[int, Memory]]:
    """Memories with a relation of some attribute about one of the people."""
    relations = {r for a in rules.attributes for r in a.relations}
    claims = []
    for memory in memories:
        if memory.triple is None or memory.triple.relation not in relations:
            continue
        who = people.of_subject(memory.triple.subject)
        if who is None:
            scores.others += 1
        else:
            claims.append((who, memory))
    return claims


def _claims_it(memory: Memory, who: int, statement: _Statement) -> bool:
    triple, attribute = memory.triple, statement.attribute
    assert triple is not None
    if triple.negated or who != statement.person or triple.relation not in attribute.relations:
        return False
    return same(attribute.kind, triple.object, statement.value)


def _judge(
    memory: Memory, who: int, talk: Talk, statements: Statements, unmatched: Unmatched, rules: AttributeMap, scores: Scores
) -> None:  # fmt: skip
    """Count a claim for the attribute whose true value it states, else for the one it was most likely meant for."""
    triple = memory.triple
    assert triple is not None
    able = [pair for pair in _true(talk.people[who], rules) if triple.relation in pair[0].relations]
    fits = [pair for pair in able if same(pair[0].kind, triple.object, pair[1])]
    if (triple.negated and not fits) or not able:
        return
    said = [pair for pair in fits or able if (who, pair[0].id) in statements]
    attribute, value = (said or fits or able)[0]
    scores.stored[attribute.id] += 1
    if fits and not triple.negated:
        scores.right[attribute.id] += 1
        return
    scores.wrong.append(Example(talk.id, attribute.id, _shown(talk.people[who]), value, memory.text))
    if not triple.negated and any(w == who and held(attribute.kind, triple.object, text) for w, text in unmatched):
        scores.reworded[attribute.id] += 1


def _shown(person: Person) -> str:
    return person.role or "user"


# ------------------------------------------------------------------ facts


@dataclass(frozen=True, slots=True)
class FactPolicy:
    """When a memory counts as holding a fact."""

    share: float = 0.6  # of the fact's content words
    key_words: int = 2  # words of an object that suffice, all in the fact, with a word of the relation


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence worth knowing about `speaker`, from a session."""

    id: str
    text: str
    session: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chat:
    """One user's conversation, oldest message first, and the facts about that user that it tells."""

    id: str
    messages: tuple[IncomingMessage, ...]
    facts: tuple[Fact, ...]


@dataclass(slots=True)
class FactScores:
    chats: int = 0
    facts: int = 0
    sayable: int = 0
    stored: int = 0
    stored_sayable: int = 0
    memories: int = 0
    messages: int = 0
    misses: list[Example] = field(default_factory=list)
    held: list[Example] = field(default_factory=list)

    @property
    def recall(self) -> float | None:
        return self.stored / self.facts if self.facts else None

    @property
    def recall_sayable(self) -> float | None:
        return self.stored_sayable / self.sayable if self.sayable else None


Words = Callable[[str], Collection[str]]
"""The content words of a text, as stems."""


def score_chat(
    chat: Chat, memories: Sequence[Memory], words: Words, vocabulary: Vocabulary, policy: FactPolicy, scores: FactScores
) -> None:  # fmt: skip
    """Add the facts of one conversation: `memories` are its live ones."""
    said: dict[str, list[frozenset[str]]] = {}
    own = [message for message in chat.messages if message.role is Role.USER]
    for message in own:
        said.setdefault(message.session, []).append(frozenset(words(message.text)))
    known = [(memory, frozenset(words(memory.text)), _key(memory, words, vocabulary)) for memory in memories]
    scores.memories += len(memories)
    scores.messages += len(own)
    scores.chats += 1
    for fact in chat.facts:
        wanted = frozenset(words(fact.text)) - {w for name in fact.names for w in words(name)}
        if not wanted:
            continue
        holder = next((m for m, has, key in known if holds(wanted, has, key, policy)), None)
        sayable = any(coverage(wanted, has) >= policy.share for has in said.get(fact.session, ()))
        scores.facts += 1
        scores.sayable += sayable
        scores.stored += holder is not None
        scores.stored_sayable += sayable and holder is not None
        example = Example(fact.id, "fact", "", fact.text, holder.text if holder else "")
        (scores.held if holder else scores.misses).append(example)


def coverage(wanted: frozenset[str], has: frozenset[str]) -> float:
    return len(wanted & has) / len(wanted)


def holds(
    wanted: frozenset[str], has: frozenset[str], key: tuple[frozenset[str], frozenset[str]] | None, policy: FactPolicy
) -> bool:
    """Whether a memory with these words, and this object and relation, holds a fact with those words."""
    if coverage(wanted, has) >= policy.share:
        return True
    if key is None:
        return False
    value, names = key
    return len(value) >= policy.key_words and value <= wanted and bool(names & wanted)


def _key(memory: Memory, words: Words, vocabulary: Vocabulary) -> tuple[frozenset[str], frozenset[str]] | None:
    triple = memory.triple
    relation = None if triple is None or triple.negated else vocabulary.get(triple.relation)
    if triple is None or relation is None:
        return None
    names = {word for phrase in (*relation.names.all, *relation.verbs.all) for word in words(phrase)}
    return frozenset(words(triple.object)), frozenset(names)
