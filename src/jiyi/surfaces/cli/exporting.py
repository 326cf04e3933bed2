"""`jiyi export`, and the way back through `jiyi import` (SPEC F7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from jiyi.errors import InputError
from jiyi.pipelines.archive import Summary
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import counted
from jiyi.surfaces.cli.wording import Document, moment


def export(call: Call, target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, a zip.")]) -> None:
    """Write everything that is known about the user to one zip: JSON lines, and profile.md to read.

    `jiyi import FILE` brings it back exactly as it was, also on another machine and for another user name, into a
    memory that is still empty. The file holds the user's words: only its owner may read it.
    """
    with call.layer() as layer:
        call.work(layer)
        found = call.of(layer).export(target)
    if found.unfinished:
        call.out.note(
            f"{counted(found.unfinished, 'job')} had not ended (`jiyi work` says why): what they would have learnt "
            "from these messages is not in the file"
        )
    size = target.stat().st_size
    call.out.show(
        {"file": str(target), "bytes": size, **_document(found, call)},
        [f"exported {_told(found)} to {target} ({size:,} bytes)"],
    )


def import_export(call: Call, path: Path, *, dry_run: bool) -> None:
    """The whole of `jiyi import` for a file that `jiyi export` wrote."""
    with call.memory() as me:
        found = me.import_(path, dry_run=dry_run)
    done = "would be imported" if dry_run else "imported"
    call.out.show(
        {"dry_run": dry_run, "file": str(path), "format": "jiyi", "user": call.user, **_document(found, call)},
        [f"{path} → {call.user}: {_told(found)} {done}"],
    )


def alone(files: Sequence[Path], given: Mapping[str, str | None]) -> Path:
    """The one file to bring back. Raises: InputError when there are others, or options that mean nothing for it."""
    if len(files) > 1:
        raise InputError("an export of jiyi is brought back by itself, into an empty memory: import one file at a time")
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{files[0]} is an export of jiyi, which is brought back as it is: leave {name} out")
    return files[0]


def _document(found: Summary, call: Call) -> Document:
    return {
        "messages": found.messages,
        "memories": found.memories,
        "plans": found.plans,
        "unfinished": found.unfinished,
        "exported_at": moment(found.exported_at, call.zone),
    }


def _told(found: Summary) -> str:
    return (
        f"{counted(found.messages, 'message')}, {counted(found.memories, 'memory', 'memories')}, "
        f"{counted(found.plans, 'plan')}"
    )
