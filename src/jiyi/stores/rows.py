"""What both SQL stores keep of a thing, as plain values in columns of the same names, and back.

A row begins with the number, in SQLite with the owner in front of it; the rest is the same everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jiyi.domain.access import Role as ServiceRole
from jiyi.domain.access import ServiceKey, parse_grant
from jiyi.domain.encoding import (
    CATEGORIES,
    LANGUAGES,
    MODES,
    ROLES,
    SOURCES,
    STATUSES,
    TIERS,
    instant,
    instant_at,
    micros,
    optional_instant,
    optional_micros,
    points_fields,
    points_from_fields,
    to_json,
    trace_from_fields,
    utc_offset,
)
from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Reach, Tombstone
from jiyi.domain.graph import Edge, Link
from jiyi.domain.heat import Heat
from jiyi.domain.memory import NO_LABELS, Evidence, IncomingMessage, Memory, Message, Triple
from jiyi.domain.once import DoneOnce
from jiyi.domain.plans import Actor, Change, LedgerEntry, Plan, Verb
from jiyi.domain.standing import Consent, Detail, Standing, StandingChange
from jiyi.domain.summary import SessionSummary
from jiyi.domain.tiers import Aging
from jiyi.domain.traces import Trace
from jiyi.errors import ConflictingMessage, InputError
from jiyi.stores.encoding import (
    damage,
    judgements_from_json,
    labels_from_json,
    labels_to_json,
    memory_from_json,
    standing_from_json,
)
from jiyi.stores.numbering import Row, seq_of

MESSAGE_COLUMNS = "id, session, role, text, at, utc_offset, name, labels, forgotten, altered, digest"
MEMORY_COLUMNS = (
    "status, category, importance, source, start, affirmed_at, valid_from, valid_to, learnt_at, retired_at, "
    "changed_at, successor, kept, unasked, language, fact, value, subject, relation, object, negated, keywords, text, "
    "doubted, nudge, tier, moved_at, low_activity"
)
EVIDENCE_COLUMNS = "span_start, span_end, at, session, mode, source, trust, until, own"
SUMMARY_COLUMNS = "session, block, first_at, last_at, language, made_at, method, points"
RECEIPT_COLUMNS = "plan, at, horizon, reach, erased, copies, verified_at, returned"
SERVICE_KEY_COLUMNS = "id, name, tenant, roles, digest, made_at, revoked_at, shared"
STANDING_COLUMNS = "detail, detail_at, paused_at, consent, notice, consent_at"


def numbered(message: IncomingMessage, seq: int) -> Message:
    return Message(
        seq=seq,
        id=message.id,
        session=message.session,
        role=message.role,
        text=message.text,
        at=message.at,
        name=message.name,
        labels=dict(message.labels),
    )


def _message(row: Row) -> Message:
    key, message_id, session, role, text, at, offset, name, labels, forgotten, altered, digest = row
    # In the order of its fields: a recall makes some thirty, and names cost a quarter more.
    return Message(
        seq_of(key), message_id, session, ROLES[role], text, instant_at(at, offset), name,
        labels_from_json(labels) if labels else NO_LABELS, bool(forgotten), bool(altered), bool(digest),
    )  # fmt: skip


message_of = damage(_message)


@damage
def messages_of(rows: Iterable[Row]) -> list[Message]:
    return list(map(_message, rows))


def only_moved(before: Memory | None, after: Memory) -> bool:
    """Whether a memory was moved to another tier, and nothing else."""
    if before is None or (before.tier is after.tier and before.low_activity is after.low_activity):
        return False
    return replace(before, tier=after.tier, moved_at=after.moved_at, low_activity=after.low_activity) == after


@damage
def aging_of(row: Row) -> Aging:
    (
        key, tier, category, importance, source, start, kept, affirmed_at, learnt_at, valid_to, moved_at,
        low_activity, relation, visits, read_at,
    ) = row  # fmt: skip
    return Aging(
        seq_of(key), TIERS[tier], CATEGORIES[category], importance, SOURCES[source], start, bool(kept),
        instant(affirmed_at), instant(learnt_at), optional_instant(valid_to), optional_instant(moved_at),
        bool(low_activity), relation, None if visits is None else Heat(visits, instant(read_at)),
    )  # fmt: skip


def memory_row(memory: Memory) -> Row:
    """Values for MEMORY_COLUMNS."""
    triple = memory.triple
    if memory.start != memory.start:
        raise InputError("a confidence must be a number, not NaN")
    return (
        memory.status.value,
        memory.category.value,
        memory.importance,
        memory.source.value,
        memory.start,
        micros(memory.affirmed_at),
        micros(memory.valid_from),
        optional_micros(memory.valid_to),
        micros(memory.learnt_at),
        optional_micros(memory.retired_at),
        optional_micros(memory.changed_at),
        memory.successor,
        memory.kept,
        memory.unasked,
        memory.language.value,
        memory.key,
        memory.value,
        None if triple is None else triple.subject,
        None if triple is None else triple.relation,
        None if triple is None else triple.object,
        None if triple is None else triple.negated,
        to_json(memory.keywords),
        memory.text,
        memory.doubted,
        memory.nudge,
        memory.tier.value,
        optional_micros(memory.moved_at),
        memory.low_activity,
    )


@damage
def memory_of(row: Row, evidence: tuple[Evidence, ...]) -> Memory:
    (
        key, status, category, importance, source, start, affirmed_at, valid_from, valid_to, learnt_at, retired_at,
        changed_at, successor, kept, unasked, language, fact, value, subject, relation, object_, negated, keywords, text,
        doubted, nudge, tier, moved_at, low_activity,
    ) = row  # fmt: skip
    return Memory(
        seq=seq_of(key),
        text=text,
        category=CATEGORIES[category],
        importance=importance,
        source=SOURCES[source],
        start=start,
        affirmed_at=instant(affirmed_at),
        valid_from=instant(valid_from),
        learnt_at=instant(learnt_at),
        value=value,
        key=fact,
        triple=None if relation is None else Triple(subject, relation, object_, bool(negated)),
        valid_to=optional_instant(valid_to),
        retired_at=optional_instant(retired_at),
        changed_at=optional_instant(changed_at),
        status=STATUSES[status],
        successor=successor,
        evidence=evidence,
        keywords=() if keywords == "[]" else tuple(json.loads(keywords)),
        kept=bool(kept),
        language=LANGUAGES[language],
        unasked=bool(unasked),
        doubted=bool(doubted),
        nudge=nudge,
        tier=TIERS[tier],
        moved_at=optional_instant(moved_at),
        low_activity=bool(low_activity),
    )


@damage
def evidence_of(row: Sequence[Any]) -> Evidence:
    message, start, end, at, session, mode, source, trust, until, own = row
    return Evidence(
        seq_of(message), start, end, instant(at), session, MODES[mode], SOURCES[source], trust, optional_instant(until),
        bool(own),
    )  # fmt: skip


@damage
def entry_of(row: Row, changes: tuple[Change, ...]) -> LedgerEntry:
    key, at, verb, actor, surface, undoes, forgotten, reason, judgements, before, after = row
    told = judgements_from_json(judgements) if judgements else ()
    turn = None if before is None else StandingChange(standing_from_json(before), standing_from_json(after))
    plan = Plan(Verb(verb), Actor(actor, surface), instant(at), reason or "", changes, told, undoes, turn)
    return LedgerEntry(seq_of(key), plan, bool(forgotten))


@damage
def change_of(before: str | None, after: str | None) -> Change:
    return Change(memory_from_json(before), memory_from_json(after))


@damage
def standing_of(row: Row) -> Standing:
    detail, detail_at, paused_at, given, notice, consent_at = row
    consent = None if given is None else Consent(bool(given), notice, instant(consent_at))
    return Standing(
        None if detail is None else Detail(detail), optional_instant(detail_at), optional_instant(paused_at), consent
    )


@damage
def summary_of(row: Row, messages: Sequence[int]) -> SessionSummary:
    key, session, block, first_at, last_at, language, made_at, method, points = row
    return SessionSummary(
        seq=seq_of(key),
        session=session,
        block=block,
        messages=tuple(messages),
        first_at=instant(first_at),
        last_at=instant(last_at),
        language=LANGUAGES[language],
        points=points_from_fields(json.loads(points)),
        made_at=instant(made_at),
        method=method,
    )


@damage
def tombstone_of(row: Row) -> Tombstone:
    mark, digest, at, length, receipt = row
    return Tombstone(MARKS[mark], digest, instant(at), length, receipt)


@damage
def receipt_of(row: Row) -> ForgettingReceipt:
    key, plan, at, horizon, reach, erased, copies, verified_at, returned = row
    counts: Mapping[str, int] = json.loads(erased)
    known = tuple(Copy(kind, path, instant(made)) for kind, path, made in json.loads(copies))
    return ForgettingReceipt(
        seq_of(key), plan, instant(at), instant(horizon), Reach(reach), counts, known, optional_instant(verified_at), returned
    )  # fmt: skip


MARKS = {mark.value: mark for mark in Mark}


@damage
def trace_of(fields: str) -> Trace:
    return trace_from_fields(json.loads(fields))


def message_row(message: Message) -> Row:
    """Values for MESSAGE_COLUMNS."""
    return (
        message.id, message.session, message.role.value, message.text, micros(message.at), utc_offset(message.at),
        message.name, labels_to_json(message.labels), message.forgotten, message.altered, message.digest,
    )  # fmt: skip


def evidence_row(evidence: Evidence) -> Row:
    """Values for EVIDENCE_COLUMNS."""
    return (
        evidence.start, evidence.end, micros(evidence.at), evidence.session, evidence.mode.value,
        evidence.source.value, evidence.trust, optional_micros(evidence.until), evidence.own,
    )  # fmt: skip


def summary_row(summary: SessionSummary) -> Row:
    """Values for SUMMARY_COLUMNS."""
    return (
        summary.session, summary.block, micros(summary.first_at), micros(summary.last_at), summary.language.value,
        micros(summary.made_at), summary.method, to_json(points_fields(summary.points)),
    )  # fmt: skip


def receipt_row(receipt: ForgettingReceipt) -> Row:
    """Values for RECEIPT_COLUMNS."""
    copies = to_json([[c.kind, c.path, micros(c.at)] for c in receipt.copies])
    return (
        receipt.plan, micros(receipt.at), micros(receipt.horizon), receipt.reach.value, to_json(dict(receipt.erased)),
        copies, optional_micros(receipt.verified_at), receipt.returned,
    )  # fmt: skip


def standing_row(standing: Standing) -> Row:
    """Values for STANDING_COLUMNS."""
    consent = standing.consent
    said = (None, None, None) if consent is None else (consent.given, consent.notice, micros(consent.at))
    return (standing.detail, optional_micros(standing.detail_at), optional_micros(standing.paused_at), *said)


def fresh_messages(
    messages: Sequence[IncomingMessage], known: dict[str, Message | IncomingMessage]
) -> list[IncomingMessage]:
    """Those that are not stored yet. `known` holds what is stored by id, and gains these.

    Raises:
        ConflictingMessage: a known id with another text.
    """
    fresh: list[IncomingMessage] = []
    for incoming in messages:
        there = known.setdefault(incoming.id, incoming)
        if there is incoming:
            fresh.append(incoming)
        elif there.text != incoming.text and not (isinstance(there, Message) and there.altered):
            raise ConflictingMessage(incoming.id)
    return fresh


# ---------------------------------------------------------------------------------- what services keep


@damage
def done_of(row: Row) -> DoneOnce:
    """Of key, request, outcome and at."""
    key, request, outcome, at = row
    return DoneOnce(bytes(key), bytes(request), json.loads(outcome), instant(at))


@damage
def service_key_of(row: Row) -> ServiceKey:
    key_id, name, tenant, roles, digest, made, revoked, shared = row
    granted = frozenset(ServiceRole(role) for role in json.loads(roles))
    opened = tuple(map(parse_grant, json.loads(shared)))
    return ServiceKey(key_id, name, tenant, granted, bytes(digest), instant(made), optional_instant(revoked), opened)


def service_key_row(key: ServiceKey) -> tuple[Any, ...]:
    return (
        key.id, key.name, key.tenant, to_json(sorted(key.roles)), key.digest, micros(key.made_at),
        optional_micros(key.revoked_at), to_json(list(map(str, key.shared))),
    )  # fmt: skip


# ---------------------------------------------------------------------------------- the graph


@damage
def edge_of(row: Row) -> Edge:
    """Of memory, names of both ends around the relation, and what the memory is worth."""
    memory, subject, relation, obj, literal, source, start, affirmed_at, valid_from, valid_to, mentions = row
    return Edge(
        seq_of(memory), subject, relation, obj, bool(literal), SOURCES[source], start, instant(affirmed_at),
        instant(valid_from), optional_instant(valid_to), mentions,
    )  # fmt: skip


def link_of(row: Row) -> Link:
    """Of an edge and the names of the nodes of both ends."""
    *edge, start, end = row
    return Link(edge_of(tuple(edge)), str(start), str(end))
