"""One unit of work over all ports: a snapshot for reading, or a transaction for writing."""

from __future__ import annotations

from jiyi.domain.scope import Scope
from jiyi.ports import Unit
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.forgotten import SqliteForgotten
from jiyi.stores.sqlite.graph import SqliteGraph
from jiyi.stores.sqlite.graph_feed import SqliteGraphFeed
from jiyi.stores.sqlite.jobs import SqliteJobs
from jiyi.stores.sqlite.kept import Kept
from jiyi.stores.sqlite.ledger import SqliteLedger
from jiyi.stores.sqlite.memories import SqliteMemories
from jiyi.stores.sqlite.messages import SqliteMessages
from jiyi.stores.sqlite.model import SqliteModelCalls, SqliteSegments
from jiyi.stores.sqlite.schedule import SqliteSchedule
from jiyi.stores.sqlite.served import SqliteOnce, SqliteServiceKeys
from jiyi.stores.sqlite.standings import SqliteStandings
from jiyi.stores.sqlite.summaries import SqliteSummaries
from jiyi.stores.sqlite.text_index import TextRules, text_index
from jiyi.stores.sqlite.traces import SqliteTraces
from jiyi.stores.sqlite.vectors import SqliteVectors, VectorRules
from jiyi.stores.text_index import SqlTextIndex


class SqliteUnit(Unit):
    def __init__(self, access: Access, rules: TextRules, secret: bytes, vectors: VectorRules, kept: Kept) -> None:
        self._access = access
        self._forgotten = SqliteForgotten(access, secret)
        self._messages = SqliteMessages(access, kept)
        self._memories = SqliteMemories(access, kept.memories)
        self._summaries = SqliteSummaries(access)
        self._text = text_index(access, rules)
        self._vectors = SqliteVectors(access, vectors, kept.vectors)
        self._ledger = SqliteLedger(access)
        self._jobs = SqliteJobs(access)
        self._schedule = SqliteSchedule(access)
        self._segments = SqliteSegments(access)
        self._model_calls = SqliteModelCalls(access)
        self._standings = SqliteStandings(access)
        self._traces = SqliteTraces(access)
        self._once = SqliteOnce(access)
        self._service_keys = SqliteServiceKeys(access)
        self._graph = SqliteGraph(access)
        self._graph_feed = SqliteGraphFeed(access)

    @property
    def forgotten(self) -> SqliteForgotten:
        return self._forgotten

    @property
    def messages(self) -> SqliteMessages:
        return self._messages

    @property
    def memories(self) -> SqliteMemories:
        return self._memories

    @property
    def summaries(self) -> SqliteSummaries:
        return self._summaries

    @property
    def text(self) -> SqlTextIndex:
        return self._text

    @property
    def vectors(self) -> SqliteVectors:
        return self._vectors

    @property
    def ledger(self) -> SqliteLedger:
        return self._ledger

    @property
    def jobs(self) -> SqliteJobs:
        return self._jobs

    @property
    def schedule(self) -> SqliteSchedule:
        return self._schedule

    @property
    def segments(self) -> SqliteSegments:
        return self._segments

    @property
    def model_calls(self) -> SqliteModelCalls:
        return self._model_calls

    @property
    def standings(self) -> SqliteStandings:
        return self._standings

    @property
    def traces(self) -> SqliteTraces:
        return self._traces

    @property
    def once(self) -> SqliteOnce:
        return self._once

    @property
    def service_keys(self) -> SqliteServiceKeys:
        return self._service_keys

    @property
    def graph(self) -> SqliteGraph:
        return self._graph

    @property
    def graph_feed(self) -> SqliteGraphFeed:
        return self._graph_feed

    @property
    def access(self) -> Access:
        """For the store itself: what is not part of a port."""
        return self._access

    def scopes(self) -> list[Scope]:
        rows = self._access.rows("SELECT tenant, user FROM owner ORDER BY number")
        return [Scope(user=user, tenant=tenant) for tenant, user in rows]
