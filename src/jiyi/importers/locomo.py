"""LoCoMo, a public benchmark of long chats between two people.

Choices: the first speaker is the user unless `self_name` says otherwise, and the second one is another
person (role other), whose words are hearsay about the user. A session's date holds for its first turn;
each further turn is a second later. The caption of a shared picture is appended to the turn's text as
`[picture: …]`, since questions are asked about it. The id of a turn is `sample_id:dia_id`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.errors import InputError
from jiyi.importers.documents import Node, printable
from jiyi.importers.instants import english_instant
from jiyi.importers.parsed import Conversation, Found, Reading, checked, checked_text, digest

FORMAT = "locomo"
SHAPE = "expected a list of samples, each with a 'conversation' of 'session_1', 'session_2', …: lists of 'speaker' and 'text'"

_SESSION = re.compile(r"session_(\d{1,9})", re.ASCII)


def fits(root: Node) -> bool:
    first = root.value[0] if isinstance(root.value, list) and root.value else root.value
    return isinstance(first, dict) and isinstance(first.get("conversation"), dict)


def parse(roots: Sequence[Node], reading: Reading) -> Iterator[Found]:
    """Read the conversations of a file.

    Raises:
        UnreadableFile: a conversation has another shape.
        InputError: `self_name` is neither of the two speakers.
    """
    for root in roots:
        for sample in [root] if isinstance(root.value, dict) else root.items():
            yield _sample(sample, reading)


def _sample(sample: Node, reading: Reading) -> Found:
    skipped: Counter[str] = Counter()
    name = sample.at("sample_id").text()
    conversation = sample.at("conversation")
    speakers = [conversation.at(key).text() for key in ("speaker_a", "speaker_b")]
    user = reading.self_name or speakers[0]
    if reading.wants([name]) and user not in speakers:
        raise InputError(
            f"{sample.document.path}: nobody in {printable(name)} is called {user!r}: the speakers are "
            f"{' and '.join(map(printable, speakers))}. Name one of them, or choose one conversation of the file"
        )
    for key in ("speaker_a", "speaker_b"):
        checked(conversation.at(key), "speaker", conversation.at(key).text())
    sessions = tuple(
        Conversation(user, checked(sample, "session", f"{name}/{turns.steps[-1]}"), messages)
        for turns in _sessions(conversation)
        if (messages := tuple(_messages(name, user, conversation, turns, reading, skipped)))
    )
    return Found((name,), sessions if reading.wants([name]) else (), skipped)


def _sessions(conversation: Node) -> list[Node]:
    """The lists `session_N`, in order. Dates of sessions that the file does not hold mean nothing."""
    numbered = [(int(match[1]), node) for key, node in conversation.members() if (match := _SESSION.fullmatch(key))]
    return [node for _, node in sorted(numbered, key=lambda pair: pair[0])]


def _messages(
    name: str, user: str, conversation: Node, turns: Node, reading: Reading, skipped: Counter[str]
) -> Iterator[IncomingMessage]:
    start = _date(conversation.at(f"{turns.steps[-1]}_date_time"), reading)
    session = f"{name}/{turns.steps[-1]}"
    if not turns.value:
        skipped["session without talk"] += 1
    for index, turn in enumerate(turns.items()):
        speaker_node = turn.at("speaker")
        speaker = checked(speaker_node, "speaker", speaker_node.text())
        text = _text(turn, reading)
        if not text:
            skipped["empty text"] += 1
            continue
        yield IncomingMessage(
            id=_id(turn, name),
            session=session,
            role=Role.USER if speaker == user else Role.OTHER,
            text=text,
            at=start + timedelta(seconds=index),
            name=speaker,
        )


def _date(node: Node, reading: Reading) -> datetime:
    try:
        return english_instant(node.text(), reading.zone)
    except ValueError as error:
        node.fail(f"expected a date such as 1:56 pm on 8 May, 2023 ({error})")


def _text(turn: Node, reading: Reading) -> str:
    said = turn.at("text").text()
    caption = turn.optional_text("blip_caption")
    parts = [said] if said.strip() else []
    if caption and caption.strip():
        parts.append(f"[picture: {caption}]")
    return checked_text(turn, " ".join(parts), reading.limits)


def _id(turn: Node, name: str) -> str:
    own = turn.at("dia_id").text()
    full = f"{name}:{own}"
    return checked(turn, "dia_id", full) if len(full) <= 200 else f"{FORMAT}:{digest([name, own])}"
