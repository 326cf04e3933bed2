"""What a recall answers with: the things that were found, and what is told beside them (SPEC R1, R10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from jiyi.domain.memory import Memory, Message, Role, message_handle
from jiyi.domain.ranking import ScoreParts, score_of
from jiyi.domain.summary import SessionSummary
from jiyi.pipelines.recalling.question import Question

DIGEST = "a digest of what was said, whose words were not kept"


@dataclass(frozen=True, slots=True)
class Item:
    """One recalled thing.

    `kind` is fact, memory, message or summary; `id` is `m42`, `h17` or `s3`, `message_id` the caller's own id of a message.
    `leans_on` is the turn beside a message that holds nothing of the question itself.
    `shared` names the shared scope that it is of, which its id is of, too; None for the user's own.
    `score` is comparable inside one answer only. `why` says in words how it was found and what weighed.
    """

    kind: str
    id: str
    text: str
    score: float
    at: datetime
    why: str
    session: str | None = None
    confidence: float | None = None
    source: str | None = None
    category: str | None = None
    importance: int | None = None
    role: str | None = None
    name: str | None = None
    message_id: str | None = None
    tier: str | None = None
    leans_on: str | None = None
    shared: str | None = None
    parts: ScoreParts = ()
    memory: Memory | None = field(default=None, repr=False)
    summary: SessionSummary | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Recollection:
    """The answer to one recall.

    `relaxed` says how matching was relaxed when nothing matched as asked, else it is empty.
    `nothing_because` names the cause of an empty answer. `dropped` lists what was found and left out, with the reason;
    `ranked` what was ranked, of which `items` are the first. `beside` are the items among those left out that might still
    be shown beside the answer: weak ones, and turns that a memory stands for. `nearness` says how far the nearest text
    stands out in meaning. `trace_id` is what `explain` takes, empty where none is kept.
    `took`: the seconds of each channel.
    """

    query: str
    items: tuple[Item, ...]
    terms: tuple[str, ...] = ()
    relaxed: str = ""
    nothing_because: str = ""
    dropped: tuple[tuple[str, str], ...] = ()
    ranked: tuple[Item, ...] = field(default=(), repr=False)
    beside: tuple[Item, ...] = field(default=(), repr=False)
    nearness: float | None = None
    question: Question | None = field(default=None, repr=False)
    trace_id: str = field(default="", compare=False)
    took: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)


def fuse(facts: list[Item], found: list[Item]) -> list[Item]:
    """Exact keyed facts come before their semantic neighbours (SPEC R1); ties go by kind and number."""
    by_id = {item.id: item for item in found}
    fused = []
    for fact in facts:
        also = by_id.pop(fact.id, None)
        if also is not None:
            # A fact that the words point to as well comes first among the facts; each reason is said once.
            why = "; ".join(dict.fromkeys(f"{fact.why}; {also.why}".split("; ")))
            parts = added(fact.parts, also.parts)
            fact = replace(fact, score=score_of(parts), parts=parts, why=why)
        fused.append(fact)
    fused.extend(by_id.values())
    fused.sort(key=order)
    return fused


def order(item: Item) -> tuple[float, str, int]:
    """The best first; ties go by kind and number."""
    return -item.score, item.kind, -int(item.id[1:])


def added(one: ScoreParts, other: ScoreParts) -> ScoreParts:
    """The parts of both, those of one name together."""
    total: dict[str, float] = {}
    for name, value in (*one, *other):
        total[name] = total.get(name, 0.0) + value
    return tuple(total.items())


def message_item(message: Message, parts: ScoreParts, why: str, leans_on: str | None = None) -> Item:
    """A passage of history."""
    return Item(
        "message", message_handle(message.seq), message.text, score_of(parts), message.at,
        f"{why}; {DIGEST}" if message.digest else why, session=message.session,
        role="digest" if message.digest else message.role.value, name=message.name, message_id=message.id,
        source="digest" if message.digest else None if message.role is Role.USER else message.role.value,
        leans_on=leans_on, parts=parts,
    )  # fmt: skip


def summary_item(summary: SessionSummary, parts: ScoreParts, why: str) -> Item:
    """What a session came to."""
    return Item(
        "summary", summary.id, summary.text, score_of(parts), summary.last_at, why, session=summary.session, summary=summary,
        parts=parts,
    )  # fmt: skip
