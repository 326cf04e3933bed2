"""Memory in its plainest shape: entries that are added and searched, and a chat (SPEC U2). Clients of such a service move here
by changing an address; what they get is the same memory as everywhere else."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from jiyi.domain.memory import Category
from jiyi.pipelines.gateway import Receipt
from jiyi.surfaces.http import bodies
from jiyi.surfaces.http.calls import Changing, Chatting, Reading
from jiyi.surfaces.http.chats import ANSWERS, ask
from jiyi.surfaces.http.current import current
from jiyi.surfaces.http.reading import MemoryPath
from jiyi.surfaces.shapes import Shape, moment

router = APIRouter(tags=["Entries"])

KINDS = ("fact", "memory")


class Added(Shape):
    """`memory_id` is null where nothing was remembered: the memory is paused, or it is known already."""

    memory_id: str | None


class Entry(Shape):
    id: str
    content: str
    category: Category | None
    importance: int | None
    created_at: str
    score: float


class Entries(Shape):
    memories: list[Entry]


class Removed(Shape):
    memory_id: str
    removed: int


class Reply(Shape):
    reply: str


def _added(receipt: Receipt) -> Added:
    return Added(memory_id=receipt.memories[0].id if receipt.memories else None)


@router.post("/memory")
async def add_entry(body: bodies.AddEntry, call: Changing) -> Added:
    """Remember one entry, as declared by the user."""
    return await call.write(
        lambda: _added(call.me.remember(body.content, category=body.category, importance=body.importance))
    )


@router.get("/memory/search")
async def search_entries(
    call: Reading,
    q: Annotated[str, Query(min_length=1, description="What is looked for.", examples=["哪里比较安静？"])],
    user_id: Annotated[str | None, Query(max_length=200, description="With a token it must be its user.")] = None,
    top_k: Annotated[int, Query(ge=1, le=200)] = 5,
) -> Entries:
    """The entries that belong to a question, best first."""
    found = await call.read(lambda: call.me.recall(q, limit=top_k, kinds=KINDS))
    call.service.metrics.recalled(found.took)
    rows = [
        Entry(
            id=item.id, content=item.text, category=None if item.category is None else Category(item.category),
            importance=item.importance, created_at=moment(item.at, call.zone), score=item.score,
        )
        for item in found.items
    ]  # fmt: skip
    return Entries(memories=rows)


@router.patch("/memory/{memory}")
async def change_entry(body: bodies.ChangeEntry, call: Changing, memory: MemoryPath) -> Added:
    """This entry is wrong; `content` is right. The old one is kept as history, and its id goes on to mean the new one."""
    return await call.write(lambda: _added(call.me.correct(current(call.me, memory).id, body.content)))


@router.delete("/memory/{memory}")
async def remove_entry(call: Changing, memory: MemoryPath) -> Removed:
    """Forget for good what an entry says now, and the words it rests on."""
    done = await call.write(lambda: call.me.forget(memory=current(call.me, memory).id))
    return Removed(memory_id=memory, removed=done.impact.removed)


REPLIES: dict[int | str, dict[str, Any]] = {status: ANSWERS[status] for status in (502, 504)}


@router.post("/chat", response_model=Reply, responses=REPLIES)
async def chat(body: bodies.AskChat, chat: Chatting) -> Reply | Response:
    """One message, and the reply of the model that is configured (`proxy`), which is handed what memory knows. Without a model
    the reply is the prompt that one would get."""
    session = body.session or chat.session or chat.call.me.conversation("")
    reply = await ask(chat, body.message, session)
    return Reply(reply=reply) if isinstance(reply, str) else reply
