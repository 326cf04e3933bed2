"""The keyed-fact channel: the facts that answer what a question asks for, of whom it asks (SPEC R1, R3, C10, B6).

Whoever is asked about decides: another's fact is no answer, nor is the user's own where somebody else is meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from jiyi.domain.memory import Language, Memory, Status, message_handle
from jiyi.domain.relations import COMPANY, USER, Vocabulary, fact_key
from jiyi.domain.scope import Scope
from jiyi.pipelines.recalling.asking import Ask, Asking, about_person
from jiyi.pipelines.recalling.relation_names import AnyOf
from jiyi.ports import Unit

FACTS_LIMIT = 24
NAMES_LIMIT = 64
"""So many names of people and animals are held against a question."""
FORMER_LIMIT = 4
_NOBODY: Mapping[str, Sequence[str]] = MappingProxyType({})
_UNTIL = {Language.ZH: "{text}（以前，至{day}）", Language.EN: "{text} (formerly, until {day})"}
_FORMER = {Language.ZH: "{text}（以前）", Language.EN: "{text} (formerly)"}


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose facts one relation is asked of. `sure`: the question says so; else it is whoever the relation takes for granted."""

    subjects: frozenset[str]
    sure: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for: the facts that answer, each with the words that ask for it, best first, and of whom.
    `outright` are the relations that a whole clause asks for, `introducing` those that only tell whom there is, `former`: the facts are what was so before."""

    facts: tuple[tuple[Memory, str], ...] = ()
    whose: Mapping[str, Whose] = field(default_factory=dict)
    outright: frozenset[str] = frozenset()
    introducing: frozenset[str] = frozenset()
    former: bool = False

    def beside(self, memory: Memory) -> bool:
        """Whether it is of something else than what the question asks for outright; that it is so no longer is no answer."""
        triple = memory.triple
        return bool(self.outright) and (triple is None or triple.negated or triple.relation not in self.outright)

    def only_of_another(self, told: Collection[Memory]) -> bool:
        """Whether what a turn says, told as memories, is that of somebody else and at most whom there is besides."""
        rest = [m for m in told if not self.of_another(m)]
        return len(rest) < len(told) and all(m.triple and m.triple.relation in self.introducing for m in rest)

    def of_another(self, memory: Memory) -> bool:
        """Whether it tells what is asked for, but of somebody else."""
        if memory.triple is None:
            return False
        whose = self.whose.get(memory.triple.relation)
        return whose is not None and whose.sure and memory.triple.subject not in whose.subjects


class FactFinder:
    """Finds the facts of the relations that a question asks for, in either language.

    Built once. `kin` gives the words of both languages for each relative that a fact may be about: 我老婆 and my wife ask for
    the same one; `data` is that of `asking.toml`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        asking: Asking,
        data: Mapping[str, Any],
        fold: Any,
        kin: Mapping[str, Sequence[str]] = _NOBODY,
    ) -> None:
        self._vocabulary, self._asking, self._fold = vocabulary, asking, fold
        self._kin = {fold(word).strip(): subject for subject, words in kin.items() for word in words}
        self._relatives = AnyOf(sorted(self._kin, key=lambda word: (-len(word), word)))
        self._near = _near(data["broader"], self._kin)
        self._introducing = frozenset(data["introducing"])
        self._own_zh = "|".join(map(re.escape, data["zh"]["own"]))
        self._own_en = "|".join(map(re.escape, data["en"]["own"]))
        beside = "|".join(sorted(map(re.escape, data["zh"]["beside_own"]), key=lambda w: -len(w)))
        self._alone = re.compile(rf"(?:{beside})*(?:{self._own_zh})(?:{beside})*|(?:.* )?(?:{self._own_en})")
        self._owner = re.compile(
            rf"(?:(?:{self._own_zh})(?:家的?|的)?|(?<![a-z0-9])(?:{self._own_en})(?: [a-z-]+)?)\s*$"
        )
        self._names = tuple(r.name for r in vocabulary if r.identity or r.object_type == "name")

    def asked(self, question: str) -> dict[str, str]:
        """Relations that the question asks for: `{relation: the words that ask for it}`."""
        return {ask.relation: ask.by for ask in self._asking(question)}

    def facts(self, unit: Unit, scope: Scope, question: str, core: str, now: datetime) -> Asked:
        """What answers; facts that were given up where the question asks for the former value.

        Args:
            core: the question in it, whose clauses are held against the ways of asking.
        """
        asks = self._asking(core if core else question)
        if not asks:
            return Asked()
        folded = self._fold(question)
        people = self._people(unit, scope)
        asked = {ask.relation: ask.by for ask in asks}
        facts = [m for m in unit.memories.of_relations(scope, list(asked), FACTS_LIMIT) if m.triple]
        whose = {a.relation: self._with(self._whose(a, folded, people), a, folded, facts) for a in asks}
        outright = frozenset(a.relation for a in asks if a.outright and whose[a.relation].subjects)
        if self._asking.former(question) and (former := self._former(unit, scope, whose, now)):
            return Asked(_with_words(former, asked), whose, outright, self._introducing, former=True)
        order = {relation: place for place, relation in enumerate(asked)}
        found = [m for m in facts if m.triple and m.triple.subject in whose[m.triple.relation].subjects]
        # What the clause asks for goes before what it merely names: 我孩子叫什么 asks for no list of children.
        found = [m for m in found if m.triple and m.triple.relation in outright] or found
        if outright:
            found = [m for m in found if m.triple and not m.triple.negated]
            found.sort(key=lambda m: order[m.triple.relation] if m.triple else 0)
        return Asked(_with_words(found, asked), whose, outright, self._introducing)

    # -------------------------------------------------------------- of whom

    def _people(self, unit: Unit, scope: Scope) -> dict[str, tuple[str, str]]:
        """Names that this user's people and animals go by, folded, each as it is written and with whom it names: 糖糖 is the
        daughter. A fact of hers may be filed under either."""
        named = [m.triple for m in unit.memories.of_relations(scope, self._names, NAMES_LIMIT) if m.triple]
        return {self._fold(t.object).strip(): (t.object, t.subject) for t in named if not t.negated}

    def _whose(self, ask: Ask, folded: str, people: Mapping[str, tuple[str, str]]) -> Whose:
        """Whom the question asks about. A name of a relation may stand anywhere, so the whole question says whose it is,
        unless an own word stands right before it; a question asked outright says it in its place."""
        if not ask.outright and self._owner.search(ask.who) and not self._kin_in(ask.who[-8:]):
            return Whose(frozenset({USER, COMPANY}), sure=True)
        text = ask.who if ask.outright else folded
        kin = self._kin_in(text)
        subjects = {subject for subject, _ in kin}
        for said, (name, subject) in people.items():
            if subject != USER and _holds(text, said):
                subjects |= {subject, name}
            elif subject in subjects:
                subjects.add(name)
            elif _holds(text, said):
                subjects.add(USER)
        # 我的房子 and "my house" ask about a house.
        if ask.outright and self._alone.fullmatch(self._without(text, kin).strip()):
            subjects |= {USER, COMPANY}
        if subjects:
            return Whose(frozenset(subjects), sure=True)
        anybody = not ask.outright or not about_person(self._vocabulary.get(ask.relation)) or not text.strip()
        return Whose(frozenset({USER, COMPANY} if anybody else ()), sure=False)

    def _kin_in(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """Relatives, friends and animals of the user that a text speaks of, and where."""
        return [(self._kin[m.group()], m.span()) for m in self._relatives.finditer(text)]

    def _without(self, text: str, kin: Iterable[tuple[str, tuple[int, int]]]) -> str:
        """A text without its relatives and the own word that says whose they are."""
        rest = text
        for _, (start, end) in reversed(list(kin)):
            before = self._owner.sub("", rest[:start])
            rest = before + " " + rest[end:]
        return rest

    def _with(self, whose: Whose, ask: Ask, folded: str, facts: Sequence[Memory]) -> Whose:
        """Whose facts they are, with the subjects that the question names, and with those whom the word for a relative may mean
        as well, where nothing is known of the very one."""
        here = {m.triple.subject for m in facts if m.triple and m.triple.relation == ask.relation}
        text = ask.who if ask.outright else folded
        named = {s for s in here if not s.startswith("@") and _holds(text, self._fold(s))}
        if named:
            return Whose(whose.subjects | named if whose.sure else frozenset(named), sure=True)
        if whose.sure and not here & whose.subjects:
            near = {other for subject in whose.subjects for other in self._near.get(subject, ())}
            return Whose(whose.subjects | near, sure=True)
        return whose

    # -------------------------------------------------------------- what was so before

    def _former(self, unit: Unit, scope: Scope, whose: Mapping[str, Whose], now: datetime) -> list[Memory]:
        """What was so and is no longer, the last first. What was taken back never was, and what waits never stood."""
        keys = [fact_key(subject, relation) for relation, w in whose.items() for subject in sorted(w.subjects)]
        past = [m for m in unit.memories.believed(scope, keys) if _was(m, now)] if keys else []
        standing = {m.value for m in unit.memories.of_keys(scope, keys) if not m.over(now)} if past else set()
        past = [m for m in past if m.value not in standing]
        past.sort(key=lambda m: (m.valid_to or m.affirmed_at, m.seq), reverse=True)
        return past[:FORMER_LIMIT]


def _with_words(found: Iterable[Memory], asked: Mapping[str, str]) -> tuple[tuple[Memory, str], ...]:
    return tuple((m, asked[m.triple.relation]) for m in found if m.triple)


def _was(memory: Memory, now: datetime) -> bool:
    if memory.triple is None or memory.triple.negated or memory.never_stood or memory.status is Status.RETRACTED:
        return False
    return memory.status is not Status.LIVE or memory.over(now)


def as_former(memory: Memory, now: datetime) -> str:
    """The text of a memory; of what is no longer so it says until when it was (SPEC B6)."""
    if memory.status is Status.LIVE and not memory.over(now):
        return memory.text
    if memory.valid_to is None:
        return _FORMER[memory.language].format(text=memory.text)
    return _UNTIL[memory.language].format(text=memory.text, day=memory.valid_to.date().isoformat())


def turns_of_another(unit: Unit, scope: Scope, turns: Sequence[int], asked: Asked) -> set[str]:
    """The handles of the turns that say to what is asked only what is so of somebody else."""
    if not turns or not any(whose.sure for whose in asked.whose.values()):
        return set()
    resting = unit.memories.resting_on(scope, turns)
    held = {m.seq: m for m in unit.memories.get(scope, {seq for seqs in resting.values() for seq in seqs})}
    told = {turn: [held[seq] for seq in seqs if seq in held] for turn, seqs in resting.items()}
    return {message_handle(turn) for turn, memories in told.items() if asked.only_of_another(memories)}


def _holds(text: str, name: str) -> bool:
    """Whether a folded text holds a name; a Latin one as whole words."""
    if not name:
        return False
    if not (name[0].isascii() and name[-1].isascii()):
        return name in text
    return name in text and re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text) is not None


def _near(broader: Mapping[str, Sequence[str]], kin: Mapping[str, str]) -> dict[str, set[str]]:
    """For each relative those whom the same word may mean, either way."""
    near: dict[str, set[str]] = {}
    for word, others in broader.items():
        for other in others:
            one, two = kin.get(word), kin.get(other)
            if one and two and one != two:
                near.setdefault(one, set()).add(two)
                near.setdefault(two, set()).add(one)
    return near
