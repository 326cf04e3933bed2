"""`jiyi explain` (SPEC R10)."""

from __future__ import annotations

import tomllib

from tests.surfaces.cli import Cli, lines


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


def test_a_bad_recall_becomes_a_case(jiyi: Cli) -> None:
    talk = [
        {"role": "user", "text": "我的牙医在和平路12号。", "at": "2026-05-01T09:00:00+08:00", "id": "a"},
        {
            "role": "user",
            "text": '我们的 "周会" 改到周四了。',
            "at": "2026-05-02T09:00:00+08:00",
            "id": "b",
            "name": "小周",
        },
    ]
    jiyi("observe", "--session", "s9", stdin=lines(*talk))
    jiyi("remember", "牙齿保险是全年有效的")
    trace = jiyi.json("recall", "看牙的地方在哪")["trace"]
    file = jiyi.home / "cases" / "recall.toml"
    made = jiyi.json("eval", "add-case", trace, "--wanted", "h1", "--unwanted", "h2", "--to", str(file))
    assert made == {"file": str(file), "case": trace, "passes": made["passes"]}
    jiyi("eval", "cases", str(file.parent), code=0 if made["passes"] else 1)
    jiyi("eval", "add-case", trace, "--wanted", "h2", "--to", str(file), "--id", "周会")
    assert len(tomllib.loads(file.read_text("utf-8"))["case"]) == 2
    assert "--id" in jiyi("eval", "add-case", trace, "--wanted", "h2", "--to", str(file), code=1).stderr
    assert "--wanted" in jiyi("eval", "add-case", trace, "--to", str(file), code=1).stderr
    assert len(tomllib.loads(file.read_text("utf-8"))["case"]) == 2
    assert [f.name for f in file.parent.iterdir()] == ["recall.toml"]


def test_a_case_holds_what_was_wanted_and_what_stood_in_the_way(jiyi: Cli) -> None:
    jiyi("remember", "The printer is called Rufus")
    jiyi("remember", "Rufus is the neighbour's dog")
    trace = jiyi.json("recall", "what is the printer called")["trace"]
    file = jiyi.home / "cases" / "recall.toml"
    good = jiyi.json("eval", "add-case", trace, "--wanted", "m1", "--to", str(file))
    assert good["passes"]
    bad = jiyi.json("eval", "add-case", trace, "--unwanted", "m1", "--to", str(file), "--id", "never-m1")
    assert not bad["passes"]
    [first, second] = tomllib.loads(file.read_text("utf-8"))["case"]
    assert {"remember": "The printer is called Rufus", "category": "general"} in first["steps"]
    assert second["steps"][-1]["lacks"] == ["The printer is called Rufus"]
