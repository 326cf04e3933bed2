"""`jiyi forget` in all its kinds, its receipts, and a backup from before (SPEC F6, U4)."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.surfaces.cli import Cli, lines

TALK = lines(
    {"role": "user", "text": "我们的数据库是金枝库。", "session": "work", "at": "2026-03-01T09:00:00+08:00"},
    {"role": "user", "text": "I live in Timbuktu.", "session": "home", "at": "2026-03-02T23:30:00+08:00"},
    {"role": "user", "text": "我喜欢皮影戏。", "session": "home", "at": "2026-03-03T00:30:00+08:00"},
)


def texts(jiyi: Cli) -> set[str]:
    return {m["text"] for m in jiyi.json("memories", "--status", "all")["memories"]}


@pytest.mark.parametrize(
    ("asked", "reach", "left"),
    [
        (("--topic", "database"), "topic", 2),
        (("--session", "home"), "session", 1),
        (("--since", "2026-03-02", "--until", "2026-03-02"), "time", 2),
        (("--since", "2026-03-02"), "time", 1),
        (("--everything",), "everything", 0),
    ],
)
def test_each_kind_previews_asks_and_forgets(jiyi: Cli, asked: tuple[str, ...], reach: str, left: int) -> None:
    jiyi("observe", stdin=TALK)
    before = texts(jiyi)
    preview = jiyi.json("forget", *asked, "--dry-run")
    assert (preview["dry_run"], preview["receipt"]["reach"], texts(jiyi)) == (True, reach, before)
    assert "--yes" in jiyi("forget", *asked, code=1).stderr
    done = jiyi.json("forget", *asked, "--yes")
    assert done["receipt"]["erased"]["memories"] == preview["receipt"]["erased"]["memories"] == 3 - left
    assert len(texts(jiyi)) == left
    jiyi("observe", stdin=TALK)
    assert len(texts(jiyi)) == left
    jiyi("doctor", "--quiet")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((), "nothing is asked"),
        (("m1", "--topic", "tea"), "MEMORY and --topic"),
        (("--everything", "--session", "s1"), "name one"),
        (("--all-users", "--topic", "tea"), "goes with --everything"),
        (("--verify", "m1"), "leave the rest out"),
        (("--topic", "的"), "name the thing"),
        (("--since", "yesterday"), "2026-03-01"),
    ],
)
def test_what_cannot_be_meant_is_said(jiyi: Cli, wrong: tuple[str, ...], said: str) -> None:
    jiyi("observe", stdin=TALK)
    assert said in jiyi("forget", *wrong, code=1).stderr


def test_a_session_that_is_not_there_exits_with_3(jiyi: Cli) -> None:
    jiyi("observe", stdin=TALK)
    assert "no session" in jiyi("forget", "--session", "nowhere", "--yes", code=3).stderr


def test_the_receipt_is_verified_also_after_an_old_backup(jiyi: Cli) -> None:
    assert "nothing was forgotten" in jiyi("forget", "--verify").stdout
    jiyi("observe", stdin=TALK)
    backup = jiyi.home / "away" / "backup.db"
    backup.parent.mkdir()
    jiyi("backup", str(backup))
    jiyi("forget", "--topic", "金枝库", "--yes")
    beside = Path(f"{jiyi.database}.forgotten")
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert "金枝库" not in beside.read_text("utf-8")
    found = jiyi.json("forget", "--verify")
    assert found["returned"] == 0
    [receipt] = found["receipts"]
    assert [Path(c["path"]).name for c in receipt["copies"]] == ["backup.db"]
    jiyi("restore", str(backup), "--replace")
    assert not any("金枝库" in text for text in texts(jiyi))
    again = jiyi.json("forget", "--verify")
    assert again["returned"] == 0
    assert again["receipts"][0]["at"] == receipt["at"]
    held = b"".join(p.read_bytes() for p in jiyi.home.glob("memory.db*"))
    assert "金枝库".encode() not in held
    assert b"Timbuktu" in held


def test_a_whole_tenant_is_forgotten_by_its_administrator(jiyi: Cli) -> None:
    for user, tenant in (("ming", "acme"), ("nora", "acme"), ("ming", "zeta")):
        jiyi("remember", "我喜欢皮影戏", "--user", user, "--tenant", tenant)
    asked = ("forget", "--everything", "--all-users", "--tenant", "acme")
    assert set(jiyi.json(*asked, "--dry-run")["users"]) == {"ming", "nora"}
    assert "--yes" in jiyi(*asked, code=1).stderr
    done = jiyi.json(*asked, "--yes")
    assert {user: r["erased"]["memories"] for user, r in done["users"].items()} == {"ming": 1, "nora": 1}
    for tenant, left in (("acme", 0), ("zeta", 1)):
        assert len(jiyi.json("memories", "--user", "ming", "--tenant", tenant)["memories"]) == left


def test_doctor_names_and_mends_rights_of_the_tombstones(jiyi: Cli) -> None:
    jiyi("observe", stdin=TALK)
    jiyi("forget", "--topic", "皮影戏", "--yes")
    beside = Path(f"{jiyi.database}.forgotten")
    beside.chmod(0o644)
    assert "memory.db.forgotten" in jiyi("doctor", code=1).stdout
    jiyi("doctor", "--fix")
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
