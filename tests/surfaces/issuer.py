"""An issuer of tokens with a real JWKS server, and every way in which a token can be wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

ISSUER, AUDIENCE = "https://login.example", "jiyi"


def new_key(algorithm: str = "ES256", kid: str = "k1") -> RSAKey | ECKey | OKPKey:
    parameters = {"kid": kid}
    if algorithm == "RS256":
        return RSAKey.generate_key(2048, parameters)
    if algorithm == "ES256":
        return ECKey.generate_key("P-256", parameters)
    return OKPKey.generate_key("Ed25519", parameters)


def encoded(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def handmade(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None) -> str:
    """A token as an attacker makes it: not signed, or with HMAC."""
    signed = f"{encoded(header)}.{encoded(claims)}"
    signature = b"" if secret is None else hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{encoded(signature)}"


class Issuer:
    """Signs tokens with its current key; publishes those in `keys`."""

    def __init__(self, algorithm: str = "ES256") -> None:
        self.algorithm = algorithm
        self.keys = [new_key(algorithm)]
        self.asked = 0
        self.broken = False

    @property
    def key(self) -> RSAKey | ECKey | OKPKey:
        return self.keys[-1]

    def rotate(self, keep: int = 1) -> None:
        """A new key; the latest `keep` older ones are still published."""
        self.keys = [*self.keys[-keep:], new_key(self.algorithm, f"k{int(str(self.key.kid)[1:]) + 1}")]

    def claims(self, user: str = "ming", tenant: str = "acme", **more: Any) -> dict[str, Any]:
        now = int(datetime.now(UTC).timestamp())  # noqa: TID251 — a token is of the real time
        told = {"iss": ISSUER, "aud": AUDIENCE, "sub": user, "tenant": tenant, "iat": now, "exp": now + 600, **more}
        return {name: value for name, value in told.items() if value is not None}

    def token(
        self, user: str = "ming", tenant: str = "acme", *, header: dict[str, Any] | None = None, **more: Any
    ) -> str:
        return self.sign(self.claims(user, tenant, **more), header)

    def sign(self, claims: dict[str, Any], header: dict[str, Any] | None = None, key: Any = None) -> str:
        key = key or self.key
        name = "Ed25519" if self.algorithm == "EdDSA" else self.algorithm
        told = {"alg": name, "kid": key.kid, **(header or {})}
        return jws.serialize_compact(told, json.dumps(claims).encode(), key, algorithms=[name])

    def document(self) -> bytes:
        return json.dumps({"keys": [{**k.as_dict(private=False), "use": "sig"} for k in self.keys]}).encode()

    def wrong_tokens(self, user: str = "ming", tenant: str = "acme") -> dict[str, str]:
        """Tokens that claim to be this user's and must open nothing."""
        claims, kid = self.claims(user, tenant), self.key.kid
        now = claims["iat"]
        pem = self.key.as_pem(private=False)
        good = self.token(user, tenant)
        head, body, signature = good.split(".")
        other = new_key(self.algorithm, str(kid))
        return {
            "expired": self.token(user, tenant, exp=now - 3600),
            "not yet valid": self.token(user, tenant, nbf=now + 3600),
            "never expires": self.token(user, tenant, exp=None),
            "another audience": self.token(user, tenant, aud="shop"),
            "no audience": self.token(user, tenant, aud=None),
            "another issuer": self.token(user, tenant, iss="https://evil.example"),
            "nobody's": self.token(user, tenant, sub=None),
            "of no tenant": self.sign({name: value for name, value in claims.items() if name != "tenant"}),
            "a number for a user": self.token(user, tenant, sub=7),
            "alg none": handmade({"alg": "none", "kid": kid}, claims, None),
            "alg None": handmade({"alg": "None", "kid": kid}, claims, None),
            "no alg": handmade({"kid": kid}, claims, None),
            "signature left out": f"{head}.{body}.",
            "HMAC with the public key": handmade({"alg": "HS256", "kid": kid}, claims, pem),
            "HMAC with the public key, said to be asymmetric": handmade({"alg": self.algorithm, "kid": kid}, claims, pem),
            "unknown kid": self.sign(claims, {"kid": "k999"}),
            "another's key under our kid": self.sign(claims, key=other),
            "key in the header": self.sign(claims, {"kid": "k998", "jwk": other.as_dict(private=False)}, key=other),
            "claims of another": f"{head}.{encoded({**claims, 'sub': 'nora'})}.{signature}",
            "not a token": "abc",
            "empty": ".." ,
            "too long": "a" * 20_000,
            "not ASCII": "令牌.令牌.令牌",
        }  # fmt: skip


@contextmanager
def published(issuer: Issuer) -> Iterator[str]:
    """The address of a server that publishes the issuer's keys."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked += 1
            document = b"" if issuer.broken else issuer.document()
            self.send_response(503 if issuer.broken else 200)
            self.send_header("Content-Length", str(len(document)))
            self.end_headers()
            self.wfile.write(document)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/jwks"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
