"""OpenAI messages as JSON lines: a conversation `{"messages": […]}` per line, or one message per line.

A message says its words in `content`, or in `text` as `observe` takes it. Choices: messages without a time get `assume_time`; a call of a tool becomes a message of its own with role
tool (lower trust, SPEC C1); pictures and other parts without text are left out. Lines that are single
messages belong to the session they name, else to one session of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.importers.documents import Node, printable
from jiyi.importers.instants import instant
from jiyi.importers.parsed import (
    Conversation,
    Found,
    Reading,
    Turn,
    chain,
    checked,
    checked_text,
    dated,
    digest,
    marked,
    message_id,
)

FORMAT = "openai"
SHAPE = (
    'expected a line for each message, {"role": "user", "content": "…", "at": "2026-03-01T09:00:00+08:00"} ("text" will do for '
    '"content"), or for each conversation, {"messages": [{"role": "user", "content": "…"}, …]}'
)

_ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "other": Role.OTHER,
}
_TIMES = ("created_at", "timestamp", "at")
_SESSIONS = ("session", "session_id", "conversation_id", "thread_id")
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}


def fits(root: Node) -> bool:
    first = root.value[0] if isinstance(root.value, list) and root.value else root.value
    return isinstance(first, dict) and ("messages" in first or "role" in first)


def parse(roots: Sequence[Node], reading: Reading) -> Iterator[Found]:
    """Read the records of a file, each a conversation, a list of messages or a message.

    Raises:
        UnreadableFile: a record has another shape.
        InputError: there is no time anywhere and none was assumed.
    """
    loose: dict[str, list[Node]] = {}
    for root in roots:
        for record in _records(root):
            if isinstance(record.value, list):
                yield _conversation(record, list(record.items()), None, reading)
            elif "messages" in record.mapping():
                yield _conversation(record, list(record.at("messages").items()), record, reading)
            elif record.has("role"):
                loose.setdefault(_first(record, _SESSIONS) or "", []).append(record)
            else:
                record.fail("expected 'messages' or 'role'")
    for session, messages in loose.items():
        yield _loose(session, messages, reading)


def _records(root: Node) -> Iterator[Node]:
    """A file that is one JSON list holds messages of one conversation, or conversations."""
    if isinstance(root.value, list) and not fits(root):
        root.fail("expected messages or conversations")
    if isinstance(root.value, list) and "role" not in root.value[0]:
        yield from root.items()
    else:
        yield root


def _conversation(record: Node, messages: list[Node], head: Node | None, reading: Reading) -> Found:
    skipped: Counter[str] = Counter()
    turns = _turns(messages, reading, skipped)
    start = _time(head, reading)[0] if head else None
    session = _first(head, ("id", *_SESSIONS)) if head else None
    # Without an id of its own a conversation is known by its content, so the order of lines does not matter.
    session = session or f"{FORMAT}/{marked(digest([[t.role, t.name, t.said, t.text] for t in turns], 16))}"
    return _found(record, session, session, turns, start, reading, skipped)


def _loose(session: str, messages: list[Node], reading: Reading) -> Found:
    skipped: Counter[str] = Counter()
    turns = _turns(messages, reading, skipped)
    name = session
    if not session:
        # The name is for people; ids come from the content alone, so a renamed copy brings nothing new.
        opening = [turns[0].role, turns[0].said, turns[0].text] if turns else []
        name = f"{printable(messages[0].document.path.stem, 80)}-{marked(digest(opening, 8))}"
    return _found(messages[0], name, session, turns, None, reading, skipped)


def _found(
    record: Node,
    session: str,
    seed: str,
    turns: list[Turn],
    start: datetime | None,
    reading: Reading,
    skipped: Counter[str],
) -> Found:
    if not turns:
        skipped["empty conversation"] += 1
    checked(record, "session", session)
    if not turns or not reading.wants([session]):
        return Found((session,), skipped=skipped)
    messages = tuple(
        IncomingMessage(message_id(FORMAT, marked(key)), session, turn.role, turn.text, at, turn.name)
        for key, turn, at in zip(chain(seed, turns), turns, dated(turns, start, reading), strict=True)
    )
    return Found((session,), (Conversation(None, session, messages),), skipped)


def _turns(messages: list[Node], reading: Reading, skipped: Counter[str]) -> list[Turn]:
    return [turn for message in messages for turn in _turns_of(message, reading, skipped)]


def _turns_of(message: Node, reading: Reading, skipped: Counter[str]) -> Iterator[Turn]:
    """What was said, then the tools that were called."""
    role_node = message.at("role")
    role = _ROLES.get(role_node.text())
    if role is None:
        role_node.fail(f"unknown role {printable(role_node.value)!r}: expected {', '.join(_ROLES)}")
    at, said = _time(message, reading)
    name = message.optional_text("name")
    if name is not None:
        name = checked(message, "name", name)
    content = message.get("content") or message.get("text")
    text = checked_text(content, _text(content, skipped), reading.limits) if content is not None else ""
    calls = list(_calls(message))
    if text.strip():
        yield Turn(message, role, text, name, at, said=said)
    elif not calls:
        skipped["empty text"] += 1
    for function in calls:
        tool = checked(function, "tool name", function.at("name").text())
        arguments = function.optional_text("arguments") or ""
        called = checked_text(function, f"{tool}({arguments})", reading.limits)
        yield Turn(message, Role.TOOL, called, tool, at, said=said)


def _text(content: Node, skipped: Counter[str]) -> str:
    if isinstance(content.value, str):
        return content.text()
    texts: list[str] = []
    for part in content.items():
        if isinstance(part.value, str):
            texts.append(part.text())
            continue
        kind = part.optional_text("type") or "text"
        if kind in _TEXT_PARTS:
            texts.append(part.at(_TEXT_PARTS[kind]).text())
        else:
            skipped[f"part without text: {printable(kind)}"] += 1
    return "\n".join(texts)


def _calls(message: Node) -> Iterator[Node]:
    if (calls := message.get("tool_calls")) is not None:
        for call in calls.items():
            yield call.at("custom" if call.has("custom") else "function")
    if (legacy := message.get("function_call")) is not None:
        yield legacy


def _time(node: Node, reading: Reading) -> tuple[datetime | None, str]:
    for key in _TIMES:
        if (time := node.get(key)) is not None:
            try:
                return instant(time.value, reading.zone), str(time.value)
            except ValueError as error:
                time.fail(str(error))
    return None, ""


def _first(node: Node, keys: Sequence[str]) -> str | None:
    """The first of these members that is there; numbers are names too."""
    for key in keys:
        if (member := node.get(key)) is not None:
            number = isinstance(member.value, int) and not isinstance(member.value, bool)
            name = str(member.value) if number else member.text()
            if name:
                return name
    return None
