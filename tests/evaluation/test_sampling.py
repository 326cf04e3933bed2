"""Sheets for people to judge: what is drawn, what is planted, what labels come to."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jiyi.domain.memory import Category, Language, Memory, Source, Triple
from jiyi.domain.relations import USER, render
from jiyi.errors import InputError
from jiyi.evaluation.sampling import (
    KINDS,
    REAL,
    SamplePolicy,
    Share,
    Stored,
    Worth,
    collect,
    draw,
    falsify,
    find_worth,
    judge,
    kappa,
    key_lines,
    read_chats,
    read_key,
    read_labels,
    read_worth,
    sheet_lines,
    wilson,
    write_lines,
)
from jiyi.shipped import load_vocabulary
from tests.surfaces.cli import Cli

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
WORDS = load_vocabulary()
POLICY = SamplePolicy()


def stored(
    source: str, relation: str, value: str, subject: str = USER, language: Language = Language.EN, *, negated: bool = False
) -> Stored:  # fmt: skip
    known = WORDS.get(relation)
    assert known is not None
    text = render(known, subject, value, language, negated=negated)
    memory = Memory(
        seq=1, text=text, category=Category.PROFILE, importance=3, source=Source.DECLARED, start=0.95, affirmed_at=AT,
        valid_from=AT, learnt_at=AT, value=value, triple=Triple(subject, relation, value, negated), language=language,
    )  # fmt: skip
    return Stored(source, memory, (f"2026-03-02 user: {value}",))


POOL = [
    stored("a", "LIKES", "rowing"),
    stored("b", "LIKES", "lacquer work"),
    stored("a", "LIVES_IN", "Utrecht"),
    stored("b", "LIVES_IN", "Leeds"),
    stored("c", "LIVES_IN", "绍兴", language=Language.ZH),
    stored("d", "LIVES_IN", "赣州", language=Language.ZH),
    stored("c", "LIKES", "攀岩", "用户的表弟", Language.ZH),
    stored("d", "LIKES", "漆器", language=Language.ZH),
    stored("d", "ALLERGIC_TO", "花生", language=Language.ZH, negated=True),
    stored("b", "ALLERGIC_TO", "walnuts"),
]


def made_false(one: Stored, kind: str) -> str:
    row = falsify(one, kind, POOL, WORDS, random.Random(1))
    assert row is not None
    assert row.kind == kind
    return row.text


def test_each_way_of_making_a_memory_false() -> None:
    assert made_false(POOL[2], "value") == "User lives in Leeds"
    assert made_false(POOL[4], "value") == "用户住在赣州"
    assert made_false(POOL[2], "person") == "User's neighbour lives in Utrecht"
    assert made_false(POOL[6], "person") == "用户喜欢攀岩"
    assert made_false(POOL[0], "negation") == "User dislikes rowing"
    assert made_false(POOL[4], "negation") == "不再成立：用户住在绍兴"
    assert made_false(POOL[8], "negation") == "用户对花生过敏"
    row = falsify(POOL[0], "date", POOL, WORDS, random.Random(1))
    assert row is not None
    assert (row.text, row.day < "2026-01-22") == ("User likes rowing", True)
    dated = replace(POOL[0], memory=replace(POOL[0].memory, text="User: report due 2026-03-09"))
    moved = falsify(dated, "date", POOL, WORDS, random.Random(1))
    assert moved is not None
    assert moved.day == "2026-03-02"
    assert "2026-03-09" not in moved.text


def test_another_value_is_never_one_that_the_user_stated_too() -> None:
    both = [stored("a", "LIKES", "rowing"), stored("a", "LIKES", "rugs"), stored("b", "LIKES", "rowing")]
    assert falsify(both[1], "value", both, WORDS, random.Random(1)) is None
    assert falsify(both[2], "value", both, WORDS, random.Random(1)) is not None


def test_a_sheet_is_the_same_for_the_same_seed_and_hides_the_key() -> None:
    rows = draw(POOL, 10, 7, WORDS, SamplePolicy(planted=0.4))
    assert rows == draw(POOL, 10, 7, WORDS, SamplePolicy(planted=0.4))
    assert rows != draw(POOL, 10, 8, WORDS, SamplePolicy(planted=0.4))
    kinds = [row.kind for row in rows]
    assert kinds.count(REAL) == 6
    assert sorted(k for k in kinds if k != REAL) == sorted(KINDS)
    assert all((row.text == row.stored.memory.text) == (row.kind in (REAL, "date")) for row in rows)
    sheet, key = list(sheet_lines(rows)), list(key_lines(rows))
    assert all(set(line) == {"n", "memory", "date", "subject", "turns", "label"} for line in sheet)
    assert [line["n"] for line in sheet] == [line["n"] for line in key] == list(range(1, 11))
    # No real memory stands on the sheet in its false form as well.
    assert len({id(row.stored) for row in rows}) == 10
    with pytest.raises(InputError, match="10 memories were stored"):
        draw(POOL, 11, 7, WORDS, POLICY)


def test_wilson_and_kappa_are_the_textbook_numbers() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
    a = ["good"] * 25 + ["bad"] * 25
    b = ["good"] * 20 + ["bad"] * 5 + ["good"] * 10 + ["bad"] * 15
    assert kappa(a, b) == pytest.approx(0.4)
    assert kappa(a, a) == 1.0
    assert kappa(["good"], ["good"]) is None
    assert Share(0, 0).value is None


def test_labels_against_the_key() -> None:
    key = {1: REAL, 2: REAL, 3: REAL, 4: "value", 5: "date"}
    one = {1: "good", 2: "good", 3: "bad", 4: "bad", 5: "bad"}
    two = {1: "good", 2: "unsure", 3: "bad", 4: "bad", 5: "unsure"}
    found = judge({"one": one, "two": two}, key)
    assert [(s.good, s.detected["all"]) for s in found.sheets] == [
        (Share(2, 3), Share(2, 2)),
        (Share(1, 3), Share(1, 2)),
    ]
    assert found.sheets[1].detected["date"] == Share(0, 1)
    # 3 of 5 agree; by chance (2·1 + 3·2 + 0·2) / 25
    assert found.agreement["one / two"] == pytest.approx((0.6 - 0.32) / (1 - 0.32))
    assert "2 of 3 = 66.7%" in found.text()


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    sheet, key = tmp_path / "s.jsonl", tmp_path / "k.jsonl"
    write_lines(sheet, [{"n": 1, "label": "good"}, {"n": 2, "label": ""}])
    write_lines(key, [{"n": 1, "kind": REAL}, {"n": 2, "kind": "date"}])
    assert read_key(key) == {1: REAL, 2: "date"}
    with pytest.raises(InputError, match="rows 2 need a label: good, bad or unsure"):
        read_labels(sheet, read_key(key))
    with pytest.raises(InputError, match="no key that"):
        read_key(sheet)
    with pytest.raises(InputError, match="--out"):
        write_lines(sheet, [])
    (tmp_path / "w.jsonl").write_text('{"source": "a", "fact": "x"}\n')
    with pytest.raises(InputError, match="line 1: write"):
        read_worth(tmp_path / "w.jsonl")


def test_what_is_worth_keeping() -> None:
    worth = [
        Worth("a", "Ana rows in Utrecht", ("utrecht|dutch",)),
        Worth("b", "no nuts for Bo", ("walnut", "allerg")),
        Worth("b", "Bo eats heather", ("eat", "heather")),
        Worth("c", "在绍兴攀岩", ("绍兴", "攀岩")),
    ]
    kept = find_worth(worth, POOL, ["a", "b", "c", "d"], POLICY)
    assert kept.stored == Share(2, 4)
    assert [(w.fact, near) for w, near in kept.doubtful] == [("在绍兴攀岩", "用户住在绍兴")]
    assert [w.fact for w in kept.missing] == ["Bo eats heather"]
    assert "用户住在绍兴" in kept.text()
    with pytest.raises(InputError, match="no source z"):
        find_worth([Worth("z", "x", ("y",))], POOL, ["a"], POLICY)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A little public data of our own, in both languages."""
    folder = tmp_path / "data"
    talk = [{"query": "我住在绍兴。", "response": "好的。"}, {"query": "我对花生过敏。", "response": "记住了。"}]
    bank = {"甲": {"history": {"2023-04-27": talk}}}
    said = [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "Hello there!"},
        {"speaker": "Ana", "dia_id": "D1:2", "text": "I live in Utrecht."},
        {"speaker": "Bo", "dia_id": "D1:3", "text": "I am allergic to walnuts."},
    ]
    when = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": said}
    sample = {"sample_id": "c1", "conversation": {"speaker_a": "Ana", "speaker_b": "Bo", **when}, "observation": {}}
    for path, value in (("memorybank_zh/memory_bank_cn.json", bank), ("locomo/locomo10_dev.json", [sample])):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return folder


def test_memories_come_with_their_turns_and_the_one_before(data: Path) -> None:
    found = {(one.source, one.memory.text): one.turns for one in collect(read_chats(data, "dev"))}
    assert found["c1/Ana", "User lives in Utrecht"] == (
        "2023-05-08 Ana: Hello there!",
        "2023-05-08 Ana: I live in Utrecht.",
    )
    assert found["c1/Bo", "User is allergic to walnuts"][-1] == "2023-05-08 Bo: I am allergic to walnuts."
    assert found["memory_bank_cn/甲", "用户住在绍兴"] == ("2023-04-27 甲: 我住在绍兴。",)
    assert found["memory_bank_cn/甲", "用户对花生过敏"] == (
        "2023-04-27 assistant: 好的。",
        "2023-04-27 甲: 我对花生过敏。",
    )


def test_the_command_from_sheet_to_score(jiyi: Cli, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "sheet"
    made = jiyi.json("eval", "sample", "--data", str(data), "--size", "4", "--seed", "3", "--out", str(out))
    assert (made["rows"], made["planted"], made["stored"]) == (4, 1, 4)
    sheet, key = Path(made["sheet"]), Path(made["key"])
    truth = read_key(key)
    rows = [json.loads(line) for line in sheet.read_text("utf-8").splitlines()]
    for name in ("one", "two"):
        labelled = [{**row, "label": "good" if truth[row["n"]] == REAL else "bad"} for row in rows]
        write_lines(tmp_path / f"{name}.jsonl", labelled)
    labels = [str(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    scored = jiyi.json("eval", "sample", "--score", labels[0], "--score", labels[1], "--key", str(key))
    assert scored["sheets"][0]["good"]["share"] == 1.0
    assert scored["sheets"][1]["detected"]["all"]["part"] == 1
    assert scored["kappa"] == {"one.jsonl / two.jsonl": 1.0}
    (tmp_path / "again").mkdir()
    same = tmp_path / "again" / "one.jsonl"
    same.write_bytes((tmp_path / "two.jsonl").read_bytes())
    scored = jiyi.json("eval", "sample", "--score", labels[0], "--score", str(same), "--key", str(key))
    assert scored["kappa"] == {f"{labels[0]} / {same}": 1.0}
    assert "3 of 3 = 100.0%" in jiyi("eval", "sample", "--score", labels[0], "--key", str(key)).stdout


def test_the_command_finds_listed_facts(jiyi: Cli, data: Path, tmp_path: Path) -> None:
    write_lines(
        tmp_path / "worth.jsonl", [{"source": "c1/Bo", "fact": "Bo: no walnuts", "keywords": ["walnut", "allerg"]}]
    )
    shown = jiyi("eval", "sample", "--data", str(data), "--facts", str(tmp_path / "worth.jsonl")).stdout
    assert "worth keeping and stored: 1 of 1 = 100.0%" in shown


def test_the_command_says_what_is_missing(jiyi: Cli, data: Path, tmp_path: Path) -> None:
    assert "--key" in jiyi("eval", "sample", "--score", str(tmp_path / "x"), code=1).stderr
    assert "--out" in jiyi("eval", "sample", "--data", str(data), code=1).stderr
    assert (
        "4 memories were stored"
        in jiyi("eval", "sample", "--data", str(data), "--out", str(tmp_path / "o"), code=1).stderr
    )
