"""The stores that cases run on."""

from __future__ import annotations

from pathlib import Path

from jiyi.assembly import open_memory
from jiyi.backends import REFERENCE
from jiyi.evaluation.harness import TIMEZONE, OpenLayer
from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer
from jiyi.settings import Settings, TextIndexName


def on_reference(path: Path, clock: Clock) -> MemoryLayer:
    return open_memory(settings=Settings(path=REFERENCE, timezone=TIMEZONE, worker=False), clock=clock)


def on_sqlite(index: TextIndexName) -> OpenLayer:
    def open_layer(path: Path, clock: Clock) -> MemoryLayer:
        settings = Settings(
            path=str(path),
            timezone=TIMEZONE,
            worker=False,
            memory_index=index,
            message_index=index,
            synchronous="NORMAL",
        )
        return open_memory(settings=settings, clock=clock)

    return open_layer


STORES: dict[str, OpenLayer] = {
    "reference": on_reference,
    "postings": on_sqlite("postings"),
    "native": on_sqlite("native"),
}
