"""PostgreSQL keeps the contract: 18 from the wheel, and 15 where it is."""

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
from tests.conftest import FULL
from tests.postgres.server import Server
from tests.postgres.stores import one_server

# The older server keeps the whole contract at full counts; every day, that of what servers may do differently.
both = pytest.mark.parametrize("postgres", ["wheel", "debian"], indirect=True)
newer = both if FULL else one_server


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


@newer
class TestForgotten(Postgres, contract.ForgottenContract): ...


@newer
class TestMessages(Postgres, contract.MessagesContract): ...


@newer
class TestMemories(Postgres, contract.MemoriesContract): ...


@newer
class TestSummaries(Postgres, contract.SummariesContract): ...


@both
class TestTextIndex(Postgres, contract.TextIndexContract): ...


@both
class TestNativeTextIndex(Native, contract.TextIndexContract): ...


@newer
class TestVectorIndex(Postgres, contract.VectorIndexContract): ...


@newer
class TestGraph(Postgres, contract.GraphContract): ...


class TestGraphFeed(Postgres, contract.GraphFeedContract): ...


@newer
class TestLedger(Postgres, contract.LedgerContract): ...


@both
class TestJobs(Postgres, contract.JobsContract): ...


@newer
class TestSchedule(Postgres, contract.ScheduleContract): ...


@newer
class TestSegments(Postgres, contract.SegmentsContract): ...


@newer
class TestModelCalls(Postgres, contract.ModelCallsContract): ...


@newer
class TestStandings(Postgres, contract.StandingsContract): ...


@newer
class TestTraces(Postgres, contract.TracesContract): ...


@newer
class TestOnce(Postgres, contract.OnceContract): ...


@newer
class TestServiceKeys(Postgres, contract.ServiceKeysContract): ...


@both
class TestStore(Postgres, contract.StoreContract): ...


@newer
class TestNativeStore(Native, contract.StoreContract): ...
