"""Shared memories over HTTP (SPEC S6): read beside one's own where a token grants it, and by nobody else. The calls are those
of the OpenAPI document, as in test_http_isolation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from jiyi.domain.access import Role
from jiyi.domain.scope import Scope, shared_scope
from tests.surfaces.test_http_isolation import (
    AUDITED,
    OPERATIONS,
    TEAM,
    WORD,
    Operation,
    World,
    denied,
    told,
    world,
)

SHARED = [operation for operation in OPERATIONS if "shared" in operation.parameters]
ALONE = [operation for operation in OPERATIONS if "shared" not in operation.parameters]
EACH = pytest.mark.parametrize("operation", SHARED, ids=lambda o: o.name)
ASKED = {"recall", "context", "search", "match", "export", "search_entries"}
"""They only read, though some of them are sent as POST."""
DECIDED = {"set_retention", "pause", "resume", "consent", "import_"}


def only_reads(operation: Operation) -> bool:
    return (operation.method == "GET" or operation.name in ASKED) and operation.name not in AUDITED


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("shared") / "memory.db", filled=True) as made:
        yield made


def state(one: World, scope: Scope) -> Any:
    """Everything of a scope, but for how often it was read."""
    me = one.served.memory.scope(scope.user, tenant=scope.tenant)
    while one.served.app.state.service.recording:
        time.sleep(0.001)
    return (
        me.history(limit=99).messages, me.memories(status=None), me.ledger(), me.traces(50), me.summaries(), me.retention()
    )  # fmt: skip


def test_what_is_about_one_memory_may_be_about_a_shared_one() -> None:
    assert len(SHARED) > 35
    alone = {o.name for o in ALONE if not o.name.startswith("mem0_") and not o.path.startswith("/v1/admin/")}
    assert alone == {"whoami", "open_visitor", "link", "chat", "chat_completions", "anthropic_messages", "models"}


@EACH
def test_a_grant_of_one_opens_no_other(here: World, operation: Operation) -> None:
    """Nor does another tenant's grant of the same name. Not granted, not there: the same bytes, and nothing is written."""
    team = {"shared": TEAM}
    _, key = here.served.memory.make_service_key("desk", tenant="acme", roles=[Role.ADMIN], shared=["home:write"])
    _, foreign = here.served.memory.make_service_key("desk", tenant="beta", roles=[Role.ADMIN], shared=[TEAM])
    before = here.picture()
    roles = ["user", "admin"]
    clients = [
        here.client("lena", roles=roles),
        here.client("lena", roles=roles, memory=["home:write"]),
        here.client("lena", "beta", roles=roles, memory=[f"{TEAM}:read"]),
        here.client("lena", roles=roles, memory=[f"{TEAM}:own", f"{TEAM} :read", {"name": TEAM}, 7, f"{TEAM}@"]),
        here.client("ming", roles=roles, shared=[TEAM]),  # another claim than the one that is trusted
        here.served.client(key),
        here.served.client(foreign),
    ]
    for client in clients:
        with client:
            theirs = operation(client, trace=here.trace, query=team)
            nobodys = operation(client, trace=here.trace, query={"shared": "nowhere"})
            assert told(theirs) == told(nobodys)
            denied(theirs, 404)
            assert TEAM not in theirs.text
    assert here.picture() == before


@EACH
def test_a_grant_that_proves_nothing_opens_nothing(here: World, operation: Operation) -> None:
    before = here.picture()
    for exp, sub, status in ((1, "lena", 401), (None, "lena", 401), (0, f"shared:{TEAM}", 401)):
        claims = {"memory": [f"{TEAM}:write"], "roles": ["user", "admin"], **({} if exp == 0 else {"exp": exp})}
        with here.client(sub, **claims) as client:
            denied(operation(client, trace=here.trace, query={"shared": TEAM}), status)
    with here.client("lena", roles=["user", "admin"], memory=[f"{TEAM}:write"]) as client:
        for wrong in ({"user": "ming"}, {"user": f"shared:{TEAM}"}, {"tenant": "beta"}):
            denied(operation(client, trace=here.trace, query={"shared": TEAM, **wrong}), 403)
        # A shared memory is nobody's name.
        known, unknown = (operation(client, query={"user": f"shared:{name}"}) for name in (TEAM, "nowhere"))
        assert told(known) == told(unknown)
        denied(known, 403)
    assert here.picture() == before


@EACH
def test_who_may_only_read_writes_nothing(here: World, operation: Operation) -> None:
    scope = shared_scope(TEAM, "acme")
    before = state(here, scope)
    with here.client("lena", roles=["user", "admin"], memory=[TEAM]) as client:
        answer = operation(client, trace=here.trace, query={"shared": TEAM})
        if only_reads(operation):
            assert answer.status_code < 500
            assert answer.status_code not in (401, 403)
        else:
            assert answer.status_code == 403, answer.text
            assert WORD not in answer.text
    assert state(here, scope) == before
    assert Scope("lena", "acme") not in here.served.memory.scopes()


@EACH
def test_how_much_is_kept_for_all_is_an_administrator_s(here: World, operation: Operation) -> None:
    if operation.name in DECIDED:
        before = state(here, shared_scope(TEAM, "acme"))
        for roles in (["user"], ["agent"]):
            with here.client("lena", roles=roles, memory=[f"{TEAM}:write"]) as client:
                denied(operation(client, query={"shared": TEAM}), 403)
        assert state(here, shared_scope(TEAM, "acme")) == before


@EACH
def test_what_is_granted_and_not_there_is_as_what_is_not_granted(here: World, operation: Operation) -> None:
    before = here.picture()
    with (
        here.client("lena", roles=["user", "admin"], memory=["new"]) as granted,
        here.client("lena", roles=["user", "admin"]) as not_granted,
    ):
        one, other = (operation(c, trace=here.trace, query={"shared": "new"}) for c in (granted, not_granted))
        assert told(one) == told(other)
        denied(one, 404)
    assert here.picture() == before


@pytest.mark.parametrize("operation", ALONE, ids=lambda o: o.name)
def test_elsewhere_a_shared_memory_cannot_be_named(here: World, operation: Operation) -> None:
    before = here.picture()
    with here.client("lena", roles=["user", "admin"], memory=[f"{TEAM}:write"]) as client:
        denied(operation(client, trace=here.trace, query={"shared": TEAM}), 422)
    assert here.picture() == before


def test_nothing_of_one_gets_into_the_other(tmp_path: Path) -> None:
    """Every call, by somebody who may do everything: about the shared memory, then about their own beside it."""
    with world(tmp_path / "memory.db", filled=True) as made:
        own, team = Scope("lena", "acme"), shared_scope(TEAM, "acme")
        last = {"import_": 1, "forget": 2}  # what takes all away comes last
        with made.client("lena", roles=["user", "admin"], memory=[f"{TEAM}:write"]) as client:
            for operation in sorted(SHARED, key=lambda o: last.get(o.name, 0)):
                made.clock.advance(seconds=1)
                answer = operation(client, trace=made.trace, query={"shared": TEAM})
                assert answer.status_code not in (401, 403), (operation.name, answer.text)
            made.served.memory.work()
            assert own not in made.served.memory.scopes()
            made.served.memory.shared(TEAM, tenant="acme").remember(f"the {WORD} keys hang in the hall")
            before = state(made, team)
            for operation in sorted(OPERATIONS, key=lambda o: last.get(o.name, 0)):
                if operation.path.startswith("/v1/admin/"):
                    continue
                made.clock.advance(seconds=1)
                operation(client, trace=made.trace)
                # A chat in which the shared memory is handed over: the model says it again.
                said = {"role": "user", "content": f"Where are the {WORD} keys?"}
                if operation.name == "chat_completions":
                    answer = client.post("/v1/chat/completions", json={"model": "echo", "messages": [said]})
                    assert f"@{TEAM}" in answer.headers["x-memory-ids"]
                    assert "hang in the hall" in answer.text
            made.served.memory.work()
            assert state(made, team) == before
        assert "hang in the hall" not in str(state(made, own))


# ------------------------------------------------------------------ what it is good for


def test_a_team_from_the_first_word_to_the_last(tmp_path: Path) -> None:
    with world(tmp_path / "memory.db", filled=False) as made:
        lena = made.client("lena", memory=["研发组:write"])
        ming = made.client("ming", memory={"研发组": "read", "home": "write"})
        team = {"shared": "研发组"}
        with lena, ming:
            assert ming.get("/v1/whoami").json()["shared"] == {"home": "write", "研发组": "read"}
            assert ming.get("/v1/memories", params=team).status_code == 404  # nobody has written to it yet
            lena.post("/v1/memories", json={"text": "我住在北京"})
            done = lena.post("/v1/memories", json={"text": "数据库：PostgreSQL"}, params=team).json()
            assert lena.get("/v1/ledger", params=team).json()["plans"][0]["who"] == "lena"
            # Beside one's own, each line labelled.
            [item] = ming.post("/v1/recall", json={"query": "数据库用什么"}).json()["items"]
            assert (item["id"], item["shared"], item["text"]) == ("m1", "研发组", "数据库：PostgreSQL")
            shown = lena.post("/v1/context", json={"query": "数据库用什么"}).json()
            assert "我住在北京 (m1)" in shown["text"]
            assert "数据库：PostgreSQL (m1@研发组 · 共享)" in shown["text"]
            assert [(p["memory"], p["shared"]) for p in lena.get("/v1/profile").json()["lines"]] == [
                ("m1", None), ("m1", "研发组"),
            ]  # fmt: skip
            # Alone.
            assert ming.get("/v1/memories/m1", params=team).json()["text"] == "数据库：PostgreSQL"
            assert ming.get("/v1/memories/m1").status_code == 404
            asked = lena.post("/v1/recall", json={"query": "数据库用什么"}, params=team).json()
            assert lena.get(f"/v1/traces/{asked['trace']}", params=team).status_code == 200
            assert lena.get(f"/v1/traces/{asked['trace']}").status_code == 404  # it stays in its own memory
            # Who only reads asks without a trace, which others could read.
            quiet = ming.post("/v1/recall", json={"query": "数据库用什么"}, params=team).json()
            assert (quiet["items"][0]["id"], quiet["trace"]) == ("m1", None)
            with ZipFile(BytesIO(ming.post("/v1/export", params=team).content)) as archive:
                names = [name for name in archive.namelist() if name.endswith("memories.jsonl")]
                texts = [json.loads(line) for name in names for line in archive.read(name).splitlines()]
                assert "PostgreSQL" in str(texts)
                assert "北京" not in str(texts)
            assert lena.post(f"/v1/ledger/{done['plan']}/undo", params=team).status_code == 200
            lena.post("/v1/forget", json={"everything": True}, params=team)
            assert ming.post("/v1/recall", json={"query": "数据库用什么"}).json()["items"] == []
            assert lena.get("/v1/memories").json()["memories"][0]["text"] == "我住在北京"


def test_keys_of_requests_are_of_whoever_sends_them(tmp_path: Path) -> None:
    with world(tmp_path / "memory.db", filled=False) as made:
        _, key = made.served.memory.make_service_key("desk", tenant="acme", roles=[Role.USER], shared=["home:write"])
        again, clients = {"Idempotency-Key": "1"}, [made.client(u, memory="home:write") for u in ("lena", "ming")]
        for number, client in enumerate([*clients, made.served.client(key)]):
            with client:
                for _ in range(2):
                    said = {"text": f"drawer {number} holds lamp {number}"}
                    sent = client.post("/v1/memories", json=said, params={"shared": "home"}, headers=again)
                    assert sent.json()["memories"][0]["text"] == said["text"]
        home = made.served.memory.shared("home", tenant="acme")
        assert [e.plan.actor.who.split()[0] for e in home.ledger()] == ["lena", "ming", "key"]
