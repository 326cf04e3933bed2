"""What the tools answer: a document with a published schema for programs, and the same as fenced lines for the model.

Memory text is data, not instruction (SPEC C12): wherever it stands it is on one line or quoted, cannot close the fence, and
is cited by its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from jiyi.domain.language import language_of
from jiyi.domain.memory import Language, Memory, Message, Status, Tier, memory_id, message_handle
from jiyi.domain.scope import handle_in, shared_name
from jiyi.domain.summary import SessionSummary
from jiyi.pipelines.context import CLOSE, OPEN, WORDS, fence, visible
from jiyi.pipelines.recalling.items import Item
from jiyi.surfaces.mcp.desk import Desk

ITEM_URI = "jiyi://item/"
"""Before an id: the address under which an item is read as a resource."""
_TAG = re.compile(
    r"[<＜﹤]([\s\u200c\u200d/]*" + r"[\u200c\u200d]*".join("memory") + r"(?![\w-])[^>＞﹥]*)([>＞﹥]|$)", re.IGNORECASE
)
"""Every way to write the tag of the fence: with attributes, with what nobody sees between its letters, and left open."""


class Entry(BaseModel):
    """One thing that is remembered."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(
        description="Cite it by this: m42 a memory, h17 a turn of a talk, s3 a summary; m3@team is of a shared memory."
    )
    text: str
    at: str = Field(description="When it was said, or last confirmed.")
    note: str = Field(description="On whose word and how sure, or who said it where; and whether it still holds.")

    def line(self) -> str:
        return f"- [{self.at}] {self.text} ({' · '.join(filter(None, (self.id, self.note)))})"


class Answer(BaseModel):
    """What a tool gives."""

    model_config = ConfigDict(frozen=True)

    def shown(self) -> str:
        """The same for the model to read."""
        raise NotImplementedError


class Found(Answer):
    """Memories, turns and summaries."""

    notice: str
    items: list[Entry]
    remarks: list[str] = Field(default=[], description="How matching was relaxed, or why nothing was found.")

    def shown(self) -> str:
        return "\n".join([fenced(self.notice, [item.line() for item in self.items]), *self.remarks])


class Block(Answer):
    """A block that is ready for a prompt."""

    block: str
    tokens: int
    ids: list[str] = Field(description="What stands in it.")

    def shown(self) -> str:
        return self.block


class Changed(Answer):
    """What a call changed."""

    plan: str = Field(description="p7: stands in the ledger under this number. Empty when nothing had to change.")
    paused: bool = Field(default=False, description="The user paused their memory, so nothing was stored.")
    stored: int = Field(default=0, description="Turns that are new; what they say is learnt in the background.")
    session: str = ""
    believed: list[Entry] = Field(default=[], description="What is believed now because of it.")
    ended: list[Entry] = Field(default=[], description="What is no longer believed; it stays as history.")
    why: list[str] = []

    def shown(self) -> str:
        if self.paused:
            return "The user paused this memory: nothing was stored. Tell them; only they resume it."
        if self.session:
            return f"Stored {self.stored} new turn(s) of session {self.session}; they are being learnt."
        head = f"Done, as plan {self.plan}." if self.plan else "Nothing had to change."
        lines = [f"now: {e.line()[2:]}" for e in self.believed] + [f"no longer: {e.line()[2:]}" for e in self.ended]
        block = [fenced(notice_for(e.text for e in (*self.believed, *self.ended)), lines)] if lines else []
        return "\n".join([head, *block, *(f"why: {reason}" for reason in self.why)])


class Question(BaseModel):
    """What only the user can settle."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="memory_answer takes it.")
    text: str


class Portrait(Answer):
    """The user in a few lines."""

    notice: str
    lines: list[Entry]
    left_out: int = Field(description="Lines that did not fit.")
    questions: list[Question] = Field(description="Ask the user one of these when it fits the talk.")

    def shown(self) -> str:
        asked = [f"? {q.text} ({q.id})" for q in self.questions]
        return fenced(self.notice, [*(line.line() for line in self.lines), *asked])


class Forgetting(Answer):
    """What forgetting would take away, or has taken away."""

    done: bool
    counts: dict[str, int] = Field(description="How many memories, messages and passages.")
    memories: list[Entry] = Field(description="Memories that would go; empty once they are gone.")
    copies: int = Field(description="Backups and exports made before that still hold it.")
    confirm: str = Field(description="Give it back in a second call, with the same arguments, to forget for good.")
    next: str

    def shown(self) -> str:
        counted = ", ".join(f"{n} {kind}" for kind, n in self.counts.items()) or "nothing"
        head = f"Forgotten for good: {counted}." if self.done else f"Would be forgotten for good: {counted}."
        lines = [m.line() for m in self.memories]
        block = [fenced(notice_for(m.text for m in self.memories), lines)] if lines else []
        return "\n".join([head, *block, self.next])


class Hit(BaseModel):
    """One result, as ChatGPT's connector reads it."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    url: str


class Hits(Answer):
    """Results, as ChatGPT's connector reads them."""

    results: list[Hit]

    def shown(self) -> str:
        return self.model_dump_json()


class Whole(Answer):
    """One item in full, as ChatGPT's connector reads it."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]

    def shown(self) -> str:
        return self.model_dump_json()


# ------------------------------------------------------------------ text as data


def notice(language: Language) -> str:
    return WORDS[language]["head"]


def notice_for(texts: Iterable[str]) -> str:
    """What says that text is data, in the language that most of it is in."""
    return notice(language_of(" ".join(texts)))


def fenced(head: str, lines: Iterable[str]) -> str:
    """Lines of memory text that cannot end what they stand in."""
    return "\n".join([OPEN, head, *lines, CLOSE])


def cut(text: str, chars: int) -> str:
    """Text as data on one line, as far as it fits."""
    text = fence(text)
    return text if len(text) <= chars else text[: max(0, chars - 1)] + "…"


def quoted(text: str, chars: int) -> str:
    """Text as data, line by line: code stays as it is, but for a mark before each line and a fence that it would close."""
    lines = visible(text).splitlines() or [""]
    whole = "\n".join("> " + _TAG.sub(_blunted, line) for line in lines)
    return whole if len(whole) <= chars else f"{whole[:chars]}…\n(the first {chars:,} of {len(whole):,} characters)"


def _blunted(tag: re.Match[str]) -> str:
    return f"‹{tag[1]}{'›' if tag[2] else ''}"


# ------------------------------------------------------------------ entries


def item_entry(item: Item, desk: Desk) -> Entry:
    if item.kind == "message":
        note = f"{fence(item.name or item.role or '')} · session {fence(item.session or '')}"
    elif item.kind == "summary":
        note = f"summary of session {fence(item.session or '')}"
    else:
        note = "" if item.memory is None else memory_note(item.memory, desk)
    name = fence(handle_in(item.id, item.shared))
    return Entry(id=name, text=cut(item.text, desk.policy.text_chars), at=desk.day(item.at), note=note)


def memory_entry(memory: Memory, desk: Desk, *, unverified: bool = False, shared: str | None = None) -> Entry:
    """`shared`: the shared memory that it is of, where that is not the one the call is about."""
    note = memory_note(memory, desk) + (" · unverified for long" if unverified else "")
    name = fence(handle_in(memory.id, shared or shared_name(desk.me.user)))
    return Entry(id=name, text=cut(memory.text, desk.policy.text_chars), at=desk.day(memory.affirmed_at), note=note)


def memory_note(memory: Memory, desk: Desk) -> str:
    """`declared 0.95 · until 2026-04-02, then m7`"""
    notes = [f"{memory.source.value} {desk.me.confidence(memory):.2f}"]
    if memory.status is Status.HELD:
        notes.append("waits: it contradicts what stands")
    elif memory.status is Status.RETRACTED:
        notes.append("taken back as a mistake")
    elif memory.status is Status.ENDED and memory.valid_to is not None:
        notes.append(f"until {desk.day(memory.valid_to)}")
    elif memory.tier is Tier.ARCHIVE:
        notes.append("archived")
    if memory.status is not Status.LIVE and memory.successor is not None:
        notes.append(f"then {memory_id(memory.successor)}")
    return " · ".join(notes)


def message_entry(message: Message, desk: Desk) -> Entry:
    return Entry(
        id=fence(handle_in(message_handle(message.seq), shared_name(desk.me.user))),
        text=cut(message.text, desk.policy.text_chars),
        at=desk.minute(message.at),
        note=message_note(message),
    )


def message_note(message: Message) -> str:
    who = "digest" if message.digest else message.name or message.role.value
    return f"{fence(who)} · session {fence(message.session)}"


def summary_note(summary: SessionSummary) -> str:
    return f"summary of session {fence(summary.session)}, {len(summary.messages)} turns"


def whole(item_id: str, text: str, note: str, at: str, chars: int, more: Mapping[str, Sequence[str]]) -> Whole:
    """One item in full. `more`: ids that it leads to, by name."""
    return Whole(
        id=item_id,
        title=cut(text, TITLE_CHARS),
        text=f"{notice_for([text])}\n{quoted(text, chars)}",
        url=ITEM_URI + item_id,
        metadata={"at": at, "note": note} | {name: ", ".join(ids) for name, ids in more.items() if ids},
    )


TITLE_CHARS = 80
