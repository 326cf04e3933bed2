"""A memory moved from one file to another, and what cannot be moved."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.backends import move_database
from jiyi.errors import SettingsError, StoreBusy, StoreError
from jiyi.settings import Settings
from jiyi.stores import moving
from jiyi.stores.sqlite import moving as files
from jiyi.testing.embedders import ByCharacters
from tests.conftest import Clock
from tests.stores.moved import exports, learn_many, live, tables
from tests.stores.showing import Showing
from tests.surfaces.cli import Cli

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def on(path: Path | str) -> Settings:
    return Settings(path=str(path), worker=False)


@pytest.fixture
def full(tmp_path: Path, clock: Clock) -> Path:
    path = tmp_path / "memory.db"
    with open_memory(path, clock=clock, worker=False, embedder=ByCharacters()) as layer:
        live(layer, clock, tmp_path)
        learn_many(layer, 30)
    return path


def test_a_file_is_moved_to_another(full: Path, tmp_path: Path, clock: Clock) -> None:
    moved = move_database(on(full), on(tmp_path / "b.db"), clock.now, Showing())
    assert tables(tmp_path / "b.db") == tables(full)
    assert (moved.users, moved.again, moved.native) == (3, 0, ())
    with (
        open_memory(full, clock=clock, worker=False, embedder=ByCharacters()) as first,
        open_memory(tmp_path / "b.db", clock=clock, worker=False, embedder=ByCharacters()) as second,
    ):
        assert exports(first, tmp_path / "1") == exports(second, tmp_path / "2")
        receipt = second.scope("ming").forget(memory=second.scope("ming").memories()[0].id)
        # The file that it was moved from is a copy of what was forgotten.
        assert str(full) in [c.path for c in receipt.proof.copies]


class Stopped(Exception):
    pass


def test_a_move_that_stops_after_each_batch_goes_on(full: Path, tmp_path: Path) -> None:
    runs, ended, b = 0, False, tmp_path / "b.db"

    def stop(_rows: int) -> None:
        raise Stopped

    while not ended:
        with files.open_source(full) as source, files.open_target(b) as target:
            progress = moving.begin(source, target)
            try:
                moving.copy(source, target, progress, stop)
                ended = True
            except Stopped:
                runs += 1
        with pytest.raises(StoreError, match="run the same `jiyi migrate` again"):
            open_memory(b, worker=False)
        with pytest.raises(StoreError, match="run the same `jiyi migrate` again"):
            move_database(on(b), on(tmp_path / "c.db"), NOW, Showing())  # Half of a memory is not moved on.
    assert runs >= 27  # tables
    moved = move_database(on(full), on(b), NOW, Showing())
    assert moved.again == 0
    assert tables(b) == tables(full)


def test_two_migrations_into_one_target_do_not_mix(full: Path, tmp_path: Path) -> None:
    b = tmp_path / "b.db"
    with files.open_source(full) as source, files.open_target(b) as one:
        first = moving.begin(source, one)
        with files.open_target(b) as other:
            second = moving.begin(source, other)
            moving.copy(source, one, first, lambda _: None)
            with pytest.raises(StoreError, match="another migration"):
                moving.copy(source, other, second, lambda _: None)
    move_database(on(full), on(b), NOW, Showing())
    assert tables(b) == tables(full)


def test_a_target_that_is_in_use_is_left_alone(full: Path, tmp_path: Path) -> None:
    b = tmp_path / "b.db"
    with open_memory(b, worker=False) as used:
        with pytest.raises(StoreBusy, match="end that first"):
            move_database(on(full), on(b), NOW, Showing())
        used.scope("me").remember("I live in York.")
        assert [item.text for item in used.scope("me").recall("York").items] == ["I live in York."]
        used.scope("me").forget(everything=True)
    c = tmp_path / "c.db"
    open_memory(c, worker=False).close()
    move_database(on(full), on(c), NOW, Showing())
    assert tables(c) == tables(full)


def test_what_was_changed_in_the_target_is_put_right(full: Path, tmp_path: Path) -> None:
    """Also what is in the way of rows that come later."""
    b = tmp_path / "b.db"
    with files.open_source(full) as source, files.open_target(b) as target:
        moving.begin(source, target)
    with closing(sqlite3.connect(b)) as connection:
        connection.execute(
            "INSERT INTO graph_name (key, owner, node, base, spelling, name) SELECT 7, 1, 7, 'x', 'x', '老王'"
        )
        connection.execute("INSERT INTO owner (number, tenant, user) VALUES (9, 'default', 'ming')")
        connection.commit()
    moved = move_database(on(full), on(b), NOW, Showing())
    assert tables(b) == tables(full)
    assert moved.users == 3


def test_a_text_index_of_fts5_is_made_again(tmp_path: Path, clock: Clock) -> None:
    jiyi = Cli(tmp_path)
    with open_memory(jiyi.database, worker=False, memory_index="native", message_index="native") as layer:
        layer.scope("me").observe([{"role": "user", "text": "我住在杭州。"}], session="s1")
        layer.work()
    target = str(tmp_path / "b.db")
    shown = jiyi.json("migrate", "--to", target)
    assert (shown["from"], shown["to"], shown["users"], shown["again"]) == (str(jiyi.database), target, 1, 0)
    with open_memory(target, worker=False, memory_index="native", message_index="native") as layer:
        assert layer.info().details["memory index"] == "native"
        assert [i.text for i in layer.scope("me").recall("杭州", kinds={"message"}).items] == ["我住在杭州。"]
        assert [c for c in layer.check() if not c.ok] == []


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    jiyi = Cli(tmp_path)
    jiyi("remember", "我住在杭州")
    told = jiyi("migrate", "--to", str(tmp_path / "b.db"))
    assert "1 user," in told.stdout
    assert "compared: rows and hashes of all 1 user are equal" in told.stdout
    assert "moving: " in told.stderr
    assert "comparing: " in told.stderr
    assert "杭州" in jiyi("recall", "杭州", "--db", str(tmp_path / "b.db")).stdout
    again = jiyi("migrate", "--from", str(jiyi.database), "--to", str(tmp_path / "b.db"), code=1)
    assert "holds a memory already" in again.stderr


def test_what_cannot_be_moved_is_told(full: Path, tmp_path: Path, clock: Clock) -> None:
    other, empty, half = tmp_path / "other.db", tmp_path / "empty.db", tmp_path / "half.db"
    with open_memory(other, worker=False) as layer:
        layer.scope("me").remember("I am another")
    empty.touch()
    with files.open_source(full) as source, files.open_target(half) as target:
        moving.begin(source, target)
    for ours, theirs, says in (
        (tmp_path / "none.db", tmp_path / "b.db", "there is no file"),
        (empty, tmp_path / "b.db", "is empty"),
        (full, other, "holds a memory already"),
        (other, half, "half-done migration of another memory"),
        (other, tmp_path, "is a folder"),
        (other, Path(os.devnull), "a device"),
    ):
        with pytest.raises(StoreError, match=says):
            move_database(on(ours), on(theirs), NOW, Showing())
    link, again = tmp_path / "link.db", tmp_path / "again.db"
    link.symlink_to(other)
    again.hardlink_to(other)
    for ours, theirs, says in (
        (full, full, "one database"), (other, link, "one database"), (other, again, "one database"), (link, again, "one database"),
        ("reference", full, "cannot be moved"),
    ):  # type: ignore[assignment]  # fmt: skip
        with pytest.raises(SettingsError, match=says):
            move_database(on(ours), on(theirs), NOW, Showing())
    with open_memory(other, worker=False) as layer:
        assert [m.text for m in layer.scope("me").memories()] == ["I am another"]


def test_a_source_that_is_written_to_is_waited_for_and_then_refused(full: Path) -> None:
    with closing(sqlite3.connect(full, isolation_level=None, timeout=0.05)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="another program is writing"), files.open_source(full, 0.2):
            pass
        writer.execute("ROLLBACK")
        with files.open_source(full), pytest.raises(sqlite3.OperationalError, match="locked"):
            writer.execute("BEGIN IMMEDIATE")
        writer.execute("BEGIN IMMEDIATE")
