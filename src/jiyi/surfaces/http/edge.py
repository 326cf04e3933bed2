"""The outer edge of every request: who calls, how much comes in, what is logged and counted, and that nothing falls through.

A plain ASGI wrapper, so that whoever is not known is turned away before a byte of the body is read.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import traceback
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jiyi.domain.access import OWN_PREFIXES
from jiyi.errors import JiyiError, NotAllowed, NotIdentified
from jiyi.surfaces.auth.identity import Identity
from jiyi.surfaces.auth.loopback import is_loopback
from jiyi.surfaces.http.addresses import is_chat
from jiyi.surfaces.http.problems import problem, problem_of
from jiyi.surfaces.http.service import Service

log = logging.getLogger("jiyi.http")

PUBLIC = frozenset({"/health", "/ready", "/metrics", "/v1/openapi.json"})
"""What needs no token: it tells nothing of anybody."""
MCP = frozenset({"/mcp", "/.well-known/oauth-protected-resource/mcp"})
"""What is answered by the MCP server, where there is one beside."""
ARCHIVE = "/v1/import"
"""Where a whole memory may come in, under a limit of its own."""


class Edge:
    def __init__(self, app: ASGIApp, service: Service, mcp: ASGIApp | None = None) -> None:
        self._app, self._service, self._mcp = app, service, mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        begun, status, request_id = perf_counter(), 0, secrets.token_hex(8)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                headers["X-Content-Type-Options"] = "nosniff"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self._serve(scope, self._counted(scope, receive), sending)
        except Exception as error:  # noqa: BLE001 — the edge of a request: no word of it may reach the caller or the log
            places = traceback.extract_tb(error.__traceback__)[-3:]
            state["problem"] = f"{type(error).__name__} at " + " < ".join(
                f"{p.name}:{p.lineno}" for p in reversed(places)
            )
            if not status:
                await problem("Bug", 500, "this is a bug in jiyi; the log says where")(scope, receive, sending)
        finally:
            self._note(scope, request_id, status, perf_counter() - begun)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        state, headers = scope["state"], Headers(scope=scope)
        try:
            if self._service.entrance.local:
                _check_local(scope, headers)
            if self._mcp is not None and scope["path"] in MCP:
                # It asks the same entrance itself, and tells its clients where to log in.
                await self._mcp(scope, receive, send)
                return
            if scope["path"] not in PUBLIC:
                state["identity"] = await self._identify(headers, chat=is_chat(scope["path"], headers))
        except JiyiError as error:
            state["problem"] = type(error).__name__
            await problem_of(error)(scope, receive, send)
            return
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._most(scope):
            await _too_large(self._most(scope))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _identify(self, headers: Headers, *, chat: bool) -> Identity:
        bearer = _sent(headers, chat=chat, keyless=self._service.entrance.local)
        entrance, now = self._service.entrance, self._service.clock()
        if entrance.waits_for(bearer, now):
            return await self._service.in_thread(lambda: entrance.identify(bearer, now))
        return entrance.identify(bearer, now)

    def _most(self, scope: Scope) -> int:
        if is_chat(scope["path"], Headers(scope=scope)):
            return self._service.settings.proxy.body_bytes
        archive = scope["path"] == ARCHIVE
        return self._service.settings.limits.archive_bytes if archive else self._service.policy.body_bytes

    def _counted(self, scope: Scope, receive: Receive) -> Receive:
        """What comes in, up to the limit: a body that does not say its length is counted. One that stops coming is given up."""
        most, came, whole = self._most(scope), 0, False

        async def counting() -> Message:
            nonlocal came, whole
            if whole:
                return await receive()  # whoever asks now waits for the caller to go
            try:
                async with asyncio.timeout(self._service.policy.body_seconds):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            whole = not message.get("more_body", False)
            came += len(message.get("body", b""))
            if came > most:
                raise HTTPException(413, f"the body is above the limit of {most:,} bytes: nothing was done")
            return message

        return counting

    def _note(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        state: dict[str, Any] = scope["state"]
        # By its name, as in the OpenAPI document: a path may hold names of sessions and users.
        operation = getattr(scope.get("route"), "name", "(none)")
        if self._mcp is not None and scope["path"] in MCP:
            operation = "mcp"
        whose = state.get("scope")
        self._service.metrics.request(operation, status, seconds)
        level = logging.ERROR if status >= 500 or not status else logging.INFO
        told = {
            "id": request_id,
            "operation": operation,
            "status": status,
            "ms": round(seconds * 1000, 2),
            "tenant": None if whose is None else whose.tenant,
            "user": None if whose is None else whose.user,
            "problem": state.get("problem"),
        }
        log.log(level, "request", extra={"told": {k: v for k, v in told.items() if v is not None}})


def _sent(headers: Headers, *, chat: bool, keyless: bool) -> str | None:
    """The token of a request, however it is sent: as Bearer, or as clients of models and of mem0 send their key.

    Args:
        keyless: nobody needs a token here. Those clients cannot do without one: theirs proves nothing, and is none.

    Raises:
        NotIdentified: several, or one that is sent in another way.
    """
    given = {}
    for sent in [*headers.getlist("authorization"), *(f"Token {key}" for key in headers.getlist("x-api-key"))]:
        scheme, _, rest = sent.partition(" ")
        if scheme.lower() not in ("bearer", "token") or not (token := rest.strip()):
            raise NotIdentified("send the token as Authorization: Bearer …")
        given[token] = scheme.lower() == "token" or chat
    if len(given) > 1:
        raise NotIdentified("send one token")
    for token, foreign in given.items():
        if not (keyless and foreign and not token.startswith(OWN_PREFIXES)):
            return token
    return None


def _too_large(most: int) -> ASGIApp:
    return problem("TooLarge", 413, f"the body is above the limit of {most:,} bytes: nothing was done")


def _check_local(scope: Scope, headers: Headers) -> None:
    """Where no token is needed, only this machine is served; and no web page that a browser here shows may call, neither
    under its own name (Origin) nor under one that it made point here (Host)."""
    client = scope.get("client")
    if client is not None and not is_loopback(client[0]):
        raise NotAllowed("without tokens jiyi serves this machine only")
    origin = headers.get("origin")
    hosts = [_host(f"//{headers.get('host', '')}"), *([] if origin is None else [_host(origin)])]
    if not all(is_loopback(host) for host in hosts):
        raise NotAllowed("without tokens jiyi serves programs of this machine, under its own name: 127.0.0.1")


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # brackets that hold no address
        return ""
