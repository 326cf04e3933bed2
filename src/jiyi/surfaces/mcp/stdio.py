"""MCP over stdin and stdout: one JSON-RPC message a line (SPEC U3).

The SDK's own transport drops a line that it cannot read, so that whoever sent it waits for ever; it cancels what runs when
stdin closes; and it cannot be stopped by a signal. Here a bad line is answered, what was asked before the end is answered,
and a signal ends it like the end of stdin.
"""

from __future__ import annotations

import json
import math
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.from_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import EventLoopToken, current_token
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer
from jiyi.surfaces.auth.identity import local_grants
from jiyi.surfaces.mcp.desk import configured
from jiyi.surfaces.mcp.server import MemoryServer

PATIENCE = 30.0
"""Seconds that what was asked before stdin closed has to be answered."""
CHUNK = 65_536
AHEAD = 64
"""Lines that are read before they are handed on."""
CANCELLED = "notifications/cancelled"


@contextmanager
def claimed_streams() -> Iterator[tuple[int, int]]:
    """File descriptors of the wire. Meanwhile stdin reads nothing, and what anything else prints goes to stderr: nothing but
    the protocol may reach stdout."""
    wire_in, wire_out, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    try:
        yield wire_in, wire_out
    finally:
        os.dup2(wire_in, 0)
        os.dup2(wire_out, 1)
        os.close(nothing)
        # wire_in stays open: a thread may still wait for it, and its number must not come to mean another file.


def server_for(layer: MemoryLayer, user: str, tenant: str, clock: Clock) -> MemoryServer:
    """A server of one user's memory, as configuration says (SPEC S1).

    Raises:
        InputError: a name that cannot be one. SettingsError: a shared memory whose name cannot be one.
    """
    identity = configured(user, tenant, local_grants(layer.settings.identity))
    return MemoryServer(layer, lambda: identity, clock)


def serve_stdio(server: MemoryServer, wire_in: int, wire_out: int, line_bytes: int) -> None:
    """Serve one client until it closes its end, or a signal says so. What was asked until then is answered.

    Args:
        line_bytes: a longer line is refused.
    """
    anyio.run(_serve, server, wire_in, wire_out, line_bytes)


async def _serve(server: MemoryServer, wire_in: int, wire_out: int, line_bytes: int) -> None:
    to_server, from_wire = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_wire, from_server = anyio.create_memory_object_stream[SessionMessage]()
    wire = _Wire(wire_in, wire_out, line_bytes, to_server, to_wire.clone(), from_server)
    async with anyio.create_task_group() as group:
        group.start_soon(_stop_on_signal, group)
        group.start_soon(wire.read)
        group.start_soon(wire.write, group)
        await server.serve(from_wire, to_wire)
        group.cancel_scope.cancel()


async def _stop_on_signal(group: TaskGroup) -> None:
    if os.name != "posix":
        return  # There a signal ends the process at once; what was acknowledged is durable all the same.
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            group.cancel_scope.cancel()


@dataclass(slots=True)
class _Wire:
    """Both directions, and what is still to be answered."""

    wire_in: int
    wire_out: int
    line_bytes: int
    to_server: MemoryObjectSendStream[SessionMessage | Exception]
    to_wire: MemoryObjectSendStream[SessionMessage]
    from_server: MemoryObjectReceiveStream[SessionMessage]
    asked: set[RequestId] = field(default_factory=set)
    answered: anyio.Event = field(default_factory=anyio.Event)

    async def read(self) -> None:
        """Hand on what comes until the client closes its end and has its answers."""
        lines, arriving = anyio.create_memory_object_stream[bytes | None](math.inf)
        reader = _Reader(self.wire_in, self.line_bytes, lines, current_token())
        threading.Thread(target=reader.run, name="jiyi-mcp-stdin", daemon=True).start()
        async for line in arriving:
            await self._take(line)
            reader.room.release()
        with anyio.move_on_after(PATIENCE):
            while self.asked:
                self.answered = anyio.Event()
                await self.answered.wait()
        await self.to_server.aclose()

    async def _take(self, line: bytes | None) -> None:
        try:
            message = _message(line, self.line_bytes)
        except _Unreadable as problem:
            await self.to_wire.send(SessionMessage(problem.answer))
            return
        if isinstance(message, JSONRPCRequest):
            self.asked.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
            self._settle((message.params or {}).get("requestId"))
        await self.to_server.send(SessionMessage(message))

    async def write(self, group: TaskGroup) -> None:
        async for sent in self.from_server:
            message = sent.message
            line = message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await anyio.to_thread.run_sync(_write_all, self.wire_out, f"{line}\n".encode())
            except OSError:
                group.cancel_scope.cancel()  # The client has gone.
                return
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._settle(message.id)

    def _settle(self, request: object) -> None:
        self.asked.discard(request)
        self.answered.set()


@dataclass(slots=True)
class _Reader:
    """Reads in a thread of its own, which is left behind at the end: nothing can wake a read that waits for a client."""

    wire_in: int
    line_bytes: int
    lines: MemoryObjectSendStream[bytes | None]
    token: EventLoopToken
    room: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(AHEAD))

    def run(self) -> None:
        try:
            for line in _lines(self.wire_in, self.line_bytes):
                self.room.acquire()
                anyio.from_thread.run_sync(self.lines.send_nowait, line, token=self.token)
            anyio.from_thread.run_sync(self.lines.close, token=self.token)
        except (anyio.RunFinishedError, anyio.BrokenResourceError):
            return  # The server ended first.


class _Unreadable(Exception):
    """A line that is no message."""

    def __init__(self, request: RequestId | None, code: int, said: str) -> None:
        super().__init__(said)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=said))


def _lines(descriptor: int, limit: int) -> Iterator[bytes | None]:
    """Lines as they come, the last one also without its end; None for one above the limit."""
    kept, too_long = b"", False
    while chunk := os.read(descriptor, CHUNK):
        *whole, kept = (kept + chunk).split(b"\n")
        for line in whole:
            if line.strip() or too_long:
                yield None if too_long or len(line) > limit else line
            too_long = False
        if len(kept) > limit:
            kept, too_long = b"", True
    if kept.strip() or too_long:
        yield None if too_long else kept


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _message(line: bytes | None, limit: int) -> JSONRPCMessage:
    """The message of a line. Raises: _Unreadable."""
    if line is None:
        raise _Unreadable(None, PARSE_ERROR, f"a line of more than {limit:,} bytes: send less at once")
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        # What has an id waits for an answer; with one that cannot be an id the SDK takes it for a notification.
        if not (isinstance(message, JSONRPCNotification) and b'"id"' in line):
            return message
    except ValidationError:
        pass
    found, mended = _mended(line)
    try:
        message = jsonrpc_message_adapter.validate_json(mended, by_name=False)
    except ValidationError:
        raise _unanswerable(found, "no JSON-RPC 2.0 message, or nested too deeply") from None
    if isinstance(message, JSONRPCNotification) and "id" in found:
        raise _unanswerable(found, "an id must be text or a whole number")
    if not _is_utf8(line):
        raise _unanswerable(found, "the line is not in UTF-8, and what it says would be lost: send UTF-8")
    return message


def _unanswerable(found: Any, said: str) -> _Unreadable:
    named = found.get("id") if isinstance(found, dict) else None
    known = named if isinstance(named, str | int) and not isinstance(named, bool) else None
    return _Unreadable(known, INVALID_REQUEST, said)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _mended(line: bytes) -> tuple[Any, str]:
    """The document, and the line without lone halves of surrogate pairs, which Python reads and the SDK's parser refuses."""
    try:
        found = json.loads(line.decode("utf-8", "replace"))
        whole = json.dumps(found, ensure_ascii=False)
    except (ValueError, RecursionError):
        raise _Unreadable(None, PARSE_ERROR, "no JSON document, or nested too deeply") from None
    return found, whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
