"""Promises about any request and any answer: what is changed, and what is heard (SPEC U2)."""

from __future__ import annotations

import gzip
import json
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.memory import Language
from jiyi.pipelines.context import CLOSE, OPEN, WORDS
from jiyi.surfaces.chats.heard import Heard
from jiyi.surfaces.chats.wires import ANTHROPIC, BLOCK, OPENAI, Wire, said

BLOCKS = ["\n".join([OPEN, WORDS[language]["head"], "- [2026-03-02] 住在杭州 (m1)", CLOSE]) for language in Language]
TEXTS = st.one_of(st.text(max_size=30), st.sampled_from([*BLOCKS, f"{BLOCKS[0]} and more", "<memory>mine</memory>"]))
PARTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
    st.fixed_dictionaries(
        {"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": st.text(max_size=9)})}
    ),
    st.fixed_dictionaries({"type": st.just("tool_result"), "content": TEXTS}),
)
CONTENT = st.one_of(TEXTS, st.lists(PARTS, max_size=3), st.none())
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool"]), "content": CONTENT}
    ),
    max_size=6,
)
WIRES = pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC], ids=lambda w: w.name)


def people(request: dict[str, Any], wire: Wire) -> list[Any]:
    """The messages of everybody but the system."""
    return [m for m in request["messages"] if wire is ANTHROPIC or m["role"] not in ("system", "developer")]


@WIRES
@given(messages=MESSAGES, system=CONTENT, block=st.sampled_from(BLOCKS))
def test_a_block_changes_the_system_role_alone_and_stands_there_once(
    wire: Wire, messages: list[Any], system: Any, block: str
) -> None:
    request = {"model": "m", "messages": messages, "temperature": 0.1} | (
        {"system": system} if wire is ANTHROPIC else {}
    )
    before = deepcopy(request)
    once = wire.with_block(request, block)
    assert request == before
    assert people(once, wire) == people(request, wire)
    assert BLOCK.findall(wire.system(once)) == [BLOCK.findall(wire.system(once))[0]]
    assert wire.system(once).count(block) == 1
    assert wire.with_block(once, block) == once
    assert said(once) == said(request)


SAID = st.lists(st.text(min_size=1, max_size=20), max_size=8)


def stream(wire: Wire, pieces: list[str]) -> bytes:
    events: list[dict[str, Any]] = [{"type": "ping"}, {"choices": []}]
    for piece in pieces:
        if wire is OPENAI:
            events.append(
                {"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": piece}}]}
            )
        else:
            events.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
            events.append(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "no"}}
            )
    lines = [f"event: x\r\ndata: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events]
    return ": hi\n\n".join([*lines, "data: [DONE]\n\n"]).encode("utf-8", "surrogatepass")


@WIRES
@given(pieces=SAID, cuts=st.lists(st.integers(0, 2000), max_size=20), zipped=st.booleans())
def test_a_stream_is_heard_however_it_is_cut(wire: Wire, pieces: list[str], cuts: list[int], zipped: bool) -> None:
    content = stream(wire, pieces)
    content = gzip.compress(content) if zipped else content
    heard = Heard(wire, streamed=True, encoding="gzip" if zipped else "")
    places = sorted({0, *(c for c in cuts if c < len(content)), len(content)})
    for begin, end in pairwise(places):
        heard.feed(content[begin:end])
    assert heard.text == "".join(pieces)


@WIRES
@given(
    content=st.binary(max_size=200), streamed=st.booleans(), encoding=st.sampled_from(["", "gzip", "br", "identity"])
)
def test_what_nobody_understands_is_heard_as_nothing(wire: Wire, content: bytes, streamed: bool, encoding: str) -> None:
    heard = Heard(wire, streamed=streamed, encoding=encoding)
    heard.feed(content)
    assert heard.text == ""


@pytest.mark.parametrize(
    "document",
    [
        {"choices": [{"message": {"content": "hello"}}]},
        {"choices": [{"index": 1, "message": {"content": "no"}}, {"index": 0, "message": {"content": [{"type": "text", "text": "hello"}]}}]},
        {"choices": [{"index": 0, "message": {"content": "hello", "tool_calls": [{"id": "1"}]}}]},
    ],
)  # fmt: skip
def test_the_words_of_a_whole_answer(document: dict[str, Any]) -> None:
    assert OPENAI.answer(document) == "hello"


def test_the_words_of_a_whole_answer_of_blocks() -> None:
    blocks = [
        {"type": "thinking", "thinking": "no"}, {"type": "text", "text": "one"}, {"type": "tool_use", "input": {"text": "no"}},
        {"type": "text", "text": "two"},
    ]  # fmt: skip
    assert ANTHROPIC.answer({"content": blocks}) == "one\n\ntwo"
