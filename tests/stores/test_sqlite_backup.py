"""Backups of a store in use, and bringing them back (SPEC O1)."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from jiyi.errors import MigrationError, StoreBusy, StoreCorrupt, StoreError
from jiyi.stores.sqlite.backup import restore
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from tests.stores.facts import ME, failures, learn, spoil


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed database with one fact."""
    path = tmp_path / "memory.db"
    store = open_sqlite(path, synchronous="NORMAL")
    store.write(lambda unit: learn(unit, ME, "a", "绿茶 tea"))
    store.close()
    return path


def facts(path: Path) -> list[str]:
    store = open_sqlite(path)
    try:
        assert failures(store) == []
        with store.read() as unit:
            return [memory.text for memory in unit.memories.listing(ME)]
    finally:
        store.close()


def backed_up(path: Path, target: Path) -> Path:
    store = open_sqlite(path)
    store.backup(str(target))
    store.close()
    return target


def write_more(path: Path, text: str) -> None:
    store = open_sqlite(path)
    store.write(lambda unit: learn(unit, ME, text, text))
    store.close()


# ---------------------------------------------------------------------------------- backup


def test_a_backup_while_writing_is_whole(path: Path, tmp_path: Path) -> None:
    store, done, written = open_sqlite(path, synchronous="NORMAL"), threading.Event(), [0]

    def write() -> None:
        while not done.is_set():
            store.write(lambda unit: learn(unit, ME, f"w{written[0]}", f"事实 {written[0]}"))
            written[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    counts = []
    for number in range(4):
        while written[0] < 5 * (number + 1):
            pass
        acknowledged = written[0]
        store.backup(str(tmp_path / f"copy{number}.db"))
        counts.append(acknowledged)
    done.set()
    thread.join()
    store.close()
    for number, acknowledged in enumerate(counts):
        assert len(facts(tmp_path / f"copy{number}.db")) >= acknowledged + 1


def test_a_backup_is_one_plain_file(path: Path, tmp_path: Path) -> None:
    copy = backed_up(path, tmp_path / "backups" / "copy.db")
    assert [p.name for p in copy.parent.iterdir()] == ["copy.db"]
    connection = sqlite3.connect(f"{copy.as_uri()}?mode=ro", uri=True)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_an_existing_file_is_never_overwritten(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("precious")
    store = open_sqlite(path)
    with pytest.raises(StoreError, match="exists already"):
        store.backup(str(target))
    with pytest.raises(StoreError, match="exists already"):
        store.backup(str(path))
    store.close()
    assert target.read_text() == "precious"
    assert facts(path) == ["绿茶 tea"]


def test_a_place_that_cannot_be_written_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    store = open_sqlite(path)
    with pytest.raises(StoreError, match="cannot be written"):
        store.backup(str(tmp_path / "file" / "copy.db"))
    store.close()


# ---------------------------------------------------------------------------------- restore


def test_restore_to_a_new_place(path: Path, tmp_path: Path) -> None:
    copy = backed_up(path, tmp_path / "copy.db")
    assert restore(copy, tmp_path / "new" / "memory.db") is None
    assert facts(tmp_path / "new" / "memory.db") == ["绿茶 tea"]
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["memory.db"]


def test_restore_replaces_only_when_told_and_keeps_the_old(path: Path, tmp_path: Path) -> None:
    copy = backed_up(path, tmp_path / "copy.db")
    write_more(path, "咖啡 coffee")
    with pytest.raises(StoreError, match=r"exists already.*--replace"):
        restore(copy, path)
    assert facts(path) == ["绿茶 tea", "咖啡 coffee"]
    kept = restore(copy, path, replace=True)
    assert kept == path.with_name("memory.db.before-restore")
    assert (facts(path), facts(kept)) == (["绿茶 tea"], ["绿茶 tea", "咖啡 coffee"])
    again = restore(kept, path, replace=True)
    assert again == path.with_name("memory.db.before-restore.2")
    assert (facts(path), facts(again)) == (["绿茶 tea", "咖啡 coffee"], ["绿茶 tea"])


def test_the_log_of_a_killed_process_is_not_mixed_into_the_restored_file(path: Path, tmp_path: Path) -> None:
    copy = backed_up(path, tmp_path / "copy.db")
    # What a killed process leaves: a file whose last commits are still in the log beside it.
    store = open_sqlite(path)
    store.write(lambda unit: learn(unit, ME, "b", "咖啡 coffee"))
    names = [path.name, f"{path.name}-wal"]
    left = {name: path.with_name(name).read_bytes() for name in names}
    store.close()
    other = tmp_path / "crashed"
    other.mkdir()
    for name, data in left.items():
        (other / name).write_bytes(data)
    kept = restore(copy, other / path.name, replace=True)
    assert kept is not None
    assert facts(other / path.name) == ["绿茶 tea"]
    assert facts(kept) == ["绿茶 tea", "咖啡 coffee"]


def test_a_target_that_is_too_damaged_to_open_can_be_replaced(path: Path, tmp_path: Path) -> None:
    copy = backed_up(path, tmp_path / "copy.db")
    path.write_bytes(b"\x00 broken " * 1000)
    kept = restore(copy, path, replace=True)
    assert kept is not None
    assert kept.read_bytes() == b"\x00 broken " * 1000
    assert facts(path) == ["绿茶 tea"]


def test_a_database_in_use_is_not_replaced(path: Path, tmp_path: Path) -> None:
    copy = backed_up(path, tmp_path / "copy.db")
    store: SqliteStore = open_sqlite(path)
    with store.read() as unit:
        unit.messages.last_seq(ME)
        with pytest.raises(StoreBusy, match="in use"):
            restore(copy, path, replace=True)
    store.write(lambda unit: learn(unit, ME, "b", "咖啡 coffee"))
    store.close()
    assert facts(path) == ["绿茶 tea", "咖啡 coffee"]
    assert not list(tmp_path.glob("*restor*"))


def test_only_a_healthy_database_of_jiyi_is_restored(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    with pytest.raises(StoreError, match="no file"):
        restore(tmp_path / "missing.db", target)
    (tmp_path / "notes.txt").write_bytes(b"only some notes\n" * 100)
    with pytest.raises(StoreError, match="not a SQLite database"):
        restore(tmp_path / "notes.txt", target)
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="empty"):
        restore(tmp_path / "empty.db", target)
    spoil(tmp_path / "empty.db", "CREATE TABLE other (a)")
    with pytest.raises(StoreError, match="another program"):
        restore(tmp_path / "empty.db", target)
    copy = backed_up(path, tmp_path / "copy.db")
    spoil(copy, "INSERT INTO migration VALUES (9999, 'from_the_future', 'x')")
    with pytest.raises(MigrationError, match="update jiyi"):
        restore(copy, target)
    assert not target.exists()


def test_a_damaged_backup_is_refused(path: Path, tmp_path: Path) -> None:
    store = open_sqlite(path)
    store.write(lambda unit: [learn(unit, ME, str(i), f"事实 {i}") for i in range(300)])
    store.close()
    copy = backed_up(path, tmp_path / "copy.db")
    data = bytearray(copy.read_bytes())
    for page in range(8, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    copy.write_bytes(data)
    with pytest.raises(StoreCorrupt, match="damaged"):
        restore(copy, path, replace=True)
    assert len(facts(path)) == 301
