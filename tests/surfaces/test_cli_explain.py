"""`jiyi explain` (SPEC R10)."""

from __future__ import annotations

from tests.surfaces.cli import Cli


def test_a_recall_is_explained_in_a_later_command(jiyi: Cli) -> None:
    jiyi("remember", "我们的数据库是 PostgreSQL")
    jiyi("remember", "I love hiking")
    trace = jiyi.json("recall", "数据库是什么")["trace"]
    told = jiyi.json("explain", trace)["trace"]
    assert told["query"] == "数据库是什么"
    assert [c["id"] for c in told["considered"]] == ["m1"]
    assert jiyi.json("explain", trace, "--why", "m2")["account"]["stage"] == "unmatched"
    assert "place 1 of 1" in jiyi("explain", trace, "--why", "m1").stdout
    assert trace in jiyi("explain").stdout
    named = jiyi("recall", "数据库是什么").stderr
    assert jiyi.json("explain")["traces"][0]["id"] in named


def test_what_cannot_be_explained_says_so(jiyi: Cli) -> None:
    jiyi("remember", "I love tea")
    assert "recall again" in jiyi("explain", "tdeadbeef", code=3).stderr
    assert "name its trace" in jiyi("explain", "--why", "m1", code=2).stderr
    trace = jiyi.json("context", "tea")["trace"]
    assert "no m9" in jiyi("explain", trace, "--why", "m9", code=3).stderr
    jiyi("feedback", "m1", "helpful", "--trace", trace)
    assert trace in jiyi("ledger").stdout
