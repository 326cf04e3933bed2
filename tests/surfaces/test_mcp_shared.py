"""Shared memories over MCP (SPEC S6): every tool of the table, for whoever has a grant and for whoever has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from jiyi.assembly import open_memory
from jiyi.domain.access import Role, parse_grant
from jiyi.domain.scope import Scope, shared_scope
from jiyi.memory_layer import MemoryLayer
from jiyi.surfaces.auth.identity import Identity, Proof
from jiyi.surfaces.mcp.server import MemoryServer
from jiyi.surfaces.mcp.stdio import server_for
from jiyi.surfaces.mcp.tools import TOOLS, ToolSpec
from tests.conftest import Clock
from tests.surfaces.mcp_client import shown

WORD = "zanzibar"
each_tool = pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)


@dataclass
class Team:
    layer: MemoryLayer
    clock: Clock

    def call(self, tool: str, arguments: dict[str, Any], *grants: str, tenant: str = "acme") -> CallToolResult:
        shared = tuple(map(parse_grant, grants))
        identity = Identity(Proof.TOKEN, tenant, "lena", frozenset({Role.USER}), shared=shared)
        server = MemoryServer(self.layer, lambda: identity, self.clock)

        async def run() -> CallToolResult:
            async with Client(server) as client:
                return await client.call_tool(tool, arguments)

        return asyncio.run(run())

    def state(self) -> Any:
        self.layer.work()
        me = self.layer.shared("eng", tenant="acme")
        return me.history(limit=99).messages, me.memories(status=None), me.ledger(), me.traces(50)

    def refused(self, tool: str, arguments: dict[str, Any], *grants: str, **more: Any) -> str:
        told = self.call(tool, arguments, *grants, **more)
        assert told.is_error, shown(told)
        assert WORD not in shown(told)
        return shown(told)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    clock = Clock()
    with open_memory(tmp_path_factory.mktemp("team") / "memory.db", clock=clock, worker=False) as layer:
        eng = layer.shared("eng", tenant="acme")
        eng.remember("数据库：PostgreSQL")
        eng.observe([{"role": "user", "text": f"We keep {WORD} in /srv/data."}], session="s1")
        layer.work()
        yield Team(layer, clock)


@each_tool
def test_what_was_not_granted_is_as_what_is_not_there(team: Team, spec: ToolSpec) -> None:
    before = team.state()
    for grants, tenant in (((), "acme"), (("home:write",), "acme"), (("eng",), "beta"), (("nowhere",), "acme")):
        name = "nowhere" if "nowhere" in grants else "eng"
        theirs = team.refused(spec.name, {**spec.example, "shared": name}, *grants, tenant=tenant)
        nobodys = team.refused(spec.name, {**spec.example, "shared": "elsewhere"}, tenant=tenant)
        assert theirs == nobodys
        assert "NotFound: no shared memory of that name here" in theirs
    assert team.state() == before
    assert team.layer.scopes() == [shared_scope("eng", "acme")]


@each_tool
def test_who_may_only_read_writes_nothing(team: Team, spec: ToolSpec) -> None:
    before = team.state()
    arguments = {**spec.example, "shared": "eng"}
    if spec.hints.read_only_hint:
        assert "NotAllowed" not in shown(team.call(spec.name, arguments, "eng"))
    else:
        assert "right to write in a shared memory" in team.refused(spec.name, arguments, "eng")
    assert team.state() == before
    assert Scope("lena", "acme") not in team.layer.scopes()


def test_it_is_read_beside_one_s_own_and_written_to_by_name(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", clock=Clock(), worker=False) as layer:
        one = Team(layer, Clock())
        grants = ("研发组:write", "home")

        def text(tool: str, **arguments: Any) -> str:
            told = one.call(tool, arguments, *grants)
            assert not told.is_error, shown(told)
            layer.work()
            return shown(told)

        text("memory_add", text="数据库：PostgreSQL", shared="研发组")
        text("memory_add", text="我对花生过敏")
        assert [m.text for m in layer.scope("lena", tenant="acme").memories()] == ["我对花生过敏"]
        assert "(m1@研发组 · declared" in text("memory_search", query="数据库用什么")
        assert "(m1@研发组 · 共享)" in text("memory_context", query="数据库用什么")
        profile = text("memory_get_profile")
        assert "(m1 · declared" in profile
        assert "(m1@研发组 · declared" in profile
        assert "m1@研发组" in text("search", query="数据库用什么")
        assert "PostgreSQL" in text("fetch", id="m1@研发组")
        assert "花生" in text("fetch", id="m1")
        # An id names its memory, too; two that differ are one too many.
        text("memory_update", memory="m1@研发组", text="数据库：MySQL")
        assert layer.shared("研发组", tenant="acme").ledger()[-1].plan.actor.who == "lena"
        assert "several" in one.refused(
            "memory_update", {"memory": "m1@研发组", "shared": "home", "text": "x"}, *grants
        )
        shown_first = one.call("memory_forget", {"topic": "MySQL", "shared": "研发组"}, *grants).structured_content
        assert shown_first is not None
        one.refused("memory_forget", {"topic": "MySQL", "confirm": shown_first["confirm"]}, *grants)
        text("memory_forget", topic="MySQL", shared="研发组", confirm=shown_first["confirm"])
        assert len(layer.scope("lena", tenant="acme").memories()) == 1


def test_who_starts_it_says_what_is_shared(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", worker=False, identity={"shared": ["home:write"]}) as layer:
        layer.shared("home").remember("The router is in the cupboard")

        async def run() -> tuple[str, str]:
            async with Client(server_for(layer, "ming", "default", Clock())) as client:
                found = await client.call_tool("memory_search", {"query": "Where is the router?"})
                item = await client.read_resource("jiyi://item/m1@home")
                return shown(found), str(item)

        found, item = asyncio.run(run())
        assert "(m1@home" in found
        assert "cupboard" in item
