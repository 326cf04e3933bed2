"""REALTALK: 21 days of messages between two real people.

`Chat_N_*.json` = `{name: {speaker_1, speaker_2}, session_K: [{dia_id, speaker, clean_text, date_time, blip_caption?}], qa:
[{question, evidence: [dia_id], category}]}`. The first speaker is the user, the other one another person, both with their
names. Chats of an odd number are the half for tuning, even ones are held out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.errors import InputError
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.datasets.locomo import evidence
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record, usable
from jiyi.importers.documents import Node

_FILE = re.compile(r"Chat_(\d+)_")
_SESSION = re.compile(r"session_(\d+)")
_TIME = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4}), (\d{1,2}):(\d{2})(?::(\d{2}))?")
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
HALVES = {"dev": 1, "heldout": 0}
"""Half to the remainder of a chat's number."""


def read_set(folder: Path, half: str, zone: tzinfo, *, pictures: bool = True, limit: int = 0) -> DataSet:
    """One record for each chat of the half.

    Raises:
        InputError: no such files, or no such half. UnreadableFile: a file of another shape.
    """
    if half not in HALVES:
        raise InputError(f"--half {half!r}: REALTALK has {' and '.join(HALVES)}")
    numbered = [(int(match[1]), p) for p in folder.glob("Chat_*.json") if (match := _FILE.match(p.name))]
    chosen = sorted((n, p) for n, p in numbered if n % 2 == HALVES[half])
    if not chosen:
        raise InputError(
            f"{folder}: no chat of the half {half!r} (Chat_N_*.json); --data names the folder that holds the data sets"
        )
    records, left_out = [], 0
    for number, path in chosen[: limit or None]:
        root, name = read_json(path), f"chat-{number}"
        messages = tuple(_messages(name, root, zone, pictures))
        ids = {m.id for m in messages}
        asked = [_asked(name, n, node, ids) for n, node in enumerate(root.at("qa").items())]
        left_out += sum(not q.gold for q in asked)
        records.append(Record(name, messages, tuple(q for q in asked if q.gold)))
    told = "two speakers: the first is the user, the other of role other, both with their names; captions of shared pictures "
    told += "are part of the text" if pictures else "are left out"
    return DataSet("realtalk", half, Level.TURN, usable(records, str(folder)), told, left_out)


def _messages(name: str, root: Node, zone: tzinfo, pictures: bool) -> Iterator[IncomingMessage]:
    user = root.at("name").at("speaker_1").text()
    numbered = [(int(match[1]), node) for key, node in root.members() if (match := _SESSION.fullmatch(key))]
    for number, turns in sorted(numbered, key=lambda pair: pair[0]):
        last: datetime | None = None
        for turn in turns.items():
            caption = turn.optional_text("blip_caption") if pictures else None
            parts = (turn.at("clean_text").text().strip(), f"[picture: {caption}]" if caption else "")
            text = " ".join(filter(None, parts))
            at = _instant(turn.at("date_time"), zone)
            # The order of the file is the order of the talk, also where two turns are of one second.
            last = at if last is None or at > last else last + timedelta(milliseconds=1)
            if text:
                speaker = turn.at("speaker").text()
                role = Role.USER if speaker == user else Role.OTHER
                mid = f"{name}:{turn.at('dia_id').text()}"
                yield IncomingMessage(mid, f"{name}/session_{number}", role, text, last, speaker)


def _instant(node: Node, zone: tzinfo) -> datetime:
    match = _TIME.fullmatch(node.text().strip())
    if match is None:
        node.fail("expected a time such as 29.12.2023, 22:42:04")
    day, month, year, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError as error:
        node.fail(f"{node.text()} is no time ({error})")


def _asked(name: str, number: int, node: Node, ids: set[str]) -> Asked:
    kind = node.at("category").value
    gold = evidence(name, node.get("evidence"), ids)
    return Asked(f"{name}/q{number}", node.at("question").text(), gold, _CATEGORIES.get(kind, str(kind)))
