"""Readers of labelled conversations, on small files of our own in every format, and on the public data where it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jiyi.domain.memory import Role
from jiyi.errors import InputError, UnreadableFile
from jiyi.evaluation.datasets.records import DataSet, Level
from jiyi.evaluation.labelled import READERS, SETS, Choice, read_sets
from tests.conftest import outside
from tests.surfaces.cli import lines


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    path.write_text(text, "utf-8")


def read(name: str, data: Path, **options: Any) -> DataSet:
    [found] = read_sets([name], Choice(data, **options))
    return found


# ------------------------------------------------------------------ LoCoMo


def chat(**more: Any) -> dict[str, Any]:
    turns = [
        {"speaker": "Ada", "dia_id": "D1:1", "text": "I planted three plum trees."},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a garden with a bench"},
        {"speaker": "Bo", "dia_id": "D1:3", "text": "", "blip_caption": "a red kite"},
    ]
    asked = [
        {"question": "What did Ada plant?", "evidence": ["D1:1"], "category": 4},
        {"question": "What is in the picture?", "evidence": ["D1:02; D:1:3"], "category": 1},
        {"question": "What is nowhere?", "evidence": ["D9:9"], "category": 5},
        {"question": "What has no evidence?", "category": 5},
    ]
    talk = {"speaker_a": "Ada", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns}
    return {"sample_id": "c1", "conversation": talk, "qa": asked, **more}


def test_locomo(tmp_path: Path) -> None:
    write(tmp_path / "locomo" / "locomo10_dev.json", [chat(), chat(sample_id="c2", qa=[])])
    found = read("locomo", tmp_path)
    assert (found.level, found.half, found.left_out) == (Level.TURN, "dev", 2)
    [record] = found.records  # of c2 nothing is asked
    assert [(m.name, m.role) for m in record.messages[:2]] == [("Ada", Role.USER), ("Bo", Role.OTHER)]
    assert "bench" in record.messages[1].text
    assert [(q.text, set(q.gold), q.category) for q in record.questions] == [
        ("What did Ada plant?", {"c1:D1:1"}, "single-hop"),
        ("What is in the picture?", {"c1:D1:2", "c1:D1:3"}, "multi-hop"),
    ]


def test_locomo_without_pictures(tmp_path: Path) -> None:
    write(tmp_path / "locomo" / "locomo10_dev.json", [chat()])
    [record] = read("locomo", tmp_path, pictures=False).records
    assert [m.text for m in record.messages] == ["I planted three plum trees.", "Lovely!"]
    # What is no turn any more is no gold any more.
    assert record.questions[1].gold == {"c1:D1:2"}


def test_a_half_that_is_not_there(tmp_path: Path) -> None:
    write(tmp_path / "locomo" / "locomo10_dev.json", [chat()])
    with pytest.raises(InputError, match=r"locomo10_heldout\.json: .*--data"):
        read("locomo", tmp_path, half="heldout")


# ------------------------------------------------------------------ REALTALK


def real_chat(second: str = "29.12.2023, 22:42:04") -> dict[str, Any]:
    turns = [
        {"dia_id": "D1:1", "speaker": "Ada", "clean_text": "I keep bees.", "date_time": "29.12.2023, 22:42:04"},
        {"dia_id": "D1:2", "speaker": "Bo", "clean_text": "", "date_time": second, "blip_caption": "a hive"},
    ]
    asked = [{"question": "What does Ada keep?", "evidence": ["D1:1"], "category": 3}]
    return {"name": {"speaker_1": "Ada", "speaker_2": "Bo"}, "session_1": turns, "qa": asked}


def test_realtalk_and_its_halves(tmp_path: Path) -> None:
    write(tmp_path / "realtalk" / "Chat_1_a.json", real_chat())
    write(tmp_path / "realtalk" / "Chat_2_b.json", real_chat())
    for half, user in (("dev", "chat-1"), ("heldout", "chat-2")):
        found = read("realtalk", tmp_path, half=half)
        assert [r.user for r in found.records] == [user]
        first, second = found.records[0].messages
        assert (first.text, second.text, second.role) == ("I keep bees.", "[picture: a hive]", Role.OTHER)
        assert second.at > first.at  # told one after the other, although of one second
        assert found.records[0].questions[0].category == "commonsense"


def test_realtalk_names_the_place_of_a_wrong_time(tmp_path: Path) -> None:
    write(tmp_path / "realtalk" / "Chat_1_a.json", real_chat(second="soon"))
    with pytest.raises(UnreadableFile, match=r"session_1\[1\].date_time: expected a time such as"):
        read("realtalk", tmp_path)
    with pytest.raises(InputError, match="dev and heldout"):
        read("realtalk", tmp_path, half="both")
    with pytest.raises(InputError, match="no chat of the half 'heldout'"):
        read("realtalk", tmp_path, half="heldout")


# ------------------------------------------------------------------ MemDaily


def trajectory(number: int) -> dict[str, Any]:
    said = [
        {"mid": 0, "message": "我姑妈今年六十一岁。", "time": "2024年04月01日 周一 08:38"},
        {"mid": 1, "message": "我姑妈喜欢钓鱼。", "time": "2024年04月02日 周二 09:00"},
    ]
    asked = [{"qid": 0, "question": "姑妈喜欢什么？", "target_step_id": [1], "time": "2024年04月04日 周四 18:08"}]
    return {"tid": number, "message_list": said, "question_list": asked}


@pytest.fixture
def daily(tmp_path: Path) -> Path:
    write(tmp_path / "memdaily" / "graphs_dev.json", [])
    write(tmp_path / "memdaily" / "06_noisy_roles.json", [trajectory(n) for n in range(10)])
    days = {"2023-05-01": [{"query": f"问题{i}", "response": f"回答{i}"} for i in range(30)]}
    write(tmp_path / "memorybank_zh" / "memory_bank_cn.json", {"某人": {"history": days}})
    return tmp_path


def test_memdaily_in_noise(daily: Path) -> None:
    found = read("memdaily", daily, noise=20)
    assert len(found.records) == 8  # the first ones of each file
    assert len(read("memdaily", daily, noise=20, limit=0).records) == 10
    for record in found.records:
        assert len(record.messages) == 22
        assert len(record.sessions) == 22
        assert {m.role for m in record.messages} == {Role.USER}
        times = [m.at for m in record.messages]
        assert times == sorted(times)
        [question] = record.questions
        assert question.gold == {f"{record.user}:1"}
        assert question.category == "noisy"
        assert question.at is not None
        assert question.at > record.messages[-1].at
    assert found.records == read("memdaily", daily, noise=20).records  # the same noise each time
    places = {[m.id for m in r.messages].index(f"{r.user}:1") for r in found.records}
    assert len(places) > 1


def test_memdaily_without_noise_needs_no_other_set(daily: Path) -> None:
    (daily / "memorybank_zh" / "memory_bank_cn.json").unlink()
    assert read("memdaily", daily, noise=0).turns == 16
    with pytest.raises(InputError, match="--noise 0"):
        read("memdaily", daily)
    with pytest.raises(InputError, match="not the half 'heldout'"):
        read("memdaily", daily, half="heldout")


# ------------------------------------------------------------------ MADial


def madial(folder: Path, language: str, *, owner: bool) -> None:
    rows = [(1, "2023-12-25", "Ida saw snow."), (2, "2023-01-05", "Ida fell."), (3, "2023-12-25", "Ida sang.")]
    memory = [{str(n): {"time": day, "event": event, **({"user-id": 7} if owner else {})}} for n, day, event in rows]
    dialogue = {
        "dialogue": ["<BOD>\n", "<Ida>: \"It is white outside!\"\n", "<Assistant>: \"Like last winter.\"\n"],
        "test-turn": [2], "relevant-id": [1, 99], "user-id": 7,
    }  # fmt: skip
    write(folder / f"MADial-Bench-{language}-memory.json", lines(*memory))
    write(folder / f"MADial-Bench-{language}-dialogue.json", lines(dialogue, {**dialogue, "relevant-id": [99]}))


def test_madial_in_both_languages(tmp_path: Path) -> None:
    madial(tmp_path / "madial_zh", "zh", owner=True)
    madial(tmp_path / "madial_en", "en", owner=False)  # whose memories these are the Chinese file says
    for name in ("madial_zh", "madial_en"):
        found = read(name, tmp_path)
        assert found.left_out == 1
        [record] = found.records
        assert [m.id for m in record.messages] == ["2", "1", "3"]
        [question] = record.questions
        assert question.text == '<Ida>: "It is white outside!"'
        assert question.gold == {"1"}


def test_madial_names_the_line(tmp_path: Path) -> None:
    madial(tmp_path / "madial_zh", "zh", owner=True)
    path = tmp_path / "madial_zh" / "MADial-Bench-zh-memory.json"
    path.write_text(path.read_text("utf-8").replace("2023-01-05", "a Thursday"), "utf-8")
    with pytest.raises(UnreadableFile, match=r"line 2.*expected a date"):
        read("madial_zh", tmp_path)


# ------------------------------------------------------------------ RealMem, LongMemEval


def test_realmem_asks_before_the_session_is_told(tmp_path: Path) -> None:
    def session(uuid: str, day: str, *turns: dict[str, Any]) -> dict[str, Any]:
        return {"session_uuid": uuid, "current_time": day, "dialogue_turns": list(turns), "extracted_memory": []}

    query = {"speaker": "User", "content": "What about my trip?", "is_query": True, "query_id": "Q1"}
    reply = {"speaker": "Assistant", "content": "To Ulm.", "category_name": "Static", "memory_session_uuids": ["s1"]}
    dialogues = [
        session("s2", "2025-12-16 (Tuesday)", query, reply, query, {**reply, "memory_session_uuids": ["s2"]}),
        session("s1", "2025-12-15 (Monday)", {"speaker": "User", "content": "I go to Ulm.", "query_id": None}),
    ]
    write(tmp_path / "realmem" / "a_dialogues_256k.json", {"_metadata": {"person_name": "P"}, "dialogues": dialogues})
    found = read("realmem", tmp_path)
    assert found.level is Level.SESSION
    assert found.is_streamed
    assert found.left_out == 1  # what only its own session holds
    [record] = found.records
    assert [m.session for m in record.messages] == ["s1", "s2", "s2", "s2", "s2"]
    [question] = record.questions
    assert (question.after, question.gold, question.category) == (1, {"s1"}, "Static")


def test_longmemeval_counts_the_sessions_with_the_answer(tmp_path: Path) -> None:
    def told(session: str, day: int) -> dict[str, Any]:
        said = [{"peer_id": "user", "content": "Hello.", "created_at": f"2023-05-{day}T02:21:00"}]
        return {"step_type": "add_messages", "session_id": session, "messages": said}

    steps = [
        told("answer_1", 21), told("other", 20),
        {"step_type": "query", "input": "[2023/05/30 (Tue) 23:40] What degree do I have?"},
    ]  # fmt: skip
    write(tmp_path / "longmemeval_sample" / "longmem_a.json", {"description": "test: easy question", "steps": steps})
    [record] = read("longmemeval", tmp_path).records
    assert [m.session for m in record.messages] == ["other", "answer_1"]
    [question] = record.questions
    assert (question.text, question.gold, question.category) == ("What degree do I have?", {"answer_1"}, "easy")
    assert question.at is not None
    assert question.at.isoformat() == "2023-05-30T23:40:00+08:00"


# ------------------------------------------------------------------ a file of one's own

TURN = {"id": "t1", "text": "I keep bees.", "at": "2026-03-01T09:00:00+08:00"}
QUESTION = {"question": "What do I keep?", "evidence": ["t1"]}


def own(folder: Path, *rows: Any) -> DataSet:
    path = folder / "mine.jsonl"
    path.write_text(lines(*rows), "utf-8")
    [found] = read_sets([str(path)], None)
    return found


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    found = own(
        tmp_path,
        {**TURN, "id": "t2", "at": "2026-03-02 10:00", "role": "assistant", "session": "s9"},
        TURN,
        {**TURN, "user": "bo", "name": "Bo"},
        {**QUESTION, "category": "animals", "at": "2026-04-01T00:00:00Z"},
        {**QUESTION, "user": "bo"},
        {**QUESTION, "evidence": []},
    )
    assert (found.name, found.half, found.level, found.left_out) == ("mine", "all", Level.TURN, 1)
    me, bo = found.records
    assert [(m.id, m.session, m.role) for m in me.messages] == [
        ("t1", "2026-03-01", Role.USER),
        ("t2", "s9", Role.ASSISTANT),
    ]
    assert me.questions[0].category == "animals"
    assert (bo.user, bo.messages[0].name, bo.questions[0].category) == ("bo", "Bo", "question")


def test_sessions_as_gold(tmp_path: Path) -> None:
    found = own(tmp_path, {**TURN, "session": "s1"}, {"question": "When?", "sessions": ["s1"]})
    assert found.level is Level.SESSION
    assert found.records[0].questions[0].gold == {"s1"}


@pytest.mark.parametrize(
    ("row", "line", "said"),
    [
        ({**TURN, "id": "t1"}, 3, "'t1' is there already"),
        ({**TURN, "id": "t2", "at": "yesterday"}, 3, "'yesterday' is no ISO date-time"),
        ({**TURN, "id": "t2", "text": " "}, 3, "the text is empty"),
        ({**TURN, "id": "t2", "role": "boss"}, 3, "role 'boss': use one of user"),
        ({**TURN, "id": "t2", "colour": "red"}, 3, "unknown 'colour'"),
        ({"text": "x", "at": "2026-03-01T09:00"}, 3, "'id' is missing"),
        ({**QUESTION, "evidence": ["t7"]}, 3, "'t7' names no turn of this user"),
        ({**QUESTION, "user": "bo"}, 3, "'t1' names no turn of this user"),
        ({"question": "What?"}, 3, "either evidence"),
        ({"question": "What?", "sessions": ["s1"]}, 3, "make two files of them"),
        ({**QUESTION, "question": " "}, 3, "the question is empty"),
    ],
)
def test_what_is_wrong_in_it_is_named_by_line(tmp_path: Path, row: Any, line: int, said: str) -> None:
    with pytest.raises(UnreadableFile, match=f"line {line}: .*{said}"):
        own(tmp_path, TURN, QUESTION, row)


def test_a_file_without_a_question_or_without_gold(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no question in it"):
        own(tmp_path, TURN)
    with pytest.raises(InputError, match="no question with gold"):
        own(tmp_path, TURN, {**QUESTION, "evidence": []})


def test_unknown_sets_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no set nothing: choose from locomo, .*\.jsonl"):
        read("nothing", tmp_path)


# ------------------------------------------------------------------ public data

EXPECTED = {
    # set: records, questions, of the half for tuning
    "locomo": (5, 959),
    "realtalk": (5, 344),
    "memdaily": (208, 208),
    "madial_zh": (2, 80),
    "madial_en": (2, 80),
    "realmem": (3, 396),
    "longmemeval": (2, 2),
}


@pytest.mark.parametrize("name", SETS)
def test_the_public_set(name: str) -> None:
    found = READERS[name](Choice(outside("JIYI_EVALDATA", "evaldata")))
    assert (len(found.records), found.questions) == EXPECTED[name]
    for record in found.records:
        assert len(record.sessions) == len(record.messages)  # ids are unique
        times = [m.at for m in record.messages]
        assert times == sorted(times)
        there = set(record.sessions.values() if found.level is Level.SESSION else record.sessions)
        assert all(q.gold and q.gold <= there for q in record.questions)


def test_a_broken_file_says_that_nothing_was_measured(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"role":\n', "utf-8")
    with pytest.raises(UnreadableFile, match=r"line 1: .*Nothing was measured") as caught:
        read_sets([str(tmp_path / "mine.jsonl")], None)
    assert "imported" not in str(caught.value)
