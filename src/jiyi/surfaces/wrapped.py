"""`jiyi.wrap(client, memory)`: an SDK client whose chats have a memory, without a server between (SPEC U2).

    client = jiyi.wrap(OpenAI(), me)          # or AsyncOpenAI, Anthropic, AsyncAnthropic
    client.chat.completions.create(model="…", messages=[{"role": "user", "content": "…"}])

It works with any client that has `chat.completions.create` or `messages.create` and can be copied; none is imported here.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from jiyi.assembly import wall_clock
from jiyi.domain.scope import check_name
from jiyi.errors import InputError, JiyiError
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.chats.exchange import Mode, hand_over, read_mode, record_answer, record_words, session_of
from jiyi.surfaces.chats.heard import Heard
from jiyi.surfaces.chats.wires import ANTHROPIC, OPENAI, Wire

if TYPE_CHECKING:
    from jiyi.aio import AsyncScopedMemory

C = TypeVar("C")

log = logging.getLogger("jiyi.chats")


def wrap(
    client: C,
    memory: ScopedMemory | AsyncScopedMemory,
    *,
    session: str | None = None,
    mode: str = "full",
    budget: int | None = None,
) -> C:
    """A copy of an `openai` or `anthropic` client: what it sends carries one block of memory in the system role, and both sides
    of its chats are recorded. The client itself stays as it is, and so do the words of the user and all other calls.

    It covers `chat.completions.create`, `.parse` and `.stream`, and `messages.create` and `.stream`, streaming or not, with and
    without `await`. What was streamed is recorded also when it is broken off. A chat goes on when memory fails; the log
    (`jiyi.chats`) says so.

    Args:
        memory: of the user who chats. With a client that is awaited, calls to it run in threads.
        session: the conversation; by default one for each day and first message.
        mode: full, read (only the block), write (only recording) or off.
        budget: tokens of the block at the most.

    Raises:
        InputError: no such client, or a mode or a session that cannot be one.
    """
    chosen = read_mode(mode)
    named = None if session is None else check_name("session", session)
    wire = OPENAI if hasattr(getattr(client, "chat", None), "completions") else ANTHROPIC
    if not callable(getattr(client, "copy", None)) or not (wire is OPENAI or hasattr(client, "messages")):
        raise InputError(f"wrap() takes a client of openai or anthropic, not {type(client).__name__}")
    plain = memory if isinstance(memory, ScopedMemory) else memory._plain
    copied: Any = client.copy()  # type: ignore[attr-defined]
    part = copied.chat.completions if wire is OPENAI else copied.messages
    around = _Around(plain, wire, named, chosen, budget)
    awaited = inspect.iscoroutinefunction(inspect.unwrap(part.create))
    # OpenAI's `stream` asks through `create`; `parse` does not, nor does Anthropic's `stream`.
    for name in ("create", "parse"):
        if (method := getattr(part, name, None)) is not None:
            setattr(part, name, _awaiting(method, around) if awaited else _calling(method, around))
    if wire is ANTHROPIC and hasattr(part, "stream"):
        part.stream = _managing(part.stream, around)
    wrapped: C = copied
    return wrapped


@dataclass(frozen=True, slots=True)
class _Around:
    """What memory does around one call."""

    memory: ScopedMemory
    wire: Wire
    session: str | None
    mode: Mode
    budget: int | None

    def before(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], _Listening]:
        """The arguments with a block; what was said is recorded, so that it is not lost when the model fails."""
        # What can be gone through only once is gone through here.
        asked = {k: list(v) if k in ("messages", "system") and _is_once(v) else v for k, v in given.items()}
        session = session_of(self.memory, asked, self.session)
        handed = hand_over(
            self.memory, self.wire, asked, session, named=self.session is not None, mode=self.mode, budget=self.budget
        )
        if self.mode.writes:
            _recorded(lambda: record_words(self.memory, asked, session, wall_clock()))
        return dict(handed.request), _Listening(self, session)

    def after(self, text: str, session: str) -> None:
        if self.mode.writes:
            _recorded(lambda: record_answer(self.memory, text, session))


def _is_once(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | list | tuple)


def _recorded(work: Callable[[], None]) -> None:
    try:
        work()
    except JiyiError as error:
        log.warning("what was said in a chat could not be recorded: %s", type(error).__name__)


class _Listening:
    """Hears one answer, and records it once, whoever ends it."""

    def __init__(self, around: _Around, session: str) -> None:
        self._around, self._session = around, session
        self._heard, self._over = Heard(around.wire, streamed=True), False

    def whole(self, answer: Any) -> None:
        self._end(self._around.wire.answer(answer))

    def event(self, event: Any) -> None:
        self._heard.event(event)

    def over(self) -> None:
        self._end(self._heard.text)

    def _end(self, text: str) -> None:
        if not self._over:
            self._over = True
            self._around.after(text, self._session)


# ------------------------------------------------------------------ calls


def _calling(method: Callable[..., Any], around: _Around) -> Callable[..., Any]:
    @wraps(method)
    def call(**given: Any) -> Any:
        asked, listening = around.before(given)
        answer = method(**asked)
        if given.get("stream") is True and hasattr(answer, "__iter__"):
            return _Stream(answer, listening)
        listening.whole(answer)
        return answer

    return call


async def _in_thread(work: Callable[..., Any], *given: Any) -> Any:
    # Who awaits has it loaded; nobody else is to load it with `import jiyi`.
    import asyncio

    return await asyncio.to_thread(work, *given)


def _awaiting(method: Callable[..., Any], around: _Around) -> Callable[..., Any]:
    @wraps(method)
    async def call(**given: Any) -> Any:
        asked, listening = await _in_thread(around.before, given)
        answer = await method(**asked)
        if given.get("stream") is True and hasattr(answer, "__aiter__"):
            return _AsyncStream(answer, listening)
        await _in_thread(listening.whole, answer)
        return answer

    return call


class _Passing:
    """Somebody's stream in all but what is heard on the way."""

    def __init__(self, stream: Any, listening: _Listening) -> None:
        self._stream, self._listening = stream, listening

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Stream(_Passing):
    def __iter__(self) -> Iterator[Any]:
        try:
            for event in self._stream:
                self._listening.event(event)
                yield event
        finally:
            self._listening.over()

    def __next__(self) -> Any:
        try:
            event = next(self._stream)
        except BaseException:
            self._listening.over()
            raise
        self._listening.event(event)
        return event

    def __enter__(self) -> _Stream:
        self._stream.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stream.__exit__(*error)
        self._listening.over()

    def close(self) -> None:
        self._stream.close()
        self._listening.over()


class _AsyncStream(_Passing):
    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            async for event in self._stream:
                self._listening.event(event)
                yield event
        finally:
            await _in_thread(self._listening.over)

    async def __anext__(self) -> Any:
        try:
            event = await anext(self._stream)
        except BaseException:
            await _in_thread(self._listening.over)
            raise
        self._listening.event(event)
        return event

    async def __aenter__(self) -> _AsyncStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)
        await _in_thread(self._listening.over)

    async def close(self) -> None:
        await self._stream.close()
        await _in_thread(self._listening.over)


# ------------------------------------------------------------------ Anthropic's helper


def _managing(method: Callable[..., Any], around: _Around) -> Callable[..., Any]:
    @wraps(method)
    def call(**given: Any) -> Any:
        return _Manager(method, given, around)

    return call


class _Manager:
    """`with client.messages.stream(…) as stream`: the stream is the SDK's own, which keeps what came so far."""

    def __init__(self, method: Callable[..., Any], given: Mapping[str, Any], around: _Around) -> None:
        self._method, self._given, self._around = method, given, around
        self._manager: Any = None
        self._stream: Any = None
        self._listening: _Listening | None = None

    def _begin(self) -> Any:
        asked, self._listening = self._around.before(self._given)
        self._manager = self._method(**asked)
        return self._manager

    def _end(self) -> None:
        if self._listening is not None and self._stream is not None:
            try:
                self._listening.whole(self._stream.current_message_snapshot)
            except AssertionError:  # the SDK's way to say that nothing has come yet
                return

    def __enter__(self) -> Any:
        self._stream = self._begin().__enter__()
        return self._stream

    def __exit__(self, *error: Any) -> None:
        self._manager.__exit__(*error)
        self._end()

    async def __aenter__(self) -> Any:
        manager = await _in_thread(self._begin)
        self._stream = await manager.__aenter__()
        return self._stream

    async def __aexit__(self, *error: Any) -> None:
        await self._manager.__aexit__(*error)
        await _in_thread(self._end)
