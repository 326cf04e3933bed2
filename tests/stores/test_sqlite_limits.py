"""At the edges: full disks, used-up numbers, foreign numbers, statements that must not scan (SPEC O6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.domain.entities import Name
from jiyi.domain.heat import Heat
from jiyi.domain.memory import IncomingMessage, Role, Status
from jiyi.domain.plans import Change
from jiyi.errors import InputError, StoreError
from jiyi.ports import Document, Kind, Unit
from jiyi.settings import TextIndexName
from jiyi.stores.numbering import MAX_SEQ
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from tests.stores.facts import ME, NOW, YOU, document, failures, forget, learn, memory, spoil

INDEXES: tuple[TextIndexName, ...] = ("postings", "native")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL")
    yield store
    store.close()


def test_a_name_that_sqlite_would_cut_is_refused(store: SqliteStore) -> None:
    with pytest.raises(InputError, match="NUL"):
        store.write(lambda unit: unit.graph.place(ME, [Name("a\0b", "a\0b", "a\0b", "a\0b")]))
    with store.read() as unit:
        assert unit.graph.count(ME) == (0, 0)


def test_a_full_disk_loses_only_what_it_says(store: SqliteStore) -> None:
    store.write(lambda unit: learn(unit, ME, "a", "绿茶"))

    def limit(pages: int) -> None:
        store._writer.alone(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchall())

    def long_message(unit: Unit) -> None:
        unit.messages.add(ME, [IncomingMessage("long", "s1", Role.USER, "长" * 200_000, NOW)])

    limit(1)  # SQLite makes it the present size
    with pytest.raises(StoreError, match="disk is full"):
        store.write(long_message)
    limit(1_000_000)
    assert store.write(lambda unit: learn(unit, ME, "b", "红茶")) == 2
    with store.read() as unit:
        assert [m.id for m in unit.messages.window(ME)] == ["a", "b"]
    assert failures(store) == []


def test_an_error_that_was_swallowed_keeps_nothing_half_done(store: SqliteStore) -> None:
    """The work catches the error of a full disk and goes on: either all of it is kept or an error comes."""
    store.write(lambda unit: learn(unit, ME, "a", "绿茶"))

    def careless(unit: Unit) -> str:
        learn(unit, ME, "before", "红茶")
        try:
            unit.messages.add(ME, [IncomingMessage("long", "s1", Role.USER, "长" * 2_000_000, NOW)])
        except StoreError:
            return "swallowed"
        return "no error"

    store._writer.alone(lambda connection: connection.execute("PRAGMA max_page_count = 1").fetchall())
    try:
        answer = store.write(careless)
    except StoreError:
        expected = ["a"]
    else:
        assert answer == "swallowed"
        expected = ["a", "before"]
    store._writer.alone(lambda connection: connection.execute("PRAGMA max_page_count = 1000000").fetchall())
    with store.read() as unit:
        assert [m.id for m in unit.messages.window(ME)] == expected
    assert failures(store) == []


@pytest.mark.parametrize("name", ["message", "memory", "plan"])
def test_the_last_number_is_the_last(store: SqliteStore, name: str) -> None:
    store.write(lambda unit: learn(unit, ME, "a", "绿茶"))
    store.close()
    spoil(store.path, f"UPDATE counter SET value = {MAX_SEQ - 1} WHERE name = '{name}'")
    store = open_sqlite(store.path)
    store.write(lambda unit: learn(unit, ME, "b", "红茶"))
    with pytest.raises(StoreError, match="16,777,215"):
        store.write(lambda unit: learn(unit, ME, "c", "白茶"))
    assert store.write(lambda unit: learn(unit, YOU, "a", "绿茶")) == 1
    store.close()


def test_a_number_beyond_the_last_names_nothing_of_another_user(store: SqliteStore) -> None:
    """Keys are owner << 24 | number: a number that is too large would reach into the next user's rows."""
    for scope in (ME, YOU):
        store.write(lambda unit, scope=scope: learn(unit, scope, "a", "密码 secret"))  # type: ignore[misc]
    over = [MAX_SEQ + 1 + n for n in range(3)] + [-1, -MAX_SEQ, 0, 2**62, 2**70, -(2**70)]
    with store.read() as unit:
        [there] = unit.messages.get(ME, [1])
        assert unit.messages.get(ME, over) == []
        assert unit.memories.get(ME, over) == []
        assert unit.memories.heat(ME, over) == {}
        assert unit.memories.resting_on(ME, over) == {}
        for number in over:
            assert unit.ledger.get(ME, number) is None
            assert unit.ledger.about(ME, number) == []
            assert len(unit.messages.after_seq(ME, number, 9)) == (number <= 0)
            assert len(unit.ledger.entries(ME, after=number)) == (number <= 0)
            assert len(unit.messages.window(ME, after=(NOW, number))) == (number <= 0)
            assert len(unit.messages.window(ME, before=(NOW, number))) == (number > 0)
    for number in over:
        store.write(
            lambda unit, number=number: (  # type: ignore[misc]
                unit.messages.rewrite(ME, [replace(there, seq=number, text="x")]),
                unit.memories.set_heat(ME, {number: Heat(1.0, NOW)}),
                unit.memories.write(ME, [Change(memory(number, "x", 1), None)]),
                unit.ledger.erase(ME, [number]),
                unit.text.remove(ME, Kind.MEMORY, [Document(number, {"密码": 1, "secret": 1}, 2)]),
            )
        )
        with pytest.raises(InputError):
            store.write(lambda unit, number=number: unit.memories.write(ME, [Change(None, memory(number, "x", 1))]))  # type: ignore[misc]
        with pytest.raises(InputError):
            store.write(lambda unit, number=number: unit.text.add(ME, Kind.MEMORY, [document(number, "x")]))  # type: ignore[misc]
        if number:  # 0 is told outright, without a message
            with pytest.raises(InputError):
                store.write(lambda unit, number=number: unit.memories.write(ME, [Change(None, memory(2, "x", number))]))  # type: ignore[misc]
    with store.read() as unit:
        for scope in (ME, YOU):
            assert [m.text for m in unit.messages.window(scope)] == ["密码 secret"]
            assert [m.text for m in unit.memories.listing(scope)] == ["密码 secret"]
            assert [entry.forgotten for entry in unit.ledger.entries(scope)] == [False]
            assert unit.text.frequencies(scope, Kind.MEMORY, ["secret"]) == (1, {"secret": 1})
    assert failures(store) == []


def test_what_no_encoding_can_carry_is_refused(store: SqliteStore) -> None:
    broken = "\ud800"
    for work in (
        lambda unit: unit.messages.add(ME, [IncomingMessage("a", "s1", Role.USER, broken, NOW)]),
        lambda unit: unit.messages.add(ME, [IncomingMessage("a", "s1", Role.USER, "x", NOW, labels={"a": broken})]),
        lambda unit: unit.memories.write(ME, [Change(None, memory(1, broken, 1))]),
        lambda unit: unit.jobs.put(ME, "index", {"a": broken}, NOW),
    ):
        with pytest.raises(InputError, match="surrogate"):
            store.write(work)
    with store.read() as unit:
        assert list(unit.scopes()) == []


# ---------------------------------------------------------------------------------- cost

TABLES = ("message", "memory", "evidence", "heat", "posting", "counter", "ledger", "ledger_words", "ledger_change")

READS: dict[str, Callable[[Unit], object]] = {
    "messages.get": lambda unit: unit.messages.get(ME, [1, 2]),
    "messages.by_id": lambda unit: unit.messages.by_id(ME, "a"),
    "messages.window": lambda unit: unit.messages.window(ME, since=NOW, after=(NOW, 1)),
    "messages.window latest of a session": lambda unit: unit.messages.window(ME, session="s1", latest=True),
    "messages.after_seq": lambda unit: unit.messages.after_seq(ME, 0, 9),
    "messages.containing": lambda unit: unit.messages.containing(ME, ["茶"], 9),
    "messages.sessions": lambda unit: unit.messages.sessions(ME),
    "memories.get": lambda unit: unit.memories.get(ME, [1, 2]),
    "memories.believed": lambda unit: unit.memories.believed(ME, ["@user|LIKES"], ["绿茶"]),
    "memories.of_keys": lambda unit: unit.memories.of_keys(ME, ["@user|LIKES"]),
    "memories.of_relations": lambda unit: unit.memories.of_relations(ME, ["LIKES"]),
    "memories.listing": lambda unit: unit.memories.listing(ME, status=Status.LIVE, categories=["general"]),
    "memories.resting_on": lambda unit: unit.memories.resting_on(ME, [1]),
    "memories.heat": lambda unit: unit.memories.heat(ME, [1]),
    "text.search": lambda unit: unit.text.search(ME, Kind.MEMORY, [("绿茶", 1.0), ("红茶", 1.0)], 9),
    "text.frequencies": lambda unit: unit.text.frequencies(ME, Kind.MEMORY, ["绿茶"]),
    "ledger.entries": lambda unit: unit.ledger.entries(ME),
    "ledger.about": lambda unit: unit.ledger.about(ME, 1),
    "jobs.counts": lambda unit: unit.jobs.counts(ME, NOW),
}

WRITES: dict[str, Callable[[Unit], object]] = {
    "learn": lambda unit: learn(unit, ME, "new", "白茶"),
    "forget": lambda unit: forget(unit, ME, 1),
    "set_heat": lambda unit: unit.memories.set_heat(ME, {1: Heat(1.0, NOW)}),
    "clear": lambda unit: unit.text.clear(ME),
    "jobs.put": lambda unit: unit.jobs.put(ME, "index", {}, NOW),
    "jobs.claim and finish": lambda unit: unit.jobs.finish(unit.jobs.claim(NOW, NOW + timedelta(minutes=1))),  # type: ignore[arg-type]
}


def plans(path: Path, statements: list[str]) -> list[tuple[str, str]]:
    """Each step of each statement's plan, with the statement."""
    connection = sqlite3.connect(path)
    try:
        return [
            (row[3], " ".join(statement.split()))
            for statement in statements
            if statement.lstrip().startswith(("SELECT", "WITH", "INSERT", "UPDATE", "DELETE"))
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    finally:
        connection.close()


def traced(store: SqliteStore, connection: sqlite3.Connection, run: Callable[[], Any]) -> list[str]:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    run()
    connection.set_trace_callback(None)
    assert statements
    return statements


def scans(steps: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Steps that walk a whole table or a whole index, of every user."""
    return [
        (step, sql) for step, sql in steps if step.startswith("SCAN") and step.split()[1] in (*TABLES, "job", "owner")
    ]


@pytest.mark.parametrize("read", READS)
def test_no_read_walks_through_other_users_rows(store: SqliteStore, read: str) -> None:
    store.write(lambda unit: learn(unit, ME, "a", "绿茶 红茶"))

    def run() -> None:
        with store.read() as unit:
            READS[read](unit)

    run()
    connection = store._readers._reader().connection
    assert connection is not None
    assert scans(plans(store.path, traced(store, connection, run))) == []


@pytest.mark.parametrize("write", WRITES)
def test_no_write_walks_through_other_users_rows(store: SqliteStore, write: str) -> None:
    store.write(lambda unit: learn(unit, ME, "a", "绿茶 红茶"))
    store.write(lambda unit: unit.jobs.put(YOU, "distil", {}, NOW))
    connection = store._writer._connection
    steps = plans(store.path, traced(store, connection, lambda: store.write(WRITES[write])))
    # The one index of first jobs is meant to be walked.
    assert [(step, sql) for step, sql in scans(steps) if "job_first" not in step and "job_turn" not in step] == []


def test_a_long_queue_does_not_slow_down_the_next_job(store: SqliteStore) -> None:
    store.write(lambda unit: [unit.jobs.put(ME, "index", {"n": n}, NOW) for n in range(500)])
    store.write(lambda unit: unit.jobs.put(YOU, "index", {}, NOW))
    mine = store.write(lambda unit: unit.jobs.claim(NOW, NOW + timedelta(minutes=5)))
    yours = store.write(lambda unit: unit.jobs.claim(NOW, NOW + timedelta(minutes=5)))
    assert mine is not None
    assert yours is not None
    assert (mine.scope, yours.scope) == (ME, YOU)
    with store.read() as unit:
        assert unit.access.value("SELECT count(*) FROM job WHERE due_at IS NOT NULL") == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [1, 2, 3, 17, 63, 64, 65, 130])
def test_as_many_memories_as_are_asked_for_come_with_their_heat_and_evidence(store: SqliteStore, count: int) -> None:
    for number in range(1, 131):
        store.write(lambda unit, n=number: learn(unit, ME, f"a{n}", f"绿茶{n}"))
    heats = {seq: Heat(float(seq), NOW) for seq in range(1, 131, 2)}
    store.write(lambda unit: unit.memories.set_heat(ME, heats))
    seqs = [*range(count, 0, -1), MAX_SEQ, MAX_SEQ + 1, 0]
    expected = {seq: heat for seq, heat in heats.items() if seq <= count}

    def read(unit: Unit) -> None:
        assert unit.memories.heat(ME, seqs[:1]) == {s: h for s, h in expected.items() if s == count}
        found = unit.memories.get(ME, seqs)
        assert [m.seq for m in found] == list(range(1, count + 1))
        assert all(m.evidence for m in found)
        assert unit.memories.heat(ME, seqs) == expected

    with store.read(ME) as unit:
        read(unit)
    store.write(read)
