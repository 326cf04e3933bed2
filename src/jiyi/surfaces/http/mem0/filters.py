"""The filters of mem0: fields with operators, under AND, OR and NOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, TypeAlias

from jiyi.errors import InputError
from jiyi.surfaces.http.mem0.names import ANY
from jiyi.surfaces.instants import read_instant

Fields: TypeAlias = Callable[[str], Sequence[Any]]
"""The values of a field of one memory, none where it has none."""
Holds: TypeAlias = Callable[[Fields], bool]

TIMES = ("created_at", "updated_at")
LATE = ("gt", "lte")
"""Operators for which a bare date stands for the end of its day."""
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, given: value == given,
    "gt": lambda value, given: value > given,
    "gte": lambda value, given: value >= given,
    "lt": lambda value, given: value < given,
    "lte": lambda value, given: value <= given,
    "in": lambda value, given: value in given,
    "contains": lambda value, given: given in value,
    "icontains": lambda value, given: given.casefold() in value.casefold(),
}
NOT = {"ne": "eq", "nin": "in"}


def read_filter(filters: Mapping[str, Any] | None, zone: tzinfo) -> Holds:
    """Whether a memory fits, as a function of its fields. No filters fit all.

    Raises:
        InputError: an operator that there is not, or a value that does not go with it.
    """
    return _all([_one(name, given, zone) for name, given in (filters or {}).items()])


def check_said(filters: Any) -> None:
    """Raises: InputError: something in them is empty. Of what is deleted, that says nothing must not mean all."""
    for name, given in filters.items() if isinstance(filters, Mapping) else enumerate(filters):
        if isinstance(given, Mapping | list):
            if not given:
                raise InputError(f"filters: {name} holds nothing; nothing was done")
            check_said(given)


def _all(parts: Sequence[Holds]) -> Holds:
    return lambda fields: all(holds(fields) for holds in parts)


def _any(parts: Sequence[Holds]) -> Holds:
    return lambda fields: any(holds(fields) for holds in parts)


def _none(parts: Sequence[Holds]) -> Holds:
    return lambda fields: not any(holds(fields) for holds in parts)


def _parts(name: str, given: Any) -> list[Mapping[str, Any]]:
    parts = [given] if isinstance(given, Mapping) else given
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise InputError(f"filters: {name} takes a list of filters")
    return parts


def _one(name: str, given: Any, zone: tzinfo) -> Holds:
    if name in ("AND", "OR", "NOT"):
        parts = [read_filter(part, zone) for part in _parts(name, given)]
        return {"AND": _all, "OR": _any, "NOT": _none}[name](parts)
    if name == "metadata" and isinstance(given, Mapping):
        return _all([_test(f"metadata.{key}", value, zone) for key, value in given.items()])
    return _test(name, given, zone)


def _test(name: str, given: Any, zone: tzinfo) -> Holds:
    """One field against a value, a list of values, or operators with values."""
    if given == ANY:
        return lambda fields: len(fields(name)) > 0
    if given is None:
        return lambda fields: not fields(name)
    if isinstance(given, list):
        given = {"in": given}
    if not isinstance(given, Mapping):
        given = {"icontains" if name == "keywords" else "eq": given}
    return _all([_compared(name, operator, value, zone) for operator, value in given.items()])


def _compared(name: str, operator: str, given: Any, zone: tzinfo) -> Holds:
    positive = NOT.get(operator, operator)
    if positive not in COMPARE:
        raise InputError(f"filters: no operator {operator!r}; there are {', '.join((*COMPARE, *NOT))}")
    if positive == "in" and not isinstance(given, list):
        raise InputError(f"filters: {operator} of {name} takes a list")
    if positive in ("contains", "icontains") and not isinstance(given, str):
        raise InputError(f"filters: {operator} of {name} takes text")
    if name in TIMES:
        late = positive in LATE
        given = (
            [_instant(name, g, zone, late) for g in given] if positive == "in" else _instant(name, given, zone, late)
        )
    compare, wanted = COMPARE[positive], positive == operator

    def holds(fields: Fields) -> bool:
        return any(_compare(compare, value, given) for value in fields(name)) is wanted

    return holds


def _compare(compare: Callable[[Any, Any], bool], value: Any, given: Any) -> bool:
    """Values that cannot be compared, such as a number and text, do not fit."""
    try:
        return bool(compare(value, given))
    except (TypeError, AttributeError):
        return False


def _instant(name: str, given: Any, zone: tzinfo, late: bool) -> datetime:
    """Raises: InputError: no date."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            return datetime.fromtimestamp(given, zone)
        except (OverflowError, ValueError, OSError):
            pass
    if isinstance(given, str):
        return read_instant(given, f"filters: {name}", zone, end=late)
    raise InputError(f"filters: {name} takes a date such as 2026-03-01, or seconds since 1970")
