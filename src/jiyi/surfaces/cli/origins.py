"""The effective settings, each with the place its value comes from."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from jiyi.assembly import SETTINGS_FILE
from jiyi.backends import without_password
from jiyi.settings import Settings
from jiyi.surfaces.cli.calls import Common

FLAGS = {"path": "--db", "timezone": "--tz"}


@dataclass(frozen=True, slots=True)
class Effective:
    """`name` is dotted: `context.budget`. `value` is plain JSON; durations are in days."""

    name: str
    value: Any
    origin: str

    @property
    def shown(self) -> str:
        return "" if self.value is None else str(self.value)


def effective(settings: Settings, environment: Mapping[str, str], common: Common) -> list[Effective]:
    """Every setting in the order of the tree. Flag > environment > jiyi.toml > default."""
    given = {"path": common.db, "timezone": common.tz}
    file = Path(SETTINGS_FILE)
    in_file = set(_names(tomllib.loads(file.read_text("utf-8")))) if file.is_file() else set()

    def origin(name: str) -> str:
        if given.get(name) is not None:
            return FLAGS[name]
        if variable(name) in environment:
            return variable(name)
        return SETTINGS_FILE if name in in_file else "default"

    # Commands run due jobs themselves, so the switch of the background thread says nothing here.
    values = {name: plain(value) for name, value in flat(settings) if name != "worker"}
    values["path"] = without_password(settings.path)
    if settings.graph_engine is not None:
        values["graph_engine"] = without_password(settings.graph_engine)
    return [Effective(name, value, origin(name)) for name, value in values.items()]


def variable(name: str) -> str:
    """The environment variable of a setting: `context.budget` is JIYI_CONTEXT__BUDGET."""
    return "JIYI_" + name.upper().replace(".", "__")


def flat(settings: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of a tree of settings, with dotted names."""
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value, name = getattr(settings, field.name), f"{prefix}{field.name}"
        if isinstance(value, Mapping):
            for key, leaf in value.items():
                yield from flat(leaf, f"{name}.{key}.")
        elif dataclasses.is_dataclass(value):
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def plain(value: Any) -> Any:
    """A setting as JSON has it; durations in days, as they are written in the file."""
    if isinstance(value, timedelta):
        return value / timedelta(days=1)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value


def _names(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
