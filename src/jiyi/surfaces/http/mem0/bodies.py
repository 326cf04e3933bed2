"""What clients of mem0 send and get."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from jiyi.surfaces.http.bodies import Name, examples
from jiyi.surfaces.shapes import Shape

MOST = 1000
"""Memories of a page, and of a batch."""
Filters = Annotated[
    dict[str, Any] | None,
    Field(description='`{"user_id": …}`, other fields with operators, AND, OR, NOT.', examples=[{"agent_id": "desk"}]),
]
MemoryRef = Annotated[str, Field(min_length=1, max_length=500, examples=["m42.bWluZw"])]


class Mem0Ids(BaseModel):
    """`user_id` chooses nothing: it must be the token's. A service key names here for whom it acts. The other ids are labels."""

    model_config = ConfigDict(extra="forbid")

    user_id: Name | None = None
    agent_id: Name | None = None
    app_id: Name | None = None
    run_id: Name | None = None
    org_id: str | None = Field(default=None, description="Taken and not read, as `project_id` is.")
    project_id: str | None = None


class Mem0Turn(BaseModel):
    """A turn as OpenAI has it. Turns without text, and what else they hold, are left out."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(examples=["user"])]
    content: str | list[dict[str, Any]] | None = None
    name: Name | None = None


class Mem0Add(Mem0Ids):
    model_config = examples(
        {
            "messages": [{"role": "user", "content": "我们的缓存用的是 Redis。"}],
            "agent_id": "desk",
            "metadata": {"topic": "infra"},
        },
        {"messages": [{"role": "user", "content": "I live in Leeds."}], "run_id": "r1"},
    )

    messages: Annotated[list[Mem0Turn], Field(min_length=1)]
    filters: Filters = Field(default=None, description="Where the ids may stand too.")
    metadata: dict[str, Any] | None = Field(
        default=None, description="Comes back with what is learnt from these messages."
    )
    infer: bool = Field(default=True, description="False: what no rule reads is remembered as it stands.")
    timestamp: Annotated[int, Field(ge=-(10**10), le=10**11)] | None = Field(
        default=None, description="When it was said."
    )
    version: str | None = Field(default=None, description="Taken and not read, like the three that follow.")
    output_format: str | None = None
    async_mode: bool | None = None
    enable_graph: bool | None = None


class Mem0Wanted(Mem0Ids):
    filters: Filters = None
    categories: list[str] | None = None
    latest_only: bool | None = Field(default=None, description="It is always the latest.")
    show_expired: Literal[False] | None = None
    version: str | None = None
    output_format: str | None = None
    enable_graph: bool | None = None


class Mem0Search(Mem0Wanted):
    model_config = examples(
        {"query": "缓存用什么", "top_k": 5}, {"query": "Where do I live?", "filters": {"run_id": "r1"}}
    )

    query: str
    top_k: Annotated[int, Field(ge=1, le=200)] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] | None = Field(default=None, description="The older name of `top_k`.")
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    rerank: bool | None = Field(default=None, description="Taken and not read, like the two that follow.")
    keyword_search: bool | None = None
    filter_memories: bool | None = None
    explain: Literal[False] | None = None


class Mem0List(Mem0Wanted):
    model_config = examples({"filters": {"agent_id": "desk"}}, {"categories": ["preference"]})

    start_date: Annotated[str, Field(max_length=64)] | None = None
    end_date: Annotated[str, Field(max_length=64)] | None = None
    page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    page_size: Annotated[int, Field(ge=1, le=MOST)] | None = None


class Mem0Update(BaseModel):
    model_config = examples({"text": "缓存用的是 Memcached"}, {"text": "I live in York."})

    text: str | None = None
    memory: str | None = Field(default=None, description="Another name of `text`, like `data`.")
    data: str | None = None


class Mem0Change(BaseModel):
    model_config = ConfigDict(extra="forbid")

    memory_id: MemoryRef
    text: str


class Mem0Changes(BaseModel):
    model_config = examples({"memories": [{"memory_id": "m1", "text": "缓存用的是 Memcached"}]})

    memories: Annotated[list[Mem0Change], Field(min_length=1, max_length=MOST)]


class Mem0Named(BaseModel):
    model_config = ConfigDict(extra="forbid")

    memory_id: MemoryRef


class Mem0Deletions(BaseModel):
    model_config = examples({"memories": [{"memory_id": "m1"}]})

    memories: Annotated[list[Mem0Named], Field(min_length=1, max_length=MOST)]


class Mem0Feedback(BaseModel):
    model_config = examples({"memory_id": "m1", "feedback": "POSITIVE"})

    memory_id: MemoryRef
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"]
    feedback_reason: None = Field(default=None, description="jiyi keeps no reason: leave it out.")


# ------------------------------------------------------------------ answers


class Mem0Memory(Shape):
    """`score` is between 0 and 1, of a search only."""

    id: MemoryRef
    memory: str
    user_id: str
    agent_id: str | None
    app_id: str | None
    run_id: str | None
    hash: str
    metadata: dict[str, Any] | None
    categories: list[str]
    created_at: str
    updated_at: str
    score: float | None = None


class Mem0Memories(Shape):
    results: list[Mem0Memory]


class Mem0Page(Mem0Memories):
    """`next` and `previous` are addresses, or null."""

    count: int
    next: str | None
    previous: str | None


class Mem0Event(Shape):
    id: str
    memory: str
    event: Literal["ADD", "UPDATE"]
    previous_memory: str | None = None


class Mem0Added(Shape):
    """`status` is PENDING while the rules have not read all of it; the event of that id says it later. `PAUSED`: the user
    has paused this memory, and nothing was stored."""

    message: str
    status: Literal["SUCCEEDED", "PENDING", "PAUSED"]
    event_id: str | None
    results: list[Mem0Event]


class Mem0EventStatus(Shape):
    id: str
    event_type: Literal["ADD"] = "ADD"
    status: Literal["SUCCEEDED", "PENDING"]
    results: list[Mem0Event]


class Mem0Updated(Shape):
    message: str
    id: str
    memory: str


class Mem0Done(Shape):
    message: str


class Mem0Version(Shape):
    """One thing that happened to a memory. `input` is always empty: what was said is told by /v1/memories/…/evidence."""

    id: str
    memory_id: str
    user_id: str
    input: list[Any]
    old_memory: str | None
    new_memory: str | None
    event: Literal["ADD", "UPDATE", "DELETE"]
    created_at: str
    updated_at: str
    is_deleted: bool


class Mem0Entity(Shape):
    id: str
    name: str
    type: Literal["user", "agent", "app", "run"]
    total_memories: int
    created_at: str
    updated_at: str


class Mem0Entities(Shape):
    count: int
    next: None = None
    previous: None = None
    results: list[Mem0Entity]


class Mem0Pong(Shape):
    """mem0's client asks for it when it is made, and wants the names of an organisation and a project."""

    status: Literal["ok"] = "ok"
    org_id: Annotated[str, Field(description="The tenant.")]
    project_id: Literal["jiyi"] = "jiyi"
    user_email: None = None
