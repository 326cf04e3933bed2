"""Opening: migrations, and errors that say what to do and never a password (SPEC O4)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from jiyi.assembly import open_memory
from jiyi.errors import JiyiError, MigrationError, SettingsError, StoreBusy, StoreError, StoreLost
from jiyi.settings import PostgresPolicy, Settings
from jiyi.stores.migrations import Migration
from jiyi.stores.postgres.connection import begin_statement, connect, place_of
from jiyi.stores.postgres.schema import expected_shape, migrate_down, migrate_up, shape, shipped
from jiyi.stores.postgres.store import open_postgres
from jiyi.surfaces.cli.calls import Common
from jiyi.surfaces.cli.origins import effective
from tests.conftest import Clock
from tests.postgres.server import Server
from tests.postgres.stores import one_server, open_on
from tests.stores.facts import ME, learn

PASSWORD = "pass" + "wort-77"
POLICY = PostgresPolicy()


# ---------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("postgresql://someone:{secret}@127.0.0.1:1/db", "start the server"),
        (
            "postgresql://someone:{secret}@127.0.0.1:{port}/nowhere",
            "make the database first|check the user|start the server|name a user",
        ),
        ("postgresql://someone:{secret}@127.0.0.1:nonsense/db", "correct the address"),
        ("postgresql://someone:{secret}@[::1/db", "write postgresql://"),
        (
            "postgresql://someone@127.0.0.1:1/db?password={secret}&connect_timeout=oops",
            "correct the address|write postgresql://",
        ),
        ("postgresql://someone:{secret}/x@127.0.0.1/db?no_such_option=1", "write postgresql://"),
    ],
)
@one_server
def test_what_cannot_be_reached_says_what_to_do_and_no_password(
    postgres: Server, address: str, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = address.format(secret=PASSWORD, port=postgres.port)
    with pytest.raises(StoreError, match=advice) as raised:
        open_memory(url, worker=False)
    error: BaseException | None = raised.value
    while error is not None:
        assert PASSWORD not in f"{error!r}"
        error = error.__cause__
    assert PASSWORD not in caplog.text


@one_server
def test_a_wrong_password_is_told(postgres: Server, postgres_url: str, tmp_path: Path) -> None:
    rules = postgres.folder / "data" / "pg_hba.conf"
    before = rules.read_text("utf-8")
    rules.write_text(f"host all guest 127.0.0.1/32 scram-sha-256\n{before}", "utf-8")
    postgres.run("CREATE ROLE guest LOGIN PASSWORD 'right-one'", "SELECT pg_reload_conf()")
    try:
        with pytest.raises(StoreError, match=r"check the user, and the password") as raised:
            open_postgres(postgres.url(postgres_url.rpartition("/")[2], "guest", PASSWORD))
        assert PASSWORD not in str(raised.value)
    finally:
        rules.write_text(before, "utf-8")
        postgres.run("DROP ROLE guest", "SELECT pg_reload_conf()")


def test_a_password_is_shown_nowhere() -> None:
    url = f"postgresql://me:{PASSWORD}@db1,db2:5433/memory?sslmode=require"
    settings = Settings(path=url)
    assert PASSWORD not in repr(settings)
    assert PASSWORD not in repr(place_of(url, POLICY))
    assert place_of(url, POLICY).shown == "postgresql://me@db1:5432,db2:5433/memory"
    shown = effective(settings, {}, Common(db=url))
    assert PASSWORD not in repr(shown)
    assert next(s.value for s in shown if s.name == "path").startswith("postgresql://me:***@db1,db2")


def test_what_postgresql_has_no_use_for_is_refused(postgres_url: str, clock: Clock, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"postgres\.schema"):
        open_postgres(postgres_url, PostgresPolicy(schema="Another One"))
    with pytest.raises(SettingsError, match="leave"):
        open_on(postgres_url, tmp_path, clock, vector_engine=f"chroma:{tmp_path}")


@one_server
def test_text_in_another_encoding_is_refused(postgres: Server) -> None:
    postgres.run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
        open_postgres(postgres.url("latin"))


@one_server
def test_a_user_that_is_not_there_is_told(postgres: Server, postgres_url: str) -> None:
    with pytest.raises(StoreError, match="CREATE ROLE"):
        open_postgres(postgres.url(postgres_url.rpartition("/")[2], "nobody-here"))


@pytest.mark.parametrize("address", ["mysql://me:{}@localhost/db", "PostgreSQL://me:{}@localhost/db", "postgresql:/db"])
def test_the_address_of_another_server_is_no_file(address: str, tmp_path: Path) -> None:
    path = address.format(PASSWORD)
    with chdir(tmp_path), pytest.raises(SettingsError, match="postgresql://USER@HOST/DATABASE") as raised:
        open_memory(path, worker=False)
    assert PASSWORD not in str(raised.value)
    assert PASSWORD not in repr(effective(Settings(path=path), {}, Common(db=path)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("table", ["memory (x int)", "migration (id int)", "orders (id int)"])
@one_server
def test_a_schema_that_is_somebody_elses_is_left_alone(postgres: Server, table: str) -> None:
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    postgres.run("CREATE SCHEMA jiyi", f"CREATE TABLE jiyi.{table}", database=name)
    with pytest.raises(MigrationError, match=r"postgres\.schema"):
        open_postgres(url)
    with psycopg.connect(url) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'jiyi'").fetchall()
    assert count == 1
    open_postgres(url, PostgresPolicy(schema="mine")).close()


@pytest.mark.parametrize(("by_default", "held"), [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")])
@one_server
def test_a_write_waits_for_the_disk_whatever_the_server_does_by_default(
    postgres_url: str, by_default: str, held: str
) -> None:
    place = place_of(postgres_url, POLICY)
    open_postgres(postgres_url).close()
    for durable in (True, False):
        with connect(place) as connection:
            connection.execute(f"SET synchronous_commit TO {by_default}")  # type: ignore[arg-type]
            connection.execute(begin_statement(place, writable=True, durable=durable))  # type: ignore[arg-type]
            assert connection.execute("SHOW synchronous_commit").fetchone() == (held if durable else "off",)
            connection.execute("ROLLBACK")


@one_server
def test_a_pool_that_is_used_up_says_so(postgres_url: str) -> None:
    store = open_postgres(postgres_url, PostgresPolicy(pool_size=1, wait_seconds=0.5))
    with store.read(), pytest.raises(StoreBusy, match=r"postgres\.pool_size"):
        store.write(lambda unit: None)
    store.write(lambda unit: None)
    store.close()


@one_server
def test_a_server_that_is_lost_again_and_again(postgres_url: str, postgres: Server) -> None:
    store = open_postgres(postgres_url)
    store.write(lambda unit: learn(unit, ME, "a", "before"))
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'jiyi'"

    def cut(unit: object) -> None:
        postgres.run(ended)
        learn(unit, ME, "b", "lost")  # type: ignore[arg-type]

    with pytest.raises(StoreLost, match="lost"):
        store.write(cut)
    store.write(lambda unit: learn(unit, ME, "c", "after"))
    with store.read() as unit:
        assert [m.id for m in unit.messages.window(ME)] == ["a", "c"]
    store.close()


# ---------------------------------------------------------------------------------- roles


@one_server
def test_a_role_that_owns_nothing_can_use_a_database_that_is_there(postgres_url: str, postgres: Server) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres.run("DROP ROLE IF EXISTS web", "CREATE ROLE web LOGIN")
    with pytest.raises(StoreError, match=r"jiyi_app|owns the database") as raised:
        open_postgres(postgres.url("template1", "web"))  # Nothing is made there: it may not.
    assert "as an administrator" in str(raised.value) or "as the role that" in str(raised.value)
    open_postgres(postgres_url).close()
    with pytest.raises(StoreError):
        open_postgres(postgres.url(name, "web"))
    postgres.run("GRANT jiyi_app TO web")
    store = open_postgres(postgres.url(name, "web"))
    assert store.write(lambda unit: learn(unit, ME, "a", "by the web")) == 1
    store.write(lambda unit: unit.ledger.erase(ME, [1]))
    store.purge()  # Not its to do; what is left to do stays noted.
    assert store.erased()
    store.close()
    owner = open_postgres(postgres_url)
    owner.purge()
    assert not owner.erased()
    owner.close()


@one_server
def test_what_the_page_tells_an_administrator_to_run_is_enough(postgres: Server, tmp_path: Path, clock: Clock) -> None:
    page = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text("utf-8")
    [statements] = [block for block in re.findall(r"```sql\n(.*?)```", page, re.DOTALL) if "CREATE DATABASE" in block]
    postgres.run("DROP ROLE IF EXISTS web, jiyi_owner")
    for statement in re.sub(r"--.*", "", statements).split(";"):
        if statement.strip() and (not statement.strip().startswith("CREATE ROLE jiyi_app") or not has_role(postgres)):
            postgres.run(statement)
    open_on(postgres.url("memory", "jiyi_owner"), tmp_path, clock).close()
    with open_on(postgres.url("memory", "web"), tmp_path, clock) as layer:
        layer.scope("me").remember("I live in Leeds")
        assert [m.text for m in layer.scope("me").memories()] == ["I live in Leeds"]
    with open_on(postgres.url("memory", "jiyi_owner"), tmp_path, clock) as layer:
        assert [c for c in layer.check() if not c.ok] == []
    postgres.run("DROP DATABASE memory", "DROP ROLE web, jiyi_owner")


def has_role(postgres: Server) -> bool:
    """Of a server that has had a memory before."""
    with psycopg.connect(postgres.url()) as connection:
        return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'jiyi_app'").fetchone() is not None


@one_server
def test_a_role_without_the_right_to_make_roles_makes_the_schema(postgres_url: str, postgres: Server) -> None:
    open_postgres(postgres_url).close()  # The application role is there.
    postgres.run("DROP ROLE IF EXISTS tenant", "CREATE ROLE tenant LOGIN", "GRANT jiyi_app TO tenant")
    postgres.run("CREATE DATABASE of_tenant OWNER tenant")
    store = open_postgres(postgres.url("of_tenant", "tenant"))
    store.write(lambda unit: learn(unit, ME, "a", "mine"))
    assert [c for c in store.check(lambda kind, item: unit_terms(item)) if not c.ok] == []
    store.purge()
    store.close()


def unit_terms(item: object) -> object:
    from tests.stores.facts import document

    return document(item.seq, item.text)  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------- migrations


@pytest.fixture
def fresh(postgres: Server) -> Callable[[], str]:
    return postgres.new_database


def test_several_programs_may_open_a_new_database_at_once(fresh: Callable[[], str]) -> None:
    url = fresh()
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_postgres(url), range(4)))
    assert len({store.secret for store in stores}) == 1
    assert {store.info().schema_version for store in stores} == {shipped()[-1].number}
    for store in stores:
        store.close()


def test_two_schemas_of_one_database_are_two_memories(postgres_url: str) -> None:
    stores = [open_postgres(postgres_url, PostgresPolicy(schema=name)) for name in ("jiyi", "another_one")]
    stores[0].write(lambda unit: learn(unit, ME, "a", "here"))
    with stores[1].read() as unit:
        assert unit.messages.window(ME) == []
    assert stores[0].secret != stores[1].secret
    for store in stores:
        store.close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA another_one CASCADE")


@one_server
def test_a_migrated_schema_is_a_fresh_one_and_the_way_back_leads_there(fresh: Callable[[], str]) -> None:
    """Every migration up, the added ones down and up again: the same schema each time."""
    place = place_of(fresh(), POLICY)
    added = Migration(9001, "later", "CREATE TABLE later (owner bigint PRIMARY KEY);", "DROP TABLE later;")
    with connect(place) as connection:
        migrate_up(connection, place, shipped()[:1])
        migrate_up(connection, place, shipped())
        made = shape(connection, "jiyi")
        assert made == expected_shape(connection, shipped())
        migrate_up(connection, place, (*shipped(), added))
        assert shape(connection, "jiyi") == expected_shape(connection, (*shipped(), added)) != made
        migrate_down(connection, place, shipped()[-1].number, (*shipped(), added))
        assert shape(connection, "jiyi") == made


@one_server
def test_a_newer_an_edited_and_a_failing_migration_leave_everything_as_it_was(fresh: Callable[[], str]) -> None:
    url = fresh()
    place = place_of(url, POLICY)
    failing = Migration(9001, "failing", "CREATE TABLE half (x int); SELECT 1 / 0;", None)
    newer = Migration(9002, "newer", "CREATE TABLE newer (x int);", None)
    with connect(place) as connection:
        migrate_up(connection, place, shipped())
        before = shape(connection, "jiyi")
        with pytest.raises(MigrationError, match="9001_failing failed"):
            migrate_up(connection, place, (*shipped(), failing))
        assert shape(connection, "jiyi") == before
        edited = replace(shipped()[0], up=shipped()[0].up + "-- edited")
        with pytest.raises(MigrationError, match="edited after release"):
            migrate_up(connection, place, (edited, *shipped()[1:]))
        migrate_up(connection, place, (*shipped(), newer))
    with pytest.raises(MigrationError, match="update jiyi"):
        open_postgres(url)


@one_server
def test_an_error_of_the_database_is_one_of_ours(postgres_url: str) -> None:
    store = open_postgres(postgres_url)

    def wrong(unit: object) -> None:
        unit.access.rows("SELECT nonsense")  # type: ignore[attr-defined]

    with pytest.raises(JiyiError, match="nonsense"):
        store.write(wrong)  # type: ignore[arg-type]
    store.write(lambda unit: learn(unit, ME, "a", "goes on"))
    store.close()
