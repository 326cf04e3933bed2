"""One request to a model's endpoint: time-outs, retries with back-off, answers whole or in pieces (SPEC U8).

Nothing of the key, and nothing of what was asked or answered, enters an error or the log.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from jiyi.errors import MissingExtra, ModelRefused, ModelUnavailable

try:
    import httpx2
except ImportError as error:
    raise MissingExtra("httpx2, which language models are reached with,", "models") from error

MAX_BYTES = 8 * 1024 * 1024
"""An answer above this is no answer."""
LONGEST_WAIT = 30.0
"""Seconds: a server that asks to be left alone for longer is asked again by a later attempt of the job."""
_SHOWN = 200
_LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})


class Patience(Protocol):
    """How long an endpoint is waited for, as `settings.ModelPolicy` and `EmbeddingPolicy` say it."""

    @property
    def timeout_seconds(self) -> float: ...
    @property
    def deadline_seconds(self) -> float: ...
    @property
    def retries(self) -> int: ...
    @property
    def retry_seconds(self) -> float: ...


class WayRefused(ModelRefused):
    """The endpoint will not take the request as it is written; a simpler one may do."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The body of a good answer: one JSON document, or the data of its events in order."""

    documents: tuple[Mapping[str, Any], ...]
    streamed: bool


class _Again(Exception):
    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


class Line:
    """A line to one address. May be used by several threads; `close` ends what is under way."""

    def __init__(self, policy: Patience, headers: Mapping[str, str], where: str, section: str = "model") -> None:
        # A redirect could carry the key elsewhere; none is followed.
        self._client = httpx2.Client(timeout=policy.timeout_seconds, headers=dict(headers), follow_redirects=False)
        self._policy, self._where, self._closed = policy, where, threading.Event()
        self._section = section  # of the settings, for people

    def post(self, url: str, body: Mapping[str, Any]) -> Reply:
        """Raises: ModelUnavailable, ModelRefused, WayRefused."""
        end = time.monotonic() + self._policy.deadline_seconds
        for number in range(self._policy.retries + 1):
            try:
                return self._try(url, body, end)
            except _Again as again:
                wait = self._policy.retry_seconds * 2**number if again.wait is None else again.wait
                over = number == self._policy.retries or wait > LONGEST_WAIT or time.monotonic() + wait > end
                if over or self._closed.wait(wait):
                    asked = None if again.wait is None else timedelta(seconds=again.wait)
                    raise ModelUnavailable(f"{self._where}: {again.reason}", asked) from None
        raise AssertionError("unreachable")

    def close(self) -> None:
        self._closed.set()
        self._client.close()

    def _try(self, url: str, body: Mapping[str, Any], end: float) -> Reply:
        try:
            with self._client.stream("POST", url, json=body) as response:
                content = self._read(response, end)
        except httpx2.TimeoutException:
            raise _Again(f"no answer within {self._policy.timeout_seconds:g} s") from None
        except httpx2.InvalidURL:
            raise ModelRefused(f"{self._where}: no such address, see {self._section}.base_url") from None
        except (httpx2.HTTPError, RuntimeError) as error:  # RuntimeError: the client was closed meanwhile
            raise _Again(f"the connection failed ({type(error).__name__})") from None
        if response.status_code != httpx2.codes.OK:
            raise self._fault(response, content)
        return _reply(response.headers.get("content-type", ""), content)

    def _read(self, response: httpx2.Response, end: float) -> bytes:
        """The body, unless it comes too slowly, is too long, or nobody waits for it any more."""
        content = bytearray()
        for some in response.iter_bytes():
            content += some
            if time.monotonic() > end:
                raise _Again(f"the answer was not whole within {self._policy.deadline_seconds:g} s")
            if len(content) > MAX_BYTES:
                raise _Again(f"the answer is longer than {MAX_BYTES:,} bytes")
            if self._closed.is_set():
                raise _Again("jiyi is closing")
        return bytes(content)

    def _fault(self, response: httpx2.Response, content: bytes) -> Exception:
        status = response.status_code
        said = f"{self._where}: HTTP {status}{_said(content)}"
        if status in _LATER or status >= 500:
            if _out_of_money(content):
                return ModelRefused(f"{said}: the account has no money left")
            return _Again(f"HTTP {status}{_said(content)}", _retry_after(response.headers))
        if status in (401, 403):
            return ModelRefused(f"{said}: the endpoint does not accept the key")
        if status in (400, 415, 422):
            return WayRefused(said)
        return ModelRefused(f"{said}: see {self._section}.base_url and {self._section}.name")


def _reply(kind: str, content: bytes) -> Reply:
    """A document, or events; some endpoints stream although nobody asked for it."""
    text = content.decode("utf-8", "replace")
    streamed = "event-stream" in kind or text.lstrip().startswith(("data:", "event:", ":"))
    try:
        documents = tuple(_events(text)) if streamed else (json.loads(text),)
    except (ValueError, RecursionError):
        raise _Again("the answer is not JSON") from None
    if not documents or not all(isinstance(d, Mapping) for d in documents):
        raise _Again("the answer is empty" if not documents else "the answer is not a JSON object")
    return Reply(documents, streamed)


def _events(text: str) -> Iterator[Any]:
    """The data of server-sent events. A last one that was cut off is left out: what is missing shows in the answer."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if not data or data == "[DONE]":
            continue
        try:
            yield json.loads(data)
        except ValueError:
            if number < len(lines) - 1:
                raise


def _said(content: bytes) -> str:
    """The kind of fault by the server's own name, never its sentence, which may quote what was asked or the key."""
    try:
        document = json.loads(content[:MAX_BYTES])
    except (ValueError, RecursionError):
        return ""
    error = document.get("error") if isinstance(document, Mapping) else None
    if not isinstance(error, Mapping):
        return ""
    names = [str(error[k]) for k in ("type", "code") if isinstance(error.get(k), str | int)]
    plain = [n for n in dict.fromkeys(names) if len(n) <= 60 and n.replace("_", "").replace("-", "").isalnum()]
    return f" ({', '.join(plain)})"[:_SHOWN] if plain else ""


def _out_of_money(content: bytes) -> bool:
    return b"insufficient_quota" in content or b"insufficient_balance" in content


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds or a date, as HTTP has it; None when it says nothing that can be used."""
    said = headers.get("retry-after", "").strip()
    if said.isascii() and said.replace(".", "", 1).isdigit():
        return float(said)
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    now = datetime.fromtimestamp(time.time(), UTC)  # noqa: TID251 — what a server's clock says is compared with ours
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())
