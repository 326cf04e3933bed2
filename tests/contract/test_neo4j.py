"""The contract of the graph, read from a real Neo4j that follows the database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from jiyi.stores.sqlite.store import open_sqlite
from jiyi.testing import contract
from tests.graph_engine.stores import FollowedStore, engine_at


class TestGraph(contract.GraphContract):
    @pytest.fixture
    def opened(self) -> Iterator[ExitStack]:
        with ExitStack() as stack:
            yield stack

    @pytest.fixture
    def reopen(self, opened: ExitStack, tmp_path: Path, neo4j: str) -> Callable[[], Any]:
        def reopen() -> FollowedStore:
            store = FollowedStore(open_sqlite(tmp_path / "memory.db", synchronous="NORMAL"), engine_at(neo4j))
            opened.callback(store.close)
            return store

        return reopen

    @pytest.fixture
    def store(self, reopen: Callable[[], Any]) -> Any:
        return reopen()
