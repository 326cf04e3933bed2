"""PostgreSQL: the same memory for many processes and machines (SPEC O2).

A unit of work is a transaction on a connection from the pool. A reading one is a snapshot (REPEATABLE READ, READ ONLY); a
writing one sees what is committed (READ COMMITTED) and holds the scopes it touches, so that writes of one scope come one after
another while those of different scopes run side by side.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar, cast

import psycopg

from jiyi.asked_again import asked_again
from jiyi.domain.memory import Memory, Message
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.domain.vectors import Scan, plain_scan
from jiyi.errors import StoreClosed, StoreError, StoreLost, WriteUncertain
from jiyi.ports import BM25, Check, Document, Kind, Store, StoreInfo, Unit
from jiyi.settings import PostgresPolicy, TextIndexName
from jiyi.stores.encoding import damage
from jiyi.stores.moving import MOVING, check_whole
from jiyi.stores.numbering import Row
from jiyi.stores.postgres import care, checks, pgvector
from jiyi.stores.postgres.access import ERASED, PASSING, PostgresAccess, commit_statement, store_error
from jiyi.stores.postgres.backup import back_up
from jiyi.stores.postgres.connection import Place, Pool, begin_statement, connect, place_of
from jiyi.stores.postgres.hot import HotScopes
from jiyi.stores.postgres.schema import migrate_up, shipped
from jiyi.stores.postgres.standbys import Standbys, check_standbys, standbys_of
from jiyi.stores.postgres.unit import PostgresUnit
from jiyi.stores.postings import TermHash
from jiyi.stores.text_index import CHOSEN_KINDS, check_index, chosen_indexes, index_setting, known_index

T = TypeVar("T")

STANDARD_BM25 = BM25()
STANDARD_POLICY = PostgresPolicy()
TRIES = 8
"""How often a write runs that conflicts with others each time."""

log = logging.getLogger("jiyi.postgres")


def open_postgres(
    url: str,
    policy: PostgresPolicy = STANDARD_POLICY,
    *,
    durable: bool = True,
    text_index: TextIndexName | None = None,
    message_index: TextIndexName | None = None,
    bm25: BM25 = STANDARD_BM25,
    scan: Scan = plain_scan,
) -> PostgresStore:
    """Open a database of a PostgreSQL server; make jiyi's schema in it, or bring it up to date, when needed.

    Args:
        url: `postgresql://user@host:port/database`; several hosts as libpq takes them, `host=a,b`.
        policy: the pool, time-outs and the name of the schema.
        durable: wait until a commit is on the server's disk; without it the last ones may be lost in a crash of the server.
        text_index: the index of memories and of messages, `postings` in a new database; None takes an old one as it is.
        message_index: the index of messages, where it is to be another one.
        bm25: how the text index scores.
        scan: how vectors are compared; `stores.scanning.numpy_scan` does it fast.

    Raises:
        StoreError: the server cannot be reached or used, or the database has another text index; says what to do, and no
            password.
        MigrationError: its schema is newer, edited, or could not be brought up to date.
    """
    place = place_of(url, policy)
    asked = chosen_indexes(text_index, message_index or text_index)
    with contextlib.closing(connect(place)) as connection:
        migrate_up(connection, place, shipped())
        try:
            settings = _begun(connection, place, asked)
        except psycopg.Error as error:
            raise store_error(error) from None
    for kind, name in asked.items():
        check_index(kind, name, settings.get(index_setting(kind), "postings"))
    return PostgresStore(place, _secret(settings), durable, bm25, scan)


def _begun(connection: psycopg.Connection[Row], place: Place, asked: Mapping[Kind, TextIndexName]) -> Mapping[str, str]:
    """What the database says of itself. A new one gets its secret and the wanted text indexes first."""
    new = {
        "secret": secrets.token_hex(32),
        **{index_setting(kind): asked.get(kind, "postings") for kind in CHOSEN_KINDS},
    }
    find = "SELECT name, value FROM store_setting WHERE name = ANY(%s)"
    for writable in (False, True):
        connection.execute(begin_statement(place, writable=writable, durable=True))
        connection.execute("SET LOCAL jiyi.operator TO 'on'")
        if writable:
            # All or none: another program may do the same.
            sql = """
                INSERT INTO store_setting (name, value) SELECT * FROM unnest(%s::text[], %s::text[])
                ON CONFLICT DO NOTHING
            """
            connection.execute(sql, (list(new), list(new.values())))
        found: dict[str, str] = dict(connection.execute(find, ([*new, MOVING],)).fetchall())
        connection.execute("COMMIT")
        check_whole(found, place.shown)
        if found:
            break
    return found


@damage
def _secret(settings: Mapping[str, str]) -> bytes:
    for kind in CHOSEN_KINDS:
        known_index(settings.get(index_setting(kind), "postings"))
    return bytes.fromhex(settings["secret"])


class _Thread(threading.local):
    unit: PostgresUnit | None = None
    writing = False


class PostgresStore(Store):
    """All ports over one database. Make it with `open_postgres`."""

    def __init__(self, place: Place, secret: bytes, durable: bool, bm25: BM25, scan: Scan) -> None:
        self.place = place
        self._secret = secret
        self._bm25 = bm25
        self._scan = scan
        self._hashed = TermHash(secret)
        self._begin_reading = begin_statement(place, writable=False, durable=durable)
        self._begin_writing = begin_statement(place, writable=True, durable=durable)
        self._pool = Pool(place)
        standbys = standbys_of(place)
        self._standbys = Standbys(standbys) if standbys else None
        self._hot = HotScopes(place.policy.kept_entries, place.policy.kept_seconds)
        self._thread = _Thread()
        self._closed = False
        self._process = os.getpid()

    # ------------------------------------------------------------------------------ units of work

    def read(self, scope: Scope | None = None) -> AbstractContextManager[Unit]:
        return self._snapshot(scope)

    @contextmanager
    def _snapshot(self, scope: Scope | None = None) -> Iterator[PostgresUnit]:
        """A consistent view; inside another one of the same thread, that one."""
        self._check_open()
        if self._thread.unit is not None:
            yield self._thread.unit
            return
        try:
            with self._view(scope) as unit:
                self._thread.unit = unit
                try:
                    yield unit
                finally:
                    self._thread.unit = None
        except PASSING as error:
            raise store_error(error) from error

    @contextmanager
    def _view(self, scope: Scope | None) -> Iterator[PostgresUnit]:
        hot = None if scope is None else self._hot
        if scope is not None and self._standbys is not None:
            needed = self._needed(self._standbys, scope)
            if (connection := self._standbys.begin(self._begin_reading)) is not None:
                try:
                    with self._transaction(connection, self._standbys.pool, hot=hot) as unit:
                        if unit.access.version(scope) >= needed:
                            yield unit
                            return
                except (*PASSING, StoreLost) as error:  # It ends a snapshot that holds up what it follows.
                    self._standbys.rest()
                    raise StoreLost("a standby of the database gave up what was read: try again") from error
        with self._transaction(self._pool.begin(self._begin_reading), self._pool, hot=hot) as unit:
            yield unit

    def _needed(self, standbys: Standbys, scope: Scope) -> int:
        """The version of a scope that a standby must have."""
        needed = standbys.needed(scope)
        if needed is None:
            at = time.monotonic()
            with self._transaction(self._pool.begin(self._begin_reading), self._pool) as unit:
                needed = unit.access.version(scope)
            standbys.asked(scope, needed, at)
        return needed

    def write(self, work: Callable[[Unit], T], *, again: bool = False) -> T:
        return self.write_here(work, again=again)

    def write_here(self, work: Callable[[PostgresUnit], T], *, again: bool = False) -> T:
        """`write`, for work that also reaches what is not part of a port."""
        self._check_open()
        if self._thread.writing:
            raise StoreError("write() inside write(): do it all in one write, or one after the other")
        self._thread.writing = True
        try:
            for left in reversed(range(TRIES)):
                connection = self._pool.begin(self._begin_writing)
                try:
                    with self._transaction(connection, self._pool, writable=True) as unit:
                        return work(unit)
                except PASSING as error:
                    if not left:
                        raise store_error(error) from error
                except StoreLost:  # Before the end: nothing was kept.
                    if not left:
                        raise
                except WriteUncertain:
                    if not left or not again:
                        raise
                time.sleep(random.uniform(0.005, 0.1))
            raise AssertionError("the last try returns or raises")
        finally:
            self._thread.writing = False

    @contextmanager
    def _transaction(
        self, connection: psycopg.Connection[Row], pool: Pool, *, writable: bool = False, hot: HotScopes | None = None
    ) -> Iterator[PostgresUnit]:
        access = PostgresAccess(connection, writable=writable, hot=hot)
        try:
            yield PostgresUnit(access, self._secret, self._hashed, self._bm25, self._scan)
            versions = _commit(connection, access.changed, writable=writable)
        except BaseException:
            self._written(access.changed, {})
            raise
        else:
            self._written(access.changed, versions)
        finally:
            access.end()
            if connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
                with contextlib.suppress(psycopg.Error):  # A connection that is lost has rolled back already.
                    connection.execute("ROLLBACK")
            pool.give_back(connection)

    def _written(self, changed: Mapping[int, Scope], versions: Mapping[int, int]) -> None:
        """Perhaps, where there is no version: then nobody knows."""
        self._hot.drop(changed)
        if self._standbys is not None:
            for owner, scope in changed.items():
                self._standbys.written(scope, versions.get(owner))

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed
        if os.getpid() != self._process:
            raise StoreError("this memory was opened before the process forked: open it again in the new process")

    # ------------------------------------------------------------------------------ the database itself

    @asked_again
    def meta(self, name: str) -> str | None:
        with self._snapshot() as unit:
            unit.access.operate()
            value = unit.access.value("SELECT value FROM meta WHERE name = %s", (name,))
        return None if value is None else str(value)

    def set_meta(self, name: str, value: str) -> None:
        def work(unit: PostgresUnit) -> None:
            unit.access.operate()
            sql = (
                "INSERT INTO meta (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            )
            unit.access.change(sql, (name, value))

        self.write_here(work)

    @property
    def secret(self) -> bytes:
        return self._secret

    @asked_again
    def info(self) -> StoreInfo:
        with self._snapshot() as unit:
            return care.info(unit.access, self.place)

    def check(self, terms_of: Callable[[Kind, Memory | Message | SessionSummary], Document]) -> Iterator[Check]:
        self._check_open()
        with self._owner() as connection:
            yield from checks.check_server(connection, self.place)
        if (standbys := standbys_of(self.place)) is not None:
            yield from check_standbys(standbys)
        with self._snapshot() as unit:
            yield from checks.check(unit, terms_of)

    def rebuild_text_index(self, *, memory: TextIndexName | None = None, message: TextIndexName | None = None) -> None:
        """*Operator.* Empty the text index, and use this one for a kind from now on; None leaves a kind as it is.

        Nothing is found in it until the caller has indexed every scope again. Programs that have the database open follow at
        their next unit of work.
        """
        names = chosen_indexes(memory, message)
        self.write_here(lambda unit: care.choose_indexes(unit.access, names))
        for scope in self.view(lambda unit: list(unit.scopes())):
            self.write_here(lambda unit, scope=scope: care.empty_text_index(unit, scope))  # type: ignore[misc]

    def repair(self) -> list[str]:
        """*Operator.* Make counters and queues right again; returns what was done, one line each."""
        scopes = self.view(lambda unit: list(unit.scopes()))
        done = [line for scope in scopes for line in self.write_here(lambda unit, s=scope: care.repair(unit, s))]  # type: ignore[misc]
        with self._owner() as connection:
            return done + pgvector.put_right(connection, self.place)

    @asked_again
    def erased(self) -> bool:
        with self._snapshot() as unit:
            unit.access.operate()
            sql = "SELECT 1 FROM store_setting WHERE starts_with(name, %s) LIMIT 1"
            return unit.access.value(sql, (f"{ERASED}.",)) is not None

    @asked_again
    def purge(self) -> None:
        """*Operator.* Write the tables that something was erased from anew. What the write-ahead log, standbys and backups of
        the server hold is not reached from here."""
        self._check_open()
        with self._owner() as connection:
            care.purge(connection, self.place)

    def catch_up(self) -> int:
        return 0

    def backup(self, target: str) -> None:
        self._check_open()
        with self._owner() as connection:
            back_up(connection, self.place, Path(target).expanduser().absolute())

    @contextmanager
    def _owner(self) -> Iterator[psycopg.Connection[Row]]:
        """A connection of its own as the role of the URL, for what the application role may not do."""
        with contextlib.closing(connect(self.place)) as connection, _told():
            yield connection

    def close(self) -> None:
        self._closed = True
        if os.getpid() == self._process:
            self._pool.close()
            if self._standbys is not None:
                self._standbys.pool.close()


def _commit(connection: psycopg.Connection[Row], changed: Iterable[int], *, writable: bool) -> dict[int, int]:
    """End a transaction; gives the new version of each owner that was written to.

    Raises:
        StoreLost: the connection was lost before. WriteUncertain: it was lost on the way, so that no answer came.
    """
    if connection.closed and writable:
        raise StoreLost("the database server was lost while something was written: nothing was kept, try again")
    try:
        with _told():
            cursor = connection.execute(commit_statement(changed))
    except StoreLost as error:
        if writable:  # What was read was read.
            raise WriteUncertain(str(error.__cause__).strip()) from error
        return {}
    answers = [cursor.fetchall() if cursor.description else []]
    while cursor.nextset():
        answers.append(cursor.fetchall() if cursor.description else [])
    return {owner: version for [row] in answers[1::2] for owner, version in [row]}


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the driver as ours, but for those after which the same work can be run again."""
    try:
        yield
    except PASSING:
        raise
    except psycopg.Error as error:
        raise store_error(error) from error


def as_postgres(store: Store) -> PostgresStore:
    return cast(PostgresStore, store)
