"""What jiyi asks of what stands around it, cut by role. Each method carries its promise; the contract suites in
`jiyi.testing` hold every backend to them, with `jiyi.stores.reference` as the oracle.

Rules that hold for every port:

- The scope comes first and nothing outside it is read, changed or named. Methods marked *operator* see
  all scopes and return no memory text.
- Sequence numbers (`seq`) count from 1 inside a scope, per kind, and are never used twice.
- Reading what is not there gives nothing (an empty list, `None`); it is not an error.
- Instants are aware datetimes; stores keep microseconds and, for messages, the offset they were said in.
"""

from jiyi.ports.embedding import Discerning, Embedder, Meter, VectorEngine
from jiyi.ports.forgotten import Forgotten
from jiyi.ports.graph import Graph, GraphEngine, GraphFeed, GraphReader
from jiyi.ports.ledger import Ledger, Standings
from jiyi.ports.memories import Memories
from jiyi.ports.messages import Messages, SessionInfo
from jiyi.ports.models import ChatModel, ModelCalls, Segments
from jiyi.ports.queues import DeadJob, Due, Job, JobCounts, Jobs, Lane, Schedule
from jiyi.ports.served import Once, ServiceKeys
from jiyi.ports.store import Check, Keys, Store, StoreInfo, Unit
from jiyi.ports.summaries import Summaries
from jiyi.ports.text_index import BM25, MAX_QUERY_TERMS, Document, Hit, Kind, Occurrence, TextIndex
from jiyi.ports.traces import Traces
from jiyi.ports.vectors import VectorIndex
from jiyi.ports.views import Carried, View

__all__ = [
    "BM25",
    "MAX_QUERY_TERMS",
    "Carried",
    "ChatModel",
    "Check",
    "DeadJob",
    "Discerning",
    "Document",
    "Due",
    "Embedder",
    "Forgotten",
    "Graph",
    "GraphEngine",
    "GraphFeed",
    "GraphReader",
    "Hit",
    "Job",
    "JobCounts",
    "Jobs",
    "Keys",
    "Kind",
    "Lane",
    "Ledger",
    "Memories",
    "Messages",
    "Meter",
    "ModelCalls",
    "Occurrence",
    "Once",
    "Schedule",
    "Segments",
    "ServiceKeys",
    "SessionInfo",
    "Standings",
    "Store",
    "StoreInfo",
    "Summaries",
    "TextIndex",
    "Traces",
    "Unit",
    "VectorEngine",
    "VectorIndex",
    "View",
]
