"""A2's recipe: entries in FTS5 over words cut by jieba, any word; twice the wanted candidates, rescored by importance and age.

Every turn is an entry of importance 1, made and last read when it was said; finding one moves its last reading to now.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jieba

from benchmarks.recipes import A2
from jiyi.domain.memory import IncomingMessage
from jiyi.domain.tokens import estimate_tokens
from jiyi.evaluation.contenders import Found

_STAMP = "%Y-%m-%d %H:%M:%S"

jieba.setLogLevel(logging.WARNING)


class A2Peer:
    name = "A2"

    def __init__(self, path: Path) -> None:
        self._recipe = A2(path)
        self._db = self._recipe._open
        self._ids: dict[int, str] = {}

    def learn(self, user: str, messages: Sequence[IncomingMessage]) -> None:
        with self._db:
            for message in messages:
                at = message.at.astimezone(UTC).strftime(_STAMP)
                row = self._db.execute(
                    "INSERT INTO memory_entries (user_id, content, created_at, last_accessed_at) VALUES (?, ?, ?, ?)",
                    (user, message.text, at, at),
                ).lastrowid
                segmented = " ".join(self._recipe.segment(message.text))
                self._db.execute("INSERT INTO memory_fts (segmented, memory_id) VALUES (?, ?)", (segmented, row))
                self._ids[int(row or 0)] = message.id

    def settle(self) -> None:
        """Adding has filled the index."""

    def find(self, user: str, question: str, limit: int, now: datetime) -> Found:
        words = self._recipe.question(question)
        rows = self._db.execute(A2.SEARCH, (words, user, 2 * limit)).fetchall()
        best = sorted(rows, key=lambda row: -_score(row, now))[:limit]
        stamp = now.astimezone(UTC).strftime(_STAMP)
        with self._db:
            self._db.executemany(
                "UPDATE memory_entries SET last_accessed_at = ? WHERE id = ?", [(stamp, row[0]) for row in best]
            )
        return Found(tuple(self._ids[row[0]] for row in best), sum(estimate_tokens(row[1]) for row in best[:10]))

    def close(self) -> None:
        self._recipe.close()


def _score(row: tuple[int, str, str, int, str, str, float], now: datetime) -> float:
    read = datetime.fromisoformat(row[5]).replace(tzinfo=UTC)
    return -row[6] + row[3] * 0.5 - max(0.0, (now - read) / timedelta(days=1)) * 0.01


def open_peer(folder: Path, option: str) -> A2Peer:
    return A2Peer(folder / "a2.db")
