"""Running the application: one process, stopped so that nothing is lost."""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn

from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.settings import IdentityPolicy, ServicePolicy
from jiyi.surfaces.auth.entrance import check_binding
from jiyi.surfaces.http.app import Beside, create_app
from jiyi.surfaces.http.processes import Sibling
from jiyi.surfaces.stopping import end_in_peace

QUEUE = 2048
"""Connections that may wait until one is taken."""
TAKEN_AT_A_TIME = 1
"""Of several processes none should take all that wait, while the others have nothing to do."""
LOGGERS = {"jiyi": logging.INFO, "uvicorn": logging.INFO, "mcp": logging.WARNING}


class JsonLines(logging.Formatter):
    """A line of JSON for each event. Only what our code says is written: text of a memory is in none of it."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "told", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__  # its words may be anybody's
        return json.dumps(told, ensure_ascii=False)


def log_to_stderr() -> None:
    """Send the events of this process to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in LOGGERS.items():
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    logging.getLogger("uvicorn.access").disabled = True  # it would write whole addresses, with what was asked in them


@contextmanager
def listening(policy: IdentityPolicy, host: str, port: int) -> Iterator[list[socket.socket]]:
    """Sockets at every address of a host, before anything else is opened; with port 0 at one that is free.

    Raises:
        SettingsError: there is no such address, somebody listens there, or nobody may who needs no token.
    """
    check_binding(policy, host)
    with ExitStack() as stack:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets: list[socket.socket] = []
            for family, kind, protocol, _, address in dict.fromkeys(found):
                number = sockets[0].getsockname()[1] if sockets else port
                one = _bound(family, kind, protocol, (address[0], number, *address[2:]), needed=len(found) == 1)
                if one is not None:
                    sockets.append(stack.enter_context(one))
            if not sockets:
                raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or "no such name"
            raise SettingsError(
                f"jiyi cannot listen on {host}, port {port} ({why}): if it is running there already, end that, or choose "
                "another with --host and --port (service.host, service.port)"
            ) from None
        yield sockets


def _bound(family: int, kind: int, protocol: int, address: tuple[Any, ...], *, needed: bool) -> socket.socket | None:
    """A bound socket; None where a name has an address that this machine does not."""
    try:
        made = socket.socket(family, kind, protocol)
    except OSError:
        if needed:
            raise
        return None
    try:
        if os.name == "posix":  # elsewhere two could then listen at one address
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        # Two that start at the same moment could both bind. What comes before this one serves waits until it does.
        made.listen(QUEUE)
    except OSError as error:
        made.close()
        if needed or error.errno != errno.EADDRNOTAVAIL:
            raise
        return None
    return made


def address_of(host: str, sockets: Sequence[socket.socket]) -> str:
    """Where clients find it: `http://127.0.0.1:8765`, `http://[::1]:8765`."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{sockets[0].getsockname()[1]}"


def serve(
    memory: MemoryLayer,
    sockets: Sequence[socket.socket],
    sibling: Sibling | None = None,
    beside: Beside | None = None,
) -> None:
    """Serve until the process is told to stop (SIGTERM, Ctrl-C): then requests under way are finished, and no more come in.

    Args:
        sibling: which of several processes at these sockets this one is.
        beside: makes the MCP server under /mcp.

    Raises:
        SettingsError: an identity that cannot be served.
    """
    sibling = sibling or Sibling()
    run(create_app(memory, process=sibling.number, beside=beside), sockets, memory.settings.service, sibling)


class _Server(uvicorn.Server):
    """Says where it runs once it does: uvicorn says so only of sockets that it made itself."""

    sibling = Sibling()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            for one in sockets or []:
                one.listen(QUEUE)  # again, since asyncio lets no more wait than it takes at a time
            # What serving begins with stays: without it a collection looks through the objects of requests alone.
            gc.collect()
            gc.freeze()
            self.sibling.serves()
            where = address_of((sockets or [])[0].getsockname()[0], sockets or [])
            logging.getLogger("jiyi.http").info(f"running on {where}")


def run(app: Any, sockets: Sequence[socket.socket], policy: ServicePolicy, sibling: Sibling | None = None) -> None:
    """Run an ASGI application until the process is told to stop."""
    log_to_stderr()
    config = uvicorn.Config(
        app, access_log=False, log_config=None, lifespan="on", server_header=False,
        timeout_graceful_shutdown=max(1, round(policy.stop_seconds)), h11_max_incomplete_event_size=64 * 1024,
        # Who calls is told by a token; an address in a header is anybody's word.
        proxy_headers=False, ws="none", backlog=TAKEN_AT_A_TIME if policy.processes > 1 else QUEUE,
    )  # fmt: skip
    server = _Server(config)
    server.sibling = sibling or Sibling()

    def stop(*_: object) -> None:
        server.should_exit = True

    # Once it has stopped, uvicorn sends the signal that stopped it again: by default that would end the process here, before
    # the memory is closed and what reading left is written.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run(list(sockets))
    end_in_peace()
