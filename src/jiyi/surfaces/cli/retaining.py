"""Commands for the user's say over the memory as a whole: retention, pause, resume, consent (SPEC C5)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from jiyi.domain.standing import Detail
from jiyi.errors import InputError
from jiyi.pipelines.gateway import Receipt
from jiyi.pipelines.retention import Retention
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import Document, minute, moment, receipt_document, receipt_lines

MEANING = {
    Detail.MINIMAL: "only what you ask to keep and what matters most is kept",
    Detail.BALANCED: "all talk is kept as evidence, and what it states is learnt",
    Detail.EVERYTHING: "all talk is kept as evidence, and small things are learnt too",
}
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]


def retention(
    call: Call,
    detail: Annotated[
        Detail | None, typer.Argument(metavar="DETAIL", help="minimal, balanced or everything; left out: only show.")
    ] = None,
    past: Annotated[
        bool, typer.Option("--past", help="With minimal: apply it to what is stored too. It cannot be undone.")
    ] = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Show how much of talk is kept, or set it for what is said from now on.

    minimal: only what the user asks to keep, and amounts, deadlines, contracts, decisions and where secrets are kept.
    balanced: all talk as evidence, and what it states. everything: small things too.
    """
    with call.memory() as me:
        if detail is None:
            if past:
                raise InputError("--past goes with minimal: `jiyi retention minimal --past`")
            found = me.retention()
            call.out.show(_document(found, call), _lines(found, call))
            return
        if past and not dry_run and not yes:
            _confirm(call, me.retention(detail, past=True, dry_run=True))
        receipt = me.retention(detail, past=past, dry_run=dry_run)
        _show(call, me, receipt, f"detail is now {detail}: {MEANING[detail]}", dry_run=dry_run)


def pause(call: Call, dry_run: DryRun = False) -> None:
    """Write nothing at all until `jiyi resume`. What is known can still be asked."""
    with call.memory() as me:
        receipt = me.pause(dry_run=dry_run)
        _show(call, me, receipt, "paused: nothing is written until `jiyi resume`", dry_run=dry_run)


def resume(call: Call, dry_run: DryRun = False) -> None:
    """Go on after `jiyi pause`. What was said meanwhile was not stored."""
    with call.layer() as layer:
        me = call.of(layer)
        receipt = me.resume(dry_run=dry_run)
        if not dry_run:
            call.work(layer)
        _show(call, me, receipt, "resumed: what is said from now on is kept again", dry_run=dry_run)


def consent(
    call: Call,
    given: Annotated[
        bool, typer.Option("--given/--refused", help="Whether the user agrees; --refused also withdraws consent.")
    ],
    notice: Annotated[
        str, typer.Option(metavar="TEXT", help="The version of the data-use notice that was shown, or its text.")
    ] = "",
    dry_run: DryRun = False,
) -> None:
    """Record the user's answer to a data-use notice, with its time. `jiyi pause` stops the writing itself."""
    with call.memory() as me:
        receipt = me.consent(given=given, notice=notice, dry_run=dry_run)
        said = "consent recorded as given" if given else "consent recorded as refused; `jiyi pause` stops the writing"
        _show(call, me, receipt, said, dry_run=dry_run)


def _confirm(call: Call, planned: Receipt) -> None:
    if not sys.stdin.isatty():
        raise InputError("nobody is there to ask, and what --past takes away is gone for good: say --yes")
    for line in receipt_lines(planned, planned.plan.reason):
        call.out.note(line)
    typer.confirm("Take this away for good?", abort=True, err=True)


# ------------------------------------------------------------------ wording


def _show(call: Call, me: ScopedMemory, receipt: Receipt, done: str, *, dry_run: bool) -> None:
    now = {"retention": _document(me.retention(), call)}
    document = receipt_document(receipt, me, call.zone, dry_run=dry_run) | now
    call.out.show(document, receipt_lines(receipt, f"this would happen: {receipt.plan.reason}" if dry_run else done))


def _document(found: Retention, call: Call) -> Document:
    consent = found.consent
    return {
        "detail": found.detail.value,
        "chosen_at": moment(found.chosen_at, call.zone),
        "paused_at": moment(found.paused_at, call.zone),
        "consent": None
        if consent is None
        else {"given": consent.given, "notice": consent.notice, "at": moment(consent.at, call.zone)},
        "unread_jobs": found.unread,
    }


def _lines(found: Retention, call: Call) -> Iterator[Line]:
    by = "by default" if found.chosen_at is None else f"chosen {minute(found.chosen_at, call.zone)}"
    yield f"detail   {found.detail}  ({by}): {MEANING[found.detail]}"
    paused = "no" if found.paused_at is None else f"since {minute(found.paused_at, call.zone)}: `jiyi resume` goes on"
    yield f"paused   {paused}"
    if (consent := found.consent) is None:
        yield "consent  none recorded"
    else:
        about = f" to {consent.notice}" if consent.notice else ""
        yield f"consent  {'given' if consent.given else 'refused'}{about}, {minute(consent.at, call.zone)}"
    if found.unread:
        yield f"waiting  {counted(found.unread, 'job')} still to read what was said: `jiyi work`"
