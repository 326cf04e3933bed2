"""The command line `jiyi` (SPEC U4). Importing this costs nothing; typer and rich are loaded by `main`."""

from __future__ import annotations

import sys

from jiyi.errors import MissingExtra


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        import rich
        import typer
    except ImportError:
        sys.stderr.write(f"Error: {MissingExtra('the command line (typer and rich)', 'cli')}\n")
        raise SystemExit(1) from None
    del rich, typer
    # A late import of our own: the module needs typer, which was looked for just above.
    from jiyi.surfaces.cli.app import app

    app(prog_name="jiyi")
