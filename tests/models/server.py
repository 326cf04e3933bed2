"""A real HTTP server that plays a provider's manners, on both wires. Its replies are written by hand."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from jiyi.testing.embedders import ByCharacters


@dataclass(frozen=True)
class Manner:
    """How one request is answered: with `text` as the model's words, or with a status and a raw body."""

    text: str = '{"memories": []}'
    status: int = 200
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    pieces: int = 0
    pause: float = 0.0
    finish: str | None = "stop"
    tool: bool = False
    usage: bool = True
    hang_up: bool = False
    # A stream in exactly these pieces; from the second on, each waits until `go` allows it. `breaks` ends it as a fault does.
    script: tuple[bytes, ...] = ()
    go: threading.Semaphore | None = None
    breaks: bool = False


class Provider(ThreadingHTTPServer):
    """Answers requests with the manners in turn, the last one for ever, and keeps what it was asked."""

    daemon_threads = True
    request_queue_size = 128  # many come at one moment

    def __init__(self, *manners: Manner) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.manners = deque(manners or (Manner(),))
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.refused_ways: set[str] = set()
        self.dimension = 8  # of embeddings; most_texts is how many it takes at once
        self.most_texts = 1000
        self.knows_formats = True
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next(self) -> Manner:
        return self.manners.popleft() if len(self.manners) > 1 else self.manners[0]

    def then(self, *manners: Manner) -> None:
        self.manners = deque(manners)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the play."""


class _Handler(BaseHTTPRequestHandler):
    server: Provider
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._note(b"")
        self._send(200, b'{"object": "list", "data": [{"id": "model-1", "object": "model", "type": "model"}]}')

    def _note(self, content: bytes) -> None:
        self.server.bodies.append(content)
        self.server.paths.append(self.path)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self._note(content)
        body = json.loads(content)
        self.server.requests.append(body)
        self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
        anthropic = self.path.partition("?")[0].endswith("/messages")
        embeddings = self.path.endswith("/embeddings")
        if embeddings and (
            len(body["input"]) > self.server.most_texts or ("encoding_format" in body and not self.server.knows_formats)
        ):
            return self._send(400, b'{"error": {"type": "invalid_request_error", "message": "not supported"}}')
        if way_of(body) in self.server.refused_ways:
            return self._send(400, b'{"error": {"type": "invalid_request_error", "message": "not supported"}}')
        manner = self.server.next()
        self.server.over.wait(manner.wait)
        if manner.hang_up:
            self.close_connection = True
            return None
        if manner.raw is not None or manner.status != 200:
            return self._send(manner.status, manner.raw or b"", manner.headers)
        if manner.script:
            return self._play(manner)
        if manner.pieces:
            return self._stream(events(manner, anthropic), manner.pause)
        document = anthropic_document(manner) if anthropic else openai_document(manner)
        if embeddings:
            document = embeddings_document(body["input"], body.get("dimensions") or self.server.dimension)
        return self._send(200, json.dumps(document, ensure_ascii=False).encode(), manner.headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _play(self, manner: Manner) -> None:
        self.send_response(200)
        for name, value in {
            "Content-Type": "text/event-stream",
            "Transfer-Encoding": "chunked",
            **manner.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        for number, piece in enumerate(manner.script):
            if number and manner.go is not None:
                manner.go.acquire()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        if manner.breaks:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _stream(self, lines: list[str], pause: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for line in lines:
            self.wfile.write(line.encode())
            self.wfile.flush()
            if pause:
                self.server.over.wait(pause)
        self.close_connection = True


def way_of(body: dict[str, Any]) -> str:
    """How a request asks for JSON."""
    if "tools" in body:
        return "tool"
    if "output_config" in body:
        return "schema"
    kind = body.get("response_format", {}).get("type", "")
    if kind:
        return {"json_schema": "schema", "json_object": "json"}[kind]
    return "text" if "temperature" in body else "plain"


def openai_document(manner: Manner) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": manner.text}
    if manner.tool:
        call = {"id": "c1", "type": "function", "function": {"name": "memories", "arguments": manner.text}}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
    document: dict[str, Any] = {"choices": [{"index": 0, "finish_reason": manner.finish, "message": said}]}
    document |= {"id": "c1", "object": "chat.completion", "created": 0, "model": "model-1"}
    if manner.usage:
        document["usage"] = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return document


def embeddings_document(texts: list[str], dimension: int) -> dict[str, Any]:
    """Vectors of length 2, the last text first: an endpoint may give them in any order."""
    vectors = ByCharacters(dimension=dimension).documents(texts).tolist()
    data = [{"object": "embedding", "index": n, "embedding": [2 * x for x in v]} for n, v in enumerate(vectors)]
    return {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": 10 * len(texts), "total_tokens": 0}}


def anthropic_document(manner: Manner) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": manner.text}
    if manner.tool:
        block = {"type": "tool_use", "id": "t1", "name": "memories", "input": json.loads(manner.text)}
    stop = {"stop": "end_turn", "length": "max_tokens"}.get(manner.finish or "", "end_turn")
    document: dict[str, Any] = {"type": "message", "role": "assistant", "content": [block], "stop_reason": stop}
    document |= {"id": "msg_1", "model": "model-1", "stop_sequence": None}
    if manner.usage:
        document["usage"] = {"input_tokens": 1000, "output_tokens": 100}
    return document


def events(manner: Manner, anthropic: bool) -> list[str]:
    size = max(1, len(manner.text) // manner.pieces)
    pieces = [manner.text[i : i + size] for i in range(0, len(manner.text), size)]
    if anthropic:
        told: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": {"input_tokens": 1000}}}]
        told += [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": p}} for p in pieces]
        if manner.finish:
            told += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 100}}]
        return [f"event: {t['type']}\ndata: {json.dumps(t, ensure_ascii=False)}\n\n" for t in told]
    told = [{"choices": [{"index": 0, "delta": {"content": p}, "finish_reason": None}]} for p in pieces]
    if manner.finish:
        told.append({"choices": [{"index": 0, "delta": {}, "finish_reason": manner.finish}]})
    told.append({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}})
    lines = [f"data: {json.dumps(t, ensure_ascii=False)}\n\n" for t in told]
    return [": hello\n\n", *lines, "data: [DONE]\n\n"]


@contextmanager
def provider(*manners: Manner) -> Iterator[Provider]:
    server = Provider(*manners)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def items(*memories: dict[str, Any]) -> str:
    """An answer of the published shape."""
    common = {
        "category": "general", "importance": 3, "messages": [1], "subject": None, "relation": None, "object": None,
        "mode": "statement", "heard": False,
    }  # fmt: skip
    return json.dumps({"memories": [{**common, **m} for m in memories]}, ensure_ascii=False)
