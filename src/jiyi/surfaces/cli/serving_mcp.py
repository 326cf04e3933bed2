"""`jiyi mcp`: memory as an MCP server, for coding agents and desktop clients (SPEC U3)."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from jiyi.assembly import open_memory, wall_clock
from jiyi.errors import InputError
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.extras import load_surface

NEEDS = "the MCP server over HTTP (mcp, uvicorn, joserfc …)"
PACKAGES = {"mcp", "mcp_types", "anyio", "pydantic", "starlette", "uvicorn", "joserfc", "fastapi", "prometheus_client"}


def mcp(
    call: Call,
    http: Annotated[bool, typer.Option("--http", help="Over HTTP at /mcp, instead of stdin and stdout.")] = False,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="With --http: listen here. (service.host)")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="With --http: on this port. (service.port)")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --http: a name that clients reach it by, besides this machine's; may be repeated. (mcp.allowed_hosts)",
        ),
    ] = None,
    worker: Annotated[
        bool,
        typer.Option("--worker/--no-worker", help="Run background jobs here, or leave them to `jiyi work --stay`."),
    ] = True,
) -> None:
    """Serve memory over MCP, on stdin and stdout, until the client closes them; or over HTTP.

    A client starts it with a command such as `jiyi mcp --db memory.db --user ming`: the user comes from there, from
    JIYI_USER, or is `me`. Over HTTP the user comes from the token, as with `jiyi serve`; without identity settings it
    serves --user on this machine alone. What is added is distilled while it runs. Notes go to stderr.
    """
    if http:
        return _over_http(call, host, port, allow_host or [], worker=worker)
    if host or port is not None or allow_host:
        raise InputError("--host, --port and --allow-host go with --http")
    stdio = load_surface("mcp.stdio", "the MCP server (mcp)", "mcp", PACKAGES)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="jiyi mcp: %(message)s")
    settings = call.settings_for_service(worker=worker)
    with stdio.claimed_streams() as (wire_in, wire_out), open_memory(settings=settings) as layer:
        server = stdio.server_for(layer, call.user, call.tenant, wall_clock)
        stdio.serve_stdio(server, wire_in, wire_out, settings.mcp.line_bytes)
    return None


def _over_http(call: Call, host: str | None, port: int | None, hosts: list[str], *, worker: bool) -> None:
    app = load_surface("mcp.http", NEEDS, "mcp,server", PACKAGES)
    server = load_surface("http.server", NEEDS, "mcp,server", PACKAGES)
    settings = call.settings_for_service(worker=worker)
    where, number = host or settings.service.host, settings.service.port if port is None else port
    with server.listening(settings.identity, where, number) as sockets, open_memory(settings=settings) as layer:
        at = server.address_of(where, sockets)
        made = app.mcp_app(layer, call.user, call.tenant, wall_clock, host=where, url=f"{at}{app.PATH}", hosts=hosts)
        call.out.note(
            f"serving {layer.info().place} on {at}{app.PATH} ({settings.identity.mode} mode); Ctrl-C stops it"
        )
        server.run(made, sockets, settings.service)
