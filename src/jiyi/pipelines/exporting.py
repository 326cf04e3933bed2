"""Everything that is known about a scope, on its way into a file (SPEC F7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from jiyi.domain.encoding import (
    entry_fields,
    heat_fields,
    memory_fields,
    message_fields,
    standing_fields,
    summary_fields,
)
from jiyi.domain.memory import Category, Memory
from jiyi.domain.scope import Scope
from jiyi.pipelines import archive
from jiyi.pipelines.archive import Numbers, Summary, line, write_archive
from jiyi.ports import Unit

CHUNK = 500
TITLE = "记忆 · What is remembered"
HEADINGS = {
    Category.PROFILE: "个人信息 · Profile",
    Category.PREFERENCE: "偏好 · Preferences",
    Category.GOAL: "目标 · Goals",
    Category.PROJECT: "项目 · Projects",
    Category.TASK: "任务 · Tasks",
    Category.EVENT: "事件 · Events",
    Category.RELATIONSHIP: "关系 · Relationships",
    Category.RULE: "长期要求 · Standing rules",
    Category.GENERAL: "其他 · Other",
}


def export_scope(
    unit: Unit, scope: Scope, path: Path, now: datetime, *, zone: tzinfo, unfinished: int, limit: int
) -> Summary:
    """Write the scope to a new file, as it is in this one snapshot.

    Raises:
        InputError: the file exists, or cannot be written. TooLarge: above `limit` bytes.
    """
    memories = unit.memories.listing(scope, status=None)
    heats = unit.memories.heat(scope, [m.seq for m in memories])
    numbers = Numbers(
        message=unit.messages.last_seq(scope),
        memory=unit.memories.last_seq(scope),
        plan=unit.ledger.last_seq(scope),
        summary=unit.summaries.last_seq(scope),
    )
    parts: dict[str, Iterable[str]] = {
        archive.MESSAGES: _messages(unit, scope, numbers.message),
        archive.MEMORIES: (line(memory_fields(m)) for m in memories),
        archive.LEDGER: _ledger(unit, scope, numbers.plan),
        archive.HEAT: (line(heat_fields(seq, heat)) for seq, heat in sorted(heats.items())),
        archive.SUMMARIES: (line(summary_fields(s)) for s in unit.summaries.listing(scope)),
        archive.STANDING: [line(standing_fields(unit.standings.get(scope)))],
        archive.PROFILE: describe(unit.memories.listing(scope), zone),
    }
    return write_archive(path, parts, numbers, now, unfinished, limit)


def _messages(unit: Unit, scope: Scope, last: int) -> Iterator[str]:
    for first in range(1, last + 1, CHUNK):
        # By number, since only so the tombstones come along.
        for message in unit.messages.get(scope, range(first, first + CHUNK)):
            yield line(message_fields(message))


def _ledger(unit: Unit, scope: Scope, last: int) -> Iterator[str]:
    for after in range(0, last, CHUNK):
        for entry in unit.ledger.entries(scope, after=after, limit=CHUNK):
            yield line(entry_fields(entry))


def describe(memories: Sequence[Memory], zone: tzinfo) -> Iterator[str]:
    """What is believed, as lines of Markdown. No word of it depends on when it is written."""
    yield f"# {TITLE}"
    for category, heading in HEADINGS.items():
        chosen = sorted(
            (m for m in memories if m.category is category),
            key=lambda m: (-m.importance, -m.affirmed_at.timestamp(), m.seq),
        )
        if chosen:
            yield from ("", f"## {heading}", "")
        for memory in chosen:
            day = memory.affirmed_at.astimezone(zone).date().isoformat()
            yield f"- {' '.join(memory.text.split())} ({day}, {memory.source.value}) [{memory.id}]"
