"""Commands that change one user's memory: remember, observe, end, correct, undo, upkeep."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import typer

from jiyi.domain.feedback import Feedback
from jiyi.domain.memory import Category, Message, Source, message_handle
from jiyi.domain.plans import LedgerEntry
from jiyi.errors import ConflictingMessage, InputError, NotFound, TooLarge
from jiyi.pipelines.observe import check_messages
from jiyi.settings import Limits
from jiyi.surfaces.cli.calls import CATEGORIES, Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import (
    PAUSED,
    change_lines,
    entry_document,
    receipt_document,
    receipt_lines,
    summary_document,
    summary_lines,
    upkeep_document,
    upkeep_lines,
    why_lines,
)

E = TypeVar("E", bound=InputError)


NOT_REMEMBERED = 1
"""The memory is paused, so what was asked for did not happen: a script must see that."""


def remember(
    call: Call,
    text: Annotated[str, typer.Argument(help="One statement about the user, in Chinese or English.")],
    category: Annotated[
        Category | None, typer.Option(metavar="NAME", help=f"{CATEGORIES}; by default told from the words.")
    ] = None,
    importance: Annotated[
        int | None, typer.Option(min=1, max=5, metavar="1-5", help="1 (trifle) to 5 (vital).")
    ] = None,
    source: Annotated[
        Source, typer.Option(metavar="NAME", help="On whose word: declared, verified, inferred, imported or tool.")
    ] = Source.DECLARED,
) -> int | None:
    """Remember one statement, as declared by the user."""
    with call.layer() as layer:
        me = call.of(layer)
        receipt = me.remember(text, category=category, importance=importance, source=source)
        call.work(layer)
        call.out.show(receipt_document(receipt, me, call.zone), receipt_lines(receipt, "remembered"))
    return NOT_REMEMBERED if receipt.paused else None


# ------------------------------------------------------------------ observe


@dataclass(frozen=True, slots=True)
class Given:
    """A message as it came, and the line of the input it stood in."""

    line: int
    message: Mapping[str, Any]


def observe(
    call: Call,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="For messages that name none.")] = None,
) -> None:
    """Store turns of a conversation, read from stdin as JSON lines, and learn from them.

    A line is one message, {"role": "user", "text": "…"} with optional at, id, name, session, or
    a conversation, {"messages": […]}. If a line is wrong, nothing is stored.
    """
    given = list(_read_lines(sys.stdin.buffer.read()))
    if not given:
        raise InputError('there is nothing on stdin: pipe messages in, e.g. {"role": "user", "text": "…"}, one a line')
    _check(given, session, call, call.settings.limits)
    with call.layer() as layer:
        me = call.of(layer)
        before = max((e.seq for e in me.ledger(latest=1)), default=0)
        try:
            observed = me.observe([g.message for g in given], session=session)
        except ConflictingMessage as error:
            raise _at_line(error, given) from error
        call.work(layer)
        learnt = me.ledger(after=before)
    document = {
        "messages": len(observed.messages),
        "new": observed.new,
        "paused": observed.paused,
        "ids": [message_handle(m.seq) for m in observed.messages],
        "plans": [entry_document(e, call.zone) for e in learnt],
    }
    call.out.show(document, [PAUSED] if observed.paused else _observed_lines(observed.messages, observed.new, learnt))


def _read_lines(data: bytes) -> Iterator[Given]:
    """Raises: InputError with the line's number."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(f"line {number}: not UTF-8 ({error.reason}). Nothing was stored") from None
        except (ValueError, RecursionError) as error:
            raise InputError(
                f'line {number}: not a JSON object ({error}): write {{"role": "user", "text": "…"}}. Nothing was stored'
            ) from None
        if isinstance(record, dict) and "messages" in record:
            yield from _conversation(record, number)
        elif isinstance(record, dict):
            yield Given(number, record)
        else:
            raise InputError(f'line {number}: expected {{"role": …, "text": …}}. Nothing was stored')


def _conversation(record: dict[str, Any], number: int) -> Iterator[Given]:
    messages, session = record.pop("messages"), record.pop("session", None)
    if record:
        raise InputError(
            f"line {number}: unknown field {', '.join(sorted(record))} beside messages and session. "
            "Nothing was stored; `jiyi import` reads the files of other systems"
        )
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise InputError(f"line {number}: messages must be a list of messages. Nothing was stored")
    for message in messages:
        yield Given(number, message if session is None else {"session": session, **message})


def _check(given: list[Given], session: str | None, call: Call, limits: Limits) -> None:
    """Every line by itself, so that the first wrong one is named before anything is stored."""
    if len(given) > limits.batch_messages:
        raise TooLarge("the batch of messages", len(given), limits.batch_messages)
    for item in given:
        try:
            check_messages([item.message], session=session, now=call.now, limits=limits)
        except InputError as error:
            raise _with(error, f"line {item.line}: {error}. Nothing was stored") from error


def _at_line(error: ConflictingMessage, given: list[Given]) -> ConflictingMessage:
    lines = [g.line for g in given if g.message.get("id") == error.message_id]
    return _with(error, f"{f'line {lines[-1]}: ' if lines else ''}{error}. Nothing was stored")


def _with(error: E, message: str) -> E:
    """The same error with other words."""
    error.args = (message,)
    return error


def _observed_lines(messages: tuple[Message, ...], new: int, learnt: list[LedgerEntry]) -> Iterator[Line]:
    named = ", ".join(dict.fromkeys(m.session for m in messages))
    yield f"{counted(len(messages), 'message')}, {new} new (session {named})"
    for entry in learnt:
        yield from change_lines(entry.plan)
        yield from why_lines(entry.plan)


def end(call: Call, session: Annotated[str, typer.Argument(help="Its name: `jiyi sessions` shows them.")]) -> None:
    """Say that a session is over: what was said in it is learnt and summarised."""
    with call.memory() as me:
        if not me.history(session=session, limit=1).messages:
            raise NotFound(f"no session {session!r} here", "session")
        summary = me.end(session)
    if summary is None:
        call.out.note("it held nothing worth summarising")
    document = {"session": session, "summary": None if summary is None else summary_document(summary, call.zone)}
    call.out.show(document, summary_lines(summary, call.zone) if summary else ())


# ------------------------------------------------------------------ corrections


Memory = Annotated[str, typer.Argument(metavar="MEMORY", help="Its id, such as m42: `jiyi memories` shows them.")]


Right = Annotated[
    str, typer.Argument(help="What is right instead: the value alone (北京), or a whole sentence (小雅住在北京).")
]


def correct(call: Call, memory: Memory, text: Right) -> None:
    """Say that a memory is wrong and what is right. The old one is kept as history.

    A value takes the place of the wrong one, as does that of a sentence about the same; any other sentence is kept as it stands.
    """
    with call.layer() as layer:
        me = call.of(layer)
        receipt = me.correct(memory, text)
        call.work(layer)
        call.out.show(receipt_document(receipt, me, call.zone), receipt_lines(receipt, "corrected"))


def answer(
    call: Call,
    question: Annotated[str, typer.Argument(help="Its id, such as q12: `jiyi questions` shows them.")],
    text: Annotated[str, typer.Argument(help="m12, yes, no, neither, skip, or the right value in words.")],
) -> None:
    """Answer an open question about what is remembered."""
    with call.layer() as layer:
        me = call.of(layer)
        receipt = me.answer(question, text)
        call.work(layer)
        call.out.show(receipt_document(receipt, me, call.zone), receipt_lines(receipt, f"answered {question}"))


def feedback(
    call: Call,
    memory: Memory,
    verdict: Annotated[Feedback, typer.Argument(metavar="VERDICT", help="helpful, wrong or irrelevant.")],
    trace: Annotated[
        str | None, typer.Option(metavar="TRACE", help="The recall it came up in, such as t1a2b3c4d.")
    ] = None,
) -> None:
    """Say whether a memory that came up was helpful, wrong or irrelevant: it counts a little more, or less.

    What is wrong is asked about (`jiyi questions`); `jiyi correct` says what is right instead.
    """
    with call.layer() as layer:
        me = call.of(layer)
        receipt = me.feedback(memory, verdict, trace=trace)
        call.work(layer)
        call.out.show(receipt_document(receipt, me, call.zone), receipt_lines(receipt, f"noted that it was {verdict}"))


def upkeep(
    call: Call,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would move, and why.")] = False,
) -> None:
    """Do now what is done every night: move what was not used, archive what is over, erase what lay there its time."""
    with call.memory() as me:
        upkept = me.upkeep(dry_run=dry_run)
    call.out.show(upkeep_document(upkept), upkeep_lines(upkept))


def undo(
    call: Call, plan: Annotated[str, typer.Argument(help="Its id, such as p7: `jiyi ledger` shows them.")]
) -> None:
    """Take a plan back: every memory it touched is again as it was."""
    with call.layer() as layer:
        me = call.of(layer)
        receipt = me.undo(plan)
        call.work(layer)
        call.out.show(receipt_document(receipt, me, call.zone), receipt_lines(receipt, f"undid {plan}"))
