"""Folders of cases written for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.surfaces.cli import Cli

Folder = Callable[..., Path]


@pytest.fixture
def cases(tmp_path: Path) -> Folder:
    """Write files of cases, by name; gives their folder."""

    def write(**files: str) -> Path:
        folder = tmp_path / "cases"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        return folder

    return write


@pytest.fixture
def one(cases: Folder) -> Callable[..., Path]:
    """A folder with one case, `c1` in `story.toml`, of the given steps."""

    def write(*steps: str, extra: str = "") -> Path:
        lines = "".join(f"  {{ {step} }},\n" for step in steps)
        return cases(story=f'[[case]]\nid = "c1"\nrows = ["B3"]\n{extra}steps = [\n{lines}]\n')

    return write


@pytest.fixture
def jiyi(tmp_path: Path) -> Cli:
    """The command line, with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return Cli(home)
