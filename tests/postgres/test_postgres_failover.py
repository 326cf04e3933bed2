"""The primary is killed under load and its standby takes over (SPEC O2): clients go on by themselves, and no message that was
acknowledged is lost."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.vectors import plain_scan
from jiyi.errors import StoreAway, WriteUncertain
from jiyi.ports import BM25, Unit
from jiyi.settings import PostgresPolicy
from jiyi.stores.postgres.connection import place_of
from jiyi.stores.postgres.store import PostgresStore, open_postgres
from tests.conftest import binaries_of, count
from tests.postgres.pair import Pair, pair
from tests.postgres.server import Server, free_port
from tests.postgres.stores import one_server, open_on
from tests.postgres.test_postgres_processes import start
from tests.stores.facts import ME, NOW, learn

SECONDS = count("failover_seconds")


@pytest.fixture
def two() -> Iterator[Pair]:
    with pair(binaries_of("wheel")) as running:
        yield running


OF_THE_DRIVER = "error ignored terminating <psycopg.Pipeline"
"""It warns so of a connection that is lost under several rows; that it is lost we hear by an error of its own."""


class Client:
    """A process of a service, and what it says."""

    def __init__(self, *arguments: object) -> None:
        self.process = start(*arguments)
        self.said: list[dict[str, Any]] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(map(json.loads, self.process.stdout))

    def end(self) -> None:
        self._reading.join()
        with self.process as process:
            assert process.stderr is not None
            said = [line for line in process.stderr if not line.startswith(OF_THE_DRIVER)]
            assert (said, process.wait(60)) == ([], 0)


@pytest.mark.full
@pytest.mark.writers
def test_no_acknowledged_message_is_lost_when_a_standby_takes_over(two: Pair, tmp_path: Path) -> None:
    open_postgres(two.url).close()
    clients = [Client(two.url, tmp_path, f"p{i}", SECONDS, 20, "observe", "observe", "work") for i in range(3)]
    while not all(sum("message" in line for line in client.said) > 5 for client in clients):
        assert all(client.process.poll() is None for client in clients)
        time.sleep(0.01)
    two.kill_primary()
    killed = time.monotonic()
    two.promote()
    took_over = time.monotonic() - killed
    for client in clients:
        client.end()
    said = [line for client in clients for line in client.said]
    assert [line for line in said if "error" in line] == []
    acknowledged = {(line["user"], line["message"]) for line in said if "message" in line}
    with psycopg.connect(two.standby.url()) as connection:
        stored = set(
            connection.execute("SELECT usr, id FROM jiyi.message JOIN jiyi.owner ON number = owner").fetchall()
        )
    after = sum("message" in line and line["at"] > killed for line in said)
    print(
        f"3 processes, {SECONDS} s, standby took over in {took_over:.2f} s: {len(acknowledged)} messages acknowledged, {after} of them after it, "
        f"{len(acknowledged - stored)} of them lost, {len(stored - acknowledged)} stored without an answer; "
        f"longest call {max(line['seconds'] for line in said if 'seconds' in line):.1f} s"
    )
    assert after
    assert acknowledged - stored == set()
    # What had no answer was asked again under its id: nothing is there that was not acknowledged in the end.
    assert stored - acknowledged == set()
    with open_on(two.url, tmp_path, lambda: datetime.now(UTC)) as layer:  # noqa: TID251
        layer.work()
        assert [c for c in layer.check() if not c.ok] == []


# ---------------------------------------------------------------------------------- what a call says and does then


@one_server
def test_a_write_that_lost_its_server_on_the_way_is_done_again(postgres_url: str, postgres: Server) -> None:
    """Once, as if nothing had been."""
    store = open_postgres(postgres_url)
    store.write(lambda unit: learn(unit, ME, "a", "before"))
    runs = []

    def cut(unit: Unit) -> None:
        runs.append(1)
        learn(unit, ME, "b", "twice begun")
        if len(runs) == 1:
            end_all(postgres)
            unit.messages.last_seq(ME)

    store.write(cut)
    with store.read() as unit:
        assert [m.id for m in unit.messages.window(ME)] == ["a", "b"]
    assert len(runs) == 2
    store.close()


@one_server
def test_a_commit_without_an_answer_is_told_or_done_again(postgres_url: str, postgres: Server) -> None:
    store = open_postgres(postgres_url)
    postgres.run("DROP FUNCTION IF EXISTS jiyi.cut() CASCADE", database=postgres_url.rpartition("/")[2])
    postgres.run(CUT_AT_COMMIT, database=postgres_url.rpartition("/")[2])
    try:
        runs = []

        def say(unit: Unit, message_id: str) -> None:
            runs.append(message_id)
            unit.messages.add(
                ME, [IncomingMessage(message_id, "s1", Role.USER, "cut" if len(runs) in (1, 2) else "said", NOW)]
            )

        with pytest.raises(WriteUncertain, match="may have been kept"):
            store.write(lambda unit: say(unit, "a"))
        store.write(lambda unit: say(unit, "b"), again=True)
        assert runs == ["a", "b", "b"]
        with store.read() as unit:
            assert [(m.id, m.text) for m in unit.messages.window(ME)] == [("b", "said")]
    finally:
        postgres.run("DROP FUNCTION jiyi.cut() CASCADE", database=postgres_url.rpartition("/")[2])
        store.close()


CUT_AT_COMMIT = """
    CREATE FUNCTION jiyi.cut() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(0.1); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON jiyi.message DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.text = 'cut') EXECUTE FUNCTION jiyi.cut();
"""
"""The connection is lost after COMMIT was sent."""


@one_server
def test_connections_that_were_lost_are_made_again(postgres_url: str, postgres: Server) -> None:
    store = open_postgres(postgres_url)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            list(pool.map(lambda n: store.write(lambda unit: unit.messages.last_seq(ME)), range(8)))
            end_all(postgres)
    with store.read() as unit:
        assert unit.messages.last_seq(ME) == 0
    store.close()


@one_server
def test_a_server_that_is_away_is_said_to_be(
    postgres_url: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    away = postgres_url.replace(str(conninfo_to_dict(postgres_url)["port"]), str(free_port()))
    store = PostgresStore(place_of(away, PostgresPolicy(away_seconds=0.3)), b"s" * 32, True, BM25(), plain_scan)
    for call in (lambda: store.write(lambda unit: None), lambda: store.meta("x")):
        with pytest.raises(StoreAway, match=r"cannot be reached .*refused.* start the server"):
            call()
    store.close()
    assert caplog.text == ""
    assert capfd.readouterr().err == ""


def end_all(postgres: Server) -> None:
    postgres.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'jiyi'")
