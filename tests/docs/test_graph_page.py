"""The example of docs/graph.md runs and prints what the page says; its commands run on the same memory."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "graph.md").read_text("utf-8")


def ran(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def test_the_example_prints_what_it_says_and_the_commands_run(tmp_path: Path) -> None:
    [(code, expected)] = re.findall(r"```python\n(.*?)```\s*```text\n(.*?)```", PAGE, re.S)
    assert ran(tmp_path, "-X", "utf8", "-c", code) == expected
    lines = [
        line.split("  #")[0] for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.splitlines()
    ]
    assert len(lines) >= 2
    for line in lines:
        # `jiyi …` on the example's memory
        ran(tmp_path, "-m", *shlex.split(line), "--db", "graph.db", "--user", "u001")
    ran(tmp_path, "-m", "jiyi", "rules", "explain")


def test_the_file_of_rules_that_the_page_shows_is_right(tmp_path: Path) -> None:
    [rules] = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    assert json.loads(rules)["rules"]
    (tmp_path / "mine.json").write_text(rules, "utf-8")
    ran(tmp_path, "-m", "jiyi", "rules", "check", "mine.json")
