"""`jiyi serve --mcp`: HTTP and MCP in one process, for the same callers and under the same limits (SPEC U3, S1)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from jiyi import open_memory
from jiyi.assembly import wall_clock
from jiyi.domain.access import Role
from jiyi.surfaces.http.app import create_app
from jiyi.surfaces.mcp.http import mcp_beside
from tests.surfaces.issuer import Issuer, published
from tests.surfaces.mcp_client import shown
from tests.surfaces.served import Served, running, served, trusting
from tests.surfaces.test_mcp_http import FORMS, PING


@contextmanager
def both(path: Path, **settings: Any) -> Iterator[Served]:
    with open_memory(path, worker=False, **settings) as memory:
        url = "http://127.0.0.1:1/mcp"
        app = create_app(memory, beside=partial(mcp_beside, memory, clock=wall_clock, url=url))
        with running(app) as address:
            yield Served(address, memory, app)


def call(here: Served, tool: str, token: str | None = None, **arguments: Any) -> str:
    async def run() -> str:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
            Client(streamable_http_client(f"{here.url}/mcp", http_client=http)) as client,
        ):
            return shown(await client.call_tool(tool, arguments))

    return asyncio.run(run())


def test_one_process_one_user_of_this_machine(tmp_path: Path) -> None:
    with both(tmp_path / "memory.db") as here, here.client() as client:
        client.post("/v1/memories", json={"text": "我对花生过敏"})
        assert "花生" in call(here, "memory_search", query="花生能吃吗")
        call(here, "memory_add", text="I live in Leeds")
        assert "Leeds" in client.get("/v1/profile").text
        # No web page and no token gets in that way either.
        for headers, status in (({"Origin": "https://evil.example"}, 403), ({"Host": "evil.example"}, 403)):
            assert client.post("/mcp", json=PING, headers={**FORMS, **headers}).status_code == status
        assert client.post("/mcp", json=PING, headers={**FORMS, "Authorization": "Bearer x"}).status_code == 401
        assert 'operation="mcp"' in client.get("/metrics").text


def test_the_same_tokens_and_the_same_limits(tmp_path: Path) -> None:
    issuer = Issuer()
    with published(issuer) as jwks, both(
        tmp_path / "memory.db", identity=trusting(jwks, shared_claim="memory"), service={"requests_a_minute": 4}
    ) as here:  # fmt: skip
        token = issuer.token("ming", memory=["team:write"])
        with here.client(token) as client, here.client() as nobody:
            client.post("/v1/memories", json={"text": "Our database is PostgreSQL"}, params={"shared": "team"})
            told = call(here, "memory_search", token, query="Which database do we use?")
            assert "(m1@team" in told
            assert "PostgreSQL" in call(here, "fetch", token, id="m1@team")
            assert nobody.post("/mcp", json=PING, headers=FORMS).status_code == 401
            found = nobody.get("/.well-known/oauth-protected-resource/mcp")
            assert found.json()["authorization_servers"] == ["https://login.example"]
            assert client.get("/v1/profile").status_code == 200
            assert "TooManyRequests" in call(here, "memory_get_profile", token)
            assert client.get("/v1/profile").status_code == 429
        _, key = here.memory.make_service_key("desk", tenant="acme", roles=[Role.AGENT])
        assert "PostgreSQL" not in call(here, "memory_search", key, query="database", user="lena")


def test_without_it_nothing_is_there(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", worker=False) as here, here.client() as client:
        assert client.post("/mcp", json=PING, headers=FORMS).status_code == 404
