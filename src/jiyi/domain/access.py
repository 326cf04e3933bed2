"""Who may do what (SPEC S2): roles, the rights they bring, and the keys of services."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

from jiyi.domain.scope import Scope, shared_scope
from jiyi.errors import InputError


class Role(StrEnum):
    USER = "user"  # one's own memory, all of it
    AGENT = "agent"  # reads and writes for somebody
    AUDITOR = "auditor"  # reads the ledger, and nothing else
    ADMIN = "admin"  # of a tenant
    VISITOR = "visitor"  # nobody that is known yet (SPEC S3)


class Right(StrEnum):
    READ = "read"
    WRITE = "write"
    DECIDE = "decide"  # how much is kept, and for how long
    AUDIT = "audit"  # read what was changed, and by whom
    ADMINISTER = "administer"  # the users and the jobs of the tenant


RIGHTS: Mapping[Role, frozenset[Right]] = MappingProxyType(
    {
        Role.USER: frozenset({Right.READ, Right.WRITE, Right.DECIDE, Right.AUDIT}),
        Role.AGENT: frozenset({Right.READ, Right.WRITE, Right.DECIDE}),
        Role.AUDITOR: frozenset({Right.AUDIT}),
        Role.ADMIN: frozenset(Right),
        # A visitor dies on its day: it cannot put that off.
        Role.VISITOR: frozenset({Right.READ, Right.WRITE}),
    }
)


KEY_ROLES = tuple(role for role in Role if role is not Role.VISITOR)
"""Roles that a service may have: nobody acts for users as one who is not known."""


def rights_of(roles: Iterable[Role]) -> frozenset[Right]:
    return frozenset().union(*(RIGHTS[role] for role in roles))


# ------------------------------------------------------------------ shared scopes


class Access(StrEnum):
    """What a grant of a shared scope lets do (SPEC S6)."""

    READ = "read"
    WRITE = "write"  # and read


SHARED_RIGHTS: Mapping[Access, frozenset[Right]] = MappingProxyType(
    {
        Access.READ: frozenset({Right.READ}),
        Access.WRITE: frozenset({Right.READ, Right.WRITE, Right.AUDIT}),
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One shared scope of the tenant that an identity may read, or write to. Written `team` or `team:write`."""

    name: str
    access: Access = Access.READ

    def __post_init__(self) -> None:
        shared_scope(self.name)  # Raises: InputError: a name that cannot be one

    def __str__(self) -> str:
        return f"{self.name}:{self.access.value}"

    def rights(self, own: frozenset[Right]) -> frozenset[Right]:
        """What somebody with these rights may do there: nothing that they may not do elsewhere. How much is kept for everybody
        is decided by an administrator of the tenant."""
        decides = {Right.DECIDE} if self.access is Access.WRITE and Right.ADMINISTER in own else set()
        return own & (SHARED_RIGHTS[self.access] | decides)


def parse_grant(text: str) -> Grant:
    """`team`, `team:read` or `team:write`. Raises: InputError."""
    name, colon, access = text.partition(":")
    if colon and access not in (*Access,):
        raise InputError(f"{text!r} grants nothing that there is: write NAME:read or NAME:write")
    return Grant(name, Access(access) if colon else Access.READ)


def read_grants(value: object) -> tuple[Grant, ...]:
    """The grants of a token's claim, by name: a list or a text with spaces of `team` and `team:write`, or names with what
    each lets do. What is none grants nothing."""
    if isinstance(value, Mapping):
        texts = [f"{name}:{access}" for name, access in value.items()]
    else:
        texts = value.split() if isinstance(value, str) else list(value) if isinstance(value, list) else []
    found: dict[str, Grant] = {}
    for text in texts:
        try:
            grant = parse_grant(text)
        except (InputError, AttributeError):
            continue
        if found.get(grant.name, grant) <= grant:  # whoever may also write may write
            found[grant.name] = grant
    return tuple(sorted(found.values()))


# ------------------------------------------------------------------ keys of services


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """A key with which a service acts for users of one tenant. `digest` is the SHA-256 of its secret, which is not kept.
    `shared` are the shared scopes that it opens beside theirs."""

    id: str
    name: str
    tenant: str
    roles: frozenset[Role]
    digest: bytes
    made_at: datetime
    revoked_at: datetime | None = None
    shared: tuple[Grant, ...] = ()


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


# ------------------------------------------------------------------ visitors


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody whom the host does not know yet: a scope of its own for a while (SPEC S3). `token` opens it until `until`."""

    scope: Scope
    until: datetime
    token: str = field(repr=False)


VISITOR_PREFIX = "jiyi_an_"
OWN_PREFIXES = (KEY_PREFIX, VISITOR_PREFIX)
"""How the tokens begin that are ours: they are looked at everywhere, and go nowhere else."""


def visitor_name(fingerprint: str, tenant: str, secret: bytes) -> str:
    """The user that stands for a device. The same device is the same visitor, and nobody can tell the device from its name."""
    told = f"visitor\0{tenant}\0{fingerprint}".encode()
    return f"visitor-{hmac.digest(secret, told, hashlib.sha256).hex()[:24]}"


def visitor_token(scope: Scope, until: datetime, secret: bytes) -> str:
    """What a visitor calls with: who it is and until when, signed with the secret of the database."""
    told = json.dumps([scope.tenant, scope.user, round(until.timestamp())], ensure_ascii=False).encode()
    return f"{VISITOR_PREFIX}{_coded(told)}.{_coded(_signed(told, secret))}"


def read_visitor(token: str, secret: bytes) -> tuple[Scope, datetime] | None:
    """Who a token is of, and until when; None where it is not one of ours."""
    told, _, signature = token.removeprefix(VISITOR_PREFIX).partition(".")
    try:
        body, given = _decoded(told), _decoded(signature)
        if not token.startswith(VISITOR_PREFIX) or not hmac.compare_digest(given, _signed(body, secret)):
            return None
        tenant, user, until = json.loads(body)
        return Scope(user, tenant), datetime.fromtimestamp(until, UTC)
    except (binascii.Error, ValueError, InputError):
        return None


def _signed(told: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, b"visitor token\0" + told, hashlib.sha256)


def _coded(told: bytes) -> str:
    return base64.urlsafe_b64encode(told).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
