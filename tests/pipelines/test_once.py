"""What is asked under a key is done once (SPEC S5), through the façade, on every store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jiyi import open_memory
from jiyi.domain.encoding import version_of
from jiyi.errors import ConflictingRequest, InputError, MemoryPaused, NotFound, VersionMismatch
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.once import nobody_guesses
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

TURN = {"role": "user", "text": "我们的数据库用的是 MySQL。"}


def prepared(layer: MemoryLayer, user: str = "ming") -> ScopedMemory:
    me = layer.scope(user)
    me.observe([{**TURN, "id": "a1"}], session="s1")
    layer.work()
    me.remember("我养了一只狗", source="inferred")
    me.remember("I live in Leeds.")
    return me


VERBS: dict[str, Callable[[ScopedMemory], object]] = {
    "observe": lambda me: me.observe([{"role": "user", "text": "the launch is on Friday"}], session="s2"),
    "remember": lambda me: me.remember("我的猫叫年糕"),
    "correct": lambda me: me.correct("m1", "数据库用的是 PostgreSQL"),
    "answer": lambda me: me.answer("q2", "yes"),
    "feedback": lambda me: me.feedback("m3", "helpful"),
    "forget": lambda me: me.forget(memory="m3"),
    "undo": lambda me: me.undo("p3"),
    "retention": lambda me: me.retention("minimal"),
    "retention of the past": lambda me: me.retention("minimal", past=True),
    "pause": lambda me: me.pause(),
    "consent": lambda me: me.consent(given=True, notice="v1"),
}


def state(layer: MemoryLayer, me: ScopedMemory) -> object:
    return me.ledger(), me.memories(status=None), me.history(limit=99).messages, me.retention(), me.receipts()


def test_a_change_that_is_asked_for_again_is_not_made_again(layer: MemoryLayer, clock: Clock) -> None:
    for verb, call in VERBS.items():
        me = prepared(layer, verb)
        first = call(me.once("k1", b"asked"))
        layer.work()
        after = state(layer, me)
        clock.advance(minutes=5)
        again = call(me.once("k1", b"asked"))
        layer.work()
        assert state(layer, me) == after, verb
        assert getattr(again, "plan_id", None) == getattr(first, "plan_id", None), verb
        assert getattr(again, "new", None) == getattr(first, "new", None), verb
        if verb not in ("observe", "forget", "retention of the past"):  # what these took away is told no more
            assert again == first or again.plan.changes == first.plan.changes, verb  # type: ignore[attr-defined]


def test_another_request_under_the_same_key_is_refused(layer: MemoryLayer) -> None:
    me = prepared(layer)
    me.once("k1", b"one").remember("我的猫叫年糕")
    with pytest.raises(ConflictingRequest, match="k1"):
        me.once("k1", b"two").remember("我的狗叫豆包")
    assert me.once("k2", b"two").remember("我的狗叫豆包").plan_id
    assert me.once("k1").remember("anything at all").memories[0].text == "我的猫叫年糕"
    for wrong in ("", "x" * 201, "a\nb"):
        with pytest.raises(InputError):
            me.once(wrong)


def test_another_call_under_the_same_key_is_refused_also_after_a_forgetting(layer: MemoryLayer) -> None:
    me = prepared(layer)
    me.once("k1", b"tea", call="remember").remember("I like green tea")
    me.forget(memory="m2")
    before = me.memory("m3")
    with pytest.raises(ConflictingRequest, match="k1"):
        me.once("k1", b"m3", call="forget_memory").forget(memory="m3")
    assert me.memory("m3") == before
    assert "green tea" in me.once("k1", b"tea", call="remember").remember("I like green tea").memories[0].text


def test_under_a_key_that_nobody_guesses_another_request_is_refused_also_after_a_forgetting(layer: MemoryLayer) -> None:
    me = prepared(layer)
    key = "4f9d2b60-11ce-4c4e-9a3b-7d0e5a6c8f21"
    done = me.once(key, b"tea", call="remember").remember("I like green tea")
    me.forget(memory="m2")
    with pytest.raises(ConflictingRequest, match="4f9d2b60"):
        me.once(key, b"coffee", call="remember").remember("I like black coffee")
    assert not any("coffee" in m.text for m in me.memories(status=None))
    assert me.once(key, b"tea", call="remember").remember("I like green tea").plan_id == done.plan_id
    me.forget(memory=done.memories[0].id)
    assert me.once(key, b"tea", call="remember").remember("I like green tea").memories == ()


def test_which_keys_nobody_guesses() -> None:
    for key in (
        "4f9d2b60-11ce-4c4e-9a3b-7d0e5a6c8f21",
        "req 9f86d081884c7d659a2feaa0c55ad015",
        "k/Zx81bQm0LpT7vKc2RsWyAe",
    ):
        assert nobody_guesses(key)
    for key in ("k-1", "order-4711-peanuts-and-walnuts", "00000000-0000-0000-0000-000000000001", "1" * 40, "a" * 30):
        assert not nobody_guesses(key)


def test_what_failed_was_not_done(layer: MemoryLayer) -> None:
    me = prepared(layer)
    with pytest.raises(NotFound):
        me.once("k1").correct("m99", "x")
    me.pause()
    with pytest.raises(MemoryPaused):
        me.once("k1").correct("m1", "数据库用的是 PostgreSQL")
    assert me.once("k2").remember("我的猫叫年糕").paused
    assert me.once("k3").observe([TURN], session="s3").paused
    me.resume()
    assert me.once("k1").correct("m1", "数据库用的是 PostgreSQL").plan_id
    assert not me.once("k2").remember("我的猫叫年糕").paused
    assert me.once("k3").observe([TURN], session="s3").new == 1


def test_a_request_that_comes_again_brings_nothing_back(layer: MemoryLayer) -> None:
    me = prepared(layer)
    done = me.once("k1", b"I am allergic to peanuts.").remember("I am allergic to peanuts.")
    me.forget(memory=done.memories[0].id)
    again = me.once("k1", b"I am allergic to peanuts.").remember("I am allergic to peanuts.")
    assert again.plan_id == done.plan_id
    assert (again.memories, again.plan.changes) == ((), ())
    assert not any("peanuts" in m.text for m in me.memories(status=None))


def test_it_is_known_for_a_while(tmp_path: Path, clock: Clock) -> None:
    with open_memory(tmp_path / "memory.db", clock=clock, worker=False, once={"keep": 2, "days": 7}) as layer:
        me = layer.scope("ming")
        for number in range(3):
            clock.advance(minutes=1)
            me.once(f"k{number}").observe([{"role": "user", "text": f"word {number}"}], session="s1")
        assert me.once("k2").observe([{"role": "user", "text": "word 2"}], session="s1").new == 1
        assert len(me.history().messages) == 3
        me.once("k0").observe([{"role": "user", "text": "word 0"}], session="s1")  # the third ago
        assert len(me.history().messages) == 4
        clock.advance(days=8)
        me.once("k9").observe([{"role": "user", "text": "word 9"}], session="s1")
        me.once("k0").observe([{"role": "user", "text": "word 0"}], session="s1")
        assert len(me.history().messages) == 6


def test_nothing_of_a_request_can_be_read_in_the_file(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "memory.db"
    with open_memory(file, clock=clock, worker=False) as layer:
        layer.scope("ming").once("order-4711-peanuts", b"walnuts").observe([TURN], session="s1")
    with open_memory(file, clock=clock, worker=False) as layer:
        me = layer.scope("ming")
        assert me.once("order-4711-peanuts", b"walnuts").observe([TURN], session="s1").new == 1
        assert len(me.history().messages) == 1
    data = file.read_bytes()
    assert not any(word in data for word in (b"4711", b"peanuts", b"walnuts"))


def test_a_correction_may_name_the_version_it_means(layer: MemoryLayer) -> None:
    me = prepared(layer)
    known = version_of(me.memory("m1"))
    assert version_of(me.memory("m1")) == known
    me.remember("我们的数据库用的是 MySQL。")  # said again: another picture of the same memory
    assert version_of(me.memory("m1")) != known
    before = me.ledger()
    with pytest.raises(VersionMismatch, match="m1"):
        me.correct("m1", "数据库用的是 PostgreSQL", version=known)
    assert me.ledger() == before
    assert me.correct("m1", "数据库用的是 PostgreSQL", version=version_of(me.memory("m1"))).plan_id
    with pytest.raises(NotFound):
        me.memory("m99")


def test_lists_go_on_where_they_ended(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    for number in range(7):
        clock.advance(minutes=1)
        me.observe([{"role": "user", "text": f"word {number}"}], session=f"s{number % 3}")
        me.remember(f"第{number}号柜子放着礼物")
    every, pages, before = me.history(limit=99).messages, [], None
    while page := me.history(before=before, limit=3).messages:
        pages, before = [*page, *pages], f"h{page[0].seq}"
    assert tuple(pages) == every
    names = [s.session for s in me.sessions()]
    assert [s.session for s in me.sessions(1, after=names[0])] == names[1:2]
    assert me.sessions(after=names[-1]) == []
    for wrong in (lambda: me.sessions(after="nowhere"), lambda: me.history(before="h99")):
        with pytest.raises(NotFound):
            wrong()
    assert [e.seq for e in me.ledger(after=2, limit=3)] == [3, 4, 5]


def test_dead_jobs_are_those_of_the_tenant(layer: MemoryLayer) -> None:
    with pytest.raises(NotFound):
        layer.retry_job(1, tenant="acme")
    assert layer.dead_jobs(tenant="acme") == []
