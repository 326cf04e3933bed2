"""The command line `jiyi` (SPEC U4). It needs the `cli` extra, and says so when that is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable

from jiyi.errors import MissingExtra

command_line: Callable[..., object] | None
try:
    from jiyi.surfaces.cli.app import app as command_line
except ModuleNotFoundError as error:
    if error.name not in {"typer", "rich"}:
        raise
    command_line = None


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if command_line is None:
        sys.stderr.write(f"Error: {MissingExtra('the command line (typer and rich)', 'cli')}\n")
        raise SystemExit(1)
    command_line(prog_name="jiyi")
