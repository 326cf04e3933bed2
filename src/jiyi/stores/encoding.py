"""What a database holds as text: pictures, verdicts and labels as JSON. And what to say when it cannot be read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from jiyi.domain.belief import Judgement
from jiyi.domain.encoding import (
    instant,
    judgement_fields,
    judgement_from_fields,
    memory_fields,
    memory_from_fields,
    optional_instant,
    standing_fields,
    standing_from_fields,
    to_json,
)
from jiyi.domain.memory import NO_LABELS, Memory
from jiyi.domain.standing import Standing
from jiyi.errors import StoreCorrupt

P = ParamSpec("P")
T = TypeVar("T")


def damage(read: Callable[P, T]) -> Callable[P, T]:
    """Marks a function that reads values back: what it cannot read was not written by us, so it is damage, no bug."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (LookupError, ValueError, TypeError, OverflowError) as error:
            raise StoreCorrupt(
                f"the database is damaged (a row that cannot be read: {type(error).__name__}): restore a backup"
            ) from error

    return reading


stored_instant = damage(instant)
stored_optional_instant = damage(optional_instant)
"""The same outside of a function that is marked as a whole."""


def labels_to_json(labels: Mapping[str, str]) -> str | None:
    return to_json(dict(labels)) if labels else None


def labels_from_json(text: str | None) -> Mapping[str, str]:
    return json.loads(text) if text else NO_LABELS


def memory_to_json(memory: Memory | None) -> str | None:
    return None if memory is None else to_json(memory_fields(memory))


@damage
def memory_from_json(text: str | None) -> Memory | None:
    return None if text is None else memory_from_fields(json.loads(text))


def judgements_to_json(judgements: Sequence[Judgement]) -> str:
    return to_json([judgement_fields(j) for j in judgements])


@damage
def judgements_from_json(text: str) -> tuple[Judgement, ...]:
    return tuple(judgement_from_fields(j) for j in json.loads(text))


def standing_to_json(standing: Standing) -> str:
    return to_json(standing_fields(standing))


@damage
def standing_from_json(text: str) -> Standing:
    return standing_from_fields(json.loads(text))
