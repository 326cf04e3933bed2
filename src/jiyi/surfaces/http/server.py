"""Running the application: one process, stopped so that nothing is lost."""

from __future__ import annotations

import json
import logging
import signal
import sys
from typing import Any

import uvicorn

from jiyi.memory_layer import MemoryLayer
from jiyi.settings import ServicePolicy
from jiyi.surfaces.auth.entrance import check_binding
from jiyi.surfaces.http.app import create_app

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


def serve(memory: MemoryLayer, host: str, port: int) -> None:
    """Serve until the process is told to stop (SIGTERM, Ctrl-C): then requests under way are finished, and no more come in.

    Raises:
        SettingsError: an address or an identity that cannot be served.
    """
    check_binding(memory.settings.identity, host)
    run(create_app(memory), host, port, memory.settings.service)


def run(app: Any, host: str, port: int, policy: ServicePolicy) -> None:
    """Run an ASGI application until the process is told to stop."""
    log_to_stderr()
    config = uvicorn.Config(
        app, host=host, port=port, access_log=False, log_config=None, lifespan="on", server_header=False,
        timeout_graceful_shutdown=max(1, round(policy.stop_seconds)), h11_max_incomplete_event_size=64 * 1024,
        # Who calls is told by a token; an address in a header is anybody's word.
        proxy_headers=False, ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)

    def stop(*_: object) -> None:
        server.should_exit = True

    # Once it has stopped, uvicorn sends the signal that stopped it again: by default that would end the process here, before
    # the memory is closed and what reading left is written.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run()
