"""Memories that were read lately, as they were made of their rows (SPEC R1, O6).

A recall that has vectors looks at a hundred memories, and making one of its columns takes three times as long as reading these. So
what was made is kept beside them: rows that are the same again are the same memory again, whoever wrote meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jiyi.domain.memory import Memory
from jiyi.settings import SqlitePolicy
from jiyi.stores.numbering import SEQ_BITS, Row
from jiyi.stores.rows import evidence_of, memory_of
from jiyi.stores.sqlite.lately import Lately

MOST = 512
"""So many rows at once at the most are looked for: whoever lists everything reads it once."""

_Made = tuple[Row, Sequence[Row], Memory]


class KeptMemories:
    """The memories of those users who were asked about last, by owner and key. One for a store; several threads use it."""

    def __init__(self, policy: SqlitePolicy) -> None:
        self._kept: Lately[int, dict[int, _Made]] = Lately(policy.kept_memories, policy.kept_seconds, len)
        self.drop, self.clear = self._kept.drop, self._kept.clear

    @property
    def memories(self) -> int:
        """How many are kept now."""
        return self._kept.taken

    def made(self, rows: Sequence[Row], said: Mapping[int, Sequence[Row]]) -> list[Memory]:
        """The memories of one owner's rows; `said` holds the rows of their evidence by key, each with that key in front."""
        if not 0 < len(rows) <= MOST or self._kept.room <= 0:
            return [_made(row, said.get(row[0]) or []) for row in rows]
        owner = rows[0][0] >> SEQ_BITS
        with self._kept.held():
            kept = self._kept.get(owner)
            if kept is None:
                kept = {}
            self._kept.use(owner, kept)
        found = []
        for row in rows:
            key = row[0]
            told = said.get(key) or []
            known = kept.get(key)
            if known is None or known[0] != row or known[1] != told:
                known = kept[key] = (row, told, _made(row, told))
            found.append(known[2])
        return found


def _made(row: Row, told: Sequence[Row]) -> Memory:
    return memory_of(row, tuple([evidence_of(one[1:]) for one in told]))
