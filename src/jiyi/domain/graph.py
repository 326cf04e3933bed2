"""Memories as a graph (SPEC G1–G3): a memory of the form subject – relation – object is an edge between two entities.

Nothing is kept twice: an edge is a memory read another way, and what a rule derives (`domain.fusion_rules`) is never kept
at all, but worked out when it is asked for, so it cannot outlive what it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jiyi.domain.confidence import ConfidencePolicy, faded
from jiyi.domain.entities import EntityType, EntityWords, Name
from jiyi.domain.memory import Memory, Source, Status, Tier
from jiyi.domain.patterns import PATTERN
from jiyi.domain.relations import Vocabulary

NOT_SAME = "~"
"""Begins the relation of an edge that tells that two names are *not* one thing."""


@dataclass(frozen=True, slots=True)
class GraphPolicy:
    """How far a question about the graph may reach, so that no graph makes it slow."""

    # Edges of one name that are looked at, by relation and then the latest first.
    fan: int = 1000
    max_hops: int = 6
    # Steps that one question may take, and matches that one rule may have.
    steps: int = 20_000
    matches: int = 256
    # SPEC G2: what activation is left after this time is half of it.
    half_life: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Edge:
    """One triple. `memory` is its number, 0 for one that `rule` derives from the memories `premises`.

    `literal`: its object is a value, so no way leads on from there. `mentions`: how often it was said. It holds from
    `valid_from` until before `valid_to`. `ceiling`: what a derived one rests on is no surer than this.
    """

    memory: int
    subject: str
    relation: str
    object: str
    literal: bool
    source: Source
    start: float
    affirmed_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    mentions: int = 1
    rule: str = ""
    premises: tuple[int, ...] = ()
    ceiling: float = 1.0

    def holds(self, at: datetime) -> bool:
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    def sure(self, now: datetime, policy: ConfidencePolicy) -> float:
        """Confidence in [0, 1] at `now` (SPEC B1)."""
        return min(self.ceiling, faded(self.source, self.start, now - self.affirmed_at, policy))


@dataclass(frozen=True, slots=True)
class Link:
    """An edge with the entities that it joins: the nodes of its subject and of its object."""

    edge: Edge
    start: str
    end: str

    def other(self, node: str) -> str:
        return self.end if node == self.start else self.start


@dataclass(frozen=True, slots=True)
class Followed:
    """How far an engine beside the database has followed the graph of a scope. `version` names the graph as it is at this
    moment, `told` as the engine had it last; empty when everything has to be told."""

    version: str
    told: str

    @property
    def level(self) -> bool:
        return self.version == self.told


@dataclass(frozen=True, slots=True)
class Telling:
    """A part of a graph for an engine: edges between nodes, the names of their ends, and what kind of thing each node is."""

    links: tuple[Link, ...] = ()
    names: tuple[Name, ...] = ()
    types: Mapping[str, EntityType] = field(default_factory=dict)


def edge_of(memory: Memory, vocabulary: Vocabulary, words: EntityWords) -> Edge | None:
    """A memory as an edge, None where it is none: without a triple, denied, only waiting, a mistake, or in the archive.

    What has ended was true once and stays, with its end. That two names are one thing, or are two, is kept as an edge
    between the names, which no question walks.
    """
    triple = memory.triple
    if triple is None or memory.status not in (Status.LIVE, Status.ENDED) or memory.tier is Tier.ARCHIVE:
        return None
    if triple.relation == PATTERN:  # It joins an occasion and a wish, not two things.
        return None
    relation, name = vocabulary.get(triple.relation), triple.relation
    identity = relation is not None and relation.identity
    if identity and memory.status is not Status.LIVE:
        return None
    if triple.negated:
        if not identity:
            return None
        name = NOT_SAME + name
    return Edge(
        memory=memory.seq,
        subject=triple.subject,
        relation=name,
        object=triple.object,
        literal=words.object_type(relation) is EntityType.VALUE,
        source=memory.source,
        start=memory.start,
        affirmed_at=memory.affirmed_at,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        mentions=max(1, len(memory.evidence)),
    )
