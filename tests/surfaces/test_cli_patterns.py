"""`jiyi patterns`: what repeats over sessions, with its cases (SPEC G5, U4)."""

from __future__ import annotations

from datetime import timedelta

from jiyi.assembly import open_memory, wall_clock
from tests.surfaces.cli import Cli


def said(jiyi: Cli, *texts: str) -> None:
    """A session for each text, three hours ago."""
    then = wall_clock() - timedelta(hours=3)
    with open_memory(jiyi.database, worker=False, clock=lambda: then) as layer:
        me = layer.scope("me")
        for number, text in enumerate(texts, 1):
            me.observe([{"role": "user", "text": text}], session=f"call {number}")
        layer.work()


def test_patterns_are_listed_with_counts_and_cases_and_become_memories(jiyi: Cli) -> None:
    said(
        jiyi, "A competitor called, send me their specs", "What are the specs of the competitor?",
        "规格发我，竞品的", "The contract came, what are the risks?",
    )  # fmt: skip
    shown = jiyi("patterns").stdout
    assert "When a competitor comes up, the user often asks for technical parameters" in shown
    assert "in 3 of 3 sessions in which it comes up; of 1 others in 0" in shown
    assert "call 2  h2" in shown
    assert "risks" not in shown
    every = jiyi("patterns", "--all").stdout
    assert "no pattern: seen in 1 session(s), and 3 are needed" in every
    [first, second] = jiyi.json("patterns", "--all")["patterns"]
    assert (first["sessions"], first["of"], first["is_pattern"], first["memory"]) == (3, 3, True, None)
    assert [c["messages"] for c in first["cases"]] == [["h1"], ["h2"], ["h3"]]
    assert (second["condition"], second["consequence"], second["is_pattern"]) == ("contract", "risks", False)

    assert "+ m1  When a competitor comes up" in jiyi("upkeep", "--dry-run").stdout
    assert jiyi.json("memories")["memories"] == []
    done = jiyi.json("upkeep")
    assert ([p["id"] for p in done["patterns"]], done["plans"]) == (["m1"], ["p1"])
    [memory] = jiyi.json("memories")["memories"]
    assert (memory["source"], [e["message"] for e in memory["evidence"]]) == ("inferred", ["h1", "h2", "h3"])
    assert jiyi.json("patterns")["patterns"][0]["memory"] == "m1"
    assert "pattern  by user (cli)" in jiyi("ledger").stdout
    jiyi("undo", "p1")
    assert jiyi.json("upkeep")["patterns"] == []


def test_no_pattern_yet_says_how_to_see_what_was_counted(jiyi: Cli) -> None:
    said(jiyi, "The contract came, what are the risks?")
    shown = jiyi("patterns")
    assert "no pattern yet (1 pair seen too seldom: --all lists them)" in shown.stdout + shown.stderr
