"""LongMemEval, one question a file with all the sessions it is hidden in.

`{steps: [{step_type: "add_messages", session_id, messages: [{peer_id, content, created_at}]}, …, {step_type: "query", input}]}`.
Sessions that hold the answer have names that begin with `answer_`: the gold is these sessions. The question begins with the
time at which it is asked, in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.errors import InputError
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record, usable
from jiyi.importers.documents import Node
from jiyi.importers.instants import instant

_ASKED = re.compile(r"\[(\d{4})/(\d{2})/(\d{2})[^\]]*?(\d{2}):(\d{2})\]\s*")
_ANSWERS = "answer_"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_KIND = re.compile(r"test: (.+?) question")


def read_set(folder: Path, half: str, zone: tzinfo, *, limit: int = 0) -> DataSet:
    """One record for each file.

    Raises:
        InputError: no such files. UnreadableFile: a file of another shape.
    """
    paths = sorted(folder.glob("longmem*.json"))
    if not paths:
        raise InputError(f"{folder}: no longmem*.json; --data names the folder that holds the data sets")
    records = [_record(path.stem, read_json(path), zone) for path in paths[: limit or None]]
    left_out = sum(not r.questions for r in records)
    told = "talk of the user with an assistant, a session each"
    return DataSet("longmemeval", half, Level.SESSION, usable(records, str(folder)), told, left_out)


def _record(name: str, root: Node, zone: tzinfo) -> Record:
    sessions: dict[str, list[IncomingMessage]] = {}
    questions: list[tuple[Node, str]] = []
    kind = _KIND.search(root.optional_text("description") or "")
    for step in root.at("steps").items():
        what = step.at("step_type").text()
        if what == "add_messages":
            session = step.at("session_id").text()
            sessions.setdefault(session, []).extend(_messages(session, step, zone))
        elif what == "query":
            questions.append((step.at("input"), f"{name}/q{len(questions)}"))
    ordered = sorted((turns for turns in sessions.values() if turns), key=lambda turns: turns[0].at)
    gold = frozenset(s for s, turns in sessions.items() if s.startswith(_ANSWERS) and turns)
    asked = tuple(_question(node, qid, gold, kind[1] if kind else "question", zone) for node, qid in questions)
    return Record(name, tuple(m for turns in ordered for m in turns), asked if gold else ())


def _messages(session: str, step: Node, zone: tzinfo) -> Iterator[IncomingMessage]:
    for number, node in enumerate(step.at("messages").items()):
        text = node.at("content").text()
        if text.strip():
            written = node.at("created_at")
            try:
                at = instant(written.text(), zone)
            except ValueError as error:
                written.fail(str(error))
            role = _ROLES.get(node.at("peer_id").text(), Role.OTHER)
            yield IncomingMessage(f"{session}:{number}", session, role, text, at + number * timedelta(seconds=1))


def _question(node: Node, qid: str, gold: frozenset[str], category: str, zone: tzinfo) -> Asked:
    match = _ASKED.match(node.text())
    at = datetime(*map(int, match.groups()), tzinfo=zone) if match else None  # type: ignore[arg-type,misc]
    return Asked(qid, node.text()[match.end() if match else 0 :], gold, category, at)
