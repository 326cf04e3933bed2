"""Tasks and appointments ahead stand beside the profile whatever is asked, and are no answer to a question (SPEC R4, C8)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.memory import Language
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.context import WORDS
from jiyi.pipelines.explaining import Stage
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock


@dataclass(frozen=True)
class Talk:
    """`far` shares no word with the appointment that was told, `near` does."""

    language: Language
    told: str
    task: str
    holds: str
    far: str
    near: str

    @property
    def heading(self) -> str:
        return f"## {WORDS[self.language]['ahead']}"


TALKS = [
    Talk(
        Language.ZH, "下周五我要去看眼科。", "季度盘点的截止日期是 3 月 20 号。", "眼科", "那天能陪外婆逛花市吗？", "我什么时候去看眼科？"
    ),
    Talk(
        Language.EN, "I'm flying to Bergen next Friday.", "The deadline for the harvest report is 20 March.", "Bergen",
        "Which coat would be sensible?", "When am I flying to Bergen?",
    ),
]  # fmt: skip
each = pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk.language.value)


def tell(layer: MemoryLayer, *texts: str, user: str = "ming") -> ScopedMemory:
    me = layer.scope(user)
    me.observe([{"role": "user", "text": text} for text in texts], session="s1")
    layer.work()
    return me


def section(text: str, heading: str) -> list[str]:
    """The lines below a heading."""
    lines = text.splitlines()
    if heading not in lines:
        return []
    below = lines[lines.index(heading) + 1 :]
    return below[: next(i for i, line in enumerate(below) if not line.startswith("- "))]


@each
def test_what_is_ahead_stands_there_and_answers_nothing(layer: MemoryLayer, talk: Talk) -> None:
    me = tell(layer, talk.told, talk.task)
    block = me.context(talk.far, language=talk.language)
    lines = section(block.text, talk.heading)
    told = {m.id: m.text for m in me.memories()}
    assert len(lines) == len(told) == 2
    assert any(talk.holds in line for line in lines)
    assert all(any(f"({handle}" in line for line in lines) for handle in told)
    assert block.items == ()
    assert WORDS[talk.language]["nothing else"] in block.text
    # A reason is given for what no search found.
    assert [me.explain(block.trace_id, why=handle).account.stage for handle in told] == [Stage.SHOWN] * 2  # type: ignore[union-attr]


@each
def test_what_answers_is_not_told_twice(layer: MemoryLayer, talk: Talk) -> None:
    me = tell(layer, talk.told)
    text = me.context(talk.near, language=talk.language).text
    [memory] = me.memories()
    assert text.count(memory.text) == 1
    assert talk.heading not in text


@each
def test_what_is_over_forgotten_or_put_right_goes_at_once(layer: MemoryLayer, clock: Clock, talk: Talk) -> None:
    me = tell(layer, talk.told)
    [memory] = me.memories()
    assert section(me.context(talk.far, language=talk.language).text, talk.heading)
    me.correct(memory.id, memory.text.replace(talk.holds, "Xyz"))
    assert talk.holds not in me.context(talk.far, language=talk.language).text
    other = tell(layer, talk.told, user="nora")
    [hers] = other.memories()
    other.forget(memory=hers.id)
    assert not section(other.context(talk.far, language=talk.language).text, talk.heading)
    third = tell(layer, talk.told, user="odile")
    clock.advance(days=30)
    assert not section(third.context(talk.far, language=talk.language).text, talk.heading)


@each
@pytest.mark.parametrize("source", ["tool", "inferred", "imported"])
def test_only_the_users_own_word_stands_there(layer: MemoryLayer, talk: Talk, source: str) -> None:
    me = layer.scope("ming")
    me.remember(talk.task, category="task", source=source)
    assert not section(me.context(talk.far, language=talk.language).text, talk.heading)


@each
def test_its_room_is_a_setting(talk: Talk) -> None:
    for room, shown in ((0, 0), (len(talk.task) + 9, 1), (400, 2)):
        with open_memory("reference", worker=False, clock=Clock(), context={"ahead_chars": room}) as layer:
            me = layer.scope("ming")
            for text in (talk.told, talk.task):
                me.remember(text, category="task")
            assert len(section(me.context(talk.far, language=talk.language).text, talk.heading)) == shown


@each
def test_of_a_shared_memory_it_is_cited_as_such(layer: MemoryLayer, talk: Talk) -> None:
    shared = layer.shared("team")
    shared.remember(talk.task, category="task")
    both = layer.together("ming", ["team"])
    lines = section(both.context(talk.far, language=talk.language).text, talk.heading)
    assert len(lines) == 1
    assert "(m1@team" in lines[0]
