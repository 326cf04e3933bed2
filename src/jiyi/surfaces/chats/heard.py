"""What a model answered, heard while it passes by: whole, or as a stream of events that may break off anywhere."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from jiyi.surfaces.chats.wires import Wire

MAX_BYTES = 16 * 1024 * 1024
"""What is kept of an answer that is not streamed, and of one event; beyond, nothing is heard any more."""
MAX_CHARS = 2_000_000
"""What is kept of the words of a stream, which need not end."""


class Events:
    """Server-sent events from bytes in pieces: the JSON of each one's data."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data, self._held, self._deaf = list[bytes](), 0, False

    def feed(self, piece: bytes) -> Iterator[Mapping[str, Any]]:
        if self._deaf:
            return
        self._line += piece
        if b"\n" in piece:  # else a long line would be looked through again with each of its pieces
            *lines, rest = bytes(self._line).replace(b"\r\n", b"\n").split(b"\n")
            self._line = bytearray(rest)
            for line in lines:
                if line.startswith(b"data:"):
                    self._data.append(line[5:].strip())
                    self._held += len(line)
                elif not line.strip():
                    event = _document(b"\n".join(self._data)) if self._data else None
                    self._data, self._held = [], 0
                    if event is not None:
                        yield event
        if self._held + len(self._line) > MAX_BYTES:
            self._deaf, self._line, self._data = True, bytearray(), []


class Heard:
    """One answer. `feed` it what arrives; `text` is what the model has said so far."""

    def __init__(self, wire: Wire, *, streamed: bool, encoding: str = "") -> None:
        self._wire, self._streamed = wire, streamed
        # Asked to send plain text, most do; who zips all the same is understood.
        self._unzip = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding in ("gzip", "deflate") else None
        self._deaf = encoding not in ("", "identity", "gzip", "deflate")
        self._events, self._parts, self._chars = Events(), dict[int, list[str]](), 0
        self._body = bytearray()

    def feed(self, piece: bytes) -> None:
        if self._deaf:
            return
        try:
            plain = piece if self._unzip is None else self._unzip.decompress(piece, MAX_BYTES)
        except zlib.error:
            self._deaf = True
            return
        if not self._streamed:
            self._body += plain
        # A little that was zipped may stand for very much.
        if (self._unzip is not None and self._unzip.unconsumed_tail) or len(self._body) > MAX_BYTES:
            self._deaf, self._body = True, bytearray()
        if not self._streamed:
            return
        for event in self._events.feed(plain):
            self.event(event)

    def event(self, event: Any) -> None:
        """One event of a stream, read already."""
        index, text = self._wire.piece(event)
        text = text[: MAX_CHARS - self._chars]
        if text:
            self._chars += len(text)
            self._parts.setdefault(index, []).append(text)

    @property
    def text(self) -> str:
        if self._streamed:
            return "\n\n".join("".join(part) for _, part in sorted(self._parts.items()))
        document = _document(bytes(self._body))
        return "" if document is None else self._wire.answer(document)


def _document(data: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None
