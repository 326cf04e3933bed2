"""One question and its answer around memory: a block into the request, and both sides into memory (SPEC U2).

A chat never fails because of its memory: what memory cannot do now is said in `Handed.status`, and the chat goes on.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from jiyi.domain.memory import memory_id
from jiyi.domain.scope import handle_in
from jiyi.errors import InputError, JiyiError
from jiyi.pipelines.context import ContextBlock
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Limits
from jiyi.surfaces.chats.wires import Said, Turn, Wire, field_of, messages_of, said, text_of, without_blocks
from jiyi.together import Together

log = logging.getLogger("jiyi.chats")

MAX_IDS = 100


class Mode(StrEnum):
    """What memory does in a chat."""

    OFF = "off"
    READ = "read"  # only the block
    WRITE = "write"  # only what is said is recorded
    FULL = "full"

    @property
    def reads(self) -> bool:
        return self in (Mode.READ, Mode.FULL)

    @property
    def writes(self) -> bool:
        return self in (Mode.WRITE, Mode.FULL)


class Status(StrEnum):
    """What became of the block."""

    HANDED = "handed"  # it is in the request
    EMPTY = "empty"  # nothing is known that belongs here
    OFF = "off"
    UNAVAILABLE = "unavailable"  # memory could not be asked, or not in time


@dataclass(frozen=True, slots=True)
class Handed:
    """`request` is what the model gets; where `status` is not HANDED it is the caller's own."""

    request: Mapping[str, Any]
    status: Status
    ids: tuple[str, ...] = ()
    trace: str = ""
    took: Mapping[str, float] = field(default_factory=dict)
    shared: bool = False
    """Whether anything of a shared memory is in it: what a model makes of that does not belong into the user's own (SPEC S6)."""


def read_mode(text: str) -> Mode:
    """Raises: InputError: there is no such mode."""
    try:
        return Mode(text.strip().lower())
    except ValueError:
        raise InputError(f"memory mode {text!r}: choose one of {', '.join(Mode)}") from None


def session_of(me: ScopedMemory, request: Mapping[str, Any], session: str | None) -> str:
    """The name that was given, or one made of how the conversation began. It reads nothing from the database."""
    return session or me.conversation(said(request).first)


def hand_over(
    me: ScopedMemory | Together,
    wire: Wire,
    request: Mapping[str, Any],
    session: str,
    *,
    named: bool = True,
    mode: Mode = Mode.FULL,
    budget: int | None = None,
) -> Handed:
    """The request with what memory knows about its last question, and all of it that was there before as it was.

    Args:
        named: the host gave the session its name, so that its turns belong together.
    """
    what = said(request)
    if not mode.reads:
        return Handed(request, Status.OFF)
    if not what.question:
        return Handed(request, Status.EMPTY)
    try:
        block = me.context(
            # The end of a long text is where the question stands.
            what.question[-me.limits.query_chars :],
            budget=budget,
            session=session,
            # Who sends the conversation along need not be told it again, and who begins one has none.
            turns=None if named and not what.goes_on else 0,
        )
    except JiyiError as error:
        log.warning("a chat goes on without memory: %s", type(error).__name__)
        return Handed(request, Status.UNAVAILABLE)
    took = block.recollection.took
    if not tells(block):
        return Handed(request, Status.EMPTY, (), block.trace_id, took)
    theirs = [handle_in(memory_id(seq), name) for name, seqs in block.read_shared.items() for seq in seqs]
    ids = dict.fromkeys(
        [*(handle_in(item.id, item.shared) for item in block.items), *map(memory_id, block.read), *theirs]
    )
    return Handed(
        wire.with_block(request, block.text), Status.HANDED, tuple(ids)[:MAX_IDS], block.trace_id, took,
        shared=bool(block.read_shared),
    )  # fmt: skip


def tells(block: ContextBlock) -> bool:
    """Whether a block holds anything. That nothing is known is no news to a model that never heard of memory: told to ask
    rather than guess, it would ask about the capital of France."""
    return any(line.startswith("- ") for line in block.text.splitlines())


def record_words(me: ScopedMemory, request: Mapping[str, Any], session: str, now: datetime) -> None:
    """Store what people said since the model last answered; once, however often the same request is sent.

    Raises:
        JiyiError: it cannot be stored.
    """
    what = said(request)
    turns = [part for turn in what.new for part in _turns("user", turn, me.limits)]
    if turns:
        me.once(_key(request, what, session, now)).observe(turns, session=session)


def record_answer(me: ScopedMemory, text: str, session: str) -> None:
    """Store what the model said, as far as it came. A block that it repeats is no word of its own, and stays out (SPEC C4).

    Raises:
        JiyiError: it cannot be stored.
    """
    own = without_blocks(text, ends=True)
    if own.strip():
        me.observe(_turns("assistant", Turn(own), me.limits), session=session)


def _turns(role: str, turn: Turn, limits: Limits) -> list[dict[str, Any]]:
    """One message, or equal parts of one that is above the limit: a short rest would pass for the user's own talk."""
    count = math.ceil(len(turn.text) / limits.text_chars)
    size = math.ceil(len(turn.text) / count)
    parts = [turn.text[at : at + size] for at in range(0, len(turn.text), size)]
    name = {} if turn.name is None else {"name": turn.name}
    return [{"role": role, "text": part, **name} for part in parts if part.strip()]


def _key(request: Mapping[str, Any], what: Said, session: str, now: datetime) -> str:
    """The name of a request for `once`, whoever sends it again: clients do so by themselves after a fault. The same words
    may be said again later; without answers before them they count as a retry within the hour."""
    spoken = [[t.name, t.text] for t in what.turns]
    answers = [text_of(field_of(m, "content")) for m in messages_of(request) if field_of(m, "role") == "assistant"]
    hour = "" if what.goes_on else now.strftime("%Y%m%d%H")
    told = json.dumps([session, spoken, answers, hour], ensure_ascii=True)
    return f"chat {hashlib.sha256(told.encode()).hexdigest()}"
