"""One unit of work over all ports: a snapshot for reading, or a transaction for writing."""

from __future__ import annotations

from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Scan
from jiyi.ports import BM25
from jiyi.stores.postgres.access import PostgresAccess
from jiyi.stores.postgres.forgotten import PostgresForgotten
from jiyi.stores.postgres.graph import PostgresGraph
from jiyi.stores.postgres.graph_feed import PostgresGraphFeed
from jiyi.stores.postgres.ledger import PostgresLedger
from jiyi.stores.postgres.memories import PostgresMemories
from jiyi.stores.postgres.messages import PostgresMessages
from jiyi.stores.postgres.notes import PostgresModelCalls, PostgresSegments, PostgresStandings, PostgresTraces
from jiyi.stores.postgres.queue import PostgresJobs, PostgresSchedule
from jiyi.stores.postgres.served import PostgresOnce, PostgresServiceKeys
from jiyi.stores.postgres.summaries import PostgresSummaries
from jiyi.stores.postgres.text_index import TextIndexes
from jiyi.stores.postgres.vectors import PostgresVectors
from jiyi.stores.postings import TermHash
from jiyi.stores.text_index import SqlTextIndex


class PostgresUnit:
    """`ports.Unit`; and `access`, for the store itself: what is not part of a port."""

    def __init__(self, access: PostgresAccess, secret: bytes, hashed: TermHash, bm25: BM25, scan: Scan) -> None:
        self.access = access
        self.forgotten = PostgresForgotten(access, secret)
        self.messages = PostgresMessages(access)
        self.memories = PostgresMemories(access)
        self.summaries = PostgresSummaries(access)
        self.text = SqlTextIndex(access, TextIndexes(access, hashed, bm25))
        self.vectors = PostgresVectors(access, scan)
        self.ledger = PostgresLedger(access)
        self.jobs = PostgresJobs(access)
        self.schedule = PostgresSchedule(access)
        self.segments = PostgresSegments(access)
        self.model_calls = PostgresModelCalls(access)
        self.standings = PostgresStandings(access)
        self.traces = PostgresTraces(access)
        self.graph = PostgresGraph(access)
        self.graph_feed = PostgresGraphFeed(access)
        self.once = PostgresOnce(access)
        self.service_keys = PostgresServiceKeys(access)

    def scopes(self) -> list[Scope]:
        self.access.operate()
        rows = self.access.rows("SELECT tenant, usr FROM owner ORDER BY number")
        return [Scope(user=user, tenant=tenant) for tenant, user in rows]
