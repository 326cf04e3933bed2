"""The async twin of the façade: the same verbs and arguments, each awaited, run in threads (SPEC U1).

    async with open_memory_async("memory.db") as memory:
        await memory.scope("u001").observe([...], session="s1")

A task that is cancelled stops waiting; a call that has begun still ends in its thread. Callbacks are called there too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from jiyi.domain.scope import Scope
from jiyi.errors import StoreClosed
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Check
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Limits, Settings
from jiyi.together import Together

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
THREADS = 8  # calls that run at the same time; each thread keeps a reading connection to the database


class _Twin:
    """What both twins hold: the one they stand for, and the threads."""

    def __init__(self, plain: Any, executor: Executor) -> None:
        self._plain, self._executor = plain, executor

    async def _run(self, call: Callable[[], T]) -> T:
        try:
            running = self._executor.submit(call)
        except RuntimeError:  # only close() ends the threads
            raise StoreClosed from None
        return await asyncio.wrap_future(running)


def _awaited(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def call(self: _Twin, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(partial(method, self._plain, *args, **kwargs))

    return call


class AsyncScopedMemory(_Twin):
    """One user's memory; what each verb does is said at `ScopedMemory`."""

    @property
    def user(self) -> Scope:
        return self._plain.user  # type: ignore[no-any-return]

    @property
    def limits(self) -> Limits:
        return self._plain.limits  # type: ignore[no-any-return]

    def once(self, key: str, request: bytes = b"", *, call: str = "", by: str = "") -> AsyncScopedMemory:
        """This memory for one request; there is nothing to wait for."""
        return AsyncScopedMemory(self._plain.once(key, request, call=call, by=by), self._executor)

    observe, remember = _awaited(ScopedMemory.observe), _awaited(ScopedMemory.remember)
    recall, context = _awaited(ScopedMemory.recall), _awaited(ScopedMemory.context)
    explain, traces = _awaited(ScopedMemory.explain), _awaited(ScopedMemory.traces)
    history, sessions = _awaited(ScopedMemory.history), _awaited(ScopedMemory.sessions)
    profile, memories = _awaited(ScopedMemory.profile), _awaited(ScopedMemory.memories)
    memory, conversation = _awaited(ScopedMemory.memory), _awaited(ScopedMemory.conversation)
    write_profile, read_profile = _awaited(ScopedMemory.write_profile), _awaited(ScopedMemory.read_profile)
    versions, evidence = _awaited(ScopedMemory.versions), _awaited(ScopedMemory.evidence)
    confidence, correct = _awaited(ScopedMemory.confidence), _awaited(ScopedMemory.correct)
    patterns = _awaited(ScopedMemory.patterns)
    questions, answer = _awaited(ScopedMemory.questions), _awaited(ScopedMemory.answer)
    feedback = _awaited(ScopedMemory.feedback)
    receipts, verify_forgotten = _awaited(ScopedMemory.receipts), _awaited(ScopedMemory.verify_forgotten)
    forget, undo, lag = _awaited(ScopedMemory.forget), _awaited(ScopedMemory.undo), _awaited(ScopedMemory.lag)
    upkeep = _awaited(ScopedMemory.upkeep)
    merge_entities, split_entities = _awaited(ScopedMemory.merge_entities), _awaited(ScopedMemory.split_entities)
    entities, entity = _awaited(ScopedMemory.entities), _awaited(ScopedMemory.entity)
    neighbours, paths = _awaited(ScopedMemory.neighbours), _awaited(ScopedMemory.paths)
    match, derived, graph = _awaited(ScopedMemory.match), _awaited(ScopedMemory.derived), _awaited(ScopedMemory.graph)
    ledger, end = _awaited(ScopedMemory.ledger), _awaited(ScopedMemory.end)
    summaries, redistil = _awaited(ScopedMemory.summaries), _awaited(ScopedMemory.redistil)
    retention, consent = _awaited(ScopedMemory.retention), _awaited(ScopedMemory.consent)
    pause, resume = _awaited(ScopedMemory.pause), _awaited(ScopedMemory.resume)
    export, import_ = _awaited(ScopedMemory.export), _awaited(ScopedMemory.import_)


class AsyncTogether(_Twin):
    """One user's memory and shared ones beside it; what each verb does is said at `Together`."""

    def __init__(self, plain: Together, executor: Executor) -> None:
        super().__init__(plain, executor)
        self.own = AsyncScopedMemory(plain.own, executor)
        self.shared = tuple(AsyncScopedMemory(memory, executor) for memory in plain.shared)

    @property
    def user(self) -> Scope:
        return self._plain.user  # type: ignore[no-any-return]

    @property
    def limits(self) -> Limits:
        return self._plain.limits  # type: ignore[no-any-return]

    recall, context, profile = _awaited(Together.recall), _awaited(Together.context), _awaited(Together.profile)


class AsyncMemoryLayer(_Twin):
    """One open memory. Make it with `jiyi.open_memory_async`; close it, or use it with `async with`."""

    def __init__(self, layer: MemoryLayer) -> None:
        super().__init__(layer, ThreadPoolExecutor(THREADS, thread_name_prefix="jiyi"))

    def scope(
        self,
        user: str,
        *,
        tenant: str = "default",
        tz: str | None = None,
        surface: str = "library",
        who: str = "user",
    ) -> AsyncScopedMemory:
        """The memory of one user; there is nothing to wait for."""
        plain = self._plain.scope(user, tenant=tenant, tz=tz, surface=surface, who=who)
        return AsyncScopedMemory(plain, self._executor)

    def shared(
        self,
        name: str,
        *,
        tenant: str = "default",
        tz: str | None = None,
        surface: str = "library",
        who: str = "user",
        traced: bool = True,
    ) -> AsyncScopedMemory:
        """A shared memory; there is nothing to wait for."""
        plain = self._plain.shared(name, tenant=tenant, tz=tz, surface=surface, who=who, traced=traced)
        return AsyncScopedMemory(plain, self._executor)

    def together(
        self,
        user: str,
        shared: Collection[str],
        *,
        tenant: str = "default",
        tz: str | None = None,
        surface: str = "library",
        who: str = "user",
    ) -> AsyncTogether:
        """The memory of one user and shared ones beside it; there is nothing to wait for."""
        plain = self._plain.together(user, shared, tenant=tenant, tz=tz, surface=surface, who=who)
        return AsyncTogether(plain, self._executor)

    @property
    def settings(self) -> Settings:
        return self._plain.settings  # type: ignore[no-any-return]

    work, lag = _awaited(MemoryLayer.work), _awaited(MemoryLayer.lag)
    dead_jobs, retry_job = _awaited(MemoryLayer.dead_jobs), _awaited(MemoryLayer.retry_job)
    scopes, reindex, info = _awaited(MemoryLayer.scopes), _awaited(MemoryLayer.reindex), _awaited(MemoryLayer.info)
    is_there = _awaited(MemoryLayer.is_there)
    usage, service_key = _awaited(MemoryLayer.usage), _awaited(MemoryLayer.service_key)
    make_service_key = _awaited(MemoryLayer.make_service_key)
    service_keys = _awaited(MemoryLayer.service_keys)
    revoke_service_key = _awaited(MemoryLayer.revoke_service_key)
    open_visitor, visitor = _awaited(MemoryLayer.open_visitor), _awaited(MemoryLayer.visitor)
    link = _awaited(MemoryLayer.link)
    forget_user, forget_tenant = _awaited(MemoryLayer.forget_user), _awaited(MemoryLayer.forget_tenant)
    carry_forward, forget_again = _awaited(MemoryLayer.carry_forward), _awaited(MemoryLayer.forget_again)
    redistil = _awaited(MemoryLayer.redistil)
    graph_engine, repair = _awaited(MemoryLayer.graph_engine), _awaited(MemoryLayer.repair)
    backup, rotate_key = _awaited(MemoryLayer.backup), _awaited(MemoryLayer.rotate_key)

    async def check(self) -> list[Check]:
        """Go through the health of the database, all of it before the answer."""
        return await self._run(lambda: list(self._plain.check()))

    async def check_model(self) -> list[Check]:
        """Ask the language model a small question, if there is one."""
        return await self._run(lambda: list(self._plain.check_model()))

    async def close(self) -> None:
        """Wait for the calls that run, and close. Closing twice is fine."""
        await asyncio.to_thread(self._executor.shutdown)
        await asyncio.to_thread(self._plain.close)

    async def __aenter__(self) -> AsyncMemoryLayer:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
