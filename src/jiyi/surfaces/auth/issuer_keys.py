"""The public keys of an issuer: from a file, or from its JWKS address, where they change from time to time (SPEC S1)."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from jiyi.errors import IssuerUnreachable, NotIdentified, SettingsError
from jiyi.settings import IdentityPolicy
from jiyi.surfaces.auth.loopback import is_loopback

log = logging.getLogger("jiyi.auth")

ALGORITHMS: Mapping[str, str] = {"RS256": "RSA", "ES256": "P-256", "EdDSA": "Ed25519", "Ed25519": "Ed25519"}
"""What may be configured, and the one family of keys that each goes with. Nothing with a shared secret is here."""
FAMILIES: Mapping[str, type[RSAKey] | type[ECKey] | type[OKPKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
MIN_RSA_BITS = 2048
MAX_BYTES = 262_144
"""Of a JWKS document."""

Fetch = Callable[[str, float], bytes]


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A public key. `algorithm`: the only one it is for, where its JWK says so."""

    id: str | None
    family: str
    key: RSAKey | ECKey | OKPKey
    algorithm: str | None = None


class IssuerKeys(Protocol):
    def has(self, key_id: str | None, now: datetime) -> bool:
        """Whether `find` will answer without asking the issuer."""

    def find(self, key_id: str | None, now: datetime) -> IssuerKey:
        """Raises: NotIdentified: no such key. IssuerUnreachable: the issuer does not answer."""


class FileKeys:
    """One public key that does not change."""

    def __init__(self, key: IssuerKey) -> None:
        self._key = key

    def has(self, key_id: str | None, now: datetime) -> bool:
        return True

    def find(self, key_id: str | None, now: datetime) -> IssuerKey:
        # Without an id of its own the key is the only one there is, whatever the issuer calls it.
        if self._key.id is not None and key_id != self._key.id:
            raise NotIdentified("the issuer has no key of that id")
        return self._key


class PublishedKeys:
    """The keys at a JWKS address: kept for a while, and fetched again when they are old or a token names a new one.

    Who sends tokens with made-up ids cannot make us ask the issuer more often than the policy says. When the issuer does
    not answer, the keys that are known stay good for as long as the policy says.
    """

    def __init__(self, url: str, policy: IdentityPolicy, fetch: Fetch) -> None:
        self._url, self._policy, self._fetch = url, policy, fetch
        self._keys: tuple[IssuerKey, ...] = ()
        self._fetched_at: datetime | None = None
        self._tried: list[datetime] = []
        self._fetching = threading.Lock()

    def has(self, key_id: str | None, now: datetime) -> bool:
        fresh = self._age(now) < timedelta(seconds=self._policy.jwks_seconds)
        return (fresh and self._pick(key_id) is not None) or not self._may_fetch(now)

    def find(self, key_id: str | None, now: datetime) -> IssuerKey:
        if not self.has(key_id, now):
            with self._fetching:  # who waited here may find that another has fetched it
                if not self.has(key_id, now):
                    self._refresh(now)
        if self._age(now) >= timedelta(seconds=self._policy.jwks_stale_seconds):
            raise IssuerUnreachable("the keys of the token's issuer cannot be fetched now: try again later")
        found = self._pick(key_id)
        if found is None:
            raise NotIdentified("the issuer has no key of that id")
        return found

    def _pick(self, key_id: str | None) -> IssuerKey | None:
        if key_id is None:
            # Without a name it must be clear which is meant.
            return self._keys[0] if len(self._keys) == 1 else None
        return next((k for k in self._keys if k.id == key_id), None)

    def _age(self, now: datetime) -> timedelta:
        return timedelta.max if self._fetched_at is None else now - self._fetched_at

    def _may_fetch(self, now: datetime) -> bool:
        lately = [t for t in list(self._tried) if timedelta() <= now - t < timedelta(minutes=1)]
        return len(lately) < self._policy.jwks_fetches_a_minute

    def _refresh(self, now: datetime) -> None:
        self._tried = [t for t in self._tried if timedelta() <= now - t < timedelta(minutes=1)] + [now]
        try:
            self._keys = read_key_set(self._fetch(self._url, self._policy.jwks_timeout_seconds))
            self._fetched_at = now
        except (OSError, ValueError, http.client.HTTPException) as error:
            log.warning("the issuer's keys could not be fetched: %s", type(error).__name__)


def read_key_set(document: bytes) -> tuple[IssuerKey, ...]:
    """The keys of a JWKS document that can verify a signature; others are left out.

    Raises:
        ValueError: no JWKS document.
    """
    found = json.loads(document)
    if not isinstance(found, dict) or not isinstance(found.get("keys"), list):
        raise ValueError("no JWKS document")
    keys = (_read_key(item) for item in found["keys"] if isinstance(item, dict))
    return tuple(key for key in keys if key is not None)


def _read_key(item: Mapping[str, Any]) -> IssuerKey | None:
    kind = FAMILIES.get(str(item.get("kty")))
    if kind is None or item.get("use", "sig") != "sig" or "d" in item:
        return None
    try:
        key = kind.import_key({str(k): v for k, v in item.items()})
        return IssuerKey(_text(item.get("kid")), _family(key), key, _text(item.get("alg")))
    except (JoseError, ValueError, TypeError, SettingsError):
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _family(key: RSAKey | ECKey | OKPKey) -> str:
    if isinstance(key, RSAKey):
        if key.raw_value.key_size < MIN_RSA_BITS:
            raise SettingsError(f"an RSA key needs {MIN_RSA_BITS} bits or more")
        return "RSA"
    return str(key.curve_name)


def read_public_key(path: Path, key_id: str | None) -> IssuerKey:
    """A public key in a PEM file.

    Raises:
        SettingsError: it cannot be read, is a private key, or is of a kind that we do not verify.
    """
    try:
        pem = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"identity.key_file: {path} cannot be read ({error.strerror})") from None
    if b"PRIVATE" in pem:
        raise SettingsError(
            f"identity.key_file: {path} holds a private key; give the public one, the other stays secret"
        )
    for kind in FAMILIES.values():
        try:
            key = kind.import_key(pem)
            family = _family(key)
        except (JoseError, ValueError, TypeError):
            continue
        if family in ALGORITHMS.values():
            return IssuerKey(key_id, family, key)
    raise SettingsError(f"identity.key_file: {path} holds no public key of RSA, P-256 or Ed25519 in PEM")


# ------------------------------------------------------------------ asking the issuer


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys come from the address that was configured, and from nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def fetch(url: str, timeout: float) -> bytes:
    """Raises: OSError, ValueError: the issuer does not answer as it should."""
    opener = urllib.request.build_opener(_NoRedirects)
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    with opener.open(request, timeout=timeout) as answer:
        document: bytes = answer.read(MAX_BYTES + 1)
    if len(document) > MAX_BYTES:
        raise ValueError("the document is too large")
    return document


def open_keys(policy: IdentityPolicy) -> IssuerKeys:
    """The keys that the settings name.

    Raises:
        SettingsError: none or two kinds of them, or an address that others on the network could answer for.
    """
    if bool(policy.key_file) == bool(policy.jwks_url):
        raise SettingsError(
            "say where the issuer's public keys are: identity.key_file or identity.jwks_url, one of them"
        )
    if policy.key_file:
        return FileKeys(read_public_key(Path(policy.key_file).expanduser(), policy.key_id))
    url = str(policy.jwks_url)
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise SettingsError(f"identity.jwks_url = {url!r}: it must begin with https://, or be on this machine")
    return PublishedKeys(url, policy, fetch)
