"""`jiyi mcp` as a process: the SDK's own client over its pipes, bad lines, the end of stdin, signals (SPEC U3, S1)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from jiyi import open_memory
from tests.surfaces.cli import Cli
from tests.surfaces.mcp_client import shown

HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def asked(number: int | str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def wire(*messages: dict[str, Any] | bytes) -> bytes:
    return b"".join((m if isinstance(m, bytes) else json.dumps(m).encode()) + b"\n" for m in messages)


def answers(done: subprocess.CompletedProcess[bytes]) -> dict[Any, Any]:
    """What stdout holds, by id: every line of it must be protocol."""
    found = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in found)
    return {message["id"]: message.get("result") or message["error"] for message in found}


def told_to_clients() -> dict[str, Any]:
    """What docs/mcp.md tells clients to start, the same in each client's own file."""
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    [as_json], [as_toml] = (re.findall(rf"```{name}\n(.*?)```", page, re.S) for name in ("json", "toml"))
    [found] = json.loads(as_json)["mcpServers"].items()
    assert [found] == list(tomllib.loads(as_toml)["mcp_servers"].items())
    assert f"jiyi -- jiyi {' '.join(found[1]['args'])}" in page
    return {"command": found[1]["command"], "args": found[1]["args"], "env": found[1]["env"]}


def test_a_client_talks_over_pipes_and_what_it_adds_is_distilled(jiyi: Cli) -> None:
    told = told_to_clients()
    assert told["command"] == "jiyi"
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "jiyi", *told["args"]], env=jiyi.environment(**told["env"]), cwd=jiyi.home
    )
    noise = jiyi.home / "stderr.txt"

    async def talk() -> None:
        with noise.open("w") as errors:
            async with Client(stdio_client(server, errlog=errors)) as client:
                assert {t.name for t in (await client.list_tools()).tools} >= {"memory_search", "memory_forget"}
                told = [
                    {"role": "user", "text": "我们的数据库是 MySQL。"},
                    {"role": "user", "text": "I'm allergic to peanuts."},
                ]
                assert not (await client.call_tool("memory_add", {"messages": told, "session": "s1"})).is_error
                for question, word in (("数据库", "MySQL"), ("allergic", "peanuts")):
                    wanted = {"query": question, "kinds": ["fact", "memory"]}
                    while word not in shown(found := await client.call_tool("memory_search", wanted)):
                        assert not found.is_error
                        await asyncio.sleep(0.05)
                assert (await client.call_tool("memory_search", {"query": "数据库", "user": "hong"})).is_error
                assert "peanuts" in str(await client.read_resource("jiyi://profile"))

    asyncio.run(asyncio.wait_for(talk(), 60))
    assert noise.read_text().splitlines() == []
    with open_memory(jiyi.database, worker=False) as layer:
        assert [str(scope) for scope in layer.scopes()] == ["ming"]
        assert layer.lag().waiting == 0


def test_what_was_asked_before_the_end_is_answered_and_kept(jiyi: Cli) -> None:
    lines = [asked(n, "memory_add", messages=[{"role": "user", "text": f"第{n}句"}], session="s") for n in range(1, 31)]
    done = jiyi.process("mcp", "--user", "ming", stdin=wire(HELLO, READY, *lines).rstrip(b"\n"))
    told = answers(done)
    assert set(told) == set(range(31))
    assert all(told[n]["structuredContent"]["stored"] == 1 for n in range(1, 31))
    assert done.stderr == b""
    assert len(jiyi.json("history", "--user", "ming", "--limit", "99")["messages"]) == 30


def test_lines_that_are_no_messages_are_answered_too(jiyi: Cli) -> None:
    odd = b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"memory_add","arguments":{"text":"\\u6211\\ud800"}}}'
    done = jiyi.process(
        "mcp",
        stdin=wire(
            HELLO, READY, b"", b"nonsense", b"\xff\xfe", b"[" * 100_000, b'{"id": 7}', b'{"jsonrpc":"2.0","id":8,"method":5}',
            asked(9, "memory_search", query="a" * 200_000), b'{"id":"' + b"x" * 300_000, odd, asked(10, "no_such_tool"),
            asked(11, "memory_search", query="a", extra=1), {"jsonrpc": "2.0", "id": 12, "method": "nonsense"},
        ),
        JIYI_MCP__LINE_BYTES="250000",
    )  # fmt: skip
    told = answers(done)
    assert set(told) == {0, None, 7, 8, 9, "a", 10, 11, 12}
    assert done.stdout.count(b"-32700") == 4  # parse error
    assert b"more than 250,000 bytes" in done.stdout
    assert (told[7]["code"], told[8]["code"], told[12]["code"]) == (-32600, -32600, -32601)
    assert all(told[n]["isError"] for n in (9, 10, 11))
    assert "TooLarge" in told[9]["content"][0]["text"]
    assert told["a"]["structuredContent"]["believed"][0]["text"] == "我�"
    assert b"Traceback" not in done.stderr


def test_what_cannot_be_read_as_it_was_meant_is_answered_and_not_stored(jiyi: Cli) -> None:
    gbk = json.dumps(asked(5, "memory_add", text="我喜欢红茶"), ensure_ascii=False).encode("gbk")
    ids = [f'{{"jsonrpc":"2.0","id":{odd},"method":"ping"}}'.encode() for odd in ("null", "1.5", "true", "{}")]
    done = jiyi.process("mcp", stdin=wire(HELLO, READY, gbk, *ids))
    assert b"UTF-8" in done.stdout
    assert done.stdout.count(b"-32600") == 5
    assert answers(done)[5]["code"] == -32600
    assert jiyi.json("memories")["memories"] == []


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_a_signal_ends_it_cleanly(jiyi: Cli, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "jiyi", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=jiyi.environment(), cwd=jiyi.home,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(wire(HELLO, READY, asked(1, "memory_add", messages=[{"role": "user", "text": "我住在杭州。"}])))
    process.stdin.flush()
    while json.loads(process.stdout.readline())["id"] != 1:
        pass
    process.send_signal(number)
    out, err = process.communicate(timeout=30)  # stdin was open all the time
    assert (process.returncode, out, err) == (0, b"", b"")
    jiyi("work")
    assert "杭州" in jiyi("memories").stdout


def test_a_client_that_leaves_is_no_error(jiyi: Cli) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "jiyi", "mcp"], input=wire(HELLO, READY, asked(1, "memory_add", text="我住在杭州")),
            stdout=theirs, stderr=subprocess.PIPE, env=jiyi.environment(), cwd=jiyi.home, timeout=60,
        )  # fmt: skip
    finally:
        os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_cannot_be_opened_is_one_sentence(jiyi: Cli, tmp_path: Path) -> None:
    (tmp_path / "no.db").write_bytes(b"not a database" * 100)
    for args in (("--db", str(tmp_path / "no.db")), ("--user", "a\nb")):
        failed = jiyi.process("mcp", *args, code=1)
        assert failed.stdout == b""
        assert failed.stderr.decode().startswith("Error: ")
        assert failed.stderr.count(b"\n") == 1


def test_without_the_extra_it_says_what_to_install(jiyi: Cli) -> None:
    # What Python does for a module that is not installed.
    code = "import sys; sys.modules['mcp'] = None; from jiyi.surfaces.cli import main; main()"
    failed = jiyi.process("mcp", code=1, launcher=("-c", code))
    assert (
        failed.stderr.decode()
        == "Error: the MCP server (mcp) is missing: pip install 'jiyi[mcp]', or in a clone '.[mcp]'\n"
    )
