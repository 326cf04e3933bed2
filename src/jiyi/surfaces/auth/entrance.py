"""The one place where a caller becomes an identity: no token on this machine, a token of the issuer, or a service key."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.access import (
    KEY_PREFIX,
    OWN_PREFIXES,
    VISITOR_PREFIX,
    Role,
    ServiceKey,
    digest_of,
    parse_key,
)
from jiyi.domain.scope import Scope
from jiyi.errors import NotIdentified, SettingsError
from jiyi.settings import IdentityPolicy
from jiyi.surfaces.auth.identity import Identity, Proof, local_grants
from jiyi.surfaces.auth.issuer_keys import open_keys
from jiyi.surfaces.auth.loopback import is_loopback
from jiyi.surfaces.auth.tokens import Tokens

LOCAL_USER = "me"

FindKey = Callable[[str], ServiceKey | None]
"""The service key of an id, as `MemoryLayer.service_key` gives it."""
FindVisitor = Callable[[str], Scope | None]
"""Whose token of a visitor it is, as `MemoryLayer.visitor` gives it."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Who comes in, by the policy. Make it with `open_entrance`."""

    policy: IdentityPolicy
    find_key: FindKey
    find_visitor: FindVisitor
    tokens: Tokens | None

    @property
    def local(self) -> bool:
        """Whether there is one user, who needs no token."""
        return self.tokens is None

    def waits_for(self, bearer: str | None, now: datetime) -> bool:
        """Whether `identify` may have to ask the issuer, so that a thread is the better place for it."""
        ours = bearer is None or bearer.startswith(OWN_PREFIXES)
        return not ours and self.tokens is not None and not self.tokens.ready_for(bearer or "", now)

    def identify(self, bearer: str | None, now: datetime) -> Identity:
        """Who calls.

        Args:
            bearer: the token or service key, as in `Authorization: Bearer …`; None where there is none.

        Raises:
            NotIdentified: none where one is needed, or one that proves nothing. IssuerUnreachable: try again later.
        """
        if bearer is not None and bearer.startswith(KEY_PREFIX):
            return self._service(bearer)
        if bearer is not None and bearer.startswith(VISITOR_PREFIX):
            return self._visitor(bearer)
        if self.tokens is None:
            if bearer is not None:
                raise NotIdentified("this service has no issuer whose tokens it trusts: set identity.mode to jwt")
            tenant, shared = self.policy.tenant or "default", local_grants(self.policy)
            return Identity(Proof.LOCAL, tenant, LOCAL_USER, frozenset({Role.ADMIN}), shared=shared)
        if bearer is None:
            raise NotIdentified("send a token: Authorization: Bearer …")
        return self.tokens.identify(bearer, now)

    def _service(self, bearer: str) -> Identity:
        key_id, secret = parse_key(bearer)
        found = self.find_key(key_id)
        # The same work whether there is such a key or not.
        digest = found.digest if found is not None else b"\0" * 32
        if not hmac.compare_digest(digest, digest_of(secret)) or found is None or found.revoked_at is not None:
            raise NotIdentified("there is no such service key, or it was revoked")
        return Identity(Proof.KEY, found.tenant, None, found.roles, f"key {found.id}", found.shared)

    def _visitor(self, bearer: str) -> Identity:
        """SPEC S3: it may talk and be answered, in a memory of its own."""
        found = self.find_visitor(bearer)
        if found is None:
            raise NotIdentified("there is no such visitor, or its time is over")
        return Identity(Proof.TOKEN, found.tenant, found.user, frozenset({Role.VISITOR}), "visitor")


def open_entrance(policy: IdentityPolicy, find_key: FindKey, find_visitor: FindVisitor) -> Entrance:
    """Raises: SettingsError: a mode that cannot work as it is set."""
    local_grants(policy)
    if policy.mode == "local":
        return Entrance(policy, find_key, find_visitor, None)
    return Entrance(policy, find_key, find_visitor, Tokens(open_keys(policy), policy))


def check_binding(policy: IdentityPolicy, host: str) -> None:
    """Whoever needs no token must be on this machine (SPEC S1).

    Raises:
        SettingsError: local mode on an address that others can reach.
    """
    if policy.mode == "local" and not is_loopback(host):
        raise SettingsError(
            f"without tokens jiyi serves this machine only, and {host} can be reached from others: "
            "bind to 127.0.0.1, or set identity.mode to jwt and say whose tokens are trusted"
        )
