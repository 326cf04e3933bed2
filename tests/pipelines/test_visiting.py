"""Visitors: temporary identities that die by themselves, and what linking one comes to (SPEC S3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi import open_memory
from jiyi.domain.access import VISITOR_PREFIX, Visitor, read_visitor, visitor_token
from jiyi.domain.memory import Source, Status
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, MemoryPaused, NotFound
from jiyi.memory_layer import MemoryLayer
from jiyi.testing.strategies import scopes
from tests.conftest import Clock, count


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "reference"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[MemoryLayer]:
    where = "reference" if request.param == "reference" else str(tmp_path / "memory.db")
    with open_memory(where, clock=clock, worker=False) as opened:
        yield opened


def talk(memory: MemoryLayer, visitor: Visitor, *said: str) -> None:
    scope = memory.scope(visitor.scope.user, tenant=visitor.scope.tenant)
    scope.observe([{"role": "user", "text": text} for text in said], session="s1")


def texts(memory: MemoryLayer, user: str) -> set[str]:
    return {m.text for m in memory.scope(user).memories()}


def test_the_same_device_is_the_same_visitor_while_it_lives(memory: MemoryLayer, clock: Clock) -> None:
    one = memory.open_visitor(fingerprint="device 7")
    clock.advance(hours=71)
    again = memory.open_visitor(fingerprint="device 7")
    assert again == one
    others = [memory.open_visitor(fingerprint="device 8"), memory.open_visitor(tenant="acme", fingerprint="device 7")]
    others += [memory.open_visitor(), memory.open_visitor()]
    assert len({one.scope, *(o.scope for o in others)}) == 5
    assert "device" not in one.scope.user
    assert one.token not in repr(one)
    assert memory.visitor(one.token) == one.scope
    with pytest.raises(InputError):
        memory.open_visitor(fingerprint="")


@pytest.mark.parametrize("said", [("我住在成都。", "我喜欢喝绿茶。"), ("I live in Leeds.", "I like green tea.")])
def test_a_visitor_dies_after_72_hours_with_all_it_said(
    memory: MemoryLayer, clock: Clock, said: tuple[str, ...]
) -> None:
    visitor = memory.open_visitor(fingerprint="device 7")
    talk(memory, visitor, *said)
    memory.work()
    its = memory.scope(visitor.scope.user)
    assert len(its.memories()) == 2
    clock.advance(hours=71, minutes=59)
    memory.work()
    assert len(its.memories()) == 2
    clock.advance(minutes=1)
    assert memory.visitor(visitor.token) is None
    memory.work()
    assert its.memories(status=None) == []
    assert its.history().messages == ()
    [receipt] = its.receipts()
    assert receipt.erased["messages"] == 2
    assert [job.error for job in memory.dead_jobs()] == []
    # The device comes again: as a new visitor, who knows nothing.
    new = memory.open_visitor(fingerprint="device 7")
    assert memory.visitor(visitor.token) is None
    talk(memory, new, said[0])
    memory.work()
    assert len(its.memories()) == 1


def test_no_byte_of_a_dead_visitor_is_left_and_an_old_backup_brings_nothing_back(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "memory.db"
    with open_memory(path, clock=clock, worker=False) as memory:
        visitor = memory.open_visitor()
        talk(memory, visitor, "I live in Quedlinburg.")
        memory.work()
        memory.backup(str(tmp_path / "old.db"))
        clock.advance(hours=73)
        memory.work()
    assert b"Quedlinburg" not in b"".join(f.read_bytes() for f in tmp_path.glob("memory.db*"))
    path.write_bytes((tmp_path / "old.db").read_bytes())
    with open_memory(path, clock=clock, worker=False) as memory:
        assert memory.scope(visitor.scope.user).memories(status=None) == []


@pytest.mark.parametrize(
    ("known", "said", "new"),
    [
        ("我住在北京。", ("我搬到成都了。", "我喜欢喝绿茶。"), "绿茶"),
        ("I live in York.", ("I moved to Leeds.", "I like green tea."), "green tea"),
    ],
)
def test_linking_is_seen_before_done_and_can_be_undone(
    memory: MemoryLayer, clock: Clock, known: str, said: tuple[str, ...], new: str
) -> None:
    me = memory.scope("ming")
    me.remember(known)
    clock.advance(hours=1)
    visitor = memory.open_visitor()
    talk(memory, visitor, *said)
    before = me.memories(status=None)
    shown = memory.link(visitor.token, "ming", dry_run=True)
    assert (shown.plan_id, me.memories(status=None)) == (None, before)
    done = memory.link(visitor.token, "ming", who="key 1", surface="http")
    assert [c.after and c.after.text for c in done.plan.changes] == [
        c.after and c.after.text for c in shown.plan.changes
    ]
    assert known in texts(memory, "ming")  # though the visitor said that it changed
    assert any(new in text for text in texts(memory, "ming"))
    assert {m.source for m in me.memories() if new in m.text} == {Source.IMPORTED}
    assert len(me.questions()) == 1
    entry = me.ledger()[-1]
    assert (entry.plan.verb.value, entry.plan.actor.who, entry.plan.actor.surface) == ("link", "key 1", "http")
    assert memory.link(visitor.token, "ming").plan_id is None
    assert done.plan_id is not None
    me.undo(done.plan_id)
    assert me.memories(status=None) == before
    # The visitor's own memory dies on its day, and the user's stays.
    done = memory.link(visitor.token, "ming")
    clock.advance(hours=73)
    memory.work()
    assert memory.scope(visitor.scope.user).memories(status=None) == []
    assert any(new in text for text in texts(memory, "ming"))


def test_what_the_user_forgot_does_not_come_back_by_a_link(memory: MemoryLayer, clock: Clock) -> None:
    visitor = memory.open_visitor()
    talk(memory, visitor, "I like green tea.", "I live in Leeds.")
    me = memory.scope("ming")
    me.remember("I like green tea.")
    clock.advance(hours=1)
    me.forget(topic="green tea")
    memory.link(visitor.token, "ming")
    assert texts(memory, "ming") == {"User lives in Leeds"}


def test_a_link_needs_a_living_visitor_of_the_same_tenant(memory: MemoryLayer, clock: Clock) -> None:
    visitor = memory.open_visitor(tenant="acme")
    talk(memory, visitor, "I live in Leeds.")
    for wrong, tenant in (
        (visitor.token, "beta"),
        (visitor.token + "x", "acme"),
        ("", "acme"),
        (VISITOR_PREFIX, "acme"),
    ):
        with pytest.raises(NotFound):
            memory.link(wrong, "ming", tenant=tenant)
    paused = memory.scope("ming", tenant="acme")
    paused.pause()
    with pytest.raises(MemoryPaused):
        memory.link(visitor.token, "ming", tenant="acme")
    paused.resume()
    clock.advance(hours=72)
    with pytest.raises(NotFound):
        memory.link(visitor.token, "ming", tenant="acme")
    assert paused.memories(status=None) == []


SAID = ("I live in Leeds.", "I moved to York.", "I like green tea.", "I don't like green tea.", "My budget is 500 dollars.",
        "我们的数据库用的是 MySQL。", "数据库从 MySQL 换成 TiDB 了。", "我离职了。", "我在星图公司上班。", "我的预算是300万。")  # fmt: skip


@settings(max_examples=count("machine_examples"))
@given(
    st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from([s.value for s in Source])), max_size=4),
    st.lists(st.sampled_from(SAID), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_link_never_ends_what_the_user_has(known: list[tuple[str, str]], said: list[str], late: bool) -> None:
    clock = Clock()
    with open_memory("reference", clock=clock, worker=False) as memory:
        visitor, me = memory.open_visitor(), memory.scope("ming")
        if not late:
            talk(memory, visitor, *said)
            clock.advance(hours=1)
        for text, source in known:
            me.remember(text, source=source)
            clock.advance(hours=1)
        if late:
            talk(memory, visitor, *said)
        before = {m.seq: m for m in me.memories(status=None)}
        done = memory.link(visitor.token, "ming")
        after = {m.seq: m for m in me.memories(status=None)}
        live = {seq for seq, m in before.items() if m.status is Status.LIVE}
        assert live <= {seq for seq, m in after.items() if m.status is Status.LIVE}
        assert {seq: before[seq].text for seq in live} == {seq: after[seq].text for seq in live}
        if done.plan_id is not None:
            me.undo(done.plan_id)
        assert {m.seq: m for m in me.memories(status=None)} == before


@given(
    scopes(),
    st.binary(min_size=16, max_size=32),
    st.text(max_size=9),
)
def test_only_our_own_tokens_are_read(scope: Scope, secret: bytes, junk: str) -> None:
    at = Clock()().replace(microsecond=0)
    token = visitor_token(scope, at, secret)
    assert read_visitor(token, secret) == (scope, at)
    assert read_visitor(token, secret + b"x") is None
    for wrong in (
        token[:-2],
        token.replace(".", "x."),
        junk,
        VISITOR_PREFIX + junk,
        token + junk if junk.strip() else "",
    ):
        assert read_visitor(wrong, secret) in (None, (scope, at) if wrong == token else None)
