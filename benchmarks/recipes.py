"""The recipes of the two articles that jiyi starts from, written plainly by us with the same behaviour.

A2 keeps distilled memories: a table of entries, beside it an FTS5 table of segmented text that carries the
entry's id as an unindexed column. A search matches any word over everybody's entries, joins the entries,
filters by user and then adds importance and age in Python; every hit has its access time updated.

A1 keeps raw messages: a table, an FTS5 table that reads its content from it, and a trigger. The default
tokenizer takes a run of Chinese as one word. There is no user in it: a search answers from everybody.

Both get what jiyi gets: one open connection, write-ahead log, the same cache and memory map. So the ratios
tell about the layout of the data. `PrintedA2` is the exception: a connection per call, as in the article.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jieba

from benchmarks.data import Entry

TOP = 8
LIKE_OURS = ("journal_mode=WAL", "synchronous=FULL", "cache_size=-65536", "mmap_size=4294967296", "busy_timeout=5000")
STOP_WORDS = frozenset("的是了和就也都")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
_STAMP = "%Y-%m-%d %H:%M:%S"
_Row = tuple[int, str, str, int, str, str, float]


def connect(path: Path, *pragmas: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


def match(words: Iterable[str], joined_by: str) -> str:
    """A MATCH expression; quoted, so that no word is taken for syntax."""
    return joined_by.join('"' + word.replace('"', '""') + '"' for word in dict.fromkeys(words))


class A2:
    """The recipe for memories."""

    name = "A2"

    SCHEMA = """
        CREATE TABLE memory_entries (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            user_id TEXT NOT NULL,
            content TEXT NOT NULL,
            category TEXT DEFAULT 'general',
            importance INTEGER DEFAULT 1,
            created_at TEXT DEFAULT (datetime('now')),
            last_accessed_at TEXT DEFAULT (datetime('now'))
        );
        CREATE VIRTUAL TABLE memory_fts USING fts5(segmented, memory_id UNINDEXED);
    """
    SEARCH = """
        SELECT m.id, m.content, m.category, m.importance, m.created_at, m.last_accessed_at,
               bm25(memory_fts) AS relevance
        FROM memory_fts JOIN memory_entries AS m ON m.id = memory_fts.memory_id
        WHERE memory_fts MATCH ? AND m.user_id = ?
        ORDER BY relevance LIMIT ?
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        fresh = not path.exists()
        self._open = connect(path, *LIKE_OURS)
        if fresh:
            self._open.executescript(self.SCHEMA)

    def close(self) -> None:
        self._open.close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        yield self._open

    @staticmethod
    def segment(text: str) -> list[str]:
        return [word for word in jieba.cut(text) if word.strip() and word not in STOP_WORDS]

    def question(self, text: str) -> str:
        return match(self.segment(text) or [text], " OR ")

    def prepare(self, entries: Sequence[Entry]) -> list[tuple[Entry, str]]:
        return [(entry, " ".join(self.segment(entry.text))) for entry in entries]

    def load(self, prepared: Sequence[tuple[Entry, str]]) -> None:
        """Many entries in one transaction."""
        first = self._open.execute("SELECT coalesce(max(id), 0) + 1 FROM memory_entries").fetchone()[0]
        rows, texts = [], []
        for memory, (entry, segmented) in enumerate(prepared, start=first):
            at = (NOW - timedelta(days=entry.age_days)).strftime(_STAMP)
            rows.append((memory, entry.owner, entry.text, "general", entry.importance, at, at))
            texts.append((segmented, memory))
        with self._open:
            self._open.executemany("INSERT INTO memory_entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            self._open.executemany("INSERT INTO memory_fts (segmented, memory_id) VALUES (?, ?)", texts)

    def candidates(self, owner: str, question: str) -> list[_Row]:
        """What the index and the join give, before the second ranking; `question` is made by `question()`."""
        with self._connection() as connection:
            return connection.execute(self.SEARCH, (question, owner, TOP * 2)).fetchall()

    def search(self, owner: str, question: str) -> list[str]:
        """The best texts of one user. Finding them writes their access times."""
        with self._connection() as connection:
            rows = connection.execute(self.SEARCH, (question, owner, TOP * 2)).fetchall()
            best = sorted(rows, key=self._score, reverse=True)[:TOP]
            connection.executemany(
                "UPDATE memory_entries SET last_accessed_at = datetime('now') WHERE id = ?", [row[:1] for row in best]
            )
            connection.commit()
        return [row[1] for row in best]

    @staticmethod
    def _score(row: _Row) -> float:
        accessed = datetime.fromisoformat(row[5]).replace(tzinfo=UTC)
        return -row[6] + row[3] * 0.5 - max(0.0, (NOW - accessed) / timedelta(days=1)) * 0.01

    def add(self, owner: str, text: str, segmented: str, importance: int) -> int:
        with self._connection() as connection:
            memory = connection.execute(
                "INSERT INTO memory_entries (user_id, content, importance) VALUES (?, ?, ?)", (owner, text, importance)
            ).lastrowid
            assert memory is not None
            connection.execute("INSERT INTO memory_fts (segmented, memory_id) VALUES (?, ?)", (segmented, memory))
            connection.commit()
        return memory

    def delete(self, memory: int) -> None:
        with self._connection() as connection:
            connection.execute("DELETE FROM memory_fts WHERE memory_id = ?", (memory,))
            connection.execute("DELETE FROM memory_entries WHERE id = ?", (memory,))
            connection.commit()


class PrintedA2(A2):
    """As printed in the article: a new connection with SQLite's defaults for every call."""

    name = "A2 as printed"

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = connect(self.path)
        try:
            yield connection
        finally:
            connection.close()


class A1:
    """The recipe for raw messages. A session name is all that tells owners apart, and a search does not look at it."""

    name = "A1"

    SCHEMA = """
        CREATE TABLE messages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session TEXT NOT NULL,
            role TEXT NOT NULL,
            content TEXT NOT NULL,
            created TEXT NOT NULL
        );
        CREATE VIRTUAL TABLE messages_fts USING fts5(content, content='messages', content_rowid='id');
        CREATE TRIGGER messages_ai AFTER INSERT ON messages BEGIN
            INSERT INTO messages_fts (rowid, content) VALUES (new.id, new.content);
        END;
    """
    SEARCH = """
        SELECT m.session, m.role, m.content, m.created
        FROM messages_fts JOIN messages AS m ON m.id = messages_fts.rowid
        WHERE messages_fts MATCH ? ORDER BY rank LIMIT ?
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        fresh = not path.exists()
        self._open = connect(path, *LIKE_OURS)
        if fresh:
            self._open.executescript(self.SCHEMA)

    def close(self) -> None:
        self._open.close()

    @staticmethod
    def words(text: str) -> list[str]:
        return [word for word in jieba.cut(text.rstrip("。.")) if word.strip()]

    def question(self, text: str) -> str:
        """The words as they stand, all of them wanted: what MATCH makes of a plain string."""
        return match(self.words(text), " ")

    def prepare(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return entries

    def load(self, prepared: Sequence[Entry]) -> None:
        """Many messages in one transaction; the trigger fills the index."""
        rows = []
        for entry in prepared:
            at = (NOW - timedelta(days=entry.age_days)).isoformat()
            rows.append((entry.owner, "user", entry.text, at))
        with self._open:
            self._open.executemany("INSERT INTO messages (session, role, content, created) VALUES (?, ?, ?, ?)", rows)

    def search(self, owner: str, question: str) -> list[str]:
        """The best texts of anybody. `owner` is not used: the recipe has none."""
        return [row[2] for row in self._open.execute(self.SEARCH, (question, TOP))]


class A1AnyWord(A1):
    """With the first of the two remedies the article gives for Chinese: the words of the question joined by OR."""

    name = "A1, any word"

    def question(self, text: str) -> str:
        return match(self.words(text), " OR ")
