"""Clients of mem0 work against jiyi: the real `MemoryClient`, and the open-source server's addresses (SPEC U2, S1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.access import Role
from jiyi.errors import InputError
from jiyi.surfaces.http.mem0.filters import read_filter
from jiyi.surfaces.http.mem0.names import id_of, memory_in, read_filters, user_in
from jiyi.surfaces.http.mem0.records import _label, _read
from jiyi.testing.strategies import scopes
from tests.surfaces.issuer import Issuer, published
from tests.surfaces.mem0_client import AuthenticationError, MemoryNotFoundError, RateLimitError, ValidationError, client
from tests.surfaces.served import Served, served, trusting

UNLIMITED = {"requests_a_minute": 0, "tenant_requests_a_minute": 0}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Issuer]]:
    issuer, file = Issuer(), tmp_path_factory.mktemp("mem0") / "memory.db"
    with published(issuer) as url, served(file, identity=trusting(url), service=UNLIMITED) as here:
        yield here, issuer


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "memory.db", worker=False, service=UNLIMITED) as made:
        yield made


@pytest.fixture
def http(here: Served) -> Iterator[httpx2.Client]:
    with here.client() as made:
        yield made


def good(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


# ------------------------------------------------------------------ the client


@pytest.mark.parametrize(
    ("user", "said", "changed", "question", "old", "new", "right"),
    [
        (
            "李明", "我们的数据库用的是 Oracle。", "数据库从 Oracle 迁到 TiDB 了。", "数据库用什么？",
            "数据库：Oracle", "数据库：TiDB", "数据库用的是 SQLite",
        ),
        (
            "lee@example.com", "I live in Leeds.", "I moved to York.", "Where do I live?",
            "User lives in Leeds", "User lives in York", "I live in Bath.",
        ),
    ],
)  # fmt: skip
def test_a_life(
    world: tuple[Served, Issuer], user: str, said: str, changed: str, question: str, old: str, new: str, right: str
) -> None:
    here, issuer = world
    with client(here.url, issuer.token(user)) as mem0:
        mine = {"user_id": user}
        assert mem0.project.org_id == "acme"
        first = mem0.add(
            [{"role": "user", "content": said}, {"role": "assistant", "content": "OK"}],
            user_id=user, agent_id="desk", metadata={"topic": "home", "n": 5, "text": "5", "tags": ["a", "b"]},
        )["results"]  # fmt: skip
        assert [(e["event"], e["memory"]) for e in first] == [("ADD", old)]
        one = mem0.get(first[0]["id"])
        assert one["memory"] == old
        assert (one["user_id"], one["agent_id"], one["app_id"], one["run_id"]) == (user, "desk", None, None)
        assert one["metadata"] == {"topic": "home", "n": 5, "text": "5", "tags": ["a", "b"]}
        assert one["hash"] == hashlib.md5(old.encode(), usedforsecurity=False).hexdigest()
        assert mem0.add(said, filters=mine)["results"] == []  # it is known
        second = mem0.add(changed, user_id=user, run_id="r1")["results"]
        assert [(e["event"], e["memory"], e["previous_memory"]) for e in second] == [("UPDATE", new, old)]

        page = mem0.get_all(filters=mine, page=1, page_size=10)
        assert [(m["memory"], m["run_id"]) for m in page["results"]] == [(new, "r1")]
        assert (page["count"], page["next"], page["previous"]) == (1, None, None)
        best = mem0.search(question, filters={"AND": [mine, {"run_id": "r1"}]}, top_k=3)["results"]
        assert [m["memory"] for m in best] == [new]
        assert 0 < best[0]["score"] <= 1
        assert mem0.search(question, filters={**mine, "run_id": "r2"})["results"] == []
        assert mem0.search(question, filters=mine, threshold=1.0)["results"] in ([], best)

        # What is updated is found under the id it had, keeps where it came from, and is told with its history.
        name = second[0]["id"]
        assert mem0.update(name, text=right)["message"] == "Memory updated successfully!"
        now = mem0.get(name)
        assert (now["id"], now["memory"], now["run_id"]) == (
            name,
            mem0.get_all(filters=mine)["results"][0]["memory"],
            "r1",
        )
        told = mem0.history(name)
        assert [(v["event"], v["old_memory"], v["new_memory"]) for v in told] == [
            ("ADD", None, old), ("UPDATE", old, new), ("UPDATE", new, now["memory"]),
        ]  # fmt: skip
        assert {(e["type"], e["name"]) for e in mem0.users()["results"]} == {("user", user), ("run", "r1")}
        assert mem0.feedback(name, "POSITIVE")["message"]
        assert mem0.delete(name)["message"] == "Memory deleted successfully!"
        with pytest.raises(MemoryNotFoundError):
            mem0.get(name)
        assert mem0.delete_all(user_id=user)["message"]
        assert mem0.get_all(filters=mine)["results"] == []
        assert mem0.users()["results"] == []


def test_pages_batches_and_reset(world: tuple[Served, Issuer]) -> None:
    here, issuer = world
    with client(here.url, issuer.token("batch")) as mem0:
        notes = [f"note {word}" for word in ("amber", "birch", "cedar", "dahlia", "elder")]
        added = [mem0.add(note, infer=False, app_id="notes", metadata={"tree": note[5:]}) for note in notes]
        ids = [a["results"][0]["id"] for a in added]
        first = mem0.get_all(filters={"app_id": "notes"}, page=1, page_size=2)
        assert [m["memory"] for m in first["results"]] == notes[:2:-1]
        assert (first["count"], first["previous"]) == (5, None)
        seen = [m["id"] for m in first["results"]]
        while first["next"]:
            answer = mem0.client.post(first["next"], json={"filters": {"app_id": "notes"}})
            first = answer.json()
            seen += [m["id"] for m in first["results"]]
        assert sorted(seen) == sorted(ids)
        assert [m["metadata"] for m in mem0.get_all(filters={"metadata": {"tree": "cedar"}})["results"]] == [
            {"tree": "cedar"}
        ]
        changes = [
            {"memory_id": name, "text": f"note {word}"} for name, word in zip(ids[:2], ("ash", "beech"), strict=True)
        ]
        assert mem0.batch_update(changes)["message"] == "Successfully updated 2 memories"
        assert {m["memory"] for m in mem0.get_all()["results"]} == {"note ash", "note beech", *notes[2:]}
        # One that is not there: none is changed.
        with pytest.raises(MemoryNotFoundError):
            mem0.batch_update([{"memory_id": ids[2], "text": "note fir"}, {"memory_id": "m999", "text": "note gorse"}])
        with pytest.raises(MemoryNotFoundError):
            mem0.batch_delete([{"memory_id": ids[2]}, {"memory_id": "m999"}])
        assert mem0.get(ids[2])["memory"] == notes[2]
        assert (
            mem0.batch_delete([{"memory_id": name} for name in ids[:3]])["message"] == "Successfully deleted 3 memories"
        )
        assert {m["memory"] for m in mem0.get_all()["results"]} == set(notes[3:])
        assert mem0.delete_users(app_id="notes")["message"]
        assert mem0.get_all()["count"] == 0
        mem0.add("I live in Leeds.")
        assert mem0.reset()["message"]
        assert mem0.get_all()["count"] == 0
        assert here.memory.scope("batch", tenant="acme").history().messages == ()


def test_what_came_from_one_place_is_deleted_and_nothing_else(world: tuple[Served, Issuer]) -> None:
    here, issuer = world
    with client(here.url, issuer.token("parts")) as mem0:

        def fill() -> None:
            mem0.add("I live in Leeds.", run_id="r1")
            mem0.add("我们的缓存用的是 Redis。", agent_id="desk")
            mem0.add("My name is Nora.", agent_id="phone")

        def left() -> set[str]:
            return {m["memory"] for m in mem0.get_all()["results"]}

        fill()
        everything = left()
        assert len(everything) == 3
        mem0.delete_all(run_id="r1")
        assert left() == {m for m in everything if "Leeds" not in m}
        mem0.delete_all(agent_id="desk")
        assert left() == {m for m in everything if "Nora" in m}
        mem0.delete_all(agent_id="nobody")
        assert len(left()) == 1
        # The client sends a mapping of filters as Python prints it.
        mem0.delete_all(filters={"user_id": "parts", "agent_id": "phone"})
        assert left() == set()
        with pytest.raises(ValidationError, match="name whose memories go"):
            mem0.delete_all()
        with pytest.raises(ValidationError, match="cannot be read"):
            mem0.delete_all(filters="user_id=parts")
        with pytest.raises(MemoryNotFoundError):
            mem0.delete_users(agent_id="nobody")


# ------------------------------------------------------------------ whose


def test_a_user_s_key_is_of_that_user_however_another_is_named(world: tuple[Served, Issuer]) -> None:
    here, issuer = world
    with client(here.url, issuer.token("ming")) as ming:
        name = ming.add("我们的数据库用的是 MySQL。", user_id="ming")["results"][0]["id"]
    with client(here.url, issuer.token("lena")) as lena:
        lena.add("I live in Leeds.")
        calls: list[Any] = []
        for user in ("ming", "nobody"):
            theirs = id_of(here.memory.scope(user, tenant="acme").user, "m1")
            assert user != "ming" or theirs == name
            calls.append([
                lambda u=user: lena.add("I live in York.", user_id=u),
                lambda u=user: lena.add("I live in York.", filters={"user_id": u}),
                lambda u=user: lena.get_all(filters={"user_id": u}),
                lambda u=user: lena.get_all(filters={"OR": [{"user_id": "lena"}, {"user_id": u}]}),
                lambda u=user: lena.get_all(filters={"NOT": [{"user_id": {"in": [u]}}]}),
                lambda u=user: lena.search("数据库", filters={"AND": [{"user_id": u}]}),
                lambda u=user: lena.delete_all(user_id=u),
                lambda u=user: lena.delete_all(filters={"user_id": u}),
                lambda u=user: lena.delete_users(user_id=u),
                lambda i=theirs: lena.get(i),
                lambda i=theirs: lena.history(i),
                lambda i=theirs: lena.update(i, text="stolen"),
                lambda i=theirs: lena.delete(i),
                lambda i=theirs: lena.feedback(i, "NEGATIVE"),
                lambda i=theirs: lena.batch_update([{"memory_id": i, "text": "stolen"}]),
                lambda i=theirs: lena.batch_delete([{"memory_id": "m1"}, {"memory_id": i}]),
            ])  # fmt: skip
        for known, unknown in zip(*calls, strict=True):
            said = []
            for call in (known, unknown):
                with pytest.raises(AuthenticationError) as refused:
                    call()
                assert refused.value.error_code == "HTTP_403"
                said.append(refused.value.message)
            assert said[0] == said[1]
            assert "MySQL" not in said[0]
        assert [m["memory"] for m in lena.get_all()["results"]] == ["User lives in Leeds"]
        assert lena.get("m1")["memory"] == "User lives in Leeds"  # without a name, it is one's own
    with client(here.url, issuer.token("ming")) as ming:
        assert [m["memory"] for m in ming.get_all()["results"]] == ["数据库：MySQL"]


def test_a_service_asks_for_many_users_under_one_key(world: tuple[Served, Issuer]) -> None:
    here, _ = world
    _, key = here.memory.make_service_key("shop", tenant="shop", roles=[Role.AGENT])
    with client(here.url, key) as shop:
        ids = {}
        for user, said in (("安娜", "我们的缓存用的是 Redis。"), ("bo", "I live in Leeds.")):
            ids[user] = shop.add(said, user_id=user)["results"][0]["id"]
        # An id says of whom it is, since the client names a memory and nobody with it.
        assert shop.get(ids["安娜"])["user_id"] == "安娜"
        assert shop.update(ids["bo"], text="I live in York.")["memory"] == "I live in York."
        assert [v["event"] for v in shop.history(ids["bo"])] == ["ADD", "UPDATE"]
        assert shop.search("缓存用什么", filters={"user_id": "bo"})["results"] == []
        for call in (
            lambda: shop.get("m1"),
            lambda: shop.get_all(),
            lambda: shop.get_all(filters={"OR": [{"user_id": "安娜"}, {"user_id": "bo"}]}),
            lambda: shop.batch_delete([{"memory_id": name} for name in ids.values()]),
        ):
            with pytest.raises(AuthenticationError):
                call()
        shop.delete_users(user_id="bo")
        assert shop.get_all(filters={"user_id": "bo"})["count"] == 0
        assert shop.get_all(filters={"user_id": "安娜"})["count"] == 1
    _, other = here.memory.make_service_key("beta", tenant="beta", roles=[Role.AGENT])
    with client(here.url, other) as beta, pytest.raises(MemoryNotFoundError):
        beta.get(ids["安娜"])  # of that tenant, who has nothing


def test_a_key_that_proves_nothing_makes_no_client(world: tuple[Served, Issuer]) -> None:
    here, issuer = world
    for wrong in ("any", issuer.token("ming", exp=1), "jiyi_sk_00000000_abc"):
        with pytest.raises(ValueError, match=r"^Error: "), client(here.url, wrong):
            pass
    with here.client() as http:
        for headers in ({}, {"X-API-Key": "any"}, {"X-API-Key": issuer.token("ming"), "Authorization": "Bearer x"}):
            assert http.get("/memories", headers=headers).status_code == 401
        good(http.get("/memories", headers={"X-API-Key": issuer.token("ming")}))
    with here.client() as http:
        answer = http.get("/v1/ping/", headers={"Authorization": f"Token {issuer.token('ming', roles=['auditor'])}"})
        assert answer.status_code == 403


def test_the_user_of_this_machine_needs_no_key_and_a_client_has_one(here: Served) -> None:
    with client(here.url, "any") as mem0:
        mem0.add("I live in Leeds.", user_id="me")
        assert mem0.get_all(filters={"user_id": "me"})["count"] == 1
    with here.client() as http:
        # A key of our own is looked at all the same, and Bearer is no way of mem0's.
        for wrong in ({"X-API-Key": "jiyi_sk_00000000_abc"}, {"Authorization": "Bearer any"}):
            assert http.get("/memories", headers=wrong).status_code == 401


# ------------------------------------------------------------------ the open-source server


@pytest.mark.parametrize(
    ("said", "question", "memory"),
    [
        ("我们的缓存用的是 Redis。", "缓存用什么", "缓存：Redis"),
        ("I live in Leeds.", "Where do I live?", "User lives in Leeds"),
    ],
)
def test_the_open_source_dialect(http: httpx2.Client, said: str, question: str, memory: str) -> None:
    turns = [{"role": "user", "content": said}]
    added = good(
        http.post("/memories", json={"messages": turns, "user_id": "u1", "run_id": "r1", "metadata": {"a": "b"}})
    )
    name = added["results"][0]["id"]
    assert added["results"] == [{"id": name, "memory": memory, "event": "ADD", "previous_memory": None}]
    assert good(http.get(f"/v1/event/{added['event_id']}/")) == {
        "id": added["event_id"], "event_type": "ADD", "status": "SUCCEEDED", "results": added["results"],
    }  # fmt: skip
    listed = good(http.get("/memories", params={"user_id": "u1", "run_id": "r1"}))["results"]
    assert [m["id"] for m in listed] == [name]
    assert good(http.get("/memories", params={"user_id": "u1", "agent_id": "x"}))["results"] == []
    found = good(http.post("/search", json={"query": question, "user_id": "u1", "top_k": 5}))["results"]
    assert [m["memory"] for m in found] == [memory]
    assert good(http.get(f"/memories/{name}"))["metadata"] == {"a": "b"}
    assert good(http.put(f"/memories/{name}", json={"data": said.replace("Redis", "KeyDB").replace("Leeds", "York")}))
    assert len(good(http.get(f"/memories/{name}/history"))) == 2
    assert good(http.get("/entities", params={"user_id": "u1"}))["count"] == 2
    assert good(http.delete(f"/memories/{name}")) == {"message": "Memory deleted successfully!"}
    assert http.get(f"/memories/{name}").status_code == 404
    assert http.delete("/memories").status_code == 422
    good(http.delete("/memories", params={"user_id": "u1"}))
    good(http.post("/reset", params={"user_id": "u1"}))
    for older in ("/v1/memories/", "/v3/memories/add/"):
        good(http.post(older, json={"messages": turns, "user_id": "u1"}))
    assert good(http.get("/v1/memories/", params={"user_id": "u1"}))["count"] == 1
    assert good(http.post("/v2/memories/", json={"filters": {"user_id": "u1"}}))["count"] == 1
    for path in ("/v1/memories/search/", "/v2/memories/search/"):
        assert good(http.post(path, json={"query": question, "user_id": "u1"}))["results"]


def test_a_request_sent_again_adds_and_deletes_once(http: httpx2.Client) -> None:
    once = {"headers": {"Idempotency-Key": "k1"}}
    body = {"messages": [{"role": "user", "content": "zork"}], "user_id": "u1", "infer": False}
    first, again = (good(http.post("/memories", json=body, **once)) for _ in range(2))
    assert first == again
    assert len(good(http.get("/v1/messages", params={"user": "u1"}))["messages"]) == 1
    once = {"headers": {"Idempotency-Key": "k2"}}
    for _ in range(2):
        good(http.delete(f"/memories/{first['results'][0]['id']}", **once))
    assert http.delete(f"/memories/{first['results'][0]['id']}").status_code == 404


def test_what_would_not_be_heeded_is_refused(http: httpx2.Client) -> None:
    said = {"messages": [{"role": "user", "content": "I live in Leeds."}], "user_id": "u1"}
    for more in (
        {"custom_instructions": "only trees"}, {"expiration_date": "2030-01-01"}, {"metadata": {"a": "x" * 300}},
        {"filters": {"topic": "x"}}, {"messages": [{"role": "user", "content": ""}]}, {"messages": [{"role": "boss", "content": "x"}]},
        {"timestamp": 10**15}, {"agent_id": ""}, {"user_id": 7},
    ):  # fmt: skip
        assert http.post("/memories", json={**said, **more}).status_code == 422, more
    assert good(http.get("/memories", params={"user_id": "u1"}))["count"] == 0
    name = good(http.post("/memories", json=said))["results"][0]["id"]
    for body in ({"metadata": {"a": "b"}}, {"expiration_date": None}, {}, {"text": " "}):
        assert http.put(f"/memories/{name}", json=body).status_code == 422, body
    for wanted in (
        {"show_expired": True},
        {"filters": {"created_at": {"gte": "soon"}}},
        {"filters": {"a": {"like": "b"}}},
    ):
        assert http.post("/v2/memories/", json={"user_id": "u1", **wanted}).status_code == 422, wanted
    for gone in ("m999", "m1.!!", "x", f"m1.{'A' * 300}", "h1-h9"):
        assert http.get(f"/memories/{gone}", params={"user_id": "u1"}).status_code in (403, 404, 422), gone
    assert http.get("/v1/event/h9-h1/", params={"user_id": "u1"}).status_code == 404


@pytest.mark.parametrize(
    ("filters", "status", "left"),
    [
        # What names nothing is no way to delete everything.
        ({"AND": []}, 422, 2), ({"NOT": []}, 422, 2), ({"OR": {}}, 422, 2), ({"AND": [{}]}, 422, 2), ({"AND": [{"OR": []}]}, 422, 2),
        ({"agent_id": {}}, 422, 2), ({"metadata": {}}, 422, 2), ({"user_id": {}}, 422, 2),
        # Nobody but the user of the call has memories here, and what is said of them counts.
        ({"user_id": {"ne": "me"}}, 200, 2), ({"user_id": {"nin": ["me"]}}, 200, 2), ({"NOT": [{"user_id": "me"}]}, 200, 2),
        ({"user_id": None}, 200, 2), ({"user_id": []}, 422, 2), ({"user_id": {"ne": "me"}, "agent_id": "desk"}, 200, 2),
        ({"user_id": "me", "agent_id": "desk"}, 200, 1), ({"user_id": ["me"], "agent_id": "desk"}, 200, 1),
        ({"user_id": "me"}, 200, 0), ({"user_id": "*"}, 200, 0),
    ],
)  # fmt: skip
def test_filters_delete_what_they_say(http: httpx2.Client, filters: dict[str, Any], status: int, left: int) -> None:
    for text, more in (("I live in Leeds.", {"agent_id": "desk"}), ("I have a cat.", {})):
        good(http.post("/memories", json={"messages": [{"role": "user", "content": text}], "user_id": "me", **more}))
    for told in (json.dumps(filters), repr(filters)):
        answer = http.delete(
            "/memories", params={"user_id": "me", "filters": told} if status == 422 else {"filters": told}
        )
        assert answer.status_code == status, answer.text
        assert good(http.get("/memories"))["count"] == left


def test_what_only_python_writes_is_looked_at_like_json(http: httpx2.Client) -> None:
    good(http.post("/memories", json={"messages": [{"role": "user", "content": "I live in Leeds."}]}))
    for told, status in (
        ("{'user_id': ('me', 'lena')}", 403), ("{'AND': ({'user_id': 'me'}, {'user_id': 'lena'})}", 403),
        ("{'user_id': {'me'}}", 422), ("{'agent_id': b'x'}", 422), ("{'AND': [{1: 2}]}", 200), ("{'AND': [{(1,): 2}]}", 422),
    ):  # fmt: skip
        assert http.delete("/memories", params={"filters": told}).status_code == status, told
        assert good(http.get("/memories"))["count"] == 1


def test_an_agent_whose_name_stands_for_any_is_deleted_alone(http: httpx2.Client) -> None:
    for text, agent in (("I live in Leeds.", "desk"), ("I have a cat.", "*")):
        good(http.post("/memories", json={"messages": [{"role": "user", "content": text}], "agent_id": agent}))
    good(http.delete("/entities/agent/*"))
    assert [m["agent_id"] for m in good(http.get("/memories"))["results"]] == ["desk"]


def test_a_paused_memory_says_so_and_a_date_is_kept(here: Served, http: httpx2.Client) -> None:
    said = {"messages": [{"role": "user", "content": "I moved to York."}], "user_id": "u1", "timestamp": 1_700_000_000}
    good(http.post("/memories", json=said))
    kept = good(http.get("/memories", params={"user_id": "u1"}))["results"][0]
    assert datetime.fromisoformat(kept["created_at"]) == datetime.fromtimestamp(1_700_000_000, UTC)
    for filters, count in (
        ({"created_at": {"lt": "2023-11-14"}}, 0),
        ({"created_at": {"gte": "2023-11-14", "lte": "2023-11-14"}}, 1),
    ):
        assert good(http.post("/v2/memories/", json={"user_id": "u1", "filters": filters}))["count"] == count
    here.memory.scope("u1").pause()
    told = good(http.post("/memories", json={**said, "timestamp": None}))
    assert (told["status"], told["results"], told["event_id"]) == ("PAUSED", [], None)


def test_too_many_requests_are_an_error_of_the_client_s_own(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", service={"requests_a_minute": 2}) as here, client(here.url) as mem0:
        mem0.get_all()
        mem0.get_all()
        with pytest.raises(RateLimitError) as refused:
            mem0.get_all()
        assert refused.value.debug_info["retry_after"] >= 1


# ------------------------------------------------------------------ names and filters


@given(scopes(), st.integers(1, 10**6))
def test_an_id_names_a_memory_and_whose_it_is(scope: Any, number: int) -> None:
    name = id_of(scope, f"m{number}")
    assert (memory_in(name), user_in(name)) == (f"m{number}", scope.user)
    assert "/" not in name


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda v: st.lists(v, max_size=3), max_leaves=5
)


@given(VALUES)
def test_metadata_comes_back_as_it_was(value: Any) -> None:
    back = _read(_label(value))
    assert back == value
    assert type(back) is type(value)


FIELDS = {"agent_id": ["desk", "phone"], "categories": ["project"], "n": [5], "keywords": ["Redis cache"],
          "created_at": [datetime(2026, 3, 1, 9, tzinfo=UTC)]}  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "fits"),
    [
        ({}, True), ({"agent_id": "desk"}, True), ({"agent_id": "x"}, False), ({"agent_id": {"ne": "desk"}}, False),
        ({"agent_id": "*"}, True), ({"app_id": "*"}, False), ({"app_id": None}, True), ({"agent_id": ["x", "phone"]}, True),
        ({"agent_id": {"nin": ["x"]}}, True), ({"n": {"gt": 4, "lte": 5}}, True), ({"n": {"lt": 5}}, False),
        ({"n": {"gt": "a"}}, False), ({"keywords": "redis"}, True), ({"keywords": {"contains": "redis"}}, False),
        ({"OR": [{"agent_id": "x"}, {"n": 5}]}, True), ({"AND": [{"agent_id": "desk"}, {"n": 6}]}, False),
        ({"NOT": [{"n": 6}]}, True), ({"NOT": {"n": 5}}, False), ({"OR": []}, False), ({"AND": []}, True),
        ({"created_at": {"gte": "2026-03-01", "lte": "2026-03-01"}}, True), ({"created_at": {"gt": "2026-03-01"}}, False),
        ({"created_at": {"gte": 1_772_355_600}}, True), ({"categories": {"in": ["project", "task"]}}, True),
    ],
)  # fmt: skip
def test_filters(filters: dict[str, Any], fits: bool) -> None:
    assert read_filter(filters, UTC)(lambda name: FIELDS.get(name, [])) is fits


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["AND", "OR", "NOT", "n", "created_at", "gt", "in"]), v, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["AND", "OR", "NOT", "n", "created_at", "metadata", "keywords"]), JUNK, max_size=3)
)
def test_no_filter_fails_otherwise_than_by_saying_so(filters: dict[str, Any]) -> None:
    try:
        holds = read_filter(filters, UTC)
    except InputError:
        return
    assert holds(lambda name: FIELDS.get(name, [])) in (True, False)
    denied = read_filter({"NOT": [filters]}, UTC)
    assert denied(lambda name: FIELDS.get(name, [])) is not holds(lambda name: FIELDS.get(name, []))


@given(st.text(max_size=60))
def test_filters_in_a_query_are_read_or_refused(text: str) -> None:
    with suppress(InputError):
        assert isinstance(read_filters(text), dict)
    assert read_filters("{'user_id': 'ming', 'n': 5}") == {"user_id": "ming", "n": 5}
    assert read_filters('{"user_id": "ming", "b": true}') == {"user_id": "ming", "b": True}
