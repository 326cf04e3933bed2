"""From a verified identity to the scope of a call (SPEC S1, S2). Nothing that a caller merely says can widen it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from jiyi.domain.access import Right, Role, rights_of
from jiyi.domain.scope import Scope
from jiyi.errors import NobodyNamed, NotAllowed


class Proof(StrEnum):
    """What an identity rests on."""

    LOCAL = "local"  # this machine has one user, and only it can reach us
    TOKEN = "token"  # of an issuer that we trust
    KEY = "key"  # of a service


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody whose word was verified.

    `user`: whose token it is; for a local user and for a service the one it acts for when a call names nobody, if there
    is such a one. `who`: how the ledger names the caller (SPEC W4).
    """

    proof: Proof
    tenant: str
    user: str | None
    roles: frozenset[Role]
    who: str = "user"

    @property
    def rights(self) -> frozenset[Right]:
        return rights_of(self.roles)

    def check(self, right: Right) -> None:
        """Raises: NotAllowed: no role of this identity brings that right."""
        if right not in self.rights:
            roles = ", ".join(sorted(self.roles)) or "none"
            raise NotAllowed(f"this needs the right to {right}, which these roles do not bring: {roles}")


def scope_of(identity: Identity, *, users: Iterable[str] = (), tenants: Iterable[str] = ()) -> Scope:
    """Whose memory a call is about.

    Args:
        users, tenants: every name of a user or tenant that the call carries: in its body, query, headers or arguments.
            They never choose the scope of a token: they must equal what it says.

    Raises:
        NotAllowed: a name that is not the token's, or several that differ. The same words whether the one named exists
            or not. NobodyNamed: a service that does not say for whom. InputError: a name that cannot be one.
    """
    named_users, named_tenants = set(users), set(tenants)
    check_names(identity, named_users, named_tenants)
    user = next(iter(named_users), identity.user)
    if user is None:
        raise NobodyNamed("say which user of the tenant this is for: a service key belongs to none")
    return Scope(user, next(iter(named_tenants), identity.tenant))


def check_names(identity: Identity, users: Collection[str], tenants: Collection[str]) -> None:
    """Whether a call may carry these names. Raises: NotAllowed."""
    fixed = {identity.user} if identity.proof is Proof.TOKEN else set(users)
    if len(set(users)) > 1 or set(users) - fixed:
        raise NotAllowed("this call names a user that it may not act for")
    # A local user has one machine, not one tenant; whoever is verified is of one.
    free = identity.proof is Proof.LOCAL
    if len(set(tenants)) > 1 or (not free and set(tenants) - {identity.tenant}):
        raise NotAllowed("this call names a tenant that it may not act for")
