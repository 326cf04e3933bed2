"""What a host may hand in, and what it is told when it may not (SPEC C1, S5). Nothing is half stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.errors import InputError, PlanRefused
from jiyi.memory_layer import MemoryLayer
from tests.conftest import Clock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GOOD: dict[str, Any] = {"id": "a", "session": "s1", "role": Role.USER, "text": "hello", "at": NOON}


def endless() -> dict[str, Any]:
    part: dict[str, Any] = {"type": "tool_use"}
    part["input"] = part
    return part


@pytest.mark.parametrize(
    "wrong",
    [
        {"at": NOON.replace(tzinfo=None)}, {"role": "boss"}, {"text": None}, {"labels": {"topic": b"bytes"}},
        {"session": "a\nb"}, {"id": "x" * 201}, {"name": "\ud800"}, {"at": "now"},
    ],
    ids=str,
)  # fmt: skip
def test_a_message_that_the_host_put_together_is_checked_too(layer: MemoryLayer, wrong: dict[str, Any]) -> None:
    me = layer.scope("ming")
    with pytest.raises(InputError, match="message 2 of 2"):
        me.observe([IncomingMessage(**GOOD), IncomingMessage(**{**GOOD, "id": "b", **wrong})])
    assert me.history().messages == ()
    assert me.observe([IncomingMessage(**GOOD)]).new == 1


@pytest.mark.parametrize("part", [endless(), {"type": "tool_use", 3: "a key that is no text"}], ids=["endless", "keys"])
def test_a_tool_call_that_is_no_json_is_refused(layer: MemoryLayer, part: dict[str, Any]) -> None:
    me = layer.scope("ming")
    with pytest.raises(InputError, match="cannot be written as JSON"):
        me.observe([{"role": "assistant", "content": [part]}])
    assert me.history().messages == ()


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+08:00", "9999-12-31T23:59:59Z", "9999-12-31T12:00:00-12:00"])
def test_an_instant_that_some_zone_cannot_show_is_refused(layer: MemoryLayer, at: str) -> None:
    """It would stop every later context of this user, wherever a date is written in the user's zone."""
    me = layer.scope("ming")
    with pytest.raises(InputError, match="end of the calendar"):
        me.observe([{"role": "user", "text": "我喜欢绿茶。", "at": at}])
    assert me.history().messages == ()


@pytest.mark.parametrize("at", ["0001-01-02T00:00:00Z", "9999-12-30T00:00:00Z"])
def test_the_ends_of_what_is_taken_can_be_shown_everywhere(layer: MemoryLayer, at: str) -> None:
    layer.scope("ming").observe([{"role": "user", "text": "我喜欢绿茶。", "at": at}], session="s1")
    layer.work()
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):
        assert "绿茶" in layer.scope("ming", tz=zone).context("我喜欢什么茶？绿茶？", session="s1").text


def test_one_moment_in_two_notations_is_one_message(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    for at, new in (("2026-03-01T09:00:00+08:00", 1), ("2026-03-01T01:00:00Z", 0)):
        assert me.observe([{"role": "user", "text": "你好", "at": at}]).new == new


def test_a_clock_set_back_keeps_no_job_waiting(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": "我住在杭州。", "at": "2026-03-01T09:00:00+08:00"}])
    clock.advance(days=-400)
    me.end("default")
    assert [m.value for m in me.memories()] == ["杭州"]


@pytest.mark.parametrize("limit", [10**6, 10**30])
def test_a_limit_may_be_as_large_as_one_likes(layer: MemoryLayer, limit: int) -> None:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": "我喜欢绿茶。"}], session="s1")
    layer.work()
    assert me.recall("绿茶", limit=limit).items
    assert len(me.history(limit=limit).messages) == len(me.sessions(limit)) == 1
    with pytest.raises(InputError, match="1 session or more"):
        me.sessions(-1)


@pytest.mark.parametrize("importance", [0, 6, 2.5, float("nan"), "3"])
def test_importance_is_one_of_five_numbers(layer: MemoryLayer, importance: Any) -> None:
    me = layer.scope("ming")
    with pytest.raises(InputError, match="use 1"):
        me.remember("我喜欢绿茶", importance=importance)
    assert me.memories(status=None) == []


def test_what_the_gateway_refuses_holds_back_nothing_said_beside_it(layer: MemoryLayer, clock: Clock) -> None:
    """SPEC W1: the refusal is a dead letter that can be run again when the limit was raised."""
    me = layer.scope("ming")
    teas = ("绿茶", "红茶", "白茶", "黑茶", "花茶", "岩茶")
    me.observe([{"role": "user", "text": f"我喜欢{tea}。"} for tea in teas])
    layer.work()
    clock.advance(minutes=1)
    me.observe([
        {"role": "user", "text": "".join(f"我不再喜欢{tea}了。" for tea in teas)}, {"role": "user", "text": "我住在杭州。"}
    ])  # fmt: skip
    layer.work()
    assert "杭州" in [m.value for m in me.memories()]
    [dead] = layer.dead_jobs()
    assert dead.error.startswith("PlanRefused")
    assert dead.attempts == 1
    assert layer.lag().waiting == 0
    layer.retry_job(dead.id)
    layer.work()
    [dead] = layer.dead_jobs()
    with pytest.raises(PlanRefused, match="admin"):
        layer.retry_job(dead.id, role="user")
    layer.retry_job(dead.id, role="admin")
    layer.work()
    assert layer.dead_jobs() == []
    assert [m.value for m in me.memories() if m.value in teas and not (m.triple and m.triple.negated)] == []
    assert (me.ledger()[-1].plan.actor.who, me.ledger()[-1].plan.actor.surface) == ("admin", "job")
