"""MCP over streamable HTTP: a real server on loopback, the SDK's client, and every wrong token (SPEC U3, S1, S4)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from jiyi import open_memory
from jiyi.assembly import wall_clock
from jiyi.domain.access import Role
from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.surfaces.mcp.http import mcp_app
from jiyi.surfaces.mcp.server import PROFILE_URI
from jiyi.surfaces.mcp.tools import TOOLS
from tests.surfaces.cli import Cli
from tests.surfaces.issuer import Issuer, published
from tests.surfaces.mcp_client import shown
from tests.surfaces.served import running, trusting

T = TypeVar("T")
PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
FORMS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass(frozen=True)
class Served:
    url: str
    memory: MemoryLayer
    issuer: Issuer

    def talk(self, token: str, what: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
        async def run() -> T:
            headers = {"Authorization": f"Bearer {token}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
                Client(streamable_http_client(f"{self.url}/mcp", http_client=http), mode=mode) as client,
            ):
                return await what(client)

        return asyncio.run(run())

    def call(self, token: str, tool: str, mode: str = "auto", **arguments: Any) -> CallToolResult:
        return self.talk(token, lambda client: client.call_tool(tool, arguments), mode)

    def post(self, body: Any = PING, **headers: str) -> httpx2.Response:
        with httpx2.Client(timeout=30, trust_env=False) as client:
            return client.post(
                f"{self.url}/mcp", json=body, headers={k: v.encode() for k, v in {**FORMS, **headers}.items()}
            )


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    issuer = Issuer()
    file = tmp_path_factory.mktemp("mcp") / "memory.db"
    with published(issuer) as jwks, open_memory(file, worker=False, identity=trusting(jwks)) as memory:
        memory.scope("ming", tenant="acme").remember("我们的数据库是 MySQL")
        memory.scope("ming", tenant="beta").remember("I live in Leeds")
        with running(
            mcp_app(memory, "me", "default", wall_clock, host="127.0.0.1", url="http://127.0.0.1:1/mcp")
        ) as url:
            yield Served(url, memory, issuer)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_whose_memory_follows_from_the_token(here: Served, mode: str) -> None:
    for tenant, question, own in (("acme", "数据库", "MySQL"), ("beta", "Where do I live?", "Leeds")):
        token = here.issuer.token("ming", tenant)
        assert own in shown(here.call(token, "memory_search", mode, query=question))
        assert own in str(here.talk(token, lambda client: client.read_resource(PROFILE_URI), mode))
    assert shown(here.call(here.issuer.token("lena", "acme"), "memory_search", mode, query="数据库")).count("- [") == 0


def test_what_is_written_is_the_tokens_users(here: Served) -> None:
    token = here.issuer.token("hong", "acme")
    assert not here.call(token, "memory_add", text="我对花生过敏", user="hong", tenant_id="acme").is_error
    entry = here.memory.scope("hong", tenant="acme").ledger()[-1]
    assert (entry.plan.actor.surface, entry.plan.actor.who) == ("mcp", "user")


@pytest.mark.parametrize(
    "claim", [{"user": "hong"}, {"user_id": "ming "}, {"tenant": "beta"}, {"tenant_id": ""}, {"user": 0}]
)
def test_a_forged_name_is_denied_by_every_tool(here: Served, claim: dict[str, Any]) -> None:
    before = [(s, here.memory.scope(s.user, tenant=s.tenant).ledger()) for s in here.memory.scopes()]

    async def all_tools(client: Client) -> list[CallToolResult]:
        return [await client.call_tool(spec.name, {**spec.example, **claim}) for spec in TOOLS]

    for told in here.talk(here.issuer.token("ming", "acme"), all_tools):
        assert told.is_error
        assert shown(told).startswith("NotAllowed: ")
        assert "MySQL" not in shown(told)
    assert [(s, here.memory.scope(s.user, tenant=s.tenant).ledger()) for s in here.memory.scopes()] == before


def test_a_wrong_token_opens_nothing(here: Served) -> None:
    for why, token in (*here.issuer.wrong_tokens().items(), ("a key", "jiyi_sk_00000000_abc")):
        answer = here.post(Authorization=f"Bearer {token}")
        assert answer.status_code == 401, why
        assert "resource_metadata=" in answer.headers["www-authenticate"]
        assert "ming" not in answer.text
    assert here.post().status_code == 401
    assert here.post(Authorization=f"Bearer {here.issuer.token()}").status_code == 200


def test_keys_that_change_are_followed_and_an_issuer_that_is_gone_is_said(here: Served) -> None:
    here.issuer.rotate()
    assert here.post(Authorization=f"Bearer {here.issuer.token()}").status_code == 200
    here.issuer.broken = True
    here.issuer.rotate()
    try:
        answer = here.post(Authorization=f"Bearer {here.issuer.token()}")
    finally:
        here.issuer.broken = False
    assert (answer.status_code, answer.headers.get("retry-after")) in ((503, "5"), (401, None))
    assert "Traceback" not in answer.text


def test_a_service_acts_for_users_of_its_tenant(here: Served) -> None:
    _, key = here.memory.make_service_key("bot", tenant="acme", roles=[Role.AGENT])
    assert "MySQL" in shown(here.call(key, "memory_search", query="数据库", user="ming"))
    for claim in ({}, {"user": "ming", "tenant": "beta"}):
        told = here.call(key, "memory_search", query="数据库", **claim)
        assert told.is_error
        assert shown(told).startswith("NotAllowed: " if claim else "NobodyNamed: ")
        # What would never help is not advised.
        assert ("must be set up with their own token" in shown(told)) is not bool(claim)
    _, auditor = here.memory.make_service_key("audit", tenant="acme", roles=[Role.AUDITOR])
    assert "needs the right to read" in shown(here.call(auditor, "memory_search", query="数据库", user="ming"))
    assert "needs the right to write" in shown(here.call(auditor, "memory_add", text="好", user="ming"))


def test_a_page_in_a_browser_does_not_get_in(here: Served) -> None:
    token = f"Bearer {here.issuer.token()}"
    assert here.post(Authorization=token, Host="evil.example").status_code == 421
    assert here.post(Authorization=token, Origin="https://evil.example").status_code == 403
    assert here.post(Authorization=token, Origin="http://localhost:9").status_code == 200


def test_where_to_log_in_is_told(here: Served) -> None:
    with httpx2.Client(timeout=30, trust_env=False) as client:
        told = client.get(f"{here.url}/.well-known/oauth-protected-resource/mcp").json()
    assert told["authorization_servers"] == ["https://login.example"]


def test_large_and_broken_bodies_are_refused(here: Served) -> None:
    token = f"Bearer {here.issuer.token()}"
    assert here.post("x" * 5_000_000, Authorization=token).status_code == 413
    with httpx2.Client(timeout=30, trust_env=False) as client:
        for body in (
            b"nonsense",
            b'{"jsonrpc":"2.0","id":1}',
            b"[" * 50_000,
            b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
        ):
            answer = client.post(f"{here.url}/mcp", content=body, headers={**FORMS, "Authorization": token})
            assert 400 <= answer.status_code < 500, (body[:40], answer.status_code)
            assert "error" in json.loads(answer.text)


def test_one_user_of_this_machine_and_no_token(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", worker=False, service={"requests_a_minute": 3}) as memory:
        memory.scope("ming").remember("我们的数据库是 MySQL")
        app = mcp_app(
            memory,
            "ming",
            "default",
            wall_clock,
            host="127.0.0.1",
            url="http://127.0.0.1:1/mcp",
            hosts=["memory.example.com"],
        )
        with running(app) as url:
            served = Served(url, memory, Issuer())
            assert served.post(Authorization=f"Bearer {served.issuer.token('hong')}").status_code == 401
            assert served.post(Host="memory.example.com").status_code == 200

            async def all_of(client: Client) -> list[str]:
                asked: tuple[dict[str, Any], ...] = ({}, {"user": "hong"}, {}, {}, {})
                return [shown(await client.call_tool("memory_search", {"query": "数据库", **a})) for a in asked]

            async def run() -> list[str]:
                async with Client(f"{url}/mcp") as client:
                    return await all_of(client)

            first, forged, _, third, fourth = asyncio.run(run())
        assert "MySQL" in first
        assert "MySQL" in third
        assert forged.startswith("NotAllowed: ")
        assert fourth.startswith("TooManyRequests: ")
        with pytest.raises(SettingsError, match="this machine only"):
            mcp_app(memory, "ming", "default", wall_clock, host="0.0.0.0", url="http://127.0.0.1:1/mcp")


def test_an_issuer_without_an_address_is_refused(tmp_path: Path) -> None:
    pem = tmp_path / "key.pem"
    pem.write_bytes(Issuer().key.as_pem(private=False))
    identity = {"mode": "jwt", "issuer": "us", "audience": "jiyi", "key_file": str(pem)}
    with (
        open_memory(tmp_path / "memory.db", worker=False, identity=identity) as memory,
        pytest.raises(SettingsError, match="must be addresses"),
    ):
        mcp_app(memory, "ming", "default", wall_clock, host="127.0.0.1", url="http://127.0.0.1:1/mcp")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_server_of_its_own_is_started_reached_and_stopped(jiyi: Cli) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "jiyi", "mcp", "--http", "--port", str(port), "--user", "ming"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=jiyi.environment(), cwd=jiyi.home,
    )  # fmt: skip
    assert process.stderr is not None
    while b"running on" not in (line := process.stderr.readline()):
        assert line, "it ended"

    async def add() -> CallToolResult:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            return await client.call_tool("memory_add", {"messages": [{"role": "user", "text": "我住在杭州。"}]})

    assert not asyncio.run(add()).is_error
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"")
    assert b"Traceback" not in err
    assert "杭州" not in err.decode()
    jiyi("work")
    assert "杭州" in jiyi("memories", "--user", "ming").stdout
