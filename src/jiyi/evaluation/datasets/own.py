"""A file of your own: JSON lines, each a turn that was said or a question about what was said.

A turn: `{"id": "t1", "text": "…", "at": "2026-03-01T09:00:00+08:00"}`, and where you have them `user` (whose memory; by default
one for the whole file), `session` (by default the day), `role` (user, assistant, other, tool, system; user by default) and
`name` (who speaks). Ids are unique for a user.

A question: `{"question": "…", "evidence": ["t1", "t7"]}`, and where you have them `id`, `user`, `category` and `at` (when it is
asked; after all turns by default). Instead of `evidence`, `sessions` may name the sessions that answer it. One file has one of
the two. A question with empty gold is counted and left out. Instants without a zone are meant in the zone of the reader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.scope import check_name
from jiyi.errors import InputError, UnreadableFile
from jiyi.evaluation.datasets.files import read_lines
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record, usable
from jiyi.importers.documents import Node
from jiyi.importers.instants import instant

_TURN = frozenset(("id", "text", "at", "user", "session", "role", "name"))
_QUESTION = frozenset(("question", "evidence", "sessions", "id", "user", "category", "at"))
_GOLD = {"evidence": Level.TURN, "sessions": Level.SESSION}
_USER = "me"


def read_set(path: Path, zone: tzinfo) -> DataSet:
    """One record for each user of the file.

    Raises:
        InputError: no such file. UnreadableFile: what is wrong, and in which line.
    """
    turns: dict[str, dict[str, IncomingMessage]] = defaultdict(dict)
    asked: list[tuple[str, Node]] = []
    for node in read_lines(path):
        _check_fields(node)
        user = node.optional_text("user") or _USER
        if node.has("question"):
            asked.append((user, node))
        else:
            message = _turn(node, zone)
            if message.id in turns[user]:
                node.at("id").fail(f"the id {message.id!r} is there already")
            turns[user][message.id] = message
    level = _level(path, asked)
    questions: dict[str, list[Asked]] = defaultdict(list)
    for number, (user, node) in enumerate(asked, 1):
        questions[user].append(_asked(number, node, level, turns[user], zone))
    left_out = sum(not q.gold for qs in questions.values() for q in qs)
    records = [
        Record(user, tuple(sorted(said.values(), key=lambda m: m.at)), tuple(q for q in questions[user] if q.gold))
        for user, said in turns.items()
    ]
    return DataSet(path.stem, "all", level, usable(records, str(path)), f"read from {path.name}", left_out)


def _check_fields(node: Node) -> None:
    known = _QUESTION if node.has("question") else _TURN
    if unknown := set(node.mapping()) - known:
        what = "a question" if node.has("question") else 'a turn (or, with "question", a question)'
        node.fail(f"unknown {', '.join(sorted(map(repr, unknown)))}: {what} has {', '.join(sorted(known))}")


def _turn(node: Node, zone: tzinfo) -> IncomingMessage:
    text = node.at("text").text()
    if not text.strip():
        node.at("text").fail("the text is empty: leave such turns out")
    at = _instant(node.at("at"), zone)
    given = node.optional_text("role") or Role.USER.value
    if given not in set(Role):
        node.at("role").fail(f"role {given!r}: use one of {', '.join(Role)}")
    session = node.optional_text("session") or at.date().isoformat()
    return IncomingMessage(_name(node.at("id"), "id"), session, Role(given), text, at, node.optional_text("name"))


def _instant(node: Node, zone: tzinfo) -> datetime:
    try:
        return instant(node.value, zone)
    except ValueError as error:
        node.fail(str(error))


def _name(node: Node, what: str) -> str:
    try:
        return check_name(what, node.text())
    except InputError as error:
        node.fail(str(error))


def _level(path: Path, asked: list[tuple[str, Node]]) -> Level:
    if not asked:
        raise UnreadableFile(path, 'no question in it: {"question": "…", "evidence": ["id of a turn"]}')
    levels = set()
    for _, node in asked:
        given = [key for key in _GOLD if node.has(key)]
        if len(given) != 1:
            node.fail("a question needs either evidence (ids of turns) or sessions")
        levels.add(_GOLD[given[0]])
        if len(levels) > 1:
            node.fail("some questions name evidence and some sessions: make two files of them")
    return levels.pop()


def _asked(number: int, node: Node, level: Level, said: Mapping[str, IncomingMessage], zone: tzinfo) -> Asked:
    key = next(k for k, value in _GOLD.items() if value is level)
    there = set(said) if level is Level.TURN else {m.session for m in said.values()}
    gold = [_known(item, there, key) for item in node.at(key).items()]
    at = _instant(node.at("at"), zone) if node.has("at") else None
    text = node.at("question").text()
    if not text.strip():
        node.at("question").fail("the question is empty")
    return Asked(
        node.optional_text("id") or f"q{number}", text, frozenset(gold), node.optional_text("category") or "question", at
    )  # fmt: skip


def _known(node: Node, there: set[str], key: str) -> str:
    if node.text() not in there:
        node.fail(f"{node.text()!r} names no {'turn' if key == 'evidence' else 'session'} of this user")
    return node.text()
