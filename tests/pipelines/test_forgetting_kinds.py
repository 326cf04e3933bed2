"""Forgetting a topic, a session, a span of time, everything; for others too; and what must stay (SPEC F6, W1)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.backends import restore_database
from jiyi.domain.forgetting import Reach
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, NotFound, PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock
from tests.pipelines.test_forgetting import SCAN, said, shown


def told(me: ScopedMemory) -> list[str]:
    return [m.text for m in me.memories(status=None)]


def test_a_topic_goes_with_what_others_said_of_it(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I love zanzibar tea. I live in Leeds.", "Has ZANZIBAR a beach?")
    me.observe([{"role": "assistant", "text": "Yes, Zanzibar has."}, {"role": "user", "text": "Good, I like hiking."}])
    receipt = me.forget(topic="Zanzibar")
    assert "zanzibar" not in shown(me)
    assert "zanzibar" not in repr(receipt).lower()
    assert [m.text for m in me.history(limit=10).messages] == [
        "▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ I live in Leeds.",
        "Good, I like hiking.",
    ]
    assert len(told(me)) == 2
    assert (receipt.proof.reach, receipt.proof.erased["messages"], receipt.proof.erased["passages"]) == (
        Reach.TOPIC,
        2,
        1,
    )


@pytest.mark.parametrize("topic", ["数据库", "數據庫", "database", "Ｄａｔａｂａｓｅ"])
def test_a_topic_is_found_in_either_language_and_script(layer: MemoryLayer, clock: Clock, topic: str) -> None:
    me = layer.scope("ming")
    said(me, clock, "我们的数据库用的是 MySQL。", "Our database is SQLite.", "這個數據庫很慢", "我喜欢绿茶。")
    me.forget(topic=topic)
    assert told(me) == ["用户喜欢绿茶"]
    assert [m.text for m in me.history(limit=10).messages] == ["我喜欢绿茶。"]


def test_a_topic_is_whole_words_and_says_something(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I like hiking.", "Heathrow is far.")
    me.forget(topic="heath")
    assert len(me.history().messages) == 2
    for nothing in ("", "  ", "。", "the"):
        with pytest.raises(InputError, match="name the thing"):
            me.forget(topic=nothing)


def test_a_topic_in_a_name_or_label_goes(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.observe(
        [
            {"role": "user", "text": "I live in Leeds.", "name": "zanzibar", "labels": {"place": "Zanzibar", "a": "b"}},
            {"role": "user", "text": "It rains.", "session": "zanzibar trip"},
        ]
    )
    me.forget(topic="zanzibar")
    assert "zanzibar" not in shown(me)
    [left] = me.history().messages
    assert (left.text, left.name, dict(left.labels)) == ("I live in Leeds.", None, {"a": "b"})


def test_a_session_goes_but_not_what_was_also_said_elsewhere(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I like hiking.")
    me.observe(
        [{"role": "user", "text": "I like hiking."}, {"role": "user", "text": "I live in Leeds."}], session="private 1"
    )
    layer.work()
    me.forget(session="private 1")
    assert [m.text for m in me.memories()] == ["User likes hiking"]
    assert [m.session for m in me.evidence(me.memories()[0].id)] == ["s1"]
    assert "private" not in repr((me.ledger(), me.memories(status=None), me.sessions()))
    assert [s.session for s in me.sessions()] == ["s1"]
    with pytest.raises(NotFound, match="no session"):
        me.forget(session="private 1")


def test_a_span_of_time_goes_with_what_was_declared_in_it(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I like hiking.")
    clock.advance(days=1)
    start = clock.now
    said(me, clock, "I live in Leeds.")
    me.remember("My dog is called Biscuit")
    clock.advance(days=1)
    end = clock.now
    me.remember("以后都用英文回答我")
    me.forget(since=start, until=end)
    assert len(told(me)) == 2
    assert not any(word in shown(me) for word in ("Leeds", "Biscuit"))
    with pytest.raises(InputError, match="before until"):
        me.forget(since=end, until=start)


def test_everything_goes_and_life_goes_on(layer: MemoryLayer, clock: Clock) -> None:
    me, other = layer.scope("ming"), layer.scope("nora")
    for one in (me, other):
        said(one, clock, "I love zanzibar tea.")
        one.remember("My dog is called Biscuit")
    layer.work()
    said(me, clock, "I live in Leeds.")
    me.forget(everything=True)
    assert layer.work() == 0
    assert (told(me), me.history().messages, me.profile().text, me.sessions()) == ([], (), "", [])
    assert all(e.plan.changes == () for e in me.ledger())
    assert len(told(other)) == 2
    # At the same instant by a clock that stands still: what is said now is said after it.
    me.observe([{"role": "user", "text": "I love zanzibar tea."}], session="s2")
    layer.work()
    assert told(me) == ["User likes zanzibar tea"]
    assert me.verify_forgotten()[0].returned == 0


def test_exactly_one_thing_is_asked_for(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    for wrong in ({}, {"topic": "tea", "session": "s1"}, {"everything": True, "memory": "m1"}):
        with pytest.raises(InputError, match="one thing at a time"):
            me.forget(**wrong)  # type: ignore[arg-type]


def test_forgetting_is_exempt_from_the_limit_and_previewed(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    for place in ("Leeds", "York", "Paris", "Rome", "Oslo", "Bonn", "Kyoto", "Lima"):
        me.remember(f"I visited {place}")
        said(me, clock, f"I like {place}.")
    layer.work()
    planned = me.forget(everything=True, dry_run=True)
    assert planned.plan_id is None
    assert planned.proof.erased["memories"] == len(told(me)) > 5
    done = me.forget(everything=True)
    assert done.proof.erased["memories"] == planned.proof.erased["memories"]


def test_an_administrator_forgets_a_user_or_a_tenant(layer: MemoryLayer, clock: Clock) -> None:
    mine, theirs = Scope("ming", "acme"), Scope("ming", "zeta")
    for scope in (mine, Scope("nora", "acme"), theirs):
        said(layer.scope(scope.user, tenant=scope.tenant), clock, "I love zanzibar tea.")
    layer.work()
    for refused in ("user", "auditor", ""):
        with pytest.raises(PlanRefused, match="administrator"):
            layer.forget_tenant("acme", role=refused)
    assert {str(s): p.erased["memories"] for s, p in layer.forget_tenant("acme", role="admin").items()} == {
        "acme/ming": 1,
        "acme/nora": 1,
    }
    assert told(layer.scope("ming", tenant="acme")) == told(layer.scope("nora", tenant="acme")) == []
    assert layer.scope("ming", tenant="acme").ledger()[-1].plan.actor.who == "admin"
    assert len(told(layer.scope("ming", tenant="zeta"))) == 1
    layer.forget_user("ming", tenant="zeta", role="admin")
    assert told(layer.scope("ming", tenant="zeta")) == []
    with pytest.raises(NotFound):
        layer.forget_tenant("nobody", role="admin")
    with pytest.raises(NotFound):
        layer.forget_user("nobody", role="admin")


def test_words_that_another_memory_says_too_stay(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I like Leeds.", "I live in Leeds.")
    me.observe([{"role": "assistant", "text": "Leeds it is."}], session="s1")
    layer.work()
    [likes] = [m for m in me.memories() if "likes" in m.text]
    me.forget(memory=likes.id)
    assert [m.text for m in me.history().messages] == ["I live in Leeds.", "Leeds it is."]


def test_the_assistants_echo_of_a_memory_goes(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I love zanzibar tea.")
    me.observe([{"role": "assistant", "text": "Noted: you love Zanzibar Tea, sir."}], session="s1")
    layer.work()
    me.forget(memory="m1")
    assert [m.text for m in me.history().messages] == ["Noted: you love ▇▇▇▇▇▇▇▇▇▇▇▇, sir."]


@pytest.mark.parametrize(
    ("statement", "echo", "left"),
    [
        ("我们的预算是50万。", "好的，预算50万，150万就超了。", "好的，预算▇▇▇，150万就超了。"),
        ("Our budget is $80,000.", "So $80,000 it is, not $180,000.", "So ▇▇▇▇▇▇▇ it is, not $180,000."),
    ],
)
def test_an_amount_goes_as_it_was_said(layer: MemoryLayer, clock: Clock, statement: str, echo: str, left: str) -> None:
    me = layer.scope("ming")
    said(me, clock, statement)
    me.observe([{"role": "assistant", "text": echo}], session="s1")
    layer.work()
    me.forget(memory="m1")
    assert [m.text for m in me.history().messages] == [left]


def test_a_dead_letter_that_is_run_again_brings_nothing_back(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I love zanzibar tea.", "I live in Leeds.")
    layer.work()
    me.forget(topic="zanzibar")
    store = layer._store
    number = store.write(lambda unit: unit.jobs.put(me.user, "distil", {"first": 1, "last": 2}, clock()))
    job = store.write(lambda unit: unit.jobs.claim(clock(), clock()))
    assert job is not None
    store.write(lambda unit: unit.jobs.fail(job, "wrong", clock(), None))
    layer.retry_job(number)
    layer.work()
    assert told(me) == ["User lives in Leeds"]


def test_an_older_statement_in_other_words_is_not_learnt(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    said(me, clock, "I love zanzibar tea.")
    layer.work()
    before = clock.now
    clock.advance(days=1)
    me.forget(memory="m1")
    me.observe([{"role": "user", "text": "I really like zanzibar tea!", "at": before.isoformat(), "id": "new"}])
    layer.work()
    assert told(me) == []
    assert "zanzibar" not in shown(me)


def test_what_came_back_by_other_means_is_seen_and_forgotten_again(tmp_path: Path, clock: Clock) -> None:
    with open_memory(tmp_path / "memory.db", clock=clock, worker=False) as layer:
        me = layer.scope("ming")
        said(me, clock, "I love zanzibar tea.")
        layer.work()
        with layer._store.read() as unit:
            [picture] = unit.memories.listing(me.user)
            [message] = unit.messages.get(me.user, [1])
        me.forget(memory="m1")
        assert [c.ok for c in layer.check() if c.name == "forgotten"] == [True]
        # Somebody writes into the database, past jiyi.
        layer._store.write(lambda unit: unit.messages.rewrite(me.user, [message]))
        assert [c.ok for c in layer.check() if c.name == "forgotten"] == [False]
        assert me.verify_forgotten()[0].returned == 1
        assert layer.forget_again() == [me.user]
        assert [p.returned for p in me.verify_forgotten()] == [0, 0]
        assert [c for c in layer.check() if not c.ok] == []
        assert picture.text not in repr(told(me))
    assert subprocess.run([sys.executable, "-c", SCAN, str(tmp_path), "zanzibar"]).returncode == 0


def test_an_export_brings_back_no_more_than_is_not_forgotten(tmp_path: Path, clock: Clock) -> None:
    """A backup from before a user existed, then that user's own export: the scope is empty, but it has forgotten."""
    file, backup = tmp_path / "memory.db", tmp_path / "old" / "backup.db"
    backup.parent.mkdir()
    with open_memory(file, clock=clock, worker=False) as layer:
        layer.backup(str(backup))
        me = layer.scope("ming")
        said(me, clock, "I love zanzibar tea.", "I live in Leeds.")
        me.export(backup.parent / "ming.zip")
        clock.advance(days=1)
        me.forget(topic="zanzibar")
    restore_database(backup, file, replace=True)
    with open_memory(file, clock=clock, worker=False) as layer:
        me = layer.scope("ming")
        assert len(me.receipts()) == 1
        me.import_(backup.parent / "ming.zip")
        assert told(me) == ["User lives in Leeds"]
        assert "zanzibar" not in shown(me)
        assert [c for c in layer.check() if not c.ok] == []
