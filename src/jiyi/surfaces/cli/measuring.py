"""`jiyi eval`: measure what memory does on labelled cases (SPEC R12)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from jiyi.errors import InputError
from jiyi.evaluation.extract_report import SETS, Wanted, measure
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


Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The folder that holds the public data sets. (JIYI_EVALDATA)"),
]


def extract(
    call: Call,
    data: Data = None,
    which: Annotated[str, typer.Option("--set", metavar="NAME", help=f"{', '.join(SETS)} or all.")] = "all",
    half: Annotated[
        str, typer.Option(metavar="NAME", help="Which half of the data; it is part of file names.")
    ] = "dev",
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="Only N talks of each set, evenly over it; 0: all.")
    ] = 0,
    misses: Annotated[int, typer.Option(metavar="N", min=0, help="Show N things that were said and not found.")] = 0,
    wrong: Annotated[int, typer.Option(metavar="N", min=0, help="Show N memories that are not true.")] = 0,
) -> None:
    """Measure what is distilled from public data: precision and recall, as Markdown tables.

    Every talk is observed in a fresh memory with default settings, and its memories are held against what the data
    says is true. What counts as a match is printed below the tables.
    """
    sets = SETS if which == "all" else (which,)
    found = measure(Wanted(data_folder(data), sets, half, limit))
    call.out.show(found.data(misses, wrong), [found.text(misses, wrong)])


def data_folder(given: Path | None) -> Path:
    """The folder of public data sets.

    Raises:
        InputError: none is named, or it is no folder.
    """
    named = given or (Path(os.environ["JIYI_EVALDATA"]) if os.environ.get("JIYI_EVALDATA") else None)
    if named is None:
        raise InputError("no data: name the folder of the public data sets with --data DIR or JIYI_EVALDATA")
    if not named.is_dir():
        raise InputError(f"{named} is no folder: --data names the one that holds memdaily, realmem, locomo, …")
    return named
