"""RealMem: long English talk of one user with an assistant, facts that a model extracted from it, and questions.

`*_dialogues_256k.json` = `{_metadata: {person_name}, dialogues: [{session_identifier, current_time, dialogue_turns:
[{speaker, content}], extracted_memory: [{index, type, content}]}]}`. Only facts of type *Static* are asked for: what
stays true of the user. A heading in 【】 before a fact is no part of it. Dates have no hour: a session begins at 09:00.

A question (`read_set`) is a turn of the user with `query_id`; the reply to it names `memory_session_uuids`, the sessions that
must be remembered. It is asked when the talk before its session is told, so that nothing finds the question itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.errors import InputError
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record, usable
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
    return [_chat(read_json(path), zone) for path in _paths(folder)]


def read_set(folder: Path, half: str, zone: tzinfo, *, limit: int = 0) -> DataSet:
    """One record for each persona. Raises what `read_chats` does."""
    records, left_out = [], 0
    for path in _paths(folder)[: limit or None]:
        record, asked = _record(read_json(path), zone)
        records.append(record)
        left_out += asked - len(record.questions)
    told = "talk of the user with an assistant; each question is asked before its session is told, and the whole pipeline runs"
    return DataSet("realmem", half, Level.SESSION, usable(records, str(folder)), told, left_out)


def _paths(folder: Path) -> list[Path]:
    paths = sorted(folder.glob("*_dialogues_256k.json"))
    if not paths:
        raise InputError(f"{folder}: no *_dialogues_256k.json; --data names the folder that holds the data sets")
    return paths


def _record(root: Node, zone: tzinfo) -> tuple[Record, int]:
    """A persona's record, and how many questions there are, of which it has those whose sessions came before."""
    name = root.at("_metadata").at("person_name").text()
    ordered = sorted(root.at("dialogues").items(), key=lambda node: _day(node.at("current_time")))
    messages: list[IncomingMessage] = []
    questions: list[Asked] = []
    told: set[str] = set()
    count = 0
    for node in ordered:
        session, before = node.at("session_uuid").text(), len(messages)
        messages += _turns(node, session, zone)
        for qid, text, kind, needed in _queries(node):
            count += 1
            gold = frozenset(needed & told)
            if gold and before:
                at = messages[before].at if before < len(messages) else None
                questions.append(Asked(f"{name}/{session}/{qid}", text, gold, kind, at, before))
        told.add(session)
    # Sessions of one day follow one another.
    return Record(name, _in_order(messages), tuple(questions)), count


def _in_order(messages: list[IncomingMessage]) -> tuple[IncomingMessage, ...]:
    told: list[IncomingMessage] = []
    for message in messages:
        late = told and message.at <= told[-1].at
        told.append(replace(message, at=told[-1].at + _PACE) if late else message)
    return tuple(told)


def _turns(node: Node, session: str, zone: tzinfo) -> Iterator[IncomingMessage]:
    start = morning(_day(node.at("current_time")), zone)
    for number, turn in enumerate(node.at("dialogue_turns").items()):
        text = turn.at("content").text()
        if text.strip():
            role = _ROLES.get(turn.at("speaker").text(), Role.OTHER)
            yield IncomingMessage(f"{session}:{number}", session, role, text, start + number * _PACE)


def _queries(node: Node) -> Iterator[tuple[str, str, str, set[str]]]:
    """Id, words, kind and needed sessions of each question of a session; a reply counts for the question before it."""
    asked: Node | None = None
    for turn in node.at("dialogue_turns").items():
        if turn.has("query_id"):
            asked = turn
        needed = turn.get("memory_session_uuids")
        if asked is not None and needed is not None:
            kind = turn.optional_text("category_name") or asked.optional_text("category_name") or "query"
            yield asked.at("query_id").text(), asked.at("content").text(), kind, {n.text() for n in needed.items()}
            asked = None


def _chat(root: Node, zone: tzinfo) -> Chat:
    name = root.at("_metadata").at("person_name").text()
    messages: list[IncomingMessage] = []
    facts: list[Fact] = []
    for node in root.at("dialogues").items():
        session = node.at("session_uuid").text()
        messages += _turns(node, session, zone)
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
