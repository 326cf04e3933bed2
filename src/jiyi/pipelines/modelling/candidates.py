"""From what a language model says to what we may observe (SPEC C7, C9, C12).

A candidate becomes an observation only on the user's own words, or at less confidence on those of another person in the
room. The model proposes the relation, the subject and the manner; each counts only as far as the words bear it out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from jiyi.domain.belief import Observation
from jiyi.domain.language import language_of
from jiyi.domain.memory import Category, Language, Memory, Message, Mode, Role, Source, Triple
from jiyi.domain.relations import COMPANY, USER, Relation, Vocabulary, render
from jiyi.pipelines.distil import Distiller, category_of, keywords_of
from jiyi.pipelines.distilling.normalising import DATE
from jiyi.pipelines.modelling.answers import Candidate
from jiyi.pipelines.modelling.pointing import Pointing
from jiyi.pipelines.modelling.support import Finding, Support
from jiyi.pipelines.redacting import Redaction

_USER = frozenset({"user", "the user", "i", "me", "@user", "用户", "我", "本人"})
_COMPANY = frozenset({"company", "@company", "our company", "our team", "公司", "我们公司", "我司", "贵司", "我们"})
_NAMED = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+|《|\d")
_LIST = re.compile(r"[、,，/]|和|与|及|\band\b|&")
_OF_USER = ("用户的", "the user's ", "user's ")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Makes observations of candidates. Built once; pure, so one may serve all threads."""

    distiller: Distiller
    vocabulary: Vocabulary
    support: Support
    redaction: Redaction
    pointing: Pointing
    _aliases: Mapping[str, Relation] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        aliases: dict[str, Relation] = {}
        # Names go first: bought is a word of OWNS, and BOUGHT a relation of its own.
        names = [(word, r) for r in self.vocabulary for word in (r.name, r.name.replace("_", " "))]
        words = [(word, r) for r in self.vocabulary for word in (*r.names.all, *r.verbs.all)]
        for word, relation in names + words:
            aliases.setdefault(self.distiller.fold(word).strip(), relation)
        object.__setattr__(self, "_aliases", aliases)

    def observe(
        self,
        candidates: Sequence[Candidate],
        messages: Sequence[Message],
        believed: Sequence[Memory],
        *,
        beside_rules: bool = True,
    ) -> tuple[list[Observation], Counter[str]]:
        """What may be observed, and why the rest was dropped.

        Args:
            messages: the segment as the model saw it, numbered from 1.
            believed: memories that rest on these messages already. A statement that one of them makes is not made again.
            beside_rules: leave out what the rules find in the messages by themselves.
        """
        dropped: Counter[str] = Counter()
        known = [o for m in messages if beside_rules for o in self.distiller.distil(m, zone=m.at.tzinfo or UTC)]
        found: list[Observation] = []
        for candidate in candidates:
            observation = self._observation(candidate, messages)
            if isinstance(observation, str):
                dropped[observation] += 1
            elif not self.redaction.tells(observation):
                dropped["nothing but a private number"] += 1
            elif self._known(observation, [*known, *found], believed):
                dropped["known already"] += 1
            else:
                found.append(observation)
        return found, dropped

    # ------------------------------------------------------------------ one candidate

    def _observation(self, candidate: Candidate, messages: Sequence[Message]) -> Observation | str:
        """An observation, or the reason why there is none."""
        said = replace(
            candidate,
            content=self.redaction.text(candidate.content),
            object=self.redaction.text(candidate.object) if candidate.object else "",
        )
        language = language_of(said.content)
        speakers = [m.name for m in messages if m.name]
        if self._says_nothing(said, language, messages[-1].at):
            return "says nothing by itself"
        finding: Finding | None = None
        for cited in self._cited(said, messages):
            finding = self.support.check(said.content, language, cited, said.object, speakers)
            if finding and cited[0].role is Role.OTHER and self._of_user(said) and not self.support.addresses(finding):
                # I have a parrot, says a friend: that is no parrot of the user's.
                return "another person's, not the user's"
            if finding and self._answers_advice(said, cited, messages, language):
                return "an answer to advice, and nothing else"
            if finding:
                return self._supported(said, cited, finding, language)
        return "rests on nobody's own words" if finding is None else finding.reason

    def _says_nothing(self, candidate: Candidate, language: Language, at: datetime) -> bool:
        """Whether a candidate only points at what it tells of: finished it, likes that."""
        if candidate.object and not self.pointing.named(candidate.object, language):
            return True
        told = candidate.content
        for time in reversed(self.distiller.times.find(told, at)):
            told = told[: time.start] + told[time.end :]
        return self.pointing.says_nothing(told, language)

    def _answers_advice(
        self, candidate: Candidate, cited: Sequence[Message], messages: Sequence[Message], language: Language
    ) -> bool:
        """我会尽力去改变, said after the assistant's advice and of no day, is politeness and no plan."""
        if not self.pointing.answers_advice(candidate.content, language):
            return False
        before = max((m.seq for m in messages if m.seq < cited[-1].seq), default=None)
        advised = any(m.seq == before and m.role is Role.ASSISTANT for m in messages)
        return advised and self.distiller.dated(candidate.content, cited[-1].at, language) == candidate.content

    def _of_user(self, candidate: Candidate) -> bool:
        """Whether a statement tells of the user: by the subject it names, or by how it begins."""
        told = candidate.content.lower().lstrip(" \"'“")
        return candidate.subject.lower() in _USER or told.startswith(("user ", "user's ", "the user", "用户"))

    def _cited(self, candidate: Candidate, messages: Sequence[Message]) -> list[list[Message]]:
        """The messages on which a candidate may rest: the user's, else another person's; never the assistant's (SPEC C4).

        Without citations, as in A2's shape, one message must bear it out alone.
        """
        if not candidate.lines:
            return [[m] for m in messages if m.role is Role.USER]
        cited = [messages[n - 1] for n in candidate.lines]
        for role in (Role.USER, Role.OTHER):
            if of_role := [m for m in cited if m.role is role]:
                return [of_role]
        return []

    def _supported(
        self, candidate: Candidate, cited: Sequence[Message], finding: Finding, language: Language
    ) -> Observation:
        last = max(cited, key=lambda m: (m.at, m.seq))
        heard = candidate.heard or last.role is Role.OTHER
        policy = self.distiller.policy
        text = self.distiller.dated(candidate.content, last.at, language)
        observation = Observation(
            text=text,
            # A standing rule comes from the user's words as the rules read them, or by remember(): no model makes one,
            # so no text that instructs the agent can become one through it (SPEC C12).
            category=Category.PREFERENCE if candidate.category is Category.RULE else candidate.category,
            importance=candidate.importance,
            source=Source.INFERRED if heard else Source.DECLARED,
            start=policy.hearsay if heard else policy.implied_subject,
            at=last.at,
            # 昨天去爬山, said again next week, speaks of another day.
            value=self.distiller.fold(text).strip(),
            evidence=finding.evidence,
            language=language,
        )
        return self._keyed(observation, candidate, finding, last) or observation

    def _keyed(
        self, observation: Observation, candidate: Candidate, finding: Finding, last: Message
    ) -> Observation | None:
        """The observation as a fact with a key, where relation, subject and manner are borne out by the words."""
        language = observation.language
        relation = self._relation(candidate.relation, candidate.subject)
        if relation is None or not candidate.object or relation.category is Category.EVENT:
            # What happened once is told by its sentence: with whom, and when.
            return None
        if relation.single and not self.distiller.says(relation, candidate.object):
            return None  # of one value at a time, it would stand in the way of the one that is said
        candidate = replace(candidate, object=self.pointing.named(candidate.object, language))
        subject = self._subject(relation, candidate.subject, language, finding)
        if subject == COMPANY and relation.passing:
            thing = self.pointing.thing(candidate.content, language)
            subject = COMPANY if thing == "" else thing  # User's mill stands as it does, whatever User's company does
        negated = candidate.mode is Mode.DENIAL
        if subject is None or (negated or self._negative(relation, language)) is not self.support.denies(
            candidate.content, language
        ):
            return None
        mode = (
            Mode.STATEMENT
            if observation.source is Source.INFERRED
            else self._mode(candidate.mode, relation, finding, language)
        )
        value = self.distiller.value(relation, candidate.object, last.at, language)
        said = value if relation.object_type == DATE else self.distiller.dated(candidate.object, last.at, language)
        if relation.single and relation.object_type != DATE and said != candidate.object:
            return None  # 今天是我的生日 names a day, and no value that could be compared
        plain = render(relation, subject, said, language, negated=negated)
        return replace(
            observation,
            # One of many says more in its own sentence: User has a puppy named Toby.
            text=plain if relation.single or negated else observation.text,
            category=category_of(relation, subject),
            importance=max(relation.importance, min(candidate.importance, 4)),
            value=value,
            triple=Triple(subject, relation.name, candidate.object, negated),
            mode=mode,
            keywords=keywords_of(relation),
        )

    def _relation(self, named: str, subject: str) -> Relation | None:
        relation = self._aliases.get(self.distiller.fold(named).strip())
        if relation is None:
            return None
        # A name that the user's and the company's side share (名字, name) is that of the side that is spoken of.
        wanted = COMPANY if subject.lower() in _COMPANY else USER
        if relation.subject != wanted and relation.name != named:
            words = {self.distiller.fold(w) for w in (*relation.names.all, *relation.verbs.all)}
            for other in self.vocabulary:
                shared = {self.distiller.fold(w) for w in (*other.names.all, *other.verbs.all)} & words
                if other.subject == wanted and self.distiller.fold(named).strip() in shared:
                    return other
        return relation

    def _subject(self, relation: Relation, written: str, language: Language, finding: Finding) -> str | None:
        lower = written.lower().strip()
        if lower in _USER:
            return relation.subject
        if lower in _COMPANY:
            written = "我们公司" if language is Language.ZH else "our company"
            return self.distiller.subject(relation, written, language)
        for prefix in _OF_USER:
            if lower.startswith(prefix):
                mine = "我" if language is Language.ZH else "my "
                return self.distiller.subject(relation, mine + written[len(prefix) :], language)
        said = " ".join(self.distiller.fold(c.message.text) for c in finding.clauses)
        return self.distiller.subject(relation, written, language) if self.distiller.fold(written) in said else None

    def _mode(self, mode: Mode, relation: Relation, finding: Finding, language: Language) -> Mode:
        """A model's word alone ends nothing: the user's must say that something changed or was wrong (SPEC B2, B3)."""
        if mode is Mode.CHANGE and self.support.says_change(finding, language):
            return mode
        if mode is Mode.CORRECTION and self.support.says_correction(finding, language):
            return mode
        return mode if mode is Mode.DENIAL else Mode.CHANGE if relation.passing else Mode.STATEMENT

    def _negative(self, relation: Relation, language: Language) -> bool:
        """Whether a relation is one of refusing or ending by its own wording: dislikes, quit."""
        words = (*relation.verbs.of(language), *relation.names.of(language))
        return sum(self.support.denies(w, language) for w in words) * 2 > len(words)

    # ------------------------------------------------------------------ doubles

    def _known(self, one: Observation, others: Sequence[Observation], believed: Sequence[Memory]) -> bool:
        """Whether the rules, the answer so far, or what an earlier reading of these messages left says it already."""
        if any(self._same(one, o.key, o.value, o.negated, o.text, [e.message for e in o.evidence]) for o in others):
            return True
        if self._listed(one, others) or self._introduced(one, others):
            return True
        return any(
            self._same(
                one, m.key, m.value, m.triple is not None and m.triple.negated, m.text, [e.message for e in m.evidence]
            )
            for m in believed
        )

    def _listed(self, one: Observation, others: Sequence[Observation]) -> bool:
        """Whether a list (打羽毛球、跑步和游泳) holds nothing but what the same message is known to say, one by one."""
        parts = [p.strip() for p in _LIST.split(one.value) if p.strip()] if one.key else []
        shared = {e.message for e in one.evidence}
        values = [o.value for o in others if o.negated is one.negated and shared & {e.message for e in o.evidence}]
        return len(parts) > 1 and all(any(p in v or v in p for v in values if len(v) > 1) for p in parts)

    def _same(self, one: Observation, key: str, value: str, negated: bool, text: str, rests_on: Sequence[int]) -> bool:
        shared = {e.message for e in one.evidence} & set(rests_on)
        if one.key == key and one.value == value and one.negated is negated:
            return True
        if not shared:
            return False
        if one.key and key:
            # The same words under a related relation (likes tea, drinks tea) are one statement, and so are a longer and a
            # shorter value of one fact.
            same = one.value == value or (one.key == key and self._no_more(one, value, text))
            return same and one.negated is negated
        deny = (self.support.denies(t, one.language) for t in (one.text, text))
        return (self.support.alike(one.text, text) and len({*deny}) == 1) or self._tells(one, value, key, negated)

    def _no_more(self, one: Observation, value: str, text: str) -> bool:
        """Whether a value is a shorter one of what is known, or a longer one that adds no name to it."""
        if one.value in value:
            return True
        if value not in one.value or one.triple is None:
            return False
        return self._has_names(text, one.triple)

    def _has_names(self, text: str, triple: Triple) -> bool:
        """Whether a text has every name of what a triple tells of."""
        told = self.distiller.fold(text)
        return all(self.distiller.fold(name) in told for name in _NAMED.findall(f" {triple.object}"))

    def _introduced(self, one: Observation, others: Sequence[Observation]) -> bool:
        """Whether a pet or a relative with their name (a brother, Tom) is known by name from the same message."""
        if one.triple is None or one.triple.relation not in self.distiller.constructions.introduces:
            return False
        shared = {e.message for e in one.evidence}
        beside = [
            o for o in others if o.triple and o.negated is one.negated and shared & {e.message for e in o.evidence}
        ]
        naming = any(o.triple and o.triple.relation == self.distiller.constructions.naming for o in beside)
        names = _NAMED.search(f" {one.triple.object}") is not None
        return naming and names and self._has_names(" ".join(o.text for o in beside), one.triple)

    def _tells(self, one: Observation, value: str, key: str, negated: bool) -> bool:
        """Whether a sentence adds little to a fact that the same message states: it has the value, and few words besides."""
        if one.key or not key or len(value) < 2:
            return False
        folded = one.value
        return (
            value in folded and len(value) * 2 >= len(folded) and negated is self.support.denies(folded, one.language)
        )
