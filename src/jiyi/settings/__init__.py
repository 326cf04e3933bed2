"""One frozen tree of settings. Each number lives beside the rule it tunes; this file only composes them.

Order: keyword to `open_memory` > environment (`JIYI_*`) > file (`jiyi.toml`) > default. Nothing here reads
the environment by itself: a mapping is passed in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jiyi.domain.activation import ActivationPolicy
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.forgetting import ForgettingPolicy
from jiyi.domain.fusion import FusionPolicy
from jiyi.domain.graph import GraphPolicy
from jiyi.domain.heat import HeatPolicy
from jiyi.domain.merging import MergingPolicy
from jiyi.domain.nights import NightPolicy
from jiyi.domain.once import OncePolicy
from jiyi.domain.patterns import PatternPolicy
from jiyi.domain.plans import GatewayPolicy
from jiyi.domain.profile import ProfilePolicy
from jiyi.domain.ranking import RankingPolicy
from jiyi.domain.relevance import RelevancePolicy
from jiyi.domain.settling import ArbitrationPolicy
from jiyi.domain.standing import RetentionPolicy
from jiyi.domain.summary import SummaryPolicy
from jiyi.domain.tiers import TierPolicy
from jiyi.domain.traces import TracePolicy
from jiyi.errors import SettingsError
from jiyi.settings.policies import (
    AccessPolicy,
    ContextPolicy,
    EmbeddingPolicy,
    GuardPolicy,
    IdentityPolicy,
    JobPolicy,
    Limits,
    McpPolicy,
    ModelPolicy,
    PostgresPolicy,
    ProxyPolicy,
    ServicePolicy,
    SqlitePolicy,
    SupportPolicy,
    UpkeepPolicy,
    UpstreamPolicy,
    WorkingPolicy,
)
from jiyi.settings.tree import build, check_numbers, merge
from jiyi.text.redaction import RedactionPolicy

TextIndexName = Literal["postings", "native"]
EmbedderName = Literal["none", "use", "e5", "both", "all", "endpoint"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be tuned. Build it with keywords, or from a mapping with `read_settings`."""

    # The database file, or postgresql://USER@HOST/DATABASE; "reference" is an in-memory store for experiments.
    path: str = field(default="~/.jiyi/memory.db", repr=False)
    # The zone dates are written in for users who give none of their own.
    timezone: str = "UTC"
    # How memories and messages are indexed. Left out: postings in a new database, and in another what it has.
    memory_index: TextIndexName | None = None
    message_index: TextIndexName | None = None
    # FULL survives a power loss; NORMAL may lose the last commits in one, and nothing in a crash of the process.
    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    # A file with words of your own, one a line, for a new database; `jiyi reindex --dictionary` changes it later.
    dictionary: str | None = None
    # A TOML file with stop words of your own ([function] and [generic], zh and en) in place of the shipped ones.
    stop_words: str | None = None
    # What makes vectors, so that texts are found by meaning: none; use, e5 or both (extra local) or all (extra local-en), offline; endpoint (see
    # embedding).
    embedder: EmbedderName = "none"
    # A TOML file with synonyms of your own ([zh] and [en], each with lists `same` and `near`), beside the shipped ones.
    synonyms: str | None = None
    # A JSON file with fusion rules of your own in place of the shipped ones (docs/graph.md; `jiyi rules show` prints those).
    fusion_rules: str | None = None
    # An engine that finds the nearest vectors, beside the database, which holds them all the same and looks through them itself
    # without one: chroma:FOLDER, or chroma:http://HOST:PORT (the extra chroma).
    vector_engine: str | None = None
    # Neo4j beside the database, which holds the graph all the same and answers itself without it: bolt://USER:PASSWORD@HOST:PORT
    # or neo4j://… (the extra neo4j; docs/graph.md).
    graph_engine: str | None = field(default=None, repr=False)
    # Whether background jobs run in a thread of this process; otherwise call work().
    worker: bool = True
    limits: Limits = field(default_factory=Limits)
    confidence: ConfidencePolicy = field(default_factory=ConfidencePolicy)
    arbitration: ArbitrationPolicy = field(default_factory=ArbitrationPolicy)
    gateway: GatewayPolicy = field(default_factory=GatewayPolicy)
    forgetting: ForgettingPolicy = field(default_factory=ForgettingPolicy)
    ranking: RankingPolicy = field(default_factory=RankingPolicy)
    fusion: FusionPolicy = field(default_factory=FusionPolicy)
    heat: HeatPolicy = field(default_factory=HeatPolicy)
    graph: GraphPolicy = field(default_factory=GraphPolicy)
    activation: ActivationPolicy = field(default_factory=ActivationPolicy)
    profile: ProfilePolicy = field(default_factory=ProfilePolicy)
    working: WorkingPolicy = field(default_factory=WorkingPolicy)
    context: ContextPolicy = field(default_factory=ContextPolicy)
    relevance: RelevancePolicy = field(default_factory=RelevancePolicy)
    summaries: SummaryPolicy = field(default_factory=SummaryPolicy)
    jobs: JobPolicy = field(default_factory=JobPolicy)
    tiers: TierPolicy = field(default_factory=TierPolicy)
    merging: MergingPolicy = field(default_factory=MergingPolicy)
    upkeep: UpkeepPolicy = field(default_factory=UpkeepPolicy)
    night: NightPolicy = field(default_factory=NightPolicy)
    patterns: PatternPolicy = field(default_factory=PatternPolicy)
    model: ModelPolicy = field(default_factory=ModelPolicy)
    embedding: EmbeddingPolicy = field(default_factory=EmbeddingPolicy)
    support: SupportPolicy = field(default_factory=SupportPolicy)
    access: AccessPolicy = field(default_factory=AccessPolicy)
    redaction: RedactionPolicy = field(default_factory=RedactionPolicy)
    guard: GuardPolicy = field(default_factory=GuardPolicy)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    traces: TracePolicy = field(default_factory=TracePolicy)
    sqlite: SqlitePolicy = field(default_factory=SqlitePolicy)
    postgres: PostgresPolicy = field(default_factory=PostgresPolicy)
    once: OncePolicy = field(default_factory=OncePolicy)
    identity: IdentityPolicy = field(default_factory=IdentityPolicy)
    service: ServicePolicy = field(default_factory=ServicePolicy)
    mcp: McpPolicy = field(default_factory=McpPolicy)
    proxy: ProxyPolicy = field(default_factory=ProxyPolicy)

    def __post_init__(self) -> None:
        zone(self.timezone)
        check_numbers(self, "settings")
        for name, allowed in (
            ("memory_index", (None, *get_args(TextIndexName))),
            ("message_index", (None, *get_args(TextIndexName))),
            ("synchronous", ("FULL", "NORMAL")),
            ("embedder", get_args(EmbedderName)),
        ):
            if getattr(self, name) not in allowed:
                raise SettingsError(
                    f"{name} = {getattr(self, name)!r}: choose one of {', '.join(filter(None, allowed))}"
                )
        _check_model(self.model)
        _check_embedding(self)
        if self.identity.mode not in ("local", "jwt"):
            raise SettingsError(f"identity.mode = {self.identity.mode!r}: choose one of local, jwt")
        for name in ("threads", "depth", "body_bytes"):
            if getattr(self.service, name) < 1:
                raise SettingsError(f"service.{name} = {getattr(self.service, name)}: use a number above 0")
        _check_proxy(self)


def _check_model(model: ModelPolicy) -> None:
    for name, choices in (("wire", ("openai", "anthropic")), ("structured", ("schema", "tool", "json", "text"))):
        if (given := getattr(model, name)) not in (None, *choices):
            raise SettingsError(f"model.{name} = {given!r}: choose one of {', '.join(choices)}")
    if model.configured and not model.name:
        raise SettingsError("model.name is missing: say which model, as the provider writes it")
    if model.money_per_day and not (model.price_in or model.price_out):
        raise SettingsError("model.money_per_day needs model.price_in and model.price_out, per million tokens")
    for name in ("segment_messages", "segment_chars", "output_tokens", "timeout_seconds", "deadline_seconds"):
        if getattr(model, name) <= 0:
            raise SettingsError(f"model.{name} = {getattr(model, name)}: use a number above 0")


def _check_embedding(settings: Settings) -> None:
    embedding = settings.embedding
    if settings.embedder == "endpoint":
        if not embedding.preset and not embedding.base_url:
            raise SettingsError('embedder = "endpoint" needs embedding.preset or embedding.base_url')
        if not embedding.name:
            raise SettingsError("embedding.name is missing: say which model, as the provider writes it")
    if embedding.money_per_day and not embedding.price_in:
        raise SettingsError("embedding.money_per_day needs embedding.price_in, per million tokens")
    for name in ("batch", "max_chars", "timeout_seconds", "deadline_seconds", "query_seconds"):
        if getattr(embedding, name) <= 0:
            raise SettingsError(f"embedding.{name} = {getattr(embedding, name)}: use a number above 0")


def _check_proxy(settings: Settings) -> None:
    proxy = settings.proxy
    if proxy.forward_key and settings.identity.mode != "local":
        raise SettingsError(
            "proxy.forward_key is for identity.mode = local: elsewhere what clients send is their token"
        )
    for name in ("memory_seconds", "connect_seconds", "timeout_seconds", "body_bytes"):
        if getattr(proxy, name) <= 0:
            raise SettingsError(f"proxy.{name} = {getattr(proxy, name)}: use a number above 0")


def zone(name: str) -> ZoneInfo:
    """The time zone of that name.

    Raises:
        SettingsError: there is none.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(f"no time zone {name!r}: use a name such as Asia/Shanghai or UTC") from error


def read_settings(environment: Mapping[str, str], file: Mapping[str, Any] | None = None, **overrides: Any) -> Settings:
    """Settings from a parsed `jiyi.toml`, `JIYI_*` variables and keywords, the later ones winning.

    `JIYI_LIMITS__QUERY_CHARS=5000` sets `limits.query_chars`; in the file it is `query_chars` under `[limits]`.

    Raises:
        SettingsError: an unknown name or a value that cannot be used; says where it came from.
    """
    tree: dict[str, Any] = {}
    merge(tree, file or {}, "jiyi.toml")
    for name, value in environment.items():
        if name.startswith("JIYI_") and name.removeprefix("JIYI_").lower().split("__")[0] in _FIELDS:
            path = name.removeprefix("JIYI_").lower().split("__")
            nested: dict[str, Any] = {path[-1]: value}
            for part in reversed(path[:-1]):
                nested = {part: nested}
            merge(tree, nested, name)
    merge(tree, {k: v for k, v in overrides.items() if v is not None}, "keyword")
    return cast(Settings, build(Settings(), tree, "settings"))


_FIELDS = {f.name for f in dataclasses.fields(Settings)}

__all__ = [
    "AccessPolicy",
    "ContextPolicy",
    "EmbedderName",
    "EmbeddingPolicy",
    "GuardPolicy",
    "IdentityPolicy",
    "JobPolicy",
    "Limits",
    "McpPolicy",
    "ModelPolicy",
    "PostgresPolicy",
    "ProxyPolicy",
    "ServicePolicy",
    "Settings",
    "SqlitePolicy",
    "SupportPolicy",
    "TextIndexName",
    "UpkeepPolicy",
    "UpstreamPolicy",
    "WorkingPolicy",
    "read_settings",
    "zone",
]
