"""`jiyi import`: files of other systems, read whole before anything is stored (SPEC U6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from jiyi.domain.memory import IncomingMessage
from jiyi.errors import ConflictingMessage, InputError
from jiyi.importers.formats import SHAPES, read_file
from jiyi.importers.parsed import ParsedFile
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.archive import FORMAT as OWN
from jiyi.pipelines.archive import looks_like_export
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.exporting import alone, import_export
from jiyi.surfaces.cli.output import Line, Step, counted
from jiyi.surfaces.cli.wording import PAUSED, Document, day, moment

WRITTEN = "; ".join(f"{name}: {shape}" for name, shape in {**SHAPES, OWN: "what `jiyi export` wrote"}.items())


@dataclass(slots=True)
class Share:
    """What a file brings to one user."""

    user: str
    messages: list[IncomingMessage] = field(default_factory=list)
    new: int = 0
    paused: bool = False


@dataclass(slots=True)
class Source:
    """A parsed file and whose messages it holds."""

    path: Path
    parsed: ParsedFile
    shares: dict[str, Share]

    @property
    def messages(self) -> int:
        return sum(len(share.messages) for share in self.shares.values())


def import_(
    call: Call,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files, or a ChatGPT export's zip or folder.")],
    format_name: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help=f"Told from the content. {WRITTEN}."),
    ] = None,
    self_name: Annotated[
        str | None, typer.Option("--self", metavar="NAME", help="Which speaker of a chat between people is the user.")
    ] = None,
    assume_time: Annotated[
        str | None, typer.Option(metavar="DATE", help="When talk without any time began, e.g. 2026-03-01T09:00.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="NAME", help="One conversation or person of a file that holds several.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what the files hold.")] = False,
) -> None:
    """Import conversations from files of other systems and learn from them, or bring back what `jiyi export` wrote.

    Every file is read whole first: if one is broken, nothing is stored. What is already there is not
    stored again, so an import that was stopped is finished by running it again. When a file says whose
    talk it holds, that user's memory gets it, each person a memory of their own, unless --user is given.

    An export of jiyi is told from its content. It is brought back exactly as it was, ledger and all, into the
    memory of --user, which must be empty.
    """
    if format_name == OWN or (format_name is None and any(map(looks_like_export, files))):
        given = {"--self": self_name, "--assume-time": assume_time, "--only": only}
        import_export(call, alone(files, given), dry_run=dry_run)
        return
    assumed = call.instant(assume_time, "--assume-time")
    sources = [
        _source(path, read_file(path, format=format_name, zone=call.zone, self_name=self_name, assume_time=assumed,
                                only=only), call)
        for path in files
    ]  # fmt: skip
    for source in sources:
        for line in _summary_lines(source, call):
            call.out.note(line)
    learnt = 0
    if not dry_run:
        with call.layer() as layer:
            learnt = _store(layer, sources, call)
    document = {
        "dry_run": dry_run,
        "files": [_source_document(s, call, dry_run=dry_run) for s in sources],
        "messages": sum(s.messages for s in sources),
        "new": None if dry_run else sum(share.new for s in sources for share in s.shares.values()),
        "memories_added": None if dry_run else learnt,
    }
    call.out.show(document, _result_lines(sources, learnt, dry_run=dry_run))


def _source(path: Path, parsed: ParsedFile, call: Call) -> Source:
    """Raises: InputError when the talk of several people would go into one memory."""
    named = list(dict.fromkeys(c.user for c in parsed.conversations if c.user is not None))
    given = call.common.user
    if given is not None and len(named) > 1:
        shown = ", ".join(named[:10]) + (", …" if len(named) > 10 else "")
        raise InputError(
            f"{path} holds the talk of {len(named)} people ({shown}), which --user {given} would mix into one "
            "memory: choose one with --only NAME, or leave --user out to give each a memory of their own"
        )
    shares: dict[str, Share] = {}
    for conversation in parsed.conversations:
        user = given or conversation.user or call.user
        shares.setdefault(user, Share(user)).messages.extend(conversation.messages)
    return Source(path, parsed, shares)


def _store(layer: MemoryLayer, sources: Sequence[Source], call: Call) -> int:
    """Store the messages, then learn from them; returns by how many the users' memories grew."""
    users = {user: call.of(layer, user) for source in sources for user in source.shares}
    before = {user: len(me.memories(status=None)) for user, me in users.items()}
    total, stored = sum(s.messages for s in sources), 0
    try:
        with call.out.progress("storing", total, "message") as step:
            for source in sources:
                for share in source.shares.values():
                    stored += _store_share(share, call, layer, step)
        call.work(layer)
    except ConflictingMessage as error:
        raise _explained(error, stored, total) from error
    except KeyboardInterrupt:
        call.out.note("stopped; what was stored so far stays. Run the same import again to finish it")
        raise
    return sum(len(me.memories(status=None)) - before[user] for user, me in users.items())


def _store_share(share: Share, call: Call, layer: MemoryLayer, step: Step) -> int:
    me, size = call.of(layer, share.user), call.settings.limits.batch_messages
    for start in range(0, len(share.messages), size):
        batch = share.messages[start : start + size]
        observed = me.observe(batch)
        share.new += observed.new
        share.paused = share.paused or observed.paused
        step(len(batch))
    return len(share.messages)


def _explained(error: ConflictingMessage, stored: int, total: int) -> ConflictingMessage:
    error.args = (f"{error}. {stored:,} of {total:,} messages were stored before it",)
    return error


# ------------------------------------------------------------------ wording


def _source_document(source: Source, call: Call, *, dry_run: bool) -> Document:
    at = [m.at for share in source.shares.values() for m in share.messages]
    return {
        "file": str(source.path),
        "format": source.parsed.format,
        "conversations": len(source.parsed.conversations),
        "messages": source.messages,
        "first_at": moment(min(at), call.zone) if at else None,
        "last_at": moment(max(at), call.zone) if at else None,
        "skipped": dict(source.parsed.skipped),
        "users": [
            {"user": s.user, "messages": len(s.messages), "new": None if dry_run else s.new, "paused": s.paused}
            for s in source.shares.values()
        ],
    }


def _summary_lines(source: Source, call: Call) -> Iterator[Line]:
    at = [m.at for share in source.shares.values() for m in share.messages]
    span = f", {day(min(at), call.zone)} – {day(max(at), call.zone)}" if at else ""
    yield (
        f"{source.path}: {source.parsed.format}, {counted(len(source.parsed.conversations), 'conversation')}, "
        f"{counted(source.messages, 'message')}{span}"
    )
    if source.parsed.skipped:
        yield "  left out: " + ", ".join(f"{count:,} × {why}" for why, count in source.parsed.skipped.items())
    if len(source.shares) > 1:
        yield (
            f"  {len(source.shares)} people, each with a memory of their own: {', '.join(list(source.shares)[:10])}"
            + (", …" if len(source.shares) > 10 else "")
        )
    elif source.shares and (user := next(iter(source.shares))) != call.user:
        yield f"  the file says that this is the talk of {user}: it goes into that memory (--user {user} to read it)"


def _result_lines(sources: Sequence[Source], learnt: int, *, dry_run: bool) -> Iterator[Line]:
    for source in sources:
        for share in source.shares.values():
            state = "would be read" if dry_run else f"{share.new:,} new"
            yield f"{source.path} → {share.user}: {counted(len(share.messages), 'message')}, {state}"
            if share.paused:
                yield f"  {PAUSED}"
    if not dry_run:
        yield f"{counted(learnt, 'memory', 'memories')} added"
