"""No call reaches another's memory (SPEC S4). The calls are those of the OpenAPI document: a new one is covered by existing."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx2
import pytest

from jiyi import open_memory
from jiyi.domain.access import Role
from jiyi.domain.scope import Scope
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Lane
from jiyi.surfaces.chats.upstreams import read_upstreams
from jiyi.surfaces.http.app import create_app
from jiyi.surfaces.http.edge import PUBLIC
from tests.conftest import Clock
from tests.surfaces.issuer import Issuer, published
from tests.surfaces.served import Served, running, trusting

IDS = {"memory": "m1", "question": "q2", "plan": "p1", "job": "4", "event": "h1-h1", "kind": "run", "name": "s1"}
"""What a path may name; all of it exists in the memory of ming of acme."""
AUDITED, ADMINISTERED = {"receipts", "ledger"}, "/v1/admin/"
TEAM, WORD = "eng", "zanzibar"
"""A memory that several of acme share, and a word of it."""
ABOUT_NOBODY = {"mem0_ping", "open_visitor"}
"""Asks whether a key is good, and makes somebody who was not there: of no user in particular."""


@dataclass(frozen=True)
class Operation:
    """A call that does something, as the document's first example shows it."""

    name: str
    method: str
    path: str
    body: dict[str, Any] | None
    raw: str | None
    query: dict[str, str]
    parameters: frozenset[str]

    def __call__(self, client: httpx2.Client, *, trace: str = "t00000000", **more: Any) -> httpx2.Response:
        path = self.path.format(**IDS, trace=trace)
        query = {**self.query, **more.pop("query", {})}
        headers = dict(more.pop("headers", {}))
        if self.raw is not None:
            return client.request(
                self.method, path, params=query, content=b"PK\x03\x04", headers={"Content-Type": self.raw, **headers}
            )
        body = None if self.body is None else {**self.body, **more.pop("body", {})}
        return client.request(self.method, path, params=query, json=body, headers=headers)


def operations() -> list[Operation]:
    with open_memory("reference", worker=False) as memory:
        document = create_app(memory).openapi()
    return [
        Operation(found["operationId"], method.upper(), path, *_body(found, document), _query(found), _names(found))
        for path, item in document["paths"].items()
        for method, found in item.items()
        if path not in PUBLIC
    ]


def _body(operation: dict[str, Any], document: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None, next(iter(content), None)
    schema = content["application/json"]["schema"]
    name = (schema.get("$ref") or schema["anyOf"][0]["$ref"]).rpartition("/")[2]
    return dict(document["components"]["schemas"][name]["examples"][0]), None


def _names(operation: dict[str, Any]) -> frozenset[str]:
    return frozenset(p["name"] for p in operation.get("parameters", ()))


def _query(operation: dict[str, Any]) -> dict[str, str]:
    wanted = [p["name"] for p in operation.get("parameters", ()) if p["in"] == "query" and p.get("required")]
    return dict.fromkeys(wanted, IDS["memory"])


OPERATIONS = operations()
EVERY = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)


def fill(memory: MemoryLayer) -> str:
    """Something of everything for ming of acme; gives the id of a trace."""
    me = memory.scope("ming", tenant="acme")
    me.observe([{"role": "user", "text": "我们的数据库用的是 MySQL。", "id": "a1"}], session="s1")
    memory.work()
    me.remember("我养了一只狗", source="inferred")
    me.end("s1")
    trace = me.recall("数据库用什么").trace_id
    store = memory._engine.store

    def give_up(unit: Any) -> None:
        now = memory._clock()
        unit.jobs.put(Scope("ming", "acme"), "unknown", {}, now)
        job = unit.jobs.claim(now, now, Lane.QUICK)
        unit.jobs.fail(job, "no handler", now, None)

    store.write(give_up)
    memory.work()
    assert [q.id for q in me.questions()] == ["q2"]
    assert [str(job.id) for job in memory.dead_jobs()] == [IDS["job"]]
    team = memory.shared(TEAM, tenant="acme", who="ming")
    team.remember(f"The {WORD} report is due on Friday")
    team.remember("数据库：MySQL")
    team.observe([{"role": "user", "text": f"我们把 {WORD} 放在 /srv/data", "id": "a1"}], session="s1")
    memory.work()
    return trace


@dataclass
class World:
    """A service that trusts an issuer, with ming's memory in it."""

    served: Served
    issuer: Issuer
    file: Path
    trace: str
    clock: Clock

    def picture(self) -> str:
        """A hash of every row of the database."""
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as connection:
            return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()

    def client(self, user: str = "lena", tenant: str = "acme", **claims: Any) -> httpx2.Client:
        return self.served.client(self.issuer.token(user, tenant, **claims))


@contextmanager
def world(file: Path, *, filled: bool) -> Iterator[World]:
    issuer, clock = Issuer(), Clock()
    unlimited = {"requests_a_minute": 0, "tenant_requests_a_minute": 0}
    with published(issuer) as url, open_memory(
        file, clock=clock, worker=False, identity=trusting(url, shared_claim="memory"), service=unlimited, proxy=read_upstreams(["echo"])
    ) as memory:  # fmt: skip
        trace = fill(memory) if filled else "t00000000"
        app = create_app(memory)
        with running(app) as address:
            yield World(Served(address, memory, app), issuer, file, trace, clock)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("here") / "memory.db", filled=True) as made:
        yield made


def denied(answer: httpx2.Response, status: int) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert not [word for word in ("MySQL", "ming", WORD) if word in answer.text]


def test_nothing_but_what_tells_nothing_is_public() -> None:
    assert {"/health", "/ready", "/metrics", "/v1/openapi.json"} == PUBLIC
    assert len(OPERATIONS) > 35
    plain = {"/memory", "/memory/search", "/memory/{memory}", "/chat"}
    others = {o.path for o in OPERATIONS if not o.path.startswith("/v1/") and not o.name.startswith("mem0_")}
    assert others == plain
    assert {"mem0_add", "mem0_add_v3", "mem0_delete_all", "mem0_reset"} < {o.name for o in OPERATIONS}


@EVERY
def test_a_token_that_proves_nothing_opens_nothing(here: World, operation: Operation) -> None:
    before = here.picture()
    with here.served.client() as client:
        wrong = {
            **{why: f"Bearer {token}" for why, token in here.issuer.wrong_tokens("ming").items()},
            "another scheme": f"Basic {here.issuer.token('ming')}",
            "a key that is none": "Bearer jiyi_sk_00000000_abc",
        }
        for why, header in wrong.items():
            answer = operation(client, trace=here.trace, headers={"Authorization": header.encode()})
            assert answer.headers["www-authenticate"] == "Bearer", why
            denied(answer, 401)
        denied(operation(client, trace=here.trace), 401)
        two = [("Authorization", f"Bearer {here.issuer.token(u)}") for u in ("lena", "ming")]
        denied(client.get("/v1/memories/m1", headers=two), 401)
    assert here.picture() == before


WAYS: dict[str, dict[str, Any]] = {
    "header": {"headers": {"X-Jiyi-User": "%USER%"}},
    "query user": {"query": {"user": "%USER%"}},
    "query user_id": {"query": {"user_id": "%USER%"}},
    "twice": {"query": {"user": "lena"}, "headers": {"X-Jiyi-User": "%USER%"}},
    "body user": {"body": {"user": "%USER%"}},
    "body user_id": {"body": {"user_id": "%USER%"}},
    "tenant": {"query": {"tenant": "other"}},
    "tenant_id": {"query": {"tenant_id": "other"}},
    "body tenant": {"body": {"tenant": "other"}},
}


def naming(way: dict[str, Any], user: str) -> dict[str, Any]:
    return {where: {k: v.replace("%USER%", user) for k, v in what.items()} for where, what in way.items()}


@EVERY
def test_another_user_or_tenant_that_is_named_is_refused_alike_whether_they_exist(
    here: World, operation: Operation
) -> None:
    before = here.picture()
    with here.client("lena", roles=["user", "admin"]) as client:
        for name, way in WAYS.items():
            if "body" in way and operation.body is None:
                continue
            known, unknown = (
                operation(client, trace=here.trace, **naming(way, user)) for user in ("ming", "nobody")
            )  # fmt: skip
            assert known.status_code == 403, (name, known.text)
            assert (known.status_code, known.content) == (unknown.status_code, unknown.content)
            denied(known, 403)
    assert here.picture() == before


@EVERY
def test_a_service_stays_in_its_tenant(here: World, operation: Operation) -> None:
    _, key = here.served.memory.make_service_key("beta", tenant="beta", roles=[Role.USER, Role.ADMIN])
    before = here.picture()
    with here.served.client(key) as client:
        if operation.name not in ABOUT_NOBODY:
            denied(operation(client, trace=here.trace), 403)  # for whom?
        for way in (
            {"query": {"tenant": "acme"}},
            {"headers": {"X-Jiyi-User": "ming"}, "query": {"tenant_id": "acme"}},
        ):
            denied(operation(client, trace=here.trace, query={"user": "ming"} | way.get("query", {})), 403)
    assert here.picture() == before


@EVERY
def test_a_role_opens_what_it_is_for(here: World, operation: Operation) -> None:
    before = here.picture()
    closed = {Role.AUDITOR: operation.name not in AUDITED, Role.AGENT: operation.name in AUDITED, Role.USER: False}
    for role, shut in closed.items():
        if shut or operation.path.startswith(ADMINISTERED):
            with here.client("lena", roles=[role.value]) as client:
                denied(operation(client, trace=here.trace), 403)
    assert here.picture() == before


NAMES = re.compile(r"\b(?:t[0-9a-f]{8}|chat-[-0-9]{10}-[a-p]{12}|auto-[0-9a-f]{32})\b")


def told(answer: httpx2.Response) -> tuple[int, str]:
    """What an answer tells, without the names that are drawn by lot or made with the secret of a database."""
    if answer.headers["content-type"] == "application/zip":
        with ZipFile(BytesIO(answer.content)) as archive:
            return answer.status_code, str([(i.filename, i.file_size) for i in archive.infolist()])
    return answer.status_code, NAMES.sub("-", answer.text)


def test_what_is_another_s_is_answered_as_what_is_not_there(tmp_path: Path) -> None:
    """The same calls on a service that holds ming's memory and on one that never heard of ming get the same bytes."""
    with ExitStack() as stack:
        full, empty = (stack.enter_context(world(tmp_path / f"{f}.db", filled=f)) for f in (True, False))
        for user, tenant, roles in (("lena", "acme", ["user"]), ("ming", "beta", ["user", "admin"])):
            for operation in OPERATIONS:
                answers = []
                for one in (full, empty):
                    one.clock.advance(seconds=1)
                    with one.client(user, tenant, roles=roles) as client:
                        answers.append(told(operation(client, trace=full.trace)))
                    while one.served.app.state.service.recording:  # what a chat says is stored behind it
                        time.sleep(0.001)
                assert answers[0] == answers[1], operation.name
        mine = full.served.memory.scope("ming", tenant="acme")
        assert mine.memory("m1").text == "数据库：MySQL"
        assert len(full.served.memory.dead_jobs(tenant="acme")) == 1


def test_a_request_that_another_sends_again_is_their_own(here: World) -> None:
    said = {"text": "我的猫叫年糕"}
    with here.client("u1") as first, here.client("u2") as second:
        for client in (first, first, second):
            done = client.post("/v1/memories", json=said, headers={"Idempotency-Key": "k-1"})
            assert done.json()["memories"][0]["id"] == "m1"
        assert [len(c.get("/v1/ledger").json()["plans"]) for c in (first, second)] == [1, 1]


def test_a_user_is_the_same_in_every_session_and_no_other_device_is(here: World) -> None:
    with here.client("u3") as phone, here.client("u3") as web, here.client("u3", "beta") as namesake:
        phone.post("/v1/memories", json={"text": "I am allergic to peanuts."})
        assert "peanuts" in web.get("/v1/profile").text
        assert "peanuts" not in namesake.get("/v1/profile").text


def test_keys_change_while_requests_run_and_none_fails(tmp_path: Path) -> None:
    with world(tmp_path / "memory.db", filled=False) as made:
        stop, statuses, lock = threading.Event(), [], threading.Lock()

        def call() -> None:
            with made.served.client() as client:
                while not stop.is_set():
                    token = made.issuer.token("lena")
                    answer = client.get("/v1/whoami", headers={"Authorization": f"Bearer {token}"})
                    with lock:
                        statuses.append(answer.status_code)

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            have = len(statuses)
            while len(statuses) < have + 25:
                threads[0].join(0.005)
            made.issuer.rotate()
        have = len(statuses)
        while len(statuses) < have + 25:
            threads[0].join(0.005)
        stop.set()
        for thread in threads:
            thread.join()
        assert set(statuses) == {200}
        assert made.issuer.asked == 5


def test_a_token_s_time_is_the_real_one(here: World) -> None:
    now = int(datetime.now(UTC).timestamp())  # noqa: TID251
    with here.client("u4", exp=now + 5) as client:
        assert client.get("/v1/whoami").json()["user"] == "u4"
