"""MADial-Bench, Chinese or English: what a child lived through, and talk in which one of these memories should come up.

`MADial-Bench-LANG-memory.json`: lines `{N: {time, event, user-id?}}`. `MADial-Bench-LANG-dialogue.json`: lines `{dialogue: [turn],
test-turn: [index], relevant-id: [N], user-id}`. A memory is observed as what the user says on its day. What is asked is the
whole dialogue before the first turn in which a memory should be recalled; there is no question in it. The English file
names no users; its memories have the numbers of the Chinese ones, so that file is asked whose they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, timedelta, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.evaluation.datasets.files import read_lines
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record, usable
from jiyi.importers.documents import Node
from jiyi.importers.instants import morning

_PACE = timedelta(minutes=1)
_BEGIN = "<BOD>"


def read_set(folder: Path, language: str, half: str, zone: tzinfo, *, limit: int = 0) -> DataSet:
    """One record for each user.

    Args:
        language: zh or en; `folder` is the one of that language, beside which lies `madial_zh`.
        limit: so many dialogues; 0: all.

    Raises:
        InputError: no such files. UnreadableFile: a file of another shape, with its line.
    """
    memories = _memories(folder, language)
    owners = {n: owner for n, (owner, _) in memories.items()}
    if None in owners.values():
        owners |= {n: owner for n, (owner, _) in _memories(folder.parent / "madial_zh", "zh").items()}
    by_user: dict[str, list[tuple[str, Node]]] = defaultdict(list)
    for number, (_, node) in memories.items():
        by_user[owners.get(number) or ""].append((number, node))
    messages = {user: tuple(_messages(found, zone)) for user, found in by_user.items()}
    asked: dict[str, list[Asked]] = defaultdict(list)
    left_out = 0
    for row, node in enumerate(list(read_lines(folder / f"MADial-Bench-{language}-dialogue.json"))[: limit or None]):
        user = str(node.at("user-id").value)
        question = _asked(row, node, {m.id for m in messages.get(user, ())})
        left_out += not question.gold
        asked[user] += [question] if question.gold else []
    records = [Record(f"user-{user}", told, tuple(asked[user])) for user, told in sorted(messages.items())]
    told = "each memory is said by the user on its day, a session a day; the question is the dialogue so far"
    return DataSet(f"madial_{language}", half, Level.TURN, usable(records, str(folder)), told, left_out)


def _memories(folder: Path, language: str) -> Mapping[str, tuple[str | None, Node]]:
    """Number to whose it is, where the file says so, and the memory."""
    found: dict[str, tuple[str | None, Node]] = {}
    for line in read_lines(folder / f"MADial-Bench-{language}-memory.json"):
        rows = [(str(line.at("id").value), line)] if line.has("event") else list(line.members())
        for number, node in rows:
            owner = node.get("user-id")
            found[number] = (None if owner is None else str(owner.value), node)
    return found


def _messages(memories: list[tuple[str, Node]], zone: tzinfo) -> Iterator[IncomingMessage]:
    dated = sorted(((_day(node.at("time")), int(number), node) for number, node in memories), key=lambda row: row[:2])
    before, place = None, 0
    for day, number, node in dated:
        place = place + 1 if day == before else 0
        before = day
        at = morning(day, zone) + place * _PACE
        yield IncomingMessage(str(number), day.isoformat(), Role.USER, node.at("event").text(), at)


def _day(node: Node) -> date:
    try:
        return date.fromisoformat(node.text()[:10])
    except ValueError:
        node.fail("expected a date such as 2023-12-25")


def _asked(row: int, node: Node, ids: set[str]) -> Asked:
    first, *_ = node.at("test-turn").items()
    turns = [turn.text().strip() for turn in node.at("dialogue").items()][: int(first.value)]
    text = "\n".join(t.removeprefix(_BEGIN).strip() for t in turns).strip()
    gold = frozenset(str(n.value) for n in node.at("relevant-id").items()) & ids
    return Asked(f"dialogue-{row}", text, gold, "recall")
