"""How things look: a JSON document with stable keys for programs, lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from typing import Any, TypeAlias

from jiyi.domain.belief import Verdict
from jiyi.domain.memory import Memory, Message, Status, Tier, memory_id, message_handle, plan_id
from jiyi.domain.plans import Change, LedgerEntry, Plan
from jiyi.domain.questions import worth_asking
from jiyi.domain.scope import handle_in
from jiyi.domain.standing import Standing, StandingChange
from jiyi.domain.summary import SessionSummary
from jiyi.pipelines.gateway import Receipt
from jiyi.pipelines.recalling.items import Item, Recollection
from jiyi.pipelines.redistil import Redistilled
from jiyi.pipelines.upkeep import Upkept
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.cli.output import Line, counted

Document: TypeAlias = dict[str, Any]

BOLD, DIM = "bold", "dim"
PAUSED = "this memory is paused: nothing was stored. `jiyi resume` goes on"


def moment(at: datetime | None, zone: tzinfo) -> str | None:
    """An instant for programs: ISO 8601 in the user's zone."""
    return None if at is None else at.astimezone(zone).isoformat()


def day(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).date().isoformat()


def minute(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def indented(text: str, by: str = "   ") -> str:
    return by + f"\n{by}".join(text.splitlines() or [""])


# ------------------------------------------------------------------ memories


def memory_document(memory: Memory, confidence: float, zone: tzinfo) -> Document:
    triple = memory.triple
    return {
        "id": memory.id,
        "text": memory.text,
        "category": memory.category.value,
        "importance": memory.importance,
        "source": memory.source.value,
        "confidence": round(confidence, 3),
        "status": memory.status.value,
        "tier": memory.tier.value,
        "low_activity": memory.low_activity,
        "affirmed_at": moment(memory.affirmed_at, zone),
        "valid_from": moment(memory.valid_from, zone),
        "valid_to": moment(memory.valid_to, zone),
        "learnt_at": moment(memory.learnt_at, zone),
        "retired_at": moment(memory.retired_at, zone),
        "successor": None if memory.successor is None else memory_id(memory.successor),
        "fact": None
        if triple is None
        else {
            "subject": triple.subject,
            "relation": triple.relation,
            "object": triple.object,
            "negated": triple.negated,
        },
        "evidence": [
            {"message": message_handle(e.message), "session": e.session, "start": e.start, "end": e.end}
            for e in memory.evidence
        ],
    }


def memory_line(memory: Memory, confidence: float, zone: tzinfo) -> Line:
    """`m4  2026-03-01  declared 0.95  [project]  数据库用的是 PostgreSQL  (until 2026-04-02, then m7)`"""
    about = f"  {day(memory.affirmed_at, zone)}  {memory.source.value} {confidence:.2f}  [{memory.category.value}]  "
    end = ""
    if memory.status is Status.HELD:
        end = "waits: it contradicts what stands"
    elif memory.status is Status.LIVE and memory.tier is not Tier.FACT:
        end = f"{memory.tier.value}, low activity" if memory.low_activity else memory.tier.value
    elif memory.status is Status.RETRACTED:
        end = "taken back: it was a mistake"
    elif memory.status is Status.ENDED and memory.valid_to is not None:
        end = f"until {day(memory.valid_to, zone)}"
    if end and memory.successor is not None:
        end += f", then {memory_id(memory.successor)}"
    return ((memory.id, BOLD), (about, DIM), memory.text, (f"  ({end})" if end else "", DIM))


def memories_document(
    me: ScopedMemory, memories: Iterable[Memory], zone: tzinfo, at: datetime | None = None
) -> list[Document]:
    """`at`: when we were as sure as is said; now by default."""
    return [memory_document(m, me.confidence(m, at=at), zone) for m in memories]


def memories_lines(
    me: ScopedMemory, memories: Sequence[Memory], zone: tzinfo, none: str, at: datetime | None = None
) -> Iterator[Line]:
    for memory in memories:
        yield memory_line(memory, me.confidence(memory, at=at), zone)
    if not memories:
        yield none


# ------------------------------------------------------------------ recall


def item_document(item: Item, rank: int, zone: tzinfo) -> Document:
    return {
        "rank": rank,
        "kind": item.kind,
        "id": item.id,
        "shared": item.shared,
        "text": item.text,
        "score": item.score,
        "at": moment(item.at, zone),
        "why": item.why,
        "session": item.session,
        "confidence": item.confidence,
        "source": item.source,
        "category": item.category,
        "importance": item.importance,
        "tier": item.tier,
        "role": item.role,
        "name": item.name,
        "message_id": item.message_id,
    }


def recollection_document(found: Recollection, zone: tzinfo) -> Document:
    return {
        "query": found.query,
        "items": [item_document(item, rank, zone) for rank, item in enumerate(found.items, 1)],
        "terms": list(found.terms),
        "relaxed": found.relaxed or None,
        "nothing_because": found.nothing_because or None,
        "dropped": [{"id": name, "because": reason} for name, reason in found.dropped],
        "trace": found.trace_id or None,
    }


def item_lines(item: Item, rank: int, zone: tzinfo) -> Iterator[Line]:
    if item.confidence is not None:
        about = f"{item.source} {item.confidence:.2f}"
    elif item.kind == "summary":
        about = f"session {item.session}"
    else:
        about = f"{item.name or item.role}, session {item.session}"
    yield (f"{rank}. ", (handle_in(item.id, item.shared), BOLD), (f"  {item.kind}  {day(item.at, zone)}  {about}", DIM))
    yield indented(item.text)
    yield (("   why: " + item.why, DIM),)


def recollection_lines(found: Recollection, zone: tzinfo) -> Iterator[Line]:
    for rank, item in enumerate(found.items, 1):
        yield from item_lines(item, rank, zone)


# ------------------------------------------------------------------ history


def message_document(message: Message, zone: tzinfo) -> Document:
    return {
        "id": message_handle(message.seq),
        "message_id": message.id,
        "session": message.session,
        "role": message.role.value,
        "name": message.name,
        "text": message.text,
        "at": moment(message.at, zone),
        "labels": dict(message.labels),
        "digest": message.digest,
    }


def message_lines(messages: Sequence[Message], zone: tzinfo) -> Iterator[Line]:
    """Turns under the names of their sessions."""
    session = None
    for message in messages:
        if message.session != session:
            session = message.session
            yield ((f"session {session}", BOLD),)
        who = "digest" if message.digest else message.name or message.role.value
        text = indented(message.text).lstrip() if "\n" in message.text else message.text
        yield ((f"  {message_handle(message.seq)}", BOLD), (f"  {minute(message.at, zone)}  {who}: ", DIM), text)


# ------------------------------------------------------------------ summaries


def summary_document(summary: SessionSummary, zone: tzinfo) -> Document:
    return {
        "id": summary.id,
        "session": summary.session,
        "block": summary.block or None,
        "text": summary.text,
        "language": summary.language.value,
        "first_at": moment(summary.first_at, zone),
        "last_at": moment(summary.last_at, zone),
        "made_at": moment(summary.made_at, zone),
        "method": summary.method,
        "messages": [message_handle(seq) for seq in summary.messages],
        "points": [
            {"kind": p.kind.value, "text": p.text, "message": message_handle(p.message), "start": p.start, "end": p.end}
            for p in summary.points
        ],
    }


def summary_lines(summary: SessionSummary, zone: tzinfo) -> Iterator[Line]:
    part = f", part {summary.block}" if summary.block else ""
    about = f"  {day(summary.first_at, zone)} – {day(summary.last_at, zone)}  session {summary.session}{part}"
    yield ((summary.id, BOLD), (f"{about}, {len(summary.messages)} turns", DIM))
    yield indented(summary.text)


# ------------------------------------------------------------------ receipts and the ledger


def changes_document(changes: Iterable[Change]) -> list[Document]:
    return [
        {
            "id": memory_id(c.seq),
            "before": None if c.before is None else {"text": c.before.text, "status": c.before.status.value},
            "after": None if c.after is None else {"text": c.after.text, "status": c.after.status.value},
        }
        for c in changes
    ]


def reasons(plan: Plan) -> list[str]:
    return [f"{j.verdict.value} ({j.rule})" + "".join(f"; {r}" for r in j.reasons) for j in plan.judgements]


def standing_document(turn: StandingChange | None, zone: tzinfo) -> Document | None:
    """What the user decided about the memory as a whole, before and after."""
    if turn is None:
        return None
    return {name: _standing(standing, zone) for name, standing in (("before", turn.before), ("after", turn.after))}


def _standing(standing: Standing, zone: tzinfo) -> Document:
    consent = standing.consent
    return {
        "detail": None if standing.detail is None else standing.detail.value,
        "detail_at": moment(standing.detail_at, zone),
        "paused_at": moment(standing.paused_at, zone),
        "consent": None if consent is None else {"given": consent.given, "notice": consent.notice, "at": moment(consent.at, zone)},
    }  # fmt: skip


def receipt_document(receipt: Receipt, me: ScopedMemory, zone: tzinfo, *, dry_run: bool = False) -> Document:
    impact = receipt.impact
    return {
        "verb": receipt.verb.value,
        "plan": receipt.plan_id,
        "dry_run": dry_run,
        "paused": receipt.paused,
        "memories": memories_document(me, receipt.memories, zone),
        "changes": changes_document(receipt.plan.changes),
        "standing": standing_document(receipt.plan.standing, zone),
        "why": reasons(receipt.plan),
        "impact": {
            "added": impact.added,
            "altered": impact.altered,
            "ended": impact.ended,
            "removed": impact.removed,
            "confident_relations": impact.confident_relations,
        },
    }


def change_lines(plan: Plan) -> Iterator[Line]:
    """What each memory was and is now."""
    yield from _changed(plan.changes)


def why_lines(plan: Plan) -> Iterator[Line]:
    """By which verdicts; that something was new needs no words."""
    for judgement, reason in zip(plan.judgements, reasons(plan), strict=True):
        if judgement.verdict is not Verdict.ADD:
            yield ((f"    why: {reason}", DIM),)


def _changed(changes: Iterable[Change]) -> Iterator[Line]:
    for change in changes:
        before, after, name = change.before, change.after, (memory_id(change.seq), BOLD)
        if after is None and before is not None:
            yield ("  - ", name, f"  {before.text}")
        elif before is None and after is not None:
            yield ("  + " if after.status is Status.LIVE else "  · ", name, f"  {after.text}", _end(after))
        elif before is not None and after is not None:
            yield ("  ~ ", name, f"  {after.text}", _end(after) or _restated(before, after))


def _end(after: Memory) -> str:
    if after.status is Status.LIVE:
        return ""
    then = "" if after.successor is None else f", then {memory_id(after.successor)}"
    if after.status is Status.HELD:
        asked = "; `jiyi questions` asks which one holds" if worth_asking(after) else ""
        return f"  (waits: {'to be verified' if then else 'it contradicts what stands'}{then}{asked})"
    return f"  ({'taken back' if after.status is Status.RETRACTED else 'kept as history'}{then})"


def _restated(before: Memory, after: Memory) -> str:
    if before.status is not Status.LIVE:
        return "  (believed again)"
    if before.tier is not after.tier:
        return f"  ({before.tier} → {after.tier})"
    return "  (confirmed)" if after.affirmed_at > before.affirmed_at else "  (adjusted)"


def receipt_lines(receipt: Receipt, done: str) -> Iterator[Line]:
    if receipt.paused:
        yield PAUSED
    elif receipt.plan_id is None and receipt.plan.empty:
        yield "nothing had to change"
    else:
        yield (done, *(((f"  plan {receipt.plan_id}", DIM),) if receipt.plan_id else ()))
    yield from change_lines(receipt.plan)
    for reason in reasons(receipt.plan):
        yield ((f"    why: {reason}", DIM),)


def upkeep_document(upkept: Upkept) -> Document:
    return {
        "dry_run": upkept.dry_run,
        "looked_at": upkept.scanned,
        "moves": [
            {
                "id": memory_id(m.seq),
                "from": m.before.value,
                "to": None if m.to is None else m.to.value,
                "low_activity": m.low_activity,
                "rule": m.rule,
                "because": m.reason,
            }
            for m in upkept.moves
        ],
        "merges": [{"into": memory_id(m.into), "gone": [memory_id(seq) for seq in m.gone]} for m in upkept.merges],
        "patterns": [change for receipt in upkept.patterns for change in changes_document(receipt.plan.changes)],
        "plans": list(upkept.plans),
    }


def upkeep_lines(upkept: Upkept) -> Iterator[Line]:
    """`m4  fact → semantic  last used on 2026-03-02  (unread-3-months)`"""
    for m in upkept.moves:
        to = "erased for good" if m.to is None else f"{m.to.value}{', low activity' if m.low_activity else ''}"
        yield ("  ", (memory_id(m.seq), BOLD), f"  {m.before.value} → {to}  {m.reason}", (f"  ({m.rule})", DIM))
    for merge in upkept.merges:
        gone = ", ".join(memory_id(seq) for seq in merge.gone)
        yield ("  ", (gone, BOLD), " merged into ", (memory_id(merge.into), BOLD), "  they say the same")
    for receipt in upkept.patterns:
        yield from change_lines(receipt.plan)
    done = f"  plan {', '.join(upkept.plans)}" if upkept.plans else ""
    would = "would change" if upkept.dry_run else "changed"
    noticed = sum(len(receipt.plan.changes) for receipt in upkept.patterns)
    changed = len(upkept.moves) + len(upkept.merges) + noticed
    yield (f"looked at {upkept.scanned}, {changed} {would}", (done, DIM))


def entry_document(entry: LedgerEntry, zone: tzinfo) -> Document:
    plan = entry.plan
    return {
        "plan": plan_id(entry.seq),
        "verb": plan.verb.value,
        "at": moment(plan.at, zone),
        "who": plan.actor.who,
        "surface": plan.actor.surface,
        "reason": plan.reason,
        "undoes": None if plan.undoes is None else plan_id(plan.undoes),
        "forgotten": entry.forgotten,
        "changes": changes_document(plan.changes),
        "standing": standing_document(plan.standing, zone),
        "why": reasons(plan),
    }


def entry_lines(entry: LedgerEntry, zone: tzinfo) -> Iterator[Line]:
    plan = entry.plan
    head = f"  {minute(plan.at, zone)}  {plan.verb.value}  by {plan.actor.who} ({plan.actor.surface})"
    yield ((plan_id(entry.seq), BOLD), (head, DIM), f"  {plan.reason}" if plan.reason else "")
    if entry.forgotten:
        yield "  what it held was forgotten"
    yield from change_lines(plan)
    for reason in reasons(plan):
        yield ((f"    why: {reason}", DIM),)


# ------------------------------------------------------------------ distilling again


def redistilled_document(found: Redistilled, *, dry_run: bool) -> Document:
    return {
        "dry_run": dry_run,
        "messages": found.messages,
        "plans": list(found.plans),
        "changes": changes_document(found.changes),
        "unsupported": [
            {"id": u.memory.id, "text": u.memory.text, "kept_because": u.kept_because or None}
            for u in found.unsupported
        ],
        "refused": found.refused or None,
    }


def redistilled_lines(found: Redistilled, *, dry_run: bool) -> Iterator[Line]:
    counts = f"{len(found.added)} added, {len(found.ended)} ended, {len(found.retired)} no longer supported and retired"
    plans = f"  (plans {', '.join(found.plans)})" if found.plans else ""
    yield f"{counted(found.messages, 'message')} read again: {'would be ' if dry_run else ''}{counts}{plans}"
    yield from _changed(found.changes)
    for unsupported in found.unsupported:
        if unsupported.kept_because:
            memory = unsupported.memory
            yield (
                "  ? ",
                (memory.id, BOLD),
                f"  {memory.text}",
                f"  (no longer supported, but {unsupported.kept_because})",
            )
    if found.refused:
        yield f"nothing is retired: {found.refused}"
    if not found.changes:
        yield "nothing has to change" if dry_run else "nothing had to change"
