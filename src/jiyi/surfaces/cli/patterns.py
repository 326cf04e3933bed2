"""`jiyi patterns`: what repeats over sessions, with its cases (SPEC G5)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Annotated

import typer

from jiyi.domain.memory import message_handle
from jiyi.domain.patterns import Case, Pattern
from jiyi.pipelines.graph.patterns import Noticed
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import BOLD, DIM, Document, day, moment


def patterns(
    call: Call,
    every: Annotated[
        bool, typer.Option("--all", help="Also what was seen too seldom, and why it is no pattern.")
    ] = False,
) -> None:
    """List what repeats over sessions: whenever something comes up, the user wants the same. Each with its cases.

    A pattern becomes an inferred memory at night, or by `jiyi upkeep`; `jiyi correct` and `jiyi undo` reject one.
    """
    with call.memory() as me:
        found = me.patterns()
    chosen = [n for n in found if every or n.memory is not None or not n.because]
    if not chosen:
        seen = f" ({counted(len(found), 'pair')} seen too seldom: --all lists them)" if found else ""
        call.out.note(f"no pattern yet{seen}")
    call.out.show({"patterns": [_document(n, call.zone) for n in chosen]}, _lines(chosen, call.zone))


def _document(noticed: Noticed, zone: tzinfo) -> Document:
    pattern = noticed.pattern
    return {
        "text": noticed.text,
        "condition": pattern.pair.condition,
        "consequence": pattern.pair.consequence,
        "sessions": pattern.support,
        "of": pattern.held,
        "elsewhere": pattern.elsewhere,
        "of_others": pattern.others,
        "is_pattern": not noticed.because,
        "because": noticed.because or None,
        "memory": None if noticed.memory is None else noticed.memory.id,
        "cases": [
            {
                "session": c.session,
                "at": moment(c.at, zone),
                "messages": [message_handle(m) for m in sorted(c.messages)],
            }
            for c in pattern.cases
        ],
    }


def _lines(found: list[Noticed], zone: tzinfo) -> Iterator[Line]:
    for noticed in found:
        memory = "" if noticed.memory is None else f"  {noticed.memory.id}"
        yield ((noticed.text, BOLD), (memory, DIM))
        yield f"   {_counts(noticed.pattern)}"
        if noticed.because:
            yield f"   no pattern: {noticed.because}"
        for case in noticed.pattern.cases:
            yield ((f"   {_case(case, zone)}", DIM),)


def _counts(pattern: Pattern) -> str:
    others = f"; of {pattern.others} others in {pattern.elsewhere}" if pattern.others else ""
    return f"in {pattern.support} of {counted(pattern.held, 'session')} in which it comes up{others}"


def _case(case: Case, zone: tzinfo) -> str:
    handles = ", ".join(message_handle(m) for m in sorted(case.messages))
    return f"{day(case.at, zone)}  {case.session}  {handles}"
