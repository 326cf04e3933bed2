"""`jiyi end`, `summaries`, `redistil`: what a session came to, and reading it all again (SPEC R6, C13, U4)."""

from __future__ import annotations

from tests.surfaces.cli import Cli, lines

TALK = lines(
    {"role": "user", "text": "启动失败：KeyError: 'DB_URL'", "session": "deploy"},
    {"role": "assistant", "text": "执行 export DB_URL=sqlite:///app.db 后重试。", "session": "deploy"},
    {"role": "user", "text": "I live in Leeds.", "session": "home"},
    {"role": "user", "text": "good morning", "session": "chat"},
)


def test_ending_a_session_prints_what_it_came_to(jiyi: Cli) -> None:
    jiyi("observe", stdin=TALK)
    assert "no summaries yet" in jiyi("summaries").stderr
    shown = jiyi("end", "deploy").stdout
    assert shown.startswith("s1  ")
    assert "KeyError: 'DB_URL'" in shown
    assert "export DB_URL=sqlite:///app.db" in shown
    assert shown == jiyi("summaries", "--session", "deploy").stdout
    [summary] = jiyi.json("summaries")["summaries"]
    assert (summary["id"], summary["session"], summary["messages"], summary["block"]) == (
        "s1",
        "deploy",
        ["h1", "h2"],
        None,
    )
    assert {p["kind"] for p in summary["points"]} == {"problem", "conclusion"}
    assert "启动失败" in jiyi("history", "--around", "s1").stdout
    assert [i["kind"] for i in jiyi.json("recall", "启动失败", "--kind", "summary")["items"]] == ["summary"]
    assert "session deploy" in jiyi("recall", "启动失败", "--kind", "summary").stdout


def test_a_session_of_small_talk_and_one_that_never_was(jiyi: Cli) -> None:
    jiyi("observe", stdin=TALK)
    ended = jiyi("end", "chat")
    assert (ended.stdout, "nothing worth summarising" in ended.stderr) == ("", True)
    assert jiyi.json("end", "chat") == {"session": "chat", "summary": None}
    assert "`jiyi sessions` shows them" in jiyi("end", "nowhere", code=3).stderr


def test_distilling_again_by_the_same_rules_changes_nothing(jiyi: Cli) -> None:
    jiyi("observe", stdin=TALK)
    before = jiyi.json("memories", "--status", "all")
    planned = jiyi.json("redistil", "--dry-run")
    assert planned == {
        "dry_run": True, "messages": 4, "plans": [], "changes": [], "unsupported": [], "refused": None
    }  # fmt: skip
    assert jiyi.json("redistil") == {**planned, "dry_run": False}
    assert "4 messages read again: 0 added" in jiyi("redistil").stdout
    assert jiyi.json("redistil", "--everyone")["users"] == 1
    assert "of one user" in jiyi("redistil", "--everyone", "--dry-run", code=1).stderr
    assert jiyi.json("memories", "--status", "all") == before
    assert any(c["name"] == "distilling" and c["ok"] for c in jiyi.json("doctor")["checks"])


def test_distilling_again_shows_what_would_come(jiyi: Cli) -> None:
    """What an undo took back is left out; what was never learnt, because the job died, comes."""
    jiyi("observe", stdin=TALK)
    jiyi("undo", "p1")
    assert "nothing has to change" in jiyi("redistil", "--dry-run").stdout
