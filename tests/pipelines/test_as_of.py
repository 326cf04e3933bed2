"""Asking what was true then, and what was known then, through the façade on every store (SPEC B6, B7)."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.assembly import open_memory
from jiyi.domain.bitemporal import was_true
from jiyi.domain.memory import Status
from jiyi.domain.profile import diff_profiles
from jiyi.errors import InputError, InstantWithoutZone, NotFound, PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.recalling.items import Recollection
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

DAY = timedelta(days=1)
START = Clock().now


def say(layer: MemoryLayer, me: ScopedMemory, text: str, session: str = "s1") -> None:
    me.observe([{"role": "user", "text": text}], session=session)
    layer.work()


def told(found: Recollection) -> str:
    return " / ".join(item.text for item in found.items)


WORLDS = pytest.mark.parametrize(
    ("before", "change", "question", "old", "new"),
    [
        ("我们的数据库用的是 Oracle。", "数据库从 Oracle 迁到 TiDB 了。", "数据库用什么", "Oracle", "TiDB"),
        (
            "Our database is Oracle.",
            "We switched our database from Oracle to TiDB.",
            "which database?",
            "Oracle",
            "TiDB",
        ),
        ("我住在无锡。", "我搬到常州了。", "我住在哪里", "无锡", "常州"),
        ("I live in Leeds.", "I moved to York.", "Where do I live?", "Leeds", "York"),
    ],
)


@WORLDS
def test_a_change_seen_from_before_and_after(
    layer: MemoryLayer, clock: Clock, before: str, change: str, question: str, old: str, new: str
) -> None:
    me = layer.scope("ming")
    say(layer, me, before)
    prior = me.memories()
    clock.advance(days=30)
    say(layer, me, change, "s2")
    clock.advance(days=1)
    early, late = START + 10 * DAY, START + 30 * DAY
    # What was true then: the old value, with its end; the sentence that told the change is not given either.
    for instant in ({"valid_at": early}, {"known_at": early}, {"valid_at": early, "known_at": early}):
        found = me.recall(question, **instant)
        assert old in found.items[0].text
        assert new not in told(found)
        assert [m.id for m in me.memories(**instant)] == ["m1"]
        assert old in me.profile(**instant).text
        assert [m.id for m in me.versions("m1", **instant)] == ["m1"]
    (true_then,) = me.memories(valid_at=early)
    assert (true_then.status, true_then.valid_to) == (Status.ENDED, late)
    assert me.memories(known_at=early) == prior
    assert me.recall(question, valid_at=early).items[0].memory == true_then
    assert me.recall(question, known_at=early).items[0].memory == prior[0]
    # From after the change it is as it is now.
    for instant in ({"valid_at": late}, {"known_at": late}):
        found = me.recall(question, **instant)
        assert new in found.items[0].text
        assert old not in told(found)
        assert me.memories(**instant) == me.memories()
    # Today we know of a time at which nothing had been said yet only what began before it.
    assert me.recall(question, valid_at=START - DAY).items == ()
    difference = diff_profiles(me.profile(valid_at=early), me.profile(valid_at=late))
    assert [new in line.text for line in difference.added] == [True]
    assert [old in line.text for line in difference.removed] == [True]


@pytest.mark.parametrize(
    ("first", "second", "question", "early", "late"),
    [
        ("我住在无锡。", "我搬到常州了。", "我住在哪里", "无锡", "常州"),
        ("I live in Leeds.", "I moved to York.", "Where do I live?", "Leeds", "York"),
    ],
)
def test_learnt_late_of_a_time_long_past(
    layer: MemoryLayer, clock: Clock, first: str, second: str, question: str, early: str, late: str
) -> None:
    """An import tells today of last year: it was true then, and nobody knew it."""
    me = layer.scope("ming")
    moved = datetime(2025, 6, 1, 12, tzinfo=UTC)
    me.observe([{"role": "user", "text": first, "at": "2025-01-05T09:00:00+08:00"}], session="s1")
    me.observe([{"role": "user", "text": second, "at": moved}], session="s2")
    layer.work()
    assert early in me.recall(question, valid_at="2025-03-01T00:00:00+08:00").items[0].text
    assert late in me.recall(question, valid_at=moved).items[0].text
    assert me.memories(known_at=moved) == []
    assert me.profile(known_at=moved).lines == ()
    assert me.memories(valid_at=moved, known_at=clock.now) == me.memories()
    assert me.memories(valid_at=moved, known_at=moved) == []
    # Messages carry no time of learning: by their own instant they had been said.
    said = me.recall(question, known_at=moved, kinds={"message"}).items
    # Which names stand for what is asked for was not known yet, so that it may be fewer.
    assert said
    assert {i.id for i in said} <= {i.id for i in me.recall(question, kinds={"message"}).items}


@pytest.mark.parametrize(
    ("text", "question", "wrong", "right"),
    [
        ("我们公司成立于2015年", "公司成立时间", "2015", "我们公司成立于2018年"),
        ("My name is Ana", "what is my name", "Ana", "My name is Anna"),
    ],
)
def test_a_mistake_was_believed_then_but_never_true(
    layer: MemoryLayer, clock: Clock, text: str, question: str, wrong: str, right: str
) -> None:
    me = layer.scope("ming")
    me.remember(text)
    believed = clock.now
    clock.advance(days=3)
    me.correct("m1", right)
    assert wrong in told(me.recall(question, known_at=believed))
    assert right in told(me.recall(question, valid_at=believed))
    assert [m.text for m in me.memories(valid_at=believed)] == [right]
    assert [m.text for m in me.memories(known_at=believed)] == [text]
    assert me.memories(known_at=believed, status="retracted") == []


@pytest.mark.parametrize(
    ("text", "question"), [("我明天有个面试。", "面试"), ("I have a dentist appointment tomorrow.", "dentist")]
)
def test_what_is_over_by_itself_was_true_until_then(layer: MemoryLayer, clock: Clock, text: str, question: str) -> None:
    me = layer.scope("ming")
    say(layer, me, text)
    (appointment,) = me.memories()
    assert appointment.valid_to is not None
    clock.advance(days=9)
    assert not [i for i in me.recall(question).items if i.memory]
    for instant in ({"valid_at": START}, {"known_at": START}, {"valid_at": appointment.valid_to - DAY / 9}):
        assert [i.memory for i in me.recall(question, **instant).items if i.memory] == [appointment]
        assert me.memories(**instant) == [appointment]
    for instant in ({"valid_at": appointment.valid_to}, {"valid_at": START, "known_at": START - DAY}):
        assert not [i for i in me.recall(question, **instant).items if i.memory]
        assert me.memories(**instant) == []


@pytest.mark.parametrize(("text", "question"), [("我的猫叫年糕", "年糕"), ("My dog is called Biscuit", "Biscuit")])
def test_what_was_undone_is_found_at_the_time_it_stood(
    layer: MemoryLayer, clock: Clock, text: str, question: str
) -> None:
    me = layer.scope("ming")
    me.remember(text)
    stood = clock.now
    clock.advance(days=1)
    me.undo("p1")
    assert me.memories(status=None) == []
    assert told(me.recall(question, known_at=stood)) == text
    assert me.recall(question, known_at=clock.now).items == ()
    assert me.recall(question, valid_at=stood).items == ()


@pytest.mark.parametrize(("text", "question"), [("我住在无锡", "无锡"), ("I live in Leeds", "Leeds")])
def test_what_was_forgotten_was_never_known(layer: MemoryLayer, clock: Clock, text: str, question: str) -> None:
    me = layer.scope("ming")
    say(layer, me, text)
    stood = clock.now
    clock.advance(days=1)
    me.forget(memory="m1")
    for instant in ({"known_at": stood}, {"valid_at": stood}):
        assert me.recall(question, **instant).items == ()
        assert me.memories(status=None, **instant) == []
        with pytest.raises(NotFound):
            me.versions("m1", **instant)


def test_many_later_memories_do_not_crowd_out_the_early_ones(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": "部署窗口是周四晚上，先通知运维"}], session="s1")
    me.remember("部署窗口是周四晚上")
    early = clock.now
    clock.advance(days=1)
    for day in range(90):
        me.remember(f"部署窗口部署窗口第{day}次")
        me.observe([{"role": "user", "text": f"部署窗口 部署窗口 第{day}次", "id": f"x{day}"}], session="s2")
    layer.work()
    assert [i.id for i in me.recall("部署窗口", known_at=early, kinds={"memory"}).items] == ["m1"]
    assert [i.id for i in me.recall("部署窗口", known_at=early, kinds={"message"}).items] == ["h1"]


def test_looking_back_warms_nothing(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.remember("我的猫叫年糕")
    for _ in range(3):
        me.recall("年糕", known_at=clock.now)
    layer.work()
    with layer._store.read() as unit:
        assert unit.memories.heat(me.user, [1]) == {}
    me.recall("年糕")
    layer.work()
    with layer._store.read() as unit:
        assert unit.memories.heat(me.user, [1])[1].visits == 1


def test_instants_need_a_zone_and_a_status_says_what_became_of_it(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    for ask in (me.profile, me.memories, lambda **at: me.recall("年糕", **at), lambda **at: me.versions("预算", **at)):
        for name in ("valid_at", "known_at"):
            with pytest.raises(InstantWithoutZone):
                ask(**{name: "2026-03-01T09:00:00"})
            with pytest.raises(InputError):
                ask(**{name: "yesterday"})
    with pytest.raises(InputError, match="leave status"):
        me.memories(status="ended", valid_at=START)


# ------------------------------------------------------------------ whatever was said

SAYINGS = (
    "我住在杭州。", "我搬到苏州了。", "我喜欢绿茶。", "我现在不喜欢绿茶了。", "数据库从 MySQL 换成 PostgreSQL 了。",
    "I live in Leeds.", "I moved to York.", "I love hiking.", "Our database is SQLite.",
    "明天要去无锡开会。", "I have a dentist appointment tomorrow.",
)  # fmt: skip
QUERIES = ("我住在哪里", "绿茶", "数据库", "where do I live", "hiking", "开会", "dentist")
actions = st.lists(
    st.one_of(
        st.sampled_from(SAYINGS), st.integers(1, 4).map(lambda n: ("undo", f"p{n}")),
        st.integers(1, 4).map(lambda n: ("forget", f"m{n}")),
    ),
    min_size=1, max_size=7,
)  # fmt: skip


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(actions)
def test_from_now_the_past_is_the_present_and_before_the_first_plan_there_is_nothing(
    done: list[str | tuple[str, str]],
) -> None:
    clock = Clock()
    with open_memory("reference", clock=clock, worker=False) as layer:
        me = layer.scope("ming")
        stood = []
        for number, action in enumerate(done):
            clock.advance(days=1)
            # What cannot be undone or forgotten changes nothing.
            with suppress(NotFound, PlanRefused):
                if isinstance(action, str):
                    me.observe([{"role": "user", "text": action, "id": f"t{number}"}], session="s1")
                    layer.work()
                elif action[0] == "undo":
                    me.undo(action[1])
                else:
                    me.forget(memory=action[1])
            stood.append((clock.now, me.memories(status=None)))
        now = clock.now
        assert me.memories(status=None, known_at=now) == me.memories(status=None)
        assert me.memories(valid_at=now) == [m for m in me.memories() if was_true(m, now)]
        for query in QUERIES:
            present = me.recall(query)
            assert me.recall(query, known_at=now) == present
            assert me.recall(query, valid_at=now).items == present.items
        assert me.profile(known_at=now) == me.profile()
        assert me.memories(status=None, known_at=START) == []
        assert all(me.recall(query, known_at=START).items == () for query in QUERIES)
        # What was known on a day is what stood on that day, but for what was forgotten since.
        forgotten = any(e.plan.verb.value == "forget" for e in me.ledger())
        for at, memories in stood:
            if not forgotten:
                assert me.memories(status=None, known_at=at) == memories
