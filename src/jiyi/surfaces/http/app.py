"""The ASGI application."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeAlias

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPBearer
from starlette.applications import Starlette

import jiyi
from jiyi.assembly import wall_clock
from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer
from jiyi.surfaces.auth.entrance import Entrance
from jiyi.surfaces.http import chats, entries, graph, operating, problems, reading, writing
from jiyi.surfaces.http.edge import Edge
from jiyi.surfaces.http.mem0 import routes as mem0
from jiyi.surfaces.http.problems import RESPONSES, Problem
from jiyi.surfaces.http.service import Service
from jiyi.surfaces.limits import Limits

PREFIX = "/v1"
Beside: TypeAlias = Callable[[Entrance, Limits], Starlette]
"""Makes an application for the callers and under the limits of this one."""
ABOUT = """Long-term memory for AI agents, in Chinese and English. 给 AI 智能体的长期记忆，中文英文都行。

Whose memory a call is about follows from its token (`Authorization: Bearer …`), never from a name in it. Errors are RFC
9457 problem details. Writes take an `Idempotency-Key`; listings give a `cursor` for their next page."""

# Only says in the OpenAPI document that there is a token: the edge has verified it by then.
_token = HTTPBearer(auto_error=False, description="A token of the issuer, or a service key.")


def create_app(
    memory: MemoryLayer,
    clock: Clock = wall_clock,
    environment: Mapping[str, str] = os.environ,
    *,
    process: int = 1,
    beside: Beside | None = None,
) -> FastAPI:
    """The application over an open memory. Who runs it closes the memory, after it has stopped.

    Args:
        environment: where the keys of the models behind the proxies are.
        beside: what makes the MCP server that answers under /mcp in the same process, for the same callers.
        process: which of several processes at one address this is, for the metrics.

    Raises:
        SettingsError: identity, or a model behind the proxies, is not set up so that it could work.
    """
    service = Service(memory, clock, environment, process)
    mcp = None if beside is None else beside(service.entrance, service.limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with nullcontext() if mcp is None else mcp.router.lifespan_context(mcp):
            yield
        await service.close()

    app = FastAPI(
        title="jiyi", version=jiyi.__version__, description=ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url=f"{PREFIX}/openapi.json", responses=RESPONSES, redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )  # fmt: skip
    app.state.service = service
    app.include_router(operating.public)
    app.include_router(entries.router, dependencies=[Depends(_token)])
    for router in (chats.router, reading.router, graph.router, writing.router, operating.router):
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(_token)])
    app.include_router(mem0.router, dependencies=[Depends(_token)])
    problems.register(app)
    app.add_middleware(Edge, service=service, mcp=mcp)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )  # fmt: skip
        document["components"]["schemas"]["Problem"] = _problem_schema()
        app.openapi_schema = document
    return app.openapi_schema


def _problem_schema() -> dict[str, Any]:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    parts = schema.pop("$defs")
    schema["properties"]["errors"]["anyOf"][0]["items"] = parts["Flaw"]
    schema["properties"]["error"]["anyOf"][0] = parts["Fault"]
    return schema
