"""`jiyi.wrap`: the official SDKs with a memory and no server between (SPEC U2)."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

import jiyi
from jiyi import MemoryLayer, ScopedMemory, open_memory, open_memory_async
from jiyi.errors import InputError
from jiyi.surfaces.chats.upstreams import read_upstreams
from tests.models.server import Manner, Provider, provider
from tests.surfaces.served import served

ASKED = "Which database do we use?"
KEYS: dict[str, Any] = {"api_key": "any", "max_retries": 0}
MESSAGES: Any = [{"role": "user", "content": ASKED}]
CLAUDE: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": MESSAGES}
GPT: dict[str, Any] = {"model": "m", "messages": MESSAGES}
DONE = [("user", ASKED), ("assistant", "It is PostgreSQL.")]


@pytest.fixture
def upstream() -> Iterator[Provider]:
    with provider(Manner(text="It is PostgreSQL.", pieces=0)) as server:
        yield server


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryLayer]:
    with open_memory(tmp_path / "memory.db", worker=False) as layer:
        layer.scope("ming").remember("Our database is PostgreSQL.")
        yield layer


@pytest.fixture
def me(memory: MemoryLayer) -> ScopedMemory:
    return memory.scope("ming")


def claude_at(server: Provider) -> str:
    return server.url.removesuffix("/v1")


def said(me: ScopedMemory) -> list[tuple[str, str]]:
    return [(m.role.value, m.text) for m in me.history(limit=99).messages]


def handed(server: Provider) -> str:
    request = server.requests[-1]
    assert request["messages"][-1] == MESSAGES[0]
    return str(request.get("system") or request["messages"][0]["content"])


@pytest.mark.parametrize("stream", [False, True])
def test_openai_s_client(upstream: Provider, me: ScopedMemory, stream: bool) -> None:
    upstream.then(Manner(text="It is PostgreSQL.", pieces=3 if stream else 0))
    with openai.OpenAI(base_url=upstream.url, **KEYS) as client:
        wrapped = jiyi.wrap(client, me)
        assert isinstance(wrapped, openai.OpenAI)
        answer: Any = wrapped.chat.completions.create(**GPT, stream=stream)
        text = (
            "".join(c.choices[0].delta.content or "" for c in answer if c.choices)
            if stream
            else answer.choices[0].message.content
        )
        assert text == "It is PostgreSQL."
        assert "PostgreSQL. (m1)" in handed(upstream)
        assert said(me) == DONE
        client.chat.completions.create(**GPT)
        assert upstream.requests[-1]["messages"] == MESSAGES, "the client itself is as it was"
        assert said(me) == DONE


def test_openai_s_helpers(upstream: Provider, me: ScopedMemory) -> None:
    class City(BaseModel):
        name: str

    with openai.OpenAI(base_url=upstream.url, **KEYS) as client:
        wrapped = jiyi.wrap(client, me, session="s1")
        upstream.then(Manner(text='{"name": "Leeds"}'))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the SDK's own, about the shape of what our upstream sends
            parsed = wrapped.chat.completions.parse(**GPT, response_format=City)
            assert parsed.choices[0].message.parsed == City(name="Leeds")
        raw = wrapped.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "And my cat?"}]
        )
        assert raw.parse().choices[0].message.content == '{"name": "Leeds"}'
    assert said(me) == [("user", ASKED), ("assistant", '{"name": "Leeds"}'), ("user", "And my cat?")]


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_s_client(upstream: Provider, me: ScopedMemory, stream: bool) -> None:
    upstream.then(Manner(text="It is PostgreSQL.", pieces=3 if stream else 0))
    with anthropic.Anthropic(base_url=claude_at(upstream), **KEYS) as client:
        answer: Any = jiyi.wrap(client, me).messages.create(**CLAUDE, system="Be brief.", stream=stream)
        if stream:
            assert "".join(e.delta.text for e in answer if e.type == "content_block_delta") == "It is PostgreSQL."
        else:
            assert answer.content[0].text == "It is PostgreSQL."
    assert handed(upstream).startswith("Be brief.\n\n<memory>\n")
    assert said(me) == DONE


def test_a_stream_that_is_left_is_recorded_as_far_as_it_came(upstream: Provider, me: ScopedMemory) -> None:
    upstream.then(Manner(text="It is PostgreSQL.", pieces=17))
    with (
        openai.OpenAI(base_url=upstream.url, **KEYS) as client,
        jiyi.wrap(client, me).chat.completions.create(**GPT, stream=True) as stream,
    ):
        for _ in range(5):
            next(stream)
    assert said(me) == [("user", ASKED), ("assistant", "It is")]


def test_with_await(upstream: Provider, tmp_path: Path) -> None:
    upstream.then(Manner(text="It is PostgreSQL.", pieces=3))

    async def live() -> None:
        async with (
            await open_memory_async(tmp_path / "memory.db", worker=False) as memory,
            openai.AsyncOpenAI(base_url=upstream.url, **KEYS) as gpt,
            anthropic.AsyncAnthropic(base_url=claude_at(upstream), **KEYS) as claude,
        ):
            for number, client in enumerate((gpt, claude)):
                me = memory.scope(f"u{number}")
                await me.remember("Our database is PostgreSQL.")
                wrapped: Any = jiyi.wrap(client, me)
                create, given = (
                    (wrapped.chat.completions.create, GPT) if number == 0 else (wrapped.messages.create, CLAUDE)
                )
                stream = await create(**given, stream=True)
                async for _ in stream:
                    pass
                assert "PostgreSQL. (m1)" in handed(upstream)
                assert [(m.role.value, m.text) for m in (await me.history()).messages] == DONE

    asyncio.run(live())


def test_the_helpers_that_stream(tmp_path: Path, me: ScopedMemory) -> None:
    """The stand-in sends every event that the SDKs' own helpers put together again; its memory stays out of it."""
    alone = {"default_headers": {"X-Memory-Mode": "off"}, **KEYS}

    async def live(url: str) -> list[str]:
        async with (
            openai.AsyncOpenAI(base_url=f"{url}/v1", **alone) as gpt,
            anthropic.AsyncAnthropic(base_url=url, **alone) as claude,
        ):
            async with jiyi.wrap(gpt, me, session="s3").chat.completions.stream(**GPT) as one:
                first = str((await one.get_final_completion()).choices[0].message.content)
            async with jiyi.wrap(claude, me, session="s4").messages.stream(**CLAUDE) as other:
                return [first, await other.get_final_text()]

    with served(tmp_path / "echo.db", proxy=read_upstreams(["echo"])) as echo:
        with (
            openai.OpenAI(base_url=f"{echo.url}/v1", **alone) as gpt,
            jiyi.wrap(gpt, me, session="s1").chat.completions.stream(**GPT) as one,
        ):
            told = [str(one.get_final_completion().choices[0].message.content)]
        with anthropic.Anthropic(base_url=echo.url, **alone) as claude:
            with jiyi.wrap(claude, me, session="s2").messages.stream(**CLAUDE) as other:
                told.append("".join(other.text_stream))
            with jiyi.wrap(claude, me, session="s5").messages.stream(**CLAUDE) as broken_off:
                for _ in broken_off.text_stream:
                    break
        told += asyncio.run(live(echo.url))
        assert echo.memory.scope("me").history().messages == ()
    for number, text in enumerate(told, 1):
        assert "PostgreSQL. (m1)" in text
        words, answer = me.history(session=f"s{number}").messages
        assert words.text == ASKED
        assert text.startswith(answer.text)
    assert me.history(session="s5").messages[1].text.startswith("I stand in for a model.")


def test_when_the_model_fails_the_words_are_kept(upstream: Provider, me: ScopedMemory) -> None:
    upstream.then(Manner(status=500, raw=b"{}"))
    with openai.OpenAI(base_url=upstream.url, **KEYS) as client:
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                jiyi.wrap(client, me).chat.completions.create(**GPT)
    assert said(me) == [("user", ASKED)]


def test_when_memory_fails_the_chat_goes_on(
    upstream: Provider, memory: MemoryLayer, me: ScopedMemory, caplog: pytest.LogCaptureFixture
) -> None:
    memory.close()
    with openai.OpenAI(base_url=upstream.url, **KEYS) as client, caplog.at_level(logging.WARNING, "jiyi.chats"):
        done = jiyi.wrap(client, me).chat.completions.create(**GPT)
    assert done.choices[0].message.content == "It is PostgreSQL."
    assert upstream.requests[-1]["messages"] == MESSAGES
    assert "StoreClosed" in caplog.text
    assert ASKED not in caplog.text


@pytest.mark.parametrize(("mode", "block", "count"), [("off", False, 0), ("read", True, 0), ("write", False, 2)])
def test_what_memory_does_is_chosen(upstream: Provider, me: ScopedMemory, mode: str, block: bool, count: int) -> None:
    with openai.OpenAI(base_url=upstream.url, **KEYS) as client:
        jiyi.wrap(client, me, mode=mode).chat.completions.create(**GPT)
    assert ("<memory>" in handed(upstream)) is block
    assert len(said(me)) == count


def test_what_is_no_client_is_refused(me: ScopedMemory) -> None:
    with pytest.raises(InputError, match="openai or anthropic"):
        jiyi.wrap(object(), me)
    with pytest.raises(InputError, match="mode"):
        jiyi.wrap(object(), me, mode="some")
