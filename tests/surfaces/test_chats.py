"""Memory in the chats of others: the proxies, with the official SDKs over loopback (SPEC U2)."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from jiyi import MemoryLayer, ScopedMemory, open_memory
from jiyi.domain.access import Role
from jiyi.domain.memory import Message
from jiyi.errors import SettingsError
from jiyi.surfaces.http.app import create_app
from tests.models.server import Manner, Provider, provider
from tests.surfaces.issuer import Issuer, published
from tests.surfaces.served import Served, running, served, trusting

KEY = "upstream-" + "key"
KEYS = {"UPSTREAM_KEY": KEY}
ASKED = "Which database do we use?"


def behind(url: str, **more: Any) -> dict[str, Any]:
    """Settings in which one server stands behind both wires. A busy machine is given time to remember."""
    one = {"base_url": url, "key_env": "UPSTREAM_KEY"}
    return {"openai": one, "anthropic": one, "memory_seconds": 60.0, **more}


class Running:
    """A served memory with a model behind it."""

    def __init__(self, served: Served, upstream: Provider) -> None:
        self.served, self.upstream = served, upstream
        self.me = served.memory.scope("me")
        self.open = ExitStack()

    def openai(self, key: str = "any", retries: int = 0, **headers: str) -> openai.OpenAI:
        client = openai.OpenAI(
            base_url=f"{self.served.url}/v1", api_key=key, max_retries=retries, default_headers=headers
        )
        return self.open.enter_context(client)

    def anthropic(self, key: str = "any", retries: int = 0, **headers: str) -> anthropic.Anthropic:
        client = anthropic.Anthropic(
            base_url=self.served.url, api_key=key, max_retries=retries, default_headers=headers
        )
        return self.open.enter_context(client)

    def said(self, count: int, me: ScopedMemory | None = None) -> list[Message]:
        """What was recorded, once it is so many messages."""
        return recorded(me or self.me, count)


def recorded(me: ScopedMemory, count: int) -> list[Message]:
    end = time.monotonic() + 20
    while len(found := me.history(limit=200).messages) < count and time.monotonic() < end:
        time.sleep(0.005)
    assert len(found) == count, [(m.role, m.text) for m in found]
    return list(found)


def words(messages: list[Message]) -> list[tuple[str, str]]:
    return [(m.role.value, m.text) for m in messages]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Running]:
    with provider(Manner(text="PostgreSQL, of course.")) as upstream, open_memory(
        tmp_path / "memory.db", proxy=behind(upstream.url)
    ) as memory:  # fmt: skip
        app = create_app(memory, environment=KEYS)
        with running(app) as url:
            run = Running(Served(url, memory, app), upstream)
            run.me.remember("Our database is PostgreSQL.")
            with run.open:
                yield run


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def system_of(request: dict[str, Any]) -> str:
    """All that the system role says, in either wire."""
    parts = [m["content"] for m in request["messages"] if m["role"] in ("system", "developer")]
    parts += [request["system"]] if "system" in request else []
    return "\n".join(p if isinstance(p, str) else "\n".join(b["text"] for b in p) for p in parts)


# ------------------------------------------------------------------ OpenAI's SDK


def test_a_chat_of_openai_s_client_has_a_memory(here: Running) -> None:
    raw = here.openai().chat.completions.with_raw_response.create(model="model-1", messages=[user(ASKED)])
    assert raw.parse().choices[0].message.content == "PostgreSQL, of course."
    told, [asked] = raw.headers, here.upstream.requests
    assert told["x-memory-status"] == "handed"
    assert told["x-memory-ids"] == "m1"
    assert told["x-memory-session"].startswith("chat-")
    assert here.me.explain(told["x-memory-trace"], why="m1")
    assert [m["role"] for m in asked["messages"]] == ["system", "user"]
    assert "PostgreSQL. (m1)" in asked["messages"][0]["content"]
    assert asked["messages"][1] == user(ASKED)
    assert here.upstream.paths == ["/v1/chat/completions"]
    sent = here.upstream.headers[0]
    assert sent["authorization"] == f"Bearer {KEY}"
    assert not {"x-api-key", "x-jiyi-user", "x-memory-user"} & sent.keys()
    said = here.said(2)
    assert words(said) == [("user", ASKED), ("assistant", "PostgreSQL, of course.")]
    assert {m.session for m in said} == {told["x-memory-session"]}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}},
}
CALLED: list[dict[str, Any]] = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "t1", "content": "3 rows"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("system", "left"),
    [
        ([], 0),
        ([{"role": "system", "content": "Be brief."}], 1),
        ([{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}], 1),
        ([{"role": "system", "content": "Be brief."}, {"role": "system", "content": "Be kind."}], 2),
    ],
)
def test_only_the_system_role_is_changed(here: Running, system: list[Any], left: int) -> None:
    rest = [{"role": "user", "content": [{"type": "text", "text": ASKED}, PICTURE]}, *CALLED]
    body = {
        "model": "model-1",
        "temperature": 0.30000000000000004,
        "seed": 2**60,
        "tools": [TOOL],
        "messages": [*system, *rest],
    }
    with here.served.client() as client:
        assert client.post("/v1/chat/completions", json=body).status_code == 200
    [asked] = here.upstream.requests
    leading = len(asked["messages"]) - len(rest)
    assert asked["messages"][leading:] == rest
    assert leading == max(left, 1)
    assert system_of(asked).count("<memory>") == 1
    assert list(asked) == list(body)
    assert {k: v for k, v in asked.items() if k != "messages"} == {k: v for k, v in body.items() if k != "messages"}
    before = "\n".join(m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in system)
    assert system_of(asked).startswith(before)
    # What tools bring is no word of a person, and a picture none at all. What was asked before an answer is recorded then.
    assert words(here.said(1)) == [("assistant", "PostgreSQL, of course.")]


def test_a_block_that_comes_back_is_replaced(here: Running) -> None:
    with here.served.client(**{"X-Memory-Mode": "read"}) as client:
        for _ in range(3):
            block = system_of(here.upstream.requests[-1]) if here.upstream.requests else "Be brief."
            messages = [{"role": "system", "content": block}, user(ASKED)]
            client.post("/v1/chat/completions", json={"model": "m", "messages": messages})
        own = "<memory>the user's own tag</memory>"
        client.post(
            "/v1/chat/completions", json={"model": "m", "messages": [{"role": "system", "content": own}, user(ASKED)]}
        )
    first, second, third, last = map(system_of, here.upstream.requests)
    assert first == second == third
    assert (first.count("<memory>"), first.startswith("Be brief.\n\n<memory>")) == (1, True)
    assert last.startswith(own + "\n\n<memory>\n")


def test_a_block_that_the_model_repeats_is_not_recorded(here: Running) -> None:
    block = here.me.context(ASKED).text
    here.upstream.then(Manner(text=f"I was told:\n{block}\nThat is all."))
    with here.served.client() as client:
        told = client.post("/v1/chat/completions", json={"model": "m", "messages": [user(ASKED)]})
    assert block in told.json()["choices"][0]["message"]["content"]
    assert here.said(2)[1].text == "I was told:\nThat is all."


def test_the_same_request_is_recorded_once_and_a_conversation_is_one_session(here: Running) -> None:
    client = here.openai()
    talk: list[Any] = [user("Hello, I live in Leeds.")]
    for text in ("And I have a cat.", "Her name is Mia."):
        for _ in range(2):  # a client that was impatient
            client.chat.completions.create(model="m", messages=talk)
        talk += [{"role": "assistant", "content": "PostgreSQL, of course."}, user(text)]
    client.chat.completions.create(model="m", messages=talk)
    said = here.said(8)
    assert sorted(m.text for m in said if m.role == "user") == [
        "And I have a cat.", "Hello, I live in Leeds.", "Her name is Mia.",
    ]  # fmt: skip
    assert len({m.session for m in said}) == 1
    client.chat.completions.create(
        model="m", messages=[user("Hi again")], extra_headers={"X-Memory-Session": "%E4%BC%9A%E8%AF%9D"}
    )
    assert here.said(10)[-1].session == "会话"


def test_only_a_session_with_a_name_goes_on_without_being_sent_along(here: Running) -> None:
    for session in ({}, {"X-Memory-Session": "s1"}):
        for _ in range(2):
            here.openai(**session).chat.completions.create(model="m", messages=[user("My cat is Mia.")])
            here.upstream.then(Manner(text="I see."))
            here.said(len(here.upstream.requests) + (2 if session else 1))
    told = [system_of(r) for r in here.upstream.requests]
    assert ["This session so far" in text for text in told] == [False, False, False, True]


def test_the_name_of_a_session_tells_nothing_of_its_words(tmp_path: Path) -> None:
    names = []
    for file in ("a", "b"):
        with open_memory(tmp_path / f"{file}.db", worker=False) as memory:
            one, other = memory.scope("u1"), memory.scope("u2")
            assert one.conversation("hi") == one.conversation("hi") != other.conversation("hi")
            names.append(one.conversation("hi"))
    assert names[0] != names[1]


@pytest.mark.parametrize("mode", ["off", "read", "write", "full"])
def test_what_memory_does_is_chosen_by_the_client(here: Running, mode: str) -> None:
    body = b'{ "model":"m", "messages":[{"content":"Which database do we use?","role":"user"}], "x":1e2}'
    with here.served.client(**{"X-Memory-Mode": mode, "Content-Type": "application/json"}) as client:
        told = client.post("/v1/chat/completions", content=body)
        client.post(
            "/v1/chat/completions", content=body, headers={"X-Memory-Mode": "write", "X-Memory-Session": "last"}
        )
    assert told.headers["x-memory-status"] == ("handed" if mode in ("read", "full") else "off")
    assert (here.upstream.bodies[0] == body) is (mode in ("off", "write"))
    said = here.said(4 if mode in ("write", "full") else 2)
    assert [m.session for m in said].count("last") == 2


def test_a_mode_that_is_none_is_refused(here: Running) -> None:
    with here.served.client(**{"X-Memory-Mode": "some"}) as client:
        assert client.post("/v1/chat/completions", json={"model": "m", "messages": [user("x")]}).status_code == 422
    assert here.upstream.requests == []


def test_when_nothing_is_known_the_request_goes_on_as_it_came(here: Running) -> None:
    with here.served.client(**{"X-Jiyi-User": "new"}) as client:
        told = client.post(
            "/v1/chat/completions", json={"model": "m", "messages": [user("What is the capital of France?")]}
        )
    assert told.headers["x-memory-status"] == "empty"
    assert here.upstream.requests[0]["messages"] == [user("What is the capital of France?")]


# ------------------------------------------------------------------ Anthropic's SDK

CACHED = {"type": "text", "text": "A long handbook.", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("system", "begins"),
    [(None, []), ("Be brief.", ["Be brief."]), ([CACHED, {"type": "text", "text": "Be kind."}], [CACHED, "Be kind."])],
)
def test_a_chat_of_anthropic_s_client_has_a_memory(here: Running, system: Any, begins: list[Any]) -> None:
    given = {} if system is None else {"system": system}
    done = here.anthropic().messages.with_raw_response.create(
        model="m", max_tokens=100, messages=[user(ASKED)], **given
    )
    assert done.headers["x-memory-ids"] == "m1"
    assert done.parse().content[0].text == "PostgreSQL, of course."
    [asked] = here.upstream.requests
    assert asked["messages"] == [user(ASKED)]
    if isinstance(system, list):
        assert asked["system"][:2] == system
        assert asked["system"][2].keys() == {"type", "text"}
    else:
        assert isinstance(asked["system"], str)
        assert asked["system"].startswith("\n\n".join([*begins, "<memory>\n"]))
    assert here.upstream.paths == ["/v1/messages"]
    sent = here.upstream.headers[0]
    assert sent["x-api-key"] == KEY
    assert sent["anthropic-version"]
    assert "authorization" not in sent
    assert words(here.said(2)) == [("user", ASKED), ("assistant", "PostgreSQL, of course.")]


def test_messages_without_that_header_are_stored_as_ever(here: Running) -> None:
    with here.served.client() as client:
        stored = client.post(
            "/v1/messages", json={"session": "s1", "messages": [{"role": "user", "text": "hello there"}]}
        )
        assert stored.json()["new"] == 1
        at_its_own = client.post(
            "/v1/anthropic/v1/messages", json={"model": "m", "max_tokens": 9, "messages": [user(ASKED)]}
        )
        assert at_its_own.json()["content"][0]["text"] == "PostgreSQL, of course."


def test_the_sdks_list_models(here: Running) -> None:
    assert [m.id for m in here.openai().models.list()] == ["model-1"]
    assert [m.id for m in here.anthropic().models.list()] == ["model-1"]
    assert here.upstream.paths == ["/v1/models", "/v1/models"]


# ------------------------------------------------------------------ streaming


def test_the_sdks_stream(here: Running) -> None:
    here.upstream.then(Manner(text="It is PostgreSQL.", pieces=4))
    stream = here.openai().chat.completions.create(model="m", messages=[user(ASKED)], stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == "It is PostgreSQL."
    assert words(here.said(2)) == [("user", ASKED), ("assistant", "It is PostgreSQL.")]


EVENTS = {
    "/v1/chat/completions": ('data: {"choices": [{"index": 0, "delta": {"content": "%d,"}}]}\n\n', "data: [DONE]\n\n"),
    "/v1/anthropic/v1/messages": (
        'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "%d,"}}\n\n',
        'event: message_stop\ndata: {"type": "message_stop"}\n\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", EVENTS)
def test_a_thousand_pieces_pass_byte_for_byte_and_none_waits_for_the_next(here: Running, path: str) -> None:
    """The upstream sends no piece before the client has the one before it, so that nothing can be held back."""
    one, last = EVENTS[path]
    script = [": \xe4\xbd\xa0 \r\n\n".encode("latin-1"), *((one % n).encode() for n in range(1000)), last.encode()]
    go = threading.Semaphore(0)
    here.upstream.then(Manner(script=tuple(script), go=go))
    came = bytearray()
    body = {"model": "m", "max_tokens": 9, "stream": True, "messages": [user(ASKED)]}
    with here.served.client() as client, client.stream("POST", path, json=body) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        expected = bytearray()
        pieces = answer.iter_raw()
        for piece in script:
            expected += piece
            while len(came) < len(expected):
                came += next(pieces)
            go.release()
        assert next(pieces, None) is None
    assert bytes(came) == b"".join(script)
    assert here.said(2)[1].text == "".join(f"{n}," for n in range(1000))


def test_what_was_streamed_before_the_client_left_is_recorded(here: Running) -> None:
    go = threading.Semaphore(0)
    one, _ = EVENTS["/v1/chat/completions"]
    here.upstream.then(Manner(script=tuple((one % n).encode() for n in range(50)), go=go))
    body = {"model": "m", "stream": True, "messages": [user(ASKED)]}
    with here.served.client() as client, client.stream("POST", "/v1/chat/completions", json=body) as answer:
        pieces, came = answer.iter_raw(), b""
        while b'"3,"' not in came:
            came += next(pieces)
            go.release()
    assert here.said(2)[1].text.startswith("0,1,2,3,")
    go.release(60)


def test_a_stream_that_breaks_off_at_the_model_ends_as_a_fault_and_is_recorded_as_far_as_it_came(here: Running) -> None:
    one, _ = EVENTS["/v1/chat/completions"]
    here.upstream.then(Manner(script=((one % 1).encode(), (one % 2).encode()), breaks=True))
    body = {"model": "m", "stream": True, "messages": [user(ASKED)]}
    with (
        here.served.client() as client,
        client.stream("POST", "/v1/chat/completions", json=body) as answer,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        list(answer.iter_raw())
    assert words(here.said(2))[1] == ("assistant", "1,2,")


def test_a_stop_loses_nothing_that_was_said(tmp_path: Path) -> None:
    with provider(Manner(text="Noted.")) as upstream, open_memory(
        tmp_path / "memory.db", worker=False, proxy=behind(upstream.url)
    ) as memory:  # fmt: skip
        app = create_app(memory, environment=KEYS)
        with running(app) as url, httpx2.Client(base_url=url, trust_env=False) as client:
            for n in range(20):
                client.post("/v1/chat/completions", json={"model": "m", "messages": [user(f"locker {n}")]})
        assert len(memory.scope("me").history(limit=99).messages) == 40


# ------------------------------------------------------------------ faults


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 529])
def test_what_the_model_refuses_reaches_the_client_as_it_is(here: Running, status: int) -> None:
    raw = b'{"error": {"type": "some_error", "message": "no"} }'
    here.upstream.then(
        Manner(status=status, raw=raw, headers={"Retry-After": "7", "Set-Cookie": "a=b", "x-ratelimit-remaining": "0"})
    )
    with here.served.client() as client:
        told = client.post("/v1/chat/completions", json={"model": "m", "messages": [user(ASKED)]})
    assert (told.status_code, told.content) == (status, raw)
    assert (told.headers["retry-after"], told.headers["x-ratelimit-remaining"]) == ("7", "0")
    assert "set-cookie" not in told.headers
    assert words(here.said(1)) == [("user", ASKED)]


def test_the_sdk_tries_again_and_the_words_are_recorded_once(here: Running) -> None:
    here.upstream.then(Manner(status=500, raw=b"{}"), Manner(text="Yes."))
    done = here.openai(retries=2).chat.completions.create(model="m", messages=[user(ASKED)])
    assert done.choices[0].message.content == "Yes."
    assert len(here.upstream.requests) == 2
    assert words(here.said(2)) == [("user", ASKED), ("assistant", "Yes.")]


def problem(answer: httpx2.Response, status: int, kind: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.json()["type"] == f"urn:jiyi:problem:{kind}"
    assert KEY not in answer.text


@contextmanager
def chatting(path: Path, url: str, **proxy: Any) -> Iterator[tuple[MemoryLayer, httpx2.Client]]:
    """A served memory with a model at `url` behind it."""
    with open_memory(path, proxy=behind(url, **proxy)) as memory:
        app = create_app(memory, environment=KEYS)
        with running(app) as address, httpx2.Client(base_url=address, trust_env=False, timeout=60) as client:
            yield memory, client


def test_a_model_that_cannot_be_reached_is_said_and_the_words_are_kept(tmp_path: Path) -> None:
    body = {"model": "m", "messages": [user(ASKED)]}
    away = Manner(status=307, raw=b"{}", headers={"Location": "http://127.0.0.1:1/"})
    with (
        provider(away) as upstream,
        chatting(tmp_path / "memory.db", upstream.url, timeout_seconds=0.2) as (memory, client),
    ):
        problem(client.post("/v1/chat/completions", json=body), 502, "UpstreamRedirects")
        upstream.then(Manner(wait=30))
        problem(client.post("/v1/chat/completions", json=body), 504, "UpstreamTimeout")
        upstream.then(Manner(hang_up=True))
        told = client.post("/v1/chat/completions", json=body)
        problem(told, 502, "UpstreamUnreachable")
        assert told.headers["x-memory-session"].startswith("chat-")
        assert words(recorded(memory.scope("me"), 1)) == [("user", ASKED)]


def test_a_memory_that_fails_or_is_slow_holds_up_no_chat(here: Running, tmp_path: Path) -> None:
    body = {"model": "m", "messages": [user(ASKED)]}
    with chatting(tmp_path / "slow.db", here.upstream.url, memory_seconds=1e-6) as (memory, client):
        told = client.post("/v1/chat/completions", json=body)
        assert (told.status_code, told.headers["x-memory-status"]) == (200, "unavailable")
        assert len(recorded(memory.scope("me"), 2)) == 2
    here.served.memory.close()
    with here.served.client() as client:
        told = client.post("/v1/chat/completions", json=body)
    assert (told.status_code, told.headers["x-memory-status"]) == (200, "unavailable")
    assert [r["messages"] for r in here.upstream.requests] == [body["messages"]] * 2


@pytest.mark.parametrize(
    "body",
    [b"[1]", b'{"model": "m"}', b'{"model": "m", "messages": "hi"}', b'{"model": "m", "messages": ["hi"]}', b"{", b'{"model": "m", "messages": [{"role": "user", "content": "Which database?"}], "x": NaN}'],
)  # fmt: skip
def test_what_is_no_chat_reaches_no_model(here: Running, body: bytes) -> None:
    with here.served.client(**{"Content-Type": "application/json"}) as client:
        assert client.post("/v1/chat/completions", content=body).status_code in (400, 422)
    assert here.upstream.requests == []


def test_a_long_message_is_asked_by_its_end_and_recorded_whole(here: Running) -> None:
    text = "lorem " * 40_000 + ASKED
    with here.served.client() as client:
        told = client.post("/v1/chat/completions", json={"model": "m", "messages": [user(text)]})
    assert told.status_code == 200
    said = [m.text for m in here.said(4) if m.role == "user"]
    assert "".join(said).replace(" ", "") == text.replace(" ", "")


def test_a_picture_above_the_usual_limit_passes(here: Running) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 5_000_000}}
    body = {"model": "m", "messages": [{"role": "user", "content": [picture]}]}
    with here.served.client() as client:
        assert client.post("/v1/chat/completions", json=body).status_code == 200
        assert client.post("/v1/memories", json={"text": "A" * 5_000_000}).status_code == 413
    assert here.upstream.requests == [body]


def test_without_a_model_it_is_said_how_to_have_one(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", worker=False) as here, here.client() as client:
        problem(client.post("/v1/chat/completions", json={"model": "m", "messages": [user("x")]}), 404, "NoUpstream")
        problem(client.get("/v1/models"), 404, "NoUpstream")


# ------------------------------------------------------------------ who chats


def test_whose_memory_it_is_follows_from_the_token_and_no_token_reaches_the_model(tmp_path: Path) -> None:
    issuer = Issuer()
    with ExitStack() as stack, published(issuer) as jwks, provider(Manner(text="Yes.")) as upstream, open_memory(
        tmp_path / "memory.db", identity=trusting(jwks), proxy=behind(upstream.url)
    ) as memory:  # fmt: skip
        app = create_app(memory, environment=KEYS)
        ming = memory.scope("ming", tenant="acme")
        ming.remember("Our database is PostgreSQL.")
        _, service = memory.make_service_key("desk", tenant="acme", roles=[Role.AGENT])
        with running(app) as url:
            run, token = Running(Served(url, memory, app), upstream), issuer.token("ming")
            stack.enter_context(run.open)
            ask: Any = {"model": "m", "messages": [user(ASKED)]}
            run.openai(token).chat.completions.create(**ask)
            run.anthropic(token).messages.create(max_tokens=9, **ask)
            run.openai(service, **{"X-Memory-User": "ming"}).chat.completions.create(**ask)
            assert all("(m1" in system_of(r) for r in upstream.requests)
            lena = run.openai(issuer.token("lena"))
            assert lena.chat.completions.with_raw_response.create(**ask).headers["x-memory-status"] == "empty"
            count = len(upstream.requests)
            for forged in ({"user": "ming"}, {"extra_headers": {"X-Memory-User": "ming"}}):
                with pytest.raises(openai.PermissionDeniedError):
                    lena.chat.completions.create(**ask, **forged)
            with pytest.raises(openai.PermissionDeniedError):
                run.openai(service).chat.completions.create(**ask)
            with pytest.raises(openai.PermissionDeniedError):
                run.openai(issuer.token("ming", roles=["auditor"])).chat.completions.create(**ask)
            for wrong in filter(str.isascii, issuer.wrong_tokens("ming").values()):
                with pytest.raises(openai.AuthenticationError):
                    run.openai(wrong).chat.completions.create(**ask)
            with run.served.client(token, **{"x-api-key": issuer.token("lena")}) as two:
                assert two.post("/v1/chat/completions", json=ask).status_code == 401
            assert len(upstream.requests) == count
            sent = json.dumps(upstream.headers)
            assert token not in sent
            assert service not in sent


def test_on_one_s_own_machine_any_key_will_do_and_goes_on_only_if_that_is_set(tmp_path: Path) -> None:
    with provider(Manner(text="Yes.")) as upstream:
        for forward in (False, True):
            proxy = {"openai": {"base_url": upstream.url}, "forward_key": forward}
            with open_memory(tmp_path / "memory.db", proxy=proxy, worker=False) as memory:
                app = create_app(memory, environment={})
                with running(app) as url:
                    run = Running(Served(url, memory, app), upstream)
                    with run.open:
                        run.openai("the-client-s-own").chat.completions.create(model="m", messages=[user("hello")])
        first, second = (h.get("authorization") for h in upstream.headers)
    assert (first, second) == (None, "Bearer the-client-s-own")
    with pytest.raises(SettingsError, match="forward_key"):
        open_memory("reference", proxy={"forward_key": True}, identity={"mode": "jwt"})


def test_a_token_of_jiyi_s_own_is_looked_at_where_nobody_needs_one_and_goes_no_further(tmp_path: Path) -> None:
    with provider(Manner(text="Yes.")) as upstream, open_memory(
        tmp_path / "memory.db", proxy={"openai": {"base_url": upstream.url}, "forward_key": True}
    ) as memory:  # fmt: skip
        app = create_app(memory, environment={})
        visitor = memory.open_visitor()
        with running(app) as url:
            run = Running(Served(url, memory, app), upstream)
            run.me.remember("Our database is PostgreSQL.")
            ask: Any = {"model": "m", "messages": [user(ASKED)]}
            with run.open:
                run.openai(visitor.token).chat.completions.create(**ask)
                with pytest.raises(openai.AuthenticationError):
                    run.openai(visitor.token[:-3]).chat.completions.create(**ask)
            with run.served.client(**{"x-api-key": visitor.token}) as http:
                assert http.get("/v1/whoami").json()["user"] == visitor.scope.user
            assert words(run.said(2, memory.scope(visitor.scope.user))) == [("user", ASKED), ("assistant", "Yes.")]
            assert run.said(0) == []
    assert len(upstream.requests) == 1
    assert "PostgreSQL" not in json.dumps(upstream.requests)
    assert "jiyi_an_" not in json.dumps(upstream.headers)


def test_a_cookie_of_the_model_s_goes_to_no_client_and_does_not_come_back(here: Running) -> None:
    here.upstream.then(Manner(text="Yes.", headers={"Set-Cookie": "of=me; Path=/"}))
    with here.served.client() as client:
        for name in ("me", "lena"):
            answer = client.post(
                "/v1/chat/completions", json={"model": "m", "messages": [user(ASKED)]}, headers={"X-Jiyi-User": name}
            )
            assert "set-cookie" not in answer.headers
    assert ["cookie" in sent for sent in here.upstream.headers] == [False, False]


def test_a_model_s_header_that_is_no_latin_passes_and_a_status_that_there_is_not_is_said(here: Running) -> None:
    # The server writes headers as Latin-1: these are the bytes of UTF-8.
    told = "限额".encode().decode("latin-1")
    here.upstream.then(Manner(headers={"X-RateLimit-Note": told}, text="Yes."), Manner(status=600, raw=b"{}"))
    ask = {"model": "m", "messages": [user(ASKED)]}
    with here.served.client() as client:
        passes = client.post("/v1/chat/completions", json=ask)
        assert (passes.status_code, dict(passes.headers.raw)[b"x-ratelimit-note"]) == (200, "限额".encode())
        odd = client.post("/v1/chat/completions", json=ask)
        assert (odd.status_code, odd.json()["type"]) == (502, "urn:jiyi:problem:UpstreamUnreachable")


def test_no_client_chooses_the_address(here: Running) -> None:
    with here.served.client() as client:
        for more in ({"base_url": "http://127.0.0.1:1"}, {"upstream": "http://127.0.0.1:1"}):
            client.post(
                "/v1/chat/completions",
                json={"model": "m", "messages": [user("x")], **more},
                headers={"X-Upstream": "http://127.0.0.1:1"},
            )
        assert (
            client.post(
                "/v1/chat/completions?base_url=http://127.0.0.1:1", json={"model": "m", "messages": [user("x")]}
            ).status_code
            == 422
        )
    assert here.upstream.paths == ["/v1/chat/completions"] * 2


# ------------------------------------------------------------------ awaited


def test_many_chats_at_once_keep_apart(here: Running) -> None:
    here.upstream.then(Manner(text="Your locker is known to me.", pieces=9))

    async def one(client: openai.AsyncOpenAI, number: int) -> str:
        stream = await client.chat.completions.create(
            model="m",
            messages=[user(f"My locker is {number}.")],
            stream=True,
            extra_headers={"X-Jiyi-User": f"u{number}"},
        )
        return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])

    async def all_of_them() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{here.served.url}/v1", api_key="any") as client:
            return await asyncio.gather(*(one(client, n) for n in range(24)))

    assert set(asyncio.run(all_of_them())) == {"Your locker is known to me."}
    for number in range(24):
        said = here.said(2, here.served.memory.scope(f"u{number}"))
        assert words(said) == [("user", f"My locker is {number}."), ("assistant", "Your locker is known to me.")]


def test_what_a_model_makes_of_a_shared_memory_stays_out_of_the_user_s_own(tmp_path: Path) -> None:
    with provider(Manner(text="It is PostgreSQL, as your team says.")) as upstream, open_memory(
        tmp_path / "memory.db", proxy=behind(upstream.url, model="m"), identity={"shared": ["team"]}
    ) as memory:  # fmt: skip
        app = create_app(memory, environment=KEYS)
        memory.shared("team").remember("Our database is PostgreSQL.", category="general")
        with running(app) as url:
            run = Running(Served(url, memory, app), upstream)
            with run.open, run.served.client() as client:
                told = run.openai().chat.completions.with_raw_response.create(model="m", messages=[user(ASKED)])
                assert told.headers["x-memory-ids"] == "m1@team"
                assert "m1@team · shared" in system_of(upstream.requests[0])
                client.post("/chat", json={"message": "And which database do others use?"})
                run.openai().chat.completions.create(model="m", messages=[user("What is the capital of France?")])
                found = words(run.said(4))
        assert [text for role, text in found if role == "user"] == [
            ASKED, "And which database do others use?", "What is the capital of France?",
        ]  # fmt: skip
        assert sum(role == "assistant" for role, _ in found) == 1  # to what no shared memory had a part in
        assert memory.shared("team").history().messages == ()


# ------------------------------------------------------------------ what went wrong


def test_the_sdks_show_what_went_wrong(here: Running) -> None:
    gpt, claude = here.openai(), here.anthropic()
    for ask in (
        lambda: gpt.chat.completions.create(model="m", messages=[]),
        lambda: claude.messages.create(model="m", max_tokens=9, messages=[]),
    ):
        with pytest.raises((openai.UnprocessableEntityError, anthropic.UnprocessableEntityError)) as told:
            ask()
        body: Any = told.value.response.json()
        assert body["type"] == "urn:jiyi:problem:InvalidRequest"
        assert body["error"]["type"] == "invalid_request_error"
        assert "messages" in body["error"]["message"]
        assert told.value.response.headers["content-type"] == "application/problem+json"
    with pytest.raises(openai.AuthenticationError) as refused:
        here.openai("jiyi_sk_00000000_abc").chat.completions.create(model="m", messages=[user("hi")])
    assert (refused.value.code, refused.value.type) == ("NotIdentified", "authentication_error")
    with pytest.raises(anthropic.AuthenticationError) as turned_away:
        here.anthropic("jiyi_sk_00000000_abc").messages.create(model="m", max_tokens=9, messages=[user("hi")])  # type: ignore[list-item]
    assert turned_away.value.type == "authentication_error"
    with here.served.client() as client:
        assert "error" not in client.get("/v1/memories/m99").json()


def test_an_answer_without_end_is_given_up(tmp_path: Path) -> None:
    endless = Manner(raw=b'{"choices": [{"message": {"content": "' + b"a" * (17 * 1024 * 1024))
    with (
        provider(endless) as upstream,
        chatting(tmp_path / "memory.db", upstream.url, model="m") as (memory, client),
    ):
        problem(client.post("/chat", json={"message": "hello"}), 502, "UpstreamTooLong")
        assert words(recorded(memory.scope("me"), 1)) == [("user", "hello")]
