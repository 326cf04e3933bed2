"""A preview of forgetting has a seal: what it showed is forgotten, or nothing (SPEC W1, F6)."""

from __future__ import annotations

import pytest

from jiyi.errors import PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock
from tests.pipelines.test_forgetting import said


def known(layer: MemoryLayer, clock: Clock, user: str = "ming") -> ScopedMemory:
    me = layer.scope(user)
    said(me, clock, "我们的数据库是 MySQL。", "I live in Leeds.")
    layer.work()
    return me


ASKED = (
    {"memory": "m1"},
    {"topic": "MySQL"},
    {"session": "s"},
    {"until": "2027-01-01T00:00:00Z"},
    {"everything": True},
)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: next(iter(asked)))
def test_what_was_shown_is_forgotten(layer: MemoryLayer, clock: Clock, asked: dict[str, object]) -> None:
    me = known(layer, clock)
    asked = {"session": me.sessions()[0].session} if "session" in asked else asked
    shown = me.forget(**asked, dry_run=True)  # type: ignore[arg-type]
    # Time passes and somebody looks around: neither changes what would go.
    clock.advance(hours=3)
    me.recall("MySQL")
    assert me.forget(**asked, dry_run=True).seal == shown.seal  # type: ignore[arg-type]
    done = me.forget(**asked, seal=shown.seal)  # type: ignore[arg-type]
    assert (done.plan_id is not None, done.seal) == (True, "")


@pytest.mark.parametrize("asked", ASKED[1:2] + ASKED[3:], ids=lambda asked: next(iter(asked)))
@pytest.mark.parametrize("more", ["MySQL 的端口是 3307。", "MySQL is slow."])
def test_what_has_changed_since_is_not(layer: MemoryLayer, clock: Clock, asked: dict[str, object], more: str) -> None:
    me = known(layer, clock)
    shown = me.forget(**asked, dry_run=True)  # type: ignore[arg-type]
    said(me, clock, more)
    with pytest.raises(PlanRefused, match="preview it again"):
        me.forget(**asked, seal=shown.seal)  # type: ignore[arg-type]
    assert len(me.history(limit=10).messages) == 3
    assert "MySQL" in str(me.memories(status=None))


def test_a_seal_is_of_one_request_and_one_user(layer: MemoryLayer, clock: Clock) -> None:
    ming, hong = known(layer, clock), known(layer, clock, "hong")
    seal = ming.forget(memory="m1", dry_run=True).seal
    assert hong.forget(memory="m1", dry_run=True).seal != seal
    for refused in (seal, "", "0" * 16, "\ud800"):
        with pytest.raises(PlanRefused):
            hong.forget(memory="m1", seal=refused)
    for other in ({"memory": "m2"}, {"topic": "MySQL"}, {"everything": True}):
        with pytest.raises(PlanRefused):
            ming.forget(**other, seal=seal)  # type: ignore[arg-type]
    assert len(ming.memories()) == len(hong.memories()) == 2


def test_a_seal_is_used_up(layer: MemoryLayer, clock: Clock) -> None:
    me = known(layer, clock)
    seal = me.forget(topic="MySQL", dry_run=True).seal
    me.forget(topic="MySQL", seal=seal)
    said(me, clock, "我们的数据库是 MySQL。")
    with pytest.raises(PlanRefused):
        me.forget(topic="MySQL", seal=seal)
