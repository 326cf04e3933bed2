"""One unit of work over all ports: a snapshot for reading, or a transaction for writing."""

from __future__ import annotations

from functools import cached_property

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
    """Each port is made when it is first asked for: a unit needs a few of them, and there are many units."""

    def __init__(self, access: Access, rules: TextRules, secret: bytes, vectors: VectorRules, kept: Kept) -> None:
        self._access = access
        self._rules = rules
        self._secret = secret
        self._vector_rules = vectors
        self._kept = kept

    @cached_property
    def forgotten(self) -> SqliteForgotten:
        return SqliteForgotten(self._access, self._secret)

    @cached_property
    def messages(self) -> SqliteMessages:
        return SqliteMessages(self._access, self._kept)

    @cached_property
    def memories(self) -> SqliteMemories:
        return SqliteMemories(self._access, self._kept.memories)

    @cached_property
    def summaries(self) -> SqliteSummaries:
        return SqliteSummaries(self._access)

    @cached_property
    def text(self) -> SqlTextIndex:
        return text_index(self._access, self._rules)

    @cached_property
    def vectors(self) -> SqliteVectors:
        return SqliteVectors(self._access, self._vector_rules, self._kept.vectors)

    @cached_property
    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self._access)

    @cached_property
    def jobs(self) -> SqliteJobs:
        return SqliteJobs(self._access)

    @cached_property
    def schedule(self) -> SqliteSchedule:
        return SqliteSchedule(self._access)

    @cached_property
    def segments(self) -> SqliteSegments:
        return SqliteSegments(self._access)

    @cached_property
    def model_calls(self) -> SqliteModelCalls:
        return SqliteModelCalls(self._access)

    @cached_property
    def standings(self) -> SqliteStandings:
        return SqliteStandings(self._access)

    @cached_property
    def traces(self) -> SqliteTraces:
        return SqliteTraces(self._access)

    @cached_property
    def once(self) -> SqliteOnce:
        return SqliteOnce(self._access)

    @cached_property
    def service_keys(self) -> SqliteServiceKeys:
        return SqliteServiceKeys(self._access)

    @cached_property
    def graph(self) -> SqliteGraph:
        return SqliteGraph(self._access)

    @cached_property
    def graph_feed(self) -> SqliteGraphFeed:
        return SqliteGraphFeed(self._access)

    @property
    def access(self) -> Access:
        """For the store itself: what is not part of a port."""
        return self._access

    def scopes(self) -> list[Scope]:
        rows = self._access.rows("SELECT tenant, user FROM owner ORDER BY number")
        return [Scope(user=user, tenant=tenant) for tenant, user in rows]
