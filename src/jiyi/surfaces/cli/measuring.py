"""`jiyi eval`: measure what memory does on labelled cases (SPEC R12)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jiyi.evaluation.harness import OWN_CASES, run_folder
from jiyi.surfaces.cli.calls import Call

CASES_FAILED = 1


def cases(
    call: Call,
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="By default the cases that jiyi ships.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this case; may be repeated.")] = None,
) -> int | None:
    """Run the cases of a folder, each on a memory of its own. Exit code 1 when one fails."""
    report = run_folder(folder or OWN_CASES, only=only or ())
    call.out.show(report.data(), [report.text()])
    return None if report.ok else CASES_FAILED
