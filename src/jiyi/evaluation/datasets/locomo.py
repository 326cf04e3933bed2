"""LoCoMo, long chats of two people.

For distilling (`read_chats`): the `observation` lists of each session, facts about either speaker with the turn they come
from. Each conversation is read twice, once with each speaker as the user: only what the user says is distilled.

For recall (`read_set`): `qa`, questions with the turns that answer them. The first speaker is the user, the other one
another person, both with their names, as `jiyi import` stores them. Evidence is a turn's id; a few are written wrongly
(two in one text, a colon or zeros too many) and read as what they mean. What names no turn is no gold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

from jiyi.domain.memory import IncomingMessage
from jiyi.errors import InputError
from jiyi.evaluation.datasets.files import read_json
from jiyi.evaluation.datasets.records import Asked, DataSet, Level, Record, usable
from jiyi.evaluation.extraction import Chat, Fact
from jiyi.importers.documents import Node
from jiyi.importers.formats import read_file

_SESSION = re.compile(r"(session_\d+)_observation")
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_PICTURE = re.compile(r" ?\[picture: [^\]]*\]$")


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


# ------------------------------------------------------------------ questions


def read_set(folder: Path, half: str, zone: tzinfo, *, pictures: bool = True, limit: int = 0) -> DataSet:
    """One record for each conversation.

    Args:
        pictures: keep the captions of shared pictures in the text of a turn, as importing does.
        limit: so many conversations; 0: all.

    Raises:
        InputError: no such file. UnreadableFile: a file of another shape.
    """
    path = folder / f"locomo10_{half}.json"
    records, left_out = [], 0
    for sample in list(read_json(path).items())[: limit or None]:
        name = sample.at("sample_id").text()
        parsed = read_file(path, format="locomo", zone=zone, only=name)
        messages = [m for c in parsed.conversations for m in c.messages]
        told = tuple(messages if pictures else without_pictures(messages))
        ids = {m.id for m in told}
        asked = [_asked(name, n, node, ids) for n, node in enumerate(sample.at("qa").items())]
        left_out += sum(not q.gold for q in asked)
        records.append(Record(name, told, tuple(q for q in asked if q.gold)))
    note = "two speakers: the first is the user, the other of role other, both with their names"
    return DataSet("locomo", half, Level.TURN, usable(records, str(path)), _told(note, pictures), left_out)


def _told(note: str, pictures: bool) -> str:
    return f"{note}; captions of shared pictures {'are part of the text' if pictures else 'are left out'}"


def without_pictures(messages: Iterable[IncomingMessage]) -> Iterator[IncomingMessage]:
    """The messages without captions; a turn that was nothing but a picture is gone."""
    for message in messages:
        text = _PICTURE.sub("", message.text)
        if text.strip():
            yield replace(message, text=text)


def _asked(name: str, number: int, node: Node, ids: Collection[str]) -> Asked:
    kind = node.at("category").value
    gold = evidence(name, node.get("evidence"), ids)
    return Asked(f"{name}/q{number}", node.at("question").text(), gold, _CATEGORIES.get(kind, str(kind)))


def evidence(name: str, node: Node | None, ids: Collection[str]) -> frozenset[str]:
    """The turns that evidence names, of those that there are."""
    if node is None:
        return frozenset()
    written = [node.text()] if isinstance(node.value, str) else [item.text() for item in node.items()]
    named = {f"{name}:D{a}:{int(b)}" for text in written for a, b in _EVIDENCE.findall(text)}
    return frozenset(named & set(ids))
