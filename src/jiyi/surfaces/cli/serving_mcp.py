"""`jiyi mcp`: the memory of one user as an MCP server, for coding agents and desktop clients (SPEC U3)."""

from __future__ import annotations

import logging
import sys

from jiyi.assembly import load_settings, open_memory, wall_clock
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.extras import load_surface

EXTRA = {"mcp", "mcp_types", "anyio", "pydantic", "starlette"}


def mcp(call: Call) -> None:
    """Serve the memory of one user over MCP, on stdin and stdout, until the client closes them.

    A client starts it with a command such as `jiyi mcp --db memory.db --user ming`. The user comes from there, from
    JIYI_USER, or is `me`: no tool takes one. What is added is distilled while it runs. Notes go to stderr.
    """
    stdio = load_surface("mcp.stdio", "the MCP server (mcp)", "mcp", EXTRA)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="jiyi mcp: %(message)s")
    settings = load_settings(call.common.db, timezone=call.common.tz)
    with stdio.claimed_streams() as (wire_in, wire_out), open_memory(settings=settings) as layer:
        server = stdio.server_for(layer, call.user, call.tenant, settings, wall_clock)
        stdio.serve_stdio(server, wire_in, wire_out, settings.mcp.line_bytes)
