"""A conversation of one person with a model, from this side: beside a memory that is open here, or through a served one."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from jiyi.assembly import wall_clock
from jiyi.errors import MissingExtra, ModelRefused, ModelUnavailable, SettingsError
from jiyi.models.presets import Endpoint, endpoint
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import ProxyPolicy, Settings, read_settings
from jiyi.surfaces.chats.echo import Echo
from jiyi.surfaces.chats.exchange import hand_over, record_answer, record_words
from jiyi.surfaces.chats.heard import Events
from jiyi.surfaces.chats.upstreams import ECHO, ECHO_URL, find_upstreams, headers_of, read_upstreams
from jiyi.surfaces.chats.wires import ANTHROPIC, OPENAI, WIRES

try:
    import httpx2
except ImportError as error:
    raise MissingExtra("httpx2, which language models are reached with,", "models") from error

MAX_TOKENS = 4096
CONNECTS = 6
"""Tries to connect to a proxy, with longer and longer waits: a quarter of a minute in all."""


def find_model(settings: Settings, upstream: str | None, model: str | None, environment: Mapping[str, str]) -> Endpoint:
    """The model to talk with: the one that is named, else the one behind the proxies, else the one that distils, else a
    stand-in, which has no name.

    Raises:
        SettingsError: no such provider, its key is missing, or it is not said which of its models.
    """
    proxy = settings.proxy if upstream is None else read_settings({}, {"proxy": read_upstreams([upstream])}).proxy
    found = next(iter(find_upstreams(proxy, environment).values()), None)
    name = model or settings.proxy.model
    if found is None and settings.model.configured:
        found = endpoint(settings.model, environment)
        name = model or found.model
    if found is None or found.provider == ECHO:
        return Endpoint(ECHO, "" if found is None else ECHO, ECHO_URL)
    if not name:
        raise SettingsError("say which model: --model NAME, or proxy.model in the settings")
    return Endpoint(found.provider, name, found.base_url, found.wire, found.key, extra=found.extra)


class Conversation:
    """Turns so far, and one more with each `say`."""

    def __init__(self, client: httpx2.Client, target: Endpoint, session: str | None) -> None:
        self._client, self._target, self._wire = client, target, WIRES[target.wire]
        self._messages: list[dict[str, Any]] = []
        self.session = session or _new_session()

    def say(self, text: str) -> Iterator[str]:
        """The answer, piece by piece. What was said stays said, however it ends.

        Raises:
            ModelUnavailable, ModelRefused: there is none.
        """
        self._messages.append({"role": "user", "content": text})
        asked = {
            "model": self._target.model or ECHO,
            "messages": list(self._messages),
            "stream": True,
            **self._target.extra,
        }
        if self._wire is ANTHROPIC:
            asked["max_tokens"] = MAX_TOKENS
        told: list[str] = []
        try:
            for piece in self._stream(self.before(asked)):
                told.append(piece)
                yield piece
        finally:
            answer = "".join(told)
            if answer:
                self._messages.append({"role": "assistant", "content": answer})
            else:
                self._messages.pop()
            self.after(answer)

    def renew(self) -> None:
        """Begin a new session, in which nothing was said yet; the one before is over."""
        self.end()
        self._messages, self.session = [], _new_session()

    def end(self) -> None:
        """This session is over, if anything was said in it."""

    def before(self, asked: dict[str, Any]) -> Mapping[str, Any]:
        return asked

    def after(self, answer: str) -> None:
        return

    def headers(self) -> dict[str, str]:
        return headers_of(self._target)

    def _stream(self, asked: Mapping[str, Any]) -> Iterator[str]:
        events = Events()
        url = f"{self._target.base_url}{self._wire.path}"
        try:
            with self._client.stream("POST", url, json=asked, headers=self.headers()) as answer:
                if answer.status_code != httpx2.codes.OK:
                    _refuse(answer, self._where)
                for piece in answer.iter_bytes():
                    for event in events.feed(piece):
                        yield self._wire.piece(event)[1]
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise ModelRefused(f"{self._where} is no address: write it as http://HOST:PORT/v1") from None
        except httpx2.HTTPError as error:
            raise ModelUnavailable(
                f"{self._target.name} cannot be reached at {self._where} ({type(error).__name__}): is it running there?"
            ) from None

    @property
    def _where(self) -> str:
        """The address, without what may be secret in it."""
        return re.sub(r"//[^/@]*@", "//", self._target.base_url.partition("?")[0])


def _refuse(answer: httpx2.Response, where: str) -> None:
    answer.read()
    try:
        document = json.loads(answer.content)
    except ValueError:
        document = {}
    detail = document.get("detail") if isinstance(document, dict) else None
    said = detail if isinstance(detail, str) else f"the model answered with status {answer.status_code}"
    raise ModelRefused(f"{said} (asked at {where})" if answer.status_code == httpx2.codes.NOT_FOUND else said)


def _new_session() -> str:
    return f"chat-{secrets.token_hex(4)}"


class _Beside(Conversation):
    """Memory is here: it is asked before, and learns after, each turn."""

    def __init__(
        self, client: httpx2.Client, target: Endpoint, session: str | None, me: ScopedMemory, work: Callable[[], object]
    ) -> None:
        super().__init__(client, target, session)
        self._me, self._work = me, work

    def before(self, asked: dict[str, Any]) -> Mapping[str, Any]:
        handed = hand_over(self._me, self._wire, asked, self.session)
        record_words(self._me, asked, self.session, wall_clock())
        return handed.request

    def after(self, answer: str) -> None:
        record_answer(self._me, answer, self.session)
        self._work()

    def end(self) -> None:
        if self._messages:
            self._me.end(self.session)


class _Through(Conversation):
    """Memory is where the proxy is."""

    def __init__(self, client: httpx2.Client, target: Endpoint, session: str | None, user: str | None) -> None:
        super().__init__(client, target, session)
        self._user = user

    def headers(self) -> dict[str, str]:
        return {**self._whose(), "X-Memory-Session": quote(self.session)}

    def end(self) -> None:
        if self._messages:
            url, body = f"{self._target.base_url}/sessions/end", {"session": self.session}
            try:
                self._client.post(url, json=body, headers=self._whose())
            except httpx2.HTTPError:
                return  # a session that nobody ends is over after a while

    def _whose(self) -> dict[str, str]:
        named = {} if self._user is None else {"X-Jiyi-User": quote(self._user)}
        return {**headers_of(self._target), **named}


@contextmanager
def beside(
    me: ScopedMemory, work: Callable[[], object], target: Endpoint, session: str | None, policy: ProxyPolicy
) -> Iterator[Conversation]:
    """Talk with a model; memory is open here, and `work` lets it learn."""
    transport = Echo() if target.provider == ECHO else None
    timeout = httpx2.Timeout(policy.timeout_seconds, connect=policy.connect_seconds)
    with httpx2.Client(transport=transport, timeout=timeout, follow_redirects=False) as client:
        conversation = _Beside(client, target, session, me, work)
        yield conversation
        conversation.end()


@contextmanager
def through(
    url: str, model: str, session: str | None, policy: ProxyPolicy, *, user: str | None = None, token: str = ""
) -> Iterator[Conversation]:
    """Talk through a jiyi that is served at `url`, which knows the model."""
    timeout = httpx2.Timeout(policy.timeout_seconds, connect=policy.connect_seconds)
    # Started a moment ago, it may not listen yet.
    patient = httpx2.HTTPTransport(retries=CONNECTS)
    with httpx2.Client(transport=patient, timeout=timeout, follow_redirects=False) as client:
        conversation = _Through(client, Endpoint("jiyi", model, url.rstrip("/"), OPENAI.name, token), session, user)
        yield conversation
        conversation.end()
