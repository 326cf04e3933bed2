"""The default store: one SQLite file in WAL mode (SPEC O1)."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from jiyi.domain.memory import Memory, Message
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.errors import StoreError
from jiyi.ports import BM25, Check, Document, Kind, Store, StoreInfo, Unit
from jiyi.settings import SqlitePolicy, TextIndexName
from jiyi.stores.encoding import damage
from jiyi.stores.moving import check_whole
from jiyi.stores.postings import TermHash
from jiyi.stores.sqlite import care, checks, native
from jiyi.stores.sqlite.access import ERASED, Access, store_error
from jiyi.stores.sqlite.backup import back_up
from jiyi.stores.sqlite.connection import Synchronous, begin_immediate, connect_writer, make_file
from jiyi.stores.sqlite.following import TOKEN, Follower, leave
from jiyi.stores.sqlite.kept import Kept
from jiyi.stores.sqlite.opening import opened
from jiyi.stores.sqlite.readers import Readers
from jiyi.stores.sqlite.schema import migrate_up, shipped
from jiyi.stores.sqlite.text_index import TextRules
from jiyi.stores.sqlite.unit import SqliteUnit
from jiyi.stores.sqlite.vectors import VectorRules
from jiyi.stores.sqlite.writer import Writer
from jiyi.stores.text_index import CHOSEN_KINDS, check_index, chosen_indexes, index_setting, known_index

T = TypeVar("T")

STANDARD_BM25 = BM25()
NO_ENGINE = VectorRules()
STANDARD_KEPT = SqlitePolicy()


def open_sqlite(
    path: str | Path,
    *,
    text_index: TextIndexName | None = None,
    message_index: TextIndexName | None = None,
    synchronous: Synchronous = "FULL",
    bm25: BM25 = STANDARD_BM25,
    vectors: VectorRules = NO_ENGINE,
    kept: SqlitePolicy = STANDARD_KEPT,
) -> SqliteStore:
    """Open a database file; make it, or bring its schema up to date, when needed.

    Args:
        path: the file. Folders above it are made. `:memory:` is refused: every connection would get its own.
        text_index: the index of memories. The first opening decides, `postings` by default; later ones may leave it
            out. `message_index` is the same for messages, by default the same index.
        synchronous: `FULL` survives a power loss; `NORMAL` may lose the last commits in one, never in a crash.
        bm25: how the text index scores.
        vectors: how vectors are compared, `stores.scanning.numpy_scan` does it fast; and an engine that follows the file.
        kept: what of it stays in memory.

    Raises:
        StoreError: not a database of jiyi, or one with another text index; says what to do.
        MigrationError: its schema is newer, edited, or could not be brought up to date.
    """
    if str(path) in ("", ":memory:") or str(path).startswith("file:") or "\0" in str(path):
        raise StoreError(
            f"{str(path)!r} is not the path of a file: give one, in a temporary folder if it need not stay"
        )
    file = Path(path).expanduser().absolute()
    make_file(file)
    migrate_up(file, shipped())
    connection = connect_writer(file, synchronous)
    asked = {Kind.MEMORY: text_index, Kind.MESSAGE: message_index or text_index}
    try:
        settings = _begun(connection, {kind: name or "postings" for kind, name in asked.items()})
        check_whole(settings, file)
        secret = _secret(settings)
    except sqlite3.Error as error:
        connection.close()
        raise store_error(error) from error
    except BaseException:
        connection.close()
        raise
    store = SqliteStore(file, connection, secret, synchronous, bm25, vectors, kept)
    if vectors.engine is None and TOKEN in settings:
        store.leave_engine()
    try:
        for kind, name in asked.items():
            check_index(kind, name, settings[index_setting(kind)])
    except StoreError:
        store.close()
        raise
    return store


def _begun(connection: sqlite3.Connection, wanted: Mapping[Kind, TextIndexName]) -> dict[str, str]:
    """What the database says of itself. A new one gets its secret and the wanted text indexes first."""
    if not (settings := _settings(connection)):
        begin_immediate(connection)
        try:
            # Again, now that no other process can do the same.
            if not (settings := _settings(connection)):
                settings = {
                    "secret": secrets.token_hex(32),
                    **{index_setting(kind): name for kind, name in wanted.items()},
                }
                access = Access(connection, writable=True)
                access.change_many("INSERT INTO store_setting (name, value) VALUES (?, ?)", settings.items())
                for kind, name in wanted.items():
                    if name == "native":
                        native.create_table(access, kind.value)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    return settings


def _settings(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, value FROM store_setting").fetchall())


@damage
def _secret(settings: Mapping[str, str]) -> bytes:
    for kind in CHOSEN_KINDS:
        known_index(settings[index_setting(kind)])
    return bytes.fromhex(settings["secret"])


class SqliteStore(Store):
    """All ports over one file. Make it with `open_sqlite`."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        secret: bytes,
        synchronous: Synchronous,
        bm25: BM25,
        vectors: VectorRules,
        kept: SqlitePolicy,
    ) -> None:
        self.path = path
        self.kept = Kept(kept)
        self._secret = secret
        self._synchronous = synchronous
        self._bm25 = bm25
        prefix = f"jiyi-{sha256(secret).hexdigest()[:12]}"
        self._vectors = replace(vectors, prefix=prefix)
        hashed = TermHash(secret)

        @lru_cache(maxsize=4)
        def rules(memory: str, message: str) -> TextRules:
            return TextRules(known_index(memory), known_index(message), bm25, hashed)

        self._rules = rules
        self._readers = Readers(path, self._unit)
        self._writer = Writer(connection)
        engine = self._vectors.engine
        self._follower = None if engine is None else Follower(self, engine, self._vectors)

    def _unit(self, access: Access, scope: Scope | None = None) -> SqliteUnit:
        """The ports of one unit of work, with the text indexes that the database uses at this moment. A unit that reads may
        be told of whom."""
        settings = opened(access, scope)
        rules = self._rules(settings[index_setting(Kind.MEMORY)], settings[index_setting(Kind.MESSAGE)])
        return SqliteUnit(access, rules, self._secret, self._vectors, self.kept)

    def read(self, scope: Scope | None = None) -> AbstractContextManager[Unit]:
        return self._readers.snapshot(scope)

    def write(self, work: Callable[[Unit], T], *, again: bool = False) -> T:
        units: list[SqliteUnit] = []

        def working(access: Access) -> T:
            units.append(self._unit(access))
            return work(units[-1])

        try:
            return self._writer.write(working)
        finally:
            for unit in units:
                self.kept.drop(unit.messages.rewritten, unit.memories.rewritten, unit.vectors.changed)

    def meta(self, name: str) -> str | None:
        with self._readers.snapshot() as unit:
            value = unit.access.value("SELECT value FROM meta WHERE name = ?", (name,))
        return None if value is None else str(value)

    def set_meta(self, name: str, value: str) -> None:
        sql = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
        self._writer.write(lambda access: access.change(sql, (name, value)))

    @property
    def secret(self) -> bytes:
        return self._secret

    def info(self) -> StoreInfo:
        with self._readers.snapshot() as unit:
            return care.info(unit.access, self.path, self._synchronous)

    def rebuild_text_index(self, *, memory: TextIndexName | None = None, message: TextIndexName | None = None) -> None:
        """*Operator.* Empty the text index of a kind and use this index for it from now on; None leaves a kind alone.

        Nothing is found in it until the caller has indexed every scope again. Programs that have the file
        open follow at their next unit of work.
        """
        names = chosen_indexes(memory, message)
        self._writer.write(lambda access: care.empty_text_index(access, names))

    def check(self, terms_of: Callable[[Kind, Memory | Message | SessionSummary], Document]) -> Iterator[Check]:
        with self._readers.snapshot():
            pass  # refuses when closed or forked
        yield from checks.check(self.path, self._unit, self._writer, terms_of)
        if self._follower is not None:
            yield self._follower.check()

    def repair(self) -> list[str]:
        """*Operator.* Make indexes and counters right again; returns what was done, one line each.

        Rows that the text index lacks are not made here, since that needs the segmenter: run `jiyi reindex`.
        """
        return self._writer.write(lambda access: care.repair(access, self._unit(access).text.indexes))

    def erased(self) -> bool:
        """*Operator.* Whether anything was erased since the last purge, also by a process that was killed since."""
        with self._readers.snapshot() as unit:
            return unit.access.value("SELECT 1 FROM store_setting WHERE name = ?", (ERASED,)) is not None

    def purge(self) -> None:
        """*Operator.* Leave no erased byte in the files. Writes wait meanwhile: about ten seconds a gigabyte."""
        self._writer.alone(care.purge)
        if self._follower is not None:
            self._follower.purge()

    def catch_up(self) -> int:
        """*Operator.* Tell the vector engine what changed; gives how many changes."""
        return 0 if self._follower is None else self._follower.catch_up()

    def leave_engine(self) -> None:
        """An engine that followed this database hears of nothing from now on: the next time all is compared."""
        self._writer.write(leave)

    def backup(self, target: str) -> None:
        with self._readers.snapshot():
            pass  # refuses when closed or forked
        back_up(self.path, Path(target).expanduser().absolute())

    def close(self) -> None:
        self._writer.close()
        self._readers.close()
        self.kept.clear()
        if self._vectors.engine is not None:
            self._vectors.engine.close()
