from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.memory_layer import MemoryLayer
from tests.conftest import Clock


@pytest.fixture(params=["reference", "postings", "native"])
def layer(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[MemoryLayer]:
    """A memory on every store, in Shanghai, with jobs run by hand."""
    if request.param == "reference":
        memory = open_memory("reference", clock=clock, worker=False, timezone="Asia/Shanghai")
    else:
        memory = open_memory(
            tmp_path / "memory.db", clock=clock, worker=False, timezone="Asia/Shanghai",
            memory_index=request.param, message_index=request.param,
        )  # fmt: skip
    with memory:
        yield memory
