"""MCP over streamable HTTP: whose memory a call is about is what its verified token says (SPEC U3, S1)."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from jiyi.errors import IssuerUnreachable, NotIdentified, SettingsError
from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer
from jiyi.surfaces.auth.entrance import Entrance, check_binding, open_entrance
from jiyi.surfaces.auth.identity import Identity, local_grants
from jiyi.surfaces.limits import Limits
from jiyi.surfaces.mcp.desk import Identify, configured
from jiyi.surfaces.mcp.server import MemoryServer

PATH = "/mcp"


class Verified(AccessToken):
    """What the SDK carries from the door to the call."""

    identity: Identity


class Door(TokenVerifier):
    """Asks the entrance of the service who a token is of."""

    def __init__(self, entrance: Entrance, clock: Clock) -> None:
        self._entrance, self._clock = entrance, clock

    async def verify_token(self, token: str) -> AccessToken | None:
        """None for a token that proves nothing. Raises: IssuerUnreachable."""
        now = self._clock()
        try:
            if self._entrance.waits_for(token, now):
                identity = await anyio.to_thread.run_sync(self._entrance.identify, token, now)
            else:
                identity = self._entrance.identify(token, now)
        except NotIdentified:
            return None
        # The token itself is not carried on: nobody needs it any more.
        return Verified(token="", client_id=identity.who, scopes=[], subject=identity.user, identity=identity)


def caller() -> Identity:
    """Whose call is in hand. Raises: NotIdentified: nobody's."""
    token = get_access_token()
    if not isinstance(token, Verified):
        raise NotIdentified("send a token: Authorization: Bearer …")
    return token.identity


def mcp_beside(
    layer: MemoryLayer, entrance: Entrance, limits: Limits, *, clock: Clock, url: str, hosts: Sequence[str] = ()
) -> Starlette:
    """The ASGI application beside a service that has its own entrance and limits: whoever is somebody there is so here.

    Raises:
        SettingsError: an identity that cannot be served over MCP.
    """
    if not entrance.local:
        return _app(layer, caller, entrance, limits, clock, url, hosts)
    identity = entrance.identify(None, clock())
    return _app(layer, lambda: identity, entrance, limits, clock, url, hosts)


def mcp_app(
    layer: MemoryLayer, user: str, tenant: str, clock: Clock, *, host: str, url: str, hosts: Sequence[str] = ()
) -> Starlette:
    """The ASGI application. In jwt mode it takes tokens of the issuer and service keys; in local mode it speaks for one user,
    takes no token, and is reached from this machine alone.

    Args:
        user, tenant: the one user of local mode.
        url: where clients find it, unless `mcp.url` says it.
        hosts: values of the `Host` header that are taken besides those of this machine: `memory.example.com`.

    Raises:
        SettingsError: an identity that cannot be served there.
    """
    policy, service = layer.settings.identity, layer.settings.service
    check_binding(policy, host)
    entrance = open_entrance(policy, layer.service_key, layer.visitor)
    limits = Limits(service, monotonic)
    if not entrance.local:
        return _app(layer, caller, entrance, limits, clock, url, hosts)
    identity = configured(user, tenant, local_grants(policy))
    return _app(layer, lambda: identity, entrance, limits, clock, url, hosts)


def _app(
    layer: MemoryLayer,
    identify: Identify,
    entrance: Entrance,
    limits: Limits,
    clock: Clock,
    url: str,
    hosts: Sequence[str],
) -> Starlette:
    options: dict[str, Any] = {}
    if not entrance.local:
        known_as = layer.settings.mcp.url or url
        options = {"token_verifier": Door(entrance, clock), "auth": _auth(entrance.policy.issuer, known_as)}
    server = MemoryServer(layer, identify, clock, limits, **options)
    allowed = [*layer.settings.mcp.allowed_hosts, *hosts]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=layer.settings.service.body_bytes,
        # A page that a browser has open must not reach a server of this machine by a name it made up.
        transport_security=TransportSecuritySettings(
            allowed_hosts=allowed, allowed_origins=[f"{s}://{name}" for name in allowed for s in ("http", "https")]
        ),
    )
    app.add_middleware(Threshold, local=entrance.local)
    return app


def _auth(issuer: str | None, url: str) -> AuthSettings:
    try:
        # As text, so that not a character of it changes: clients compare addresses letter by letter.
        given = {"issuer_url": issuer or "", "resource_server_url": url}
        # The entrance checks for whom a token is made, by identity.audience.
        return AuthSettings.model_validate({**given, "validate_token_resource": False})
    except ValidationError:
        raise SettingsError(
            f"identity.issuer = {issuer!r}, mcp.url = {url!r}: over MCP clients look up where to log in, so both must be "
            "addresses such as https://login.example.com"
        ) from None


class Threshold:
    """What is answered before the SDK: a token where none is taken, and an issuer that cannot be asked now."""

    def __init__(self, app: ASGIApp, local: bool) -> None:
        self._app, self._local = app, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: Any = None
        if self._local and scope["type"] == "http" and "authorization" in Headers(scope=scope):
            said = "this server has no issuer whose tokens it trusts: set identity.mode to jwt"
            answer = JSONResponse({"error": "invalid_token", "error_description": said}, 401)
        else:
            try:
                await self._app(scope, receive, send)
            except IssuerUnreachable as error:
                said = str(error)
                answer = JSONResponse(
                    {"error": "temporarily_unavailable", "error_description": said}, 503, {"Retry-After": "5"}
                )
        if answer is not None:
            await answer(scope, receive, send)
