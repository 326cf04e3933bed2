"""What callers send, with examples in Chinese and English."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from jiyi.domain.feedback import Feedback
from jiyi.domain.memory import Category, Language, Role, Source, Tier
from jiyi.domain.standing import Detail
from jiyi.pipelines.graph.questions import MAX_LIMIT

Instant = Annotated[
    str, Field(max_length=64, description="ISO 8601 with a zone.", examples=["2026-03-01T09:00:00+08:00"])
]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Limit = Annotated[int, Field(ge=1, le=200)]


class Body(BaseModel):
    """`user` and `tenant` choose nothing: they must be those of the token. A service key names here for whom it acts."""

    model_config = ConfigDict(extra="forbid")

    user: Name | None = None
    tenant: Name | None = None


def examples(*some: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(some)})


class Turn(BaseModel):
    """A turn of a conversation, as a host has it."""

    model_config = ConfigDict(extra="forbid")

    role: Role
    text: str | None = None
    content: str | list[dict[str, Any]] | None = Field(None, description="In place of `text`: text, or parts of it.")
    at: Instant | None = Field(None, description="When it was said; now by default.")
    id: Name | None = Field(None, description="The host's own id, so that sending it again changes nothing.")
    name: Name | None = None
    session: Name | None = None
    labels: dict[str, str] | None = None
    agent: Name | None = None
    app: Name | None = None
    run: Name | None = None

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if self.text is not None and self.content is not None:
            raise ValueError("give one of text and content: the other would be lost")
        return self


class Observe(Body):
    model_config = examples(
        {
            "session": "s1",
            "messages": [{"role": "user", "text": "我们的数据库从 MySQL 换成 PostgreSQL 了", "id": "a1"}],
        },
        {"session": "s2", "messages": [{"role": "user", "content": "I moved to Berlin last week.", "id": "b1"}]},
    )

    messages: Annotated[list[Turn], Field(min_length=1)]
    session: Name | None = Field(None, description="For messages that name none.")


class Remember(Body):
    model_config = examples(
        {"text": "用户偏好安静的工作环境", "category": "preference", "importance": 3},
        {"text": "I am allergic to peanuts.", "category": "profile", "importance": 5},
    )

    text: str
    category: Category | None = None
    importance: Annotated[int, Field(ge=1, le=5)] | None = None
    session: Name = "remember"
    source: Source = Source.DECLARED


class Recall(Body):
    model_config = examples(
        {"query": "数据库现在用什么？", "limit": 5}, {"query": "Where do I live?", "kinds": ["fact", "memory"]}
    )

    query: str
    limit: Limit = 8
    kinds: list[str] | None = Field(None, description="Of fact, memory, message, summary; the first three by default.")
    categories: list[Category] = Field(default_factory=list)
    min_importance: Annotated[int, Field(ge=1, le=5)] = 1
    since: Instant | None = None
    until: Instant | None = None
    session: Name | None = None
    labels: dict[str, str] | None = None
    tiers: list[Tier] | None = None
    created_since: Instant | None = None
    created_until: Instant | None = None
    read_since: Instant | None = None
    read_until: Instant | None = None
    valid_at: Instant | None = Field(None, description="What was true then, as far as is known now.")
    known_at: Instant | None = Field(None, description="What was known then.")


class AskContext(Body):
    model_config = examples(
        {"query": "帮我写一下数据库的连接配置", "session": "s1", "budget": 800},
        {"query": "Plan my weekend.", "language": "en"},
    )

    query: str
    budget: Annotated[int, Field(ge=60, le=100_000)] | None = Field(None, description="Tokens at the most.")
    session: Name | None = None
    language: Language | None = None


class Search(Body):
    model_config = examples({"query": "上线那天说了什么"}, {"query": "what did we say about the launch", "limit": 20})

    query: str
    session: Name | None = None
    since: Instant | None = None
    until: Instant | None = None
    limit: Limit = 50


class Pattern(Body):
    """Triples of ?variables and names; a relation by name, as people call it, or `*` for any."""

    model_config = examples(
        {"pattern": [["贵司", "竞品", "?谁"], ["?谁", "报价", "?多少"]]},
        {"pattern": [["?us", "COMPETES_WITH", "?x"], ["?who", "WORKS_AT", "?x"]], "past": True, "limit": 10},
    )

    pattern: Annotated[
        list[Annotated[list[Name], Field(min_length=3, max_length=3)]],
        Field(min_length=1, max_length=6, description="Each is subject, relation and object."),
    ]
    past: bool = Field(False, description="Also what is over.")
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.0
    at: Instant | None = Field(None, description="What held then, instead of now.")
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 50
    language: Language | None = None


class End(Body):
    model_config = examples({"session": "s1"})

    session: Name


class Correct(Body):
    model_config = examples({"text": "数据库用的是 PostgreSQL"}, {"text": "I live in Berlin."})

    text: str


class Answer(Body):
    model_config = examples({"text": "m12"}, {"text": "都不对"}, {"text": "skip"})

    text: str


class Judge(Body):
    model_config = examples({"verdict": "helpful", "trace": "t1a2b3c4d"})

    verdict: Feedback
    trace: Name | None = Field(None, description="The recall in which it came up.")


class TwoNames(Body):
    model_config = examples(
        {"one": "云帆科技", "other": "星图", "dry_run": True}, {"one": "Acme", "other": "Acme Widgets"}
    )

    one: Name
    other: Name
    dry_run: bool = Field(False, description="Only say what would change.")


class Forget(Body):
    """One of them: a memory, a topic, a session, a span of time, or everything."""

    model_config = examples(
        {"topic": "前公司", "dry_run": True}, {"memory": "m42"}, {"since": "2026-03-01T00:00:00+08:00", "dry_run": True}
    )

    memory: str | None = None
    topic: str | None = None
    session: Name | None = None
    since: Instant | None = None
    until: Instant | None = None
    everything: bool = False
    dry_run: bool = Field(False, description="Only say what would go.")


class ChatCompletion(Body):
    """As OpenAI's clients send it; what is not named here is passed on as it is."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {"model": "echo", "messages": [{"role": "user", "content": "晚饭吃什么好？"}]},
                {"model": "echo", "messages": [{"role": "user", "content": "What shall I cook?"}], "stream": True},
            ]
        },
    )

    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]


class AnthropicMessage(Body):
    """As Anthropic's clients send it; what is not named here is passed on as it is."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {"model": "echo", "max_tokens": 500, "messages": [{"role": "user", "content": "晚饭吃什么好？"}]},
                {
                    "model": "echo",
                    "max_tokens": 500,
                    "system": "Be brief.",
                    "messages": [{"role": "user", "content": "What shall I cook?"}],
                },
            ]
        },
    )

    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    system: str | list[dict[str, Any]] | None = None


class AddEntry(Body):
    model_config = examples(
        {"content": "用户偏好安静的工作环境", "category": "preference", "importance": 3},
        {"user_id": "u001", "content": "I am allergic to peanuts.", "category": "profile", "importance": 5},
    )

    user_id: Name | None = Field(None, description="With a token it must be its user.")
    content: str
    category: Category = Category.GENERAL
    importance: Annotated[int, Field(ge=1, le=5)] = 1


class ChangeEntry(Body):
    model_config = examples({"content": "数据库用的是 PostgreSQL"}, {"user_id": "u001", "content": "I live in Berlin."})

    user_id: Name | None = None
    content: str


class AskChat(Body):
    model_config = examples({"message": "哪里比较安静？"}, {"user_id": "u001", "message": "What shall I cook?"})

    user_id: Name | None = None
    message: Annotated[str, Field(min_length=1)]
    session: Name | None = Field(None, description="The conversation; one for each day by default.")


class DryRun(Body):
    model_config = examples({"dry_run": True})

    dry_run: bool = Field(False, description="Only say what would change.")


class Keep(Body):
    model_config = examples({"detail": "minimal"}, {"detail": "minimal", "past": True, "dry_run": True})

    detail: Detail
    past: bool = Field(False, description="With minimal: treat what is stored as if it had been said under it.")
    dry_run: bool = False


class GiveConsent(Body):
    model_config = examples({"given": True, "notice": "隐私说明 2026-03"}, {"given": False})

    given: bool
    notice: str = ""
    dry_run: bool = False


class OpenVisitor(BaseModel):
    model_config = examples({"fingerprint": "d41d8cd98f00b204"}, {})

    tenant: Name | None = None
    fingerprint: Name | None = Field(
        None, description="What you tell devices by: the same one is the same visitor while it lives. It is not stored."
    )


class Link(Body):
    model_config = examples({"token": "jiyi_an_…", "dry_run": True})

    token: Annotated[str, Field(min_length=1, max_length=2000, description="The visitor's.")]
    dry_run: bool = Field(False, description="Only say what would change.")


class ForgetTenant(DryRun):
    model_config = examples({"tenant": "acme", "dry_run": True})

    tenant: Name
    """Said outright, since it is about everybody."""
