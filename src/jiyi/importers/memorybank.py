"""MemoryBank (SiliconFriend): `{person: {"history": {date: [{"query", "response"}, …]}}}`.

Choices: a day is a session. Only the date is known, so a day's talk begins at 09:00 in the reader's time
zone and each message follows a minute after the one before (closer together where the day would not hold
them). Summaries and portraits in the file are a model's, not the person's words: they are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.importers.documents import Node
from jiyi.importers.instants import morning
from jiyi.importers.parsed import Conversation, Found, Reading, checked, checked_text, digest, marked, message_id

FORMAT = "memorybank"
SHAPE = 'expected {"a person": {"history": {"2023-05-01": [{"query": "…", "response": "…"}, …]}}}'

_PACE = timedelta(minutes=1)
# From 09:00 until the day ends.
_DAY = timedelta(hours=14)
_SIDES = (("query", Role.USER), ("response", Role.ASSISTANT))


def fits(root: Node) -> bool:
    return isinstance(root.value, dict) and any(isinstance(v, dict) and "history" in v for v in root.value.values())


def parse(roots: Sequence[Node], reading: Reading) -> Iterator[Found]:
    """Read the people of a file.

    Raises:
        UnreadableFile: a person's history has another shape.
    """
    for root in roots:
        for name, person in root.members():
            yield _person(checked(person, "person", name), person, reading)


def _person(name: str, person: Node, reading: Reading) -> Found:
    skipped: Counter[str] = Counter()
    history = person.get("history")
    if history is None:
        person.mapping()
        skipped["person without history"] += 1
        return Found((name,), skipped=skipped)
    days = sorted(((_day(key, node), key, node) for key, node in history.members()), key=lambda day: day[:2])
    conversations = tuple(
        Conversation(name, messages[0].session, messages)
        for day, key, node in days
        if (messages := tuple(_messages(name, day, key, node, reading, skipped)))
    )
    return Found((name,), conversations if reading.wants([name]) else (), skipped)


def _day(key: str, node: Node) -> date:
    try:
        return date.fromisoformat(key)
    except ValueError:
        node.fail("the key is no date such as 2023-04-27")


def _messages(
    name: str, day: date, key: str, node: Node, reading: Reading, skipped: Counter[str]
) -> Iterator[IncomingMessage]:
    start = _morning(node, day, reading)
    records = list(node.items())
    if not records:
        skipped["session without talk"] += 1
    pace = min(_PACE, _DAY / (2 * len(records) + 1))
    for index, record in enumerate(records):
        for offset, (side, role) in enumerate(_SIDES):
            text_node = record.at(side)
            text = checked_text(text_node, text_node.text(), reading.limits)
            if not text.strip():
                skipped["empty text"] += 1
                continue
            yield IncomingMessage(
                id=message_id(FORMAT, name, key, f"{index}{side[0]}", marked(digest(text, 12))),
                session=day.isoformat(),
                role=role,
                text=text,
                at=start + (2 * index + offset) * pace,
                name=name if role is Role.USER else None,
            )


def _morning(node: Node, day: date, reading: Reading) -> datetime:
    try:
        return morning(day, reading.zone)
    except ValueError as error:
        node.fail(str(error))
