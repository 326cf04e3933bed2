"""The SQLite store keeps every promise of `jiyi.ports`, with each of its text indexes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jiyi.ports import Store
from jiyi.settings import TextIndexName
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.testing import contract


class Sqlite:
    text_index: TextIndexName = "postings"

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqliteStore]:
        store = open_sqlite(tmp_path / "memory.db", text_index=self.text_index, synchronous="NORMAL")
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Callable[[], Store]]:
        yield from self._opener(lambda _: tmp_path / "memory.db")

    @pytest.fixture
    def open_backup(self) -> Iterator[Callable[[str], Store]]:
        yield from self._opener(Path)

    def _opener(self, place: Callable[[str], Path]) -> Iterator[Callable[..., Store]]:
        opened: list[SqliteStore] = []

        def open_again(name: str = "") -> Store:
            opened.append(open_sqlite(place(name), text_index=self.text_index, synchronous="NORMAL"))
            return opened[-1]

        yield open_again
        for store in opened:
            store.close()


class Native(Sqlite):
    text_index: TextIndexName = "native"


class TestMessages(Sqlite, contract.MessagesContract): ...


class TestMemories(Sqlite, contract.MemoriesContract): ...


class TestLedger(Sqlite, contract.LedgerContract): ...


class TestJobs(Sqlite, contract.JobsContract): ...


class TestPostings(Sqlite, contract.TextIndexContract): ...


class TestNative(Native, contract.TextIndexContract): ...


class TestStore(Sqlite, contract.StoreContract): ...


class TestStoreWithNative(Native, contract.StoreContract): ...
