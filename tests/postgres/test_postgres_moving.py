"""A memory moved to PostgreSQL and back is what it was, also when it is killed on the way (SPEC O2)."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from jiyi.assembly import open_memory
from jiyi.backends import move_database
from jiyi.errors import SettingsError, StoreBusy, StoreError
from jiyi.settings import PostgresPolicy, Settings
from jiyi.stores import moving
from jiyi.stores.moving import MOVING, Progress
from jiyi.stores.postgres import moving as servers
from jiyi.stores.postgres.backup import restore
from jiyi.stores.postgres.store import open_postgres
from jiyi.stores.sqlite import moving as files
from jiyi.testing.embedders import ByCharacters
from tests.conftest import Clock, count
from tests.postgres.server import Server
from tests.postgres.stores import one_server, open_on
from tests.stores.facts import ME, learn
from tests.stores.moved import exports, learn_many, live, migrate_killed, tables
from tests.stores.showing import Showing

MEMORIES = count("moved_memories")
POLICY = PostgresPolicy()


def on(path: str | Path, tmp_path: Path) -> Settings:
    return Settings(path=str(path), worker=False, postgres=PostgresPolicy(folder=str(tmp_path / "beside")))


@pytest.fixture
def full(tmp_path: Path, clock: Clock) -> Path:
    """A file that has something of everything."""
    path = tmp_path / "memory.db"
    with open_memory(path, clock=clock, worker=False, embedder=ByCharacters()) as layer:
        live(layer, clock, tmp_path)
        learn_many(layer, 300)
    return path


def test_what_is_moved_there_and_back_is_what_it_was(
    full: Path, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    here, there, back = (on(path, tmp_path) for path in (full, postgres_url, tmp_path / "back.db"))
    showing = Showing()
    moved = move_database(here, there, clock.now, showing)
    assert [name for name, rows in moved.rows.items() if not rows] == []  # Of every table there was something to move.
    assert showing.told == [("moving", moved.total, moved.total), ("comparing", moved.total, moved.total)]
    move_database(there, back, clock.now, Showing())
    assert tables(tmp_path / "back.db") == tables(full)

    with (
        open_memory(settings=here, clock=clock, embedder=ByCharacters()) as first,
        open_memory(settings=there, clock=clock, embedder=ByCharacters()) as second,
        open_memory(settings=back, clock=clock, embedder=ByCharacters()) as third,
    ):
        kept = exports(first, tmp_path / "first")
        assert kept == exports(second, tmp_path / "second") == exports(third, tmp_path / "third")
        clock.advance(minutes=5)
        for layer in (first, second, third):  # Life goes on: equal values are equal still, numbers are not used twice.
            me = layer.scope("ming")
            me.observe([{"role": "user", "text": "我的密钥是 sk-" + "test" * 8 + "ming", "id": "n1"}], session="s9")
            me.once("a key", b"asked").remember("The staging server is heron")  # It was, under this key.
            layer.work()
        one, two, three = (layer.scope("ming") for layer in (first, second, third))
        [again] = one.history(session="s9").messages
        assert again.text in {m.text for m in one.history(session="s1").messages}
        assert exports(first, tmp_path / "1") == exports(second, tmp_path / "2") == exports(third, tmp_path / "3")
        assert len(one.ledger()) == len(two.ledger()) == len(three.ledger())
        for question in ("杭州", "where do I live", "老王"):
            found = [[(i.id, i.score, i.text) for i in me.recall(question, limit=30).items] for me in (one, two, three)]
            assert found[0]
            assert found[0] == found[1] == found[2]


def come_to(settings: Settings) -> Callable[[], Progress | None]:
    """How far a move into a database has come, asked from beside."""

    def of_file() -> Progress | None:
        found = []
        with (
            contextlib.suppress(sqlite3.Error),
            closing(sqlite3.connect(f"file:{settings.path}?mode=ro", uri=True)) as connection,
        ):
            found = connection.execute("SELECT value FROM store_setting WHERE name = ?", (MOVING,)).fetchall()
        return Progress.of(found[0][0]) if found else None

    def of_server() -> Progress | None:
        found = []
        with contextlib.suppress(psycopg.errors.UndefinedTable), psycopg.connect(settings.path) as connection:
            found = connection.execute("SELECT value FROM jiyi.store_setting WHERE name = %s", (MOVING,)).fetchall()
        return Progress.of(found[0][0]) if found else None

    return of_server if settings.path.startswith("postgres") else of_file


@pytest.mark.full
@one_server
def test_a_move_that_is_killed_goes_on_where_it_was(postgres_url: str, tmp_path: Path, clock: Clock) -> None:
    """Twice on each way, at any moment: the same bytes in the end."""
    rng = random.Random()
    here, there, back = (on(path, tmp_path) for path in (tmp_path / "memory.db", postgres_url, tmp_path / "back.db"))
    with open_memory(here.path, clock=clock, worker=False, synchronous="NORMAL", embedder=ByCharacters()) as layer:
        live(layer, clock, tmp_path)
        learn_many(layer, MEMORIES)
        kept = exports(layer, tmp_path / "first")
    environment = {"JIYI_POSTGRES__FOLDER": str(tmp_path / "beside")}
    with files.open_source(Path(here.path)) as source:
        total = sum(map(source.count, source.tables))
    for ours, theirs in ((here, there), (there, back)):
        arguments = ["--from", ours.path, "--to", theirs.path]
        for least, most in ((0.05, 0.4), (0.45, 0.9)):
            at = round(total * rng.uniform(least, most))
            moved = migrate_killed(arguments, environment, come_to(theirs), at)
            print(f"{MEMORIES:,} memories, {total:,} rows: killed at {moved:,}")
            with pytest.raises(StoreError, match="run the same `jiyi migrate` again"):
                open_memory(settings=theirs, clock=clock)
        began = time.monotonic()
        moved = move_database(ours, theirs, clock.now, Showing())
        print(f"{moved.total:,} rows of {moved.users:,} users ended and compared in {time.monotonic() - began:.1f} s")
        assert moved.again == 0
    assert tables(Path(back.path)) == tables(Path(here.path))
    with open_memory(settings=back, clock=clock, embedder=ByCharacters()) as layer:
        assert exports(layer, tmp_path / "last") == kept
    print(f"{len(kept):,} exports are the same bytes")


# ---------------------------------------------------------------------------------- what is refused


@one_server
def test_what_was_written_between_two_runs_is_moved_too(
    full: Path, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    here, there, back = (on(path, tmp_path) for path in (full, postgres_url, tmp_path / "back.db"))
    for ours, theirs in ((here, there), (there, back)):
        migrate_killed(
            ["--from", ours.path, "--to", theirs.path], {"JIYI_POSTGRES__FOLDER": str(tmp_path / "beside")}, come_to(theirs), 1
        )  # fmt: skip
        with open_memory(settings=ours, clock=clock, embedder=ByCharacters()) as layer:
            me = layer.scope("ming")
            me.forget(memory=next(m.id for m in me.memories()))
            me.end("s1")
            layer.scope("new").remember(f"I came later, to {ours.path[:9]}")
            layer.work()
            kept = exports(layer, tmp_path / f"before-{ours.path[:9].replace('/', '')}")
        moved = move_database(ours, theirs, clock.now, Showing())
        with open_memory(settings=theirs, clock=clock, embedder=ByCharacters()) as layer:
            assert exports(layer, tmp_path / f"after-{ours.path[:9].replace('/', '')}") == kept
        assert moved.users == 6


@one_server
def test_what_is_in_the_way_in_the_target_gives_way(
    full: Path, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    here, there, back = (on(path, tmp_path) for path in (full, postgres_url, tmp_path / "back.db"))
    with files.open_source(full) as source, servers.open_target(postgres_url, POLICY) as target:
        moving.begin(source, target)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("INSERT INTO jiyi.owner (tenant, usr) VALUES ('default', 'ming')")
        connection.execute("INSERT INTO jiyi.heat VALUES (1, 999, 1, 1)")
    move_database(here, there, clock.now, Showing())
    move_database(there, back, clock.now, Showing())
    assert tables(tmp_path / "back.db") == tables(full)


@one_server
def test_what_is_no_place_for_a_move_is_left_as_it_is(
    full: Path, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    here, there = on(full, tmp_path), on(postgres_url, tmp_path)
    with open_on(postgres_url, tmp_path, clock) as layer:
        layer.scope("me").remember("I was here before")
    with pytest.raises(StoreError, match="holds a memory already"):
        move_database(here, there, clock.now, Showing())
    with pytest.raises(SettingsError, match="one database"):
        move_database(there, there, clock.now, Showing())
    with open_on(postgres_url, tmp_path, clock) as layer:
        assert [m.text for m in layer.scope("me").memories()] == ["I was here before"]
    with pytest.raises(StoreError, match="holds no memory"):
        move_database(
            on(postgres_url.replace("/t", "/template1?x=").partition("?")[0], tmp_path), here, clock.now, Showing()
        )


@one_server
def test_what_another_program_has_open_becomes_no_other_memory(
    full: Path, postgres: Server, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    here, there = on(full, tmp_path), on(postgres_url, tmp_path)
    with closing(open_postgres(postgres.new_database())) as store:
        store.backup(str(tmp_path / "backup.zip"))
    with open_on(postgres_url, tmp_path, clock, PostgresPolicy(schema="beside", folder=str(tmp_path))):
        with open_on(postgres_url, tmp_path, clock):  # A service without users yet.
            with pytest.raises(StoreBusy, match="is open in another program"):
                move_database(here, there, clock.now, Showing())
            with pytest.raises(StoreBusy, match="is open in another program"):
                restore(tmp_path / "backup.zip", postgres_url, POLICY)
        assert move_database(here, there, clock.now, Showing()).users == 5
    postgres.run("DROP SCHEMA beside CASCADE", database=postgres_url.rpartition("/")[2])


@one_server
def test_nothing_is_written_to_a_server_while_it_is_moved(postgres_url: str) -> None:
    store = open_postgres(postgres_url, PostgresPolicy(statement_seconds=0.3))
    store.write(lambda unit: learn(unit, ME, "a", "before"))
    with servers.open_source(postgres_url, POLICY) as held:
        with store.read() as unit:
            assert [m.id for m in unit.messages.window(ME)] == ["a"]
        with pytest.raises(StoreBusy):
            store.write(lambda unit: learn(unit, ME, "b", "meanwhile"))
        [messages] = [t for t in held.tables if t.name == "message"]
        assert held.count(messages) == 1
    store.write(lambda unit: learn(unit, ME, "b", "after"))
    store.close()


@one_server
def test_who_may_not_see_all_rows_cannot_move_them(
    postgres_url: str, postgres: Server, tmp_path: Path, clock: Clock
) -> None:
    open_postgres(postgres_url).close()
    postgres.run("DROP ROLE IF EXISTS web", "CREATE ROLE web LOGIN", "GRANT jiyi_app TO web")
    url = postgres.url(postgres_url.rpartition("/")[2], "web")
    with pytest.raises(StoreError, match="role that owns"):
        move_database(on(url, tmp_path), on(tmp_path / "b.db", tmp_path), clock.now, Showing())
