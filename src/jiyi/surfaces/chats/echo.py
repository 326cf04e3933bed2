"""A stand-in for a model, built in: it answers with what it was handed, in the way it was asked, so that memory can be tried
without a key, a server or a network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from jiyi.domain.language import language_of
from jiyi.domain.memory import Language
from jiyi.domain.tokens import estimate_tokens
from jiyi.errors import MissingExtra
from jiyi.surfaces.chats.upstreams import ECHO
from jiyi.surfaces.chats.wires import ANTHROPIC, OPENAI, WIRES, Wire, said

try:
    import httpx2
except ImportError as error:
    raise MissingExtra("httpx2, which language models are reached with,", "models") from error

WORDS = {
    Language.ZH: ("我是模型的替身。你说：{text}", "交给我的系统提示：", "没有交给我任何记忆。"),
    Language.EN: (
        "I stand in for a model. You said: {text}",
        "What I was handed as the system prompt:",
        "I was handed no memory.",
    ),
}
PIECE = 24
"""Characters of one event."""


class Echo(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers in place of a server, on both wires."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return _respond(request, request.read())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return _respond(request, await request.aread())


class _Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def _respond(request: httpx2.Request, content: bytes) -> httpx2.Response:
    wire = WIRES[ANTHROPIC.name if "anthropic-version" in request.headers else OPENAI.name]
    if request.method == "GET":
        return _json({"object": "list", "data": [{"id": ECHO, "object": "model", "type": "model", "owned_by": "jiyi"}]})
    asked = json.loads(content)
    text = reply(wire, asked)
    usage = estimate_tokens(content.decode("utf-8", "replace")), estimate_tokens(text)
    if not asked.get("stream"):
        return _json(_document(wire, text, usage))
    lines = [_line(wire, event) for event in _events(wire, text, usage)]
    end = [b"data: [DONE]\n\n"] if wire is OPENAI else []
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Pieces([*lines, *end]))


def reply(wire: Wire, asked: Mapping[str, Any]) -> str:
    """What was said, and what came along with it, in the language of the question."""
    text, handed = said(asked).question, wire.system(asked)
    begin, title, nothing = WORDS[language_of(text, Language.EN)]
    return "\n\n".join([begin.format(text=text), f"{title}\n{handed}" if handed else nothing])


def _json(document: Mapping[str, Any]) -> httpx2.Response:
    body = json.dumps(document, ensure_ascii=False).encode()
    return httpx2.Response(200, headers={"content-type": "application/json"}, stream=_Pieces([body]))


def _document(wire: Wire, text: str, usage: tuple[int, int]) -> dict[str, Any]:
    if wire is ANTHROPIC:
        return {
            "id": "msg_echo", "type": "message", "role": "assistant", "model": ECHO, "stop_reason": "end_turn",
            "stop_sequence": None, "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": usage[0], "output_tokens": usage[1]},
        }  # fmt: skip
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-echo", "object": "chat.completion", "created": 0, "model": ECHO,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)},
    }  # fmt: skip


def _events(wire: Wire, text: str, usage: tuple[int, int]) -> Iterator[dict[str, Any]]:
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    if wire is ANTHROPIC:
        begun = _document(wire, "", (usage[0], 0)) | {"content": [], "stop_reason": None}
        yield {"type": "message_start", "message": begun}
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for piece in pieces:
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        yield {"type": "content_block_stop", "index": 0}
        over = {"stop_reason": "end_turn", "stop_sequence": None}
        yield {"type": "message_delta", "delta": over, "usage": {"output_tokens": usage[1]}}
        yield {"type": "message_stop"}
        return
    common = {"id": "chatcmpl-echo", "object": "chat.completion.chunk", "created": 0, "model": ECHO}
    for piece in pieces:
        yield {**common, "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
    yield {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def _line(wire: Wire, event: Mapping[str, Any]) -> bytes:
    name = f"event: {event['type']}\n" if wire is ANTHROPIC else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
