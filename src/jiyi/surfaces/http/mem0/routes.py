"""The routes of mem0. Each call stands once, under the addresses that it has in the dialects."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath

from jiyi.domain.access import Right
from jiyi.domain.feedback import Feedback
from jiyi.errors import InputError
from jiyi.surfaces.http.calls import Call, Known, changing, entering
from jiyi.surfaces.http.mem0 import bodies, doing
from jiyi.surfaces.http.mem0.names import read_filters, users_named
from jiyi.surfaces.http.mem0.records import meant

router = APIRouter(tags=["mem0"])

Reading: TypeAlias = Annotated[Call, Depends(entering(Right.READ, users_named))]
Writing: TypeAlias = Annotated[Call, Depends(entering(Right.WRITE, users_named))]
Changing: TypeAlias = Annotated[Call, Depends(changing(users_named))]

MemoryPath = Annotated[str, InPath(max_length=500, examples=["m42.bWluZw"])]
Id = Annotated[str | None, Query(min_length=1, max_length=200)]
Untold = Annotated[str | None, Query(max_length=200, description="Taken and not read.")]
Number = Annotated[int, Query(ge=1, le=1_000_000)]
Size = Annotated[int, Query(ge=1, le=bodies.MOST)]
Kind = Literal["user", "agent", "app", "run"]
VERDICTS = {"POSITIVE": Feedback.HELPFUL, "NEGATIVE": Feedback.IRRELEVANT, "VERY_NEGATIVE": Feedback.WRONG}


@router.get("/v1/ping/", name="mem0_ping")
async def ping(identity: Known, org_id: Untold = None, project_id: Untold = None) -> bodies.Mem0Pong:
    """Whether a key is good, which `MemoryClient` asks when it is made. It is about nobody's memory, so that no user is named."""
    return bodies.Mem0Pong(org_id=identity.tenant)


# ------------------------------------------------------------------ in


@router.post("/v3/memories/add/", name="mem0_add_v3")
@router.post("/v1/memories/", name="mem0_add_v1")
@router.post("/memories", name="mem0_add")
async def add(body: bodies.Mem0Add, call: Changing) -> bodies.Mem0Added:
    """Store turns of a conversation, and tell what was learnt from them. They are durable when this answers."""
    return await call.write(lambda: doing.add(call, body))


@router.get("/v1/event/{event}/", name="mem0_event")
async def event(call: Reading, event: MemoryPath) -> bodies.Mem0EventStatus:
    """What became of what was added."""
    return await call.read(lambda: doing.event(call, event))


# ------------------------------------------------------------------ out


@router.post("/v3/memories/", name="mem0_list_v3")
@router.post("/v2/memories/", name="mem0_list_v2")
async def list_posted(
    body: bodies.Mem0List, call: Reading, request: Request, page: Number | None = None, page_size: Size | None = None
) -> bodies.Mem0Page:
    """Memories that fit filters, the newest first, by pages."""
    return await _page(call, request, body, page or body.page or 1, page_size or body.page_size or 100)


@router.get("/v1/memories/", name="mem0_list_v1")
@router.get("/memories", name="mem0_list")
async def list_(
    call: Reading,
    request: Request,
    agent_id: Id = None,
    app_id: Id = None,
    run_id: Id = None,
    page: Number = 1,
    page_size: Size = 100,
    top_k: Annotated[Size | None, Query(description="In place of `page_size`.")] = None,
) -> bodies.Mem0Page:
    """Memories, the newest first, by pages."""
    wanted = bodies.Mem0List(agent_id=agent_id, app_id=app_id, run_id=run_id)
    return await _page(call, request, wanted, page, top_k or page_size)


async def _page(call: Call, request: Request, wanted: bodies.Mem0List, page: int, page_size: int) -> bodies.Mem0Page:
    url = str(request.url.remove_query_params(["page", "page_size"]))
    url += "&" if "?" in url else "?"
    return await call.read(lambda: doing.listed(call, wanted, page=page, page_size=page_size, url=url))


@router.post("/v3/memories/search/", name="mem0_search_v3")
@router.post("/v2/memories/search/", name="mem0_search_v2")
@router.post("/v1/memories/search/", name="mem0_search_v1")
@router.post("/search", name="mem0_search")
async def search(body: bodies.Mem0Search, call: Reading) -> bodies.Mem0Memories:
    """The memories that answer a question, best first."""
    return await call.read(lambda: doing.search(call, body))


@router.get("/v1/memories/{memory}/", name="mem0_get_v1")
@router.get("/memories/{memory}", name="mem0_get")
async def get(call: Reading, memory: MemoryPath) -> bodies.Mem0Memory:
    """One memory, as it is now."""
    return await call.read(lambda: doing.one(call, memory))


@router.get("/v1/memories/{memory}/history/", name="mem0_history_v1")
@router.get("/memories/{memory}/history", name="mem0_history")
async def history(call: Reading, memory: MemoryPath) -> list[bodies.Mem0Version]:
    """What a memory said, one after another."""
    return await call.read(lambda: doing.history(call, memory))


@router.get("/v1/entities/", name="mem0_entities_v1")
@router.get("/entities", name="mem0_entities")
async def entities(call: Reading) -> bodies.Mem0Entities:
    """The user, and the agents, apps and runs that their memories come from."""
    return await call.write(lambda: doing.entities(call))


# ------------------------------------------------------------------ changes


@router.put("/v1/memories/{memory}/", name="mem0_update_v1")
@router.put("/memories/{memory}", name="mem0_update")
async def update(body: bodies.Mem0Update, call: Changing, memory: MemoryPath) -> bodies.Mem0Updated:
    """Say it otherwise. What it said is kept as history; the id goes on to mean what it says now."""
    text = body.text or body.memory or body.data
    if text is None:
        raise InputError("there is no text to put in its place: jiyi changes nothing else of a memory")
    return await call.write(lambda: doing.update(call, memory, text))


@router.put("/v1/batch/", name="mem0_update_many")
async def update_many(body: bodies.Mem0Changes, call: Writing) -> bodies.Mem0Done:
    """Update several memories of one user."""
    return await call.write(lambda: doing.update_many(call, body.memories))


@router.delete("/v1/batch/", name="mem0_delete_many")
async def delete_many(body: bodies.Mem0Deletions, call: Writing) -> bodies.Mem0Done:
    """Forget several memories of one user for good."""
    return await call.write(lambda: doing.delete_many(call, [item.memory_id for item in body.memories]))


@router.delete("/v1/memories/{memory}/", name="mem0_delete_v1")
@router.delete("/memories/{memory}", name="mem0_delete")
async def delete(
    call: Changing,
    memory: MemoryPath,
    delete_linked: Annotated[bool, Query(description="It is always so: what a memory replaced goes with it.")] = True,
) -> bodies.Mem0Done:
    """Forget a memory for good, with the words it rests on."""
    return await call.write(lambda: doing.delete(call, memory))


@router.delete("/v1/memories/", name="mem0_delete_all_v1")
@router.delete("/memories", name="mem0_delete_all")
async def delete_all(
    call: Writing,
    request: Request,
    agent_id: Id = None,
    app_id: Id = None,
    run_id: Id = None,
    filters: Annotated[str | None, Query(max_length=10_000, description="A JSON object.")] = None,
) -> bodies.Mem0Done:
    """Forget a user, or what came from an agent, an app or a run, for good. One of them must be named."""
    ids = {"user_id": request.query_params.get("user_id"), "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
    named, asked = {n: v for n, v in ids.items() if v is not None}, read_filters(filters)
    return await call.write(lambda: doing.delete_all(call, named, asked))


@router.delete("/v2/entities/{kind}/{name}/", name="mem0_delete_entity_v2")
@router.delete("/entities/{kind}/{name}", name="mem0_delete_entity")
async def delete_entity(call: Writing, kind: Kind, name: Annotated[str, InPath(max_length=200)]) -> bodies.Mem0Done:
    """Forget a user, or what came from an agent, an app or a run, for good."""
    return await call.write(lambda: doing.delete_entity(call, kind, name))


@router.post("/reset", name="mem0_reset")
async def reset(call: Writing) -> bodies.Mem0Done:
    """Forget the user of this call for good: nobody else, whoever calls."""
    return await call.write(lambda: doing.delete_all(call, {"user_id": call.scope.user}, {}))


@router.post("/v1/feedback/", name="mem0_feedback")
async def feedback(body: bodies.Mem0Feedback, call: Changing) -> bodies.Mem0Done:
    """Whether it was good that a memory came up."""
    await call.write(lambda: call.me.feedback(meant(call.me, body.memory_id).id, VERDICTS[body.feedback]))
    return bodies.Mem0Done(message="Feedback received")
