"""Surfaces that need an extra of their own are loaded when their command runs: the others start light, and without it."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from types import ModuleType

from jiyi.errors import MissingExtra


def load_surface(module: str, what: str, extra: str, needs: Collection[str]) -> ModuleType:
    """A module of `jiyi.surfaces`.

    Args:
        needs: packages of the extra, by the names they are imported by.

    Raises:
        MissingExtra: one of them is not installed.
    """
    try:
        return importlib.import_module(f"jiyi.surfaces.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in needs:
            raise
        raise MissingExtra(what, extra) from None
