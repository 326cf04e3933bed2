"""Whose memory: the one argument that every call carries first (SPEC §1, S4)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jiyi.errors import InputError

MAX_NAME = 200
SHARED_PREFIX = "shared:"
"""How the user of a shared scope begins, so that no person can be called like one."""
MAX_SHARED_NAME = 100
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """One user of one tenant. Memories, messages and ids exist only inside a scope.

    A session id, a phone number or an e-mail address is never an identity; the host
    application says who the user is.

    Raises:
        InputError: a name is empty, longer than 200 characters or holds control characters.
    """

    user: str
    tenant: str = "default"

    def __post_init__(self) -> None:
        for what, name in (("user", self.user), ("tenant", self.tenant)):
            check_name(what, name)

    def __str__(self) -> str:
        return self.user if self.tenant == "default" else f"{self.tenant}/{self.user}"


def shared_scope(name: str, tenant: str = "default") -> Scope:
    """The scope that several users share: a team, a household (SPEC S6).

    Raises:
        InputError: a name that cannot be one: 1–100 characters without white space, `@`, `:` and `,`.
    """
    check_name("shared memory", name)
    if len(name) > MAX_SHARED_NAME or any(c.isspace() or c in "@:," for c in name):
        raise InputError(
            f"shared memory {name!r}: give it a name of 1–{MAX_SHARED_NAME} characters without spaces, @, : and ,"
        )
    return Scope(SHARED_PREFIX + name, tenant)


def shared_name(scope: Scope) -> str | None:
    """What a shared scope is called; None for a person's."""
    return scope.user.removeprefix(SHARED_PREFIX) if scope.user.startswith(SHARED_PREFIX) else None


def handle_in(handle: str, shared: str | None) -> str:
    """`m3@team`: a short id of a shared scope, where ids of several scopes stand side by side."""
    return handle if shared is None else f"{handle}@{shared}"


def check_name(what: str, name: object) -> str:
    """Return a name that can be stored and printed: 1–200 printable characters.

    Used for users, tenants, sessions and message ids alike.

    Raises:
        InputError: with what is wrong and with which name.
    """
    if not isinstance(name, str):
        raise InputError(f"{what} must be text, not {type(name).__name__}")
    if not name.strip():
        raise InputError(f"{what} is empty: give it a name of 1–{MAX_NAME} characters")
    if len(name) > MAX_NAME:
        raise InputError(f"{what} has {len(name)} characters, the limit is {MAX_NAME}")
    # Lone surrogates cannot be encoded, control characters cannot be printed or compared safely.
    if _UNPRINTABLE.search(name) is not None:
        raise InputError(f"{what} {name!r} holds control characters: remove them")
    return name
