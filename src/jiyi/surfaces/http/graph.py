"""Routes of the graph: what memories speak of, what leads from one thing to another, and which names are one (SPEC G1–G3).

Names stand in the query and never in the path: a name may hold a slash.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from jiyi.domain.memory import Language
from jiyi.pipelines.graph.questions import MAX_LIMIT
from jiyi.surfaces import changed, graph_shapes
from jiyi.surfaces.http import bodies
from jiyi.surfaces.http.calls import Changing, Reading
from jiyi.surfaces.http.paging import Cursor, PageLimit, cursor_of, page, place_in
from jiyi.surfaces.http.writing import receipt_of

router = APIRouter(prefix="/graph", tags=["Graph"])

EntityName = Annotated[
    str,
    Query(
        min_length=1,
        max_length=200,
        description="Any of its names; 用户 or User, 贵司 or User's company for the user's own side.",
        examples=["阿里云", "Acme"],
    ),
]
Hops = Annotated[int, Query(ge=1, le=100, description="Steps at the most; the settings (`graph.max_hops`) bound it.")]
Relations = Annotated[
    list[Annotated[str, Query(min_length=1, max_length=100)]] | None,
    Query(
        max_length=50,
        description="Only these, by name (COMPETES_WITH) or as people call them (竞品).",
        examples=[["竞品"], ["WORKS_AT", "COMPETES_WITH"]],
    ),
]
Sure = Annotated[float, Query(ge=0, le=1, description="How sure every step must be.")]
At = Annotated[str | None, Query(max_length=64, description="What held then, instead of now. ISO 8601 with a zone.")]
Most = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at the most, the best first.")]
Tongue = Annotated[
    Language | None, Query(description="In which the user's own side is told; by default that of the memories.")
]


@router.get("")
async def graph(
    call: Reading,
    around: Annotated[str | None, Query(min_length=1, max_length=200, description="Only what is near this.")] = None,
    hops: Hops = 2,
    relation: Relations = None,
    min_confidence: Sure = 0.0,
    at: At = None,
    language: Tongue = None,
) -> graph_shapes.Graph:
    """All of it, or what is near one entity, told and derived: to be drawn or handed on."""
    found = await call.read(
        lambda: call.me.graph(
            around=around, hops=hops, relations=relation or (), min_confidence=min_confidence, at=at, language=language
        )
    )
    return graph_shapes.Graph.of(found, call.zone)


@router.get("/entities")
async def entities(
    call: Reading, limit: PageLimit = 50, cursor: Cursor = None, language: Tongue = None
) -> graph_shapes.EntityPage:
    """What memories speak of now, with all names and why each is one, those in most triples first."""
    after = place_in("entities", cursor)
    found = await call.read(lambda: call.me.entities(limit + 1, after=after, language=language))
    shown = found[:limit]
    # The user's own side is shown by words that are no name; any of its names leads back to it.
    last = next((a.name for a in shown[-1].aliases), shown[-1].name) if len(found) > limit else None
    return graph_shapes.EntityPage(
        entities=[graph_shapes.Entity.of(e) for e in shown],
        cursor=None if last is None else cursor_of("entities", last),
    )


@router.get("/entity")
async def entity(call: Reading, name: EntityName, language: Tongue = None) -> graph_shapes.Entity:
    """One of them by any of its names: why each is its name, and how much it matters now."""
    return graph_shapes.Entity.of(await call.read(lambda: call.me.entity(name, language=language)))


@router.get("/neighbours")
async def neighbours(
    call: Reading,
    name: EntityName,
    hops: Hops = 1,
    relation: Relations = None,
    min_confidence: Sure = 0.0,
    at: At = None,
    limit: Most = 50,
    language: Tongue = None,
) -> graph_shapes.Neighbours:
    """What is within so many steps of something, told or derived by a rule, the nearest and surest first."""
    found = await call.read(
        lambda: call.me.neighbours(
            name,
            hops=hops,
            relations=relation or (),
            min_confidence=min_confidence,
            at=at,
            limit=limit,
            language=language,
        )
    )
    return graph_shapes.Neighbours.of(found, call.zone)


@router.get("/paths")
async def paths(
    call: Reading,
    start: EntityName,
    end: EntityName,
    hops: Hops = 4,
    relation: Relations = None,
    min_confidence: Sure = 0.0,
    at: At = None,
    limit: Most = 10,
    language: Tongue = None,
) -> graph_shapes.Paths:
    """What leads from one thing to another, the shortest way first."""
    found = await call.read(
        lambda: call.me.paths(
            start,
            end,
            hops=hops,
            relations=relation or (),
            min_confidence=min_confidence,
            at=at,
            limit=limit,
            language=language,
        )
    )
    return graph_shapes.Paths.of(found, call.zone)


@router.post("/match")
async def match(body: bodies.Pattern, call: Reading) -> graph_shapes.Matches:
    """Where several triples hold together, the surest first, and how much time lies between them."""
    found = await call.read(
        lambda: call.me.match(
            body.pattern,
            past=body.past,
            min_confidence=body.min_confidence,
            at=body.at,
            limit=body.limit,
            language=body.language,
        )
    )
    return graph_shapes.Matches.of(found, call.zone)


@router.get("/derived")
async def derived(
    call: Reading, at: At = None, limit: PageLimit = 50, cursor: Cursor = None, language: Tongue = None
) -> graph_shapes.InsightPage:
    """What the rules make of what is known, each with its rule and the memories it rests on, the surest first."""
    found = await call.read(lambda: call.me.derived(at=at, language=language))
    # What is derived has no number of its own: its place in the answer stands for one.
    shown, following = page("derived", list(enumerate(found, 1)), lambda placed: placed[0], cursor, limit)
    return graph_shapes.InsightPage(
        derived=[graph_shapes.Insight.of(insight, call.zone) for _, insight in shown],
        cursor=following,
        cut=found.cut,
        note=found.note,
    )


@router.post("/merge")
async def merge_entities(body: bodies.TwoNames, call: Changing) -> changed.Receipt:
    """Two names mean one thing: from now on all that is known of either is known of both."""
    return await receipt_of(
        call,
        lambda: call.me.merge_entities(body.one, body.other, dry_run=body.dry_run),
        dry_run=body.dry_run,
    )


@router.post("/split")
async def split_entities(body: bodies.TwoNames, call: Changing) -> changed.Receipt:
    """Two names do not mean one thing, whoever said or knows so."""
    return await receipt_of(
        call,
        lambda: call.me.split_entities(body.one, body.other, dry_run=body.dry_run),
        dry_run=body.dry_run,
    )
