"""Looking back, and taking a memory elsewhere, through `jiyi` (SPEC B6, B7, F7, U4)."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.surfaces.cli import Cli, lines

ZH = lines(
    {"role": "user", "text": "我们的数据库是 MySQL。", "at": "2026-03-02T09:00:00+08:00", "session": "s1", "id": "a"},
    {"role": "user", "text": "数据库从 MySQL 换成 PostgreSQL 了。", "at": "2026-04-01T23:30:00+08:00", "session": "s2"},
)
EN = lines(
    {"role": "user", "text": "Our database is MySQL.", "at": "2026-03-02T09:00:00+08:00", "session": "s1", "id": "a"},
    {
        "role": "user",
        "text": "We switched our database from MySQL to PostgreSQL.",
        "at": "2026-04-01T23:30:00+08:00",
        "session": "s2",
    },
)
LANGUAGES = pytest.mark.parametrize(("said", "question"), [(ZH, "数据库"), (EN, "which database?")])


# ------------------------------------------------------------------ the past


@LANGUAGES
def test_what_was_true_on_a_day(jiyi: Cli, said: str, question: str) -> None:
    jiyi("observe", stdin=said)
    for day, value in (
        ("2026-03-31", "MySQL"),
        ("2026-04-01T23:29", "MySQL"),
        ("2026-04-01", "PostgreSQL"),
        ("2026-04-02", "PostgreSQL"),
    ):
        assert value in jiyi.json("recall", question, "--valid-at", day)["items"][0]["text"], day
        (memory,) = jiyi.json("memories", "--valid-at", day)["memories"]
        assert value in memory["text"]
        assert value in jiyi("profile", "--valid-at", day).stdout
    # As sure as we were then, not as little as today.
    (memory,) = jiyi.json("memories", "--valid-at", "2026-03-02")["memories"]
    assert (memory["confidence"] > 0.8, memory["status"]) == (True, "ended")
    assert jiyi.json("recall", question, "--valid-at", "2026-03-01")["items"] == []


@LANGUAGES
def test_what_was_known_on_a_day(jiyi: Cli, said: str, question: str) -> None:
    jiyi("observe", stdin=said)  # learnt today, of days long past
    assert jiyi.json("memories", "--known-at", "2026-04-02")["memories"] == []
    assert jiyi.json("profile", "--known-at", "2026-04-02")["lines"] == []
    assert {i["kind"] for i in jiyi.json("recall", question, "--known-at", "2026-03-31")["items"]} == {"message"}
    one, other = jiyi.json("recall", question, "--known-at", "2999-01-01"), jiyi.json("recall", question)
    assert one.pop("trace") != other.pop("trace")
    assert one == other


@LANGUAGES
def test_the_difference_between_two_dates(jiyi: Cli, said: str, question: str) -> None:
    jiyi("observe", stdin=said)
    changed = jiyi.json("profile", "--diff", "2026-03-31", "2026-04-01")
    assert ["MySQL" in line["text"] for line in changed["removed"]] == [True]
    assert ["PostgreSQL" in line["text"] for line in changed["added"]] == [True]
    assert (changed["from"], changed["to"]) == ("2026-03-31T23:59:59.999999+08:00", "2026-04-01T23:59:59.999999+08:00")
    shown = jiyi("profile", "--diff", "2026-03-31", "2026-04-01").stdout.splitlines()
    assert [line[:2] for line in shown] == ["- ", "+ "]
    same = jiyi("profile", "--diff", "2026-04-02", "2026-04-03")
    assert same.stdout == ""
    assert "no line changed" in same.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ("recall", "x", "--valid-at", "yesterday"),
        ("memories", "--known-at", "32.1.2026"),
        ("memories", "--valid-at", "2026-03-01", "--status", "ended"),
        ("profile", "--diff", "2026-03-01", "soon"),
        ("profile", "--diff", "2026-03-01", "2026-04-01", "--valid-at", "2026-03-01"),
    ],
)
def test_what_cannot_be_asked_says_how(jiyi: Cli, wrong: tuple[str, ...]) -> None:
    error = json.loads(jiyi(*wrong, "--json", code=1).stderr.splitlines()[-1])["error"]
    assert error["kind"] == "InputError"
    assert "2026-03-01" in error["message"] or "leave" in error["message"]


# ------------------------------------------------------------------ elsewhere


@LANGUAGES
def test_out_and_back_in_again(jiyi: Cli, said: str, question: str) -> None:
    jiyi("observe", stdin=said)
    jiyi("remember", "门禁密码写在白板上")
    jiyi("forget", "m3", "--yes")
    out = jiyi.home / "me.zip"
    told = jiyi.json("export", str(out))
    assert (told["messages"], told["memories"], told["plans"], told["unfinished"]) == (2, 2, 4, 0)
    assert told["bytes"] == out.stat().st_size

    looked = jiyi.json("import", str(out), "--user", "nora", "--dry-run")
    assert (looked["dry_run"], looked["format"], looked["memories"]) == (True, "jiyi", 2)
    assert jiyi.json("memories", "--user", "nora")["memories"] == []
    brought = jiyi("import", str(out), "--user", "nora")
    assert "→ nora: 2 messages, 2 memories, 4 plans imported" in brought.stdout
    for command in (("memories", "--status", "all"), ("ledger",), ("history",), ("recall", question), ("profile",)):
        one, other = jiyi.json(*command, "--user", "nora"), jiyi.json(*command)
        assert {**one, "trace": None} == {**other, "trace": None}, command
    # As good as where it came from, to the byte.
    jiyi("export", str(jiyi.home / "nora.zip"), "--user", "nora")
    with zipfile.ZipFile(out) as one, zipfile.ZipFile(jiyi.home / "nora.zip") as other:
        for name in one.namelist():
            assert name == "manifest.json" or other.read(name) == one.read(name) or name == "heat.jsonl"


def test_an_export_is_not_mixed_with_anything(jiyi: Cli) -> None:
    jiyi("remember", "我的猫叫年糕")
    out = str(jiyi.home / "me.zip")
    jiyi("export", out)
    assert "already has a memory" in jiyi("import", out, code=1).stderr
    assert "exists already" in jiyi("export", out, code=1).stderr
    assert "one file at a time" in jiyi("import", out, out, "--user", "nora", code=1).stderr
    assert "leave --self out" in jiyi("import", out, "--self", "Ana", "--user", "nora", code=1).stderr
    assert "no conversations.json" in jiyi("import", out, "--format", "chatgpt", "--user", "nora", code=1).stderr


def test_a_broken_export_brings_nothing(jiyi: Cli, tmp_path: Path) -> None:
    jiyi("remember", "My dog is called Biscuit")
    out = jiyi.home / "me.zip"
    jiyi("export", str(out))
    edited = jiyi.home / "edited.zip"
    with zipfile.ZipFile(out) as one, zipfile.ZipFile(edited, "w") as other:
        for name in one.namelist():
            other.writestr(name, one.read(name).replace(b"Biscuit", b"Brownie"))
    failed = jiyi("import", str(edited), "--user", "nora", code=1)
    assert "SHA-256" in failed.stderr
    assert "Nothing was imported" in failed.stderr
    assert jiyi.json("memories", "--user", "nora")["memories"] == []
