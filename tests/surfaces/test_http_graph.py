"""The graph over HTTP (SPEC G1–G3, U2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.surfaces.served import Served, served


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "memory.db", worker=False, service={"requests_a_minute": 0}) as made:
        yield made


@pytest.fixture
def client(here: Served) -> Iterator[httpx2.Client]:
    with here.client(**{"X-Jiyi-Timezone": "Asia/Shanghai"}) as made:
        yield made


def good(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: httpx2.Response, status: int, kind: str) -> str:
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:jiyi:problem:{kind}"), answer.text
    return str(answer.json()["detail"])


def tell(here: Served, client: httpx2.Client, *texts: str) -> None:
    turns = [{"role": "user", "text": text} for text in texts]
    good(client.post("/v1/messages", json={"session": "s1", "messages": turns}))
    here.memory.work()


LIVES = pytest.mark.parametrize(
    ("texts", "one", "other", "us", "who", "statement"),
    [
        (("竞品是云帆科技。", "王芳在星图工作。"), "云帆科技", "星图", "贵司", "王芳", "云帆科技就是星图"),
        (
            ("Our competitor is Acme Widgets.", "Anna works at Bellweather."),
            "Acme Widgets", "Bellweather", "User's company", "Anna", "Acme Widgets is the same as Bellweather",
        ),
    ],
)  # fmt: skip


@LIVES
def test_names_are_merged_asked_about_and_taken_apart(
    here: Served, client: httpx2.Client, texts: tuple[str, ...], one: str, other: str, us: str, who: str, statement: str
) -> None:
    tell(here, client, *texts)
    pair = {"one": one, "other": other}
    shown = good(client.post("/v1/graph/merge", json={**pair, "dry_run": True}))
    assert (shown["plan"], shown["dry_run"]) == (None, True)
    assert other not in good(client.get("/v1/graph/entity", params={"name": one}))["aliases"]
    key = {"Idempotency-Key": "k1"}
    first, again = (good(client.post("/v1/graph/merge", json=pair, headers=key)) for _ in range(2))
    assert [m["text"] for m in first["memories"]] == [statement]
    assert (again["plan"], again["memories"]) == (first["plan"], first["memories"])
    assert len([p for p in good(client.get("/v1/ledger"))["plans"] if p["verb"] == "unite"]) == 1
    # One entity under both names.
    (known,) = {
        e["name"]: e for e in good(client.get("/v1/graph/entities"))["entities"] if e["aliases"].keys() & {one, other}
    }.values()
    assert known["aliases"] == {one: "said", other: "said"}
    assert (known["weight"], known["because"]) == (None, None)
    weighed = good(client.get("/v1/graph/entity", params={"name": other}))
    assert weighed["name"] == known["name"]
    assert weighed["weight"] > 0
    assert weighed["because"]
    # What is known of either is known of both.
    relations = {"relation": ["WORKS_AT", "COMPETES_WITH"]}
    near = good(client.get("/v1/graph/neighbours", params={"name": one, **relations}))
    assert {n["entity"] for n in near["neighbours"]} == {us, who}
    assert not near["cut"]
    (step,) = next(n for n in near["neighbours"] if n["entity"] == who)["path"]
    assert (step["relation"], step["memory"], step["rule"]) == ("WORKS_AT", "m2", None)
    assert step["since"].endswith("+08:00")
    (way,) = good(client.get("/v1/graph/paths", params={"start": who, "end": us, **relations}))["paths"]
    assert way["entities"] == [who, known["name"], us]
    pattern = {"pattern": [["?us", "COMPETES_WITH", "?x"], ["?who", "WORKS_AT", "?x"]]}
    (row,) = good(client.post("/v1/graph/match", json=pattern))["matches"]
    assert row["bound"] == {"?us": us, "?x": known["name"], "?who": who}
    assert len(row["days"]) == 1
    (insight,) = good(client.get("/v1/graph/derived"))["derived"]
    assert (insight["tie"]["rule"], insight["tie"]["memory"]) == ("works-for-the-rival", None)
    assert {"m1", "m2"} <= set(insight["tie"]["premises"])
    assert who in insight["why"]
    whole = good(client.get("/v1/graph"))
    assert {e["name"] for e in whole["entities"]} == {us, who, known["name"]}
    assert insight["tie"] in whole["ties"]
    assert good(client.get("/v1/graph", params={"around": who, "hops": 1, "relation": "WORKS_AT"}))["ties"] == [step]
    # And back, by an undo or by the other verb.
    good(client.post(f"/v1/ledger/{first['plan']}/undo"))
    apart = good(client.get("/v1/graph/entity", params={"name": one}))
    assert apart["aliases"].keys() == {one}
    good(client.post("/v1/graph/merge", json=pair))
    assert good(client.get("/v1/graph/derived"))["derived"]
    assert good(client.post("/v1/graph/split", json=pair))["plan"]
    assert good(client.get("/v1/graph/entity", params={"name": one})) == apart
    assert good(client.get("/v1/graph/derived")) == {"derived": [], "cursor": None, "cut": False, "note": ""}


@LIVES
def test_what_another_user_has_is_in_no_answer(
    here: Served, client: httpx2.Client, texts: tuple[str, ...], one: str, other: str, us: str, who: str, statement: str
) -> None:
    tell(here, client, *texts)
    with here.client(**{"X-Jiyi-User": "nora"}) as stranger:
        nothing = {"entities": [], "cursor": None}
        assert good(stranger.get("/v1/graph/entities")) == nothing != good(client.get("/v1/graph/entities"))
        assert good(stranger.get("/v1/graph")) == {"entities": [], "ties": [], "cut": False, "note": ""}
        pattern = {"pattern": [["?who", "*", one]]}
        assert good(stranger.post("/v1/graph/match", json=pattern)) == {"matches": [], "cut": False, "note": ""}
        assert good(client.post("/v1/graph/match", json=pattern))["matches"]
        for path, query in (
            ("entity", {"name": one}), ("neighbours", {"name": one}), ("paths", {"start": one, "end": us}),
        ):  # fmt: skip
            assert "no memory speaks of" in refused(stranger.get(f"/v1/graph/{path}", params=query), 404, "NotFound")
        for path in ("merge", "split"):
            refused(stranger.post(f"/v1/graph/{path}", json={"one": one, "other": other}), 404, "NotFound")
        assert good(stranger.get("/v1/ledger"))["plans"] == []


@pytest.mark.parametrize(
    "texts",
    [
        (
            "我叫李明。",
            "竞品是云帆科技。",
            "王芳在云帆科技工作。",
            "我住在葫芦岛。",
            "赵敏在云帆科技工作。",
        ),
        ("My name is Ann.", "Our competitor is Acme.", "Anna works at Acme.", "I live in Leeds.", "Bob works at Acme."),
    ],
)
def test_pages_hold_every_entity_and_every_insight_once(
    here: Served, client: httpx2.Client, texts: tuple[str, ...]
) -> None:
    tell(here, client, *texts)
    for path in ("entities", "derived"):
        every = good(client.get(f"/v1/graph/{path}", params={"limit": 200}))
        assert len(every[path]) >= 2
        found, cursor = [], None
        while True:
            told = good(
                client.get(f"/v1/graph/{path}", params={"limit": 1} | ({"cursor": cursor} if cursor else {}))
            )  # fmt: skip
            found += told[path]
            assert len(told[path]) == 1
            cursor = told["cursor"]
            if cursor is None:
                break
        assert found == every[path]
    cursor = good(client.get("/v1/graph/entities", params={"limit": 1}))["cursor"]
    refused(client.get("/v1/graph/derived", params={"cursor": cursor}), 422, "InputError")
    good(client.post("/v1/forget", json={"everything": True}))
    refused(client.get("/v1/graph/entities", params={"cursor": cursor}), 404, "NotFound")


def test_what_cannot_be_asked_is_refused(here: Served, client: httpx2.Client) -> None:
    tell(here, client, "竞品是云帆科技。", "王芳在云帆科技工作。")
    near, limits = "/v1/graph/neighbours", {"name": "王芳"}
    assert "hops" in refused(client.get(near, params={**limits, "hops": 7}), 422, "InputError")
    refused(client.get(near, params={**limits, "relation": "nonsense"}), 422, "InputError")
    refused(client.get(near, params={**limits, "at": "2026-03-01"}), 422, "InstantWithoutZone")
    refused(client.get("/v1/graph/paths", params={"start": "王芳", "end": "王芳"}), 422, "InputError")
    for wrong in (
        {"hops": 0}, {"hops": 101}, {"limit": 0}, {"limit": 1001}, {"min_confidence": "nan"}, {"min_confidence": 2},
        {"name": ""}, {"name": "云" * 201}, {"language": "fr"}, {"relation": "x" * 101},
    ):  # fmt: skip
        refused(client.get(near, params=limits | wrong), 422, "InvalidRequest")
    for pattern in ([], [["?a", "*"]], [["?a", "*", ""]], [["?a", "*", "?b"]] * 7, "?a * ?b"):
        refused(client.post("/v1/graph/match", json={"pattern": pattern}), 422, "InvalidRequest")
    unconnected = [["?a", "WORKS_AT", "?b"], ["?c", "WORKS_AT", "?d"]]
    refused(client.post("/v1/graph/match", json={"pattern": unconnected}), 422, "InputError")
    refused(client.post("/v1/graph/merge", json={"one": "王芳", "other": "王芳"}), 422, "InputError")
    refused(client.post("/v1/graph/merge", json={"one": "王芳", "other": "云" * 81}), 422, "InputError")
    refused(client.post("/v1/graph/merge", json={"one": "王芳"}), 422, "InvalidRequest")
    # A name may hold whatever an address gives a meaning to.
    good(client.post("/v1/graph/merge", json={"one": "云帆科技", "other": "云帆/yf?a=b&c#d"}))
    assert "云帆科技" in good(client.get("/v1/graph/entity", params={"name": "云帆/yf?a=b&c#d"}))["aliases"]
    # A pause holds for these as for all writes; reading goes on.
    good(client.post("/v1/pause"))
    refused(client.post("/v1/graph/merge", json={"one": "星图", "other": "云帆科技"}), 409, "MemoryPaused")
    assert good(client.get(near, params=limits))["neighbours"]
