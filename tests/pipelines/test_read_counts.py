"""Counting reads never costs a read (SPEC F5)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from jiyi.assembly import assemble
from jiyi.domain.scope import Scope
from jiyi.errors import StoreBusy
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.recalling import gathering
from jiyi.pipelines.recalling.gathering import Gathered
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


@pytest.mark.parametrize("linger", [0.001, 60.0])
def test_what_gathers_is_written_by_whichever_thread_is_there(linger: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LINGER_SECONDS", linger)
    written: list[int] = []

    def write(_: Unit, notes: Sequence[int]) -> None:
        written.extend(notes)

    gathered: Gathered[int] = Gathered(open_reference(), 1, write, "numbers")
    for number in range(1, 41):
        gathered.note([number])
        if number % 8 == 0:
            time.sleep(0.01)  # long enough for a thread that lingers shortly to be gone
    gathered.close()
    assert written == list(range(1, 41))
