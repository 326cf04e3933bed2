"""Memory over HTTP: what each call does, and what a caller is told when it does not work (SPEC U2, S5, O5)."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from jiyi import errors
from jiyi.errors import JiyiError
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.http.problems import STATUSES, WHEN, status_of
from jiyi.surfaces.http.server import JsonLines
from tests.surfaces.served import Served, served
from tests.surfaces.test_http_isolation import OPERATIONS

ZONE = {"X-Jiyi-Timezone": "Asia/Shanghai"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "memory.db", worker=False, service={"requests_a_minute": 0}) as made:
        yield made


@pytest.fixture
def client(here: Served) -> Iterator[httpx2.Client]:
    with here.client(**ZONE) as made:
        yield made


def good(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def problem(answer: httpx2.Response, status: int, kind: str) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    told: dict[str, Any] = answer.json()
    assert told["type"] == f"urn:jiyi:problem:{kind}"
    assert told["status"] == status
    assert told["title"]
    assert told["detail"]
    return told


# ------------------------------------------------------------------ a life


@pytest.mark.parametrize(
    ("text", "change", "question", "old", "new"),
    [
        ("我们的数据库用的是 Oracle。", "数据库从 Oracle 迁到 TiDB 了。", "数据库用什么", "Oracle", "TiDB"),
        ("I live in Leeds.", "I moved to York.", "Where do I live?", "Leeds", "York"),
    ],
)
def test_a_life(here: Served, client: httpx2.Client, text: str, change: str, question: str, old: str, new: str) -> None:
    turns = [
        {"role": "user", "text": text, "at": "2026-03-01T09:00:00+08:00", "id": "a1", "labels": {"app": "desk"}},
        {"role": "user", "content": change, "at": "2026-03-05T09:00:00+08:00", "id": "a2"},
    ]
    assert good(client.post("/v1/messages", json={"session": "s1", "messages": turns})) == {
        "ids": ["h1", "h2"], "new": 2, "paused": False,
    }  # fmt: skip
    assert good(client.get("/v1/lag"))["waiting"] > 0
    here.memory.work()
    assert good(client.get("/v1/lag")) == {"waiting": 0, "running": 0, "dead": 0, "oldest_at": None}
    found = good(client.post("/v1/recall", json={"query": question}))
    assert new in found["items"][0]["text"]
    assert found["items"][0]["at"].endswith("+08:00")
    past = {"query": question, "valid_at": "2026-03-02T00:00:00+08:00"}
    assert old in good(client.post("/v1/recall", json=past))["items"][0]["text"]
    assert new in good(client.post("/v1/context", json={"query": question, "session": "s1"}))["text"]
    explained = good(client.get(f"/v1/traces/{found['trace']}", params={"why": found["items"][0]["id"]}))
    assert explained["account"]["stage"] == "shown"
    assert len(good(client.get("/v1/traces"))["traces"]) == 3
    versions = good(client.get("/v1/versions", params={"of": found["items"][0]["id"]}))["memories"]
    assert [m["status"] for m in versions] == ["ended", "live"]
    assert new in good(client.get("/v1/profile"))["text"]
    ended = good(client.post("/v1/sessions/end", json={"session": "s1"}))
    assert ended["session"] == "s1"
    summaries = good(client.get("/v1/summaries"))["summaries"]
    assert (ended["summary"] in summaries) or (ended["summary"] is None and summaries == [])
    assert [s["session"] for s in good(client.get("/v1/sessions"))["sessions"]] == ["s1"]
    said = good(client.get("/v1/messages"))["messages"]
    assert [(m["message_id"], m["labels"]) for m in said] == [("a1", {"app": "desk"}), ("a2", {})]
    assert good(client.post("/v1/messages/search", json={"query": new}))["messages"][0]["id"] == "h2"
    evidence = good(client.get(f"/v1/memories/{versions[1]['id']}/evidence"))["messages"]
    assert [m["id"] for m in evidence] == ["h2"]


def test_changes_leave_plans_that_can_be_undone(client: httpx2.Client) -> None:
    kept = good(client.post("/v1/memories", json={"text": "我的猫叫年糕", "importance": 4}))
    name = kept["memories"][0]["id"]
    good(client.post(f"/v1/memories/{name}/feedback", json={"verdict": "helpful"}))
    right = good(client.patch(f"/v1/memories/{name}", json={"text": "我的猫叫汤圆"}))
    assert right["memories"][0]["text"] == "我的猫叫汤圆"
    undone = good(client.post(f"/v1/ledger/{right['plan']}/undo"))
    assert undone["verb"] == "undo"
    assert good(client.get(f"/v1/memories/{name}"))["status"] == "live"
    plans = good(client.get("/v1/ledger"))["plans"]
    assert [(p["verb"], p["surface"]) for p in plans] == [
        (verb, "http") for verb in ("remember", "feedback", "correct", "undo")
    ]  # fmt: skip
    good(client.post("/v1/memories", json={"text": "我养了一只狗", "source": "inferred"}))
    (question,) = good(client.get("/v1/questions"))["questions"]
    good(client.post(f"/v1/questions/{question['id']}/answer", json={"text": "是"}))
    assert good(client.get("/v1/questions"))["questions"] == []


def test_forgetting_shows_first_and_then_does(client: httpx2.Client) -> None:
    for text in ("我对花生过敏", "I live in Leeds."):
        good(client.post("/v1/memories", json={"text": text}))
    shown = good(client.post("/v1/forget", json={"topic": "花生", "dry_run": True}))
    assert (shown["plan"], shown["dry_run"], shown["proof"]["erased"]["memories"]) == (None, True, 1)
    assert good(client.delete("/v1/memories/m2", params={"dry_run": True}))["plan"] is None
    assert len(good(client.get("/v1/memories"))["memories"]) == 2
    done = good(client.post("/v1/forget", json={"topic": "花生"}))
    assert done["plan"]
    good(client.delete("/v1/memories/m2"))
    assert good(client.get("/v1/memories", params={"every": True}))["memories"] == []
    assert len(good(client.get("/v1/forgotten"))["receipts"]) == 2
    assert [r["returned"] for r in good(client.post("/v1/forgotten/verify"))["receipts"]] == [0, 0]
    problem(client.post("/v1/forget", json={}), 422, "InputError")


def test_what_is_kept_is_the_user_s_choice(client: httpx2.Client) -> None:
    assert good(client.put("/v1/retention", json={"detail": "minimal", "dry_run": True}))["plan"] is None
    good(client.put("/v1/retention", json={"detail": "minimal"}))
    good(client.put("/v1/consent", json={"given": True, "notice": "隐私说明 3"}))
    good(client.post("/v1/pause"))
    told = good(client.get("/v1/retention"))
    assert told["detail"] == "minimal"
    assert told["consent"]["notice"] == "隐私说明 3"
    assert told["paused_at"]
    turn = {"messages": [{"role": "user", "text": "hello"}], "session": "s1"}
    assert good(client.post("/v1/messages", json=turn)) == {"ids": [], "new": 0, "paused": True}
    problem(client.patch("/v1/memories/m1", json={"text": "x"}), 409, "MemoryPaused")
    good(client.post("/v1/resume", json={"dry_run": True}))
    good(client.post("/v1/resume", json={}))
    assert good(client.post("/v1/messages", json=turn))["new"] == 1
    assert good(client.post("/v1/upkeep", json={"dry_run": True}))["dry_run"]
    assert good(client.post("/v1/redistil", json={"dry_run": True}))["messages"] >= 0


def test_a_memory_goes_out_and_comes_back(client: httpx2.Client, here: Served, tmp_path: Path) -> None:
    good(client.post("/v1/memories", json={"text": "我的猫叫年糕"}))
    archive = client.post("/v1/export")
    assert archive.headers["content-type"] == "application/zip"
    zipped = {"content": archive.content, "headers": {"Content-Type": "application/zip"}}
    to = {"params": {"user": "nora"}}
    assert good(client.post("/v1/import", **zipped, params={"user": "nora", "dry_run": True}))["dry_run"]
    assert good(client.get("/v1/memories", **to))["memories"] == []
    assert good(client.post("/v1/import", **zipped, **to))["memories"] == 1
    first, second = (good(client.get("/v1/memories", params={"user": u}))["memories"] for u in ("me", "nora"))
    assert first == second
    problem(client.post("/v1/import", **zipped, **to), 409, "PlanRefused")
    for wrong in (b"", b"PK\x03\x04", archive.content[:-40], b"{}" * 500):
        told = problem(client.post("/v1/import", content=wrong, params={"user": "u9"}), 422, "UnreadableFile")
        assert "/" not in told["detail"]
    assert here.memory.scope("me").receipts() == []


def test_the_profile_is_a_file_that_is_edited_and_sent_back(client: httpx2.Client) -> None:
    good(client.post("/v1/memories", json={"text": "我的猫叫年糕", "category": "profile"}))
    file = client.get("/v1/profile/file", params={"language": "zh"})
    assert file.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "年糕" in file.text
    edited = file.text.replace("年糕", "汤圆").encode()
    shown = good(client.put("/v1/profile/file", content=edited, params={"dry_run": True}))
    assert shown["plan"] is None
    assert shown["changes"]
    assert good(client.put("/v1/profile/file", content=edited))["plan"]
    assert "汤圆" in good(client.get("/v1/profile"))["text"]
    told = problem(client.put("/v1/profile/file", content=b"\x80abc"), 422, "InputError")
    assert told["detail"].startswith("USER.md is no text in UTF-8")
    long = file.text.replace("年糕", "年糕" * 400).encode()
    told = problem(client.put("/v1/profile/file", content=long), 422, "UnreadableLines")
    assert told["errors"][0]["where"].startswith("line ")


def test_users_of_a_tenant_are_administered(client: httpx2.Client, here: Served) -> None:
    for user in ("ming", "nora", "李明"):
        good(
            client.post(
                "/v1/memories",
                json={"text": "我的猫叫年糕"},
                headers={"X-Jiyi-User": httpx2.URL(f"/{user}").raw_path[1:].decode()},
            )
        )
    assert good(client.get("/v1/admin/users"))["users"] == ["ming", "nora", "李明"]
    first = good(client.get("/v1/admin/users", params={"limit": 2}))
    assert good(client.get("/v1/admin/users", params={"cursor": first["cursor"]}))["users"] == ["李明"]
    assert good(client.post("/v1/admin/forget-user", json={"user": "nora", "dry_run": True}))["plan"] is None
    assert good(client.post("/v1/admin/forget-user", json={"user": "nora"}))["plan"]
    assert good(client.get("/v1/memories", params={"user": "nora"}))["memories"] == []
    problem(client.post("/v1/admin/forget-user", json={"user": "nobody"}), 404, "NotFound")
    problem(client.post("/v1/admin/forget-tenant", json={}), 422, "InvalidRequest")
    gone = good(client.post("/v1/admin/forget-tenant", json={"tenant": "default"}))
    assert set(gone["users"]) == {"ming", "nora", "李明"}
    assert [here.memory.scope(u).memories() for u in ("ming", "李明")] == [[], []]
    assert good(client.get("/v1/admin/jobs/dead")) == {"jobs": []}
    problem(client.post("/v1/admin/jobs/1/retry"), 404, "NotFound")


# ------------------------------------------------------------------ how calls behave


def test_a_request_that_is_sent_again_under_its_key_changes_nothing(client: httpx2.Client) -> None:
    body = {"text": "我的猫叫年糕"}
    first, again = (client.post("/v1/memories", json=body, headers={"Idempotency-Key": "k1"}) for _ in range(2))
    assert good(first)["plan"] == good(again)["plan"] == "p1"
    assert good(first)["memories"] == good(again)["memories"]
    problem(
        client.post("/v1/memories", json={"text": "x"}, headers={"Idempotency-Key": "k1"}), 422, "ConflictingRequest"
    )
    problem(client.post("/v1/pause", headers={"Idempotency-Key": "k1"}), 422, "ConflictingRequest")
    turn = {"messages": [{"role": "user", "text": "hello"}], "session": "s1"}
    told = [good(client.post("/v1/messages", json=turn, headers={"Idempotency-Key": "k2"})) for _ in range(3)]
    assert told == [{"ids": ["h1"], "new": 1, "paused": False}] * 3
    assert len(good(client.get("/v1/messages"))["messages"]) == 1


def test_a_correction_names_the_version_that_it_means(client: httpx2.Client) -> None:
    good(client.post("/v1/memories", json={"text": "我的猫叫年糕"}))
    read = client.get("/v1/memories/m1")
    tag = read.headers["etag"]
    assert tag == f'"{read.json()["version"]}"'
    good(client.post("/v1/memories/m1/feedback", json={"verdict": "helpful"}))
    assert client.get("/v1/memories/m1").headers["etag"] != tag
    for other in (tag, '"nothing"', f'"a", {tag}', f"W/{tag}"):
        told = problem(
            client.patch("/v1/memories/m1", json={"text": "我的猫叫汤圆"}, headers={"If-Match": other}),
            412,
            "VersionMismatch",
        )
        assert "m1" in told["detail"]
    now = client.get("/v1/memories/m1").headers["etag"]
    good(client.patch("/v1/memories/m1", json={"text": "我的猫叫汤圆"}, headers={"If-Match": now}))
    problem(client.patch("/v1/memories/m99", json={"text": "x"}, headers={"If-Match": now}), 404, "NotFound")


@pytest.mark.parametrize(
    ("path", "key"), [("memories", "memories"), ("ledger", "plans"), ("messages", "messages"), ("sessions", "sessions")]
)
def test_pages_hold_everything_once(client: httpx2.Client, path: str, key: str) -> None:
    for number in range(6):
        turn = {"role": "user", "text": f"word {number}", "id": f"a{number}", "session": f"s{number}"}
        good(client.post("/v1/messages", json={"messages": [turn]}))
        good(client.post("/v1/memories", json={"text": f"第{number}号柜子放着礼物{number}"}))
    every = good(client.get(f"/v1/{path}", params={"limit": 200}))
    assert every["cursor"] is None
    pages, cursor = [], None
    while True:
        told = good(client.get(f"/v1/{path}", params={"limit": 3} | ({"cursor": cursor} if cursor else {})))
        pages.append(told[key])
        cursor = told["cursor"]
        if cursor is None:
            break
    found = [item for page in (reversed(pages) if path == "messages" else pages) for item in page]
    assert found == every[key]
    assert all(pages), "a cursor led to a page with nothing on it"
    assert max(map(len, pages)) == 3
    elsewhere = "ledger" if path == "memories" else "memories"
    cursor = good(client.get(f"/v1/{path}", params={"limit": 3}))["cursor"]
    problem(client.get(f"/v1/{elsewhere}", params={"cursor": cursor}), 422, "InputError")
    for wrong in ("", "x", "!!", "%00", "bWVtb3JpZXMAeA"):
        problem(client.get(f"/v1/{path}", params={"cursor": wrong}), 422, "InputError")


def test_what_is_malformed_is_refused_and_nothing_is_done(client: httpx2.Client) -> None:
    json_type = {"Content-Type": "application/json"}
    deep = b'{"messages": ' + b"[" * 60_000 + b"]" * 60_000 + b"}"
    nested = json.dumps({"messages": [{"role": "user", "content": [json.loads("[" * 40 + "]" * 40)]}]}).encode()
    for body, status, kind in (
        (b"{", 400, "NotJson"),
        (b'{"text": "\xff"}', 400, "BadRequest"),
        (deep, 400, "BadRequest"),
        (b"1" * 5000, 400, "BadRequest"),
        (b"[]", 422, "InvalidRequest"),
        (b"null", 422, "InvalidRequest"),
        (b'"text"', 422, "InvalidRequest"),
        (b"", 422, "InvalidRequest"),
        (b'{"text": "\\ud800"}', 422, "InputError"),
        (b'{"text": "\\uD83D\\uDE00 \\udc00"}', 422, "InputError"),
        (b'{"text": 7}', 422, "InvalidRequest"),
        (b'{"text": NaN}', 422, "InvalidRequest"),
        (b'{"text": "x", "importance": 1e999}', 422, "InvalidRequest"),
        (b'{"text": "x", "importance": 9}', 422, "InvalidRequest"),
        (b'{"text": "x", "nonsense": 1}', 422, "InvalidRequest"),
        (b'{"text": "x", "user": 7}', 422, "InputError"),
        (b'{"text": "x", "user": ""}', 422, None),
        (b'{"text": "x", "session": "a\\u0000b"}', 422, "InputError"),
        (b'{"text": "  "}', 422, "InputError"),
        (b'{"text": "' + b"x" * 501 + b'"}', 413, "TooLarge"),
    ):  # fmt: skip
        told = client.post("/v1/memories", content=body, headers=json_type)
        assert told.status_code == status, (body[:40], told.text)
        assert kind is None or told.json()["type"].endswith(f":{kind}"), (body[:40], told.text)
        problem(told, status, told.json()["type"].rpartition(":")[2])
    problem(client.post("/v1/messages", content=nested, headers=json_type), 422, "InputError")
    problem(
        client.post("/v1/memories", content=b"text=x", headers={"Content-Type": "text/plain"}), 422, "InvalidRequest"
    )
    problem(client.post("/v1/recall", json={"query": "x" * 10_001}), 413, "TooLarge")
    problem(client.post("/v1/recall", json={"query": "x", "kinds": ["nothing"]}), 422, "InputError")
    problem(client.post("/v1/recall", json={"query": "x", "since": "2026-03-01"}), 422, "InstantWithoutZone")
    problem(client.get("/v1/memories", headers={"X-Jiyi-Timezone": "Mars/Olympus"}), 422, "InputError")
    problem(client.get("/v1/nothing"), 404, "NotFound")
    assert client.put("/v1/memories").headers["allow"]
    problem(client.put("/v1/memories"), 405, "MethodNotAllowed")
    assert good(client.get("/v1/ledger"))["plans"] == []


BROKEN = (
    b"{",
    b'{"user": "\xff"}',
    b'{"a": ' + b"[" * 60_000 + b"]" * 60_000 + b"}",
    b'{"a": ' + b"9" * 5000 + b"}",
    '{"a": "\\ud800"}'.encode("utf-16"),
    b'{"dry_run": true}',
)


@pytest.mark.parametrize("body", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("kind", ["application/json", "application/JSON", "application/problem+json"])
def test_a_body_where_none_is_read_is_refused_too(client: httpx2.Client, body: bytes, kind: str) -> None:
    good(client.post("/v1/memories", json={"text": "我住在杭州"}))
    for method, path in (
        ("GET", "/v1/memories"),
        ("DELETE", "/v1/memories/m1"),
        ("POST", "/v1/forgotten/verify"),
        ("PUT", "/v1/profile/file"),
        ("POST", "/v1/import"),
    ):
        told = client.request(method, path, content=body, headers={"Content-Type": kind})
        assert told.status_code in (400, 422), (method, path, told.text)
        problem(told, told.status_code, told.json()["type"].rpartition(":")[2])
    assert [m["id"] for m in good(client.get("/v1/memories"))["memories"]] == ["m1"]


def test_what_a_route_does_not_know_is_refused_since_it_was_meant_for_something(client: httpx2.Client) -> None:
    good(client.post("/v1/memories", json={"text": "我住在杭州"}))
    for path, body in (
        ("/v1/forget", {"everything": True}),
        ("/v1/admin/forget-user", None),
        ("/v1/admin/forget-tenant", {"tenant": "default"}),
        ("/v1/pause", None),
        ("/v1/memories", {"text": "我喜欢红茶"}),
    ):
        told = problem(client.post(path, params={"dry_run": "true"}, json=body), 422, "InputError")
        assert "'dry_run'" in told["detail"]
    told = problem(client.get("/v1/memories", params={"limt": 1}), 422, "InputError")
    assert "limit" in told["detail"]
    assert len(good(client.get("/v1/memories", params={"user_id": "me", "tenant": "default"}))["memories"]) == 1
    assert len(good(client.get("/v1/ledger"))["plans"]) == 1


def test_names_that_are_not_utf8_never_become_one(client: httpx2.Client) -> None:
    for name in ("李明", "王芳"):
        odd = "".join(f"%{byte:02X}" for byte in name.encode("gbk"))
        problem(client.get("/v1/whoami", headers={"X-Jiyi-User": odd}), 422, "InputError")
        problem(client.get(f"/v1/whoami?user={odd}"), 422, "InputError")
        problem(client.get(f"/v1/whoami?tenant={odd}"), 422, "InputError")
        problem(client.get("/v1/whoami", headers={b"X-Jiyi-User": name.encode()}), 422, "InputError")
        assert good(client.get("/v1/whoami", headers={"X-Jiyi-User": quote(name)}))["user"] == name


def test_a_turn_says_one_thing(client: httpx2.Client) -> None:
    turn = {"role": "user", "text": "我住在杭州", "content": "我住在苏州"}
    problem(client.post("/v1/messages", json={"messages": [turn]}), 422, "InvalidRequest")


def test_a_body_has_a_size(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", service={"body_bytes": 10_000}) as here, here.client() as client:
        large = json.dumps({"text": "x" * 20_000}).encode()
        headers = {"Content-Type": "application/json"}
        problem(client.post("/v1/memories", content=large, headers=headers), 413, "TooLarge")

        def pieces() -> Iterator[bytes]:
            for start in range(0, len(large), 1000):
                yield large[start : start + 1000]

        told = client.post("/v1/memories", content=pieces(), headers=headers)
        assert told.status_code == 413
        assert good(client.get("/v1/memories"))["memories"] == []


def test_a_user_may_call_so_often_a_minute_and_holds_up_nobody_else(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", service={"requests_a_minute": 5}) as here, here.client() as client:
        statuses = [client.get("/v1/whoami", params={"user": "u1"}).status_code for _ in range(8)]
        assert statuses[:5] == [200] * 5
        assert set(statuses[5:]) == {429}
        slow = client.get("/v1/whoami", params={"user": "u1"})
        problem(slow, 429, "TooManyRequests")
        assert 1 <= int(slow.headers["retry-after"]) <= 12
        assert client.get("/v1/whoami", params={"user": "u2"}).status_code == 200
    with served(tmp_path / "two.db", service={"tenant_requests_a_minute": 3}) as here, here.client() as client:
        statuses = [client.get("/v1/whoami", params={"user": f"u{n}"}).status_code for n in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert client.get("/v1/whoami", params={"tenant": "other"}).status_code == 200


# ------------------------------------------------------------------ who is served


def test_without_tokens_only_programs_of_this_machine_are_served(here: Served, client: httpx2.Client) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": ""},
                    {"Host": "[::1"}, {"Host": "[x]"}, {"Origin": "http://["}):  # fmt: skip
        problem(client.get("/v1/memories", headers=headers), 403, "NotAllowed")
    for headers in ({"Host": "localhost:1"}, {"Origin": "http://127.0.0.1:3000"}):
        assert client.get("/v1/memories", headers=headers).status_code == 200
    problem(client.get("/v1/memories", headers={"Authorization": "Bearer abc"}), 401, "NotIdentified")
    assert good(client.get("/v1/whoami"))["user"] == "me"
    assert good(client.get("/v1/whoami", params={"user_id": "u001"}))["user"] == "u001"
    problem(client.get("/v1/whoami", params={"user": "a"}, headers={"X-Jiyi-User": "b"}), 403, "NotAllowed")


def test_a_service_key_acts_for_users_and_the_ledger_names_it(here: Served) -> None:
    key, text = here.memory.make_service_key("desk", tenant="acme")
    with here.client(text, **{"X-Jiyi-User": "%E6%9D%8E%E6%98%8E"}) as client:
        good(client.post("/v1/memories", json={"text": "我的猫叫年糕", "user": "李明"}))
        assert good(client.get("/v1/whoami"))["user"] == "李明"
        problem(client.get("/v1/ledger"), 403, "NotAllowed")
    (entry,) = here.memory.scope("李明", tenant="acme").ledger()
    assert (entry.plan.actor.who, entry.plan.actor.surface) == (f"key {key.id}", "http")


# ------------------------------------------------------------------ how it is watched


def test_numbers_for_prometheus(here: Served, client: httpx2.Client) -> None:
    good(client.post("/v1/messages", json={"session": "s1", "messages": [{"role": "user", "text": "我住在杭州"}]}))
    text = client.get("/metrics").text
    assert 'jiyi_jobs{state="waiting"}' in text
    lag = next(line for line in text.splitlines() if line.startswith("jiyi_write_to_readable_lag_seconds"))
    assert float(lag.split()[1]) > 0
    here.memory.work()
    good(client.post("/v1/recall", json={"query": "我住在哪里"}))
    good(client.post("/v1/pause"))
    client.patch("/v1/memories/m1", json={"text": "x"})
    text = client.get("/metrics").text
    for line in (
        'jiyi_jobs{state="waiting"} 0.0', "jiyi_write_to_readable_lag_seconds 0.0",
        'jiyi_recall_channel_seconds_count{channel="facts",process="1"} 1.0', 'jiyi_recall_channel_seconds_count{channel="words",process="1"} 1.0',
        'jiyi_plans_refused_total{process="1",reason="MemoryPaused"} 1.0',
        'jiyi_http_requests_total{operation="recall",process="1",status="200"} 1.0',
        'jiyi_http_requests_total{operation="correct",process="1",status="409"} 1.0',
    ):  # fmt: skip
        assert line in text, line
    assert "杭州" not in text
    assert client.get("/health").text == client.get("/ready").text == "ok\n"


def test_no_word_of_a_memory_is_logged(here: Served, client: httpx2.Client, caplog: pytest.LogCaptureFixture) -> None:
    words = ("peanuts", "花生")
    with caplog.at_level(logging.DEBUG):
        for word in words:
            good(client.post("/v1/memories", json={"text": f"I am allergic to {word}."}))
            client.get("/v1/versions", params={"of": word})
            good(client.post("/v1/recall", json={"query": word}))
            client.post("/v1/memories", json={"text": word, "nonsense": word})
            client.get(f"/v1/memories/{word}")
            client.post("/v1/memories", content=word.encode(), headers={"Content-Type": "application/json"})
    written = [
        JsonLines().format(record) for record in caplog.records if record.name.startswith(("jiyi", "uvicorn.error"))
    ]
    told = [json.loads(line) for line in written]
    assert not any(word in line for line in written for word in words)
    assert {"remember", "versions", "recall", "one_memory"} <= {event.get("operation") for event in told}
    assert all({"id", "status", "ms"} <= event.keys() for event in told if event["event"] == "request")


def test_a_bug_is_said_without_its_words(here: Served, client: httpx2.Client, caplog: pytest.LogCaptureFixture) -> None:
    @here.app.get("/v1/broken")
    async def broken() -> None:
        raise RuntimeError("my peanuts")

    with caplog.at_level(logging.INFO):
        problem(client.get("/v1/broken"), 500, "Bug")
    (event,) = (json.loads(JsonLines().format(r)) for r in caplog.records if r.name == "jiyi.http")
    assert event["level"] == "error"
    assert event["problem"].startswith("RuntimeError at broken:")
    assert "peanuts" not in json.dumps(event)


def test_when_the_store_fails_it_is_said_without_its_place(here: Served, client: httpx2.Client, tmp_path: Path) -> None:
    here.memory.close()
    told = problem(client.post("/v1/recall", json={"query": "x"}), 503, "StoreClosed")
    assert str(tmp_path) not in told["detail"]
    problem(client.get("/ready"), 503, "StoreClosed")
    assert client.get("/health").status_code == 200
    assert client.get("/metrics").status_code == 200


def test_one_that_says_nothing_holds_up_nobody(here: Served, client: httpx2.Client) -> None:
    host, port = here.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as silent:
        silent.sendall(
            b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        )
        good(client.get("/v1/memories"))
    good(client.get("/v1/memories"))


def test_many_write_and_read_at_once(here: Served) -> None:
    done: list[int] = []

    def live(number: int) -> None:
        with here.client(**{"X-Jiyi-User": f"u{number % 3}"}) as client:
            for turn in range(4):
                text = f"locker {number}-{turn}"
                body = {"session": "s1", "messages": [{"role": "user", "text": text, "id": text}]}
                done.append(client.post("/v1/messages", json=body).status_code)
                done.append(client.post("/v1/recall", json={"query": "locker", "limit": 50}).status_code)

    threads = [threading.Thread(target=live, args=(n,)) for n in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [200] * 72
    assert [len(here.memory.scope(f"u{n}").history(limit=99).messages) for n in range(3)] == [12] * 3


# ------------------------------------------------------------------ tables

COMMAND_LINE_ONLY = {
    "work", "usage", "scopes", "carry_forward", "forget_again", "reindex", "check", "check_model", "info", "backup",
    "rotate_key", "close", "graph_engine", "repair", "make_service_key", "service_keys", "service_key", "revoke_service_key",
}  # fmt: skip
"""They see all tenants at once, or are not of one memory: whoever may use them has the machine."""
OTHERWISE = {
    "scope": "the token", "once": "Idempotency-Key", "user": "whoami", "settings": "none", "confidence": "one_memory",
    "memory": "one_memory", "scopes": "users", "forget": "forget_memory", "limits": "none",
    "conversation": "chat_completions",
    "visitor": "the token", "shared": "?shared=", "together": "recall", "is_there": "?shared=",
}  # fmt: skip
"""Verbs of the façade that a call reaches under another name."""


def test_every_verb_of_the_facade_has_a_route() -> None:
    routes = {operation.name for operation in OPERATIONS}
    verbs = {name for kind in (ScopedMemory, MemoryLayer) for name in dir(kind) if not name.startswith("_")}
    missing = verbs - routes - COMMAND_LINE_ONLY - OTHERWISE.keys()
    assert not missing, "give it a route in surfaces/http, or say here where it is instead"


def test_every_error_has_a_status_and_every_status_is_documented() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, JiyiError)]
    told = {kind: next(status for base, status in STATUSES if issubclass(kind, base)) for kind in kinds}
    assert told[errors.MemoryPaused] == 409
    assert told[errors.VersionMismatch] == 412
    assert told[errors.InstructsAgent] == 422
    assert (told[errors.StoreLost], told[errors.WriteUncertain]) == (503, 500)
    assert status_of(errors.NotFound("x")) == 404
    assert {status for status in told.values() if status < 500} <= WHEN.keys()


def test_the_document_has_examples_in_both_languages(client: httpx2.Client) -> None:
    document = good(client.get("/v1/openapi.json"))
    shown = json.dumps([s.get("examples") for s in document["components"]["schemas"].values()], ensure_ascii=False)
    assert "数据库" in shown
    assert "I moved to Berlin" in shown
    for path, item in document["paths"].items():
        for method, found in item.items():
            assert found["summary"], (method, path)
            assert found["description"].endswith("."), (method, path)
            assert set(map(str, WHEN)) <= set(found["responses"]), (method, path)


# ------------------------------------------------------------------ what callers are spared


def test_a_body_that_stops_coming_holds_nothing(tmp_path: Path) -> None:
    """Neither a request nor, when the service is to stop, the stop."""
    with served(tmp_path / "memory.db", worker=False, service={"body_seconds": 0.2}) as here:
        host, port = here.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as line:
            head = f"POST /v1/memories HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
            line.sendall(head.encode() + b'{"text": "I live in Leeds')
            answer = b""
            while piece := line.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"nothing was done" in answer
        assert here.memory.scope("me").memories(status=None) == []


def test_errors_that_reach_every_surface_name_no_command_and_no_method() -> None:
    """What is said below the surfaces is read over HTTP and MCP too, where neither is there."""
    source = Path(errors.__file__).parent
    files = [
        *source.glob("pipelines/**/*.py"),
        *source.glob("memory_*.py"),
        source / "scoped_memory.py",
        source / "errors.py",
    ]
    said = [
        (file.name, found)
        for file in files
        for found in re.findall(
            r"(?:raise (?:NotFound|InputError|PlanRefused)|super\(\).__init__)\([^\n]*", file.read_text("utf-8")
        )
    ]
    assert len(said) > 60
    assert [
        (name, text) for name, text in said if "`jiyi " in text or re.search(r"\b[a-z_]+\(\) (lists|it first)", text)
    ] == []
