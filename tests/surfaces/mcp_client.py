"""MCP under test: the SDK's own client, in this process over a real database, and over the pipes of a real process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client
from mcp_types import CallToolResult, TextContent

from jiyi.assembly import open_memory
from jiyi.memory_layer import MemoryLayer
from jiyi.settings import Settings
from jiyi.surfaces.mcp.server import MemoryServer
from jiyi.surfaces.mcp.stdio import server_for
from tests.conftest import Clock

T = TypeVar("T")


@dataclass
class Mcp:
    """One client of one user's memory."""

    layer: MemoryLayer
    clock: Clock
    user: str
    tenant: str = "default"

    @cached_property
    def server(self) -> MemoryServer:
        return server_for(self.layer, self.user, self.tenant, self.clock)

    @property
    def settings(self) -> Settings:
        return self.layer.settings

    def talk(self, what: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
        async def run() -> T:
            async with Client(self.server, mode=mode) as client:
                return await what(client)

        return asyncio.run(run())

    def call(
        self, tool: str, arguments: dict[str, Any] | None = None, mode: str = "auto", **more: Any
    ) -> CallToolResult:
        """The answer of a tool; background work is done first."""
        self.layer.work()
        return self.talk(lambda client: client.call_tool(tool, {**(arguments or {}), **more}), mode)

    def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The document that a tool answers with."""
        result = self.call(tool, arguments)
        assert not result.is_error, shown(result)
        assert result.structured_content is not None
        return result.structured_content

    def text(self, tool: str, **arguments: Any) -> str:
        """What the model reads."""
        result = self.call(tool, arguments)
        assert not result.is_error, shown(result)
        return shown(result)

    def refused(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        result = self.call(tool, arguments, **more)
        assert result.is_error, shown(result)
        assert result.structured_content is None
        return shown(result)

    def of(self, user: str, tenant: str = "default") -> Mcp:
        return Mcp(self.layer, self.clock, user, tenant)


def shown(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


@contextmanager
def open_mcp(folder: Path, clock: Clock, user: str = "ming") -> Iterator[Mcp]:
    settings = Settings(path=str(folder / "memory.db"), timezone="Asia/Shanghai", worker=False, synchronous="NORMAL")
    with open_memory(settings=settings, clock=clock) as layer:
        yield Mcp(layer, clock, user)
