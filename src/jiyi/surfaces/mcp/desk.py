"""Who is calling, and what one call works with (SPEC S1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeAlias

from jiyi.domain.access import Grant, Role
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, NotAllowed
from jiyi.pipelines.observe import clean_text
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import McpPolicy
from jiyi.surfaces.auth.identity import Identity, Proof
from jiyi.surfaces.instants import read_instant
from jiyi.together import Together

SURFACE = "mcp"
DEPTH = 32
"""Levels of an argument at the most (SPEC S5)."""
USERS, TENANTS = ("user", "user_id", "userId"), ("tenant", "tenant_id", "tenantId")
"""Arguments by which a call could name a user or a tenant."""
SHARED = "shared"
"""The argument that names a shared memory."""
IDS = frozenset({"memory", "id", "around", "versions_of", "question"})
"""Arguments that hold a short id."""
HANDLE = re.compile(r"(?:jiyi://item/)?[mhsq][0-9]{1,16}")
Identify: TypeAlias = Callable[[], Identity]
"""Who is calling, as the connection says: configuration over stdio, the verified token over HTTP."""


def configured(user: str, tenant: str, shared: tuple[Grant, ...] = ()) -> Identity:
    """The one user that a server speaks for, by its configuration, and the shared memories beside it.

    Raises:
        InputError: a name that cannot be one.
    """
    scope = Scope(user, tenant)
    return Identity(Proof.LOCAL, scope.tenant, scope.user, frozenset({Role.ADMIN}), shared=shared)


def named_in(identity: Identity, arguments: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The users and tenants that a call names. What it names must be who it comes from, also where HTTP lets the user of this machine
    name another: a model fills these arguments, and what it read may have told it how.

    Raises:
        NotAllowed: somebody else is named. InputError: a name that cannot be one.
    """
    users, tenants = ([arguments[n] for n in names if arguments.get(n) is not None] for names in (USERS, TENANTS))
    own = (identity.user, identity.tenant)
    for what, named, mine in (("user", users, own[0]), ("tenant", tenants, own[1])):
        fixed = identity.proof is Proof.LOCAL and any(name != mine for name in named)
        if fixed or not all(isinstance(name, str) for name in named):
            raise NotAllowed(f"this call names a {what} that it may not act for")
    return users, tenants


def shared_in(arguments: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The shared memory that a call is about, as it says itself or as its ids do (`m3@team`), and its arguments without it.

    Raises:
        InputError: several.
    """
    named, rest = set[str](), {name: value for name, value in arguments.items() if name != SHARED}
    if arguments.get(SHARED):
        named.add(str(arguments[SHARED]))
    for name in IDS & rest.keys():
        handle, at, shared = str(rest[name]).rpartition("@")
        if at and HANDLE.fullmatch(handle):
            named.add(shared)
            rest[name] = handle
    if len(named) > 1:
        raise InputError("this call names several shared memories: it can be about one")
    return next(iter(named), None), rest


@dataclass(frozen=True, slots=True)
class Desk:
    """What one call of a tool works with: the memory that it is about, and what questions are asked of, which is also those
    that are shared with the user (SPEC S6)."""

    me: ScopedMemory
    reading: ScopedMemory | Together
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


def checked_arguments(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as a tool may see them: without those that name somebody, null is as good as not given, and
    text is what every store can hold.

    Raises:
        InputError: an argument that the tool does not have, or one nested too deeply.
    """
    given = {n: value for n, value in arguments.items() if value is not None and n not in (*USERS, *TENANTS)}
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
