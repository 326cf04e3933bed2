"""One frozen tree of settings. Each number lives beside the rule it tunes; this file only composes them.

Order: keyword to `open_memory` > environment (`JIYI_*`) > file (`jiyi.toml`) > default. Nothing here reads
the environment by itself: a mapping is passed in.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from types import MappingProxyType
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
from jiyi.text.redaction import RedactionPolicy

TextIndexName = Literal["postings", "native"]
EmbedderName = Literal["none", "use", "e5", "both", "all", "endpoint"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes above which input is refused (SPEC S5)."""

    text_chars: int = 100_000
    query_chars: int = 10_000
    batch_messages: int = 1_000
    memory_chars: int = 500
    archive_bytes: int = 512 * 1024 * 1024  # of an export, unpacked


@dataclass(frozen=True, slots=True)
class ContextPolicy:
    """How the context block is built (SPEC R4)."""

    budget: int = 800
    rules: int = 50
    memories: int = 8
    passages: int = 8
    session_turns: int = 6
    passage_chars: int = 240
    # Memories that meaning alone finds are left out below this share of the best score.
    meant_share: float = 0.40
    # Passages below this share of the best one's score are left out; what an assistant said counts for less than what
    # people said, and a turn that only asks answers little.
    passage_share: float = 0.40
    assistant: float = 0.75
    asking: float = 0.75
    # A summary of a session must score as much to be shown beside its passages.
    min_score: float = 0.30
    # A turn with so many words that the memories resting on it do not hold says more than they do, and is shown as well.
    says_more: int = 3


@dataclass(frozen=True, slots=True)
class WorkingPolicy:
    """What a conversation holds while it goes on (SPEC F1)."""

    idle: timedelta = timedelta(hours=1)
    # Ten rounds of a question and an answer.
    turns: int = 20
    entities: int = 5


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """What keeps echo and attempts to instruct out of memory (SPEC C4, C12)."""

    # Turns before a message that may be echoed in it.
    turns: int = 12
    # A sentence of so many letters that one of these turns holds as well is a copy; a Chinese character counts as two.
    echo_letters: int = 28
    # The user's own turns over which an attempt may be split.
    split_turns: int = 2
    # A longer message is a document: nothing of it is the user's own talk.
    max_chars: int = 20_000


@dataclass(frozen=True, slots=True)
class JobPolicy:
    lease: timedelta = timedelta(minutes=5)
    attempts: int = 5
    first_retry: timedelta = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """The language model that distils beside the rules, if any, and what it may cost (SPEC C7, U8)."""

    # A provider of models/presets.toml: openai, anthropic, deepseek, qwen, kimi, glm, siliconflow, openrouter, ollama …
    preset: str | None = None
    # The model's name as the provider writes it.
    name: str | None = None
    # Where the API is, up to and including /v1; from the preset by default.
    base_url: str | None = None
    # How the endpoint is spoken to; from the preset, else openai.
    wire: Literal["openai", "anthropic"] | None = None
    # The environment variable that holds the key. The key itself is never a setting, so that no list of settings shows it.
    key_env: str | None = None
    # How JSON is asked for first; from the preset. What an endpoint refuses is tried one step lower.
    structured: Literal["schema", "tool", "json", "text"] | None = None
    # Ask for the answer in pieces. Some endpoints answer in no other way.
    stream: bool = False
    # What one call reads: a segment of one session, closed at so many messages or characters, or after a silence.
    segment_messages: int = 20
    segment_chars: int = 6000
    quiet_seconds: float = 60.0
    # The longest answer, in tokens.
    output_tokens: int = 4000
    # How much an answer may vary; left out where it is 0 and the endpoint refuses it.
    temperature: float = 0.0
    # Without a byte for so long the try is over; a whole question, with its retries, ends after deadline_seconds.
    timeout_seconds: float = 60.0
    deadline_seconds: float = 180.0
    retries: int = 2
    # The first wait between two tries; it doubles. A server's Retry-After goes before it.
    retry_seconds: float = 1.0
    # What a day may cost, over all users; 0 is no limit. Money needs the prices per million tokens.
    tokens_per_day: int = 2_000_000
    money_per_day: float = 0.0
    price_in: float = 0.0
    price_out: float = 0.0

    @property
    def configured(self) -> bool:
        return bool(self.preset or self.base_url)


@dataclass(frozen=True, slots=True)
class EmbeddingPolicy:
    """How texts become vectors, and where the endpoint of `embedder = "endpoint"` is and what it may cost (SPEC R11)."""

    # Texts embedded at once, between two transactions.
    batch: int = 64
    # Characters of a text that are read: beyond, the meaning blurs and the cost grows.
    max_chars: int = 600
    # So many last characters of the turn before are embedded with a turn, where somebody else said it: "behind the bakery"
    # means little without the question it answers. 0 embeds each turn alone. After a change: jiyi reindex.
    before_chars: int = 200
    # A provider of models/presets.toml, the model's name, the address up to /v1, and the variable that holds the key.
    preset: str | None = None
    name: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    # Numbers of a vector; 0 takes what the endpoint gives. Another number is asked for, and checked.
    dimension: int = 0
    # Without a byte for so long the try is over; a batch, with its retries, ends after deadline_seconds.
    timeout_seconds: float = 30.0
    deadline_seconds: float = 90.0
    retries: int = 2
    retry_seconds: float = 1.0
    # What a question may wait for its vector; then words alone answer.
    query_seconds: float = 3.0
    # What a day may cost, over all users; 0 is no limit. Money needs the price per million tokens.
    tokens_per_day: int = 5_000_000
    money_per_day: float = 0.0
    price_in: float = 0.0


@dataclass(frozen=True, slots=True)
class SupportPolicy:
    """When the words of a message support what a model says of it (SPEC C7)."""

    # So many of a statement's words may stand nowhere in what it cites. Each is a chance for something invented.
    unsaid: int = 0
    # Two statements that rest on the same message and share so many of their words are one.
    same: float = 0.7


@dataclass(frozen=True, slots=True)
class UpkeepPolicy:
    """How upkeep goes through a memory (SPEC F2, F3)."""

    batch: int = 500  # memories looked at in one transaction, and in one plan


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Reads are counted in memory and written together (SPEC F5)."""

    flush_after: int = 100


@dataclass(frozen=True, slots=True)
class PostgresPolicy:
    """How a PostgreSQL server is used, where the database is one (SPEC O2). The address itself is `path`."""

    # The schema that holds jiyi's tables; two memories of one database have different ones.
    schema: str = "jiyi"
    # Where what must not lie in the database lies: the keys of redacted values, and what was forgotten. Processes on several
    # machines share this folder, or each get a copy of it.
    folder: str = "~/.jiyi"
    pool_size: int = 10  # connections of one process at the most
    wait_seconds: float = 30.0  # for one of them, while all are in use
    connect_seconds: float = 5.0  # for one server to answer
    # How long a call waits for a server that is away: until a standby has taken its place.
    away_seconds: float = 10.0
    # How long the network may say nothing of a server before it counts as lost.
    silent_seconds: float = 20.0
    statement_seconds: float = 60.0
    # Servers that follow the one of the address and may be read from, as HOST or HOST:PORT with commas between; the rest of the
    # address holds for them too.
    standbys: str = ""
    # What another process wrote is read at most so long after; what this one wrote always, and with 0 all of it.
    staleness_seconds: float = 5.0
    # What was read of active users is kept in memory: so many memories, messages and the like of all of them together (0: none),
    # and of none of them longer than so after it was last used.
    kept_entries: int = 50_000
    kept_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class McpPolicy:
    """How much the MCP server takes and gives at once (SPEC U3, S5)."""

    # Items of one answer at the most.
    items: int = 50
    # Characters of each of them; `fetch` gives one whole, up to fetch_chars.
    text_chars: int = 600
    fetch_chars: int = 20_000
    # The longest line that is read from stdin.
    line_bytes: int = 4 * 1024 * 1024
    # Over HTTP: the address that clients know it by; made of host and port by default.
    url: str | None = None
    # Values of the Host header that are taken; others may be a page that wants to reach a server of this machine.
    allowed_hosts: tuple[str, ...] = ("127.0.0.1:*", "localhost:*", "[::1]:*")


@dataclass(frozen=True, slots=True)
class IdentityPolicy:
    """Who may call the service, and whose tokens it trusts (SPEC S1)."""

    # local: no token, for the one user of this machine, who alone can reach it; jwt: tokens of an issuer.
    mode: Literal["local", "jwt"] = "local"
    # Whose tokens are trusted (their iss), and for whom they are made (their aud).
    issuer: str | None = None
    audience: str | None = None
    # The issuer's public keys: a PEM file, or the address of its JWKS, where keys may change.
    key_file: str | None = None
    jwks_url: str | None = None
    # The id that tokens must name for the key of key_file; by default they may name any or none.
    key_id: str | None = None
    # The algorithms that are taken; the key decides which of them is right for it.
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA", "Ed25519")
    # Where a token says of whom it is. Without a tenant_claim all its users are of the one tenant.
    user_claim: str = "sub"
    tenant_claim: str | None = "tenant"
    roles_claim: str = "roles"
    # Where a token says which shared memories it opens, as team or team:write (SPEC S6); without one it opens none.
    shared_claim: str | None = None
    # Those that the user of this machine has in local mode, and how many at the most are read beside a user's own.
    shared: tuple[str, ...] = ()
    shared_beside: int = 8
    tenant: str | None = None
    # How long a visitor lives whom nobody knows, unless it is linked to a user (SPEC S3).
    visitor_hours: float = 72.0
    # How far the clocks of the issuer and of this machine may differ.
    leeway_seconds: float = 30.0
    # Keys of a JWKS address are fetched again after so long, or when a token names a new one, but only so often a minute;
    # when the issuer does not answer, those that are known stay good for so long.
    jwks_seconds: float = 300.0
    jwks_stale_seconds: float = 86_400.0
    jwks_fetches_a_minute: int = 6
    jwks_timeout_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class ServicePolicy:
    """How the HTTP service listens, and what it takes (SPEC S5)."""

    host: str = "127.0.0.1"
    port: int = 8765
    # Sizes above which a request is refused.
    body_bytes: int = 4 * 1024 * 1024
    depth: int = 32
    # Requests a minute: of one user, and of all users of a tenant. 0 is no limit.
    requests_a_minute: int = 600
    tenant_requests_a_minute: int = 60_000
    # Calls that write or wait at the same time; each has a thread. Calls that only read need none.
    threads: int = 16
    # A user whose reading takes longer than this is read in a thread, so that nobody else waits for it.
    inline_seconds: float = 0.03
    # A body of which nothing comes for so long is given up, so that no caller can hold a request, or a stop, for ever.
    body_seconds: float = 5.0
    # How long a stop waits for the requests under way.
    stop_seconds: float = 30.0
    # Whether /metrics answers.
    metrics: bool = True
    # Processes that serve the address together; each opens the memory, and counts requests for itself.
    processes: int = 1


@dataclass(frozen=True, slots=True)
class UpstreamPolicy:
    """A model's address behind the proxies, for one of the two ways in which models are spoken to (SPEC U2)."""

    # A provider of models/presets.toml; or echo, which is built in and answers with what it was handed.
    preset: str | None = None
    # Where its API is, up to and including /v1; from the preset by default.
    base_url: str | None = None
    # The environment variable that holds its key; from the preset.
    key_env: str | None = None

    @property
    def configured(self) -> bool:
        return bool(self.preset or self.base_url)


@dataclass(frozen=True, slots=True)
class ProxyPolicy:
    """The proxies that put memory into chats, and which models stand behind them (SPEC U2)."""

    # Behind /v1/chat/completions, and behind /v1/messages as Anthropic's clients call it. Clients never choose an address.
    openai: UpstreamPolicy = field(default_factory=UpstreamPolicy)
    anthropic: UpstreamPolicy = field(default_factory=UpstreamPolicy)
    # The model that POST /chat and `jiyi chat` ask; other clients name their own.
    model: str | None = None
    # What a chat waits for its memory; then it goes on without.
    memory_seconds: float = 2.0
    # To connect to the upstream, and without a byte from it.
    connect_seconds: float = 10.0
    timeout_seconds: float = 600.0
    # The largest request: pictures are long.
    body_bytes: int = 32 * 1024 * 1024
    # Without tokens (identity.mode = local) the key that a client sends means nothing here: hand it to the upstream.
    forward_key: bool = False


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
    postgres: PostgresPolicy = field(default_factory=PostgresPolicy)
    once: OncePolicy = field(default_factory=OncePolicy)
    identity: IdentityPolicy = field(default_factory=IdentityPolicy)
    service: ServicePolicy = field(default_factory=ServicePolicy)
    mcp: McpPolicy = field(default_factory=McpPolicy)
    proxy: ProxyPolicy = field(default_factory=ProxyPolicy)

    def __post_init__(self) -> None:
        zone(self.timezone)
        _check_numbers(self, "settings")
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


def _check_numbers(tree: Any, where: str) -> None:
    """No rule of ours has a use for a negative or boundless number, and none works with a time of no length."""
    for name, value in tree.items() if isinstance(tree, Mapping) else _items(tree):
        if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
            _check_numbers(value, f"{where}.{name}")
        elif isinstance(value, timedelta) and value <= timedelta(0):
            raise SettingsError(f"{where}.{name} = {value}: use a time above 0")
        elif isinstance(value, int | float) and not 0 <= value < math.inf:
            raise SettingsError(f"{where}.{name} = {value}: use a number from 0 on")


def _items(tree: Any) -> list[tuple[str, Any]]:
    return [(f.name, getattr(tree, f.name)) for f in dataclasses.fields(tree)]


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
    _merge(tree, file or {}, "jiyi.toml")
    for name, value in environment.items():
        if name.startswith("JIYI_") and name.removeprefix("JIYI_").lower().split("__")[0] in _FIELDS:
            path = name.removeprefix("JIYI_").lower().split("__")
            nested: dict[str, Any] = {path[-1]: value}
            for part in reversed(path[:-1]):
                nested = {part: nested}
            _merge(tree, nested, name)
    _merge(tree, {k: v for k, v in overrides.items() if v is not None}, "keyword")
    return cast(Settings, _build(Settings(), tree, "settings"))


_FIELDS = {f.name for f in dataclasses.fields(Settings)}


def _merge(into: dict[str, Any], values: Mapping[str, Any], origin: str) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            branch = into.setdefault(name, {})
            if not isinstance(branch, dict):
                raise SettingsError(f"{origin}: {name} is a single value, not a table")
            _merge(branch, value, origin)
        else:
            into[name] = value


def _build(default: Any, values: Mapping[str, Any], where: str) -> Any:
    """`default` with the given values in place of its own."""
    fields = {f.name: f for f in dataclasses.fields(default)}
    if unknown := set(values) - set(fields):
        raise SettingsError(
            f"{where}: unknown setting {', '.join(sorted(unknown))}; known are {', '.join(sorted(fields))}"
        )
    converted = {
        name: _convert(getattr(default, name), value, f"{where}.{name}", str(fields[name].type))
        for name, value in values.items()
    }
    return dataclasses.replace(default, **converted)


def _convert(default: Any, value: Any, where: str, kind: str) -> Any:
    """The value in the type of its default; text from the environment is read as that type."""
    if isinstance(default, Mapping) and isinstance(value, Mapping):
        return MappingProxyType({**default, **_entries(default, value, where)})
    if dataclasses.is_dataclass(default) and isinstance(value, Mapping):
        return _build(default, value, where)
    try:
        if isinstance(default, bool):
            return _boolean(value)
        if "timedelta" in kind:
            return value if isinstance(value, timedelta) else timedelta(days=float(value))
        if isinstance(default, tuple):
            one = type(default[0]) if default else str
            return tuple(one(v.strip()) for v in (value.split(",") if isinstance(value, str) else value))
        if isinstance(default, int | float):
            return type(default)(value)
        if isinstance(default, Enum):
            return _one_of(type(default), value)
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(f"{where} = {value!r}: {error}") from error
    if isinstance(default, Mapping) or dataclasses.is_dataclass(default) or not isinstance(value, str | None):
        raise SettingsError(f"{where} = {value!r}: expected {kind}")
    return value


def _entries(default: Mapping[Any, Any], values: Mapping[str, Any], where: str) -> dict[Any, Any]:
    keys = {str(key): key for key in default}
    if unknown := set(values) - set(keys):
        raise SettingsError(f"{where}: unknown {', '.join(sorted(unknown))}; known are {', '.join(sorted(keys))}")
    return {keys[name]: _build(default[keys[name]], value, f"{where}.{name}") for name, value in values.items()}


def _one_of(kind: type[Enum], value: Any) -> Enum:
    members = {member.value: member for member in kind}
    if value not in members:
        raise ValueError(f"use one of {', '.join(map(str, members))}")
    return members[value]


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in {"1", "true", "yes", "on"}:
        return True
    if str(value).lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("expected true or false")
