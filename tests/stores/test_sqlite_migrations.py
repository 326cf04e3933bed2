"""Migrations: once each, in order, unedited, with a way back (SPEC O4)."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from jiyi.errors import MigrationError, StoreError
from jiyi.stores.migrations import Migration, load_migrations
from jiyi.stores.sqlite.connection import connect, make_file
from jiyi.stores.sqlite.schema import (
    applied_migrations,
    expected_schema,
    migrate_down,
    migrate_up,
    schema_text,
    shipped,
    statements,
)
from jiyi.stores.sqlite.store import open_sqlite
from tests.stores.facts import ME, learn

SECOND = """
-- A comment; with a semicolon, and 'a quote
CREATE TABLE belief (key INTEGER PRIMARY KEY, note TEXT NOT NULL DEFAULT 'a;b') STRICT;
CREATE TRIGGER belief_note AFTER INSERT ON belief BEGIN
    UPDATE belief SET note = 'made; just now' WHERE key = new.key;
END;
"""
SECOND_DOWN = "DROP TABLE belief;"
THIRD = "ALTER TABLE memory ADD COLUMN shelf TEXT NOT NULL DEFAULT 'fact';\n"
THIRD_DOWN = "ALTER TABLE memory DROP COLUMN shelf;\n-- done\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shipped migrations with two more, as a later release would have them."""
    folder = tmp_path / "sql"
    folder.mkdir()
    for migration in shipped():
        (folder / f"{migration}.sql").write_text(migration.up, "utf-8")
    (folder / "0900_belief.sql").write_text(SECOND, "utf-8")
    (folder / "0900_belief.down.sql").write_text(SECOND_DOWN, "utf-8")
    (folder / "0901_shelf.sql").write_text(THIRD, "utf-8")
    (folder / "0901_shelf.down.sql").write_text(THIRD_DOWN, "utf-8")
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of today's release, with a fact in it."""
    path = tmp_path / "memory.db"
    store = open_sqlite(path)
    store.write(lambda unit: learn(unit, ME, "a", "绿茶 tea"))
    store.close()
    return path


def schema(path: Path) -> list[tuple[str, str, str]]:
    with contextlib.closing(connect(path)) as connection:
        return schema_text(connection)


def numbers(path: Path) -> list[int]:
    with contextlib.closing(connect(path)) as connection:
        return [past.number for past in applied_migrations(connection, path)]


def texts(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM memory")]


def test_the_shipped_migrations_begin_at_one_and_can_go_back() -> None:
    migrations = shipped()
    assert migrations[0].number == 1
    assert [m for m in migrations[1:] if m.down is None] == []


def test_a_migrated_database_is_like_a_fresh_one(tmp_path: Path, folder: Path, old: Path) -> None:
    migrations = load_migrations(folder)
    migrate_up(old, migrations)
    fresh = tmp_path / "fresh.db"
    make_file(fresh)
    migrate_up(fresh, migrations)
    assert schema(old) == schema(fresh) == expected_schema(migrations)
    assert numbers(old) == numbers(fresh) == [m.number for m in migrations]
    assert texts(old) == ["绿茶 tea"]


def test_the_old_file_is_kept_beside(folder: Path, old: Path) -> None:
    before = schema(old)
    migrate_up(old, load_migrations(folder))
    kept = old.with_name("memory.db.before-0900")
    assert (schema(kept), texts(kept)) == (before, ["绿茶 tea"])
    assert sorted(p.name for p in old.parent.glob("memory.db*")) == ["memory.db", "memory.db.before-0900"]


def test_a_new_file_needs_no_copy(tmp_path: Path, folder: Path) -> None:
    fresh = tmp_path / "fresh.db"
    make_file(fresh)
    migrate_up(fresh, load_migrations(folder))
    assert [p.name for p in tmp_path.glob("fresh*")] == ["fresh.db"]


def test_up_down_up(folder: Path, old: Path) -> None:
    migrations, first = load_migrations(folder), schema(old)
    last = shipped()[-1].number
    migrate_up(old, migrations)
    up = schema(old)
    migrate_down(old, last, migrations)
    assert (schema(old), numbers(old), texts(old)) == (first, [m.number for m in shipped()], ["绿茶 tea"])
    kept = old.with_name(f"memory.db.before-down-{last:04d}")
    assert schema(kept) == up
    # The release that knows nothing of them can open it again.
    open_sqlite(old).close()
    migrate_up(old, migrations)
    assert (schema(old), texts(old)) == (up, ["绿茶 tea"])


def test_down_one_step(folder: Path, old: Path) -> None:
    migrations = load_migrations(folder)
    migrate_up(old, migrations)
    migrate_down(old, 900, migrations)
    assert numbers(old)[-1] == 900
    migrate_down(old, 900, migrations)
    assert numbers(old)[-1] == 900


def test_there_is_no_way_back_from_the_first(old: Path) -> None:
    with pytest.raises(MigrationError, match="no way back from 0001_core"):
        migrate_down(old, 0, shipped())
    assert texts(old) == ["绿茶 tea"]


def test_a_failing_migration_leaves_everything_as_it_was(folder: Path, old: Path) -> None:
    (folder / "0902_broken.sql").write_text("CREATE TABLE half (a); CREATE TABLE memory (key);", "utf-8")
    with pytest.raises(MigrationError, match=r"0902_broken failed .*already exists"):
        migrate_up(old, load_migrations(folder))
    # The ones before it stay: each is a transaction of its own.
    assert numbers(old)[-1] == 901
    assert "half" not in {name for _, name, _ in schema(old)}


FULL = """
import resource, sys
from jiyi import open_memory
from jiyi.errors import StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    open_memory(sys.argv[1], worker=False)
except StoreError as error:
    print("told:", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no such limit")
def test_a_file_that_may_not_grow_is_told(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    done = subprocess.run([sys.executable, "-c", FULL, str(file)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("told: "), done.stderr
    with contextlib.closing(open_sqlite(file)) as store:
        assert store.secret


def test_rows_that_would_point_nowhere_are_refused(folder: Path, old: Path) -> None:
    (folder / "0902_orphans.sql").write_text("DELETE FROM owner;", "utf-8")
    with pytest.raises(MigrationError, match="pointing nowhere"):
        migrate_up(old, load_migrations(folder))
    assert texts(old) == ["绿茶 tea"]
    with contextlib.closing(sqlite3.connect(old)) as connection:
        assert connection.execute("SELECT count(*) FROM owner").fetchone() == (1,)


def test_an_edited_migration_is_refused(folder: Path, old: Path) -> None:
    migrate_up(old, load_migrations(folder))
    (folder / "0900_belief.sql").write_text(SECOND + "-- one more thought\n", "utf-8")
    with pytest.raises(MigrationError, match=r"0900_belief .*edited"):
        migrate_up(old, load_migrations(folder))


def test_line_ends_of_another_system_are_no_edit(folder: Path, old: Path) -> None:
    migrate_up(old, load_migrations(folder))
    (folder / "0900_belief.sql").write_bytes(SECOND.replace("\n", "\r\n").encode())
    migrate_up(old, load_migrations(folder))


def test_a_newer_database_is_refused(folder: Path, old: Path) -> None:
    migrate_up(old, load_migrations(folder))
    with pytest.raises(MigrationError, match="0900_belief, which this jiyi does not know"):
        open_sqlite(old)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("0900_other.sql", "one number"),
        ("900_short.sql", "not called like"),
        ("0903_nothing.down.sql", "no migration of that name"),
    ],
)
def test_a_folder_in_disorder_is_refused(folder: Path, name: str, problem: str) -> None:
    (folder / name).write_text("SELECT 1;", "utf-8")
    with pytest.raises(MigrationError, match=problem):
        load_migrations(folder)


def test_statements_are_split_where_sqlite_would() -> None:
    assert [statement.strip() for statement in statements(SECOND)] == [
        "-- A comment; with a semicolon, and 'a quote\n"
        "CREATE TABLE belief (key INTEGER PRIMARY KEY, note TEXT NOT NULL DEFAULT 'a;b') STRICT;",
        "CREATE TRIGGER belief_note AFTER INSERT ON belief BEGIN\n"
        "    UPDATE belief SET note = 'made; just now' WHERE key = new.key;\nEND;",
    ]
    with pytest.raises(MigrationError, match="middle of a statement"):
        list(statements("CREATE TABLE a (b); CREATE TABLE c (d DEFAULT 'e)"))


def test_another_program_s_database_is_not_migrated(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE migration (number, name, sha256)")
    with pytest.raises(StoreError, match="another program"):
        migrate_up(path, shipped())


def test_a_migration_is_named_as_its_file() -> None:
    assert str(Migration(7, "heat", "SELECT 1;", None)) == "0007_heat"
