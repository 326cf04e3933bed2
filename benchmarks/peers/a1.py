"""A1's recipe: raw messages in FTS5 with its default tokenizer, the words of the question joined by OR, best rank first.

The recipe has no user; here a search is narrowed to one after MATCH, which is in its favour.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import jieba

from benchmarks.recipes import A1AnyWord
from jiyi.domain.memory import IncomingMessage
from jiyi.domain.tokens import estimate_tokens
from jiyi.evaluation.contenders import Found

_SEARCH = """
    SELECT m.id, m.content FROM messages_fts JOIN messages AS m ON m.id = messages_fts.rowid
    WHERE messages_fts MATCH ? AND m.session = ? ORDER BY rank LIMIT ?
"""

jieba.setLogLevel(logging.WARNING)


class A1Peer:
    name = "A1"

    def __init__(self, path: Path) -> None:
        self._recipe = A1AnyWord(path)
        self._db = self._recipe._open
        self._ids: dict[int, str] = {}

    def learn(self, user: str, messages: Sequence[IncomingMessage]) -> None:
        with self._db:
            for message in messages:
                row = self._db.execute(
                    "INSERT INTO messages (session, role, content, created) VALUES (?, ?, ?, ?)",
                    (user, message.role.value, message.text, message.at.isoformat()),
                ).lastrowid
                self._ids[int(row or 0)] = message.id

    def settle(self) -> None:
        """The trigger has filled the index."""

    def find(self, user: str, question: str, limit: int, now: datetime) -> Found:
        words = self._recipe.question(question)
        rows = self._db.execute(_SEARCH, (words, user, limit)).fetchall() if words else []
        return Found(tuple(self._ids[row[0]] for row in rows), sum(estimate_tokens(row[1]) for row in rows[:10]))

    def close(self) -> None:
        self._recipe.close()


def open_peer(folder: Path, option: str) -> A1Peer:
    return A1Peer(folder / "a1.db")
