"""Commands for whoever runs jiyi: work, redistil, reindex, backup, restore, config."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jiyi.assembly import open_memory
from jiyi.backends import restore_database, restore_server
from jiyi.domain.asking import Spent
from jiyi.domain.plans import ADMIN
from jiyi.errors import InputError, NotFound, StoreError
from jiyi.memory_layer import MemoryLayer
from jiyi.settings import TextIndexName
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.origins import effective
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import moment, redistilled_document, redistilled_lines
from jiyi.surfaces.stopping import end_in_peace


def work(
    call: Call,
    retry_dead: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="First queue this dead job again; may be repeated.")
    ] = None,
    approve_dead: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="The same, and as an administrator let it pass the limit of the gateway."),
    ] = None,
    stay: Annotated[
        bool, typer.Option("--stay", help="Go on until stopped, as a worker beside `jiyi serve --no-worker`.")
    ] = False,
) -> None:
    """Run background jobs that are due, and list those that were given up."""
    if stay:
        _stay(call)
    with call.layer() as layer:
        for job in retry_dead or ():
            layer.retry_job(job)
        for job in approve_dead or ():
            layer.retry_job(job, role=ADMIN)
        done = call.work(layer)
        left, dead = layer.lag(), layer.dead_jobs()
    document = {
        "done": done,
        "waiting": left.waiting,
        "running": left.running,
        "oldest_at": moment(left.oldest_at, call.zone),
        "dead": [
            {
                "id": d.id,
                "user": d.scope.user,
                "tenant": d.scope.tenant,
                "kind": d.kind,
                "attempts": d.attempts,
                "error": d.error,
                "died_at": moment(d.died_at, call.zone),
            }
            for d in dead
        ],
    }

    def lines() -> Iterator[Line]:
        yield f"{counted(done, 'job')} done, {left.waiting} waiting, {left.running} running, {left.dead} given up"
        for d in dead:
            yield f"  {d.id}  {d.kind} of {d.scope}, {d.attempts} attempts: {d.error}  (--retry-dead {d.id})"

    call.out.show(document, lines())


def _stay(call: Call) -> None:
    """Run jobs as they become due, until SIGTERM or Ctrl-C; the job at hand is finished."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    with open_memory(settings=call.settings_for_service(worker=True)) as layer:
        call.out.note(f"working on {layer.info().place}; Ctrl-C ends it")
        stopped.wait()
        end_in_peace()


def usage(
    call: Call,
    calls: Annotated[int, typer.Option(metavar="N", min=0, help="List the last N calls.")] = 10,
) -> None:
    """What the language model was asked: calls, tokens, cost and time, today and in the last 30 days."""
    with call.layer() as layer:
        usage = layer.usage(calls)
    document = {
        "model": usage.model,
        "today": asdict(usage.today),
        "month": asdict(usage.month),
        "tokens_per_day": usage.tokens_per_day or None,
        "money_per_day": usage.money_per_day or None,
        "calls": [{**asdict(c), "at": moment(c.at, call.zone)} for c in usage.calls],
    }

    def lines() -> Iterator[Line]:
        yield f"model: {usage.model or 'none: jiyi distils by rules alone'}"
        limit = f", of {usage.tokens_per_day:,} tokens a day" if usage.tokens_per_day else ""
        yield f"today:   {_spent(usage.today)}{limit}"
        yield f"30 days: {_spent(usage.month)}"
        for c in usage.calls:
            yield (
                f"  {moment(c.at, call.zone)}  job {c.job}  {c.model}  {c.tokens_in:,} + {c.tokens_out:,} tokens, "
                f"{c.cost:.4f}, {c.seconds:.1f} s  {c.outcome}"
            )

    call.out.show(document, lines())


def _spent(spent: Spent) -> str:
    failed = f" ({spent.failed} failed)" if spent.failed else ""
    return f"{counted(spent.calls, 'call')}{failed}, {spent.tokens_in:,} + {spent.tokens_out:,} tokens, cost {spent.cost:.4f}"


def redistil(
    call: Call,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    everyone: Annotated[bool, typer.Option("--everyone", help="For every user of the database.")] = False,
) -> None:
    """Learn again from all that was said, after the rules changed. What you took back or forgot stays so."""
    _need_database(call)
    with call.layer() as layer:
        if everyone:
            if dry_run:
                raise InputError("--dry-run shows the memory of one user: name one with --user")
            users = layer.redistil()
            done = call.work(layer)
            call.out.show({"users": users, "jobs": done}, [f"read again what {counted(users, 'user')} said"])
            return
        found = call.of(layer).redistil(dry_run=dry_run)
    call.out.show(redistilled_document(found, dry_run=dry_run), redistilled_lines(found, dry_run=dry_run))


def reindex(
    call: Call,
    text_index: Annotated[
        TextIndexName | None, typer.Option(help="Change to this text index, for memories and messages.")
    ] = None,
    dictionary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use this dictionary from now on, one word a line.")
    ] = None,
) -> None:
    """Build the text index and the graph of every user anew, after a change of segmenter, dictionary or kind of index."""
    _need_database(call)
    settings = call.settings_with(
        memory_index=text_index, message_index=text_index, dictionary=None if dictionary is None else str(dictionary)
    )
    with open_memory(settings=settings, reindexing=True) as layer:
        entries, scopes = rebuild_index(layer, call), len(layer.scopes())
    call.out.show(
        {"entries": entries, "scopes": scopes},
        [f"{counted(entries, 'entry', 'entries')} of {counted(scopes, 'user')} made anew"],
    )


def rebuild_index(layer: MemoryLayer, call: Call) -> int:
    with call.out.progress("indexing", len(layer.scopes()), "user") as step:
        return layer.reindex(lambda _done, _total: step(1))


def backup(call: Call, target: Annotated[Path, typer.Argument(help="A new file.")]) -> None:
    """Copy the database to a new file, also while it is in use; the keys of redacted values to FILE.key."""
    _need_database(call)
    folder = target.expanduser().absolute().parent
    if not folder.is_dir():
        raise StoreError(f"there is no folder {folder}: make it first, or name a file in one that is there")
    with call.layer() as layer:
        layer.backup(os.fspath(target))
    size = target.stat().st_size
    call.out.show({"backup": str(target), "bytes": size}, [f"backed up to {target} ({size:,} bytes)"])


def rotate_key(call: Call) -> None:
    """Hash redacted values with a new key from now on. The old key stays, so that older values can still be compared."""
    _need_database(call)
    with call.layer() as layer:
        key = layer.rotate_key()
    call.out.show({"key": key}, [f"new values are hashed with {key}"])


def restore(
    call: Call,
    source: Annotated[Path, typer.Argument(help="A file made by `jiyi backup`.")],
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of the database there.")] = False,
) -> None:
    """Bring a backup back as the database. Close other programs that use the database first."""
    target = call.database
    if target is None and not call.server:
        raise StoreError("an in-memory store cannot be restored into: name a file with --db")
    if not source.is_file():
        raise NotFound(f"there is no file {source}: name a backup that `jiyi backup` made")
    kept = None
    if target is not None:
        kept = restore_database(source, target, replace=replace)
    else:
        restore_server(source, call.settings)
    if kept is not None:
        call.out.note(f"what was there before is kept in {kept}: delete it when you no longer need it")
    with call.layer() as layer:  # brings an older schema up to date, and sees that the index fits the segmenter
        scopes = len(layer.scopes())
        place = layer.info().place if target is None else str(target)
    document = {
        "database": place,
        "source": str(source),
        "kept": None if kept is None else str(kept),
        "scopes": scopes,
    }
    call.out.show(document, [f"restored {source} to {place}: {counted(scopes, 'user')}"])


def config(call: Call) -> None:
    """List every setting with its value and where the value comes from."""
    settings = effective(call.settings, os.environ, call.common)
    width = max(len(s.name) for s in settings)
    document = {"settings": {s.name: {"value": s.value, "origin": s.origin} for s in settings}}
    lines: Iterator[Line] = ((f"{s.name:<{width}}  {s.shown}", (f"  ({s.origin})", "dim")) for s in settings)
    call.out.show(document, lines)


def _need_database(call: Call) -> None:
    if call.database is not None and not call.database.exists():
        raise StoreError(f"there is no database in {call.database}: name one with --db")
