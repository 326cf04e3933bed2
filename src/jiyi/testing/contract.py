"""Contract suites: what `jiyi.ports` promises, as pytest classes, one suite per port.

To hold a store of your own to them, subclass with your fixtures and run pytest:

    class MyStore:
        @pytest.fixture
        def store(self, tmp_path):
            store = open_my_store(tmp_path / "my.db")
            yield store
            store.close()

        @pytest.fixture
        def reopen(self, tmp_path): ...

    class TestMessages(MyStore, MessagesContract): ...

`jiyi.testing.contract_base.Contract` says what the fixtures and abilities are. Call
`pytest.register_assert_rewrite("jiyi.testing")` in your conftest for full failure messages.
"""

from jiyi.testing.contract_base import Contract
from jiyi.testing.contract_forgotten import ForgottenContract
from jiyi.testing.contract_graph import GraphContract
from jiyi.testing.contract_graph_feed import GraphFeedContract
from jiyi.testing.contract_jobs import JobsContract
from jiyi.testing.contract_ledger import LedgerContract
from jiyi.testing.contract_memories import MemoriesContract
from jiyi.testing.contract_messages import MessagesContract
from jiyi.testing.contract_model import ModelCallsContract, SegmentsContract
from jiyi.testing.contract_schedule import ScheduleContract
from jiyi.testing.contract_served import OnceContract, ServiceKeysContract
from jiyi.testing.contract_standings import StandingsContract
from jiyi.testing.contract_store import StoreContract
from jiyi.testing.contract_summaries import SummariesContract
from jiyi.testing.contract_text import TextIndexContract
from jiyi.testing.contract_traces import TracesContract
from jiyi.testing.contract_vectors import VectorIndexContract

__all__ = [
    "Contract",
    "ForgottenContract",
    "GraphContract",
    "GraphFeedContract",
    "JobsContract",
    "LedgerContract",
    "MemoriesContract",
    "MessagesContract",
    "ModelCallsContract",
    "OnceContract",
    "ScheduleContract",
    "SegmentsContract",
    "ServiceKeysContract",
    "StandingsContract",
    "StoreContract",
    "SummariesContract",
    "TextIndexContract",
    "TracesContract",
    "VectorIndexContract",
]
