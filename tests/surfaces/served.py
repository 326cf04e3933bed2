"""A real server on loopback, in this process, and real clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from jiyi import open_memory
from jiyi.memory_layer import MemoryLayer
from jiyi.surfaces.http.app import create_app
from tests.surfaces.issuer import AUDIENCE, ISSUER


@dataclass(frozen=True)
class Served:
    """A memory that is served at `url`."""

    url: str
    memory: MemoryLayer
    app: Any

    def client(self, token: str | None = None, **headers: str) -> httpx2.Client:
        told = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.url, headers={**told, **headers}, timeout=60, trust_env=False, verify=False)


@contextmanager
def running(app: Any) -> Iterator[str]:
    """The address of a server that runs an application in a thread."""
    config = uvicorn.Config(app, port=0, lifespan="on", access_log=False, log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="server")
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def served(path: Path | str, **settings: Any) -> Iterator[Served]:
    """Serve a memory; without identity settings for the one user of this machine."""
    with open_memory(path, **settings) as memory:
        app = create_app(memory)
        with running(app) as url:
            yield Served(url, memory, app)


def trusting(jwks_url: str, **more: Any) -> dict[str, Any]:
    """The identity settings that trust the issuer of the tests."""
    return {"mode": "jwt", "issuer": ISSUER, "audience": AUDIENCE, "jwks_url": jwks_url, **more}
