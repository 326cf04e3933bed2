"""`jiyi forget`: for good, after a look at what would go, with a receipt that can be verified later (SPEC F6)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from jiyi.domain.forgetting import Copy, ForgettingReceipt
from jiyi.domain.plans import ADMIN
from jiyi.errors import InputError
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.gateway import ForgetReceipt
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.cli.calls import SURFACE, Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import Document, change_lines, minute, moment, receipt_document

CAME_BACK = 1
SHOWN = 20
"""Changes that a preview prints at the most."""


def forget(
    call: Call,
    memory: Annotated[
        str | None, typer.Argument(metavar="[MEMORY]", help="Its id, such as m42: `jiyi memories` shows them.")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="TERM", help="All that names it, in either language; 数据库 is database too.")
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="All that was said in it.")] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="All that was said from then on.")] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="All that was said before then, or up to the end of that day.")
    ] = None,
    everything: Annotated[bool, typer.Option("--everything", help="All that is known about the user.")] = False,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="With --everything: of every user of the tenant, as its administrator.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Forget nothing: list the receipts, and look whether anything came back.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int | None:
    """Forget for good: a memory, a topic, a session, a span of time, or everything. It cannot be undone.

    It reaches messages, memories with their versions, the ledger and every index. Old sources and backups bring nothing
    back; a new statement is learnt again. Shows what would go and asks first.
    """
    asked = [name for name, value in (("MEMORY", memory), ("--topic", topic), ("--session", session)) if value]
    asked += ["--since or --until"] if since or until else []
    asked += ["--everything"] if everything else []
    if verify:
        if asked:
            raise InputError("--verify forgets nothing: leave the rest out")
        return _verify(call)
    if len(asked) != 1:
        said = "nothing" if not asked else " and ".join(asked)
        raise InputError(
            f"{said} is asked to be forgotten: name one, MEMORY, --topic, --session, --since/--until or --everything"
        )
    if all_users and not everything:
        raise InputError("--all-users goes with --everything")
    wanted = {
        "memory": memory,
        "topic": topic,
        "session": session,
        "since": call.instant(since, "--since"),
        "until": call.instant(until, "--until", end=True),
        "everything": everything,
    }
    with call.layer() as layer:
        if all_users:
            _forget_tenant(call, layer, dry_run=dry_run, yes=yes)
            return None
        me = call.of(layer)
        planned = me.forget(**wanted, dry_run=True)  # type: ignore[arg-type]
        if dry_run:
            call.out.show(_document(planned, me, call, dry_run=True), _planned_lines(planned, call))
            return None
        if topic is not None and not planned.proof.erased:
            call.out.show(_document(planned, me, call), [f"nothing of {topic!r} is here: nothing was forgotten"])
            return None
        _ask(call, yes, memory or asked[0], _planned_lines(planned, call))
        receipt = me.forget(**wanted)  # type: ignore[arg-type]
        call.out.show(_document(receipt, me, call), _done_lines(receipt, memory or "it", call))
    return None


def _ask(call: Call, yes: bool, what: str, lines: Iterator[Line]) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"nobody is there to ask, and forgetting {what} cannot be undone: say --yes")
    for line in lines:
        call.out.note(line)
    typer.confirm("Forget this for good?", abort=True, err=True)


def _forget_tenant(call: Call, layer: MemoryLayer, *, dry_run: bool, yes: bool) -> None:
    planned = layer.forget_tenant(call.tenant, role=ADMIN, dry_run=True)

    def lines(found: dict[str, ForgettingReceipt]) -> Iterator[Line]:
        for user, proof in found.items():
            yield f"  {user}: {_counts(proof)}"

    proofs = {s.user: proof for s, proof in planned.items()}
    if not dry_run:
        _ask(call, yes, f"all of tenant {call.tenant}", lines(proofs))
        proofs = {s.user: proof for s, proof in layer.forget_tenant(call.tenant, role=ADMIN, surface=SURFACE).items()}
    document = {
        "dry_run": dry_run,
        "tenant": call.tenant,
        "users": {u: proof_document(p, call) for u, p in proofs.items()},
    }
    head = "would be forgotten for good" if dry_run else "forgotten for good"
    call.out.show(document, [f"{counted(len(proofs), 'user')} of tenant {call.tenant} {head}", *lines(proofs)])


# ------------------------------------------------------------------ verify


def _verify(call: Call) -> int | None:
    with call.memory() as me:
        proofs = me.verify_forgotten()
    returned = max((p.returned for p in proofs), default=0)
    document = {"returned": returned, "receipts": [proof_document(p, call) for p in proofs]}
    call.out.show(document, _verified_lines(proofs, returned, call))
    return CAME_BACK if returned else None


def _verified_lines(proofs: Sequence[ForgettingReceipt], returned: int, call: Call) -> Iterator[Line]:
    if not proofs:
        yield "nothing was forgotten yet"
        return
    for proof in proofs:
        yield f"{minute(proof.at, call.zone)}  {proof.reach.value} forgotten: {_counts(proof)}  (plan p{proof.plan})"
        yield from _copy_lines(proof.copies, call)
    if returned:
        yield f"{counted(returned, 'item')} of it came back: `jiyi doctor` names them, `jiyi doctor --fix` forgets them again"
    else:
        yield "verified: nothing of it came back"


# ------------------------------------------------------------------ how it looks


def proof_document(proof: ForgettingReceipt, call: Call) -> Document:
    return {
        "number": proof.number,
        "plan": f"p{proof.plan}" if proof.plan else None,
        "reach": proof.reach.value,
        "at": moment(proof.at, call.zone),
        "erased": dict(proof.erased),
        "copies": [{"kind": c.kind, "path": c.path, "at": moment(c.at, call.zone)} for c in proof.copies],
        "verified_at": moment(proof.verified_at, call.zone),
        "returned": proof.returned,
    }


def _document(receipt: ForgetReceipt, me: ScopedMemory, call: Call, *, dry_run: bool = False) -> Document:
    document = receipt_document(receipt, me, call.zone, dry_run=dry_run)
    return document | {"receipt": proof_document(receipt.proof, call)}


def _planned_lines(planned: ForgetReceipt, call: Call) -> Iterator[Line]:
    yield f"this would be forgotten for good: {_counts(planned.proof)}"
    lines = list(change_lines(planned.plan))
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"  … and {counted(len(lines) - SHOWN, 'more change')}: --json shows all"
    yield from _copy_lines(planned.proof.copies, call)


def _done_lines(receipt: ForgetReceipt, what: str, call: Call) -> Iterator[Line]:
    yield f"forgot {what} for good  (plan {receipt.plan_id})"
    yield f"  {_counts(receipt.proof)}"
    yield from _copy_lines(receipt.proof.copies, call)


def _copy_lines(copies: Sequence[Copy], call: Call) -> Iterator[Line]:
    for copy in copies:
        yield f"  may still hold it: {copy.kind} {copy.path} of {minute(copy.at, call.zone)}"


def _counts(proof: ForgettingReceipt) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in proof.erased.items()) or "nothing that is here"
