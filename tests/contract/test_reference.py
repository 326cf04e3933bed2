from collections.abc import Callable, Iterator

import pytest

from jiyi.ports import Store
from jiyi.stores.reference import ReferenceStore, open_reference
from jiyi.testing import contract


class Reference:
    @pytest.fixture
    def store(self) -> Iterator[ReferenceStore]:
        store = open_reference()
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, store: ReferenceStore) -> Callable[[], Store]:
        return lambda: open_reference(store.data)

    @pytest.fixture
    def open_backup(self, store: ReferenceStore) -> Callable[[str], Store]:
        return lambda target: open_reference(store.data.backups[target])


class TestForgotten(Reference, contract.ForgottenContract): ...


class TestMessages(Reference, contract.MessagesContract): ...


class TestMemories(Reference, contract.MemoriesContract): ...


class TestSummaries(Reference, contract.SummariesContract): ...


class TestTextIndex(Reference, contract.TextIndexContract): ...


class TestVectorIndex(Reference, contract.VectorIndexContract): ...


class TestGraph(Reference, contract.GraphContract): ...


class TestGraphFeed(Reference, contract.GraphFeedContract): ...


class TestLedger(Reference, contract.LedgerContract): ...


class TestJobs(Reference, contract.JobsContract): ...


class TestSchedule(Reference, contract.ScheduleContract): ...


class TestSegments(Reference, contract.SegmentsContract): ...


class TestModelCalls(Reference, contract.ModelCallsContract): ...


class TestStandings(Reference, contract.StandingsContract): ...


class TestTraces(Reference, contract.TracesContract): ...


class TestOnce(Reference, contract.OnceContract): ...


class TestServiceKeys(Reference, contract.ServiceKeysContract): ...


class TestStore(Reference, contract.StoreContract): ...
