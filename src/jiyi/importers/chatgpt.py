"""The export of ChatGPT: `conversations.json`, in its folder or zip, or alone.

A conversation is a tree: an edited question or a regenerated answer starts a branch. What the person last
saw is the path from `current_node` up to the root; the other branches are left out and counted. Left out
and counted too: system and hidden nodes, messages to tools, and content that is not text. Answers of
tools are kept with role tool (lower trust, SPEC C1).
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
    checked,
    checked_text,
    dated,
    digest,
    message_id,
)

FORMAT = "chatgpt"
SHAPE = "expected the conversations.json of an export, a list of conversations that each have a 'mapping' of messages"

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
_TEXT_CONTENT = {"text", "multimodal_text"}
# The spoken words of a voice chat are written out in a part of this type.
_TRANSCRIPT = "audio_transcription"


def fits(root: Node) -> bool:
    """Also for the exports that look alike: they are refused by name."""
    first = _first_record(root)
    return isinstance(first, dict) and ("mapping" in first or "chat_messages" in first)


def parse(roots: Sequence[Node], reading: Reading) -> Iterator[Found]:
    """Read the conversations of an export.

    Raises:
        UnreadableFile: a conversation has another shape, or the export is another product's.
        InputError: a conversation has no time at all and none was assumed.
    """
    for root in roots:
        for record in _records(root):
            _refuse_others(record)
            yield _conversation(record, reading)


def _first_record(root: Node) -> object:
    value = root.value
    if isinstance(value, dict) and isinstance(value.get("conversations"), list):
        value = value["conversations"]
    return value[0] if isinstance(value, list) and value else value


def _records(root: Node) -> Iterator[Node]:
    if isinstance(root.value, dict) and root.has("conversations"):
        yield from root.at("conversations").items()
    elif isinstance(root.value, dict):
        yield root
    else:
        yield from root.items()


def _refuse_others(record: Node) -> None:
    if record.has("chat_messages"):
        record.fail("this is a Claude export, a format that is not supported yet")
    if record.has("mapping") and record.has("inserted_at"):
        record.fail("this is a DeepSeek export, a format that is not supported yet")


def _conversation(record: Node, reading: Reading) -> Found:
    skipped: Counter[str] = Counter()
    path = _path(record, skipped)
    turns = [turn for node in path if (turn := _turn(node, reading, skipped)) is not None]
    own = record.optional_text("conversation_id") or record.optional_text("id")
    key = own or digest([turn.key for turn in turns], 16)
    title = record.optional_text("title")
    names = (key, title) if title else (key,)
    if not turns:
        skipped["empty conversation"] += 1
    if not turns or not reading.wants(names):
        return Found(names, skipped=skipped)
    session = checked(record, "session", f"{FORMAT}/{key}")
    start = _time(record, "create_time", reading) or _time(record, "update_time", reading)
    messages = tuple(
        IncomingMessage(message_id(FORMAT, key, turn.key), session, turn.role, turn.text, at, turn.name)
        for turn, at in zip(turns, dated(turns, start, reading), strict=True)
    )
    return Found(names, (Conversation(None, session, messages),), skipped)


def _path(record: Node, skipped: Counter[str]) -> list[Node]:
    """The nodes from the root down to the current one."""
    mapping = record.at("mapping")
    nodes = dict(mapping.members())
    current = record.optional_text("current_node") or _last_leaf(nodes)
    path: list[Node] = []
    seen: set[str] = set()
    while current is not None:
        if current not in nodes:
            (path[-1] if path else record).fail(f"names the node {printable(current)!r}, which is not in the mapping")
        if current in seen:
            nodes[current].fail("the parents of this node go round in a circle")
        seen.add(current)
        path.append(nodes[current])
        current = nodes[current].optional_text("parent")
    if others := sum(1 for name, node in nodes.items() if name not in seen and node.has("message")):
        skipped["in another branch"] += others
    return path[::-1]


def _last_leaf(nodes: dict[str, Node]) -> str | None:
    """Where an export names no current node: the last one that is nobody's parent."""
    parents = {node.optional_text("parent") for node in nodes.values()}
    return next((name for name in reversed(nodes) if name not in parents), None)


def _turn(node: Node, reading: Reading, skipped: Counter[str]) -> Turn | None:
    message = node.get("message")
    if message is None:
        return None  # the root of the tree
    author = message.at("author")
    role_node = author.at("role")
    metadata = message.get("metadata")
    content = message.get("content")
    if role_node.text() == "system" or (
        metadata is not None and metadata.mapping().get("is_visually_hidden_from_conversation") is True
    ):
        skipped["hidden or system node"] += 1
        return None
    role = _ROLES.get(role_node.text())
    if role is None:
        role_node.fail(f"unknown role {printable(role_node.value)!r}: expected {', '.join(_ROLES)} or system")
    if role is Role.ASSISTANT and (message.optional_text("recipient") or "all") != "all":
        skipped["message to a tool"] += 1
        return None
    kind = (content.optional_text("content_type") if content is not None else None) or "none"
    if content is None or kind not in _TEXT_CONTENT:
        skipped[f"not text: {printable(kind)}"] += 1
        return None
    text = checked_text(content, _text(content, skipped), reading.limits)
    if not text.strip():
        skipped["empty text"] += 1
        return None
    name = author.optional_text("name")
    name = checked(author, "name", name) if name is not None else None
    return Turn(node, role, text, name, _time(message, "create_time", reading), key=str(node.steps[-1]))


def _text(content: Node, skipped: Counter[str]) -> str:
    texts: list[str] = []
    parts = content.get("parts")
    for part in parts.items() if parts is not None else ():
        if isinstance(part.value, str):
            texts.append(part.text())
        elif part.value is not None and part.optional_text("content_type") == _TRANSCRIPT:
            texts.append(part.optional_text("text") or "")
        else:
            skipped["part without text"] += 1
    return "\n".join(text for text in texts if text)


def _time(node: Node, key: str, reading: Reading) -> datetime | None:
    """Seconds since 1970; null and 0 both stand for unknown."""
    time = node.get(key)
    if time is None or time.value == 0:
        return None
    try:
        return instant(time.value, reading.zone)
    except ValueError as error:
        time.fail(str(error))
