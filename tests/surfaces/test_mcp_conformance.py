"""The official suite of the protocol, the scenarios that need no tools of its own: run where it is installed.

npm install @modelcontextprotocol/conformance@0.1.13
JIYI_MCP_CONFORMANCE=node_modules/.bin/conformance pytest tests/surfaces/test_mcp_conformance.py
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jiyi import open_memory
from jiyi.assembly import wall_clock
from jiyi.surfaces.mcp.http import mcp_app
from tests.conftest import outside
from tests.surfaces.served import running


@pytest.mark.parametrize("scenario", ["server-initialize", "tools-list", "ping", "dns-rebinding-protection"])
def test_the_official_suite_passes(tmp_path: Path, scenario: str) -> None:
    suite = outside("JIYI_MCP_CONFORMANCE", "mcp-conformance")
    with (
        open_memory(tmp_path / "memory.db", worker=False) as memory,
        running(mcp_app(memory, "ming", "default", wall_clock, host="127.0.0.1", url="http://127.0.0.1:1/mcp")) as url,
    ):
        done = subprocess.run(
            [suite, "server", "--url", f"{url}/mcp", "--scenario", scenario], capture_output=True, text=True, timeout=120
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 failed, 0 warnings" in done.stdout
