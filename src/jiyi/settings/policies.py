"""What can be tuned beside the rules of belief: limits, background work, models, and the services. Each number says what it does."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal


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
    # Characters of tasks and appointments ahead that stand beside the profile whatever is asked; 0: none.
    ahead_chars: int = 400
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
class SqlitePolicy:
    """What a process keeps of a database file (SPEC O6)."""

    # The texts of users with so many messages or more stay in memory once they were looked through letter by letter: so many
    # characters of all of them together (0: none).
    kept_characters: int = 16_000_000
    kept_from: int = 500
    # So do the vectors of users that are asked about again: so many MB together (0: none). 100,000 of 512 numbers take 51 MB.
    kept_vectors_mb: int = 128
    # And where their messages stand, so many of all users together (0: none): some 300 bytes each.
    kept_places: int = 50_000
    # And their memories, so many of all users together (0: none): some 2 KB each.
    kept_memories: int = 5_000
    # None of it stays longer than so after its last use.
    kept_seconds: float = 60.0


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
    # Whether the extension pgvector finds vectors where the database has it; after a change: jiyi doctor --fix.
    pgvector: bool = True
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
