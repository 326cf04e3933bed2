"""From a verified identity to the scope of a call (SPEC S1, S2). Nothing that a caller merely says can widen it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from jiyi.domain.access import Grant, Right, Role, parse_grant, rights_of
from jiyi.domain.scope import SHARED_PREFIX, Scope, shared_scope
from jiyi.errors import InputError, NobodyNamed, NotAllowed, NotFound, SettingsError
from jiyi.settings import IdentityPolicy


class Proof(StrEnum):
    """What an identity rests on."""

    LOCAL = "local"  # this machine has one user, and only it can reach us
    TOKEN = "token"  # of an issuer that we trust
    KEY = "key"  # of a service


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody whose word was verified.

    `user`: whose token it is; for a local user and for a service the one it acts for when a call names nobody, if there
    is such a one. `who`: how the ledger names the caller (SPEC W4). `shared`: the shared memories that it opens (SPEC S6).
    """

    proof: Proof
    tenant: str
    user: str | None
    roles: frozenset[Role]
    who: str = "user"
    shared: tuple[Grant, ...] = ()

    @property
    def rights(self) -> frozenset[Right]:
        return rights_of(self.roles)

    def check(self, right: Right) -> None:
        """Raises: NotAllowed: no role of this identity brings that right."""
        if right not in self.rights:
            roles = ", ".join(sorted(self.roles)) or "none"
            raise NotAllowed(f"this needs the right to {right}, which these roles do not bring: {roles}")

    def acting_for(self, user: str | None) -> str:
        """Who it was, where several write to one memory."""
        if self.proof is Proof.TOKEN:
            return self.user or self.who
        return self.who if user is None or self.proof is Proof.LOCAL else f"{self.who} for {user}"


@dataclass(frozen=True, slots=True)
class Target:
    """One shared memory that a call is about. `caller`: whose call it is, for limits and the log. `traced`: whether a question
    may leave a trace there, which all that read there can see: it may of somebody who may write there."""

    scope: Scope
    name: str
    caller: Scope
    who: str
    traced: bool


def local_grants(policy: IdentityPolicy) -> tuple[Grant, ...]:
    """The shared memories of the user of this machine. Raises: SettingsError."""
    try:
        return tuple(sorted({grant.name: grant for grant in map(parse_grant, policy.shared)}.values()))
    except InputError as error:
        raise SettingsError(f"identity.shared: {error}") from None


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


def target_of(
    identity: Identity,
    name: str,
    right: Right,
    is_there: Callable[[Scope], bool],
    *,
    users: Iterable[str] = (),
    tenants: Iterable[str] = (),
) -> Target:
    """The shared memory that a call names, once it is sure that it may do there what it asks (SPEC S6).

    Args:
        is_there: whether anything was ever written to a scope.

    Raises:
        NotFound: one that was not granted, or that is not there: the same words. NotAllowed: the grant, or the roles, do not
            bring that right; also a user or tenant that is named wrongly.
    """
    named_users, named_tenants = set(users), set(tenants)
    check_names(identity, named_users, named_tenants)
    user, tenant = next(iter(named_users), identity.user), next(iter(named_tenants), identity.tenant)
    grant = next((grant for grant in identity.shared if grant.name == name), None)
    if grant is None:
        raise NotFound(NO_SHARED)
    scope, rights = shared_scope(name, tenant), grant.rights(identity.rights)
    # The first word that is written makes it.
    if not (right is Right.WRITE and right in rights) and not is_there(scope):
        raise NotFound(NO_SHARED)
    if right not in rights:
        raise NotAllowed(
            f"this needs the right to {right} in a shared memory, which this grant does not bring: {grant}"
        )
    caller = Scope(user or scope.user, tenant)
    return Target(scope, name, caller, identity.acting_for(user), Right.WRITE in rights)


NO_SHARED = "no shared memory of that name here"


def check_names(identity: Identity, users: Collection[str], tenants: Collection[str]) -> None:
    """Whether a call may carry these names. Raises: NotAllowed."""
    fixed = {identity.user} if identity.proof is Proof.TOKEN else set(users)
    # A shared memory is nobody's own: it is reached by a grant alone.
    if len(set(users)) > 1 or set(users) - fixed or any(user.startswith(SHARED_PREFIX) for user in users):
        raise NotAllowed("this call names a user that it may not act for")
    # A local user has one machine, not one tenant; whoever is verified is of one.
    free = identity.proof is Proof.LOCAL
    if len(set(tenants)) > 1 or (not free and set(tenants) - {identity.tenant}):
        raise NotAllowed("this call names a tenant that it may not act for")
