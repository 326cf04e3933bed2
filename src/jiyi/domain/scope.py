"""Whose memory: the one argument that every call carries first (SPEC §1, S4)."""

from __future__ import annotations

from dataclasses import dataclass

from jiyi.errors import InputError

MAX_NAME = 200


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
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in name):
        raise InputError(f"{what} {name!r} holds control characters: remove them")
    return name
