"""Every example in both READMEs runs, prints what it says, and is the same in both languages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / name).read_text("utf-8"), re.S)


def run(code: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_examples_print_what_they_say(tmp_path: Path) -> None:
    """Those of one README: the other has the same."""
    text = (ROOT / READMES[0]).read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.S)
    assert len(examples) >= 3
    for code, expected in examples:
        printed = run(code, tmp_path)
        if expected:
            assert printed == expected


def test_commands_run(tmp_path: Path) -> None:
    """As they stand there, in a shell and an empty folder."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": path}
    lines = [
        line[2:] for block in blocks(READMES[0], "console") for line in block.splitlines() if line.startswith("$ ")
    ]
    assert len(lines) >= 4
    for line in lines:
        words = ["/bin/sh", "-c", line]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, (line, done.stdout, done.stderr)


def test_both_languages_show_the_same_examples() -> None:
    for language in ("python", "text", "console", "sh"):
        english, chinese = (blocks(name, language) for name in READMES)
        strip = re.compile(r"\s*#.*")
        assert [strip.sub("", b) for b in english] == [strip.sub("", b) for b in chinese]


@pytest.mark.parametrize("name", READMES)
def test_readme_is_short_and_shows_code_early(name: str) -> None:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    assert len(lines) < 120
    assert any(line.startswith("```") for line in lines[:30])


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
