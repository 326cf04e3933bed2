"""How a vector engine beside the database follows it (SPEC R11): an outbox, filled in the transaction of each change.

    change + outbox row, one transaction ─▶ commit ─▶ tell the engine ─▶ take the row off, with a token that both keep

A process that is killed in between tells it again, which changes nothing. When the tokens differ, because a backup was put in
the place of the database or another engine in the place of this one, everything is compared and what differs is told.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from jiyi.domain.vectors import mark_of
from jiyi.errors import EngineUnavailable
from jiyi.ports import Check, Unit, VectorEngine
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.unit import SqliteUnit
from jiyi.stores.sqlite.vectors import VectorRules
from jiyi.stores.text_index import KIND_NUMBERS

T = TypeVar("T")

TOKEN, LOST, PURGING = "engine.token", "engine.lost", "engine.purging"
"""Names of settings of the store itself: how far the engine has followed; the collections that lost something since the last
purge; and that a purge is due."""
AT_ONCE = 1_000

log = logging.getLogger("jiyi.vectors")


class Following(Protocol):
    """The store, as far as it is needed here."""

    def read(self) -> AbstractContextManager[Unit]: ...
    def write(self, work: Callable[[Unit], T]) -> T: ...


class Follower:
    """Tells one engine. One thread at a time does it."""

    def __init__(self, store: Following, engine: VectorEngine, rules: VectorRules) -> None:
        self._store, self._engine, self._rules = store, engine, rules
        self._lock = threading.Lock()
        self._compared = False

    def catch_up(self) -> int:
        """Tell the engine everything it has not heard of; gives how many changes that were.

        Raises:
            EngineUnavailable: it does not answer. What it has not heard of stays in the outbox.
        """
        with self._lock:
            told = self._tell_all()
            if self._setting(PURGING):
                self._purge()
            return told

    def purge(self) -> None:
        """Leave no byte of a vector that went; later, when the engine does not answer now."""
        with self._lock:
            self._store.write(lambda unit: _set(_access(unit), PURGING, "1"))
            try:
                self._tell_all()
                self._purge()
            except EngineUnavailable as error:
                log.warning("what was erased is purged later: %s", error)

    def check(self) -> Check:
        with self._store.read() as unit:
            waiting = _access(unit).value("SELECT count(*) FROM vector_outbox")
        name = self._engine.name
        try:
            self._engine.token(self._rules.prefix)
        except EngineUnavailable as error:
            return Check("vector engine", False, f"{error}; meanwhile all vectors are looked through", f"start {name}")
        told = f"{waiting:,} changes still to tell: `jiyi work` does it now" if waiting else "has heard of everything"
        return Check("vector engine", True, f"{name}, {told}")

    # ------------------------------------------------------------------ steps

    def _tell_all(self) -> int:
        if not self._compared:
            if self._setting(TOKEN) != self._engine.token(self._rules.prefix):
                self._compare()
            self._compared = True
        told = 0
        while count := self._tell_some():
            told += count
        return told

    def _tell_some(self) -> int:
        with self._store.read() as unit:
            access = _access(unit)
            rows = access.rows("SELECT id, vset, kind, seq FROM vector_outbox ORDER BY id LIMIT ?", (AT_ONCE,))
            places = {(number, kind): set[int]() for _, number, kind, _ in rows}
            for _, number, kind, seq in rows:
                places[number, kind].add(seq)
            there = {number for (number,) in access.rows("SELECT number FROM vector_set")}
            vectors = {at: _sqlite(unit).vectors.some(*at, seqs) for at, seqs in places.items() if at[0] in there}
        lost = []
        for at, seqs in places.items():
            collection, held = self._rules.collection(*at), vectors.get(at)
            if held is None:
                self._engine.drop(collection)
                lost.append(collection)
                continue
            self._engine.put(collection, held)
            if gone := [seq for seq in seqs if seq not in held]:
                self._engine.remove(collection, gone)
                lost.append(collection)
        if rows:
            self._note(rows[-1][0], lost)
        return len(rows)

    def _note(self, upto: int, lost: Iterable[str]) -> None:
        """The engine has heard of the outbox up to a row."""
        token = secrets.token_hex(8)
        self._engine.set_token(self._rules.prefix, token)

        def work(unit: Unit) -> None:
            access = _access(unit)
            access.change("DELETE FROM vector_outbox WHERE id <= ?", (upto,))
            _set(access, TOKEN, token)
            if names := sorted({*json.loads(_get(access, LOST) or "[]"), *lost}):
                _set(access, LOST, json.dumps(names))

        self._store.write(work)

    def _compare(self) -> None:
        """Put into the outbox what the engine holds otherwise than the database. What changes meanwhile goes there too."""
        rows: list[tuple[int, int, int]] = []
        known, rules = set(), self._rules
        with self._store.read() as unit:
            for (number,) in _access(unit).rows("SELECT number FROM vector_set ORDER BY number"):
                for kind in KIND_NUMBERS.values():
                    known.add(rules.collection(number, kind))
                    there = self._engine.marks(rules.collection(number, kind))
                    here = {seq: mark_of(vector) for seq, vector in _sqlite(unit).vectors.every(number, kind)}
                    differing = [s for s in here.keys() | there.keys() if here.get(s) != there.get(s)]
                    rows += [(number, kind, seq) for seq in sorted(differing)]
        for collection in self._engine.collections(f"{rules.prefix}-"):
            if collection not in known:
                self._engine.drop(collection)
        sql = "INSERT INTO vector_outbox (vset, kind, seq) VALUES (?, ?, ?)"
        self._store.write(lambda unit: _access(unit).change_many(sql, rows))
        self._note(0, ())

    def _purge(self) -> None:
        """An engine marks what went and keeps its numbers: collections that lost something are made anew."""
        lost: list[str] = json.loads(self._setting(LOST) or "[]")
        for collection in lost:
            self._engine.drop(collection)
        if lost:
            self._compare()
            self._tell_all()
        self._engine.purge()
        sql = "DELETE FROM store_setting WHERE name IN (?, ?)"
        self._store.write(lambda unit: _access(unit).change(sql, (LOST, PURGING)))

    def _setting(self, name: str) -> str:
        with self._store.read() as unit:
            return _get(_access(unit), name)


def leave(access: Access) -> None:
    """The database is opened without its engine, which hears of nothing from now on: the next time all is compared."""
    if _get(access, TOKEN):
        access.change("DELETE FROM store_setting WHERE name = ?", (TOKEN,))


def _sqlite(unit: Unit) -> SqliteUnit:
    assert isinstance(unit, SqliteUnit)
    return unit


def _access(unit: Unit) -> Access:
    return _sqlite(unit).access


def _get(access: Access, name: str) -> str:
    return str(access.value("SELECT value FROM store_setting WHERE name = ?", (name,)) or "")


def _set(access: Access, name: str, value: str) -> None:
    sql = "INSERT INTO store_setting (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    access.change(sql, (name, value))
