"""`jiyi eval extract` from files to tables: small data sets of our own in the public formats, through the façade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InputError, UnreadableFile
from jiyi.evaluation.extract_report import LOCOMO, MEMDAILY, REALMEM, Wanted, evenly, measure, read_data
from tests.conftest import outside
from tests.surfaces.cli import Cli

TIME = "2024年04月01日 周一 08:{:02}"


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")


def talk(number: int, *texts: str) -> dict[str, Any]:
    lines = [{"mid": i, "message": t, "time": TIME.format(i), "place": ""} for i, t in enumerate(texts)]
    return {"tid": number, "message_list": lines, "question_list": []}


def persona(*people: dict[str, str]) -> dict[str, Any]:
    return {
        "user_profile": {"关系": "self", "姓名": "用户甲"},
        "relation_profiles": list(people),
        "colleague_profiles": [],
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two personas; the second one's sister is said to be taller than she is."""
    write(
        tmp_path / "memdaily" / "graphs_dev.json",
        [
            persona({"关系": "表弟", "姓名": "周砚秋", "身高": "171cm", "联系电话": "13912345678", "年龄": "29岁"}),
            persona({"关系": "表妹", "姓名": "郑若冰", "身高": "160cm", "生日": "05月03日"}),
        ],
    )
    write(
        tmp_path / "memdaily" / "01_simple.json",
        [
            talk(0, "我表弟身高171厘米。", "我表弟的手机号是13912345678。", "周末想去爬山。"),
            talk(1, "我表妹身高175厘米。", "我表妹的生日是5月3号。"),
        ],
    )
    turns = [
        {"speaker": "User", "content": "I prefer quiet trains.", "is_query": False, "query_id": None},
        {"speaker": "Assistant", "content": "Quiet trains it is. You keep goats?", "is_query": False, "query_id": None},
    ]
    kept = [
        {"index": "a", "type": "Static", "content": "【Travel】 User prefers quiet trains."},
        {"index": "b", "type": "Static", "content": "User collects antique barometers."},
        {"index": "c", "type": "Dynamic", "content": "User is choosing a train."},
    ]
    day = {"session_identifier": "T", "session_uuid": "u1", "current_time": "2025-12-15 (Monday)"}
    write(
        tmp_path / "realmem" / "Ana_dialogues_256k.json",
        {
            "_metadata": {"person_name": "Ana"},
            "dialogues": [{**day, "dialogue_turns": turns, "extracted_memory": kept}],
        },
    )
    said = [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "I live in Utrecht."},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice. I am allergic to walnuts."},
    ]
    told = {
        "Ana": [["Ana lives in Utrecht.", "D1:1"]],
        "Bo": [["Bo is allergic to walnuts.", "D1:2"], ["Bo likes rowing.", "D1:2"]],
    }
    conversation = {
        "speaker_a": "Ana",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": said,
    }
    write(
        tmp_path / "locomo" / "locomo10_dev.json",
        [{"sample_id": "c1", "conversation": conversation, "observation": {"session_1_observation": told}}],
    )
    return tmp_path


def test_attributes_of_people(data: Path) -> None:
    scores = measure(read_data(Wanted(data, [MEMDAILY]))).attributes[MEMDAILY]
    assert dict(scores.stated) == {"height": 1, "birthday": 1}
    assert dict(scores.found) == {"height": 1, "birthday": 1}
    assert (scores.stored["height"], scores.right["height"], scores.right["birthday"]) == (2, 1, 1)
    assert dict(scores.redacted) == {"phone": 1}
    assert [(e.talk, e.true) for e in scores.wrong] == [("01_simple-1", "160cm")]
    assert "175" in scores.wrong[0].text


def test_facts_of_each_speaker_are_asked_of_that_speaker(data: Path) -> None:
    found = measure(read_data(Wanted(data, [REALMEM, LOCOMO]))).facts
    assert (found[REALMEM].facts, found[REALMEM].stored, found[REALMEM].messages) == (2, 1, 1)
    assert [e.true for e in found[REALMEM].misses] == ["User collects antique barometers."]
    assert (found[LOCOMO].chats, found[LOCOMO].facts, found[LOCOMO].stored) == (2, 3, 2)
    assert (found[LOCOMO].sayable, found[LOCOMO].stored_sayable) == (2, 2)
    assert [e.true for e in found[LOCOMO].misses] == ["Bo likes rowing."]


def test_the_command_prints_tables_and_examples(jiyi: Cli, data: Path) -> None:
    shown = jiyi("eval", "extract", "--data", str(data), "--misses", "5", "--wrong", "5").stdout
    assert "| height | 1 | 1 | 100.0% | 2 | 1 | 50.0% |" in shown
    assert "| **all** | 2 | 2 | 100.0% | 3 | 2 | 66.7% |" in shown
    assert "phone 1" in shown
    assert "lower bound" in shown
    assert "| realmem | 1 | 1 |" in shown
    assert "collects antique barometers" in shown
    assert "01_simple-1 height 表妹: '160cm'" in shown


def test_the_command_as_json_with_the_folder_from_the_environment(jiyi: Cli, data: Path) -> None:
    found = jiyi.json("eval", "extract", "--set", "memdaily", "--wrong", "1", JIYI_EVALDATA=str(data))
    assert found["memdaily"]["all"] == {
        "stated": 2, "found": 2, "recall": 1.0, "stored": 3, "right": 2, "precision": pytest.approx(2 / 3),
    }  # fmt: skip
    assert found["memdaily"]["wrong"][0]["person"] == "表妹"
    assert not jiyi.database.exists()  # the user's own memory is not touched


def test_what_is_missing_is_said(jiyi: Cli, data: Path, tmp_path: Path) -> None:
    assert "--data DIR" in jiyi("eval", "extract", code=1).stderr
    assert (
        "choose from memdaily, realmem, locomo"
        in jiyi("eval", "extract", "--data", str(data), "--set", "x", code=1).stderr
    )
    assert "is no folder" in jiyi("eval", "extract", "--data", str(data / "nowhere"), code=1).stderr
    with pytest.raises(InputError, match=r"graphs_test\.json"):
        measure(read_data(Wanted(data, [MEMDAILY], half="test")))
    with pytest.raises(InputError, match="dialogues_256k"):
        measure(read_data(Wanted(data / "locomo", [REALMEM])))
    write(
        data / "memdaily" / "02_bad.json",
        [talk(0, "你好") | {"message_list": [{"mid": 0, "message": "x", "time": "?"}]}],
    )
    with pytest.raises(UnreadableFile, match="the time"):
        measure(read_data(Wanted(data, [MEMDAILY])))


def test_a_limit_takes_from_all_over() -> None:
    assert evenly(range(10), 0) == list(range(10))
    assert evenly(range(10), 4) == [0, 2, 5, 7]
    assert evenly(range(3), 9) == [0, 1, 2]


def test_public_data() -> None:
    """Floors that were measured to hold with room to spare, on a tenth of the talks."""
    data = outside("JIYI_EVALDATA", "evaldata")
    found = measure(read_data(Wanted(data, [MEMDAILY], limit=150)))
    scores = found.attributes[MEMDAILY]
    assert (scores.talks, scores.messages, scores.stated.total(), scores.redacted.total()) == (150, 1347, 684, 85)
    recall, precision = scores.recall(), scores.precision()
    assert recall is not None
    assert precision is not None
    assert recall >= 0.80
    assert precision >= 0.94
    for attribute in ("name", "age", "height", "birthday", "gender"):
        share = scores.precision(attribute)
        assert share is not None
        assert share >= 0.97
    chats = measure(read_data(Wanted(data, [LOCOMO], limit=2))).facts[LOCOMO]
    assert (chats.chats, chats.facts, chats.sayable) == (2, 222, 152)
    assert chats.stored >= 3
