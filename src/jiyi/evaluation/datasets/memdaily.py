"""MemDaily (MemSim): Chinese everyday messages about people whose true attributes a second file holds.

`graphs_HALF.json` lists personas: `user_profile`, `relation_profiles` and `colleague_profiles`, each a mapping of
attribute to value with 关系 (what the person is to the user) and 姓名. Every other `NN_*.json` lists trajectories
`{tid, message_list: [{mid, message, time}], question_list: [{qid, question, target_step_id: [mid], time}]}` in the order of
the personas, the same number for each.

For recall (`read_set`) each trajectory is a record of its own, hidden among turns of unrelated talk (MemoryBank, in the folder
beside). All of them are told as the user's own, and each stands at a time between its neighbours, so that nothing but its
words tells noise apart. The half is the one that the `graphs_HALF.json` in the folder names.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.errors import InputError
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record, usable
from jiyi.evaluation.extraction import Person, Talk
from jiyi.importers.documents import Node
from jiyi.importers.formats import read_file

_TIME = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日\D*(\d{1,2}):(\d{2})")
_OWN_ROLE = "self"
_KIND = re.compile(r"\d+_(.+)_(?:events|hybrid|items|places|roles)")
NOISE = 200
"""Unrelated turns around each trajectory."""
_PACE = timedelta(minutes=1)


def read_talks(folder: Path, half: str, zone: tzinfo) -> list[Talk]:
    """Every trajectory of the folder with the people of its persona.

    Raises:
        InputError: no such files. UnreadableFile: a file of another shape.
    """
    personas = [tuple(_people(node)) for node in read_json(folder / f"graphs_{half}.json").items()]
    talks: list[Talk] = []
    for path in sorted(folder.glob("[0-9]*.json")):
        talks += _talks(path, personas, zone)
    return talks


def _people(persona: Node) -> Iterator[Person]:
    yield _person(persona.at("user_profile"))
    for group in ("relation_profiles", "colleague_profiles"):
        for profile in persona.at(group).items():
            yield _person(profile)


def _person(profile: Node) -> Person:
    values = {name: node.text() for name, node in profile.members()}
    role, name = values.pop("关系", ""), values.get("姓名", "")
    return Person("" if role == _OWN_ROLE else role, values, name)


def _talks(path: Path, personas: list[tuple[Person, ...]], zone: tzinfo) -> Iterator[Talk]:
    trajectories = list(read_json(path).items())
    for index, node in enumerate(trajectories):
        people = personas[index * len(personas) // len(trajectories)]
        name = f"{path.stem}-{node.at('tid').value}"
        yield Talk(name, tuple(_message(name, m, zone) for m in node.at("message_list").items()), people)


def _instant(node: Node, zone: tzinfo) -> datetime:
    said = node.at("time").text()
    match = _TIME.match(said)
    if match is None:
        node.fail(f"the time {said!r} is not written like 2024年04月01日 周一 08:12")
    return datetime(*map(int, match.groups()), tzinfo=zone)  # type: ignore[arg-type,misc]


def _message(name: str, node: Node, zone: tzinfo) -> IncomingMessage:
    at = _instant(node, zone)
    return IncomingMessage(
        id=f"{name}:{node.at('mid').value}",
        session=at.date().isoformat(),
        role=Role.USER,
        text=node.at("message").text(),
        at=at,
    )


# ------------------------------------------------------------------ questions


def read_set(folder: Path, half: str, zone: tzinfo, *, noise: int = NOISE, limit: int = 8) -> DataSet:
    """One record for each trajectory.

    Args:
        noise: unrelated turns around each.
        limit: so many trajectories of each file, the first ones; 0: all.

    Raises:
        InputError: no such files. UnreadableFile: a file of another shape.
    """
    if not (folder / f"graphs_{half}.json").is_file():
        raise InputError(
            f"{folder}: no graphs_{half}.json, so this is not the half {half!r}; --data names the folder of the sets"
        )
    pool = _noise(folder.parent / "memorybank_zh", zone) if noise else []
    records, left_out = [], 0
    for path in sorted(folder.glob("[0-9]*.json")):
        match = _KIND.fullmatch(path.stem)
        for node in list(read_json(path).items())[: limit or None]:
            name = f"{path.stem}-{node.at('tid').value}"
            said = (_message(name, m, zone) for m in node.at("message_list").items())
            messages = tuple(sorted(said, key=lambda m: m.at))
            asked = [
                _asked(name, match[1] if match else path.stem, q, messages, zone)
                for q in node.at("question_list").items()
            ]
            left_out += sum(not q.gold for q in asked)
            told = _hidden(messages, pool, noise, random.Random(name))
            records.append(Record(name, told, tuple(q for q in asked if q.gold)))
    told_so = f"each trajectory among {noise} unrelated turns, all said by the user, a session a day"
    return DataSet("memdaily", half, Level.TURN, usable(records, str(folder)), told_so, left_out)


def _asked(name: str, kind: str, node: Node, messages: Sequence[IncomingMessage], zone: tzinfo) -> Asked:
    gold = {f"{name}:{mid.value}" for mid in node.at("target_step_id").items()} & {m.id for m in messages}
    at = max(_instant(node, zone), messages[-1].at) if node.has("time") else None
    return Asked(f"{name}/q{node.at('qid').value}", node.at("question").text(), frozenset(gold), kind, at)


def _noise(folder: Path, zone: tzinfo) -> list[str]:
    path = folder / "memory_bank_cn.json"
    if not path.is_file():
        raise InputError(f"{path}: the unrelated talk around MemDaily is not there; without it: --noise 0")
    found = read_file(path, format="memorybank", zone=zone)
    return [m.text for c in found.conversations for m in c.messages]


def _hidden(
    messages: tuple[IncomingMessage, ...], pool: Sequence[str], noise: int, draw: random.Random
) -> tuple[IncomingMessage, ...]:
    """The messages in their order, each gap between them filled with some of the drawn turns."""
    gaps: list[list[str]] = [[] for _ in range(len(messages) + 1)]
    for text in draw.sample(pool, min(noise, len(pool))):
        gaps[draw.randrange(len(gaps))].append(text)
    told: list[IncomingMessage] = []
    for place, texts in enumerate(gaps):
        start = messages[place - 1].at if place else messages[0].at - (len(texts) + 1) * _PACE
        end = messages[place].at if place < len(messages) else start + (len(texts) + 1) * _PACE
        for number, text in enumerate(texts, 1):
            at = start + number * (end - start) / (len(texts) + 1)
            told.append(
                replace(messages[0], id=f"noise:{place}.{number}", session=at.date().isoformat(), text=text, at=at)
            )
        told += messages[place : place + 1]
    return tuple(told)
