"""What a caller is told when it does not work: RFC 9457 problem details, from one table of errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from jiyi import errors
from jiyi.errors import JiyiError, TooManyRequests, UnreadableLines
from jiyi.surfaces.http.addresses import is_chat

MEDIA_TYPE = "application/problem+json"

STATUSES: Sequence[tuple[type[JiyiError], int]] = (
    (errors.NotIdentified, 401),
    (errors.NotAllowed, 403),
    (errors.TooManyRequests, 429),
    (errors.IssuerUnreachable, 503),
    (errors.NotFound, 404),
    (errors.VersionMismatch, 412),
    (errors.PlanRefused, 409),
    (errors.TooLarge, 413),
    (errors.ConflictingMessage, 409),
    (errors.InputError, 422),
    (errors.StoreBusy, 503),
    (errors.StoreAway, 503),
    (errors.StoreClosed, 503),
    (errors.EngineUnavailable, 503),
    (errors.ModelError, 502),
    (errors.JiyiError, 500),
)
"""The first that fits counts."""

WHEN: Mapping[int, str] = {
    400: "The body is no JSON, or the request cannot be read.",
    401: "No token, or one that proves nothing.",
    403: "Known, but not allowed: the right is missing, or another user or tenant is named.",
    404: "Nothing of that id here. An id of somebody else is not here either.",
    408: "The body stopped coming.",
    409: "It cannot be done as things stand; `detail` says why.",
    412: "It was changed since the version in `If-Match`.",
    413: "Above a limit of size.",
    422: "Data that cannot be accepted; nothing was done.",
    429: "Too many requests; `Retry-After` says how long to wait.",
    503: "Not now: try again.",
}
"""The problems that any route may answer with."""


NEXT: Mapping[int, str] = {
    400: "the body cannot be read: send JSON in UTF-8, not nested too deeply; nothing was done",
    404: "nothing is at this address: /v1/openapi.json lists what there is",
    408: "the body stopped coming: send the request again, whole; nothing was done",
    405: "this address does not take that method: see Allow, and /v1/openapi.json",
}
"""What is said where the framework only names the status."""


SEND_JSON = "send the body as JSON, with the header Content-Type: application/json"


class Flaw(BaseModel):
    """`where`: the way into the body, or the name of a parameter."""

    where: str
    what: str


class Fault(BaseModel):
    """`code` names the kind of the problem, as `type` of the problem does."""

    type: Annotated[str, Field(examples=["not_found_error"])]
    message: str
    code: str
    param: None = None


class Problem(BaseModel):
    """RFC 9457. `type` names the kind of the problem and stays the same; `detail` says what to do."""

    type: Annotated[str, Field(examples=["urn:jiyi:problem:NotFound"])]
    title: Annotated[str, Field(examples=["Not Found"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["no memory m42 here"])]
    errors: list[Flaw] | None = None
    error: Annotated[
        Fault | None, Field(description="The same again, where clients of OpenAI's and Anthropic's look for it.")
    ] = None


FAULTS: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
"""How both call what went wrong. Other statuses below 500 are an invalid_request_error, those above an api_error."""


class Told(JSONResponse):
    """A problem, to whoever asked: clients of models show the `message` of an `error`."""

    media_type = MEDIA_TYPE

    def __init__(self, told: Problem, headers: Mapping[str, str]) -> None:
        self._told = told
        super().__init__(told.model_dump(exclude_none=True), told.status, dict(headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat(scope.get("path", ""), Headers(scope=scope)):
            status, told = self.status_code, self._told
            kind = FAULTS.get(
                status, "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "api_error"
            )
            where = "; ".join(f"{flaw.where}: {flaw.what}" for flaw in told.errors or ())
            message = f"{told.detail} ({where})" if where else told.detail
            fault = Fault(type=kind, message=message, code=told.type.rpartition(":")[2])
            document = told.model_copy(update={"error": fault}).model_dump(exclude_none=True)
            document["error"]["param"] = None
            self.body = self.render(document)
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": said, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, said in WHEN.items()
}


def problem(
    kind: str,
    status: int,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    flaws: Sequence[Flaw] | None = None,
) -> Response:
    told = Problem(
        type=f"urn:jiyi:problem:{kind}", title=HTTPStatus(status).phrase, status=status,
        detail=detail.encode("utf-8", "replace").decode("utf-8"), errors=None if flaws is None else list(flaws),
    )  # fmt: skip
    return Told(told, headers or {})


def status_of(error: JiyiError) -> int:
    return next(status for kind, status in STATUSES if isinstance(error, kind))


def problem_of(error: JiyiError) -> Response:
    """The answer to an error of ours."""
    status, kind, detail, headers = status_of(error), type(error).__name__, str(error), {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(max(1, math.ceil(error.seconds)))
    if isinstance(error, UnreadableLines):
        return problem(
            kind, status, "lines of the profile cannot be taken over; nothing was changed",
            flaws=[Flaw(where=f"line {line}", what=reason) for line, reason in error.problems],
        )  # fmt: skip
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, errors.IssuerUnreachable):
        # What is wrong with the store or a model is for the operator, in the log.
        detail = "the memory cannot serve this now: try again later; its operator finds the reason in the log"
    return problem(kind, status, detail, headers=headers)


def register(app: FastAPI) -> None:
    """Every error that reaches the application becomes a problem."""
    app.add_exception_handler(JiyiError, _ours)
    app.add_exception_handler(RequestValidationError, _unacceptable)
    app.add_exception_handler(HTTPException, _plain)


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, JiyiError)
    request.state.problem = type(error).__name__
    return problem_of(error)


async def _unacceptable(request: Request, error: Exception) -> Response:
    """What was sent is not echoed: it may be anything."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(flaw["type"] == "json_invalid" for flaw in found):
        return problem("NotJson", 400, "the body is not JSON: nothing was done")
    if (
        any(flaw["loc"] == ("body",) for flaw in found)
        and "json" not in request.headers.get("content-type", "").lower()
    ):
        return problem("InvalidRequest", 422, f"{SEND_JSON}; nothing was done")
    flaws = [Flaw(where=_where(flaw["loc"]), what=str(flaw["msg"])) for flaw in found[:20]]
    return problem("InvalidRequest", 422, "the request does not have the right shape: nothing was done", flaws=flaws)


def _where(location: Sequence[Any]) -> str:
    return ".".join(str(part) for part in location).encode("utf-8", "replace").decode("utf-8")[:200]


async def _plain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    kind = "".join(word.capitalize() for word in phrase.replace("-", " ").split())
    return problem(kind, error.status_code, NEXT.get(error.status_code, str(error.detail)), headers=error.headers)
