"""RealMem: long English talk of one user with an assistant, and facts that a model extracted from it.

`*_dialogues_256k.json` = `{_metadata: {person_name}, dialogues: [{session_identifier, current_time, dialogue_turns:
[{speaker, content}], extracted_memory: [{index, type, content}]}]}`. Only facts of type *Static* are asked for: what
stays true of the user. A heading in 【】 before a fact is no part of it. Dates have no hour: a session begins at 09:00.
"""

from __future__ import annotations

import re
from datetime import date, timedelta, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.errors import InputError
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.extraction import Chat, Fact
from jiyi.importers.documents import Node
from jiyi.importers.instants import morning

_HEADING = re.compile(r"^\s*【[^】]*】\s*")
_PACE = timedelta(minutes=1)
_ROLES = {"User": Role.USER, "Assistant": Role.ASSISTANT}


def read_chats(folder: Path, zone: tzinfo) -> list[Chat]:
    """One chat per persona.

    Raises:
        InputError: no such files. UnreadableFile: a file of another shape.
    """
    paths = sorted(folder.glob("*_dialogues_256k.json"))
    if not paths:
        raise InputError(f"{folder}: no *_dialogues_256k.json; --data names the folder that holds the data sets")
    return [_chat(read_json(path), zone) for path in paths]


def _chat(root: Node, zone: tzinfo) -> Chat:
    name = root.at("_metadata").at("person_name").text()
    messages: list[IncomingMessage] = []
    facts: list[Fact] = []
    for node in root.at("dialogues").items():
        session = node.at("session_uuid").text()
        start = morning(_day(node.at("current_time")), zone)
        for number, turn in enumerate(node.at("dialogue_turns").items()):
            text = turn.at("content").text()
            if text.strip():
                role = _ROLES.get(turn.at("speaker").text(), Role.OTHER)
                messages.append(IncomingMessage(f"{session}:{number}", session, role, text, start + number * _PACE))
        for memory in node.at("extracted_memory").items():
            if memory.at("type").text() == "Static":
                text = _HEADING.sub("", memory.at("content").text())
                facts.append(
                    Fact(f"{name}:{memory.at('index').text()}", text, session, ("user", name.replace("_", " ")))
                )
    messages.sort(key=lambda m: m.at)
    return Chat(name, tuple(messages), tuple(facts))


def _day(node: Node) -> date:
    try:
        return date.fromisoformat(node.text()[:10])
    except ValueError:
        node.fail("expected a date such as 2025-12-15 (Monday)")
