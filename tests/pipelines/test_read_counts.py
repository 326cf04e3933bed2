"""Counting reads never costs a read (SPEC F5)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from jiyi.assembly import assemble
from jiyi.domain.scope import Scope
from jiyi.errors import StoreBusy
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Unit
from jiyi.settings import AccessPolicy, Settings
from jiyi.stores.reference import ReferenceData, ReferenceStore, open_reference
from tests.conftest import Clock

T = TypeVar("T")
ME = Scope("ming")
NOW = datetime(2026, 3, 2, 1, tzinfo=UTC)


class OftenBusy(ReferenceStore):
    """A store whose write lock another process holds whenever `busy` is set."""

    busy = False

    def write(self, work: Callable[[Unit], T], *, again: bool = False) -> T:
        if self.busy:
            raise StoreBusy("another process holds the lock")
        return super().write(work, again=again)


def heat(data: ReferenceData) -> float:
    with open_reference(data).read() as unit:
        return unit.memories.heat(ME, [1])[1].visits


def test_a_recall_answers_though_its_count_cannot_be_written() -> None:
    data = ReferenceData()
    store = OftenBusy(data, open_reference()._bm25)
    layer = MemoryLayer(store, assemble(Settings(worker=False, access=AccessPolicy(flush_after=1))), Clock(NOW))
    me = layer.scope("ming")
    me.remember("I love tea")
    store.busy = True
    for _ in range(3):
        assert me.recall("tea").items
    store.busy = False
    assert me.recall("tea").items
    layer.work()  # waits for what is written aside
    assert heat(data) == 4
    store.busy = True
    assert me.recall("tea").items
    layer.close()
    assert store._closed
