"""What a correction says: the right statement in place of a wrong memory (SPEC B3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from jiyi.domain.belief import Observation
from jiyi.domain.language import language_of
from jiyi.domain.memory import Language, Memory, Mode, Triple
from jiyi.domain.relations import Relation, Vocabulary, first_person, render, spoken_of, subject_name
from jiyi.pipelines.distil import Distiller

_AROUND = " \t\n。.！!，,；;"
"""What stands around a statement and says nothing."""


def read_correction(
    text: str,
    wrong: Memory,
    at: datetime,
    distiller: Distiller,
    vocabulary: Vocabulary,
) -> Observation:
    """The observation that a correction makes in place of the wrong memory; see `read_corrections`."""
    return read_corrections(text, wrong, at, distiller, vocabulary)[0]


def read_corrections(
    text: str,
    wrong: Memory,
    at: datetime,
    distiller: Distiller,
    vocabulary: Vocabulary,
) -> tuple[Observation, list[Observation]]:
    """The observation that a correction makes, and what its words state besides (…, but I hate rap).

    A full statement is read as one (我们的数据库是 PostgreSQL), also where only what is known says whom it speaks of (小雅住在北京).
    A bare value (PostgreSQL) is the right object of the wrong memory's relation. Another sentence is the memory's text as
    it stands, and never an object.
    """
    read = distiller.declare(text, at=at, session="correct", category=None, importance=None)
    right = _Right(text, wrong, read[0], vocabulary, distiller, at)
    same_key = next((o for o in read if o.triple is not None and o.key == wrong.key), None)
    other = next((o for o in read if o.triple is not None), None)
    stated = same_key or other
    besides = [o for o in read if stated is not None and o.triple is not None and o is not stated]
    if same_key is not None:
        found = same_key
    elif other is not None:
        told = right.told()
        if told is None or told.text != other.text:
            return replace(other, mode=Mode.CORRECTION), besides
        found = told
    else:
        found = right.told() or right.stated() or right.value() or read[0]
    corrected = replace(
        found,
        mode=Mode.CORRECTION,
        category=wrong.category,
        importance=max(wrong.importance, found.importance),
        kept=wrong.kept or found.kept,
    )
    return corrected, besides


@dataclass(frozen=True, slots=True)
class _Right:
    """Readings of a text that the rules alone do not understand, each None where it is none."""

    text: str
    wrong: Memory
    free: Observation
    vocabulary: Vocabulary
    distiller: Distiller
    at: datetime

    def told(self) -> Observation | None:
        """The wrong memory's relation told of its subject as a memory tells it, in either language, with another object."""
        triple, relation = self.wrong.triple, self._relation
        if triple is None or relation is None:
            return None
        words = self.text.strip(_AROUND)
        for language in Language:
            own = first_person(triple.subject, language)
            if own and words.startswith(own):
                words = subject_name(triple.subject, language) + words[len(own) :]
            told = render(relation, triple.subject, "\0", language, negated=triple.negated)
            before, after = (part.strip().casefold() for part in told.split("\0", 1))
            whole = words.casefold()
            if before and whole.startswith(before) and whole.endswith(after):
                said = words[len(before) : len(words) - len(after)].strip()
                return self._with(said, negated=triple.negated) if said else None
        return None

    def stated(self) -> Observation | None:
        """The same relation stated of the same subject, whose name alone does not show that it is one: 小雅."""
        triple, relation = self.wrong.triple, self._relation
        if triple is None or relation is None:
            return None
        for name, language in _names(triple.subject):
            if not _begins(self.text, name):
                continue
            said = spoken_of(triple.subject, language) + self.text[len(name) :]
            read = self.distiller.declare(said, at=self.at, session="correct", category=None, importance=None)
            for o in read:
                if o.triple is not None and o.triple.relation == triple.relation:
                    return self._with(o.triple.object, negated=o.triple.negated)
        return None

    def value(self) -> Observation | None:
        """The text as the object; None where it is a sentence: it begins with whom it speaks of, and says more."""
        triple = self.wrong.triple
        if triple is None or self._relation is None:
            return None
        if any(_begins(self.text, name) for name, _ in _names(triple.subject)) or self.distiller.speaks(
            self.text, self.at
        ):
            return None
        return self._with(self.text, negated=False)

    @property
    def _relation(self) -> Relation | None:
        return self.vocabulary.get(self.wrong.triple.relation) if self.wrong.triple is not None else None

    def _with(self, said: str, *, negated: bool) -> Observation:
        relation, triple = self._relation, self.wrong.triple
        assert relation is not None
        assert triple is not None
        language = language_of(said, self.wrong.language)
        return replace(
            self.free,
            text=render(relation, triple.subject, said, language, negated=negated),
            triple=Triple(triple.subject, triple.relation, said, negated),
            value=self.distiller.value(relation, said, self.at, language),
            keywords=self.wrong.keywords,
            language=language,
        )


def _names(subject: str) -> list[tuple[str, Language]]:
    return [(subject_name(subject, language), language) for language in Language]


def _begins(text: str, name: str) -> bool:
    """Whether more is said after a name that a text begins with."""
    rest = text[len(name) :]
    if not text.casefold().startswith(name.casefold()) or not rest.strip(_AROUND):
        return False
    return not (name[-1].isascii() and rest[0].isascii() and rest[0].isalnum())
