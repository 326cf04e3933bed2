"""Neo4j as a graph engine, by the official driver (SPEC G4, article A4 §2). The extra `neo4j`.

Statements are constants and everything else is a parameter, labels too (`$(…)`, which Neo4j has since 5.26). Neo4j never forgets
the name of a label or type, so only names that jiyi ships become one: any other relation is of type RELATES. No word of a user
can stay behind as one, and none can change a statement. There is one statement for each type that is shipped: as a parameter
(`CREATE ()-[:$(…)]->()`) Neo4j 5.26.0 takes the type of the first call for all that follow.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b, sha256
from importlib import resources
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.encoding import instant, optional_instant
from jiyi.domain.entities import EntityType, Name
from jiyi.domain.graph import Edge, Link, Telling
from jiyi.domain.memory import Source
from jiyi.domain.relations import USER
from jiyi.domain.scope import Scope
from jiyi.errors import EngineBusy, EngineUnavailable, MissingExtra, SettingsError
from jiyi.ports import GraphEngine, GraphReader
from jiyi.stores.numbering import at_most

try:
    from neo4j import (
        READ_ACCESS,
        WRITE_ACCESS,
        Driver,
        GraphDatabase,
        ManagedTransaction,
        Query,
        Session,
        unit_of_work,
    )
    from neo4j.exceptions import DriverError, Neo4jError
except ImportError as error:
    raise MissingExtra("the driver of Neo4j", "neo4j") from error

T = TypeVar("T")

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
AT_ONCE = 2_000
"""Rows that one transaction deletes when an owner is emptied."""
CONNECT_SECONDS = 3.0
SECONDS = 30.0
"""How long a transaction may take."""
_in_time = unit_of_work(timeout=SECONDS)
OTHER = "RELATES"
"""The type of a relation that is not in the vocabulary; `relation` names it."""
SHIPPED = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
LABELS = {kind: kind.value.capitalize() for kind in EntityType}
SELF = "User"
"""The label of the user, beside Person."""
ALL_LABELS = sorted({*LABELS.values(), SELF})
CLAIM = "~"
"""Begins the version of an owner that is being told."""
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how edges look in the engine. `relations` become types; `confidence` gives each edge what its confidence is
    reckoned from, so that a statement of one's own can do it."""

    relations: frozenset[str]
    confidence: ConfidencePolicy

    def type_of(self, relation: str) -> str:
        """The type of a relation's relationships: its name where it is shipped, and plain enough to stand in a statement."""
        return relation if relation in self.relations and SHIPPED.fullmatch(relation) else OTHER

    @property
    def identity(self) -> str:
        curves = sorted(
            (s.value, c.start, c.loss, str(c.period), str(c.good_for)) for s, c in self.confidence.curves.items()
        )
        return sha256(repr((2, sorted(self.relations), curves)).encode()).hexdigest()[:8]


class Neo4jEngine(GraphEngine):
    """Make it with `open_neo4j`. It connects at the first use: a server that is down keeps nothing from opening."""

    def __init__(self, name: str, connect: Callable[[], Driver], database: str | None, shape: Shape) -> None:
        self._name, self._connect, self._database, self._shape = name, connect, database, shape
        self._lock = threading.Lock()
        self._driver: Driver | None = None

    @property
    def name(self) -> str:
        return self._name

    # ------------------------------------------------------------------------------ telling

    def claim(
        self, owner: str, scope: Scope, version: str, told: str | None = None, known: Collection[str] = ()
    ) -> str | None:
        since = "" if told is None else self._versioned(told)
        begun = f"{CLAIM}{since}{CLAIM}"
        claim = f"{begun}{version}{CLAIM}{secrets.token_hex(8)}"
        given = {"owner": owner, "tenant": scope.tenant, "user": scope.user, "claim": claim}
        if told is not None:
            # Half told a version that this database knows, it has heard of nothing that is not told again.
            more = {"told": since, "halves": [f"{begun}{v}{CLAIM}" for v in sorted({version, *known})]}
            return claim if self._write(lambda tx: _rows(tx, _CLAIM_KNOWN, given | more)) else None
        [(known,)] = self._write(lambda tx: _rows(tx, _CLAIM_ANY, given))
        if known:
            self._empty(owner)
        return claim

    def take(self, owner: str, claim: str, memories: Collection[int]) -> tuple[set[str], set[str]]:
        rows = self._claimed(owner, claim, (_TAKE, {"memories": sorted(memories)}))
        names = {name for subject, thing, _, _ in rows for name in (subject, thing)}
        nodes = {node for _, _, start, end in rows for node in (start, end)}
        return names - {None}, nodes - {None}

    def put(self, owner: str, claim: str, telling: Telling) -> None:
        types = [
            {"key": key_of(node), "type": kind.value, "labels": _labels(node, kind)}
            for node, kind in sorted(telling.types.items())
        ]
        self._claimed(
            owner,
            claim,
            (_PLACE, {"names": [_name_row(n) for n in telling.names]}),
            (_TYPES, {"types": types, "labels": ALL_LABELS}),
            *self._put(owner, telling.links),
        )

    def prune(self, owner: str, claim: str, names: Collection[str], nodes: Collection[str]) -> None:
        keys = {"names": list(map(key_of, names)), "nodes": list(map(key_of, nodes))}
        self._claimed(owner, claim, (_PRUNE_NAMES, keys), (_PRUNE_NODES, keys))

    def finish(self, owner: str, claim: str, version: str) -> None:
        self._claimed(owner, claim, (_FINISH, {"version": self._versioned(version)}))

    def version(self, owner: str) -> str:
        rows = self.ask(_VERSION, {"owner": owner})
        return self._plain(rows[0][0]) if rows else ""

    def owners(self, prefix: str) -> dict[str, str]:
        return {owner: self._plain(version) for owner, version in self.ask(_OWNERS, {"prefix": prefix})}

    def drop(self, owner: str) -> None:
        given = {"owner": owner, "tenant": "", "user": "", "claim": f"{CLAIM}{CLAIM}{secrets.token_hex(8)}"}
        self._write(lambda tx: _rows(tx, _CLAIM_ANY, given))
        self._empty(owner)
        self._write(lambda tx: _rows(tx, _DROP, {"owner": owner}))

    def reader(self, owner: str) -> Neo4jReader:
        return Neo4jReader(self, owner)

    def ask(self, statement: str, given: Mapping[str, Any]) -> list[list[Any]]:
        """The rows of a statement that changes nothing, for `Neo4jReader`. It goes to the server and back once: with a transaction
        begun and ended around it, it would three times."""
        with self._session(READ_ACCESS) as session:
            return [record.values() for record in session.run(Query(statement, timeout=SECONDS), dict(given))]

    def close(self) -> None:
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    # ------------------------------------------------------------------------------ steps

    def _empty(self, owner: str) -> None:
        for statement in (_EMPTY_ENTITIES, _EMPTY_NAMES, _EMPTY_TOLD):
            given = {"owner": owner, "limit": AT_ONCE}
            while self._write(lambda tx, s=statement, g=given: _rows(tx, s, g))[0][0]:  # type: ignore[misc]
                pass

    def _claimed(self, owner: str, claim: str, *statements: tuple[str, Mapping[str, Any]]) -> list[list[Any]]:
        """A step of telling, one transaction: the claim is held, and locked, until it is done. Gives all rows."""

        def work(tx: ManagedTransaction) -> list[list[Any]]:
            if not _rows(tx, _HOLD, {"owner": owner, "claim": claim}):
                raise EngineBusy(f"another process tells {self._name} what changed")
            return [row for statement, given in statements for row in _rows(tx, statement, {"owner": owner, **given})]

        return self._write(work)

    def _versioned(self, version: str) -> str:
        return f"{version}.{self._shape.identity}"

    def _plain(self, version: str | None) -> str:
        """A version as it was given; empty while it is told, and where edges look otherwise now."""
        ending = f".{self._shape.identity}"
        return version.removesuffix(ending) if version and version.endswith(ending) and version[0] != CLAIM else ""

    def _put(self, owner: str, links: Iterable[Link]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """A statement for each type of relationship, with its links."""
        by_type: dict[str, list[dict[str, Any]]] = {}
        for link in links:
            by_type.setdefault(self._shape.type_of(link.edge.relation), []).append(self._link_row(owner, link))
        for kind, rows in sorted(by_type.items()):
            yield _PUT.format(type=kind), {"links": rows}

    def _link_row(self, owner: str, link: Link) -> dict[str, Any]:
        edge = link.edge
        return {
            "start": key_of(link.start),
            "end": key_of(link.end),
            "memory": edge.memory,
            "properties": _properties(edge) | _fading(edge, self._shape.confidence) | {"owner": owner},
        }

    def _write(self, work: Callable[[ManagedTransaction], T]) -> T:
        with self._session(WRITE_ACCESS) as session:
            return session.execute_write(_in_time(work))

    @contextmanager
    def _session(self, access: str) -> Iterator[Session]:
        try:
            with self._open().session(database=self._database, default_access_mode=access) as session:
                yield session
        except (DriverError, Neo4jError, OSError, ValueError) as error:
            # What it says may quote an address with a password.
            said = getattr(error, "code", None) or type(error).__name__
            raise EngineUnavailable(
                f"{self._name} does not answer ({said}): see graph_engine in the settings"
            ) from error

    def _open(self) -> Driver:
        with self._lock:
            if self._driver is None:
                driver = self._connect()
                try:
                    driver.verify_connectivity()
                    with driver.session(database=self._database) as session:
                        _migrate(session)
                except BaseException:
                    driver.close()
                    raise
                self._driver = driver
            return self._driver


def open_neo4j(place: str, shape: Shape) -> Neo4jEngine:
    """Neo4j at an address such as bolt://neo4j:PASSWORD@127.0.0.1:7687/neo4j; user and database may be left out.

    Raises:
        SettingsError: an address that is none.
    """
    try:
        url = urlsplit(place)
        host, port = url.hostname, url.port or 7687
    except ValueError:
        url, host, port = urlsplit(""), None, 0
    if url.scheme not in SCHEMES or not host or url.query or url.fragment:
        raise SettingsError(
            "graph_engine: write it as bolt://USER:PASSWORD@HOST:PORT or neo4j://…, /DATABASE may follow"
        )
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    login = (unquote(url.username), unquote(url.password or "")) if url.username else None

    def connect() -> Driver:
        return GraphDatabase.driver(
            f"{url.scheme}://{shown}",
            auth=login,
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=CONNECT_SECONDS + 1,
            max_transaction_retry_time=0.0,  # nobody waits: the database answers, and what was to be told is told later
            notifications_min_severity="OFF",
        )

    return Neo4jEngine(f"Neo4j at {shown}", connect, unquote(url.path.strip("/")) or None, shape)


# ---------------------------------------------------------------------------------- reading


class Neo4jReader(GraphReader):
    """What the engine holds of one owner, asked step by step."""

    def __init__(self, engine: Neo4jEngine, owner: str) -> None:
        self._engine, self._owner = engine, owner

    def of_memories(self, scope: Scope, memories: Collection[int]) -> list[Edge]:
        return [link.edge for link in self._links(_OF_MEMORIES, memories=sorted(memories))]

    def named(self, scope: Scope, names: Collection[str]) -> list[Name]:
        return self._names(_NAMED, names)

    def alike(self, scope: Scope, bases: Collection[str]) -> list[Name]:
        return self._names(_ALIKE, bases)

    def names_of(self, scope: Scope, nodes: Collection[str]) -> list[Name]:
        return self._names(_NAMES_OF, nodes)

    def told_of(self, scope: Scope, names: Collection[str], relations: Collection[str]) -> list[Edge]:
        if not names or not relations:
            return []
        found = self._links(_TOLD_OF, keys=[key_of(n) for n in names], relations=list(relations))
        return [link.edge for _, link in sorted({k.edge.memory: k for k in found}.items())]

    def links(self, scope: Scope, node: str, relations: Collection[str] = (), limit: int = 1000) -> list[Link]:
        return self.links_of(scope, [node], relations, limit)[node]

    def links_of(
        self, scope: Scope, nodes: Collection[str], relations: Collection[str] = (), limit: int = 1000
    ) -> dict[str, list[Link]]:
        keys = {key_of(node): node for node in nodes}
        given = {"keys": list(keys), "relations": list(relations), "limit": at_most(limit)}
        found: dict[str, dict[int, Link]] = {node: {} for node in nodes}
        for key, of, start, end in self._engine.ask(_LINKS, {"owner": self._owner, **given}):
            edge = _edge_of(of)
            found[keys[key]][edge.memory] = Link(edge, start, end)
        return {
            node: sorted(some.values(), key=lambda link: (link.edge.relation, -link.edge.memory))
            for node, some in found.items()
        }

    def listing(
        self, scope: Scope, relations: Collection[str] = (), *, after: int = 0, limit: int = 1000
    ) -> list[Link]:
        return self._links(_LISTING, relations=list(relations), after=max(after, 0), limit=at_most(limit))

    def count(self, scope: Scope) -> tuple[int, int]:
        [(names, edges)] = self._engine.ask(_COUNT, {"owner": self._owner})
        return (names, edges)

    def _links(self, statement: str, **given: Any) -> list[Link]:
        rows = self._engine.ask(statement, {"owner": self._owner, **given})
        return [Link(_edge_of(edge), start, end) for edge, start, end in rows]

    def _names(self, statement: str, texts: Collection[str]) -> list[Name]:
        if not texts:
            return []
        rows = self._engine.ask(statement, {"owner": self._owner, "keys": [key_of(t) for t in texts]})
        return sorted((Name(*row) for row in rows), key=lambda n: n.name)


# ---------------------------------------------------------------------------------- rows


def key_of(name: str) -> str:
    """Short enough for any index."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _labels(node: str, kind: EntityType) -> list[str]:
    return [LABELS[kind], SELF] if node == USER else [LABELS[kind]]


def _name_row(name: Name) -> dict[str, str]:
    return {
        "key": key_of(name.name), "name": name.name, "spelling": name.spelling, "base": name.base,
        "base_key": key_of(name.base), "node": name.node, "node_key": key_of(name.node),
    }  # fmt: skip


def _properties(edge: Edge) -> dict[str, Any]:
    return {
        "memory": edge.memory, "subject": edge.subject, "relation": edge.relation, "object": edge.object,
        "literal": edge.literal, "source": edge.source.value, "confidence": edge.start, "affirmed_at": edge.affirmed_at,
        "since": edge.valid_from, "until": edge.valid_to, "mentions": edge.mentions,
    }  # fmt: skip


def _fading(edge: Edge, policy: ConfidencePolicy) -> dict[str, float]:
    """What `domain.confidence.faded` reckons with: `confidence` lasts `lasts_days` from `affirmed_at`, then `fades_from` loses
    `loss_per_day`."""
    curve, lasts, start = policy.curves[edge.source], 0.0, edge.start
    if curve.good_for is not None:
        lasts = curve.good_for.total_seconds() / DAY
        curve = policy.curves[Source.DECLARED]
        start = min(start, curve.start)
    return {"lasts_days": lasts, "fades_from": start, "loss_per_day": curve.loss / (curve.period.total_seconds() / DAY)}


def _edge_of(of: Sequence[Any]) -> Edge:
    """The edge that `_EDGE` tells."""
    memory, subject, relation, thing, literal, source, confidence, affirmed, since, until, mentions = of
    return Edge(
        memory, subject, relation, thing, literal, Source(source), confidence, instant(affirmed), instant(since),
        optional_instant(until), mentions,
    )  # fmt: skip


def _rows(tx: ManagedTransaction, statement: str, given: Mapping[str, Any]) -> list[list[Any]]:
    return [record.values() for record in tx.run(statement, dict(given))]


# ---------------------------------------------------------------------------------- the schema


def migrations() -> list[tuple[int, str]]:
    """Number and text of each, in order."""
    files = [f for f in resources.files("jiyi").joinpath("stores", "cypher").iterdir() if f.name.endswith(".cypher")]
    return sorted((int(f.name[:4]), f.read_text("utf-8")) for f in files)


def _migrate(session: Session) -> None:
    """Bring constraints and indexes up to date. Each statement may be run twice: a transaction cannot hold several of them
    together with the note that they were run."""
    shipped = migrations()
    done = {number for (number,) in session.execute_read(lambda tx: _rows(tx, _MIGRATED, {}))}
    if newer := done - {number for number, _ in shipped}:
        raise ValueError(f"the graph was made by a newer jiyi, which has migration {max(newer)}")
    for number, text in shipped:
        if number in done:
            continue
        plain = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
        for statement in filter(None, map(str.strip, plain.split(";"))):
            session.run(statement).consume()
        session.execute_write(lambda tx, n=number: _rows(tx, _NOTE_MIGRATION, {"number": n}))  # type: ignore[misc]


_MIGRATED = "MATCH (m:JiyiMigration) RETURN m.number"
_NOTE_MIGRATION = "MERGE (m:JiyiMigration {number: $number}) SET m.at = datetime()"

# ---------------------------------------------------------------------------------- statements

_CLAIM_ANY = """
MERGE (s:Scope {owner: $owner})
WITH s, s.version IS NOT NULL AS known
SET s.tenant = $tenant, s.user = $user, s.version = $claim
RETURN known
"""
_CLAIM_KNOWN = """
MATCH (s:Scope {owner: $owner})
SET s.locked = true
WITH s WHERE s.version = $told OR any(half IN $halves WHERE s.version STARTS WITH half)
SET s.version = $claim
RETURN s.owner
"""
# Setting a property takes the lock of the node, so that no other process can claim in the middle of a step.
_HOLD = """
MATCH (s:Scope {owner: $owner})
SET s.locked = true
WITH s WHERE s.version = $claim
RETURN s.owner
"""
_FINISH = "MATCH (s:Scope {owner: $owner}) SET s.version = $version"
_VERSION = "MATCH (s:Scope {owner: $owner}) RETURN s.version"
_OWNERS = "MATCH (s:Scope) WHERE s.owner STARTS WITH $prefix RETURN s.owner, s.version"
_DROP = "MATCH (s:Scope {owner: $owner}) DELETE s"

_EMPTY_ENTITIES = """
MATCH (e:Entity {owner: $owner}) WHERE e.key IS NOT NULL
WITH e LIMIT $limit DETACH DELETE e RETURN count(*)
"""
_EMPTY_NAMES = (
    "MATCH (n:Name {owner: $owner}) WHERE n.key IS NOT NULL WITH n LIMIT $limit DETACH DELETE n RETURN count(*)"
)
_EMPTY_TOLD = "MATCH (t:Told {owner: $owner}) WHERE t.memory IS NOT NULL WITH t LIMIT $limit DELETE t RETURN count(*)"

_TAKE = """
UNWIND $memories AS memory
MATCH (t:Told {owner: $owner, memory: memory})
OPTIONAL MATCH (a:Entity {owner: $owner, key: t.start})-[r {owner: $owner, memory: memory}]->(b:Entity {owner: $owner, key: t.end})
WITH t, r, r.subject AS subject, r.object AS object, a.name AS start, b.name AS end
DELETE t, r
RETURN subject, object, start, end
"""
_PLACE = """
UNWIND $names AS row
MERGE (e:Entity {owner: $owner, key: row.node_key})
  ON CREATE SET e.name = row.node
MERGE (n:Name {owner: $owner, key: row.key})
SET n.name = row.name, n.spelling = row.spelling, n.base = row.base, n.base_key = row.base_key
WITH e, n
OPTIONAL MATCH (n)-[old:NAMES]->(other:Entity) WHERE other <> e
DELETE old
MERGE (n)-[:NAMES {owner: $owner}]->(e)
"""
_TYPES = """
UNWIND $types AS row
MATCH (e:Entity {owner: $owner, key: row.key})
REMOVE e:$($labels)
SET e:$(row.labels), e.type = row.type
"""
_PUT = """
UNWIND $links AS row
MATCH (a:Entity {{owner: $owner, key: row.start}})
MATCH (b:Entity {{owner: $owner, key: row.end}})
CREATE (a)-[r:{type}]->(b)
SET r = row.properties
CREATE (:Told {{owner: $owner, memory: row.memory, start: row.start, end: row.end}})
"""
_PRUNE_NAMES = "UNWIND $names AS key MATCH (n:Name {owner: $owner, key: key}) DETACH DELETE n"
_PRUNE_NODES = """
UNWIND $nodes AS key
MATCH (e:Entity {owner: $owner, key: key}) WHERE NOT EXISTS { (e)<-[:NAMES]-(:Name) }
DETACH DELETE e
"""

# As plain values: what the driver makes of a map with instants takes longer than the way to the server and back.
_EDGE = (
    "[r.memory, r.subject, r.relation, r.object, r.literal, r.source, r.confidence, "
    + ", ".join(f"r.{at}.epochSeconds * 1000000 + r.{at}.microsecond" for at in ("affirmed_at", "since", "until"))
    + ", r.mentions]"
)
_OF_MEMORIES = f"""
UNWIND $memories AS memory
MATCH (t:Told {{owner: $owner, memory: memory}})
MATCH (a:Entity {{owner: $owner, key: t.start}})-[r {{owner: $owner, memory: memory}}]->(b:Entity {{owner: $owner, key: t.end}})
RETURN {_EDGE}, a.name, b.name ORDER BY r.memory
"""
_NAME = "RETURN n.name, n.spelling, n.base, e.name"
_NAMED = (
    f"UNWIND $keys AS key MATCH (n:Name {{owner: $owner, key: key}})-[:NAMES]->(e:Entity {{owner: $owner}}) {_NAME}"
)
_ALIKE = f"UNWIND $keys AS key MATCH (n:Name {{owner: $owner, base_key: key}})-[:NAMES]->(e:Entity {{owner: $owner}}) {_NAME}"
_NAMES_OF = (
    f"UNWIND $keys AS key MATCH (n:Name {{owner: $owner}})-[:NAMES]->(e:Entity {{owner: $owner, key: key}}) {_NAME}"
)
_TOLD_OF = f"""
UNWIND $keys AS key
MATCH (n:Name {{owner: $owner, key: key}})-[:NAMES]->(e:Entity {{owner: $owner}})-[r {{owner: $owner}}]-(:Entity {{owner: $owner}})
WHERE r.relation IN $relations AND n.name IN [r.subject, r.object]
RETURN {_EDGE}, startNode(r).name, endNode(r).name
"""
_LINKS = f"""
UNWIND $keys AS key
MATCH (n:Name {{owner: $owner}})-[:NAMES]->(e:Entity {{owner: $owner, key: key}})
CALL (n, e) {{
  MATCH (e)-[r {{owner: $owner}}]->(b:Entity {{owner: $owner}})
  WHERE r.subject = n.name AND ($relations = [] OR r.relation IN $relations)
  RETURN r, e.name AS start, b.name AS end ORDER BY r.relation, r.memory DESC LIMIT $limit
  UNION ALL
  MATCH (a:Entity {{owner: $owner}})-[r {{owner: $owner}}]->(e)
  WHERE r.object = n.name AND ($relations = [] OR r.relation IN $relations)
  RETURN r, a.name AS start, e.name AS end ORDER BY r.relation, r.memory DESC LIMIT $limit
}}
RETURN key, {_EDGE}, start, end
"""
_LISTING = f"""
MATCH (t:Told {{owner: $owner}}) WHERE t.memory > $after
MATCH (a:Entity {{owner: $owner, key: t.start}})-[r {{owner: $owner, memory: t.memory}}]->(b:Entity {{owner: $owner, key: t.end}})
WHERE $relations = [] OR r.relation IN $relations
RETURN {_EDGE}, a.name, b.name ORDER BY r.memory LIMIT $limit
"""
_COUNT = """
RETURN COUNT { (n:Name {owner: $owner}) WHERE n.key IS NOT NULL }, COUNT { (t:Told {owner: $owner}) WHERE t.memory IS NOT NULL }
"""
