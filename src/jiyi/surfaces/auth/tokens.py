"""Tokens of an issuer that is trusted: JSON Web Tokens, signed with a private key that only the issuer has (SPEC S1).

What a token says of itself decides nothing: the key decides which algorithm is right for it, and only public keys are
known here, so that a token without a signature, or one "signed" with a public key as if it were a secret, fits none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jws import JWSRegistry

from jiyi.domain.access import Role, read_grants
from jiyi.domain.scope import SHARED_PREFIX, check_name
from jiyi.errors import InputError, NotIdentified, SettingsError
from jiyi.settings import IdentityPolicy
from jiyi.surfaces.auth.identity import Identity, Proof
from jiyi.surfaces.auth.issuer_keys import ALGORITHMS, IssuerKeys

MAX_TOKEN = 16_384
"""Characters of a token; a longer one is not looked at."""


class _Signatures(JWSRegistry):
    """The algorithms that we verify. An issuer may call Ed25519 by its older name EdDSA (RFC 9864)."""

    max_header_length = 4096

    def get_alg(self, name: str) -> Any:
        if not self.allowed or name not in self.allowed:
            raise UnsupportedAlgorithmError(f"{name} is not the algorithm of this key")
        return self.algorithms["Ed25519" if name == "EdDSA" else name]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Verifies tokens against the keys of one issuer."""

    keys: IssuerKeys
    policy: IdentityPolicy

    def __post_init__(self) -> None:
        policy = self.policy
        if not policy.issuer or not policy.audience:
            raise SettingsError(
                "identity.issuer and identity.audience are missing: say whose tokens are trusted, and for whom they are made"
            )
        if unknown := set(policy.algorithms) - set(ALGORITHMS):
            raise SettingsError(
                f"identity.algorithms names {', '.join(sorted(unknown))}: choose of {', '.join(ALGORITHMS)}"
            )
        if not policy.tenant_claim and not policy.tenant:
            raise SettingsError(
                "identity.tenant is missing: with no tenant_claim it says which tenant all users are of"
            )

    def ready_for(self, token: str, now: datetime) -> bool:
        """Whether verifying will not have to wait for the issuer."""
        try:
            return self.keys.has(_header(token).get("kid"), now)
        except NotIdentified:
            return True

    def identify(self, token: str, now: datetime) -> Identity:
        """Raises: NotIdentified: a token that proves nothing. IssuerUnreachable: its keys cannot be had now."""
        header = _header(token)
        key = self.keys.find(header.get("kid"), now)
        names = [name for name in self.policy.algorithms if ALGORITHMS[name] == key.family]
        if header.get("alg") not in names or (key.algorithm is not None and key.algorithm != header["alg"]):
            raise NotIdentified("the token's algorithm is not that of the issuer's key")
        try:
            signed = jws.deserialize_compact(
                token, key.key, registry=_Signatures(algorithms=names, strict_check_header=False)
            )
            claims = json.loads(signed.payload)
        except (JoseError, ValueError, RecursionError):
            raise NotIdentified("the token is not signed by the issuer") from None
        if not isinstance(claims, dict):
            raise NotIdentified("the token holds no claims")
        self._check_times(claims, now)
        self._check_parties(claims)
        return self._identity(claims)

    def _check_times(self, claims: Mapping[str, Any], now: datetime) -> None:
        leeway, at = self.policy.leeway_seconds, now.timestamp()
        expires, begins = _seconds(claims, "exp"), _seconds(claims, "nbf")
        if expires is None:
            raise NotIdentified("the token never expires: it needs an exp")
        if at >= expires + leeway:
            raise NotIdentified("the token has expired: get a new one")
        if begins is not None and at < begins - leeway:
            raise NotIdentified("the token is not valid yet")

    def _check_parties(self, claims: Mapping[str, Any]) -> None:
        if claims.get("iss") != self.policy.issuer:
            raise NotIdentified("the token is of another issuer")
        audience = claims.get("aud")
        if self.policy.audience not in (audience if isinstance(audience, list) else [audience]):
            raise NotIdentified("the token is made for another audience")

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        policy = self.policy
        try:
            user = check_name("user", claim(claims, policy.user_claim))
            tenant = check_name("tenant", claim(claims, policy.tenant_claim) if policy.tenant_claim else policy.tenant)
        except InputError:
            raise NotIdentified("the token does not say of which user and tenant it is") from None
        if user.startswith(SHARED_PREFIX):
            raise NotIdentified("the token names a shared memory as its user")
        shared = read_grants(claim(claims, policy.shared_claim)) if policy.shared_claim else ()
        return Identity(Proof.TOKEN, tenant, user, _roles(claim(claims, policy.roles_claim)), shared=shared)


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of that name; `realm_access.roles` is also looked for inside `realm_access`."""
    if name in claims or "." not in name:
        return claims.get(name)
    outer, _, inner = name.partition(".")
    found = claims.get(outer)
    return claim(found, inner) if isinstance(found, Mapping) else None


def _roles(value: Any) -> frozenset[Role]:
    """The roles that are ours; an issuer's others are its own affair. Whoever has none is a user."""
    names: Sequence[Any] = value.split() if isinstance(value, str) else value if isinstance(value, list) else ()
    known = {role.value: role for role in Role}
    return frozenset(known[n] for n in names if isinstance(n, str) and n in known) or frozenset({Role.USER})


def _header(token: str) -> dict[str, Any]:
    """What a token says of itself: not verified."""
    if len(token) > MAX_TOKEN or not token.isascii():
        raise NotIdentified("this is no token")
    try:
        header = jws.extract_compact(token.encode("ascii")).headers()
    except (JoseError, ValueError, RecursionError):
        raise NotIdentified("this is no token") from None
    if not isinstance(header, dict) or not isinstance(header.get("kid"), str | None):
        raise NotIdentified("this is no token")
    return header


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotIdentified(f"the token's {name} is no time")
    return float(value) if abs(value) < 1e15 else math.copysign(1e15, value)
