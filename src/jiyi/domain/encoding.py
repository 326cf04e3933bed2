"""How domain values look outside the program: instants as integers, pictures and verdicts as plain JSON values.

Shared by every SQL backend and by the export file (SPEC F7), so that what one writes another reads. The functions
that read trust their input: what is not as it was written ends in a LookupError, ValueError, TypeError or OverflowError.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from jiyi.domain.belief import Judgement, Verdict
from jiyi.domain.heat import Heat
from jiyi.domain.memory import (
    NO_LABELS,
    Category,
    Evidence,
    Language,
    Memory,
    Message,
    Mode,
    Role,
    Source,
    Status,
    Tier,
    Triple,
)
from jiyi.domain.plans import Actor, Change, LedgerEntry, Plan, Verb
from jiyi.domain.standing import Consent, Detail, Standing, StandingChange
from jiyi.domain.summary import Point, PointKind, SessionSummary
from jiyi.domain.traces import Considered, LeftOut, Trace
from jiyi.errors import InputError, InstantWithoutZone

Fields = Mapping[str, Any]

# Looking a member up in a dict is several times cheaper than calling the enum, and rows hold five of them.
ROLES = {member.value: member for member in Role}
STATUSES = {member.value: member for member in Status}
CATEGORIES = {member.value: member for member in Category}
SOURCES = {member.value: member for member in Source}
MODES = {member.value: member for member in Mode}
TIERS = {member.value: member for member in Tier}
LANGUAGES = {member.value: member for member in Language}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000


def micros(at: datetime) -> int:
    """Microseconds since 1970 UTC.

    Raises:
        InstantWithoutZone: the date-time has no time zone.
        InputError: in UTC it lies outside the years 1 to 9999.
    """
    if at.utcoffset() is None:
        raise InstantWithoutZone(at)
    passed = at - _EPOCH
    value = passed.days * _DAY + passed.seconds * 1_000_000 + passed.microseconds
    if not _FIRST <= value <= _LAST:
        raise InputError(f"{at} lies outside the years 1 to 9999 of UTC")
    return value


_FIRST = -62_135_596_800_000_000  # 0001-01-01
_LAST = 253_402_300_799_999_999  # 9999-12-31


def optional_micros(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def instant(value: int) -> datetime:
    """The inverse of `micros`, in UTC."""
    return _EPOCH + timedelta(microseconds=value)


def optional_instant(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + timedelta(microseconds=value)


def utc_offset(at: datetime) -> int:
    """Seconds east of UTC. (Whole minutes today, but Shanghai's local mean time was +08:05:43.)"""
    offset = at.utcoffset()
    return 0 if offset is None else offset.days * 86_400 + offset.seconds


def instant_at(value: int, offset: int) -> datetime:
    """The instant in the offset it was said in."""
    if not offset:
        return _EPOCH + timedelta(microseconds=value)
    # Through local time, since the instant itself may lie outside what UTC can show.
    return (_LOCAL_EPOCH + timedelta(microseconds=value, seconds=offset)).replace(tzinfo=_zone(offset))


_LOCAL_EPOCH = _EPOCH.replace(tzinfo=None)


@lru_cache(maxsize=512)
def _zone(offset: int) -> timezone:
    return timezone(timedelta(seconds=offset)) if offset else UTC


_PLAIN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def to_json(value: Any) -> str:
    """Plain JSON, readable in Chinese too.

    Raises:
        InputError: the value cannot be written as JSON.
    """
    try:
        return _PLAIN.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"this cannot be stored as JSON: {error}") from error


def memory_fields(memory: Memory) -> dict[str, Any]:
    """A full picture of a memory; what has its default is left out."""
    triple = memory.triple
    fields: dict[str, Any] = {
        "seq": memory.seq,
        "text": memory.text,
        "category": memory.category.value,
        "importance": memory.importance,
        "source": memory.source.value,
        "start": memory.start,
        "affirmed_at": micros(memory.affirmed_at),
        "valid_from": micros(memory.valid_from),
        "learnt_at": micros(memory.learnt_at),
        "value": memory.value,
        "key": memory.key,
        "triple": None if triple is None else [triple.subject, triple.relation, triple.object, triple.negated],
        "valid_to": optional_micros(memory.valid_to),
        "retired_at": optional_micros(memory.retired_at),
        "changed_at": optional_micros(memory.changed_at),
        "status": memory.status.value,
        "successor": memory.successor,
        "evidence": [evidence_fields(e) for e in memory.evidence],
        "keywords": list(memory.keywords),
        "kept": memory.kept,
        "language": memory.language.value,
        "unasked": memory.unasked or None,
        "doubted": memory.doubted or None,
        "nudge": memory.nudge or None,
        "tier": None if memory.tier is Tier.FACT else memory.tier.value,
        "moved_at": optional_micros(memory.moved_at),
        "low_activity": memory.low_activity or None,
    }
    return {name: value for name, value in fields.items() if value is not None and value != []}


def version_of(memory: Memory) -> str:
    """A short hash of a memory as it stands: another one after every change of it."""
    return hashlib.sha256(to_json(memory_fields(memory)).encode("utf-8", "replace")).hexdigest()[:20]


def evidence_fields(said: Evidence) -> list[Any]:
    return [
        said.message, said.start, said.end, micros(said.at), said.session,
        said.mode.value, said.source.value, said.trust, optional_micros(said.until), said.own,
    ]  # fmt: skip


def evidence_from_fields(fields: list[Any]) -> Evidence:
    message, start, end, at, session, mode, source, trust, until, own = fields
    return Evidence(
        message, start, end, instant(at), session, MODES[mode], SOURCES[source], trust, optional_instant(until), own
    )


def memory_from_fields(fields: Fields) -> Memory:
    return Memory(
        seq=fields["seq"],
        text=fields["text"],
        category=CATEGORIES[fields["category"]],
        importance=fields["importance"],
        source=SOURCES[fields["source"]],
        start=fields["start"],
        affirmed_at=instant(fields["affirmed_at"]),
        valid_from=instant(fields["valid_from"]),
        learnt_at=instant(fields["learnt_at"]),
        value=fields["value"],
        key=fields["key"],
        triple=Triple(*fields["triple"]) if "triple" in fields else None,
        valid_to=optional_instant(fields.get("valid_to")),
        retired_at=optional_instant(fields.get("retired_at")),
        changed_at=optional_instant(fields.get("changed_at")),
        status=STATUSES[fields["status"]],
        successor=fields.get("successor"),
        evidence=tuple(map(evidence_from_fields, fields.get("evidence", ()))),
        keywords=tuple(fields.get("keywords", ())),
        kept=fields["kept"],
        language=LANGUAGES[fields["language"]],
        unasked=fields.get("unasked", False),
        doubted=fields.get("doubted", False),
        nudge=fields.get("nudge", 0),
        tier=TIERS[fields.get("tier", Tier.FACT.value)],
        moved_at=optional_instant(fields.get("moved_at")),
        low_activity=fields.get("low_activity", False),
    )


def judgement_fields(judgement: Judgement) -> dict[str, Any]:
    return {
        "verdict": judgement.verdict.value,
        "rule": judgement.rule,
        "reasons": list(judgement.reasons),
        "same": judgement.same,
        "ends": list(judgement.ends),
        "lowers": list(judgement.lowers),
        "ended_by": judgement.ended_by,
    }


def judgement_from_fields(fields: Fields) -> Judgement:
    return Judgement(
        Verdict(fields["verdict"]),
        fields["rule"],
        tuple(fields["reasons"]),
        same=fields["same"],
        ends=tuple(fields["ends"]),
        lowers=tuple(fields["lowers"]),
        ended_by=fields["ended_by"],
    )


def standing_fields(standing: Standing) -> dict[str, Any]:
    consent = standing.consent
    return {
        "detail": None if standing.detail is None else standing.detail.value,
        "detail_at": optional_micros(standing.detail_at),
        "paused_at": optional_micros(standing.paused_at),
        "consent": None if consent is None else [consent.given, consent.notice, micros(consent.at)],
    }


def standing_from_fields(fields: Fields) -> Standing:
    detail, consent = fields["detail"], None
    if fields["consent"] is not None:
        given, notice, at = fields["consent"]
        consent = Consent(given, notice, instant(at))
    return Standing(
        None if detail is None else Detail(detail),
        optional_instant(fields["detail_at"]),
        optional_instant(fields["paused_at"]),
        consent,
    )


def _turn_from_fields(pictures: Any) -> StandingChange | None:
    if pictures is None:
        return None
    before, after = map(standing_from_fields, pictures)
    return StandingChange(before, after)


def entry_fields(entry: LedgerEntry) -> dict[str, Any]:
    plan, turn = entry.plan, entry.plan.standing
    return {
        "seq": entry.seq,
        "verb": plan.verb.value,
        "who": plan.actor.who,
        "surface": plan.actor.surface,
        "at": micros(plan.at),
        "reason": plan.reason,
        "undoes": plan.undoes,
        "forgotten": entry.forgotten,
        "judgements": [judgement_fields(j) for j in plan.judgements],
        "changes": [
            [None if memory is None else memory_fields(memory) for memory in (c.before, c.after)] for c in plan.changes
        ],
        "standing": None if turn is None else [standing_fields(turn.before), standing_fields(turn.after)],
    }


def entry_from_fields(fields: Fields) -> LedgerEntry:
    pictures = (
        [None if picture is None else memory_from_fields(picture) for picture in (before, after)]
        for before, after in fields["changes"]
    )
    plan = Plan(
        Verb(fields["verb"]),
        Actor(fields["who"], fields["surface"]),
        instant(fields["at"]),
        fields["reason"],
        tuple(Change(before, after) for before, after in pictures),
        tuple(judgement_from_fields(j) for j in fields["judgements"]),
        fields["undoes"],
        _turn_from_fields(fields["standing"]),
    )
    return LedgerEntry(fields["seq"], plan, fields["forgotten"])


def message_fields(message: Message) -> dict[str, Any]:
    """`at` is microseconds of UTC and the offset in seconds that it was said in."""
    return {
        "seq": message.seq,
        "id": message.id,
        "session": message.session,
        "role": message.role.value,
        "text": message.text,
        "at": [micros(message.at), utc_offset(message.at)],
        "name": message.name,
        "labels": dict(sorted(message.labels.items())),
        "forgotten": message.forgotten,
        "altered": message.altered,
        "digest": message.digest,
    }


def message_from_fields(fields: Fields) -> Message:
    at, offset = fields["at"]
    return Message(
        seq=fields["seq"],
        id=fields["id"],
        session=fields["session"],
        role=ROLES[fields["role"]],
        text=fields["text"],
        at=instant_at(at, offset),
        name=fields["name"],
        labels=fields["labels"] or NO_LABELS,
        forgotten=fields["forgotten"],
        altered=fields["altered"],
        digest=fields["digest"],
    )


def heat_fields(memory: int, heat: Heat) -> dict[str, Any]:
    return {"memory": memory, "visits": heat.visits, "at": micros(heat.at)}


def heat_from_fields(fields: Fields) -> tuple[int, Heat]:
    return fields["memory"], Heat(fields["visits"], instant(fields["at"]))


def summary_fields(summary: SessionSummary) -> dict[str, Any]:
    return {
        "seq": summary.seq,
        "session": summary.session,
        "block": summary.block,
        "messages": list(summary.messages),
        "first_at": micros(summary.first_at),
        "last_at": micros(summary.last_at),
        "language": summary.language.value,
        "points": points_fields(summary.points),
        "made_at": micros(summary.made_at),
        "method": summary.method,
    }


def summary_from_fields(fields: Fields) -> SessionSummary:
    return SessionSummary(
        seq=fields["seq"],
        session=fields["session"],
        block=fields["block"],
        messages=tuple(fields["messages"]),
        first_at=instant(fields["first_at"]),
        last_at=instant(fields["last_at"]),
        language=LANGUAGES[fields["language"]],
        points=points_from_fields(fields["points"]),
        made_at=instant(fields["made_at"]),
        method=fields["method"],
    )


def points_fields(points: Sequence[Point]) -> list[list[Any]]:
    return [[p.kind.value, p.text, p.message, p.start, p.end] for p in points]


def points_from_fields(fields: Sequence[Sequence[Any]]) -> tuple[Point, ...]:
    return tuple(Point(PointKind(kind), text, message, start, end) for kind, text, message, start, end in fields)


def trace_fields(trace: Trace) -> dict[str, Any]:
    return {
        "id": trace.id,
        "at": micros(trace.at),
        "verb": trace.verb,
        "query": trace.query,
        "terms": list(trace.terms),
        "limit": trace.limit,
        "kinds": list(trace.kinds),
        "considered": [(c.id, c.score, c.parts, c.why, c.shown) for c in trace.considered],
        "left_out": [(left.id, left.reason) for left in trace.left_out],
        "relaxed": trace.relaxed,
        "nothing_because": trace.nothing_because,
        "always": list(trace.always),
    }


def trace_from_fields(fields: Fields) -> Trace:
    return Trace(
        id=fields["id"],
        at=instant(fields["at"]),
        verb=fields["verb"],
        query=fields["query"],
        terms=tuple(fields["terms"]),
        limit=fields["limit"],
        kinds=tuple(fields["kinds"]),
        considered=tuple(
            Considered(item, score, tuple((name, value) for name, value in parts), why, shown)
            for item, score, parts, why, shown in fields["considered"]
        ),
        left_out=tuple(LeftOut(item, reason) for item, reason in fields["left_out"]),
        relaxed=fields["relaxed"],
        nothing_because=fields["nothing_because"],
        always=tuple(fields.get("always", ())),
    )
