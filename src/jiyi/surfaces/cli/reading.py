"""Commands that answer: recall, context, history, sessions, summaries, profile, memories, versions, ledger."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jiyi.backends import without_password
from jiyi.domain.bitemporal import AsOf
from jiyi.domain.memory import Category, Language, Status, Tier
from jiyi.domain.profile import ProfileLine, diff_profiles
from jiyi.errors import InputError, NotFound
from jiyi.scoped_memory import ScopedMemory
from jiyi.shipped import load_vocabulary
from jiyi.surfaces.cli.calls import CATEGORIES, Call
from jiyi.surfaces.cli.output import counted
from jiyi.surfaces.cli.user_file import read_file, write_file
from jiyi.surfaces.cli.wording import (
    Document,
    day,
    entry_document,
    entry_lines,
    item_document,
    item_lines,
    memories_document,
    memories_lines,
    message_document,
    message_lines,
    moment,
    recollection_document,
    recollection_lines,
    summary_document,
    summary_lines,
)

FACTS_SHOWN = 12
"""Names of facts that are listed where none was found."""


class Kind(StrEnum):
    """Kinds of recalled things."""

    FACT = "fact"
    MEMORY = "memory"
    MESSAGE = "message"
    SUMMARY = "summary"


class Shown(StrEnum):
    """Which memories are listed."""

    LIVE = "live"
    HELD = "held"
    ENDED = "ended"
    RETRACTED = "retracted"
    ALL = "all"


Since = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Not before this date or date-time, e.g. 2026-03-01.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Up to the end of this date, or before this date-time.", show_default=False),
]
ValidAt = Annotated[
    str | None,
    typer.Option(
        "--valid-at", metavar="DATE", help="What was true then, as far as is known; a date is its end.",
        show_default=False,
    ),
]  # fmt: skip
KnownAt = Annotated[
    str | None,
    typer.Option("--known-at", metavar="DATE", help="What was known then; a date is its end.", show_default=False),
]


Tiers = Annotated[
    list[Tier] | None,
    typer.Option(
        "--tier", metavar="NAME", help="Only this tier: fact, semantic, archive; may be repeated.", show_default=False
    ),
]


Beside = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Also from this shared memory of the tenant; may be repeated. `--user shared:NAME` works with it alone.",
        show_default=False,
    ),
]


def recall(
    call: Call,
    query: Annotated[str, typer.Argument(help="Any question or words, in Chinese or English.")],
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Items at the most.")] = 8,
    kind: Annotated[
        list[Kind] | None, typer.Option(metavar="KIND", help="fact, memory, message or summary; may be repeated.")
    ] = None,
    category: Annotated[
        list[Category] | None, typer.Option(metavar="NAME", help=f"Only this category, {CATEGORIES}; may be repeated.")
    ] = None,
    min_importance: Annotated[
        int, typer.Option(min=1, max=5, metavar="1-5", help="Memories of this importance and above.")
    ] = 1,
    since: Since = None,
    until: Until = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only from this session.")] = None,
    tier: Tiers = None,
    created_since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only memories learnt since then.", show_default=False)
    ] = None,
    read_until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only memories last read before then.", show_default=False)
    ] = None,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    shared: Beside = None,
) -> None:
    """Find what is known about a question, best first, each with the reason it was found."""
    with call.reading(shared) as me:
        found = me.recall(
            query, limit=limit, kinds=kind or None, categories=category or (), min_importance=min_importance,
            since=call.instant(since, "--since"), until=call.instant(until, "--until", end=True), session=session,
            tiers=tier or None, created_since=call.instant(created_since, "--created-since"),
            read_until=call.instant(read_until, "--read-until", end=True),
            valid_at=call.as_of(valid_at, "--valid-at"), known_at=call.as_of(known_at, "--known-at"),
        )  # fmt: skip
    if found.relaxed:
        call.out.note(f"note: {found.relaxed}")
    if found.nothing_because:
        call.out.note(f"nothing found: {found.nothing_because}")
    call.out.show(recollection_document(found, call.zone), recollection_lines(found, call.zone))
    if found.trace_id:
        call.out.note(f"`{_explain(call, found.trace_id)}` says what was looked at")


def _explain(call: Call, trace: str) -> str:
    """The command that explains it, as it can be typed here."""
    db = None if call.common.db is None else without_password(call.common.db)
    given = (("--db", db), ("--user", call.common.user), ("--tenant", call.common.tenant))
    return shlex.join(
        ["jiyi", "explain", trace, *(part for name, value in given if value for part in (name, str(value)))]
    )


def context(
    call: Call,
    query: Annotated[str, typer.Argument(help="What the user just said or asked.")],
    budget: Annotated[int | None, typer.Option(metavar="TOKENS", help="Tokens at the most.")] = None,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="The session going on; its last turns are shown.")
    ] = None,
    language: Annotated[Language | None, typer.Option(help="Of the headings; the question's by default.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print on stderr why each item is there.")] = False,
    shared: Beside = None,
) -> None:
    """Print the block for the system role: what an agent should know before it answers this."""
    with call.reading(shared) as me:
        block = me.context(query, budget=budget, session=session, language=language)
    document = {
        "query": query,
        "text": block.text,
        "tokens": block.tokens,
        "items": [item_document(item, rank, call.zone) for rank, item in enumerate(block.items, 1)],
        "nothing_because": block.recollection.nothing_because or None,
        "trace": block.trace_id or None,
    }
    call.out.verbatim(document, block.text)
    if explain:
        for rank, item in enumerate(block.items, 1):
            for line in item_lines(item, rank, call.zone):
                call.out.note(line)
        for name, reason in block.recollection.dropped:
            call.out.note(f"left out: {name}, {reason}")
        more = f"; `{_explain(call, block.trace_id)}` tells more" if block.trace_id else ""
        call.out.note(f"{block.tokens} tokens{more}")


def history(
    call: Call,
    query: Annotated[str | None, typer.Argument(help="Words to look for; without them the turns in order.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only this session.")] = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The turns around this one, e.g. h17, or those of a summary, e.g. s3."),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Turns at the most.")] = 50,
) -> None:
    """Read what was said: by words, by session, by time, or around one turn."""
    with call.memory() as me:
        found = me.history(
            query, session=session, around=around, since=call.instant(since, "--since"),
            until=call.instant(until, "--until", end=True), limit=limit,
        )  # fmt: skip
    document = {"query": query, "messages": [message_document(m, call.zone) for m in found.messages]}
    if not found.messages:
        because = found.recollection.nothing_because if found.recollection else "no turn fits"
        call.out.note(f"nothing found: {because}")
    elif found.recollection is not None and found.recollection.relaxed:
        call.out.note(f"note: {found.recollection.relaxed}")
    call.out.show(document, message_lines(found.messages, call.zone))


def sessions(
    call: Call, limit: Annotated[int, typer.Option(min=1, metavar="N", help="Sessions at the most.")] = 50
) -> None:
    """List the sessions, the latest first."""
    with call.memory() as me:
        found = me.sessions(limit)
    document = {
        "sessions": [
            {
                "session": s.session,
                "first_at": moment(s.first_at, call.zone),
                "last_at": moment(s.last_at, call.zone),
                "messages": s.messages,
            }
            for s in found
        ]
    }
    if not found:
        call.out.note("no sessions yet")
    call.out.show(
        document,
        (
            f"{day(s.first_at, call.zone)} – {day(s.last_at, call.zone)}  {counted(s.messages, 'message')}  {s.session}"
            for s in found
        ),
    )


def summaries(
    call: Call, session: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this session.")] = None
) -> None:
    """List what sessions came to; `jiyi history --around s3` opens one into its turns."""
    with call.memory() as me:
        found = me.summaries(session)
        if session is not None and not found and not me.history(session=session, limit=1).messages:
            raise NotFound(f"no session {session!r} here", "session")
    if not found:
        call.out.note("no summaries yet: a session is summarised when it ends (`jiyi end SESSION`) or falls silent")
    call.out.show(
        {"summaries": [summary_document(s, call.zone) for s in found]},
        (line for s in found for line in summary_lines(s, call.zone)),
    )


def profile(
    call: Call,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--diff",
            metavar="FROM TO",
            show_default=False,
            help="The lines that came (+) and went (-) between two dates, all of them; by --known-at, else as known now.",
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", show_default=False, help="Write the whole profile to a file to edit."),
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option("--read", metavar="FILE", show_default=False, help="Take over what was edited in that file."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --read: only show what would change.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --write: also over a file with edits that were not read.")
    ] = False,
    language: Annotated[
        Language | None, typer.Option(help="With --write: of the headings; by default the one of most lines.")
    ] = None,
    shared: Beside = None,
) -> None:
    """Print the user in a few lines, each naming its memory; or write it as a file to edit, and read that back.

    In the file, change a line to correct it, add one to have it remembered, delete one to reject it.
    """
    if shared and (write is not None or read is not None or diff is not None):
        raise InputError("--shared goes without --write, --read and --diff: they are about one memory")
    if write is not None or read is not None:
        if (
            diff is not None
            or valid_at is not None
            or known_at is not None
            or (write is not None) == (read is not None)
        ):
            raise InputError("--write FILE and --read FILE each go alone, and are about what is known now")
        if write is not None:
            write_file(call, write, language, force=force)
        elif read is not None:
            read_file(call, read, dry_run=dry_run)
        return
    known = call.as_of(known_at, "--known-at")
    if diff is not None:
        if valid_at is not None:
            raise InputError("--diff takes the two dates itself: leave --valid-at out")
        _profile_difference(call, diff, known)
        return
    with call.reading(shared) as me:
        shown = me.profile(valid_at=call.as_of(valid_at, "--valid-at"), known_at=known)
    document = {"text": shown.text, "lines": _profile_lines(shown.lines), "left_out": shown.left_out}
    if not shown.lines:
        call.out.note("nothing is known about this user yet")
    if shown.left_out:
        call.out.note(f"{shown.left_out} more lines did not fit: `jiyi memories` lists everything")
    call.out.show(document, [shown.text] if shown.lines else [])


def questions(call: Call) -> None:
    """Print what only you can settle: contradictions, hearsay, verifications that are past."""
    with call.memory() as me:
        asked = me.questions()
    document = {
        "questions": [
            {
                "id": q.id,
                "topic": q.topic.value,
                "text": q.text,
                "since": moment(q.since, call.zone),
                "options": [{"id": m.id, "text": m.text} for m in q.options],
            }
            for q in asked
        ]
    }
    if not asked:
        call.out.note("no open questions")
    call.out.show(document, [f"{q.id}  {q.text}" for q in asked])


def _profile_difference(call: Call, dates: tuple[str, str], known_at: datetime | None) -> None:
    first, last = (call.as_of(date, "--diff") for date in dates)
    with call.memory() as me:
        before, after = (me.profile(valid_at=at, known_at=known_at, max_chars=sys.maxsize) for at in (first, last))
    changed = diff_profiles(before, after)
    document = {
        "from": moment(first, call.zone),
        "to": moment(last, call.zone),
        "added": _profile_lines(changed.added),
        "removed": _profile_lines(changed.removed),
    }
    if not (changed.added or changed.removed):
        call.out.note("no line changed between the two")
    lines = [f"{sign} {line.text.removeprefix('- ')}"
             for sign, some in (("-", changed.removed), ("+", changed.added)) for line in some]  # fmt: skip
    call.out.show(document, lines)


def _profile_lines(lines: Iterable[ProfileLine]) -> list[Document]:
    return [
        {"text": line.text, "id": line.memory.id, "unverified": line.unverified, "shared": line.shared}
        for line in lines
    ]


def memories(
    call: Call,
    status: Annotated[Shown, typer.Option(help="live, those that ended, those taken back, or all.")] = Shown.LIVE,
    category: Annotated[
        list[Category] | None, typer.Option(metavar="NAME", help=f"Only this category, {CATEGORIES}; may be repeated.")
    ] = None,
    tier: Tiers = None,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
) -> None:
    """List what is believed, with source, confidence and date."""
    valid, known = call.as_of(valid_at, "--valid-at"), call.as_of(known_at, "--known-at")
    at = AsOf(valid, known).age_at(call.now)
    with call.memory() as me:
        found = me.memories(
            status=None if status is Shown.ALL else Status(status.value), categories=category or (), tiers=tier or None,
            valid_at=valid, known_at=known,
        )  # fmt: skip
        document = {"memories": memories_document(me, found, call.zone, at)}
        call.out.show(document, memories_lines(me, found, call.zone, "no memories", at))


def versions(
    call: Call,
    what: Annotated[str, typer.Argument(help="A memory such as m42, or the name of a fact: database, 数据库, budget.")],
) -> None:
    """Show every value that a fact has had, oldest first."""
    with call.memory() as me:
        found = me.versions(what)
        if not found:
            raise NotFound(f"no fact called {what!r} here: {_facts_there_are(me)}")
        document = {"what": what, "memories": memories_document(me, found, call.zone)}
        call.out.show(document, memories_lines(me, found, call.zone, "no versions"))


def _facts_there_are(me: ScopedMemory) -> str:
    """By what `versions` finds something here: the names of the relations, in both languages, or else an id."""
    held = {m.triple.relation for m in me.memories(status=None) if m.triple}
    names = [
        "/".join(names)
        for relation in load_vocabulary()
        if relation.name in held and (names := [n[0] for language in Language if (n := relation.names.of(language))])
    ]
    by_id = "name a memory such as m3 (`jiyi memories` lists them)"
    if not names:
        return by_id
    shown = ", ".join(names[:FACTS_SHOWN]) + (", …" if len(names) > FACTS_SHOWN else "")
    return f"{by_id}, or one of {shown}"


def ledger(call: Call, limit: Annotated[int, typer.Option(min=1, metavar="N", help="The last so many.")] = 50) -> None:
    """List every change of memory: when, who, what and why."""
    with call.memory() as me:
        entries = me.ledger(latest=limit)
    if not entries:
        call.out.note("nothing has changed yet")
    call.out.show(
        {"entries": [entry_document(e, call.zone) for e in entries]},
        (line for e in entries for line in entry_lines(e, call.zone)),
    )
