"""The tools: what each takes, does and answers. Descriptions are written for the model that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

from jiyi.domain.belief import Verdict
from jiyi.domain.memory import Status, parse_id
from jiyi.domain.scope import MAX_NAME, handle_in, shared_name
from jiyi.errors import InputError, NotFound, PlanRefused
from jiyi.pipelines.context import MIN_BUDGET, fence
from jiyi.pipelines.gateway import ForgetReceipt, Receipt
from jiyi.surfaces.mcp.answers import (
    ITEM_URI,
    TITLE_CHARS,
    Answer,
    Block,
    Changed,
    Forgetting,
    Found,
    Hit,
    Hits,
    Portrait,
    Question,
    Whole,
    cut,
    item_entry,
    memory_entry,
    memory_note,
    message_entry,
    message_note,
    notice_for,
    summary_note,
    whole,
)
from jiyi.surfaces.mcp.desk import Desk

QUESTIONS = 3
"""Open questions that come with a profile."""
SHOWN = 20
"""Memories that a plan to forget names at the most."""
CHANGED = "this token is not of what would be forgotten now: memory has changed since, or the arguments differ. Call memory_forget without confirm to see what would go"
HITS = 10
"""Results of `search`, which has no argument for it."""

Query = Annotated[
    str, Field(description="In words, in Chinese or English: 上次说的预算是多少 / which database do we use")
]
Session = Annotated[str, Field(max_length=MAX_NAME, description="The name of one conversation.")]
Since = Annotated[str, Field(max_length=40, description="From then on: 2026-03-01, or with a time.")]
Until = Annotated[str, Field(max_length=40, description="Up to then; a bare date includes that day.")]
SharedName = Annotated[
    str,
    Field(
        max_length=MAX_NAME,
        description="Only this memory that the user shares with others (m3@team is of team), instead of their own.",
    ),
]
MemoryId = Annotated[str, Field(max_length=MAX_NAME, description="Such as m42.")]
Limit = Annotated[int, Field(ge=1, description="Items at the most.")]
Kind = Literal["fact", "memory", "message", "summary"]
CategoryName = Literal[
    "auto", "profile", "preference", "goal", "project", "task", "event", "relationship", "rule", "general"
]


class Turn(BaseModel):
    """One turn of a talk."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant", "tool", "other"]
    text: str
    at: str = Field(
        default="", max_length=40, description="When, with zone: 2026-03-01T09:00:00+08:00. Now by default."
    )
    name: str = Field(default="", max_length=MAX_NAME, description="Who speaks.")
    id: str = Field(default="", max_length=MAX_NAME, description="Your own id of it; the same twice changes nothing.")


def memory_search(
    desk: Desk,
    query: Query,
    limit: Limit = 8,
    kinds: Annotated[
        list[Kind],
        Field(description="fact and memory: what is believed. message: what was said. summary: of sessions."),
    ] = ["fact", "memory", "message"],  # noqa: B006 — never changed; pydantic copies it
    session: Session = "",
    since: Since = "",
    until: Until = "",
    as_of: Annotated[str, Field(max_length=40, description="What was true on that date instead of now.")] = "",
) -> Found:
    found = desk.reading.recall(
        query,
        limit=min(limit, desk.policy.items),
        kinds=kinds,
        session=session or None,
        since=desk.instant(since, "since"),
        until=desk.instant(until, "until", end=True),
        valid_at=desk.as_of(as_of, "as_of"),
    )
    remarks = [fence(r) for r in (found.relaxed, found.nothing_because) if r]
    return Found(
        notice=notice_for([query]), items=[item_entry(i, desk) for i in found.items], remarks=remarks
    )  # fmt: skip


def memory_context(
    desk: Desk,
    query: Annotated[str, Field(description="What the user just said or asks, as they said it.")],
    budget: Annotated[int, Field(ge=MIN_BUDGET, description="Tokens at the most.")] = 800,
    session: Annotated[
        str, Field(max_length=MAX_NAME, description="The conversation going on, as named in memory_add.")
    ] = "",
) -> Block:
    block = desk.reading.context(query, budget=budget, session=session or None)
    ids = [handle_in(item.id, item.shared) for item in block.items]
    return Block(block=block.text, tokens=block.tokens, ids=ids)


def memory_get_profile(
    desk: Desk, max_chars: Annotated[int, Field(ge=1, le=20_000, description="How long at the most.")] = 1000
) -> Portrait:
    profile = desk.reading.profile(max_chars=max_chars)
    open_questions = desk.me.questions()[:QUESTIONS]
    lines = [memory_entry(p.memory, desk, unverified=p.unverified, shared=p.shared) for p in profile.lines]
    return Portrait(
        notice=notice_for(line.text for line in lines),
        lines=lines,
        left_out=profile.left_out,
        questions=[Question(id=q.id, text=cut(q.text, desk.policy.text_chars)) for q in open_questions],
    )


def memory_add(
    desk: Desk,
    text: Annotated[
        str,
        Field(
            description="One statement, up to 500 characters: 用户对花生过敏 / The deploy script is scripts/deploy.sh"
        ),
    ] = "",
    category: Annotated[CategoryName, Field(description="rule: a permanent instruction of the user.")] = "auto",
    importance: Annotated[int, Field(ge=0, le=5, description="1 trifle to 5 vital; 0 leaves it open.")] = 0,
    source: Annotated[
        Literal["declared", "inferred", "verified", "tool"],
        Field(description="declared: the user said it. inferred: you concluded it. verified: by a third party."),
    ] = "declared",
    messages: Annotated[
        list[Turn], Field(description="Or turns of the talk, to be kept as said and learnt from in the background.")
    ] = [],  # noqa: B006 — never changed; pydantic copies it
    session: Annotated[
        str, Field(max_length=MAX_NAME, description="The conversation they are of. One a day by default.")
    ] = "",
) -> Changed:
    named = session or f"mcp-{desk.day(desk.now)}"
    if bool(text) == bool(messages):
        raise InputError("give one of text (a statement) and messages (turns of a talk)")
    if messages:
        turns = [turn.model_dump(exclude_defaults=True) for turn in messages]
        observed = desk.me.observe(turns, session=named)
        return Changed(plan="", paused=observed.paused, stored=observed.new, session=fence(named))
    receipt = desk.me.remember(
        text, category=None if category == "auto" else category, importance=importance or None, source=source,
        session=named,
    )  # fmt: skip
    return _changed(receipt, desk)


def memory_update(
    desk: Desk,
    memory: MemoryId,
    text: Annotated[str, Field(description="What is right instead: one statement, or the value alone.")],
) -> Changed:
    return _changed(desk.me.correct(memory, text), desk)


def memory_answer(
    desk: Desk,
    question: Annotated[str, Field(max_length=MAX_NAME, description="Such as q12.")],
    text: Annotated[
        str,
        Field(
            description="What the user said: the option that holds (m12), yes, no, neither (都不对), skip, or words."
        ),
    ],
) -> Changed:
    return _changed(desk.me.answer(question, text), desk)


def memory_history(
    desk: Desk,
    query: Annotated[
        str, Field(description="Turns that match these words, best first. Left out: turns in order.")
    ] = "",
    session: Session = "",
    around: Annotated[
        str, Field(max_length=MAX_NAME, description="h17: the turns around it. s3: the turns it was made from.")
    ] = "",
    since: Since = "",
    until: Until = "",
    versions_of: Annotated[
        str,
        Field(
            max_length=MAX_NAME, description="Instead: every value a fact has had. m42, or its name: 数据库, budget."
        ),
    ] = "",
    limit: Limit = 20,
) -> Found:
    limit = min(limit, desk.policy.items)
    if versions_of:
        if query or session or around or since or until:
            raise InputError("versions_of goes alone: leave the rest out")
        entries = [memory_entry(m, desk) for m in desk.me.versions(versions_of)[-limit:]]
        return Found(notice=notice_for(e.text for e in entries), items=entries)
    found = desk.me.history(
        query or None, session=session or None, around=around or None, since=desk.instant(since, "since"),
        until=desk.instant(until, "until", end=True), limit=limit,
    )  # fmt: skip
    entries = [message_entry(m, desk) for m in found.messages]
    remarks = [] if entries else ["nothing was said there, or nothing of it was kept"]
    return Found(notice=notice_for([query, *(e.text for e in entries)]), items=entries, remarks=remarks)


def memory_forget(
    desk: Desk,
    memory: MemoryId = "",
    topic: Annotated[
        str, Field(max_length=MAX_NAME, description="A term, in either language; 数据库 stands for database too.")
    ] = "",
    session: Session = "",
    since: Since = "",
    until: Until = "",
    everything: Annotated[bool, Field(description="All that is known about the user.")] = False,
    confirm: Annotated[
        str, Field(max_length=MAX_NAME, description="From the first call, once the user agreed to what it showed.")
    ] = "",
) -> Forgetting:
    wanted = {
        "memory": memory or None,
        "topic": topic or None,
        "session": session or None,
        "since": desk.instant(since, "since"),
        "until": desk.instant(until, "until", end=True),
        "everything": everything,
    }
    if confirm:
        try:
            return _forgotten(desk.me.forget(**wanted, seal=confirm))  # type: ignore[arg-type]
        except PlanRefused:
            raise PlanRefused(CHANGED) from None
    return _planned(desk.me.forget(**wanted, dry_run=True), desk)  # type: ignore[arg-type]


def search(desk: Desk, query: Query) -> Hits:
    found = desk.reading.recall(query, limit=HITS)
    named = [(handle_in(item.id, item.shared), item) for item in found.items]
    return Hits(results=[Hit(id=n, title=cut(i.text, TITLE_CHARS), url=ITEM_URI + n) for n, i in named])


def fetch(desk: Desk, id: Annotated[str, Field(max_length=MAX_NAME, description="m42, h17 or s3.")]) -> Whole:  # noqa: A002 — the connector's own name
    name = id.removeprefix(ITEM_URI)
    chars, shown = desk.policy.fetch_chars, handle_in(name, shared_name(desk.me.user))
    if name[:1] == "h":
        [message] = desk.me.history(around=name, limit=1).messages
        return whole(shown, message.text, message_note(message), desk.minute(message.at), chars, {})
    if name[:1] == "s":
        number = parse_id(name, "s")
        summary = next((s for s in desk.me.summaries() if s.seq == number), None)
        if summary is None:
            raise NotFound(f"no summary {name} here")
        turns = [f"h{seq}" for seq in summary.messages]
        return whole(shown, summary.text, summary_note(summary), desk.day(summary.last_at), chars, {"turns": turns})
    memory = desk.me.memory(name)
    evidence = [f"h{m.seq}" for m in desk.me.evidence(name)]
    others = [m.id for m in desk.me.versions(name) if m.seq != memory.seq]
    return whole(
        shown, memory.text, memory_note(memory, desk), desk.day(memory.affirmed_at), chars,
        {"evidence": evidence, "other_versions": others},
    )  # fmt: skip


# ------------------------------------------------------------------ receipts


def _changed(receipt: Receipt, desk: Desk) -> Changed:
    judged = [j for j in receipt.plan.judgements if j.verdict is not Verdict.ADD]  # that it was new needs no words
    why = [f"{j.verdict.value} ({j.rule})" + "".join(f"; {r}" for r in j.reasons) for j in judged]
    gone = [c.after for c in receipt.plan.changes if c.ends_belief and c.after is not None]
    return Changed(
        plan=receipt.plan_id or "",
        paused=receipt.paused,
        believed=[memory_entry(m, desk) for m in receipt.memories],
        ended=[memory_entry(m, desk) for m in gone if m.status is not Status.LIVE],
        why=[cut(reason, desk.policy.text_chars) for reason in why],
    )


def _planned(planned: ForgetReceipt, desk: Desk) -> Forgetting:
    proof, going = planned.proof, [c.before for c in planned.plan.changes if c.after is None and c.before is not None]
    next_step = "Nothing of it is here, so there is nothing to forget."
    if proof.erased:
        next_step = (
            "Nothing has happened yet. Show this to the user; if they agree, call memory_forget again with the same "
            f"arguments and confirm={planned.seal!r}. It cannot be undone."
        )
    return Forgetting(
        done=False,
        counts=dict(proof.erased),
        memories=[memory_entry(m, desk) for m in going[:SHOWN]],
        copies=len(proof.copies),
        confirm=planned.seal if proof.erased else "",
        next=next_step,
    )


def _forgotten(receipt: ForgetReceipt) -> Forgetting:
    copies = len(receipt.proof.copies)
    left = f" {copies} backup or export made before may still hold it: tell the user." if copies else ""
    return Forgetting(
        done=receipt.plan_id is not None,
        counts=dict(receipt.proof.erased),
        memories=[],
        copies=copies,
        confirm="",
        next=f"It cannot be undone. Do not repeat what was forgotten.{left}",
    )


# ------------------------------------------------------------------ the table

Action: TypeAlias = Callable[..., Answer]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: what the model reads about it, and a call as an example."""

    action: Action
    title: str
    description: str
    hints: ToolAnnotations
    example: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.action.__name__


def _hints(*, read_only: bool = False, destructive: bool = False, idempotent: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=read_only, destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False
    )


READS = _hints(read_only=True, idempotent=True)

TOOLS: Sequence[ToolSpec] = (
    ToolSpec(
        memory_context,
        "What to know before answering",
        "The block of memory for the user's message: profile, standing rules, matching facts, related memories, passages of "
        "earlier talks, under a token budget. Call it first, with the user's own words (数据库连不上了，先看哪里？). When it "
        "says that nothing is known, ask the user rather than guess.",
        READS,
        {"query": "数据库连不上了，先看哪里？"},
    ),
    ToolSpec(
        memory_search,
        "Search memory",
        "Find facts, memories, turns of earlier talks and summaries by words and meaning, best first, each with an id, a date "
        "and how sure it is. One or two words work as well as a question: 预算, proxy_pass, 哪里比较安静.",
        READS,
        {"query": "which database do we use", "limit": 5},
    ),
    ToolSpec(
        memory_get_profile,
        "Who the user is",
        "The user in a few lines, each citing its memory, and open questions that only the user can settle "
        "(记录不一致：…现在哪一个对？).",
        READS,
        {},
    ),
    ToolSpec(
        memory_history,
        "What was said before",
        "Turns of earlier talks: by words, by session, by time, or around one turn. Or, with versions_of, every value a fact "
        "has had, oldest first (数据库: MySQL, then PostgreSQL).",
        READS,
        {"versions_of": "数据库"},
    ),
    ToolSpec(
        memory_add,
        "Remember",
        "Remember one statement (text), or keep turns of the talk (messages) and learn from them. Use text when the user asks "
        "to remember something (请记住…) or says something that will matter later. What changes an earlier fact replaces it; "
        "what merely contradicts one is kept for the user to settle. Do not add what memory told you.",
        _hints(),
        {"text": "用户偏好安静的工作环境", "category": "preference"},
    ),
    ToolSpec(
        memory_update,
        "Correct a memory",
        "A memory is wrong, and this is right instead (记错了，实际是…). The old one stays as history.",
        _hints(idempotent=True),
        {"memory": "m1", "text": "数据库用的是 PostgreSQL"},
    ),
    ToolSpec(
        memory_answer,
        "Answer an open question",
        "Settle a question of memory_get_profile with what the user answered, in Chinese or English.",
        _hints(),
        {"question": "q1", "text": "yes"},
    ),
    ToolSpec(
        memory_forget,
        "Forget for good",
        "Forget one memory, a topic, a session, a span of time, or everything: one of them. The first call forgets nothing: it "
        "shows what would go, with a confirm token. Show that to the user, and only when they agree call again with the same "
        "arguments and the token. If memory has changed since, the token is refused.",
        _hints(destructive=True),
        {"topic": "MySQL"},
    ),
    ToolSpec(
        search,
        "Search (connector)",
        "Find what is remembered. Results have id, title and url; fetch gives one whole. For hosts that expect these two "
        "tools; memory_search can do more.",
        READS,
        {"query": "数据库"},
    ),
    ToolSpec(
        fetch,
        "Fetch (connector)",
        "One memory (m42), turn (h17) or summary (s3) in full, with what it rests on.",
        READS,
        {"id": "m1"},
    ),
)
"""Every tool, in the order that a client lists them. Ten at the most: each one costs the model attention."""
