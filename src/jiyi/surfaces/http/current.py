"""What an id means now, for clients that go on calling a memory by the id it first had: what is corrected gets a new one."""

from __future__ import annotations

from jiyi.domain.memory import Memory, Status
from jiyi.errors import NotFound
from jiyi.scoped_memory import ScopedMemory


def current(me: ScopedMemory, memory_id: str) -> Memory:
    """The memory that holds now, of this one and those that took its place.

    Raises:
        NotFound: no such memory, or it does not hold any more.
    """
    memory = me.memory(memory_id)
    while memory.status is not Status.LIVE and memory.successor is not None:
        memory = me.memory(f"m{memory.successor}")
    if memory.status is not Status.LIVE:
        raise NotFound(f"no memory {memory_id} here")
    return memory
