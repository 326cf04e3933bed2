"""Messages in: check → redact → store → queue, then acknowledge (SPEC C1). Distilling happens afterwards in a job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from jiyi.domain.belief import Observation, Verdict
from jiyi.domain.memory import IncomingMessage, Message, Role, message_handle
from jiyi.domain.plans import Actor, Plan, Verb
from jiyi.domain.scope import Scope, check_name
from jiyi.domain.standing import Detail, RetentionPolicy
from jiyi.domain.summary import SummaryPolicy
from jiyi.errors import ConflictingMessage, InputError, InstantWithoutZone, PlanRefused, TooLarge
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.judging import Judging, Occasion
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.retaining import Retaining
from jiyi.pipelines.segments import SEGMENT
from jiyi.pipelines.summarise import queue_summaries
from jiyi.pipelines.tombstones import Tombs, left_of
from jiyi.ports import Unit
from jiyi.settings import Limits
from jiyi.text.passages import Folding

RULES = Actor("rules", "job")
INDEX, DISTIL = "index", "distil"
"""Kinds of the jobs that observing queues; the payload is `{"first": seq, "last": seq}`, and `detail` for distilling."""

LABELS = ("agent", "app", "run")
FIELDS = frozenset({"role", "text", "content", "at", "id", "name", "session", "labels", *LABELS})

EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""A day away from the ends of the calendar, so that what is stored can be shown in every time zone."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What `observe` stored: all messages of the call as stored, and how many of them are new.

    `paused`: the user paused this memory, so nothing of the call was stored (SPEC C5).
    """

    messages: tuple[Message, ...]
    new: int
    paused: bool = False


class Writing(Protocol):
    """`ports.Store.write`."""

    def __call__(self, work: Callable[[Unit], Observed], *, again: bool) -> Observed: ...


def observe(
    write: Writing,
    secret: bytes,
    scope: Scope,
    messages: Sequence[IncomingMessage],
    now: datetime,
    redaction: Redaction,
    folding: Folding,
    summaries: SummaryPolicy,
    retention: RetentionPolicy,
    kinds: Sequence[str] = (INDEX, DISTIL),
) -> Observed:
    """Redact checked messages, store them and queue their indexing, distilling and summarising, in one transaction.
    Durable on return.

    What was forgotten since it was said is not stored again: neither a message, nor a sentence, nor words (SPEC F6).

    Args:
        write: the store's, whose `secret` it is.
        kinds: of the jobs to queue.

    Raises:
        ConflictingMessage: a known id with another text; nothing of the batch is stored.
    """
    # SPEC C11: before an id is made of the text, and before anything is stored or acknowledged.
    redacted = [redaction.message(raw, secret) for raw in messages]

    def add(unit: Unit) -> list[tuple[Message, bool]]:
        try:
            return add_unforgotten(unit, scope, redacted, folding)
        except ConflictingMessage:
            known = [redaction.as_known(unit, scope, *pair) for pair in zip(messages, redacted, strict=True)]
            return add_unforgotten(unit, scope, known, folding)

    def work(unit: Unit) -> Observed:
        standing = unit.standings.get(scope)
        if standing.paused:
            return Observed((), 0, paused=True)
        stored = add(unit)
        fresh = [message for message, is_new in stored if is_new]
        if fresh:
            seqs = [message.seq for message in fresh]
            payload = {"first": min(seqs), "last": max(seqs)}
            detail = retention.detail_of(standing)
            for kind in kinds:
                # SPEC C5: of what goes right after the rules have read it a model must not learn more than they.
                if kind != SEGMENT or detail is not Detail.MINIMAL:
                    # What holds now holds for what is said now, whatever is decided before it is distilled.
                    unit.jobs.put(scope, kind, {**payload, "detail": detail.value} if kind == DISTIL else payload, now)
            if detail is not Detail.MINIMAL:
                queue_summaries(unit, scope, fresh, now, summaries)
        return Observed(tuple(message for message, _ in stored), len(fresh))

    # Ids are given by now: what is known already is not stored again.
    return write(work, again=True)


def add_unforgotten(
    unit: Unit, scope: Scope, messages: Sequence[IncomingMessage], folding: Folding
) -> list[tuple[Message, bool]]:
    """`Messages.add` without what was forgotten. Of a message of which nothing may be left a tombstone is stored, under a
    hash of its id, and it does not count as new."""
    tombs = Tombs(unit, scope, folding)
    hits = [tombs.hits(message) for message in messages]
    if not any(hits):
        return unit.messages.add(scope, messages)
    left = [left_of(m.text, hit) if hit else m.text for m, hit in zip(messages, hits, strict=True)]
    stored = unit.messages.add(
        scope, [m if text else tombs.buried(m) for m, text in zip(messages, left, strict=True)]
    )  # fmt: skip
    changed = [
        replace(message, text=text, forgotten=not text, altered=True)
        for (message, is_new), hit, text in zip(stored, hits, left, strict=True)
        if is_new and hit
    ]
    unit.messages.rewrite(scope, changed)
    now = {m.seq: m for m in changed}
    return [(now.get(m.seq, m), is_new and bool(text)) for (m, is_new), text in zip(stored, left, strict=True)]


def distil_messages(
    unit: Unit,
    scope: Scope,
    first: int,
    last: int,
    now: datetime,
    detail: Detail,
    retaining: Retaining,
    judging: Judging,
    gateway: Gateway,
    actor: Actor = RULES,
) -> int:
    """The distil job: each user message of the span is cleaned, distilled, judged and applied as one plan. Under `minimal`
    the words that no memory cites go in the same transaction (SPEC C5).

    Returns:
        How many plans changed memory.

    Raises:
        PlanRefused: the span is one message, and the gateway will not do what it says.
    """

    def judged(message: Message, read: Sequence[Observation]) -> Plan | None:
        admitted = retaining.admit(unit, scope, message, read)
        reason = f"said in {message_handle(message.seq)}, session {message.session}"
        plan = judging.all(unit, scope, admitted.observations, Occasion(Verb.DISTIL, actor, now, reason))
        plan = replace(plan, judgements=(*plan.judgements, *admitted.refusals))
        return plan if plan.changes or any(j.verdict is Verdict.REFUSE for j in plan.judgements) else None

    applied = 0
    messages = [m for m in unit.messages.after_seq(scope, first - 1, last - first + 1) if m.seq <= last]
    still_needed: set[int] = set()
    for message in messages:
        if message.role is not Role.USER:
            continue
        plan = judged(message, retaining.read(unit, scope, message, detail))
        if plan is None:
            continue
        try:
            gateway.apply(unit, scope, plan)
            for earlier, said in retaining.told_before(unit, scope, message, plan):
                if (more := judged(earlier, said)) is not None:
                    gateway.apply(unit, scope, more)
        except PlanRefused:
            if first == last:
                raise
            # SPEC W1: it fails in a job of its own, a dead letter that says why, and holds back nothing said beside it.
            alone = {"first": message.seq, "last": message.seq, "detail": detail.value}
            unit.jobs.put(scope, DISTIL, alone, now)
            still_needed.add(message.seq)
        else:
            applied += bool(plan.changes)
    if detail is Detail.MINIMAL:
        done = [m for m in messages if m.seq not in still_needed]
        gateway.trim(unit, scope, *retaining.trimming(unit, scope, done, RULES, now))
    return applied


# ------------------------------------------------------------------ checking what the host hands in


def check_messages(
    raw: Sequence[Mapping[str, Any] | IncomingMessage],
    *,
    session: str | None,
    now: datetime,
    limits: Limits,
) -> list[IncomingMessage]:
    """Checked messages, in the given order, each with an instant; as given, so they may hold secrets and no id.

    A message without `at` is said now; `observe` gives one without `id` a hash of (session, role, at, text), so that the
    same file imported twice changes nothing.

    Raises:
        InputError: what is wrong, and in which message of the batch.
    """
    if isinstance(raw, Mapping | str) or not isinstance(raw, Sequence):
        raise InputError("messages must be a list of messages, e.g. [{'role': 'user', 'text': '…'}]")
    if len(raw) > limits.batch_messages:
        raise TooLarge("the batch of messages", len(raw), limits.batch_messages)
    checked: list[IncomingMessage] = []
    for number, item in enumerate(raw, 1):
        try:
            # A microsecond apart, so that turns without an instant keep their order.
            instant = now + timedelta(microseconds=len(checked))
            given = _fields(item) if isinstance(item, IncomingMessage) else item
            checked.extend(_finish(part, limits) for part in _read(given, session, instant))
        except InputError as error:
            if len(raw) == 1:
                raise
            error.args = (f"message {number} of {len(raw)}: {error}",)
            raise
    return checked


def clean_text(text: str) -> str:
    """Text that every store can hold: lone surrogates and NUL become U+FFFD; all else stays as it is."""
    if text.isascii() and "\x00" not in text:
        return text
    return "".join("\ufffd" if c == "\x00" or 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def instant(value: object) -> datetime:
    """An aware datetime from a datetime or ISO 8601 text.

    Raises:
        InstantWithoutZone: no zone in it. InputError: no instant at all.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise InputError(f"{value!r} is not an instant: write it as 2026-03-01T09:00:00+08:00") from error
    if not isinstance(value, datetime):
        raise InputError(f"{value!r} is not an instant: give ISO 8601 text or a datetime with a zone")
    try:
        offset = value.utcoffset()
        value.timestamp()
    except (OverflowError, ValueError) as error:
        raise InputError(f"{value!r} is outside the range of instants that can be stored") from error
    if offset is None:
        raise InstantWithoutZone(value.isoformat())
    return value


def _fields(message: IncomingMessage) -> dict[str, Any]:
    """A message that a host has put together itself is checked like any other."""
    return {f.name: getattr(message, f.name) for f in fields(message)} | {"id": message.id or None}


def _read(item: object, session: str | None, now: datetime) -> Iterator[IncomingMessage]:
    """One given message as one or more of ours: tool calls and results become turns of role `tool`."""
    if not isinstance(item, Mapping):
        raise InputError(f"a message must be a mapping with role and text, not {type(item).__name__}")
    if unknown := set(item) - FIELDS:
        raise InputError(f"unknown field {', '.join(sorted(map(str, unknown)))}; known are {', '.join(sorted(FIELDS))}")
    try:
        role = Role(item.get("role", ""))
    except ValueError:
        raise InputError(f"role {item.get('role')!r}: use one of {', '.join(Role)}") from None
    name = item.get("name")
    base = IncomingMessage(
        id="" if item.get("id") is None else check_name("id", item["id"]),
        session=check_name("session", item.get("session") or session or "default"),
        role=role,
        text="",
        at=now if item.get("at") is None else _said_at(item["at"]),
        name=None if name is None else check_name("name", name),
        labels=_labels(item),
    )
    content = item.get("text", item.get("content"))
    if isinstance(content, str):
        yield replace(base, text=content)
    elif isinstance(content, Sequence):
        yield from _parts(base, content)
    else:
        raise InputError("a message needs text: a string, or a list of content parts")


def _said_at(value: object) -> datetime:
    at = instant(value)
    if not EARLIEST <= at <= LATEST:
        raise InputError(f"{value!s} lies so near an end of the calendar that some time zones have no date for it")
    return at


def _parts(base: IncomingMessage, content: Sequence[object]) -> Iterator[IncomingMessage]:
    words: list[str] = []
    tools: list[str] = []
    for part in content:
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str) and _is_talk(part):
            words.append(part["text"])
        elif isinstance(part, Mapping) and "type" in part:
            # SPEC C12: whatever a tool, a file or the web brought has lower trust than the user's own words.
            if any(word in str(part["type"]) for word in ("tool", "function")) or isinstance(part.get("text"), str):
                tools.append(_as_json(part))
        else:
            raise InputError("a content part must be text or a mapping with a type")
    if words or not tools:
        yield replace(base, text="\n".join(words))
    for number, text in enumerate(tools, 1):
        yield replace(base, id=f"{base.id}#tool{number}" if base.id else "", role=Role.TOOL, text=text)


def _is_talk(part: Mapping[str, Any]) -> bool:
    """Whether a content part is what the speaker wrote."""
    return part.get("type", "text") in ("text", "input_text", "output_text")


def _as_json(part: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(part), ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a content part cannot be written as JSON: {error}") from error


def _labels(item: Mapping[str, Any]) -> dict[str, str]:
    labels = item.get("labels") or {}
    if not isinstance(labels, Mapping):
        raise InputError("labels must be a mapping of names to text")
    named = {**labels, **{k: item[k] for k in LABELS if item.get(k) is not None}}
    return {check_name("label", k): check_name(f"label {k}", v) for k, v in named.items()}


def _finish(message: IncomingMessage, limits: Limits) -> IncomingMessage:
    if len(message.text) > limits.text_chars:
        raise TooLarge("the text of the message", len(message.text), limits.text_chars)
    text = clean_text(message.text)
    if not text.strip():
        raise InputError("the text of the message is empty: leave such turns out")
    return replace(message, text=text)
