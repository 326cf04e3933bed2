"""LoCoMo: the `observation` lists of each session, facts about either speaker with the turn they come from.

Each conversation is read twice, once with each speaker as the user: only what the user says is distilled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path

from jiyi.errors import InputError
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.extraction import Chat, Fact
from jiyi.importers.documents import Node
from jiyi.importers.formats import read_file

_SESSION = re.compile(r"(session_\d+)_observation")


def read_chats(folder: Path, half: str, zone: tzinfo) -> list[Chat]:
    """Two chats per conversation.

    Raises:
        InputError: no such file. UnreadableFile: a file of another shape.
    """
    path = folder / f"locomo10_{half}.json"
    chats = []
    for sample in read_json(path).items():
        name = sample.at("sample_id").text()
        speakers = [sample.at("conversation").at(key).text() for key in ("speaker_a", "speaker_b")]
        for user in speakers:
            parsed = read_file(path, format="locomo", zone=zone, self_name=user, only=name)
            messages = tuple(m for c in parsed.conversations for m in c.messages)
            chats.append(Chat(f"{name}/{user}", messages, tuple(_facts(name, user, speakers, sample))))
    if not chats:
        raise InputError(f"{path}: no conversation in it")
    return chats


def _facts(name: str, user: str, speakers: list[str], sample: Node) -> Iterator[Fact]:
    for key, lists in sample.at("observation").members():
        match = _SESSION.fullmatch(key)
        told = lists.get(user) if match else None
        if match is None or told is None:
            continue
        for number, pair in enumerate(told.items()):
            sentence, *_ = pair.items()
            # Both names: a memory says "User", and of the partner the fact tells only that it was said to them.
            yield Fact(f"{name}/{user}:{match[1]}.{number}", sentence.text(), f"{name}/{match[1]}", tuple(speakers))
