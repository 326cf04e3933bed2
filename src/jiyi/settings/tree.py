"""A tree of frozen dataclasses put together from plain values: a file, the environment, keywords. It knows no setting by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from types import MappingProxyType
from typing import Any

from jiyi.errors import SettingsError


def merge(into: dict[str, Any], values: Mapping[str, Any], origin: str) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            branch = into.setdefault(name, {})
            if not isinstance(branch, dict):
                raise SettingsError(f"{origin}: {name} is a single value, not a table")
            merge(branch, value, origin)
        else:
            into[name] = value


def build(default: Any, values: Mapping[str, Any], where: str) -> Any:
    """`default` with the given values in place of its own."""
    fields = {f.name: f for f in dataclasses.fields(default)}
    if unknown := set(values) - set(fields):
        raise SettingsError(
            f"{where}: unknown setting {', '.join(sorted(unknown))}; known are {', '.join(sorted(fields))}"
        )
    converted = {
        name: _convert(getattr(default, name), value, f"{where}.{name}", str(fields[name].type))
        for name, value in values.items()
    }
    return dataclasses.replace(default, **converted)


def _convert(default: Any, value: Any, where: str, kind: str) -> Any:
    """The value in the type of its default; text from the environment is read as that type."""
    if isinstance(default, Mapping) and isinstance(value, Mapping):
        return MappingProxyType({**default, **_entries(default, value, where)})
    if dataclasses.is_dataclass(default) and isinstance(value, Mapping):
        return build(default, value, where)
    try:
        if isinstance(default, bool):
            return _boolean(value)
        if "timedelta" in kind:
            return value if isinstance(value, timedelta) else timedelta(days=float(value))
        if isinstance(default, tuple):
            one = type(default[0]) if default else str
            return tuple(one(v.strip()) for v in (value.split(",") if isinstance(value, str) else value))
        if isinstance(default, int | float):
            return type(default)(value)
        if isinstance(default, Enum):
            return _one_of(type(default), value)
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(f"{where} = {value!r}: {error}") from error
    if isinstance(default, Mapping) or dataclasses.is_dataclass(default) or not isinstance(value, str | None):
        raise SettingsError(f"{where} = {value!r}: expected {kind}")
    return value


def _entries(default: Mapping[Any, Any], values: Mapping[str, Any], where: str) -> dict[Any, Any]:
    keys = {str(key): key for key in default}
    if unknown := set(values) - set(keys):
        raise SettingsError(f"{where}: unknown {', '.join(sorted(unknown))}; known are {', '.join(sorted(keys))}")
    return {keys[name]: build(default[keys[name]], value, f"{where}.{name}") for name, value in values.items()}


def _one_of(kind: type[Enum], value: Any) -> Enum:
    members = {member.value: member for member in kind}
    if value not in members:
        raise ValueError(f"use one of {', '.join(map(str, members))}")
    return members[value]


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in {"1", "true", "yes", "on"}:
        return True
    if str(value).lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("expected true or false")


def check_numbers(tree: Any, where: str) -> None:
    """No rule of ours has a use for a negative or boundless number, and none works with a time of no length."""
    for name, value in tree.items() if isinstance(tree, Mapping) else _items(tree):
        if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
            check_numbers(value, f"{where}.{name}")
        elif isinstance(value, timedelta) and value <= timedelta(0):
            raise SettingsError(f"{where}.{name} = {value}: use a time above 0")
        elif isinstance(value, int | float) and not 0 <= value < math.inf:
            raise SettingsError(f"{where}.{name} = {value}: use a number from 0 on")


def _items(tree: Any) -> list[tuple[str, Any]]:
    return [(f.name, getattr(tree, f.name)) for f in dataclasses.fields(tree)]
