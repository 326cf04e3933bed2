"""Being an issuer oneself, to try the service out: a key pair in two files, and tokens signed with it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from jiyi.domain.access import Role, parse_grant
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, SettingsError
from jiyi.settings import IdentityPolicy

ALGORITHM = "ES256"


def make_key_pair(path: Path) -> bool:
    """A new private key in `path`, which only its owner may read, and the public one in `path.pub`; false if it is there."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror})") from None
    key = ECKey.generate_key("P-256")
    with os.fdopen(handle, "wb") as file:
        file.write(key.as_pem(private=True))
    path.with_name(f"{path.name}.pub").write_bytes(key.as_pem(private=False))
    return True


def check_issuing(policy: IdentityPolicy) -> None:
    """Whether a token could be issued: ask before a key is made for it. Raises: SettingsError: no issuer or audience is set."""
    if not policy.issuer or not policy.audience:
        raise SettingsError(
            "identity.issuer and identity.audience are missing: the token must name what the service trusts, so set both in "
            "jiyi.toml, under [identity]"
        )


def issue(
    path: Path,
    policy: IdentityPolicy,
    user: str,
    tenant: str,
    roles: Collection[Role],
    now: datetime,
    seconds: float,
    shared: Collection[str] = (),
) -> str:
    """A token that the service takes if `identity.key_file` is the public half of this key.

    Raises:
        SettingsError: no issuer or audience is set. InputError: no such key, or a name that cannot be one.
    """
    check_issuing(policy)
    scope = Scope(user, tenant)
    try:
        key = ECKey.import_key(path.read_bytes())
        if not key.is_private:
            raise ValueError("a public key")
    except (OSError, JoseError, ValueError):
        raise InputError(f"{path} holds no private key of P-256 in PEM") from None
    at = int(now.timestamp())
    claims: dict[str, object] = {"iss": policy.issuer, "aud": policy.audience, "iat": at, "exp": at + round(seconds)}
    if shared:
        if not policy.shared_claim:
            raise SettingsError("identity.shared_claim is missing: it says where a token names shared memories")
        claims[policy.shared_claim] = [str(parse_grant(grant)) for grant in shared]
    claims |= {policy.user_claim: scope.user, policy.roles_claim: sorted(roles)}
    if policy.tenant_claim:
        claims[policy.tenant_claim] = scope.tenant
    header = {"alg": ALGORITHM} | ({"kid": policy.key_id} if policy.key_id else {})
    return jws.serialize_compact(header, json.dumps(claims, ensure_ascii=False).encode(), key, algorithms=[ALGORITHM])
