"""Who is calling, and what one call works with (SPEC S1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeAlias

from jiyi.errors import InputError, JiyiError
from jiyi.pipelines.observe import clean_text
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import McpPolicy
from jiyi.surfaces.instants import read_instant

SURFACE = "mcp"
DEPTH = 32
"""Levels of an argument at the most (SPEC S5)."""
CLAIMS = {"user": "user", "user_id": "user", "userId": "user", "tenant": "tenant", "tenant_id": "tenant"}
"""Arguments by which a caller could name a user, and what of the identity each must equal."""


class NotYours(JiyiError):
    """A call named another user than the one it comes from."""

    passing = False

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not yours to choose: the connection decides whose memory this is")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose memory a call is about, as the connection says: configuration over stdio, the verified token over HTTP."""

    user: str
    tenant: str = "default"
    tz: str | None = None


Identify: TypeAlias = Callable[[], Caller]


@dataclass(frozen=True, slots=True)
class Desk:
    """What one call of a tool works with."""

    me: ScopedMemory
    zone: tzinfo
    now: datetime
    policy: McpPolicy

    def instant(self, text: str, what: str, *, end: bool = False) -> datetime | None:
        """A date as written, in the user's zone; None when none was. Raises: InputError."""
        return read_instant(text, what, self.zone, end=end) if text else None

    def as_of(self, text: str, what: str) -> datetime | None:
        """The instant from which to look; a bare date is its last moment. Raises: InputError."""
        at = self.instant(text, what, end=True)
        return at - timedelta(microseconds=1) if at is not None and at != self.instant(text, what) else at

    def day(self, at: datetime) -> str:
        return at.astimezone(self.zone).date().isoformat()

    def minute(self, at: datetime) -> str:
        return at.astimezone(self.zone).strftime("%Y-%m-%d %H:%M")


def checked_arguments(arguments: Mapping[str, Any], known: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """The arguments of a call as a tool may see them: what names a user is held against the caller and left out, null is
    as good as not given, and text is what every store can hold.

    Raises:
        NotYours: another user was named. InputError: an argument that the tool does not have, or one nested too deeply.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, part in CLAIMS.items():
        if name in given and given.pop(name) != getattr(caller, part):
            raise NotYours(name)
    if unknown := sorted(given.keys() - known.keys()):
        raise InputError(f"unknown argument {', '.join(map(repr, unknown))}: this tool takes {', '.join(known)}")
    return {name: _clean(value) for name, value in given.items()}


def _clean(value: Any, depth: int = 0) -> Any:
    if depth > DEPTH:
        raise InputError(f"an argument is nested more than {DEPTH} levels deep: send it flat")
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(name)): _clean(item, depth + 1) for name, item in value.items()}
    return [_clean(item, depth + 1) for item in value] if isinstance(value, list) else value
