from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from jiyi.ports import Store
from jiyi.settings import TextIndexName
from jiyi.stores.scanning import numpy_scan
from jiyi.stores.sqlite.store import open_sqlite
from jiyi.stores.sqlite.vectors import VectorRules
from jiyi.testing import contract


class Sqlite:
    text_index: TextIndexName = "postings"
    vectors = VectorRules()

    @pytest.fixture
    def opened(self) -> Iterator[ExitStack]:
        with ExitStack() as stack:
            yield stack

    @pytest.fixture
    def open_at(self, opened: ExitStack) -> Callable[[Path | str], Store]:
        def open_at(path: Path | str) -> Store:
            store = open_sqlite(path, text_index=self.text_index, synchronous="NORMAL", vectors=self.vectors)
            opened.callback(store.close)
            return store

        return open_at

    @pytest.fixture
    def store(self, tmp_path: Path, open_at: Callable[[Path | str], Store]) -> Store:
        return open_at(tmp_path / "memory.db")

    @pytest.fixture
    def reopen(self, tmp_path: Path, open_at: Callable[[Path | str], Store]) -> Callable[[], Store]:
        return lambda: open_at(tmp_path / "memory.db")

    @pytest.fixture
    def open_backup(self, open_at: Callable[[Path | str], Store]) -> Callable[[str], Store]:
        return open_at


class Native(Sqlite):
    text_index: TextIndexName = "native"


class Numpy(Sqlite):
    vectors = VectorRules(numpy_scan)


class TestForgotten(Sqlite, contract.ForgottenContract): ...


class TestMessages(Sqlite, contract.MessagesContract): ...


class TestMemories(Sqlite, contract.MemoriesContract): ...


class TestSummaries(Sqlite, contract.SummariesContract): ...


class TestTextIndex(Sqlite, contract.TextIndexContract): ...


class TestNativeTextIndex(Native, contract.TextIndexContract): ...


class TestVectorIndex(Sqlite, contract.VectorIndexContract): ...


class TestVectorIndexByNumpy(Numpy, contract.VectorIndexContract): ...


class TestGraph(Sqlite, contract.GraphContract): ...


class TestGraphFeed(Sqlite, contract.GraphFeedContract): ...


class TestLedger(Sqlite, contract.LedgerContract): ...


class TestJobs(Sqlite, contract.JobsContract): ...


class TestSchedule(Sqlite, contract.ScheduleContract): ...


class TestSegments(Sqlite, contract.SegmentsContract): ...


class TestModelCalls(Sqlite, contract.ModelCallsContract): ...


class TestStandings(Sqlite, contract.StandingsContract): ...


class TestTraces(Sqlite, contract.TracesContract): ...


class TestOnce(Sqlite, contract.OnceContract): ...


class TestServiceKeys(Sqlite, contract.ServiceKeysContract): ...


class TestStore(Sqlite, contract.StoreContract): ...


class TestNativeStore(Native, contract.StoreContract): ...
