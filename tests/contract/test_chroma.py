"""A SQLite store whose vectors are found by Chroma, in this process and as a server, keeps the same contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from jiyi.ports import Store, Unit
from jiyi.stores.chroma import open_chroma
from jiyi.stores.scanning import numpy_scan
from jiyi.stores.sqlite.store import SqliteStore, open_sqlite
from jiyi.stores.sqlite.vectors import VectorRules
from jiyi.testing import contract
from tests.stores.chroma_server import chroma_server

T = TypeVar("T")


class Following:
    """A store whose engine hears of each write at once, and is asked however few vectors there are."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def write(self, work: Callable[[Unit], T], *, again: bool = False) -> T:
        result = self._store.write(work, again=again)
        self._store.catch_up()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Chroma:
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return str(tmp_path / "chroma")

    @pytest.fixture
    def open_again(self, tmp_path: Path, place: str) -> Iterator[Callable[[], Store]]:
        with ExitStack() as stack:

            def open_again() -> Store:
                rules = VectorRules(numpy_scan, open_chroma(place), share=0)
                store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL", vectors=rules)
                stack.callback(store.close)
                return Following(store)  # type: ignore[return-value]

            yield open_again

    @pytest.fixture
    def store(self, open_again: Callable[[], Store]) -> Store:
        return open_again()

    @pytest.fixture
    def reopen(self, open_again: Callable[[], Store]) -> Callable[[], Store]:
        return open_again


class TestVectorIndexInThisProcess(Chroma, contract.VectorIndexContract): ...


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with chroma_server(tmp_path_factory.mktemp("server") / "data") as port:
        yield port


class TestVectorIndexOnAServer(Chroma, contract.VectorIndexContract):
    @pytest.fixture
    def place(self, port: int) -> str:
        return f"http://127.0.0.1:{port}"
