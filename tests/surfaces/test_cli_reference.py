"""docs/reference is what the program says, and every command and option says something."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from jiyi.surfaces.cli.app import app

GENERATOR = Path(__file__).parents[2] / "docs" / "generate_reference.py"


def every(group: Any, prefix: str = "jiyi") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{prefix} {name}", command
        if hasattr(command, "commands"):
            yield from every(command, f"{prefix} {name}")


COMMANDS = dict(every(typer.main.get_command(app)))


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: run `make reference`"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_explained(name: str) -> None:
    command = COMMANDS[name]
    assert (command.help or "").strip().endswith(".")
    assert [p.name for p in command.params if not p.help] == []


def test_every_command_takes_the_common_options() -> None:
    common = {"--db", "--user", "--tenant", "--tz", "--json", "--quiet"}
    for name, command in COMMANDS.items():
        if not hasattr(command, "commands"):
            assert common <= {o for p in command.params for o in p.opts}, name


def test_pages_name_every_command() -> None:
    text = (GENERATOR.parent / "reference" / "commands.md").read_text("utf-8")
    for name, command in COMMANDS.items():
        if not hasattr(command, "commands"):
            assert f"## `{name}" in text
