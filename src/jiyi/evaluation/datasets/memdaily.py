"""MemDaily (MemSim): Chinese everyday messages about people whose true attributes a second file holds.

`graphs_HALF.json` lists personas: `user_profile`, `relation_profiles` and `colleague_profiles`, each a mapping of
attribute to value with 关系 (what the person is to the user) and 姓名. Every other `NN_*.json` lists trajectories
`{tid, message_list: [{mid, message, time}]}` in the order of the personas, the same number for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.extraction import Person, Talk
from jiyi.importers.documents import Node

_TIME = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日\D*(\d{1,2}):(\d{2})")
_OWN_ROLE = "self"


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


def _message(name: str, node: Node, zone: tzinfo) -> IncomingMessage:
    said = node.at("time").text()
    match = _TIME.match(said)
    if match is None:
        node.fail(f"the time {said!r} is not written like 2024年04月01日 周一 08:12")
    at = datetime(*map(int, match.groups()), tzinfo=zone)  # type: ignore[arg-type,misc]
    return IncomingMessage(
        id=f"{name}:{node.at('mid').value}",
        session=at.date().isoformat(),
        role=Role.USER,
        text=node.at("message").text(),
        at=at,
    )
