"""mem0's own client, with its telemetry off and its files in a folder of their own, both of which it looks up when imported."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="jiyi-mem0-")

import httpx
from mem0 import MemoryClient
from mem0.exceptions import AuthenticationError, MemoryNotFoundError, RateLimitError, ValidationError
from mem0.memory.telemetry import client_telemetry

__all__ = ["AuthenticationError", "MemoryNotFoundError", "RateLimitError", "ValidationError", "client"]


@contextmanager
def client(url: str, key: str = "any") -> Iterator[Any]:
    """`MemoryClient` as it comes: nothing but the address is ours."""
    assert client_telemetry.posthog is None
    # It does not close what it has opened where its key is refused; a client that is handed in is closed here.
    with httpx.Client(timeout=60) as line:
        yield MemoryClient(api_key=key, host=url, client=line)
