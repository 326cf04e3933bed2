"""Vectors found by pgvector, past what the contract holds it to: begun, left, locked, forgotten, moved, brought back."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import psycopg
import pytest

from jiyi.assembly import open_memory
from jiyi.backends import move_database
from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Neighbour, Vector, VectorSet, quantise
from jiyi.errors import StoreError
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Kind, Store
from jiyi.settings import PostgresPolicy, Settings
from jiyi.stores.postgres.backup import restore
from jiyi.stores.postgres.connection import connect, place_of
from jiyi.stores.postgres.schema import migrate_down, shape, shipped
from jiyi.stores.postgres.store import PostgresStore, open_postgres
from jiyi.stores.scanning import numpy_scan
from jiyi.testing.contract_vectors import expected, put, random_vectors
from jiyi.testing.embedders import ByCharacters
from tests.conftest import Clock
from tests.postgres.server import Server
from tests.postgres.stores import one_server
from tests.stores.facts import ME, YOU, failures, forget, learn
from tests.stores.showing import Showing

pytestmark = one_server

MODEL = "m1"
OFF = PostgresPolicy(pgvector=False)


@pytest.fixture
def store(pgvector_url: str) -> Iterator[PostgresStore]:
    store = open_postgres(pgvector_url)
    yield store
    store.close()


def used(store: Store) -> str:
    return store.info().details["vector index"]


def near(store: Store, query: Vector, limit: int = 400, scope: Scope = ME, model: str = MODEL) -> list[Neighbour]:
    with store.read() as unit:
        return unit.vectors.search(scope, Kind.MEMORY, model, query, limit)


def rows(url: str, query: str) -> int:
    with psycopg.connect(url, options="-c search_path=jiyi,public") as connection:
        [(count,)] = connection.execute(query).fetchall()  # type: ignore[call-overload]
    return int(count)


def line(store: PostgresStore) -> str:
    [found] = [c for c in store.check(lambda *_: pytest.fail("no text")) if c.name == "vector index"]
    return found.detail


def assert_answers(store: Store, held: Mapping[int, Vector]) -> None:
    for query in (held[3], held[max(held)], quantise([-1.0, *[0.3] * (held[3].dimension - 1)])):
        for limit in (1, 7, 400):
            assert near(store, query, limit) == expected(held, query, limit)


# ---------------------------------------------------------------------------------- begun and left


def test_where_vectors_are_there_already_it_is_begun_when_asked_for_and_left_again(postgres: Server) -> None:
    url, held = postgres.new_database(), random_vectors(300)
    store = open_postgres(url)
    put(store, held)
    put(store, {1: held[1]}, scope=YOU)
    assert line(store) == "looked through by jiyi"
    postgres.run("CREATE EXTENSION vector", database=url.rpartition("/")[2])
    other = open_postgres(url)
    assert (used(other), near(other, held[3])) == ("chunks", expected(held, held[3], 400))
    assert line(store).startswith("looked through by jiyi; pgvector is there, to use it: run `jiyi doctor --fix`")

    assert store.repair() == ["pgvector finds vectors from now on: 301 copied for it"]
    assert (used(store), used(other), line(store)[:18]) == ("pgvector", "pgvector", "found by pgvector ")
    assert_answers(other, held)  # Who had it open before follows.
    assert (failures(store), store.repair()) == ([], [])
    other.write(lambda unit: unit.vectors.remove(ME, Kind.MEMORY, [1, 2]))
    put(store, {4: held[9]})
    held = {seq: v for seq, v in held.items() if seq > 2} | {4: held[9]}
    assert_answers(store, held)

    left = open_postgres(url, OFF)
    assert left.repair() == ["pgvector finds vectors no longer"]
    assert (used(store), failures(left), left.repair()) == ("chunks", [], [])
    assert_answers(store, held)
    for each in (store, other, left):
        each.close()
    postgres.run("DROP EXTENSION vector", database=url.rpartition("/")[2])
    again = open_postgres(url)
    assert_answers(again, held)
    again.close()


def test_begun_and_stopped_it_is_not_used_until_it_is_whole(postgres: Server) -> None:
    url, held = postgres.new_database(), random_vectors(40)
    store = open_postgres(url)
    put(store, held)
    name = url.rpartition("/")[2]
    postgres.run("CREATE EXTENSION vector", "SET search_path TO jiyi", "SELECT begin_pgvector()", database=name)
    put(store, {50: held[7]})  # What comes now is copied by the server.
    held[50] = held[7]
    assert (used(store), rows(url, "SELECT count(*) FROM vector_near")) == ("chunks", 1)
    assert_answers(store, held)
    store.repair()
    assert (used(store), rows(url, "SELECT count(*) FROM vector_near")) == ("pgvector", 41)
    assert_answers(store, held)
    store.close()


def test_a_role_that_does_not_own_the_tables_uses_it_and_is_told_who_begins(postgres: Server) -> None:
    url, name = postgres.new_database(), f"web{random.getrandbits(40):x}"
    open_postgres(url).close()
    postgres.run(
        f"CREATE ROLE {name} LOGIN", f"GRANT jiyi_app TO {name}", "CREATE SCHEMA apart",
        "CREATE EXTENSION vector SCHEMA apart", database=url.rpartition("/")[2],
    )  # fmt: skip
    web, store = open_postgres(url.replace("postgres@", f"{name}@")), open_postgres(url)
    put(web, random_vectors(4))
    assert (web.repair(), line(web)) == (
        [], "looked through by jiyi; pgvector is there, to use it: GRANT USAGE ON SCHEMA apart TO jiyi_app first",
    )  # fmt: skip
    postgres.run("GRANT USAGE ON SCHEMA apart TO jiyi_app", database=url.rpartition("/")[2])
    assert web.repair() == []
    assert store.repair() == ["pgvector finds vectors from now on: 4 copied for it"]
    assert_answers(web, random_vectors(4))
    assert line(web).startswith("found by pgvector")
    for each in (web, store):
        each.close()


@pytest.fixture
def losing(postgres: Server) -> Iterator[tuple[PostgresStore, str]]:
    """A store that uses the extension, and the name of its database, whose extension a test may take."""
    url = postgres.new_database()
    postgres.run("CREATE EXTENSION vector", database=url.rpartition("/")[2])
    with closing(open_postgres(url)) as store:
        yield store, url.rpartition("/")[2]


def other_failures(store: PostgresStore) -> dict[str, tuple[str, str]]:
    return {c.name: (c.detail, c.fix) for c in failures(store)}


@pytest.mark.parametrize("comes_back", [False, True])
def test_where_the_extension_is_dropped_all_goes_on_without_it(
    postgres: Server, losing: tuple[PostgresStore, str], comes_back: bool
) -> None:
    store, name = losing
    held = random_vectors(9)
    put(store, held)
    assert_answers(store, held)
    anew = ["CREATE EXTENSION vector"] if comes_back else []
    postgres.run("DROP EXTENSION vector CASCADE", *anew, database=name)

    assert used(store) == "chunks"
    assert_answers(store, held)
    put(store, {4: held[9], 20: held[1]})  # In connections that are open, and in new ones.
    store.write(lambda unit: unit.vectors.remove(ME, Kind.MEMORY, [1, 2]))
    held = {seq: v for seq, v in held.items() if seq > 2} | {4: held[9], 20: held[1]}
    with closing(open_postgres(store.place.url)) as another:
        put(another, {21: held[5]})
        held[21] = held[5]
        for each in (store, another):
            assert_answers(each, held)

    [(failed, (detail, fix))] = other_failures(store).items()
    assert (failed, "was dropped" in detail, "is there anew" in detail) == ("vector index", True, comes_back)
    assert fix.startswith("run `jiyi doctor --fix`")
    assert ("CREATE EXTENSION vector" in fix) is not comes_back
    done = "pgvector finds vectors from now on: 9 copied for it" if comes_back else "pgvector finds vectors no longer"
    assert store.repair() == [done]
    assert (failures(store), store.repair()) == ([], [])
    assert used(store) == ("pgvector" if comes_back else "chunks")
    assert_answers(store, held)
    put(store, {1: held[7]})
    assert_answers(store, held | {1: held[7]})
    assert failures(store) == []


def test_a_copy_that_was_begun_and_lost_its_extension_is_begun_anew(postgres: Server) -> None:
    url, held = postgres.new_database(), random_vectors(9)
    name = url.rpartition("/")[2]
    with closing(open_postgres(url)) as store:
        put(store, held)
        postgres.run(
            "CREATE EXTENSION vector", "SET search_path TO jiyi", "SELECT begin_pgvector()",
            "DROP EXTENSION vector CASCADE", database=name,
        )  # fmt: skip
        put(store, {10: held[4]})
        assert "vector index" in other_failures(store)
        postgres.run("CREATE EXTENSION vector", database=name)
        assert store.repair() == ["pgvector finds vectors from now on: 10 copied for it"]
        assert failures(store) == []
        assert_answers(store, held | {10: held[4]})


@pytest.mark.parametrize("dimension", [8, 1_100])
def test_the_extension_is_found_in_the_schema_it_was_moved_to(
    postgres: Server, losing: tuple[PostgresStore, str], dimension: int
) -> None:
    store, name = losing
    held = random_vectors(9, dimension)
    put(store, held)
    assert_answers(store, held)
    postgres.run('CREATE SCHEMA "Ext x"', 'ALTER EXTENSION vector SET SCHEMA "Ext x"', database=name)
    # A new schema is nobody's but its owner's: until it is granted, searches do without, and the copy is kept.
    assert used(store) == "chunks"
    assert_answers(store, held)
    put(store, {20: held[1]})
    held[20] = held[1]
    grant = 'GRANT USAGE ON SCHEMA "Ext x" TO jiyi_app'
    [(failed, (detail, fix))] = other_failures(store).items()
    assert (failed, "which jiyi_app may not use" in detail, fix) == ("vector index", True, grant)
    postgres.run(grant, database=name)
    assert (used(store), failures(store), store.repair()) == ("pgvector", [], [])
    assert_answers(store, held)
    put(store, {21: held[5]})
    assert_answers(store, held | {21: held[5]})
    with closing(open_postgres(store.place.url, OFF)) as left:
        assert left.repair() == ["pgvector finds vectors no longer"]
    assert store.repair() == ["pgvector finds vectors from now on: 11 copied for it"]
    assert_answers(store, held | {21: held[5]})


def test_without_the_extension_a_question_is_answered_as_before(
    postgres: Server, losing: tuple[PostgresStore, str], tmp_path: Path, clock: Clock
) -> None:
    store, name = losing
    settings = Settings(path=store.place.url, worker=False, postgres=PostgresPolicy(folder=str(tmp_path)))
    with open_memory(settings=settings, clock=clock, embedder=ByCharacters()) as layer:
        me = layer.scope(ME.user)
        me.observe([{"role": "user", "text": text} for text in ("我住在葫芦岛。", "I drink tea.")], session="s1")
        layer.work()

        def found() -> list[str]:
            return [item.text for item in me.recall("葫芦岛", kinds={"message"}).items]

        before = found()
        postgres.run("DROP EXTENSION vector CASCADE", database=name)
        assert (found(), before[0]) == (before, "我住在葫芦岛。")
        me.observe([{"role": "user", "text": "葫芦岛靠海。"}], session="s2")
        layer.work()
        assert "葫芦岛靠海。" in found()
        me.forget(everything=True)


def test_the_way_back_leaves_none_of_it(postgres: Server) -> None:
    url = postgres.new_database()
    open_postgres(url).close()
    place = place_of(url, PostgresPolicy())
    before = max(step.number for step in shipped() if step.number < 610)
    with connect(place) as connection:
        plain = shape(connection, "jiyi")
        migrate_down(connection, place, before, shipped())
        older = shape(connection, "jiyi")
        connection.execute("CREATE EXTENSION vector")
        open_postgres(url).close()  # There are no vectors yet: it is begun by itself.
        assert rows(url, "SELECT count(*) FROM pg_class WHERE relname = 'vector_near'") == 1
        assert set(plain) < set(shape(connection, "jiyi"))
        migrate_down(connection, place, before, shipped())
        assert shape(connection, "jiyi") == older


# ---------------------------------------------------------------------------------- scores


@pytest.mark.parametrize("dimension", [1, 1_024, 1_025, 3_072, 4_000, 4_001])
def test_scores_are_exact_in_every_dimension(store: PostgresStore, dimension: int) -> None:
    draw = random.Random(dimension)
    # The largest numbers there are, many of one sign: where adding up in single precision would go wrong first.
    held = {
        seq: quantise([draw.choice([1.0, 1.0, 1.0, 0.99, -0.98]) for _ in range(dimension)]) for seq in range(1, 30)
    }
    put(store, held)
    asked = quantise([1.0] * dimension)
    assert near(store, asked) == expected(held, asked, 400)


# ---------------------------------------------------------------------------------- locks


def test_it_answers_for_the_scope_that_was_entered_and_no_other(store: PostgresStore, pgvector_url: str) -> None:
    for scope in (ME, YOU):
        put(store, random_vectors(3), scope=scope)
    with store._snapshot() as unit:
        mine, theirs = unit.access.owner(ME), unit.access.owner(YOU)
    with psycopg.connect(pgvector_url, autocommit=True) as connection:
        numbers = dict(connection.execute("SELECT owner, number FROM jiyi.vector_set").fetchall())
        for entered, seen in ((None, set()), (mine, {mine}), (theirs, {theirs})):
            connection.execute("BEGIN; SET LOCAL ROLE jiyi_app; SET LOCAL search_path TO jiyi")
            connection.execute("SELECT set_config('jiyi.owner', %s, true)", (str(entered or ""),))
            assert {owner for (owner,) in connection.execute("SELECT owner FROM vector_near")} == seen
            search = "SELECT count(*) FROM nearest(%s, 1, '[1,0,0,0,0,0,0,0]', 8, 1, 9)"
            for owner, number in numbers.items():
                assert connection.execute(search, (number,)).fetchall() == [(3 if owner == entered else 0,)]
            connection.execute("COMMIT")


def test_what_changed_past_the_server_is_found_and_mended(store: PostgresStore, pgvector_url: str) -> None:
    held = random_vectors(5)
    put(store, held)
    assert failures(store) == []
    with psycopg.connect(pgvector_url) as connection:
        connection.execute("DELETE FROM jiyi.vector_near WHERE seq = 2")
    assert [(c.name, c.fix) for c in failures(store)] == [
        ("vector index", "run `jiyi doctor --fix` as the role that owns the tables")
    ]
    assert store.repair() == ["5 vectors of 1 users copied for pgvector anew"]
    assert failures(store) == []
    assert_answers(store, held)


# ---------------------------------------------------------------------------------- forgetting, another model


def test_a_forgotten_vector_is_gone_from_every_file(postgres: Server, store: PostgresStore) -> None:
    kept, secret = (quantise(np.random.default_rng(seed).normal(size=64).tolist()) for seed in (1, 2))
    for text, vector in (("留下", kept), ("密码", secret)):
        number = store.write(lambda unit, text=text: learn(unit, ME, text, text))  # type: ignore[misc]
        put(store, {number: vector})

    def there() -> list[bool]:
        postgres.run("CHECKPOINT")
        data = b"".join(p.read_bytes() for p in (postgres.folder / "data" / "base").rglob("*") if p.is_file())
        copies = [np.frombuffer(v.numbers, np.int8).astype("<f2").tobytes() for v in (kept, secret)]
        return [copy in data for copy in copies]

    assert there() == [True, True]
    store.write(lambda unit: forget(unit, ME, number))
    store.write(lambda unit: unit.vectors.remove(ME, Kind.MEMORY, [number]))
    store.purge()
    assert there() == [True, False]


def test_the_old_set_answers_until_the_new_one_is_whole_and_forgetting_empties_it(
    pgvector_url: str, tmp_path: Path, clock: Clock
) -> None:
    def opened(embedder: ByCharacters) -> MemoryLayer:
        settings = Settings(path=pgvector_url, worker=False, postgres=PostgresPolicy(folder=str(tmp_path)))
        return open_memory(settings=settings, clock=clock, embedder=embedder)

    def models(layer: MemoryLayer) -> list[str]:
        with layer._store.read() as unit:
            return [held.model for held in unit.vectors.sets(ME)]

    old, new = ByCharacters("testing/old"), ByCharacters("testing/new", 48)
    with opened(old) as layer:
        said = [{"role": "user", "text": text} for text in ("我住在葫芦岛。", *(f"第{n}件事" for n in range(30)))]
        layer.scope(ME.user).observe(said, session="s1")
        layer.work()
    with opened(new) as layer:
        layer._parts.embedding._known["testing/old"] = old
        seen = set()
        while layer.work(limit=1):
            seen |= {tuple(models(layer))}
            found = layer.scope(ME.user).recall("葫芦岛", kinds={"message"}).items
            assert found[0].text == "我住在葫芦岛。"
        assert {("testing/old", "testing/new"), ("testing/new",)} <= seen
        assert layer.info().details["vector index"] == "pgvector"
        assert [c for c in layer.check() if not c.ok] == []
        layer.scope(ME.user).forget(everything=True)
    assert rows(pgvector_url, "SELECT count(*) FROM vector_near") == 0


# ---------------------------------------------------------------------------------- moved, brought back


def test_it_is_made_again_by_a_move_and_by_a_restore(
    postgres: Server, pgvector_url: str, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    embedder, back = ByCharacters(), tmp_path / "back.db"
    with open_memory(tmp_path / "memory.db", worker=False, clock=clock, embedder=embedder) as layer:
        layer.scope(ME.user).observe(
            [{"role": "user", "text": "我住在葫芦岛。"}, {"role": "user", "text": "tea"}], session="s"
        )
        layer.work()

    def on(path: object) -> Settings:
        return Settings(path=str(path), worker=False, postgres=PostgresPolicy(folder=str(tmp_path / "beside")))

    for here, there in ((tmp_path / "memory.db", pgvector_url), (pgvector_url, postgres_url), (pgvector_url, back)):
        move_database(on(here), on(there), clock.now, Showing())
    backup, apart = tmp_path / "backup.zip", postgres.new_database()
    with closing(open_postgres(pgvector_url)) as store:
        store.backup(str(backup))
    restore(backup, apart, PostgresPolicy())
    with_it = postgres.new_database()
    postgres.run("CREATE EXTENSION vector", database=with_it.rpartition("/")[2])
    restore(backup, with_it, PostgresPolicy())
    expected_index = {
        pgvector_url: "pgvector",
        postgres_url: "chunks",
        str(back): None,
        apart: "chunks",
        with_it: "pgvector",
    }
    answers = set()
    for path, index in expected_index.items():
        with open_memory(settings=on(path), clock=clock, embedder=embedder) as layer:
            assert layer.info().details.get("vector index") == index
            with layer._store.read() as unit:
                [held] = unit.vectors.sets(ME)
                assert held == VectorSet("testing/characters", 64)
                asked = quantise(embedder.query("葫芦岛").tolist())
                answers.add(tuple(unit.vectors.search(ME, Kind.MESSAGE, held.model, asked, 9)))
            assert [c for c in layer.check() if not c.ok] == []
    assert len(answers) == 1
    assert len(answers.pop()) == 2


def test_a_backup_comes_back_where_a_memory_was_opened_and_nothing_is_held(
    postgres: Server, tmp_path: Path, clock: Clock
) -> None:
    def on(url: str) -> Settings:
        return Settings(path=url, worker=False, postgres=PostgresPolicy(folder=str(tmp_path / "beside")))

    first, opened = postgres.new_database(), postgres.new_database()
    backup = tmp_path / "backup.zip"
    with open_memory(settings=on(first), clock=clock) as layer:
        layer.scope(ME.user).remember("我住在葫芦岛")
        layer.backup(backup)
    open_memory(settings=on(opened), clock=clock).close()
    with closing(open_postgres(opened)) as store:
        secret = store.secret
    restore(backup, opened, PostgresPolicy())
    with open_memory(settings=on(opened), clock=clock) as layer:
        assert [memory.text for memory in layer.scope(ME.user).memories()] == ["我住在葫芦岛"]
        assert layer._store.secret != secret
        assert [c for c in layer.check() if not c.ok] == []
    with pytest.raises(StoreError, match=r"holds a memory already.*a new database.*DROP SCHEMA jiyi CASCADE"):
        restore(backup, opened, PostgresPolicy())
    # Of whom all was forgotten, is still told that it was.
    with open_memory(settings=on(first), clock=clock) as layer:
        layer.scope(ME.user).forget(everything=True)
    with pytest.raises(StoreError, match="holds a memory already"):
        restore(backup, first, PostgresPolicy())


def test_numpy_and_the_server_come_to_the_same(store: PostgresStore, postgres_url: str) -> None:
    held, plain = random_vectors(500, 96, seed=11), open_postgres(postgres_url, scan=numpy_scan)
    for each in (store, plain):
        put(each, held)
    for query in random_vectors(10, 96, seed=12).values():
        assert near(store, query, 60) == near(plain, query, 60)
    plain.close()
