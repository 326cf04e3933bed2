"""Promises about any request and any answer: what is changed, and what is heard (SPEC U2)."""

from __future__ import annotations

import gzip
import json
import re
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.memory import Language
from jiyi.pipelines.context import CLOSE, OPEN, WORDS
from jiyi.surfaces.chats.heard import MAX_BYTES, MAX_CHARS, Heard
from jiyi.surfaces.chats.wires import ANTHROPIC, OPENAI, Wire, said, without_blocks

BLOCKS = ["\n".join([OPEN, WORDS[language]["head"], "- [2026-03-02] 住在杭州 (m1)", CLOSE]) for language in Language]
HEADS = "|".join(re.escape(words["head"]) for words in WORDS.values())
BLOCK = re.compile(rf"\s*{OPEN}\n(?:{HEADS})\n.*?{CLOSE}", re.DOTALL)
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


BITS = st.sampled_from(
    [*BLOCKS, f"{OPEN}\n", *(f"{words['head']}\n" for words in WORDS.values()), CLOSE, " ", "\n", "\u3000", "a"]
)


@given(bits=st.lists(BITS, max_size=12))
def test_blocks_are_left_out_and_nothing_else(bits: list[str]) -> None:
    text = "".join(bits)
    rest = without_blocks(text)
    assert rest == BLOCK.sub("", text)
    open_one = re.search(rf"\s*{OPEN}\n(?:{HEADS})\n", rest)
    assert without_blocks(text, ends=True) == (rest if open_one is None else rest[: open_one.start()])


@WIRES
@pytest.mark.parametrize("begun", [" ", f"{OPEN}\n{WORDS[Language.EN]['head']}\n"])
def test_no_text_takes_longer_than_its_length(wire: Wire, begun: str) -> None:
    # By the square of its length this would take hours.
    long = "x" + begun * 200_000 + "x"
    request: dict[str, Any] = {"messages": [{"role": "system", "content": long}], "system": long}
    assert long in wire.system(wire.with_block(request, BLOCKS[0]))


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


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "index", "delta", "content_block", "choices", "content", "text", "message"]), inner
        ),
    ),
    max_leaves=12,
)


@WIRES
@given(event=JSON, document=JSON)
def test_no_answer_is_so_odd_that_hearing_it_fails(wire: Wire, event: Any, document: Any) -> None:
    heard = Heard(wire, streamed=True)
    heard.feed(f"data: {json.dumps({'type': event} if isinstance(event, list) else event)}\n\n".encode())
    assert isinstance(heard.text, str)
    assert isinstance(wire.answer(document), str)


def spoken(text: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n".encode()


def test_a_stream_that_does_not_end_is_kept_up_to_a_limit() -> None:
    heard = Heard(OPENAI, streamed=True)
    for _ in range(30):
        heard.feed(spoken("a" * 100_000))
    assert heard.text == "a" * MAX_CHARS


@pytest.mark.parametrize("line", [b"data: ", b"data: x\n", b": "])
def test_an_event_that_does_not_end_is_heard_no_further(line: bytes) -> None:
    heard = Heard(OPENAI, streamed=True)
    heard.feed(spoken("hello") + line)
    for _ in range(MAX_BYTES // 10_000 + 2):
        heard.feed(b"data: " + b"x" * 9_993 + b"\n" if line.endswith(b"\n") else b"x" * 10_000)
    heard.feed(b"\n\n" + spoken(" again"))
    assert heard.text == "hello"


@pytest.mark.parametrize("streamed", [True, False])
def test_a_little_that_stands_for_very_much_is_not_unpacked(streamed: bool) -> None:
    heard = Heard(OPENAI, streamed=streamed, encoding="gzip")
    heard.feed(gzip.compress(spoken("hello") + b"\0" * 2 * MAX_BYTES))
    heard.feed(gzip.compress(spoken("again")))
    assert heard.text in ("", "hello")


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
