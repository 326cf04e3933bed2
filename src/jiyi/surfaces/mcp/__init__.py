"""The MCP server (SPEC U3). It needs the `mcp` extra; `jiyi mcp` says so when that is missing."""
