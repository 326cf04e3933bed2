from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from jiyi.assembly import open_memory
from jiyi.memory_layer import MemoryLayer
from tests.conftest import Clock
from tests.models.server import Provider, provider
from tests.surfaces.cli import Cli

OpenWith = Callable[..., MemoryLayer]


@pytest.fixture
def server() -> Iterator[Provider]:
    with provider() as running:
        yield running


@pytest.fixture
def jiyi(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def open_with(tmp_path: Path, clock: Clock) -> Iterator[OpenWith]:
    """Opens a memory whose model is a server, with jobs run by hand and no patience; in a SQLite file on demand."""
    with ExitStack() as stack:

        def open_with(server: Provider, *, file: bool = False, **model: Any) -> MemoryLayer:
            settings = {
                "base_url": server.url, "name": "m1", "timeout_seconds": 1.0, "deadline_seconds": 3.0, "retries": 1,
                "retry_seconds": 0.01, "quiet_seconds": 0.0, **model,
            }  # fmt: skip
            layer = open_memory(
                tmp_path / "memory.db" if file else "reference", clock=clock, worker=False, timezone="Asia/Shanghai", synchronous="NORMAL",
                model=settings, jobs={"attempts": 2},
            )  # fmt: skip
            return stack.enter_context(layer)

        yield open_with
