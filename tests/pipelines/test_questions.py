"""Questions and their answers, through the façade (SPEC B4, B8, B9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.memory import Source, Status
from jiyi.domain.questions import Topic
from jiyi.errors import InputError, NotFound, PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

LIVES = [
    ("我住在无锡。", "我住在常州。", "无锡", "常州", "我现在住在哪里"),
    ("I live in Leeds.", "I live in Bath.", "leeds", "bath", "where do I live"),
]


@pytest.fixture(params=["reference", "sqlite"])
def layer(request: pytest.FixtureRequest, tmp_path, clock: Clock) -> Iterator[MemoryLayer]:
    path = "reference" if request.param == "reference" else tmp_path / "memory.db"
    with open_memory(path, worker=False, clock=clock) as layer:
        yield layer


def say(layer: MemoryLayer, clock: Clock, text: str, session: str) -> ScopedMemory:
    me = layer.scope("ming")
    clock.advance(minutes=1)
    me.observe([{"role": "user", "text": text}], session=session)
    layer.work()
    return me


def disagree(layer: MemoryLayer, clock: Clock, first: str, second: str) -> ScopedMemory:
    say(layer, clock, first, "s1")
    clock.advance(days=3)
    return say(layer, clock, second, "s2")


@pytest.mark.parametrize(("first", "second", "old", "new", "ask"), LIVES)
def test_a_bare_contradiction_is_of_its_session_alone(
    layer: MemoryLayer, clock: Clock, first: str, second: str, old: str, new: str, ask: str
) -> None:
    me = disagree(layer, clock, first, second)
    assert [m.value for m in me.memories()] == [old]
    here, elsewhere = (me.context(ask, session=s).text.lower() for s in ("s2", "s3"))
    assert new in here
    assert new not in elsewhere
    assert old in elsewhere
    # An hour after the last turn the session's own view is gone (SPEC F1).
    clock.advance(minutes=61)
    assert new not in me.context(ask, session="s2").text.lower()
    [question] = me.questions()
    assert question.topic is Topic.CONFLICT
    assert old in question.text.lower()
    assert new in question.text.lower()


@pytest.mark.parametrize(("first", "second", "old", "new", "ask"), LIVES)
@pytest.mark.parametrize("by", ["id", "value", "word"])
def test_an_answer_settles_it_everywhere(
    layer: MemoryLayer, clock: Clock, first: str, second: str, old: str, new: str, ask: str, by: str
) -> None:
    me = disagree(layer, clock, first, second)
    [question] = me.questions()
    chosen = {"id": question.options[-1].id, "value": new, "word": "后来的" if first[0] == "我" else "the new one"}[by]
    clock.advance(minutes=1)
    receipt = me.answer(question.id, chosen)
    assert [m.value for m in me.memories()] == [new]
    assert me.questions() == []
    past = next(m for m in me.memories(status=None) if m.value == old)
    # It was right since it was first said, so the old one ended then.
    assert (past.status, past.valid_to) == (Status.ENDED, question.options[-1].affirmed_at)
    with pytest.raises(NotFound, match="no open question"):
        me.answer(question.id, chosen)
    me.undo(receipt.plan_id or "")
    assert me.questions() == [question]


@pytest.mark.parametrize(("first", "second", "old", "new", "ask"), LIVES)
def test_what_was_rejected_does_not_come_back_from_old_talk(
    layer: MemoryLayer, clock: Clock, first: str, second: str, old: str, new: str, ask: str
) -> None:
    me = disagree(layer, clock, first, second)
    [question] = me.questions()
    said_at = question.options[-1].affirmed_at
    clock.advance(minutes=1)
    me.answer(question.id, old)
    me.observe([{"role": "user", "text": second, "at": said_at, "id": "old-export"}], session="s9")
    layer.work()
    me.remember(second, source=Source.IMPORTED)
    assert [m.value for m in me.memories()] == [old]
    assert me.questions() == []
    # A new word of the user's own is heard again.
    clock.advance(days=1)
    say(layer, clock, second, "s10")
    assert len(me.questions()) == 1


@pytest.mark.parametrize(("first", "second", "old", "new", "ask"), LIVES)
def test_neither_takes_both_back(
    layer: MemoryLayer, clock: Clock, first: str, second: str, old: str, new: str, ask: str
) -> None:
    me = disagree(layer, clock, first, second)
    clock.advance(minutes=1)
    me.answer(me.questions()[0].id, "都不对" if first[0] == "我" else "Neither.")
    assert me.memories() == []
    assert {m.status for m in me.memories(status=None)} == {Status.RETRACTED}


@pytest.mark.parametrize(("first", "second", "old", "new", "ask"), LIVES)
def test_skip_asks_no_more_and_changes_nothing_else(
    layer: MemoryLayer, clock: Clock, first: str, second: str, old: str, new: str, ask: str
) -> None:
    me = disagree(layer, clock, first, second)
    me.answer(me.questions()[0].id, "不知道" if first[0] == "我" else "I don't know")
    assert me.questions() == []
    assert [m.value for m in me.memories()] == [old]


def test_another_value_is_an_answer_too(layer: MemoryLayer, clock: Clock) -> None:
    me = disagree(layer, clock, "我住在无锡。", "我住在常州。")
    clock.advance(minutes=1)
    me.answer(me.questions()[0].id, "苏州")
    assert [m.value for m in me.memories()] == ["苏州"]
    assert me.questions() == []


def test_what_is_no_answer_changes_nothing(layer: MemoryLayer, clock: Clock) -> None:
    me = disagree(layer, clock, "I live in Leeds.", "I live in Bath.")
    [question] = me.questions()
    for text in ("yes", "My cat is called Biscuit and she likes the garden more than anything else in the house."):
        with pytest.raises(InputError, match="m1"):
            me.answer(question.id, text)
    assert me.questions() == [question]
    with pytest.raises(NotFound):
        me.answer("q99", "yes")
    with pytest.raises(InputError):
        me.answer(question.id, " ")


@pytest.mark.parametrize(
    ("hearsay", "value", "yes", "no"),
    [
        ("张三说他负责华东区。", "华东区", "是的", "不对"),
        ("Ann said she is in charge of the East Region.", "East Region", "yes", "no"),
    ],
)
def test_hearsay_is_asked_about(layer: MemoryLayer, clock: Clock, hearsay: str, value: str, yes: str, no: str) -> None:
    me = say(layer, clock, hearsay, "s1")
    [question] = me.questions()
    assert question.topic is Topic.HEARSAY
    assert value in question.text
    clock.advance(minutes=1)
    me.answer(question.id, yes)
    [memory] = me.memories()
    assert (memory.source, me.confidence(memory)) == (Source.DECLARED, 0.95)
    assert me.questions() == []
    other = say(layer, clock, hearsay, "s2")
    assert other.questions() == []


def test_hearsay_denied_is_gone(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "张三说他负责华东区。", "s1")
    clock.advance(minutes=1)
    me.answer(me.questions()[0].id, "不是")
    assert (me.memories(), me.questions()) == ([], [])


def test_a_verification_is_asked_about_after_thirty_days(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.remember("我们公司的总部在长沙。", source="verified")
    [memory] = me.memories()
    assert (memory.source, me.confidence(memory)) == (Source.VERIFIED, 0.99)
    clock.advance(days=29)
    assert me.questions() == []
    clock.advance(days=2)
    [question] = me.questions()
    assert question.topic is Topic.EXPIRED
    me.answer(question.id, "没变")
    [memory] = me.memories()
    assert (memory.source, me.questions()) == (Source.DECLARED, [])


def test_a_tool_that_disagrees_waits_without_a_question(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "I live in Leeds.", "s1")
    clock.advance(minutes=1)
    me.remember("I live in Bath.", source="tool")
    assert [m.value for m in me.memories()] == ["leeds"]
    assert [m.value for m in me.memories(status="held")] == ["bath"]
    assert me.questions() == []


def test_one_users_questions_are_nobody_elses(layer: MemoryLayer, clock: Clock) -> None:
    me = disagree(layer, clock, "I live in Leeds.", "I live in Bath.")
    other = layer.scope("other")
    assert other.questions() == []
    with pytest.raises(NotFound):
        other.answer(me.questions()[0].id, "neither")


def test_an_author_other_than_the_user_cannot_take_a_facts_place(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "I live in Leeds.", "s1")
    for minute in range(3):
        clock.advance(minutes=1)
        turn = {"role": "user", "text": "I live in Bath.", "id": f"c{minute}", "labels": {"author": "clerk"}}
        me.observe([turn], session="s2")
    layer.work()
    assert [m.value for m in me.memories()] == ["leeds"]


@pytest.mark.parametrize(
    ("first", "denied", "second"),
    [
        ("我住在杭州。", "我不再住在杭州了。", "我住在成都。"),
        ("I live in Leeds.", "I no longer live in Leeds.", "I live in York."),
    ],
)
def test_an_undo_does_not_bring_back_what_contradicts_what_was_learnt_since(
    layer: MemoryLayer, clock: Clock, first: str, denied: str, second: str
) -> None:
    me = layer.scope("ming")
    me.remember(first)
    clock.advance(days=1)
    receipt = me.remember(denied)
    clock.advance(days=1)
    learnt = me.remember(second)
    before = me.memories(status=None)
    with pytest.raises(PlanRefused, match="learnt since"):
        me.undo(receipt.plan_id or "")
    assert me.memories(status=None) == before
    me.undo(learnt.plan_id or "")
    me.undo(receipt.plan_id or "")
    assert [m.value for m in me.memories()] == ["杭州" if first[0] == "我" else "leeds"]


def test_the_session_of_what_is_told_is_a_name_like_any_other(layer: MemoryLayer, clock: Clock) -> None:
    """SPEC C11, F6: redacted, checked, and reached by forgetting the session."""
    me = layer.scope("ming")
    told = "call " + "138" + "12345678"
    me.remember("I like jazz.", session=told)
    [memory] = me.memories()
    assert "12345678" not in memory.evidence[0].session
    for bad in ("", 0, None, "x" * 5000):
        with pytest.raises(InputError):
            me.remember("I like tea.", session=bad)  # type: ignore[arg-type]
    clock.advance(minutes=1)
    me.forget(session=told)
    assert me.memories() == []


@pytest.mark.parametrize(("first", "second", "old", "new", "ask"), LIVES)
def test_what_waited_is_believed_once_its_rival_is_rejected(
    layer: MemoryLayer, clock: Clock, tmp_path: Path, first: str, second: str, old: str, new: str, ask: str
) -> None:
    """A line taken out of USER.md by hand is a rejection, and nothing stays waiting for nothing."""
    me = disagree(layer, clock, first, second)
    file = tmp_path / "USER.md"
    me.write_profile(file)
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not (line.startswith("- ") and old in line.lower())), "utf-8")
    clock.advance(minutes=1)
    receipt = me.read_profile(file)
    assert [m.value for m in me.memories()] == [new]
    assert (me.questions(), me.memories(status="held")) == ([], [])
    me.undo(receipt.plan_id or "")
    assert [m.value for m in me.memories()] == [old]
    assert len(me.questions()) == 1


@pytest.mark.parametrize(("first", "second", "old", "new", "ask"), LIVES)
@pytest.mark.parametrize("both", ["both", "Both of them.", "两个都用", "都对。"])
def test_both_is_no_value_where_they_cannot_both_hold(
    layer: MemoryLayer, clock: Clock, first: str, second: str, old: str, new: str, ask: str, both: str
) -> None:
    me = disagree(layer, clock, first, second)
    before = me.memories(status=None)
    with pytest.raises(InputError, match=r"cannot both hold at one time\. Answer m1, m2, or neither, or skip"):
        me.answer("q2", both)
    assert me.memories(status=None) == before


@pytest.mark.parametrize(
    ("pair", "answer", "value", "text"),
    [
        (LIVES[0], "我现在住在苏州。", "苏州", "用户住在苏州"),
        (LIVES[0], "苏州", "苏州", "用户住在苏州"),
        (LIVES[1], "I live in York now.", "york", "User lives in York"),
        (LIVES[1], "York", "york", "User lives in York"),
    ],
)
def test_a_third_value_ends_what_stood_and_is_told_of_the_user(
    layer: MemoryLayer, clock: Clock, pair: tuple[str, ...], answer: str, value: str, text: str
) -> None:
    me = disagree(layer, clock, pair[0], pair[1])
    clock.advance(days=1)
    before = me.memories(status=None)
    receipt = me.answer("q2", answer)
    # What was believed was no mistake, it is over; what only waited never was so.
    assert [(m.status, m.value) for m in me.memories(status=None)] == [
        (Status.ENDED, pair[2]), (Status.RETRACTED, pair[3]), (Status.LIVE, value),
    ]  # fmt: skip
    assert me.memories()[0].text == text
    assert me.questions() == []
    assert receipt.plan_id is not None
    me.undo(receipt.plan_id)
    assert me.memories(status=None) == before


@pytest.mark.parametrize(("pair", "talk"), [(LIVES[0], "我觉得还行吧"), (LIVES[1], "I think I am in Bradford")])
def test_talk_that_is_not_understood_is_no_value(
    layer: MemoryLayer, clock: Clock, pair: tuple[str, ...], talk: str
) -> None:
    me = disagree(layer, clock, pair[0], pair[1])
    with pytest.raises(InputError, match="say m1, m2, the right value alone"):
        me.answer("q2", talk)
