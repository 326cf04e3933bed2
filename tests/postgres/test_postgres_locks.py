"""Row-level security, the second lock behind the owner that every statement names (SPEC S4)."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from jiyi.domain.scope import Scope
from jiyi.ports import Store, Unit
from jiyi.settings import PostgresPolicy
from jiyi.stores.postgres.checks import check_server
from jiyi.stores.postgres.connection import ROLE
from jiyi.stores.postgres.store import PostgresStore, open_postgres
from jiyi.testing.contract_store import fill
from tests.stores.facts import ME, YOU, learn

Connection = psycopg.Connection[tuple[object, ...]]
OPEN = "BEGIN; SET LOCAL ROLE jiyi_app; SET LOCAL search_path TO jiyi"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = open_postgres(postgres_url)
    fill(store)
    for scope in (ME, YOU):
        store.write(lambda unit, s=scope: learn(unit, s, "secret", f"only {s.user} knows 暗号"))  # type: ignore[misc]
    yield store
    store.close()


@pytest.fixture
def connection(postgres_url: str, store: Store) -> Iterator[Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'jiyi'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> 'migration'
"""


def tables(connection: Connection) -> list[str]:
    return [str(name) for (name,) in connection.execute(TABLES)]


def rows(connection: Connection, table: str) -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT * FROM {table}").fetchall()  # type: ignore[call-overload]


def test_without_a_scope_every_table_answers_nothing(connection: Connection) -> None:
    connection.execute("SET search_path TO jiyi")
    filled = {table for table in tables(connection) if rows(connection, table)}
    assert {"message", "memory", "evidence", "posting", "ledger", "job", "owner", "store_setting", "trace"} <= filled
    connection.execute(OPEN)
    assert {table for table in tables(connection) if rows(connection, table)} == set()
    connection.execute("ROLLBACK")


def test_a_statement_without_an_owner_reaches_one_scope_only(store: PostgresStore) -> None:
    with store._snapshot() as unit:
        for scope, other in ((ME, YOU), (YOU, ME)):
            number, foreign = unit.access.owner(scope), unit.access.owner(other)
            assert unit.access.owner(scope) == number
            for table in ("message", "memory", "evidence", "ledger", "ledger_change", "posting", "counter"):
                owners = {owner for (owner,) in unit.access.rows(f"SELECT DISTINCT owner FROM {table}")}
                assert owners == {number}
                assert unit.access.rows(f"SELECT 1 FROM {table} WHERE owner = %s", (foreign,)) == []


def test_a_statement_of_one_scope_changes_nothing_of_another(store: PostgresStore) -> None:
    def spoil(unit: Unit) -> list[int]:
        access = unit.access  # type: ignore[attr-defined]
        foreign = access.owner(YOU)
        access.owner(ME)
        changed = [
            access.change("UPDATE message SET text = 'gone' WHERE owner = %s", (foreign,)),
            access.change("DELETE FROM memory WHERE owner = %s", (foreign,)),
        ]
        access.change("UPDATE message SET text = 'mine'")
        return changed

    assert store.write(spoil) == [0, 0]
    with store.read() as unit:
        assert [m.text for m in unit.messages.window(YOU)] == ["only u002 knows 暗号"]
        assert {m.text for m in unit.messages.window(ME)} == {"mine"}


def test_a_row_cannot_be_put_into_another_scope(store: PostgresStore) -> None:
    def put(unit: Unit) -> None:
        access = unit.access  # type: ignore[attr-defined]
        foreign = access.owner(YOU)
        access.owner(ME)
        access.change("INSERT INTO segment (owner, message, behind) VALUES (%s, 1, 0)", (foreign,))

    with pytest.raises(Exception, match="row-level security"):
        store.write(put)


def test_a_forged_scope_does_not_outlive_its_transaction(postgres_url: str) -> None:
    store = open_postgres(postgres_url, PostgresPolicy(pool_size=1))
    store.write(lambda unit: learn(unit, ME, "a", "mine"))
    store.write(lambda unit: learn(unit, YOU, "b", "yours"))

    def forge(unit: Unit) -> None:
        access = unit.access  # type: ignore[attr-defined]
        foreign = access.owner(YOU)
        # For the session, so past the transaction; and also for the operator.
        access.rows(
            "SELECT set_config('jiyi.owner', %s, false), set_config('jiyi.operator', 'on', false)", (str(foreign),)
        )

    store.write(forge)
    pid = []
    with store._snapshot() as unit:
        for table in ("message", "memory", "job", "owner", "store_setting"):
            assert unit.access.rows(f"SELECT * FROM {table}") == []
        pid += unit.access.rows("SELECT pg_backend_pid()")
    with store._snapshot() as unit:
        assert unit.access.rows("SELECT pg_backend_pid()") == pid  # It was the same connection.
        unit.access.owner(ME)
        assert {text for (text,) in unit.access.rows("SELECT text FROM message")} == {"mine"}
    store.close()


def test_the_application_role_owns_nothing_and_reaches_no_partition(
    connection: Connection,
) -> None:
    connection.execute(OPEN)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT * FROM message_p0")
    connection.execute("ROLLBACK")
    owned = "SELECT count(*) FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner WHERE rolname = %s"
    assert connection.execute(owned, (ROLE,)).fetchone() == (0,)
    mighty = "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = %s"
    assert connection.execute(mighty, (ROLE,)).fetchone() == (False, False, False)


def test_a_check_sees_that_the_lock_is_off(store: PostgresStore, connection: Connection) -> None:
    assert [c.name for c in check_server(connection, store.place) if not c.ok] == []
    connection.execute("ALTER TABLE jiyi.memory DISABLE ROW LEVEL SECURITY")
    found = {c.name: c for c in check_server(connection, store.place) if not c.ok}
    connection.execute("ALTER TABLE jiyi.memory ENABLE ROW LEVEL SECURITY")
    assert "memory" in found["row-level security"].detail
    assert found["row-level security"].fix


def test_a_scope_that_was_never_written_to_sees_nothing(store: PostgresStore) -> None:
    with store._snapshot() as unit:
        assert unit.access.owner(Scope("nobody")) is None
        assert unit.access.rows("SELECT * FROM message") == []
