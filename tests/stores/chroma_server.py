"""A real Chroma server, started and stopped by its own command."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def chroma_server(folder: Path, port: int | None = None) -> Iterator[int]:
    """The port of a server on this machine."""
    if port is None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder), "--host", "127.0.0.1"]
    with (folder.parent / "chroma.log").open("ab") as log:
        server = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while True:
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, (folder.parent / "chroma.log").read_text()
            assert time.monotonic() < until, "Chroma did not start"
            time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait(30)
