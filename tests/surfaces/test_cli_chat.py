"""`jiyi chat`: beside a memory of this machine, through a proxy, with a model and without (SPEC U2, O1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.server import Manner, provider
from tests.surfaces.cli import Cli
from tests.surfaces.served import served
from tests.surfaces.test_chats import recorded

ECHO = {"openai": {"preset": "echo"}}


@pytest.mark.parametrize(
    ("talk", "known", "begins"),
    [
        ("我对花生过敏。\n/new\n\n花生能吃吗？\n/quit\n还有什么？\n", "花生", "我是模型的替身。你说：花生能吃吗？"),
        (
            "I am allergic to peanuts.\n/new\nMay I have peanuts?\n",
            "peanuts (m1)",
            "I stand in for a model. You said: May I",
        ),
    ],
)
def test_without_a_model_it_shows_what_one_would_be_handed(jiyi: Cli, talk: str, known: str, begins: str) -> None:
    done = jiyi("chat", stdin=talk)
    assert "no model is configured" in done.stderr
    first, second = done.stdout.split(begins)
    assert "<memory>" not in first
    assert known in second.partition("<memory>")[2]
    assert "还有什么" not in done.stdout
    sessions = jiyi.json("sessions")["sessions"]
    assert len(sessions) == 2
    assert jiyi.json("summaries")["summaries"]


def test_one_message_and_a_document(jiyi: Cli) -> None:
    jiyi("remember", "I am allergic to peanuts.")
    [turn] = jiyi.json("chat", "May I have peanuts?", "--session", "s1")["turns"]
    assert turn["you"] == "May I have peanuts?"
    assert "(m1)" in turn["reply"]
    assert [m["session"] for m in jiyi.json("history")["messages"]] == ["s1", "s1"]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_with_a_model(jiyi: Cli, wire: str) -> None:
    with provider(Manner(text="No peanuts for you.", pieces=5)) as upstream:
        where = upstream.url if wire == "openai" else f"anthropic={upstream.url}"
        jiyi("remember", "I am allergic to peanuts.")
        told = jiyi("chat", "May I have peanuts?", "--upstream", where, "--model", "m-1")
        assert told.stdout == "No peanuts for you.\n"
        [asked] = upstream.requests
        assert asked["model"] == "m-1"
        assert "(m1)" in str(asked.get("system", asked["messages"][0]["content"]))
        assert [m["text"] for m in jiyi.json("history")["messages"]] == ["May I have peanuts?", "No peanuts for you."]


def test_with_the_model_that_distils(jiyi: Cli) -> None:
    with provider(Manner(text="Hello.", pieces=1)) as upstream:
        model = {"JIYI_MODEL__BASE_URL": upstream.url, "JIYI_MODEL__NAME": "m-2", "JIYI_MODEL__QUIET_SECONDS": "9000"}
        assert "custom/m-2" in jiyi("chat", "Hi!", **model).stderr
        assert upstream.requests[0]["model"] == "m-2"


def test_through_a_proxy(jiyi: Cli, tmp_path: Path) -> None:
    with served(tmp_path / "served.db", proxy=ECHO) as here:
        talk = "I am allergic to peanuts.\n/new\nMay I have peanuts?\n"
        done = jiyi("chat", "--proxy", f"{here.url}/v1", "--user", "李明", stdin=talk)
        assert "peanuts (m1)" in done.stdout
        said = recorded(here.memory.scope("李明"), 4)
    assert len({m.session for m in said}) == 2
    assert not jiyi.database.exists()


def test_what_goes_wrong_is_said(jiyi: Cli, tmp_path: Path) -> None:
    with provider(Manner(status=401, raw=b"{}")) as upstream:
        assert "say which model" in jiyi("chat", "hi", "--upstream", upstream.url, code=1).stderr
        assert "status 401" in jiyi("chat", "hi", "--upstream", upstream.url, "--model", "m", code=1).stderr
        assert [m["text"] for m in jiyi.json("history")["messages"]] == ["hi"]
    assert (
        "cannot be reached" in jiyi("chat", "hi", "--upstream", "http://127.0.0.1:1/v1", "--model", "m", code=1).stderr
    )
    assert "give one of echo, openai" in jiyi("chat", "hi", "--upstream", "nobody", code=1).stderr
    assert "OPENAI_API_KEY" in jiyi("chat", "hi", "--upstream", "openai", code=1).stderr
    with served(tmp_path / "served.db", worker=False) as here:
        assert "jiyi serve --upstream" in jiyi("chat", "hi", "--proxy", f"{here.url}/v1", code=1).stderr


def test_where_no_jiyi_is_the_address_is_told_without_its_secrets(jiyi: Cli) -> None:
    for address, says in (
        ("http://nora:hush@127.0.0.1:1/v1", "at http://127.0.0.1:1/v1 (ConnectError): is it running there?"),
        ("127.0.0.1:8765/v1", "write it as http://HOST:PORT/v1"),
    ):
        failed = jiyi("chat", "hi", "--proxy", address, code=1)
        assert says in failed.stderr, failed.stderr
        assert "hush" not in failed.stderr
