"""A memory as mem0 tells one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from jiyi.domain.memory import Memory, Message
from jiyi.errors import InputError, NotFound
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.http.current import current
from jiyi.surfaces.http.mem0.bodies import Mem0Memory
from jiyi.surfaces.http.mem0.filters import Fields
from jiyi.surfaces.http.mem0.names import id_of, memory_in
from jiyi.surfaces.shapes import moment

OURS = {"agent_id": "agent", "app_id": "app", "run_id": "run"}
"""The labels that the ids of mem0 become: they say where something was said, never whose memory it is (SPEC S1)."""
METADATA = "metadata."
MAX_VALUE = 200
"""Characters of a label."""


def labels_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Metadata as labels of a message. Text stays text, so that recall can filter by it; all else is JSON.

    Raises:
        InputError: a value that is too long for a label.
    """
    told = {f"{METADATA}{name}": _label(value) for name, value in metadata.items() if value is not None}
    if long := [name for name, value in told.items() if len(value) > MAX_VALUE or len(name) > MAX_VALUE]:
        raise InputError(f"{long[0][:50]} is longer than {MAX_VALUE} characters: put it into the messages instead")
    return told


def _label(value: Any) -> str:
    if isinstance(value, str) and value.strip() and _read(value) is value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _read(label: str) -> Any:
    try:
        return json.loads(label)
    except (ValueError, RecursionError):
        return label


@dataclass(slots=True)
class Records:
    """Renders memories of one scope, each with the labels of the messages that it rests on."""

    me: ScopedMemory
    zone: tzinfo
    _said: dict[str, Sequence[Message]] = field(default_factory=dict)
    _before: dict[int, Memory] | None = None

    def record(self, memory: Memory, score: float | None = None) -> Mem0Memory:
        labels = self._labels(memory)
        metadata = {n.removeprefix(METADATA): _read(v[0]) for n, v in labels.items() if n.startswith(METADATA)}
        ids = {theirs: labels[ours][0] if ours in labels else None for theirs, ours in OURS.items()}
        return Mem0Memory(
            id=id_of(self.me.user, memory.id), memory=memory.text, user_id=self.me.user.user,
            agent_id=ids["agent_id"], app_id=ids["app_id"], run_id=ids["run_id"],
            hash=hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(), metadata=metadata or None,
            categories=[memory.category.value], created_at=moment(_first(memory), self.zone),
            updated_at=moment(memory.affirmed_at, self.zone), score=score,
        )  # fmt: skip

    def fields(self, memory: Memory) -> Fields:
        """The fields of a memory, for filters."""
        simple: dict[str, Sequence[Any]] = {
            "user_id": (self.me.user.user,),
            "id": (id_of(self.me.user, memory.id), memory.id),
            "memory_ids": (id_of(self.me.user, memory.id), memory.id),
            "categories": (memory.category.value,),
            "keywords": (memory.text,),
            "created_at": (_first(memory),),
            "updated_at": (memory.affirmed_at,),
        }

        def values(name: str) -> Sequence[Any]:
            if name in simple:
                return simple[name]
            labels = self._labels(memory)
            if name in OURS:
                return labels.get(OURS[name], ())
            # As the open-source server has it: what is no field of mem0's is one of the metadata.
            return [_read(v) for v in labels.get(f"{METADATA}{name.removeprefix(METADATA)}", ())]

        return values

    def labels(self, memories: Iterable[Memory]) -> dict[str, dict[str, list[Memory]]]:
        """Which memories each label stands behind: by its name, and its value."""
        found: dict[str, dict[str, list[Memory]]] = {}
        for memory in memories:
            for name, values in self._labels(memory).items():
                for value in values:
                    found.setdefault(name, {}).setdefault(value, []).append(memory)
        return found

    def _labels(self, memory: Memory) -> dict[str, list[str]]:
        """The labels of what a memory rests on, the latest first."""
        found: dict[str, list[str]] = {}
        for message in sorted(self._messages(memory), key=lambda m: (m.at, m.seq), reverse=True):
            for name, value in message.labels.items():
                if value not in found.setdefault(name, []):
                    found[name].append(value)
        return found

    def _messages(self, memory: Memory) -> list[Message]:
        try:
            found = self.me.evidence(memory.id)
        except NotFound:  # forgotten since it was read
            return []
        for session in {e.session for e in memory.evidence if not e.message}:
            # It was told outright; where it was also said, in the same session, that is what brought it.
            if session not in self._said:
                self._said[session] = self.me.history(session=session, limit=200).messages
            found += [m for m in self._said[session] if memory.text in m.text]
        if not found and (before := self._replaced(memory)) is not None:
            return self._messages(before)
        return found

    def _replaced(self, memory: Memory) -> Memory | None:
        """What a memory took the place of: a correction comes from where that came from."""
        if self._before is None:
            every = self.me.memories(status=None)
            self._before = {before.successor: before for before in every if before.successor is not None}
        return self._before.get(memory.seq)


def _first(memory: Memory) -> datetime:
    return min((e.at for e in memory.evidence), default=memory.learnt_at)


def meant(me: ScopedMemory, given: str) -> Memory:
    """The memory that an id means: what it says now. Raises: NotFound: no such memory, or it does not hold any more."""
    return current(me, memory_in(given))
