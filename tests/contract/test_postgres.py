"""PostgreSQL keeps the contract: 18 from the wheel, and 15 where it is.

The older server keeps the whole of it at full counts; every day, that of what servers may do differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from jiyi.ports import Store
from jiyi.settings import PostgresPolicy, TextIndexName
from jiyi.stores.postgres.backup import restore
from jiyi.stores.postgres.store import open_postgres
from jiyi.stores.scanning import numpy_scan
from jiyi.testing import contract
from tests.postgres.server import Server
from tests.postgres.stores import both_servers, newer_server, one_server


class Postgres:
    text_index: TextIndexName = "postings"
    scan = staticmethod(numpy_scan)

    @pytest.fixture
    def opened(self) -> Iterator[ExitStack]:
        with ExitStack() as stack:
            yield stack

    @pytest.fixture
    def open_at(self, opened: ExitStack) -> Callable[[str], Store]:
        def open_at(url: str) -> Store:
            store = open_postgres(url, PostgresPolicy(wait_seconds=20), text_index=self.text_index, scan=self.scan)
            opened.callback(store.close)
            return store

        return open_at

    @pytest.fixture
    def store(self, postgres_url: str, open_at: Callable[[str], Store]) -> Store:
        return open_at(postgres_url)

    @pytest.fixture
    def reopen(self, postgres_url: str, open_at: Callable[[str], Store]) -> Callable[[], Store]:
        return lambda: open_at(postgres_url)

    @pytest.fixture
    def open_backup(self, postgres: Server, open_at: Callable[[str], Store]) -> Callable[[str], Store]:
        def open_backup(target: str) -> Store:
            url = postgres.new_database()
            restore(Path(target), url, PostgresPolicy())
            return open_at(url)

        return open_backup


class Native(Postgres):
    text_index: TextIndexName = "native"


class Pgvector(Postgres):
    @pytest.fixture
    def postgres_url(self, pgvector_url: str) -> str:
        return pgvector_url


@newer_server
class TestForgotten(Postgres, contract.ForgottenContract): ...


@newer_server
class TestMessages(Postgres, contract.MessagesContract): ...


@newer_server
class TestMemories(Postgres, contract.MemoriesContract): ...


@newer_server
class TestSummaries(Postgres, contract.SummariesContract): ...


@both_servers
class TestTextIndex(Postgres, contract.TextIndexContract): ...


@both_servers
class TestNativeTextIndex(Native, contract.TextIndexContract): ...


@newer_server
class TestVectorIndex(Postgres, contract.VectorIndexContract): ...


@one_server
class TestPgvector(Pgvector, contract.VectorIndexContract):
    def test_it_is_what_answers(self, store: Store) -> None:
        assert store.info().details["vector index"] == "pgvector"


@newer_server
class TestGraph(Postgres, contract.GraphContract): ...


@both_servers
class TestGraphFeed(Postgres, contract.GraphFeedContract): ...


@newer_server
class TestLedger(Postgres, contract.LedgerContract): ...


@both_servers
class TestJobs(Postgres, contract.JobsContract): ...


@newer_server
class TestSchedule(Postgres, contract.ScheduleContract): ...


@newer_server
class TestSegments(Postgres, contract.SegmentsContract): ...


@newer_server
class TestModelCalls(Postgres, contract.ModelCallsContract): ...


@newer_server
class TestStandings(Postgres, contract.StandingsContract): ...


@newer_server
class TestTraces(Postgres, contract.TracesContract): ...


@newer_server
class TestOnce(Postgres, contract.OnceContract): ...


@newer_server
class TestServiceKeys(Postgres, contract.ServiceKeysContract): ...


@both_servers
class TestStore(Postgres, contract.StoreContract): ...


@newer_server
class TestNativeStore(Native, contract.StoreContract): ...
