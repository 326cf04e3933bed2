"""What a correction says: the right statement in place of a wrong memory (SPEC B3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from jiyi.domain.belief import Observation
from jiyi.domain.language import language_of
from jiyi.domain.memory import Memory, Mode, Triple
from jiyi.domain.relations import Vocabulary, render
from jiyi.pipelines.distil import Distiller


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

    A full statement is read as one (我们的数据库是 PostgreSQL); a bare value (PostgreSQL) is the right object of
    the wrong memory's relation; anything else replaces the text.
    """
    read = distiller.declare(text, at=at, session="correct", category=None, importance=None)
    same_key = next((o for o in read if o.triple is not None and o.key == wrong.key), None)
    other = next((o for o in read if o.triple is not None), None)
    stated = same_key or other
    besides = [o for o in read if stated is not None and o.triple is not None and o is not stated]
    if same_key is not None:
        found = same_key
    elif other is not None:
        return replace(other, mode=Mode.CORRECTION), besides
    else:
        found = _as_value(text, wrong, read[0], vocabulary, distiller, at) or read[0]
    right = replace(
        found,
        mode=Mode.CORRECTION,
        category=wrong.category,
        importance=max(wrong.importance, found.importance),
        kept=wrong.kept or found.kept,
    )
    return right, besides


def _as_value(
    text: str, wrong: Memory, free: Observation, vocabulary: Vocabulary, distiller: Distiller, at: datetime
) -> Observation | None:
    if wrong.triple is None:
        return None
    relation = vocabulary.get(wrong.triple.relation)
    if relation is None:
        return None
    triple = Triple(wrong.triple.subject, wrong.triple.relation, text)
    language = language_of(text, wrong.language)
    return replace(
        free,
        text=render(relation, triple.subject, text, language),
        triple=triple,
        value=distiller.value(relation, text, at, language),
        keywords=wrong.keywords,
        language=language,
    )
