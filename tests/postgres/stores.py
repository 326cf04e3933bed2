"""Opening memories on a PostgreSQL of the tests' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jiyi.assembly import open_memory
from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer
from jiyi.settings import PostgresPolicy, Settings
from tests.conftest import FULL

one_server = pytest.mark.parametrize("postgres", ["wheel"], indirect=True)
"""For tests that are about jiyi rather than about the version of the server."""
both_servers = pytest.mark.parametrize("postgres", ["wheel", "debian"], indirect=True)
newer_server = both_servers if FULL else one_server
"""For promises about every server: the older one keeps them at full counts."""


def open_on(
    url: str, folder: Path, clock: Clock, postgres: PostgresPolicy | None = None, **options: Any
) -> MemoryLayer:
    policy = postgres or PostgresPolicy(folder=str(folder))
    settings = Settings(path=url, worker=False, postgres=policy, **options)
    return open_memory(settings=settings, clock=clock)
