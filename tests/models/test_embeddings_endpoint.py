"""Vectors from an endpoint, against a server with each provider's manners (SPEC R11): no case loses a text, mixes vectors,
or holds back `observe` or recall."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jiyi.assembly import open_memory
from jiyi.domain.scope import Scope
from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Kind
from jiyi.settings import EmbeddingPolicy, Settings
from tests.conftest import Clock
from tests.models.server import Manner, Provider, embeddings_document, provider
from tests.surfaces.cli import Cli

KEY = "-".join(["sk", "7c3b1a" * 5])
ME = Scope("u1")
Open = Callable[..., MemoryLayer]


@pytest.fixture
def open_at(tmp_path: Path, clock: Clock) -> Iterator[Open]:
    with ExitStack() as stack:

        def open_at(server: Provider, **embedding: Any) -> MemoryLayer:
            policy = {
                "base_url": server.url, "name": "m1", "timeout_seconds": 1.0, "deadline_seconds": 3.0, "retries": 1,
                "retry_seconds": 0.01, "query_seconds": 0.5, **embedding,
            }  # fmt: skip
            layer = open_memory(
                tmp_path / "memory.db", clock=clock, worker=False, synchronous="NORMAL", embedder="endpoint",
                embedding=policy, jobs={"attempts": 2},
            )  # fmt: skip
            return stack.enter_context(layer)

        yield open_at


def say(layer: MemoryLayer, *texts: str) -> None:
    layer.scope("u1").observe([{"role": "user", "text": text} for text in texts], session="s1")
    layer.work()


def held(layer: MemoryLayer, model: str = "custom/m1") -> set[int]:
    with layer._store.read() as unit:
        return unit.vectors.held(ME, Kind.MESSAGE, model)


def found(layer: MemoryLayer, question: str) -> list[str]:
    return [i.text for i in layer.scope("u1").recall(question, kinds={"message"}).items if "near in meaning" in i.why]


def test_texts_are_embedded_in_batches_and_found(server: Provider, open_at: Open) -> None:
    layer = open_at(server, batch=3, price_in=1.0)
    say(layer, *(f"第{n}天风很大" for n in range(7)), "岛上有灯塔")
    assert held(layer) == set(range(1, 9))
    assert found(layer, "塔灯")[0] == "岛上有灯塔"
    assert [len(r["input"]) for r in server.requests] == [3, 3, 2, 1]
    assert {r["model"] for r in server.requests} == {"m1"}
    used = layer.usage()
    assert (used.today.calls, used.today.tokens_in, {c.kind for c in used.calls}) == (3, 80, {"embed"})
    assert used.today.cost == pytest.approx(80 / 1_000_000)


@pytest.mark.parametrize(
    "manner",
    [
        Manner(status=429, headers={"Retry-After": "0"}),
        Manner(status=500),
        Manner(raw=b'{"data": [{"index": 0, "embedding": [0.1, 0.2'),
        Manner(raw=b"<html>busy</html>"),
        Manner(hang_up=True),
        Manner(wait=1.5),
    ],
)
def test_what_passes_is_tried_again(server: Provider, open_at: Open, manner: Manner) -> None:
    server.then(manner, Manner())
    layer = open_at(server)
    say(layer, "风很大")
    assert held(layer) == {1}
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "raw",
    [
        {"data": []},
        {"data": [{"index": 5, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": "no base64!"}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": [1.0, "x"]}]},
        {"data": "no"},
        {"error": {"message": "overloaded"}},
    ],
)
def test_an_answer_that_holds_no_vectors_ends_as_a_dead_letter(
    server: Provider, open_at: Open, clock: Clock, raw: dict[str, Any]
) -> None:
    server.then(Manner(raw=json.dumps(raw).encode()))
    layer = open_at(server)
    say(layer, "风很大")
    clock.advance(minutes=5)
    layer.work()
    [dead] = layer.dead_jobs()
    assert (dead.kind, "embedder custom/m1" in dead.error) == ("embed", True)
    server.then(Manner())
    layer.retry_job(dead.id)
    layer.work()
    assert held(layer) == {1}


@pytest.mark.parametrize("status", [401, 404])
def test_what_is_refused_is_not_asked_again(server: Provider, open_at: Open, status: int) -> None:
    server.then(Manner(status=status))
    layer = open_at(server)
    say(layer, "风很大")
    [dead] = layer.dead_jobs()
    assert f"HTTP {status}" in dead.error
    assert len(server.requests) == 1
    assert [i.text for i in layer.scope("u1").recall("风很大", kinds={"message"}).items] == ["风很大"]


def test_another_dimension_is_refused_and_nothing_is_mixed(server: Provider, open_at: Open) -> None:
    layer = open_at(server)
    say(layer, "风很大")
    server.dimension = 12
    say(layer, "雨很大")
    [dead] = layer.dead_jobs()
    assert "vectors of 12 numbers came, not of 8" in dead.error
    assert held(layer) == {1}
    layer.close()
    # Another process does not know what came before: the set does.
    again = open_at(server)
    again.retry_job(dead.id)
    again.work()
    assert held(again) == {1}
    assert "jiyi reindex" in again.dead_jobs()[0].error
    assert found(again, "大风") == []
    again.reindex()
    again.work()
    assert held(again) == {1, 2}


def test_a_dimension_is_asked_for(server: Provider, open_at: Open) -> None:
    layer = open_at(server, dimension=5)
    say(layer, "风很大")
    assert (server.requests[0]["dimensions"], held(layer, "custom/m1@5")) == (5, {1})


def test_smaller_batches_and_simpler_requests_where_the_endpoint_wants_them(server: Provider, open_at: Open) -> None:
    server.most_texts, server.knows_formats = 4, False
    layer = open_at(server)
    say(layer, *(f"第{n}天风很大" for n in range(9)))
    assert held(layer) == set(range(1, 10))
    assert layer.dead_jobs() == []


def test_base64_is_read(server: Provider, open_at: Open) -> None:
    document = embeddings_document(["风很大"], 8)
    numbers = np.array(document["data"][0]["embedding"], "<f4").tobytes()
    document["data"][0]["embedding"] = base64.b64encode(numbers).decode()
    server.then(Manner(raw=json.dumps(document).encode()), Manner())
    layer = open_at(server)
    say(layer, "风很大")
    assert found(layer, "大风") == ["风很大"]


def test_recall_does_not_wait_for_an_endpoint(server: Provider, open_at: Open) -> None:
    layer = open_at(server, query_seconds=0.2)
    say(layer, "风很大")
    server.then(Manner(wait=30))
    items = layer.scope("u1").recall("风很大", kinds={"message"}).items
    assert [i.text for i in items] == ["风很大"]
    assert len(server.requests) == 2


def test_a_day_costs_no_more_than_it_may(server: Provider, open_at: Open) -> None:
    layer = open_at(server, tokens_per_day=25, batch=1)
    say(layer, "风很大", "雨很大", "雪很大", "雾很大")
    [dead] = layer.dead_jobs()
    assert "of 25 tokens" in dead.error
    assert "embedding.tokens_per_day" in dead.error
    # Before it was asked the third text was taken for less than ten tokens.
    assert (len(held(layer)), len(server.requests)) == (3, 3)


def test_another_model_behind_the_same_address_takes_over(server: Provider, open_at: Open) -> None:
    layer = open_at(server)
    say(layer, "风很大", "岛上有灯塔")
    layer.close()
    with provider() as other:
        other.dimension = 16
        layer = open_at(other, name="m2")
        # Nothing is embedded by the new one yet; the old one is asked where it was.
        assert found(layer, "塔灯")[0] == "岛上有灯塔"
        assert server.requests[-1]["input"] == ["塔灯"]
        layer.work()
        assert found(layer, "塔灯")[0] == "岛上有灯塔"
        assert other.requests[-1]["input"] == ["塔灯"]
        assert (held(layer), held(layer, "custom/m2")) == (set(), {1, 2})


def test_the_key_goes_to_the_endpoint_and_nowhere_else(server: Provider, jiyi: Cli) -> None:
    env = {"JIYI_EMBEDDER": "endpoint", "JIYI_EMBEDDING__BASE_URL": server.url, "JIYI_EMBEDDING__NAME": "m1"}
    env |= {"JIYI_EMBEDDING__KEY_ENV": "MY_KEY", "MY_KEY": KEY}
    jiyi("remember", "我住在宁波", **env)
    jiyi("work", **env)
    told = jiyi("doctor", "--json", **env)
    checks = {c["name"]: c for c in json.loads(told.stdout)["checks"]}
    assert "custom/m1, 1 vectors; everything is embedded" in checks["vectors"]["detail"]
    assert checks["embedder"]["detail"] == "custom/m1 answers with 8 numbers"
    assert {h["authorization"] for h in server.headers} == {f"Bearer {KEY}"}
    assert KEY not in told.stdout + told.stderr + jiyi("config", **env).stdout
    server.then(Manner(status=401))
    [check] = [c for c in jiyi.json("doctor", code=1, **env)["checks"] if c["name"] == "embedder"]
    assert "HTTP 401" in check["detail"]
    assert check["fix"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"embedder": "endpoint"}, "embedding.preset or embedding.base_url"),
        ({"embedder": "endpoint", "embedding": EmbeddingPolicy(preset="openai")}, "embedding.name"),
        ({"embedder": "bert"}, "choose one of none, use, e5, both, all, endpoint"),
        ({"embedding": EmbeddingPolicy(money_per_day=1.0)}, "price_in"),
        ({"embedding": EmbeddingPolicy(batch=0)}, "embedding.batch"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Settings(**settings)


def test_a_missing_key_says_which(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="set OPENAI_API_KEY"):
        open_memory(tmp_path / "m.db", worker=False, embedder="endpoint", embedding={"preset": "openai", "name": "m1"})
