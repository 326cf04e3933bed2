"""What all requests share, and where their work is done."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, perf_counter
from typing import TypeVar

from jiyi.domain.scope import Scope
from jiyi.errors import JiyiError, StoreClosed
from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer
from jiyi.settings import Settings
from jiyi.surfaces.auth.entrance import Entrance, open_entrance
from jiyi.surfaces.http.metrics import Metrics
from jiyi.surfaces.http.upstreams import Upstreams
from jiyi.surfaces.limits import Limits

T = TypeVar("T")

log = logging.getLogger("jiyi.http")

SLOW_KNOWN = 10_000


class Service:
    """One memory behind HTTP."""

    def __init__(self, memory: MemoryLayer, clock: Clock, environment: Mapping[str, str], process: int = 1) -> None:
        self.memory, self.clock = memory, clock
        self.settings: Settings = memory.settings
        self.policy = self.settings.service
        self.entrance: Entrance = open_entrance(self.settings.identity, memory.service_key, memory.visitor)
        self.limits = Limits(self.policy, monotonic)
        self.metrics = Metrics(memory, clock, process)
        self.upstreams = Upstreams(self.settings.proxy, environment)
        self.stopping = False
        self._recordings: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(self.policy.threads, thread_name_prefix="jiyi-http")
        self._slow: OrderedDict[Scope, None] = OrderedDict()

    async def read(self, scope: Scope, work: Callable[[], T]) -> T:
        """Do what only reads. A thread would cost more than the usual reading does, so it is done here and now; but for
        those whose reading was slow before, and where questions are embedded, which may mean waiting for an endpoint."""
        if self.settings.embedder != "none" or scope in self._slow:
            return await self.in_thread(work)
        begun = perf_counter()
        result = work()
        if perf_counter() - begun > self.policy.inline_seconds:
            self._slow[scope] = None
            if len(self._slow) > SLOW_KNOWN:
                self._slow.popitem(last=False)
        return result

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do what writes, or may take long: several at a time share one commit."""
        try:
            running = self._threads.submit(work)
        except RuntimeError:  # only close() ends the threads
            raise StoreClosed from None
        return await asyncio.wrap_future(running)

    def record(self, work: Callable[[], None], after: Awaitable[None] | None = None) -> asyncio.Task[None]:
        """Do in the background what nobody waits for, once `after` is done. A stop waits for it."""

        async def recording() -> None:
            if after is not None:
                await after
            try:
                await self.in_thread(work)
            except JiyiError as error:
                log.warning("what was said in a chat could not be recorded: %s", type(error).__name__)

        task = asyncio.create_task(recording())
        self._recordings.add(task)
        task.add_done_callback(self._recordings.discard)
        return task

    @property
    def recording(self) -> int:
        """How many recordings are under way."""
        return len(self._recordings)

    async def close(self) -> None:
        """End what runs; nothing that was begun is cut off."""
        self.stopping = True
        while self._recordings:
            await asyncio.wait(set(self._recordings))
        await self.upstreams.close()
        await asyncio.to_thread(self._threads.shutdown)
