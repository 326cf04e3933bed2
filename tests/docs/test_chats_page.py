"""From nothing to a chat with a memory in three commands, as the pages say it; and their examples for SDKs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.cli import Cli
from tests.surfaces.test_http_process import started

ROOT = Path(__file__).parents[2]
SERVED = "http://127.0.0.1:8765"
PAGE = "docs/service.md"
# The Chinese README has the same commands as the English one; test_readme sees to that.
PAGES = [p for p in (PAGE, "README.md") if "--upstream echo" in (ROOT / p).read_text("utf-8")]


def commands(page: str) -> list[str]:
    """The lines of the block that begins a chat."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text("utf-8"), re.S)
    [block] = [b for b in blocks if "--upstream echo" in b]
    return [line.partition("  #")[0].strip() for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_three_commands_lead_to_a_chat_with_a_memory(tmp_path: Path, page: str) -> None:
    install, serve, chat = commands(page)
    assert install.startswith("pip install ")
    assert "server" in install
    words = serve.partition(" 2> ")[0].split()
    assert words[0] == "jiyi"
    assert serve.endswith(" &")
    jiyi = Cli(tmp_path)
    with started(jiyi, *words[1:], "--port", "0") as server:
        command = chat.replace(SERVED, server.url).split()
        assert command[0] == "jiyi"
        for name, talk, known in (
            ("zh", "我对花生过敏。\n/new\n花生能吃吗？\n", "用户对花生过敏"),
            ("en", "I am allergic to shrimp.\n/new\nMay I have shrimp?\n", "allergic to shrimp (m1)"),
        ):
            done = jiyi.process(*command[1:], "--user", name, stdin=talk.encode())
            first, *blocks = done.stdout.decode().split("<memory>")
            assert known not in first
            assert any(known in block for block in blocks), done.stdout.decode()
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("kind", "number", "said", "times"), [("models", 2, "你说：花生能吃吗？", 3), ("mem0", 1, "缓存：Redis", 1)]
)
def test_the_examples_for_sdks_run(tmp_path: Path, kind: str, number: int, said: str, times: int) -> None:
    text = (ROOT / PAGE).read_text("utf-8")
    found = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if SERVED in b]
    examples = [b for b in found if ("mem0" in b) is (kind == "mem0")]
    assert len(examples) == number
    jiyi = Cli(tmp_path)
    with started(jiyi, "serve", "--upstream", "echo", "--port", "0") as server:
        code = "\n".join(examples).replace(SERVED, server.url)
        quiet = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=jiyi.environment(PYTHONIOENCODING="utf-8", **quiet),
            capture_output=True, text=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(said) == times
        assert server.stop() == 0
