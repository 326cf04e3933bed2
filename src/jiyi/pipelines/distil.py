"""Distilling by rules alone: what the user's own words state, as observations with exact evidence (SPEC C6).

A message is cut into sentences and clauses; a clause in which a relation of the vocabulary is named is held against the
constructions; what fits becomes an observation. Whatever is not fully understood gives nothing: a junk memory does more
harm than a missing one (SPEC C4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import lru_cache

from jiyi.domain.belief import Observation
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Category, Evidence, Language, Message, Mode, Role, Source, Triple
from jiyi.domain.relations import COMPANY, USER, Phrases, Relation, Vocabulary, render
from jiyi.errors import SettingsError
from jiyi.pipelines.distilling.clauses import View, fold_character, view_of
from jiyi.pipelines.distilling.fitting import Found
from jiyi.pipelines.distilling.grammar import Constructions, compiled
from jiyi.pipelines.distilling.normalising import AMOUNT, Normalising, label_of
from jiyi.pipelines.distilling.reading import Plain, Reader
from jiyi.text.cleaning import Cleaned
from jiyi.text.numbers import plain
from jiyi.text.times import Times

# What the user asks to keep matters at least this much.
KEPT_IMPORTANCE = 4
MAX_KEYWORDS = 8
AUTHOR = "author"
"""The label that says who wrote a turn of the user's, where it was not the user."""
# A longer message is a document that was pasted, whose "I" is somebody else.
MAX_TALK = 4000


@dataclass(frozen=True, slots=True)
class Distiller:
    """Reads observations out of a user's messages. Built once; pure, so one may serve all threads.

    Args:
        vocabulary: the relations that can be stated.
        constructions: the wordings that state them.
        times: reads dates and times.
        fold: the segmenter's folding, so that values compare as recall compares them.
        policy: where confidence starts.
        written_for: marks that somebody else wrote a turn in the user's name (SPEC B4).
        reader: one of this vocabulary, these constructions and this folding that was built before; by default it is built.

    Raises:
        SettingsError: a construction names a relation that the vocabulary does not hold.
    """

    vocabulary: Vocabulary
    constructions: Constructions
    times: Times
    fold: Callable[[str], str]
    policy: ConfidencePolicy = field(default_factory=ConfidencePolicy)
    written_for: Phrases = field(default_factory=Phrases)
    reader: Reader | None = None
    _reader: Reader = field(init=False, repr=False, compare=False)
    _normalising: Normalising = field(init=False, repr=False, compare=False)
    _character: Callable[[str], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        unknown = {r for r in self.constructions.relations if self.vocabulary.get(r) is None}
        if unknown:
            raise SettingsError(
                f"constructions name relations that the vocabulary does not hold: {', '.join(sorted(unknown))}"
            )
        reader = self.reader or Reader(self.vocabulary, self.constructions, self.fold)
        object.__setattr__(self, "_reader", reader)
        character = lru_cache(maxsize=8192)(lambda c: fold_character(c, self.fold))
        object.__setattr__(self, "_character", character)
        object.__setattr__(self, "_normalising", Normalising(self.times, self.constructions, self.fold, character))

    def distil(
        self,
        message: Message,
        *,
        zone: tzinfo,
        cleaned: Cleaned | None = None,
        known: Callable[[Observation], Observation | None] = lambda _: None,
    ) -> list[Observation]:
        """What one message states, in the order in which it states it.

        Only the user's own words are read (SPEC C4): any other role gives nothing. `zone` is where the user was: 昨天 is
        the day before the message's own day there (SPEC C8). `cleaned` is what is left to read of the text (SPEC C2), all
        of it by default. `known`: the observation, about what it speaks of where that is known by the name it is given, asked
        where its words alone do not tell (Toffee died: a dog, or a server; Evan, not Ethan: whoever was called so); else None.
        """
        if message.role is not Role.USER or message.forgotten or message.digest or len(message.text) > MAX_TALK:
            return []
        cleaned = cleaned or Cleaned(message.text, ((0, len(message.text)),))
        at = _local(message.at, zone)
        found = self._reader.read(self._view(cleaned.text, at))
        if not found:
            return []
        own, observations = self._own(message), []
        for f in found:
            start, end = cleaned.original(f.start, f.end)
            told = (Evidence(message.seq, start, end, message.at, message.session, own=own),)
            observations.append(self._observation(f, cleaned.text, at, message.at, told, None, None))
        return _distinct([o for said in observations if (o := known(said) if said.known else said) is not None])

    def plain(self, message: Message, *, zone: tzinfo, cleaned: Cleaned | None = None) -> list[Plain]:
        """The sentences of a message that plainly state something, whether or not the constructions read them; each stands
        where it stands in the message, and says what is left to read of it."""
        if message.role is not Role.USER or message.forgotten or message.digest or len(message.text) > MAX_TALK:
            return []
        cleaned = cleaned or Cleaned(message.text, ((0, len(message.text)),))
        found = self._reader.plain(self._view(cleaned.text, _local(message.at, zone)))
        places = [cleaned.original(p.start, p.end) for p in found]
        return [replace(p, start=start, end=end) for p, (start, end) in zip(found, places, strict=True)]

    def whole(
        self, message: Message, plain: Plain, *, zone: tzinfo, category: Category, importance: int
    ) -> Observation:
        """A plain sentence as it stands, with its dates."""
        found = Found(plain.said, self.fold(plain.said).strip(), plain.start, plain.end, plain.language)
        at = _local(message.at, zone)
        told = (Evidence(message.seq, plain.start, plain.end, message.at, message.session, own=self._own(message)),)
        return self._observation(found, plain.said, at, message.at, told, category, importance)

    def declare(
        self,
        text: str,
        *,
        at: datetime,
        session: str,
        category: Category | None,
        importance: int | None,
        source: Source = Source.DECLARED,
        verbatim: bool = False,
    ) -> list[Observation]:
        """What a text states that the user asked outright to keep; never empty.

        What the constructions understand becomes keyed facts. A text that they do not explain to its end is kept
        word for word as well. An explicit category or importance wins over the relation's own. There is no message
        to cite: the evidence says that it was told outright, in which session. `at` is in the zone where the user is.
        `source` is on whose word, where it is not the user's. With `verbatim` nothing is understood: the words are kept as
        a citation (SPEC C12).
        """
        told = (Evidence(0, 0, 0, at, session, own=source is Source.DECLARED),)
        view = self._view(text, at)
        found = [self._reader.read_verbatim(view)] if verbatim else self._reader.read_declared(view)
        observations = [
            self._observation(replace(f, kept=True), text, at, at, told, category, importance) for f in found
        ]
        if len(observations) == 1:
            # One statement: the memory says it in the user's own words.
            words = text.strip() or text
            observations = [replace(o, text=self._normalising.with_dates(words, at, o.language)) for o in observations]
        if source is not Source.DECLARED:
            observations = [replace(o, source=source, start=self.policy.start(source)) for o in observations]
        return _distinct(observations)

    def about(self, observation: Observation, subject: str, name: str) -> Observation:
        """The same said of another subject, by another relation of the vocabulary."""
        relation, told = self.vocabulary.get(name), observation.triple
        assert relation is not None
        assert told is not None
        return replace(
            observation,
            text=render(relation, subject, told.object, observation.language, negated=told.negated),
            category=category_of(relation, subject),
            importance=max(relation.importance, observation.importance),
            triple=replace(told, subject=subject, relation=name),
            keywords=keywords_of(relation),
        )

    def value(self, relation: Relation, said: str, at: datetime, language: Language) -> str:
        """An object for comparing, as an observation of the relation has it."""
        return self._normalising.value(relation, said, self.fold(said).strip(), at, language)

    def says(self, relation: Relation, said: str) -> bool:
        """Whether an object says what a relation asks for: "the city" says not where somebody lives."""
        vague = self.constructions.vague.get(relation.object_type)
        plain = "".join(map(self._character, said)).strip(" .,。，")
        return vague is None or compiled(vague).fullmatch(plain) is None

    def subject(self, relation: Relation, written: str, language: Language) -> str | None:
        """What a fact of the relation is filed under whose subject is written so; None when it cannot have that one."""
        return self._reader.subject(relation, written, language)

    def speaks(self, text: str, at: datetime) -> bool:
        """Whether a text begins with whom it speaks of, by a word for them, and goes on: I never said that, 她搬走了."""
        return self._reader.speaks(self._view(text, at))

    def dated(self, text: str, at: datetime, language: Language) -> str:
        """A text with a date after each expression that could not be understood later: 昨天（2026-03-01）."""
        return self._normalising.with_dates(text, at, language)

    def character(self, character: str) -> str:
        """One character folded into one, so that places stay."""
        return self._character(character)

    def _view(self, text: str, at: datetime) -> View:
        return view_of(text, at, self.times, self._character)

    def _own(self, message: Message) -> bool:
        """Whether these are the user's own words, and not a clerk's or an agent's in their name (SPEC B4)."""
        if message.labels.get(AUTHOR, Role.USER) != Role.USER:
            return False
        lowered = message.text.lower()
        return not any(mark in lowered for mark in self.written_for.all)

    def _observation(
        self,
        found: Found,
        text: str,
        at: datetime,
        said_at: datetime,
        evidence: tuple[Evidence, ...],
        category: Category | None,
        importance: int | None,
    ) -> Observation:
        """`at`: the instant where the user was, against which times are read; `said_at`: the same as it is kept."""
        source, start = self._belief(found)
        importance = importance or self._importance(found)
        said = self._normalising.dated(found, at)
        if found.relation is None:
            # 明天要交报告 said again next week speaks of another day.
            value = found.value if said == found.object else self.fold(said).strip()
            return Observation(
                text=said, category=category or found.category, importance=importance, source=source,
                start=start, at=said_at, value=value, evidence=evidence, kept=found.kept, language=found.language,
            )  # fmt: skip
        relation, subject = found.relation, found.subject
        time = self._normalising.phrase(found, text)
        return Observation(
            text=render(relation, subject, said, found.language, negated=found.negated, time=time),
            category=category or category_of(relation, subject),
            importance=importance,
            source=source,
            start=start,
            at=said_at,
            value=self._value(found, found.object, found.value, at),
            triple=Triple(subject, relation.name, self._object(found), found.negated),
            mode=found.mode,
            replaces=self._value(found, found.replaces_text, found.replaces, at),
            replaces_text=found.replaces_text,
            evidence=evidence,
            keywords=keywords_of(relation),
            kept=found.kept,
            language=found.language,
            until=self._normalising.until(found, at),
            known=found.known,
        )

    def _value(self, found: Found, said: str, folded: str, at: datetime) -> str:
        assert found.relation is not None
        if not said:
            return folded
        value = self._normalising.value(found.relation, said, folded, at, found.language)
        return " ".join([value, *label_of(found)])

    def _object(self, found: Found) -> str:
        """The object of the triple: an amount as a plain number. Next to an old value it stays as it was said, since
        forgetting one of the two must find its words in the sentence that both rest on."""
        assert found.relation is not None
        if found.relation.object_type != AMOUNT or found.replaces_text:
            return found.object
        amount = self._normalising.amount(found.object)
        return found.object if amount is None else plain(amount.value)

    def _importance(self, found: Found) -> int:
        own = found.relation.importance if found.relation is not None else KEPT_IMPORTANCE
        return max(own, KEPT_IMPORTANCE) if found.kept else own

    def _belief(self, found: Found) -> tuple[Source, float]:
        if found.hearsay:
            # SPEC C9: enters as an inference, so that the user's own word about it always wins.
            return Source.INFERRED, self.policy.hearsay
        if found.implied:
            return Source.DECLARED, self.policy.implied_subject
        return Source.DECLARED, self.policy.start(Source.DECLARED)


def _local(at: datetime, zone: tzinfo) -> datetime:
    """The instant where the user was; at the ends of the calendar, where no zone can show it, as it stands."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def category_of(relation: Relation, subject: str) -> Category:
    """Facts about other people are about relationships, whatever they would be about the user."""
    if subject in (USER, COMPANY) or relation.category not in (Category.PROFILE, Category.PREFERENCE):
        return relation.category
    return Category.RELATIONSHIP


def keywords_of(relation: Relation) -> tuple[str, ...]:
    """The relation's names, both languages by turns, so that the other language's term finds the memory (SPEC C10)."""
    half = MAX_KEYWORDS // 2
    zh, en = relation.names.zh, relation.names.en
    names = zh[: max(half, MAX_KEYWORDS - len(en))] + en[: max(half, MAX_KEYWORDS - len(zh))]
    return tuple(dict.fromkeys(names))[:MAX_KEYWORDS]


def _distinct(observations: list[Observation]) -> list[Observation]:
    """The same thing said twice in one message is one observation, and what the message itself corrects is none."""
    latest = {(o.key, o.negated, o.value): o for o in observations}
    corrected = {o.key: i for i, o in enumerate(observations) if o.triple and o.mode is Mode.CORRECTION}
    return [
        o
        for i, o in enumerate(observations)
        if latest[(o.key, o.negated, o.value)] is o and i >= corrected.get(o.key, 0)
    ]
