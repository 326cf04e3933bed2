"""The shapes of the graph: what memories speak of, and the triples that every answer rests on (SPEC G1–G3)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from typing import Annotated

from pydantic import Field

from jiyi.domain.entities import EntityType, Reason
from jiyi.pipelines.graph.questions import Answers, NearBy, Picture, Row
from jiyi.pipelines.graph.questions import Entity as Known
from jiyi.pipelines.graph.questions import Insight as Seen
from jiyi.pipelines.graph.questions import Path as Way
from jiyi.pipelines.graph.questions import Tie as Told
from jiyi.surfaces.shapes import MemoryId, Moment, Page, Shape, moment, when

Called = Annotated[str, Field(examples=["阿里云", "Acme"])]
Cut = Annotated[bool, Field(description="Whether a limit of the settings (`graph`) left something out.")]
Note = Annotated[
    str, Field(description="Why the database answered in the place of the graph engine, where one is set.")
]


class Tie(Shape):
    """One triple. `memory` is what it rests on; null where `rule` derives it from the memories `premises`."""

    subject: Called
    relation: Annotated[str, Field(examples=["COMPETES_WITH"])]
    object: Called
    confidence: float
    text: str
    since: Moment
    until: Moment | None
    memory: MemoryId | None
    rule: str | None
    premises: list[MemoryId]

    @classmethod
    def of(cls, tie: Told, zone: tzinfo) -> Tie:
        return cls(
            subject=tie.subject, relation=tie.relation, object=tie.object, confidence=tie.confidence, text=tie.text,
            since=moment(tie.since, zone), until=when(tie.until, zone), memory=tie.memory or None, rule=tie.rule or None,
            premises=list(tie.premises),
        )  # fmt: skip


def ties(some: Iterable[Told], zone: tzinfo) -> list[Tie]:
    return [Tie.of(tie, zone) for tie in some]


class Entity(Shape):
    """`name` stands for all its names; `aliases` says of each why it is one. `weight` says how much it matters now and
    `because` by which rules; both only where one entity was asked for."""

    name: Called
    type: EntityType
    aliases: dict[str, Reason]
    weight: float | None
    because: dict[str, float] | None

    @classmethod
    def of(cls, entity: Known) -> Entity:
        weighed = entity.because is not None
        return cls(
            name=entity.name, type=entity.type, aliases={a.name: a.reason for a in entity.aliases},
            weight=entity.weight if weighed else None,
            because=None if entity.because is None else dict(entity.because),
        )  # fmt: skip


class EntityPage(Page):
    entities: list[Entity]


class Neighbour(Shape):
    """`path` is the surest way there, and `confidence` the product over it."""

    entity: Called
    type: EntityType
    hops: int
    confidence: float
    path: list[Tie]


class Neighbours(Shape):
    neighbours: list[Neighbour]
    cut: Cut
    note: Note

    @classmethod
    def of(cls, found: Answers[NearBy], zone: tzinfo) -> Neighbours:
        near = [
            Neighbour(
                entity=n.entity, type=n.type, hops=n.hops, confidence=n.confidence, path=ties(n.path, zone)
            )
            for n in found
        ]  # fmt: skip
        return cls(neighbours=near, cut=found.cut, note=found.note)


class Path(Shape):
    """`entities` are those that it passes, both ends included."""

    entities: list[str]
    confidence: float
    ties: list[Tie]


class Paths(Shape):
    paths: list[Path]
    cut: Cut
    note: Note

    @classmethod
    def of(cls, found: Answers[Way], zone: tzinfo) -> Paths:
        ways = [Path(entities=list(p.entities), confidence=p.confidence, ties=ties(p.ties, zone)) for p in found]
        return cls(paths=ways, cut=found.cut, note=found.note)


class Match(Shape):
    """`bound`: an entity for each variable. `days`: from the beginning of each triple to that of the next."""

    bound: dict[str, str]
    confidence: float
    days: list[float]
    ties: list[Tie]


class Matches(Shape):
    matches: list[Match]
    cut: Cut
    note: Note

    @classmethod
    def of(cls, found: Answers[Row], zone: tzinfo) -> Matches:
        rows = [
            Match(bound=dict(r.bound), confidence=r.confidence, days=list(r.days), ties=ties(r.ties, zone))
            for r in found
        ]  # fmt: skip
        return cls(matches=rows, cut=found.cut, note=found.note)


class Insight(Shape):
    """What a rule derives, and the rule's explanation of it."""

    tie: Tie
    why: str

    @classmethod
    def of(cls, insight: Seen, zone: tzinfo) -> Insight:
        return cls(tie=Tie.of(insight.tie, zone), why=insight.why)


class InsightPage(Page):
    derived: list[Insight]
    cut: Cut
    note: Note


class Graph(Shape):
    entities: list[Entity]
    ties: list[Tie]
    cut: Cut
    note: Note

    @classmethod
    def of(cls, picture: Picture, zone: tzinfo) -> Graph:
        entities = [Entity.of(e) for e in picture.entities]
        return cls(entities=entities, ties=ties(picture.ties, zone), cut=picture.cut, note=picture.note)
