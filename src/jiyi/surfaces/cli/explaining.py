"""`jiyi explain`: what a recall did, why this and why not that (SPEC R10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Annotated

import typer

from jiyi.domain.traces import Considered, Trace
from jiyi.errors import NotFound
from jiyi.pipelines.explaining import Explanation, named
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import BOLD, DIM, Document, minute, moment

NO_WORDS = "(its words were not kept)"


def explain(
    call: Call,
    trace: Annotated[
        str | None,
        typer.Argument(metavar="TRACE", help="Its id, such as t1a2b3c4d; without one the latest recalls are listed."),
    ] = None,
    why: Annotated[
        str | None, typer.Option(metavar="ID", help="What became of this memory, turn or summary: m42, h17 or s3.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Recalls to list.")] = 10,
) -> None:
    """Say what a recall did: every candidate with the parts of its score, and what was left out and why."""
    if trace is None:
        if why is not None:
            raise typer.BadParameter("--why asks about one recall: name its trace, `jiyi explain` lists them")
        with call.memory() as me:
            found = me.traces(limit)
        if not found:
            call.out.note("no recall is kept here yet")
        call.out.show({"traces": [trace_document(t, call.zone) for t in found]}, _listing(found, call.zone))
        return
    if kind := named(trace):
        raise NotFound(
            f"{trace} is a {kind}, and a trace is called like t1a2b3c4d: `jiyi explain` lists them, and "
            f"`jiyi explain TRACE --why {trace}` tells what became of {trace}"
        )
    with call.memory() as me:
        explanation = me.explain(trace, why=why)
    call.out.show(_document(explanation, call.zone), _lines(explanation, call.zone))


def trace_document(trace: Trace, zone: tzinfo) -> Document:
    return {
        "id": trace.id,
        "at": moment(trace.at, zone),
        "verb": trace.verb,
        "query": trace.query or None,
        "terms": list(trace.terms),
        "limit": trace.limit,
        "kinds": list(trace.kinds),
        "relaxed": trace.relaxed or None,
        "nothing_because": trace.nothing_because or None,
        "considered": [
            {"id": c.id, "score": c.score, "parts": dict(c.parts), "why": c.why, "shown": c.shown}
            for c in trace.considered
        ],
        "left_out": [{"id": left.id, "because": left.reason} for left in trace.left_out],
        "always": list(trace.always),
    }


def _document(explanation: Explanation, zone: tzinfo) -> Document:
    account = explanation.account
    told = None if account is None else {"id": account.id, "stage": account.stage.value, "because": account.reason}
    return {"trace": trace_document(explanation.trace, zone), "account": told}


def _listing(traces: Sequence[Trace], zone: tzinfo) -> Iterator[Line]:
    for trace in traces:
        shown = counted(sum(c.shown for c in trace.considered), "item")
        head = f"  {minute(trace.at, zone)}  {trace.verb}, {shown} of {len(trace.considered)} ranked"
        yield ((trace.id, BOLD), (head, DIM))
        yield f"   {trace.query or NO_WORDS}"


def _lines(explanation: Explanation, zone: tzinfo) -> Iterator[Line]:
    trace, account = explanation.trace, explanation.account
    if account is not None:
        yield ((f"{account.id}: {account.stage}", BOLD), (f", {account.reason}", ""))
        return
    yield from _listing([trace], zone)
    yield f"   looked for: {', '.join(trace.terms) or 'nothing that can select'}"
    if trace.relaxed:
        yield f"   relaxed: {trace.relaxed}"
    if trace.nothing_because:
        yield f"   nothing found: {trace.nothing_because}"
    if trace.always:
        yield f"   there whatever is asked: {', '.join(trace.always)}"
    for place, one in enumerate(trace.considered, 1):
        yield from _candidate(one, place)
    for left in trace.left_out:
        yield ((f"   left out: {left.id}, {left.reason}", DIM),)


def _candidate(one: Considered, place: int) -> Iterator[Line]:
    parts = " ".join(f"{value:+.3f} {name}" for name, value in one.parts)
    yield (
        (f"{place}. ", ""),
        (one.id, BOLD),
        (f"  {one.score:.3f}{f' = {parts}' if parts else ''}{'' if one.shown else '  not shown'}", ""),
    )
    if one.why:
        yield ((f"   {one.why}", DIM),)
