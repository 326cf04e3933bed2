"""`jiyi upkeep`, and how tiers show in the other commands (SPEC F2–F4, U4)."""

from __future__ import annotations

from datetime import timedelta

from jiyi.assembly import open_memory, wall_clock
from tests.surfaces.cli import Cli


def aged(jiyi: Cli, days: int) -> None:
    """What was remembered so long ago, and not looked after since."""
    then = wall_clock() - timedelta(days=days)
    with open_memory(jiyi.database, worker=False, clock=lambda: then) as layer:
        me = layer.scope("me")
        me.remember("备用钥匙在门卫室", category="project")
        me.remember("The fuse box is behind the coat rack")
        me.remember("A fuse box is behind the coat rack.")
        me.remember("永远不要用感叹号", category="rule")


def test_a_dry_run_shows_what_would_move_and_why(jiyi: Cli) -> None:
    aged(jiyi, 200)
    before = jiyi("ledger", "--json").stdout
    shown = jiyi("upkeep", "--dry-run").stdout
    assert "m1  fact → archive  last said on" in shown
    assert "(business-not-updated)" in shown
    assert "m2  fact → semantic, low activity  last used on" in shown
    assert "looked at 4, 3 would change" in shown
    planned = jiyi.json("upkeep", "--dry-run")
    assert (planned["dry_run"], planned["looked_at"], planned["plans"]) == (True, 4, [])
    assert [(m["id"], m["from"], m["to"], m["rule"]) for m in planned["moves"]] == [
        ("m1", "fact", "archive", "business-not-updated"),
        ("m2", "fact", "semantic", "unread-6-months"),
        ("m3", "fact", "semantic", "unread-6-months"),
    ]
    assert jiyi("ledger", "--json").stdout == before


def test_upkeep_moves_is_in_the_ledger_and_can_be_undone(jiyi: Cli) -> None:
    aged(jiyi, 200)
    [plan] = jiyi.json("upkeep")["plans"]
    assert [m["id"] for m in jiyi.json("memories", "--tier", "archive")["memories"]] == ["m1"]
    assert [(m["id"], m["tier"], m["low_activity"]) for m in jiyi.json("memories")["memories"]] == [
        ("m2", "semantic", True), ("m3", "semantic", True), ("m4", "fact", False),
    ]  # fmt: skip
    assert "(semantic, low activity)" in jiyi("memories").stdout
    assert jiyi.json("recall", "备用钥匙在哪")["items"] == []
    assert [i["tier"] for i in jiyi.json("recall", "备用钥匙在哪", "--tier", "archive")["items"]] == ["archive"]
    ledger = jiyi("ledger").stdout
    assert "upkeep  by user (cli)" in ledger
    assert "(fact → archive)" in ledger
    assert "move (business-not-updated); m1: fact → archive" in ledger
    jiyi("undo", plan)
    assert {m["tier"] for m in jiyi.json("memories")["memories"]} == {"fact"}
    assert "looked at 4, 0 changed" in jiyi("upkeep").stdout


def test_what_says_the_same_is_shown_as_merged(jiyi: Cli) -> None:
    aged(jiyi, 1)
    assert "m3 merged into m2  they say the same" in jiyi("upkeep", "--dry-run").stdout
    assert jiyi.json("upkeep")["merges"] == [{"into": "m2", "gone": ["m3"]}]
    assert "merge (says-the-same); m3 merged into m2" in jiyi("ledger").stdout


def test_work_does_what_is_due_by_the_clock(jiyi: Cli) -> None:
    aged(jiyi, 200)
    assert jiyi.json("work")["done"] == 1
    assert [m["id"] for m in jiyi.json("memories", "--tier", "archive")["memories"]] == ["m1"]


def test_a_tier_that_does_not_exist_is_named(jiyi: Cli) -> None:
    assert "archive" in jiyi("memories", "--tier", "attic", code=2).stderr
