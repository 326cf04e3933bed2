"""Public conversations through the command line: dates kept, nothing twice (data given by JIYI_EVALDATA)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import outside
from tests.surfaces.cli import Cli


@pytest.fixture(scope="module")
def data() -> Path:
    return outside("JIYI_EVALDATA", "evaldata")


def test_a_locomo_conversation(jiyi: Cli, data: Path) -> None:
    file = str(data / "locomo" / "locomo10_dev.json")
    first = jiyi.json("import", file, "--only", "conv-26", "--self", "Caroline")
    assert first["new"] == first["messages"] > 400
    assert jiyi.json("import", file, "--only", "conv-26", "--self", "Caroline")["new"] == 0
    turns = jiyi.json("history", "--user", "Caroline", "--until", "2023-05-08", "--limit", "200")["messages"]
    assert turns
    assert all(turn["at"].startswith("2023-05-08T13:56") or turn["at"].startswith("2023-05-08T14:") for turn in turns)
    found = jiyi.json("recall", "When did I go to the support group?", "--user", "Caroline")
    assert found["items"]
    assert json.loads(jiyi("doctor", "--json").stdout)["ok"]


def test_memorybank_in_chinese(jiyi: Cli, data: Path) -> None:
    file = str(data / "memorybank_zh" / "memory_bank_cn.json")
    first = jiyi.json("import", file)
    assert first["new"] == first["messages"] == 1132
    assert jiyi.json("import", file)["new"] == 0
    who = first["users"][0] if "users" in first else "张曼婷"
    assert jiyi.json("history", "--user", who, "--limit", "5")["messages"]
