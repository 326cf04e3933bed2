"""Who may do what (SPEC S2): roles, the rights they bring, and the keys of services."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType


class Role(StrEnum):
    USER = "user"  # one's own memory, all of it
    AGENT = "agent"  # reads and writes for somebody
    AUDITOR = "auditor"  # reads the ledger, and nothing else
    ADMIN = "admin"  # of a tenant


class Right(StrEnum):
    READ = "read"
    WRITE = "write"
    AUDIT = "audit"  # read what was changed, and by whom
    ADMINISTER = "administer"  # the users and the jobs of the tenant


RIGHTS: Mapping[Role, frozenset[Right]] = MappingProxyType(
    {
        Role.USER: frozenset({Right.READ, Right.WRITE, Right.AUDIT}),
        Role.AGENT: frozenset({Right.READ, Right.WRITE}),
        Role.AUDITOR: frozenset({Right.AUDIT}),
        Role.ADMIN: frozenset(Right),
    }
)


def rights_of(roles: Iterable[Role]) -> frozenset[Right]:
    return frozenset().union(*(RIGHTS[role] for role in roles))


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """A key with which a service acts for users of one tenant. `digest` is the SHA-256 of its secret, which is not kept."""

    id: str
    name: str
    tenant: str
    roles: frozenset[Role]
    digest: bytes
    made_at: datetime
    revoked_at: datetime | None = None


KEY_PREFIX = "jiyi_sk_"


def key_text(key_id: str, secret: str) -> str:
    """A service key as its service sends it."""
    return f"{KEY_PREFIX}{key_id}_{secret}"


def parse_key(text: str) -> tuple[str, str]:
    """The id and the secret of a service key."""
    key_id, _, secret = text.removeprefix(KEY_PREFIX).partition("_")
    return key_id, secret


def digest_of(secret: str) -> bytes:
    """What is kept of a secret. It is 32 random bytes, so that nothing slower is needed against guessing."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
