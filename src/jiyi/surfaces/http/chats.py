"""The proxies (SPEC U2): clients of models point their `base_url` here, and their chats have a memory.

What goes on to the model is the client's request, with one block more in the system role; what comes back is the model's answer
byte for byte. What was said is recorded in the background. Decision 0035.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
from fastapi import APIRouter, Query, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from jiyi.domain.access import OWN_PREFIXES
from jiyi.errors import InputError
from jiyi.surfaces.chats.exchange import Handed, Status, hand_over, record_answer, record_words, session_of
from jiyi.surfaces.chats.heard import MAX_BYTES, Heard
from jiyi.surfaces.chats.upstreams import ECHO
from jiyi.surfaces.chats.wires import ANTHROPIC, OPENAI, Wire
from jiyi.surfaces.http import bodies
from jiyi.surfaces.http.addresses import VERSION
from jiyi.surfaces.http.calls import Chat, Chatting
from jiyi.surfaces.http.problems import MEDIA_TYPE, problem
from jiyi.surfaces.http.relay import Relayed, passed
from jiyi.surfaces.http.service import Service
from jiyi.surfaces.http.upstreams import Upstream

MOST_STATUS = 600
"""HTTP has statuses below it."""
MAX_TOKENS = 4096
"""Of an answer, where a model must be told a limit and the caller has none."""
TOLD = frozenset(
    {"content-type", "accept", VERSION, "anthropic-beta", "openai-beta", "openai-organization", "openai-project"}
)
"""What of a client's headers the upstream gets. Its token is for us."""

ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The model's answer, as it came.",
        "content": {"application/json": {"schema": {}}, "text/event-stream": {"schema": {}}},
    },
    502: {"description": "The model behind the proxy cannot be reached.", "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    504: {"description": "It does not answer in time.", "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "default": {"description": "What else the model answered, with its own status and body.", "content": {"*/*": {"schema": {}}}},
}  # fmt: skip


class AnthropicRoute(APIRoute):
    """A route that is there for clients of Anthropic's only, beside the one that stores messages."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or VERSION not in Headers(scope=scope):
            return Match.NONE, {}
        return super().matches(scope)


router = APIRouter(tags=["Chat"])


@router.post("/chat/completions", response_class=Response, responses=ANSWERS)
async def chat_completions(body: bodies.ChatCompletion, request: Request, chat: Chatting) -> Response:
    """A chat as OpenAI's clients have it, passed on to the model that is configured, with memory in the system role."""
    return await relay(chat, request, OPENAI)


Beta = Annotated[str | None, Query(max_length=100, description="Passed on.")]


@router.post("/anthropic/v1/messages", response_class=Response, responses=ANSWERS)
async def anthropic_messages(
    body: bodies.AnthropicMessage, request: Request, chat: Chatting, beta: Beta = None
) -> Response:
    """A chat as Anthropic's clients have it. With the header `anthropic-version`, `POST /v1/messages` is the same."""
    return await relay(chat, request, ANTHROPIC)


router.add_api_route(
    "/messages", anthropic_messages, methods=["POST"], response_class=Response, include_in_schema=False,
    route_class_override=AnthropicRoute,
)  # fmt: skip


@router.get("/models", response_class=Response, responses=ANSWERS)
async def models(
    request: Request, chat: Chatting, limit: Beta = None, after_id: Beta = None, before_id: Beta = None
) -> Response:
    """The models that the upstream offers."""
    wires = (ANTHROPIC, OPENAI) if VERSION in request.headers else (OPENAI, ANTHROPIC)
    service = chat.call.service
    found = service.upstreams.of(*wires)
    if found is None:
        return _no_upstream(wires[0])
    query = {k: v for k, v in (("limit", limit), ("after_id", after_id), ("before_id", before_id)) if v is not None}
    answer = await _asked(found[1], "GET", "/models", _told(request, service), query=query)
    if isinstance(answer, Response):
        return answer
    return Relayed(answer, {}, Heard(found[0], streamed=False), lambda: None)


# ------------------------------------------------------------------ passing on


async def relay(chat: Chat, request: Request, wire: Wire) -> Response:
    """Hand the request on with memory, and the answer back; what was said is recorded meanwhile."""
    call, service = chat.call, chat.call.service
    found = service.upstreams.of(wire)
    if found is None:
        return _no_upstream(wire)
    raw = await request.body()
    asked = json.loads(raw)
    session = session_of(call.me, asked, chat.session)
    handed = await _handed(chat, wire, asked, session)
    content = raw if handed.status is not Status.HANDED else _encoded(handed.request)
    words = None
    if chat.mode.writes:
        words = service.record(lambda: record_words(call.me, asked, session, service.clock()))
    query = dict(request.query_params) if "beta" in request.query_params else {}
    query = {"beta": query["beta"]} if query else {}
    headers = _about(handed, session)
    answer = await _asked(found[1], "POST", wire.path, _told(request, service), content=content, query=query)
    if isinstance(answer, Response):
        answer.headers.update(headers)
        return answer
    heard = _heard(wire, answer)

    def heard_out() -> None:
        if words is not None and not handed.shared and answer.status_code == httpx2.codes.OK and (text := heard.text):
            service.record(lambda: record_answer(call.me, text, session), after=words)

    return Relayed(answer, headers, heard, heard_out)


async def _handed(chat: Chat, wire: Wire, asked: Mapping[str, Any], session: str) -> Handed:
    """What the model gets. A memory that takes too long is not waited for."""
    service, me = chat.call.service, chat.call.reading
    named = chat.session is not None
    work = service.in_thread(lambda: hand_over(me, wire, asked, session, named=named, mode=chat.mode))
    try:
        handed = await asyncio.wait_for(work, service.settings.proxy.memory_seconds)
    except TimeoutError:
        return Handed(asked, Status.UNAVAILABLE)
    service.metrics.recalled(handed.took)
    return handed


def _heard(wire: Wire, answer: httpx2.Response) -> Heard:
    kind, encoding = (answer.headers.get(name, "") for name in ("content-type", "content-encoding"))
    return Heard(wire, streamed="event-stream" in kind, encoding=encoding.strip().lower())


def _encoded(request: Mapping[str, Any]) -> bytes:
    """Raises: InputError: a number in it that no JSON has."""
    try:
        return json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise InputError("the body holds a number that is none in JSON: nothing was done") from None


def _told(request: Request, service: Service) -> dict[str, str]:
    """What the upstream is told of the client's headers."""
    told = {name: value for name, value in request.headers.items() if name.lower() in TOLD}
    if service.settings.proxy.forward_key:
        for name in ("authorization", "x-api-key"):
            value = request.headers.get(name, "")
            if value and not any(own in value for own in OWN_PREFIXES):
                told[name] = value
    return told


def _about(handed: Handed, session: str) -> dict[str, str]:
    """What the client is told about memory."""
    about = {
        "X-Memory-Status": handed.status.value,
        "X-Memory-Session": quote(session),
        "X-Memory-Ids": quote(",".join(handed.ids), safe=",@"),  # a shared memory may have any name
        "X-Memory-Trace": handed.trace,
        "X-Accel-Buffering": "no",  # what stands between us and the client is not to hold pieces back
    }
    return {name: value for name, value in about.items() if value}


async def _asked(
    upstream: Upstream, method: str, path: str, headers: Mapping[str, str], **more: Any
) -> httpx2.Response | Response:
    """The upstream's answer, whatever its status; a problem where there is none."""
    try:
        answer = await upstream.send(method, path, headers, **more)
    except httpx2.TimeoutException:
        return problem("UpstreamTimeout", 504, "the model behind this proxy does not answer in time: try again later")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        kind = type(error).__name__
        return problem(
            "UpstreamUnreachable", 502, f"the model behind this proxy cannot be reached ({kind}): try again later"
        )
    if answer.is_redirect:
        await answer.aclose()
        return problem(
            "UpstreamRedirects", 502, "the model behind this proxy has moved: its operator must change proxy.base_url"
        )
    if answer.status_code >= MOST_STATUS:
        await answer.aclose()
        return problem(
            "UpstreamUnreachable", 502, "the model behind this proxy answers with a status that there is not"
        )
    return answer


def _no_upstream(wire: Wire) -> Response:
    return problem(
        "NoUpstream", 404,
        f"no model stands behind this address: start with `jiyi serve --upstream …`, or set proxy.{wire.name} (docs/service.md)",
    )  # fmt: skip


async def ask(chat: Chat, message: str, session: str) -> str | Response:
    """One message to the model that is configured: its words, or what went wrong; where there is none, the assembled prompt."""
    call, service = chat.call, chat.call.service
    found, policy = service.upstreams.of(OPENAI, ANTHROPIC), service.settings.proxy
    if found is not None and not (policy.model or found[1].echoes):
        found = None
    asked: dict[str, Any] = {"model": policy.model or ECHO, "messages": [{"role": "user", "content": message}]}
    block, handed = "", Handed(asked, Status.OFF)
    if found is None:
        block = await call.read(
            lambda: call.reading.context(message[-call.me.limits.query_chars :], session=session).text
        )
    else:
        handed = await _handed(replace(chat, session=session), found[0], asked, session)
    words = None
    if chat.mode.writes:
        words = service.record(lambda: record_words(call.me, asked, session, service.clock()))
    if found is None:
        return f"{block}\n\n{message}"
    wire, upstream = found
    limit = {"max_tokens": MAX_TOKENS} if wire is ANTHROPIC else {}
    told = {"content-type": "application/json"}
    answer = await _asked(upstream, "POST", wire.path, told, content=_encoded({**handed.request, **limit}))
    text = answer if isinstance(answer, Response) else await _whole(answer, wire)
    if isinstance(text, str) and words is not None and not handed.shared:
        reply = text
        service.record(lambda: record_answer(call.me, reply, session), after=words)
    return text


async def _whole(answer: httpx2.Response, wire: Wire) -> str | Response:
    """The words of an answer, which is read as far as an answer may go."""
    heard, came = _heard(wire, answer), 0
    try:
        async for piece in answer.aiter_raw():
            heard.feed(piece)
            came += len(piece)
            if came > MAX_BYTES:
                return problem("UpstreamTooLong", 502, f"the model's answer is above {MAX_BYTES:,} bytes: ask for less")
    except httpx2.HTTPError:
        return problem("UpstreamUnreachable", 502, "the model behind this service broke off: try again later")
    finally:
        await answer.aclose()
    if answer.status_code != httpx2.codes.OK:
        busy = answer.status_code == httpx2.codes.TOO_MANY_REQUESTS
        waits = {k: v for k, v in passed(answer.headers).items() if k == "retry-after"}
        detail = f"the model behind this service answered with status {answer.status_code}"
        return problem("UpstreamRefused", 429 if busy else 502, detail, headers=waits)
    return heard.text
