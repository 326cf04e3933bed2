"""Two hundred facts that change again and again: only the current value is told as current (SPEC B3, B4, B6).

What is current is worked out here, by the rules as SPEC words them and without the judge: said outright, it is so; said
once in passing, it waits; said twice in one conversation, it is so; said once after half a year of silence, it is so.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from jiyi.assembly import open_memory
from jiyi.memory_layer import MemoryLayer
from tests.conftest import Clock

CHAINS = 200


@dataclass(frozen=True)
class Topic:
    """One fact: how it is stated, how it is said to have changed, how it is asked for, and the values it may have."""

    states: str
    changes: str
    asks: str
    values: tuple[str, ...]


TOPICS = (
    Topic("我住在{}。", "我搬到{}了。", "我住在哪里", ("无锡", "常州", "南通", "绍兴", "嘉兴", "湖州", "金华")),
    Topic("我们的数据库用的是 {}。", "数据库换成 {} 了。", "数据库用的是什么", ("MySQL", "Oracle", "TiDB", "MongoDB", "SQLite", "Redis", "MariaDB")),
    Topic("我们公司的总部在{}。", "我们公司的总部搬到{}了。", "公司总部在哪里", ("武汉", "长沙", "南昌", "合肥", "郑州", "太原", "兰州")),
    Topic("我们的预算是{}。", "预算改成{}了。", "预算是多少", ("30万", "45万", "60万", "75万", "90万", "120万", "150万")),
    Topic("I live in {}.", "I moved to {}.", "where do I live", ("Leeds", "Bath", "York", "Derby", "Exeter", "Oxford", "Truro")),
    Topic("Our database is {}.", "We switched the database to {}.", "which database do we use", ("MySQL", "Oracle", "TiDB", "MongoDB", "SQLite", "Redis", "MariaDB")),
    Topic("Our budget is {} USD.", "The budget is now {} USD.", "what is our budget", ("30k", "45k", "60k", "75k", "90k", "120k", "150k")),
    Topic("I work at {}.", "I joined {}.", "where do I work", ("Acme", "Initech", "Globex", "Hooli", "Umbra", "Vandelay", "Wonka")),
)  # fmt: skip


@dataclass(frozen=True)
class Turn:
    days: int
    session: str
    text: str


@dataclass(frozen=True)
class Chain:
    turns: tuple[Turn, ...]
    asks: str
    current: str
    past: tuple[str, ...]


def chain(number: int) -> Chain:
    """A chain of 2 to 6 updates; the same for the same number."""
    random = Random(number)
    topic = TOPICS[number % len(TOPICS)]
    values = random.sample(topic.values, random.randint(3, 7))
    current, turns = values[0], [Turn(0, "s0", topic.states.format(values[0]))]
    for step, value in enumerate(values[1:], 1):
        how = random.choice(("outright", "outright", "once", "twice", "after a long time"))
        wait = 200 if how == "after a long time" else random.randint(2, 20)
        session = f"s{step}"
        if how == "outright":
            turns.append(Turn(wait, session, topic.changes.format(value)))
        else:
            turns.append(Turn(wait, session, topic.states.format(value)))
        if how == "twice":
            turns.append(Turn(0, session, topic.states.format(value)))
        if how != "once":
            current = value
    return Chain(tuple(turns), topic.asks, current, tuple(v for v in values if v != current))


@pytest.mark.parametrize("number", range(CHAINS))
def test_only_the_current_value_is_told_as_current(number: int, clock: Clock) -> None:
    with open_memory("reference", worker=False, clock=clock) as layer:
        assert_told(layer, clock, chain(number))


def assert_told(layer: MemoryLayer, clock: Clock, told: Chain) -> None:
    """Say what a chain says, and ask: the current value is told as current, and no other."""
    me = layer.scope("ming")
    for turn in told.turns:
        clock.advance(days=turn.days, minutes=1)
        me.observe([{"role": "user", "text": turn.text}], session=turn.session)
        layer.work()
    clock.advance(days=1)
    context = me.context(told.asks, session="new").text
    facts = me.recall(told.asks, kinds={"fact"}).items
    assert holds(context, told.current), context
    assert not [value for value in told.past if holds(context, value)], context
    assert holds(facts[0].text, told.current)


def holds(text: str, value: str) -> bool:
    return value in text or value.replace("万", "0000") in text


def test_the_chains_are_of_every_kind() -> None:
    chains = [chain(n) for n in range(CHAINS)]
    assert {len(c.past) for c in chains} == {2, 3, 4, 5, 6}
    # Both that the last word holds and that it does not.
    last = [c.turns[-1].text for c in chains]
    assert 20 < sum(c.current in text for c, text in zip(chains, last, strict=True)) < CHAINS - 20
