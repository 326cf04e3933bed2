"""Feedback on what was recalled moves importance by one, visibly and reversibly (SPEC R8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.feedback import Feedback, heeded
from jiyi.domain.memory import Memory, Status
from jiyi.domain.plans import Verb
from jiyi.domain.questions import Topic
from jiyi.errors import InputError, NotFound, PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.testing.strategies import memories
from tests.conftest import Clock

BOTH = pytest.mark.parametrize(
    ("text", "question"),
    [
        ("我住在绍兴。", "可能有误，现在是这样吗？"),
        ("I live in Bath.", "may be wrong. Is it so?"),
        ("喜欢安静的工作环境", "可能有误，现在是这样吗？"),
    ],
)


@pytest.fixture
def me(layer: MemoryLayer) -> ScopedMemory:
    return layer.scope("u1")


def remembered(me: ScopedMemory, text: str, importance: int = 3) -> Memory:
    return me.remember(text, importance=importance).memories[0]


def now(me: ScopedMemory, memory: Memory) -> Memory:
    [found] = [m for m in me.memories(status=None) if m.seq == memory.seq]
    return found


@BOTH
def test_it_moves_importance_by_one_and_stands_in_the_ledger(me: ScopedMemory, text: str, question: str) -> None:
    memory = remembered(me, text)
    receipt = me.feedback(memory.id, "helpful")
    assert now(me, memory).importance == 4
    entry = me.ledger(latest=1)[0]
    assert (entry.plan.verb, entry.plan.reason) == (Verb.FEEDBACK, f"{memory.id} was helpful, the user says")
    assert receipt.plan_id is not None
    me.undo(receipt.plan_id)
    assert now(me, memory) == memory
    me.feedback(memory.id, Feedback.IRRELEVANT)
    assert now(me, memory).importance == 2
    assert me.questions() == []


def test_often_is_not_more(me: ScopedMemory) -> None:
    memory = remembered(me, "我喜欢乌龙茶")
    assert [me.feedback(memory.id, "helpful").plan_id is None for _ in range(3)] == [False, True, True]
    assert now(me, memory).importance == 4
    for _ in range(4):
        me.feedback(memory.id, "irrelevant")
    assert now(me, memory).importance == 2


@BOTH
def test_what_is_wrong_is_asked_about_and_not_deleted(me: ScopedMemory, clock: Clock, text: str, question: str) -> None:
    memory = remembered(me, text)
    wrong = me.feedback(memory.id, "wrong")
    assert (now(me, memory).status, now(me, memory).importance) == (Status.LIVE, 2)
    [asked] = me.questions()
    assert asked.topic is Topic.DOUBT
    assert question in asked.text
    assert memory.text in asked.text
    assert wrong.plan_id is not None
    me.undo(wrong.plan_id)
    assert me.questions() == []
    me.feedback(memory.id, "wrong")
    clock.advance(hours=1)
    me.answer(f"q{memory.seq}", "是" if "？" in question else "yes")
    assert (now(me, memory).status, me.questions()) == (Status.LIVE, [])
    me.feedback(memory.id, "wrong")
    clock.advance(hours=1)
    me.answer(f"q{memory.seq}", "不是" if "？" in question else "no")
    assert (now(me, memory).status, me.questions()) == (Status.RETRACTED, [])


def test_a_question_put_aside_is_asked_again_when_it_is_said_to_be_wrong_again(me: ScopedMemory) -> None:
    memory = remembered(me, "I work as a translator.")
    me.feedback(memory.id, "wrong")
    me.answer(f"q{memory.seq}", "skip")
    assert me.questions() == []
    me.feedback(memory.id, "wrong")
    assert [q.number for q in me.questions()] == [memory.seq]


def test_who_says_it_again_has_answered(me: ScopedMemory, layer: MemoryLayer, clock: Clock) -> None:
    memory = remembered(me, "我住在绍兴。")
    me.feedback(memory.id, "wrong")
    me.observe([{"role": "user", "text": "我住在绍兴。", "at": "2026-01-01T09:00:00+08:00"}], session="old")
    layer.work()
    assert len(me.questions()) == 1, "what was said before answers nothing"
    clock.advance(days=1)
    me.observe([{"role": "user", "text": "我住在绍兴。"}], session="new")
    layer.work()
    assert me.questions() == []


def test_what_cannot_be_said(me: ScopedMemory, layer: MemoryLayer) -> None:
    memory = remembered(me, "我住在绍兴。")
    with pytest.raises(InputError, match="helpful, wrong, irrelevant"):
        me.feedback(memory.id, "great")
    with pytest.raises(NotFound):
        me.feedback("m99", "wrong")
    with pytest.raises(NotFound):
        layer.scope("u2").feedback(memory.id, "wrong")
    me.correct(memory.id, "我住在嘉兴。")
    with pytest.raises(PlanRefused, match="no longer believed"):
        me.feedback(memory.id, "helpful")


@given(memories(st.just(1)), st.lists(st.sampled_from(Feedback)))
def test_it_never_moves_a_memory_by_more_than_one(memory: Memory, said: list[Feedback]) -> None:
    before = memory.importance - memory.nudge
    bounded = 1 <= before <= 5
    for feedback in said:
        memory = heeded(memory, feedback)
        assert 1 <= memory.importance <= 5
        assert abs(memory.nudge) <= 1
        assert memory.importance - memory.nudge == before or not bounded
