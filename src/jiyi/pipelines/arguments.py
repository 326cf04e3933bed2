"""What callers write, as our types: enough words to put it right when it is none of them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from jiyi.domain.access import Role
from jiyi.domain.bitemporal import AsOf
from jiyi.domain.feedback import Feedback
from jiyi.domain.memory import Category, Language, Source, Status, Tier
from jiyi.domain.standing import Detail
from jiyi.errors import InputError
from jiyi.pipelines.observe import instant
from jiyi.pipelines.recalling.filters import ALL_KINDS, KINDS

E = TypeVar("E", bound=StrEnum)


def read_as_of(valid_at: datetime | str | None, known_at: datetime | str | None) -> AsOf:
    return AsOf(*(None if at is None else instant(at) for at in (valid_at, known_at)))


def read_kinds(kinds: Collection[str] | None) -> frozenset[str]:
    if kinds is None:
        return KINDS
    wanted = frozenset([kinds] if isinstance(kinds, str) else kinds)
    if not wanted or not wanted <= ALL_KINDS:
        raise InputError(f"kinds = {sorted(wanted)}: use some of {', '.join(sorted(ALL_KINDS))}")
    return wanted


def _member(kind: type[E], value: str, what: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{what} = {value!r}: use one of {', '.join(e.value for e in kind)}") from None


def read_category(value: Category | str) -> Category:
    return _member(Category, value, "category")


def read_role(value: Role | str) -> Role:
    return _member(Role, value, "role")


def read_status(value: Status | str) -> Status:
    return _member(Status, value, "status")


def read_feedback(value: Feedback | str) -> Feedback:
    return _member(Feedback, value, "feedback")


def read_source(value: Source | str) -> Source:
    return _member(Source, value, "source")


def read_tiers(values: Collection[Tier | str]) -> frozenset[Tier]:
    wanted = frozenset(_member(Tier, v, "tier") for v in ([values] if isinstance(values, str) else values))
    if not wanted:
        raise InputError(f"no tier is asked for: use some of {', '.join(Tier)}, or leave tiers out")
    return wanted


def read_language(value: Language | str) -> Language:
    return _member(Language, value, "language")


def read_detail(value: Detail | str) -> Detail:
    return _member(Detail, value, "detail")
