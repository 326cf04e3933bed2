"""The command line under test: in this process for most things, as a real process where that is the point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from jiyi.surfaces.cli.app import app


@dataclass(frozen=True)
class Cli:
    """`jiyi` with a home and a database of its own."""

    home: Path

    @property
    def database(self) -> Path:
        return self.home / "memory.db"

    def environment(self, **more: str) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("JIYI_") and k != "NO_COLOR"}
        return {
            **clean,
            "HOME": str(self.home),
            "JIYI_PATH": str(self.database),
            "JIYI_TIMEZONE": "Asia/Shanghai",
            **more,
        }

    def __call__(self, *args: str, stdin: str | bytes = "", code: int = 0, **environment: str) -> Result:
        """Run in this process; the exit code must be `code`."""
        # None takes a variable away, so that what the developer has set does not leak in.
        own = {k: None for k in os.environ if k.startswith("JIYI_")} | self.environment(**environment)
        result = CliRunner().invoke(app, list(args), input=stdin, env=own, prog_name="jiyi")
        assert result.exit_code == code, (args, result.exit_code, result.stdout, result.stderr, result.exception)
        return result

    def json(self, *args: str, stdin: str | bytes = "", code: int = 0, **environment: str) -> Any:
        """The document that a command prints with --json."""
        return json.loads(self(*args, "--json", stdin=stdin, code=code, **environment).stdout)

    def process(
        self,
        *args: str,
        stdin: bytes = b"",
        code: int | None = 0,
        launcher: Sequence[str] = ("-m", "jiyi"),
        **environment: str,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run as a process of its own."""
        done = subprocess.run(
            [sys.executable, *launcher, *args], input=stdin, capture_output=True, cwd=self.home, timeout=120,
            env=self.environment(**environment),
        )  # fmt: skip
        assert code is None or done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done


def lines(*records: Any) -> str:
    """JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
