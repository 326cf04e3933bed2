"""Visitors over HTTP: opened by a service, let in by their token, linked by whoever holds it for a user (SPEC S3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from jiyi.domain.access import Role
from tests.surfaces.issuer import Issuer
from tests.surfaces.test_http_isolation import World, world

USER = {"X-Jiyi-User": "ming"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path / "memory.db", filled=False) as made:
        yield made


@pytest.fixture
def service(here: World) -> Iterator[httpx2.Client]:
    _, key = here.served.memory.make_service_key("desk", tenant="acme", roles=[Role.AGENT])
    with here.served.client(key) as made:
        yield made


@pytest.mark.parametrize(
    ("said", "known", "learnt"),
    [("我喜欢喝绿茶。", "我住在北京。", "绿茶"), ("I like green tea.", "I live in York.", "green tea")],
)
def test_a_visitor_from_opening_to_its_end(
    here: World, service: httpx2.Client, said: str, known: str, learnt: str
) -> None:
    opened = service.post("/v1/visitors", json={"fingerprint": "device 7"}).json()
    assert service.post("/v1/visitors", json={"fingerprint": "device 7"}).json() == opened
    token, link = opened["token"], "/v1/visitors/link"
    with here.served.client(token) as visitor:
        assert visitor.get("/v1/whoami").json() == {
            "proof": "token", "who": "visitor", "tenant": "acme", "user": opened["user"], "roles": ["visitor"],
            "rights": ["read", "write"], "shared": {},
        }  # fmt: skip
        visitor.post("/v1/memories", json={"text": said})
        assert learnt in visitor.post("/v1/context", json={"query": said}).text
        # It is nobody else, decides nothing about its end, and opens no others.
        for refused in (
            visitor.get("/v1/profile", params={"user": "ming"}),
            visitor.post("/v1/pause"),
            visitor.put("/v1/retention", json={"detail": "minimal"}),
            visitor.post("/v1/import", content=b"PK", headers={"Content-Type": "application/zip"}),
            visitor.get("/v1/ledger"),
            visitor.post("/v1/visitors", json={}),
            visitor.post(link, json={"token": token, "user": "ming"}),
        ):
            assert refused.status_code == 403, refused.text
    service.post("/v1/memories", json={"text": known}, headers=USER)
    shown = service.post(link, json={"token": token, "dry_run": True}, headers=USER).json()
    assert (shown["plan"], shown["dry_run"]) == (None, True)
    done = service.post(link, json={"token": token}, headers=USER).json()
    assert [c["after"] for c in done["changes"]] == [c["after"] for c in shown["changes"]]
    assert learnt in service.get("/v1/memories", headers=USER).text
    assert service.post(f"/v1/ledger/{done['plan']}/undo", headers=USER).status_code == 200
    assert learnt not in service.get("/v1/memories", headers=USER).text
    # A user with a token of the issuer's may bring the visitor's along as well.
    with here.client("lena") as lena:
        assert learnt in lena.post(link, json={"token": token}).text
        assert lena.post("/v1/visitors", json={}).status_code == 403
    here.clock.advance(hours=72)
    here.served.memory.work()
    with here.served.client(token) as visitor:
        assert visitor.get("/v1/whoami").status_code == 401
    assert service.post(link, json={"token": token}, headers=USER).status_code == 404


def test_a_visitor_is_of_its_tenant_and_its_token_of_this_database(
    here: World, service: httpx2.Client, tmp_path: Path
) -> None:
    token = service.post("/v1/visitors", json={}).json()["token"]
    _, key = here.served.memory.make_service_key("other", tenant="beta", roles=[Role.ADMIN])
    with here.served.client(key) as beta:
        theirs, nobodys = (
            beta.post("/v1/visitors/link", json={"token": t}, headers=USER) for t in (token, "jiyi_an_x.y")
        )
        assert (theirs.status_code, theirs.content) == (nobodys.status_code, nobodys.content) == (404, theirs.content)
        assert beta.post("/v1/visitors", json={"tenant": "acme"}).status_code == 403
    with world(tmp_path / "other.db", filled=False) as elsewhere, elsewhere.served.client(token) as visitor:
        assert visitor.get("/v1/whoami").status_code == 401
    for wrong in (token[:-3], token + "a", f"jiyi_an_{Issuer().token()}"):
        with here.served.client(wrong) as visitor:
            assert visitor.get("/v1/whoami").status_code == 401
