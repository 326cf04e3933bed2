"""`jiyi migrate`: a whole memory to another database, and back (SPEC O2)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer

from jiyi.assembly import open_memory
from jiyi.backends import move_database, without_password
from jiyi.settings import Settings, TextIndexName
from jiyi.stores.moving import Moved
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.upkeep import rebuild_index


def migrate(
    call: Call,
    to: Annotated[
        str, typer.Option("--to", metavar="PATH", help="A new file, or postgresql://… that holds no memory.")
    ],
    from_: Annotated[
        str | None, typer.Option("--from", metavar="PATH", help="The database to move; --db by default.")
    ] = None,
) -> None:
    """Move the memory of all users to another database: from a file to PostgreSQL, back, or to another of its kind.

    Everything is moved with its numbers, and both are compared at the end. When it is stopped, also by being killed, the
    same command goes on where it was. Until it ends the old database can be read but not written; it stays as it is.
    """
    source, began = from_ or call.settings.path, time.monotonic()
    ours, theirs = (replace(call.settings, path=path, memory_index=None, message_index=None) for path in (source, to))
    moved = move_database(ours, theirs, call.now, lambda what, total: call.out.progress(what, total, "row"))
    if moved.native:
        _index(call, theirs, moved)
    seconds = time.monotonic() - began
    shown = [without_password(path) for path in (source, to)]
    document = {
        "from": shown[0], "to": shown[1], "users": moved.users, "rows": dict(moved.rows), "digest": moved.digest,
        "again": moved.again, "seconds": round(seconds, 1),
    }  # fmt: skip

    def lines() -> Iterator[Line]:
        yield f"{shown[0]} → {shown[1]}: {counted(moved.users, 'user')}, {counted(moved.total, 'row')} in {seconds:.1f} s"
        kinds = {"message": "messages", "memory": "memories", "ledger": "plans", "vector": "vectors", "job": "jobs"}
        yield ", ".join(f"{moved.rows[name]:,} {kind}" for name, kind in kinds.items())
        yield f"compared: rows and hashes of all {counted(moved.users, 'user')} are equal (digest {moved.digest})"
        if moved.again:
            yield f"{counted(moved.again, 'user')} changed while it was stopped, and what had changed was moved again"
        yield f"{shown[0]} is as it was and still holds everything: delete it when you have seen that all is well"

    call.out.show(document, lines())


def _index(call: Call, target: Settings, moved: Moved) -> None:
    """What the engine's own index held is indexed again, by that of the target."""

    def index(kind: str) -> TextIndexName | None:
        return "native" if kind in moved.native else None

    settings = replace(target, memory_index=index("memory"), message_index=index("message"))
    with open_memory(settings=settings, reindexing=True) as layer:
        rebuild_index(layer, call)
