"""One request after its caller is known: whose memory it is about, and whether it may do what it asks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Annotated, Any, TypeAlias, TypeVar
from urllib.parse import unquote

from fastapi import Depends, Header, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from jiyi.domain.access import Right
from jiyi.domain.scope import Scope, check_name
from jiyi.errors import InputError, NotAllowed, PlanRefused, SettingsError
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import zone
from jiyi.surfaces.auth.identity import Identity, Proof, check_names, scope_of, target_of
from jiyi.surfaces.chats.exchange import Mode, read_mode
from jiyi.surfaces.http.service import Service
from jiyi.together import Together

T = TypeVar("T")

SURFACE = "http"
USERS, TENANTS = ("user", "user_id"), ("tenant", "tenant_id")
"""Where a request may name a user or a tenant, in its query and its body."""

UserHeader = Annotated[
    str | None,
    Header(
        alias="X-Jiyi-User",
        max_length=2000,
        description="For whom a service key acts, percent-encoded. With a token it must be its user.",
    ),
]
ZoneHeader = Annotated[
    str | None,
    Header(alias="X-Jiyi-Timezone", max_length=100, description="In which dates are written: Asia/Shanghai."),
]
MemoryUserHeader = Annotated[
    str | None, Header(alias="X-Memory-User", max_length=2000, description="As `X-Jiyi-User`.")
]
SessionHeader = Annotated[
    str | None,
    Header(
        alias="X-Memory-Session",
        max_length=2000,
        description="The conversation, percent-encoded; by default one for each day and first message.",
    ),
]
ModeHeader = Annotated[
    str | None,
    Header(
        alias="X-Memory-Mode", max_length=100, description="off, read (only hand over), write (only record) or full."
    ),
]
SharedQuery = Annotated[
    str | None,
    Query(
        max_length=200,
        description="This shared memory instead of the user's own.",
        examples=["team"],
    ),
]
OnceHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A name for this request: sent again it changes nothing and answers as before.",
    ),
]


@dataclass(frozen=True, slots=True)
class Call:
    """One request: the memory that it is about, and where its work is done."""

    service: Service
    identity: Identity
    me: ScopedMemory
    zone: tzinfo
    reading: ScopedMemory | Together
    """What questions are asked of: `me`, and the shared memories beside it that the token opens (SPEC S6)."""
    caller: str = ""
    """Who asks, where several write to one memory: their keys for requests are their own."""

    @property
    def scope(self) -> Scope:
        return self.me.user

    async def read(self, work: Callable[[], T]) -> T:
        return await self.service.read(self.scope, work)

    async def write(self, work: Callable[[], T]) -> T:
        try:
            return await self.service.in_thread(work)
        except PlanRefused as error:
            self.service.metrics.refused(type(error).__name__)
            raise


@dataclass(frozen=True, slots=True)
class Chat:
    """A request of a chat that passes through: also what memory shall do in it, and in which session."""

    call: Call
    mode: Mode
    session: str | None


Names: TypeAlias = Callable[[Request, Mapping[str, Any]], Iterable[str]]
"""The users that a request and its body name in other ways than every route knows."""


async def _enter(
    request: Request,
    right: Right,
    user: str | None,
    where: str | None,
    names: Names | None = None,
    also: str | None = None,
    shared: str | None = None,
) -> Call:
    service: Service = request.app.state.service
    identity: Identity = request.state.identity
    body = await _json(request, service.policy.depth)
    _check_known(request, body)
    users, tenants = _named(request, body, (user, also), names)
    memory, tz = service.memory, service.settings.timezone if where is None else _zone_name(where)
    if shared is not None:
        target = target_of(identity, shared, right, memory.is_there, users=users, tenants=tenants)
        request.state.scope = target.caller
        service.limits.take(target.caller)
        team = memory.shared(
            target.name, tenant=target.scope.tenant, tz=tz, surface=SURFACE, who=target.who, traced=target.traced
        )
        return Call(service, identity, team, zone(tz), team, target.who)
    scope = scope_of(identity, users=users, tenants=tenants)
    request.state.scope = scope
    service.limits.take(scope)
    identity.check(right)
    beside = [grant.name for grant in identity.shared][: service.settings.identity.shared_beside]
    both = memory.together(scope.user, beside, tenant=scope.tenant, tz=tz, surface=SURFACE, who=identity.who)
    return Call(service, identity, both.own, zone(tz), both if beside else both.own)


def _named(
    request: Request, body: dict[str, Any], headers: Iterable[str | None], names: Names | None
) -> tuple[list[str], list[str]]:
    """Every user and every tenant that a request names."""
    named = [body.get(name) for name in USERS] + request.query_params.getlist("user")
    named += request.query_params.getlist("user_id")
    named += [_unquoted("X-Jiyi-User", user) for user in headers if user is not None]
    named += () if names is None else names(request, body)
    tenants = [body.get(name) for name in TENANTS] + request.query_params.getlist("tenant")
    return _names(named), _names(tenants + request.query_params.getlist("tenant_id"))


def _check_known(request: Request, body: dict[str, Any]) -> None:
    """What nobody would read is refused: whoever wrote `?dry_run=true` where it belongs into the body meant to change nothing.

    Raises:
        InputError: a parameter, or a part of the body, that this route does not have.
    """
    route: APIRoute = request.scope["route"]
    known = _query_of(route.dependant) | {*USERS, *TENANTS}
    if unknown := sorted(set(request.query_params) - known):
        takes = ", ".join(sorted(known - {*USERS, *TENANTS})) or "none"
        raise InputError(f"no query parameter {', '.join(map(repr, unknown))} here, it takes {takes}: nothing was done")
    if route.body_field is None and (unknown := sorted(set(body) - {*USERS, *TENANTS})):
        raise InputError(
            f"the body is not read here, so that {', '.join(map(repr, unknown))} says nothing: nothing was done"
        )


def _query_of(part: Dependant) -> set[str]:
    return {field.alias for field in part.query_params}.union(*map(_query_of, part.dependencies))


def _unquoted(header: str, name: str) -> str:
    """Raises: InputError: no percent-encoded name."""
    try:
        if name.isascii():
            return unquote(name, errors="strict")
    except UnicodeDecodeError:
        pass
    raise InputError(f"{header} must be percent-encoded UTF-8: %E6%9D%8E%E6%98%8E stands for 李明")


def _zone_name(name: str) -> str:
    """Raises: InputError: no time zone. It came with the call, so no setting is to blame."""
    try:
        zone(name)
    except SettingsError as error:
        raise InputError(str(error)) from None
    return name


def _names(values: list[Any]) -> list[str]:
    """Raises: InputError: a name that is no text."""
    given = [value for value in values if value is not None]
    if not all(isinstance(value, str) for value in given):
        raise InputError("user and tenant must be text")
    # What a query does not hold as UTF-8 arrives as this character, so that many names would become one.
    if any("\ufffd" in name for name in given):
        raise InputError("the name of a user or tenant is not encoded as UTF-8")
    return given


async def _json(request: Request, depth: int) -> dict[str, Any]:
    """The body, if it is a JSON object.

    Raises:
        InputError: too deep, or half a character in it. HTTPException: 400, it cannot be read.
    """
    raw = await request.body()
    if not raw or "json" not in request.headers.get("content-type", "").lower():
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise HTTPException(400) from None
    _check_depth(body, depth)
    # Half a character can only come as an escape, or in an encoding other than UTF-8, which has zeros in it.
    if b"\0" in raw or b"\\ud" in raw.lower():
        _check_characters(body)
    return body if isinstance(body, dict) else {}


def _check_characters(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError("the body holds a lone surrogate, which is half a character: nothing was done") from None


def _check_depth(value: Any, left: int) -> None:
    if left < 0:
        raise InputError("the body is nested too deeply: nothing was done")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(inner, dict | list):
            _check_depth(inner, left - 1)


def entering(right: Right, names: Names | None = None, *, shares: bool = True) -> Callable[..., Awaitable[Call]]:
    """Args: shares: the call may also be about a shared memory, which it names as `shared`."""

    async def enter(request: Request, user: UserHeader = None, where: ZoneHeader = None) -> Call:
        return await _enter(request, right, user, where, names)

    async def enter_either(
        request: Request, user: UserHeader = None, where: ZoneHeader = None, shared: SharedQuery = None
    ) -> Call:
        return await _enter(request, right, user, where, shared=shared)

    return enter_either if shares and names is None else enter


def changing(names: Names | None = None, right: Right = Right.WRITE) -> Callable[..., Awaitable[Call]]:
    entered: Any = Depends(entering(right, names))  # a default: an annotation is read where this is not known

    async def change(request: Request, call: Call = entered, key: OnceHeader = None) -> Call:
        """A request that changes something, once where it has a key."""
        if key is None:
            return call
        asked = b"\0".join([request.method.encode(), str(request.url.path).encode(), str(request.url.query).encode()])
        once = call.me.once(key, asked + b"\0" + await request.body(), call=request.scope["route"].name, by=call.caller)
        return replace(call, me=once)

    return change


def knowing(right: Right) -> Callable[..., Awaitable[Identity]]:
    async def know(request: Request, user: UserHeader = None) -> Identity:
        """Whoever calls, where it is about nobody's memory. Names are looked at all the same."""
        service: Service = request.app.state.service
        identity: Identity = request.state.identity
        body = await _json(request, service.policy.depth)
        _check_known(request, body)
        check_names(identity, *_named(request, body, [user], None))
        identity.check(right)
        return identity

    return know


async def opening(identity: Annotated[Identity, Depends(knowing(Right.WRITE))]) -> Identity:
    """Whoever may bring visitors in: a service, for its tenant, and the user of this machine."""
    if identity.proof is Proof.TOKEN:
        raise NotAllowed("visitors are opened by a service, with a key of its own")
    return identity


async def chat(
    request: Request,
    user: UserHeader = None,
    memory_user: MemoryUserHeader = None,
    where: ZoneHeader = None,
    session: SessionHeader = None,
    mode: ModeHeader = None,
) -> Chat:
    """A chat that passes through. Whoever may not read memory has no business with the model behind it either."""
    wanted = Mode.FULL if mode is None else read_mode(mode)
    call = await _enter(request, Right.READ, user, where, also=memory_user)
    if wanted.writes:
        call.identity.check(Right.WRITE)
    return Chat(call, wanted, None if not session else check_name("session", _unquoted("X-Memory-Session", session)))


Reading: TypeAlias = Annotated[Call, Depends(entering(Right.READ))]
Writing: TypeAlias = Annotated[Call, Depends(entering(Right.WRITE))]
Changing: TypeAlias = Annotated[Call, Depends(changing())]
Deciding: TypeAlias = Annotated[Call, Depends(changing(right=Right.DECIDE))]
Auditing: TypeAlias = Annotated[Call, Depends(entering(Right.AUDIT))]
Chatting: TypeAlias = Annotated[Chat, Depends(chat)]
Restoring: TypeAlias = Annotated[Call, Depends(entering(Right.DECIDE))]
Known: TypeAlias = Annotated[Identity, Depends(knowing(Right.READ))]
Opening: TypeAlias = Annotated[Identity, Depends(opening)]
Own: TypeAlias = Annotated[Call, Depends(entering(Right.READ, shares=False))]
Linking: TypeAlias = Annotated[Call, Depends(entering(Right.WRITE, shares=False))]
Administering: TypeAlias = Annotated[Call, Depends(entering(Right.ADMINISTER, shares=False))]
