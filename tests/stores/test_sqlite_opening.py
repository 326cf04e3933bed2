"""Making, opening and refusing files (SPEC O1, O4)."""

from __future__ import annotations

import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from jiyi.errors import InputError, MigrationError, StoreCorrupt, StoreError
from jiyi.ports import Kind
from jiyi.stores.sqlite.connection import Synchronous
from jiyi.stores.sqlite.schema import shipped
from jiyi.stores.sqlite.store import open_sqlite
from tests.stores.facts import ME, document, failures, learn, spoil, terms_of


def test_a_new_file_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "deeper" / "memory.db"
    store = open_sqlite(path)
    store.write(lambda unit: learn(unit, ME, "a", "茶"))
    assert store.info().place == str(path)
    assert store.info().schema_version == shipped()[-1].number
    if sys.platform != "win32":
        files = [path, path.with_name("memory.db-wal"), path.with_name("memory.db-shm")]
        assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3
    store.close()
    assert [p.name for p in path.parent.iterdir()] == ["memory.db"]


def test_pragmas_are_what_durability_and_forgetting_need(tmp_path: Path) -> None:
    levels: dict[Synchronous, int] = {"FULL": 2, "NORMAL": 1}
    for synchronous, level in levels.items():
        store = open_sqlite(tmp_path / "memory.db", synchronous=synchronous)
        expected = {
            "journal_mode": "wal",
            "synchronous": level,
            "secure_delete": 1,
            "foreign_keys": 1,
            "busy_timeout": 5000,
            "temp_store": 2,
        }
        found = store._writer.alone(
            lambda connection, expected=expected: {  # type: ignore[misc]
                name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in expected
            }
        )
        assert found == expected
        store.close()


@pytest.mark.parametrize("path", ["", ":memory:", "file:memory?mode=memory"])
def test_what_is_not_a_path_is_refused(path: str) -> None:
    with pytest.raises(StoreError, match="not the path of a file"):
        open_sqlite(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        open_sqlite(tmp_path)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="cannot be made"):
        open_sqlite(tmp_path / "file" / "memory.db")


def test_a_file_that_is_no_database_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"only some notes\n" * 100)
    with pytest.raises(StoreError, match="not a SQLite database"):
        open_sqlite(path)
    assert path.read_bytes() == b"only some notes\n" * 100
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_database_of_another_program_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    sqlite3.connect(path).close()
    spoil(path, "CREATE TABLE memory (key INTEGER)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_sqlite(path)
    assert path.read_bytes() == before


def test_a_newer_database_names_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_sqlite(path).close()
    spoil(path, "INSERT INTO migration VALUES (9999, 'from_the_future', 'x')")
    with pytest.raises(MigrationError, match=r"9999_from_the_future.*update jiyi"):
        open_sqlite(path)


def test_an_edited_migration_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_sqlite(path).close()
    spoil(path, "UPDATE migration SET sha256 = 'other' WHERE number = 1")
    with pytest.raises(MigrationError, match="edited after release"):
        open_sqlite(path)


def test_a_damaged_database_names_the_repair(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_sqlite(path)
    store.write(lambda unit: [learn(unit, ME, str(i), f"事实 {i}") for i in range(200)])
    store.close()
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xff" * 3996
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt, match="restore a backup"):
        open_sqlite(path)


# ---------------------------------------------------------------------------------- text index


def test_another_text_index_is_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_sqlite(path, text_index="postings", message_index="native").close()
    with pytest.raises(StoreError, match=r"memory texts.*postings, not by native.*jiyi reindex --text-index native"):
        open_sqlite(path, text_index="native")
    with pytest.raises(StoreError, match=r"message texts.*native, not by postings.*jiyi reindex --text-index postings"):
        open_sqlite(path, text_index="postings")
    store = open_sqlite(path, text_index="postings", message_index="native")
    assert (store.info().details["memory index"], store.info().details["message index"]) == ("postings", "native")
    store.close()


def test_switching_the_text_index_empties_it_and_lasts(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store, other = open_sqlite(path), open_sqlite(path)
    store.write(lambda unit: learn(unit, ME, "a", "绿茶 tea"))
    with other.read() as unit:
        assert [hit.seq for hit in unit.text.search(ME, Kind.MEMORY, [("tea", 1.0)], 5)] == [1]
    store.rebuild_text_index(memory="native")
    for handle in (store, other):
        with handle.read() as unit:
            assert unit.text.frequencies(ME, Kind.MEMORY, ["tea"]) == (0, {})
            assert unit.text.frequencies(ME, Kind.MESSAGE, ["tea"]) == (1, {"tea": 1})
            assert unit.text.indexed_up_to(ME) == 1
    assert [check.name for check in failures(store)] == ["memory text index"]
    # A process that had the file open before goes on with the new index.
    other.write(lambda unit: unit.text.add(ME, Kind.MEMORY, [document(1, "绿茶 tea")]))
    assert failures(store) == []
    other.close()
    store.close()
    again = open_sqlite(path, text_index="native", message_index="postings")
    with again.read() as unit:
        assert [hit.seq for hit in unit.text.search(ME, Kind.MEMORY, [("tea", 1.0)], 5)] == [1]
    again.close()


def test_a_text_index_that_is_not_named_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_sqlite(path, text_index="native").close()
    store = open_sqlite(path)
    assert (store.info().details["memory index"], store.info().details["message index"]) == ("native", "native")
    store.close()


def test_an_unknown_text_index_is_refused(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db")
    with pytest.raises(InputError, match="postings or native"):
        store.rebuild_text_index(memory="bm42")  # type: ignore[arg-type]
    store.close()


def test_check_is_clean_after_opening(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", text_index="native")
    checks = list(store.check(terms_of))
    store.close()
    assert all(check.ok for check in checks)
    assert {"file", "schema", "foreign keys", "counters", "ledger", "fts_memory", "fts_message", "dead letters"} <= {
        check.name for check in checks
    }
