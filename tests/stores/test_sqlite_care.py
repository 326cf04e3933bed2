"""The health check finds what is wrong, says what to do, and repair does it (SPEC O1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from jiyi.ports import Check, Kind, Unit
from jiyi.settings import TextIndexName
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.testing.contract_base import blot
from tests.stores.facts import ME, NOW, YOU, document, failures, learn, spoil, terms_of

INDEXES: tuple[TextIndexName, ...] = ("postings", "native")


@pytest.fixture(params=INDEXES)
def index(request: pytest.FixtureRequest) -> TextIndexName:
    name: TextIndexName = request.param
    return name


@pytest.fixture
def store(tmp_path: Path, index: TextIndexName) -> Iterator[SqliteStore]:
    """Two users with facts, and a message that is not indexed yet."""
    store = open_sqlite(tmp_path / "memory.db", text_index=index, synchronous="NORMAL")

    def fill(unit: Unit) -> None:
        for scope in (ME, YOU):
            for number in range(5):
                learn(unit, scope, str(number), f"事实 fact {number}")
        unit.text.mark_indexed_up_to(YOU, 5)
        unit.jobs.put(ME, "distil", {}, NOW)

    store.write(fill)
    assert failures(store) == []
    yield store
    store.close()


def reopened(store: SqliteStore, index: TextIndexName, *statements: str) -> SqliteStore:
    """The same database after something happened to it behind our back."""
    store.close()
    spoil(store.path, *statements)
    return open_sqlite(store.path, text_index=index)


def only(checks: list[Check]) -> Check:
    [check] = checks
    return check


def change_the_entry(unit: Unit) -> None:
    unit.text.remove(ME, Kind.MEMORY, [document(2, "事实 fact 1")])
    unit.text.add(ME, Kind.MEMORY, [document(2, "事实 fact 8")])


WRONG_TEXTS: dict[str, tuple[Callable[[Unit], object], str]] = {
    "a memory is not indexed": (
        lambda unit: unit.text.remove(ME, Kind.MEMORY, [document(2, "事实 fact 1")]),
        "u001: memory 2 is not indexed",
    ),
    "a message is not indexed": (
        lambda unit: unit.text.remove(ME, Kind.MESSAGE, [document(2, "事实 fact 1")]),
        "u001: message 2 is not indexed",
    ),
    "a memory is indexed otherwise": (
        change_the_entry,
        "u001: memory 2 is indexed otherwise than it reads",
    ),
    "an orphan": (
        lambda unit: unit.text.add(YOU, Kind.MEMORY, [document(9, "事实")]),
        "u002: memory 9 is indexed but should not be",
    ),
    "a forgotten message is still indexed": (
        lambda unit: blot(unit, YOU, 3),
        "u002: message 3 is indexed but should not be",
    ),
    "a message above the mark": (
        lambda unit: unit.text.mark_indexed_up_to(YOU, 4),
        "u002: message 5 is indexed but should not be",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_TEXTS)
def test_the_text_index_is_compared_with_the_texts(store: SqliteStore, wrong: str) -> None:
    spoil_index, detail = WRONG_TEXTS[wrong]
    store.write(spoil_index)
    check = only(failures(store))
    assert (check.detail, check.fix) == (detail, "run `jiyi reindex`")


def test_repair_takes_orphans_out_and_counts_again(store: SqliteStore, index: TextIndexName) -> None:
    store.write(lambda unit: unit.text.add(YOU, Kind.MEMORY, [document(9, "事实 orphan")]))
    store.write(lambda unit: blot(unit, YOU, 3))
    store = reopened(store, index, "UPDATE counter SET value = 77 WHERE name LIKE 'memory.%'")
    assert {check.name for check in failures(store)} == {
        "memory text index",
        "memory text index counters",
        "message text index",
    }
    done = store.repair()
    assert len([line for line in done if "taken out of the text index" in line]) == 2
    assert failures(store) == []
    with store.read() as unit:
        assert unit.text.frequencies(YOU, Kind.MEMORY, ["orphan", "事实"]) == (5, {"事实": 5})
    store.close()


def test_numbers_that_would_be_given_out_twice_are_found(store: SqliteStore, index: TextIndexName) -> None:
    store = reopened(store, index, "UPDATE counter SET value = 1 WHERE name IN ('memory', 'message')")
    check = only(failures(store))
    assert "memory 5 exists, but only 1 were given out" in check.detail
    assert check.fix == "run `jiyi doctor --fix`"
    store.repair()
    assert failures(store) == []
    assert store.write(lambda unit: unit.memories.next_seq(ME)) == 6
    store.close()


def test_a_gap_in_the_ledger_is_found(store: SqliteStore, index: TextIndexName) -> None:
    store = reopened(
        store,
        index,
        "DELETE FROM ledger_words WHERE plan & 0xFFFFFF = 3",
        "DELETE FROM ledger_change WHERE plan & 0xFFFFFF = 3",
        "DELETE FROM ledger WHERE key & 0xFFFFFF = 3 AND key >> 24 = 1",
    )
    check = only(failures(store))
    assert (check.name, check.detail) == ("ledger", "owner 1: 4 of 5 plans are there")
    assert "restore" in check.fix
    store.close()


def test_a_changed_schema_is_found(store: SqliteStore, index: TextIndexName) -> None:
    store = reopened(store, index, "DROP INDEX evidence_message", "CREATE TABLE stranger (a)")
    check = only(failures(store))
    assert check.name == "schema"
    assert "evidence_message" in check.detail
    assert "stranger" in check.detail
    store.close()


def test_rows_that_point_nowhere_are_found(store: SqliteStore, index: TextIndexName) -> None:
    store = reopened(store, index, "INSERT INTO heat VALUES (123456789, 1.0, 0)")
    check = only(failures(store))
    assert (check.name, check.detail) == ("foreign keys", "a row of heat has no memory")
    store.close()


def test_an_index_that_disagrees_with_its_table_is_made_again(store: SqliteStore, index: TextIndexName) -> None:
    """As after a copy with a broken disk: the table has rows that its index does not know."""
    store = reopened(
        store,
        index,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'WHERE fact = ''''', 'WHERE fact = ''x''')"
        " WHERE name = 'memory_value'",
    )
    store.close()
    spoil(
        store.path,
        "UPDATE memory SET importance = 5, value = value || '!' WHERE key & 0xFFFFFF = 2",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'WHERE fact = ''x''', 'WHERE fact = ''''')"
        " WHERE name = 'memory_value'",
    )
    store = open_sqlite(store.path, text_index=index)
    check = only(failures(store))
    assert check.name == "file"
    assert "memory_value" in check.detail
    assert "jiyi doctor --fix" in check.fix
    store.repair()
    assert failures(store) == []
    store.close()


def test_dead_letters_are_shown_until_they_are_gone(store: SqliteStore) -> None:
    job = store.write(lambda unit: unit.jobs.claim(NOW, NOW + timedelta(minutes=5)))
    assert job is not None
    store.write(lambda unit: unit.jobs.fail(job, "model did not answer", NOW, None))
    check = only(failures(store))
    assert (check.name, check.detail) == ("dead letters", f"job {job.id} (distil) gave up: model did not answer")
    assert "jiyi work --retry-dead" in check.fix
    assert store.write(lambda unit: unit.jobs.revive(job.id, NOW)) is True
    assert failures(store) == []


def test_a_queue_without_a_head_is_found_and_mended(store: SqliteStore, index: TextIndexName) -> None:
    store = reopened(store, index, "UPDATE job SET due_at = NULL")
    assert store.write(lambda unit: unit.jobs.claim(NOW, NOW + timedelta(minutes=5))) is None
    assert only(failures(store)).name == "job queue"
    store.repair()
    assert failures(store) == []
    assert store.write(lambda unit: unit.jobs.claim(NOW, NOW + timedelta(minutes=5))) is not None
    store.close()


def test_native_words_that_changed_behind_its_back_are_found(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "native.db", text_index="native", synchronous="NORMAL")
    store.write(lambda unit: [learn(unit, ME, str(i), f"事实 fact {i}") for i in range(5)])
    store.close()
    spoil(store.path, "UPDATE fts_memory_content SET c0 = '别的 fact' WHERE id & 0xFFFFFF = 2")
    store = open_sqlite(store.path, text_index="native")
    names = {check.name for check in failures(store)}
    assert {"fts_memory", "memory text index"} <= names
    store.close()


def test_the_check_counts_what_it_looked_at(store: SqliteStore) -> None:
    details = {check.name: check.detail for check in store.check(terms_of)}
    assert (details["memory text index"], details["message text index"]) == ("10 texts", "10 texts")
