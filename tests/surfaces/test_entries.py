"""Memory in its plainest shape over HTTP: /memory, /memory/search and /chat (SPEC U2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.models.server import Manner, provider
from tests.surfaces.served import Served, served
from tests.surfaces.test_chats import chatting, recorded, system_of, user

QUIET = "用户偏好安静的工作环境"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "memory.db") as made:
        yield made


@pytest.fixture
def client(here: Served) -> Iterator[httpx2.Client]:
    with here.client() as made:
        yield made


def good(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_entries_are_added_found_changed_and_removed(client: httpx2.Client) -> None:
    added = good(
        client.post("/memory", json={"user_id": "u001", "content": QUIET, "category": "preference", "importance": 3})
    )
    good(client.post("/memory", json={"user_id": "u002", "content": "The user builds a data platform"}))
    name = added["memory_id"]
    [found] = good(client.get("/memory/search", params={"user_id": "u001", "q": "哪里比较安静"}))["memories"]
    assert (found["id"], found["content"], found["category"], found["importance"]) == (name, QUIET, "preference", 3)
    [other] = good(client.get("/memory/search", params={"user_id": "u002", "q": "data platform", "top_k": 1}))[
        "memories"
    ]
    assert (other["category"], other["importance"]) == ("general", 1)
    assert good(client.get("/memory/search", params={"user_id": "u002", "q": "安静"}))["memories"] == []
    changed = good(client.patch(f"/memory/{name}", json={"user_id": "u001", "content": "用户偏好热闹的工作环境"}))
    [found] = good(client.get("/memory/search", params={"user_id": "u001", "q": "工作环境", "top_k": 1}))["memories"]
    assert (found["id"], found["content"]) == (changed["memory_id"], "用户偏好热闹的工作环境")
    gone = good(client.delete(f"/memory/{changed['memory_id']}", params={"user_id": "u001"}))
    assert gone["removed"] >= 1
    assert client.get("/memory/search", params={"user_id": "u001", "q": "热闹"}).json()["memories"] == []
    assert client.delete("/memory/m99", params={"user_id": "u001"}).status_code == 404


def test_the_id_of_an_entry_goes_on_to_mean_what_it_says_now(client: httpx2.Client) -> None:
    first = good(client.post("/memory", json={"content": "The user's laptop is a ThinkPad"}))["memory_id"]
    second = good(client.patch(f"/memory/{first}", json={"content": "The user's laptop is a Framework"}))["memory_id"]
    good(client.patch(f"/memory/{first}", json={"content": "The user's laptop is a MacBook"}))
    assert second != first
    assert good(client.delete(f"/memory/{first}"))["removed"] == 1
    assert good(client.get("/v1/memories"))["memories"] == []
    assert client.delete(f"/memory/{first}").status_code == 404


@pytest.mark.parametrize(
    "body", [{"content": ""}, {"content": "x", "importance": 6}, {"content": "x", "category": "nothing"}, {"text": "x"}]
)
def test_what_is_no_entry_is_refused(client: httpx2.Client, body: dict[str, Any]) -> None:
    assert client.post("/memory", json={"user_id": "u001", **body}).status_code == 422


def test_a_chat_without_a_model_gives_the_prompt_that_one_would_get(here: Served, client: httpx2.Client) -> None:
    client.post("/memory", json={"user_id": "u001", "content": QUIET})
    reply = good(client.post("/chat", json={"user_id": "u001", "message": "哪里比较安静？"}))["reply"]
    assert QUIET in reply
    assert reply.endswith("</memory>\n\n哪里比较安静？")
    assert [m.text for m in recorded(here.memory.scope("u001"), 1)] == ["哪里比较安静？"]


def test_a_chat_with_a_model_gives_its_words(tmp_path: Path) -> None:
    with (
        provider(Manner(text="图书馆。")) as upstream,
        chatting(tmp_path / "memory.db", upstream.url, model="model-1") as (memory, client),
    ):
        client.post("/memory", json={"user_id": "u001", "content": QUIET})
        asked = {"user_id": "u001", "message": "哪里比较安静？"}
        assert good(client.post("/chat", json=asked))["reply"] == "图书馆。"
        assert upstream.requests[0]["model"] == "model-1"
        assert upstream.requests[0]["messages"][1:] == [user("哪里比较安静？")]
        assert QUIET in system_of(upstream.requests[0])
        assert [m.text for m in recorded(memory.scope("u001"), 2)] == ["哪里比较安静？", "图书馆。"]
        upstream.then(Manner(status=429, raw=b"{}", headers={"Retry-After": "9"}))
        busy = client.post("/chat", json={**asked, "message": "还有呢？"})
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "9")
        upstream.then(Manner(status=401, raw=b"{}"))
        assert client.post("/chat", json={**asked, "message": "为什么？"}).status_code == 502


@pytest.mark.parametrize("path", ["/memory", "/chat", "/v1/memories"])
def test_what_is_not_sent_as_json_is_told_how_to_be(tmp_path: Path, path: str) -> None:
    with served(tmp_path / "memory.db", worker=False) as here, here.client() as client:
        body = b'{"content": "x", "message": "x", "text": "x"}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", None):
            answer = client.post(path, content=body, headers={} if kind is None else {"Content-Type": kind})
            assert answer.status_code == 422
            assert "Content-Type: application/json" in answer.json()["detail"]
