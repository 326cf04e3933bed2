"""`jiyi graph` and `jiyi rules` (SPEC G1–G3, U4)."""

from __future__ import annotations

import json

from jiyi.graph_files import shipped_rules
from tests.graph_engine.server import free_port
from tests.surfaces.cli import Cli, lines


def told(jiyi: Cli, *texts: str) -> None:
    jiyi("observe", "--session", "s1", stdin=lines(*({"role": "user", "text": text} for text in texts)))


def test_what_is_near_and_the_way_there(jiyi: Cli) -> None:
    told(jiyi, "竞品是阿里云。", "Our competitor is Aliyun.", "王芳在阿里云工作。", "阿里云的报价是30万。")
    listed = jiyi.json("graph", "entities")["entities"]
    assert {e["name"]: e["aliases"] for e in listed}["阿里云"] == {"阿里云": "known", "Aliyun": "known"}
    [one] = jiyi.json("graph", "entities", "Alibaba Cloud")["entities"]
    assert one["weight"] > 0
    assert "Aliyun (known)" in jiyi("graph", "entities").stdout
    near = jiyi.json("graph", "neighbours", "Aliyun", "--hops", "2", "-r", "竞品", "-r", "WORKS_AT")["neighbours"]
    assert [(n["entity"], n["hops"]) for n in near] == [("王芳", 1), ("贵司", 1)]
    assert near[0]["path"][0]["memory"] == "m3"
    shown = jiyi("graph", "neighbours", "阿里云").stdout
    assert "王芳 –WORKS_AT→ 阿里云" in shown
    [way] = jiyi.json("graph", "paths", "王芳", "贵司", "-r", "WORKS_AT", "-r", "COMPETES_WITH")["paths"]
    assert way["entities"] == ["王芳", "阿里云", "贵司"]
    assert (
        "王芳 – 阿里云 – 贵司" in jiyi("graph", "paths", "王芳", "贵司", "-r", "WORKS_AT", "-r", "COMPETES_WITH").stdout
    )
    rows = jiyi.json("graph", "match", "?us COMPETES_WITH ?x", "?who WORKS_AT ?x")["matches"]
    assert {r["bound"]["?who"] for r in rows} == {"王芳"}
    assert "?who = 王芳" in jiyi("graph", "match", "?us COMPETES_WITH ?x", "?who WORKS_AT ?x").stdout
    assert jiyi.json("graph", "match", "贵司 COMPETES_WITH ?x")["matches"][0]["bound"] == {"?x": "阿里云"}
    assert "no memory speaks" in jiyi("graph", "neighbours", "Acme", code=3).stderr
    assert "subject, relation and object" in jiyi("graph", "match", "?a WORKS_AT", code=1).stderr
    assert jiyi.json("graph", "neighbours", "王芳", "--at", "2020-01-01")["neighbours"] == []


def test_names_are_merged_split_and_taken_back(jiyi: Cli) -> None:
    told(jiyi, "竞品是云帆科技。", "王芳在星图工作。")
    assert "nothing was changed" in jiyi("graph", "merge", "云帆科技", "星图", "--dry-run").stdout
    merged = jiyi.json("graph", "merge", "云帆科技", "星图")
    assert merged["memories"] == ["云帆科技就是星图"]
    assert merged["entities"][0]["aliases"] == {"星图": "said", "云帆科技": "said"}
    jiyi("undo", merged["plan"])
    assert len(jiyi.json("graph", "entities", "星图")["entities"][0]["aliases"]) == 1
    jiyi("graph", "merge", "云帆科技", "星图")
    assert "takes it back" in jiyi("graph", "split", "云帆科技", "星图").stdout
    assert len(jiyi.json("graph", "entities", "星图")["entities"][0]["aliases"]) == 1
    assert "unite" in jiyi("ledger").stdout


def test_the_graph_is_written_for_other_programs(jiyi: Cli) -> None:
    told(jiyi, "竞品是云帆科技。")
    assert "COMPETES_WITH" in jiyi("graph", "export", "-f", "mermaid").stdout
    file = jiyi.home / "graph.graphml"
    assert "wrote 2 entities and 1 triples" in jiyi("graph", "export", "-f", "graphml", "-o", str(file)).stdout
    assert file.read_text("utf-8").startswith("<?xml")
    assert "choose another file" in jiyi("graph", "export", "-o", str(file), code=1).stderr
    assert "choose one of graphml, json, mermaid" in jiyi("graph", "export", "-f", "dot", code=1).stderr
    assert json.loads(jiyi("graph", "export").stdout)["ties"][0]["object"] == "云帆科技"


def test_rules_are_checked_tried_and_explained(jiyi: Cli) -> None:
    told(jiyi, "我们的云平台是AWS。", "我们和华为云签了合同。", "竞品是华为云。")
    assert jiyi.json("rules", "check")["rules"] >= 23
    tried = jiyi.json("rules", "dry-run")
    assert "contract-moves-the-cloud" in {t["rule"] for t in tried["derived"]}
    assert len(tried["questions"]) == 1
    assert "一直用AWS，又和华为云签约" in jiyi("rules", "dry-run").stdout
    explained = jiyi("rules", "explain", "contract-moves-the-cloud").stdout
    assert "可能要从{old}迁走" in explained
    assert "may be migrating away from {old}" in explained
    assert "no rule" in jiyi("rules", "explain", "nope", code=3).stderr
    assert len(jiyi.json("rules", "explain")["rules"]) >= 23
    mine = jiyi.home / "mine.json"
    mine.write_text(jiyi("rules", "show").stdout, "utf-8")
    assert json.loads(mine.read_text("utf-8")) == json.loads(shipped_rules())
    text = mine.read_text("utf-8").replace(
        '"?us", "MAY_BE_MIGRATING_FROM", "?old"', '"?us", "MAY_BE_MIGRATING_FROM", "?odl"'
    )
    line = next(n for n, t in enumerate(text.split("\n"), 1) if "?odl" in t)
    mine.write_text(text, "utf-8")
    assert (
        f"mine.json, line {line}: rule contract-moves-the-cloud: ?odl is no variable"
        in jiyi("rules", "check", str(mine), code=1).stderr
    )
    mine.write_text('{"rules": []}', "utf-8")
    assert jiyi.json("rules", "dry-run", str(mine)) == {"derived": [], "questions": [], "cut": False}
    assert "contract-moves" in jiyi("rules", "dry-run").stdout  # only tried
    assert jiyi.json("rules", "check", JIYI_FUSION_RULES=str(mine))["rules"] == 0


def test_the_engine_of_the_graph_is_shown_and_repaired(jiyi: Cli, neo4j: str) -> None:
    jiyi("remember", "我们的竞品是星环云")
    assert "no engine follows" in jiyi("graph", "status").stdout
    assert "graph_engine" in jiyi("graph", "repair", code=1).stderr
    engine = {"JIYI_GRAPH_ENGINE": neo4j}
    assert jiyi.json("graph", "neighbours", "贵司", **engine)["note"] == ""
    shown = jiyi.json("graph", "status", **engine)
    assert (shown["answers"], shown["scopes"], shown["lagging"], shown["waiting"]) == (True, 1, 0, 0)
    assert shown["mark"].startswith("jiyi-")
    assert jiyi.json("graph", "repair", **engine) == {"repaired": []}
    assert "it has heard of everything" in jiyi("graph", "status", **engine).stdout
    assert "nothing else" in jiyi("graph", "repair", **engine).stdout


def test_an_engine_that_is_away_is_said_and_waits(jiyi: Cli) -> None:
    away = {"JIYI_GRAPH_ENGINE": f"bolt://neo4j:{'geheim'}@127.0.0.1:{free_port()}"}
    jiyi("remember", "我们的竞品是星环云", **away)
    near = jiyi("graph", "neighbours", "贵司", **away)
    assert "星环云" in near.stdout
    assert "the database" in near.stderr
    status = jiyi.json("graph", "status", **away)
    assert (status["answers"], status["lagging"]) == (False, 1)
    assert "does not answer" in jiyi("graph", "repair", code=1, **away).stderr
    for command in (("graph", "status"), ("config",), ("doctor",)):
        shown = jiyi(*command, code=1 if command == ("doctor",) else 0, **away)
        assert "geheim" not in shown.stdout + shown.stderr
