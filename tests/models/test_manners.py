"""The model path against a server with each provider's manners (SPEC C7, U8): no case loses a message, believes what was
not said, or blocks `observe`; what failed is in the dead letters with its reason, and can be run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jiyi.domain.memory import Status
from jiyi.memory_layer import MemoryLayer
from tests.conftest import Clock
from tests.models.conftest import OpenWith
from tests.models.server import Manner, Provider, items

ZH, EN = "我在宁波一家律所上班，周末带儿子踢球。", "I teach chemistry in Leeds and my sister runs a bakery."
GOOD = {
    ZH: items({"content": "用户周末带儿子踢球", "messages": [1]}),
    EN: items({"content": "User's sister runs a bakery", "messages": [1]}),
}
KEPT = {ZH: "用户周末带儿子踢球", EN: "User's sister runs a bakery"}


def talk(layer: MemoryLayer, text: str) -> None:
    """One turn, observed and read."""
    layer.scope("u1").observe(
        [{"role": "user", "text": text, "id": "a1", "at": "2026-03-01T09:00:00+08:00"}], session="s1"
    )
    layer.work()


def texts(layer: MemoryLayer) -> list[str]:
    return [m.text for m in layer.scope("u1").memories()]


def stored(layer: MemoryLayer) -> list[str]:
    return [m.text for m in layer.scope("u1").history(session="s1").messages]


def finds(layer: MemoryLayer, text: str) -> None:
    """The message is stored, and what the model said of it is believed."""
    assert stored(layer) == [text]
    assert KEPT[text] in texts(layer)
    assert layer.dead_jobs() == []


@pytest.mark.parametrize("text", [ZH, EN])
@pytest.mark.parametrize(
    "wrapping",
    [
        "{}",
        "```json\n{}\n```",
        "Here you are:\n\n{}\n\nAnything else?",
        '<think>they said {{"memories": 1}}</think>\n{}',
        "\ufeff{}",
    ],
)
def test_a_valid_answer_in_any_wrapping_is_believed(
    server: Provider, open_with: OpenWith, wire: str, text: str, wrapping: str
) -> None:
    server.then(Manner(wrapping.format(GOOD[text])))
    layer = open_with(server, file=True, wire=wire)
    talk(layer, text)
    finds(layer, text)
    assert len(server.requests) == 1


@pytest.mark.parametrize("text", [ZH, EN])
def test_an_answer_by_tool_call_is_believed(server: Provider, open_with: OpenWith, wire: str, text: str) -> None:
    server.then(Manner(GOOD[text], tool=True))
    layer = open_with(server, wire=wire, structured="tool")
    talk(layer, text)
    finds(layer, text)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_in_pieces_is_believed(server: Provider, open_with: OpenWith, wire: str, stream: bool) -> None:
    server.then(Manner(GOOD[ZH], pieces=9, pause=0.02))
    layer = open_with(server, wire=wire, stream=stream)
    talk(layer, ZH)
    finds(layer, ZH)
    assert bool(server.requests[0].get("stream")) is stream
    assert layer.usage().calls[0].tokens_out == 100


@pytest.mark.parametrize("text", [ZH, EN])
def test_the_plain_shape_of_a2_is_read(server: Provider, open_with: OpenWith, wire: str, text: str) -> None:
    plain = [{"content": KEPT[text], "category": "technical", "importance": 2}]
    server.then(Manner(json.dumps({"memories": plain}, ensure_ascii=False)))
    layer = open_with(server, wire=wire)
    talk(layer, text)
    finds(layer, text)


BAD = {
    "empty": Manner(""),
    "truncated": Manner(GOOD[ZH][:60], finish="length"),
    "cut off without a word": Manner(GOOD[ZH][:60]),
    "no JSON": Manner("好的，我都记住了。"),
    "another shape": Manner('{"facts": [{"fact": "用户周末带儿子踢球"}]}'),
    "items of another shape": Manner('{"memories": [{"text": "用户周末带儿子踢球"}, "x", 3]}'),
    "lines that are not there": Manner(items({"content": "用户周末带儿子踢球", "messages": [7]})),
    "a stream that breaks off": Manner(GOOD[ZH], pieces=4, finish=None),
}


@pytest.mark.parametrize("manner", BAD.values(), ids=BAD.keys())
def test_an_answer_that_cannot_be_used_is_asked_for_once_more(
    server: Provider, open_with: OpenWith, wire: str, manner: Manner
) -> None:
    server.then(manner, Manner(GOOD[ZH]))
    layer = open_with(server, wire=wire)
    talk(layer, ZH)
    finds(layer, ZH)
    assert len(server.requests) == 2
    again = server.requests[1]["messages"]
    assert [m["role"] for m in again][-2:] == ["assistant", "user"]
    assert "JSON" in again[-1]["content"]


@pytest.mark.parametrize("manner", BAD.values(), ids=BAD.keys())
def test_twice_unusable_is_a_dead_letter_that_can_be_run_again(
    server: Provider, open_with: OpenWith, wire: str, manner: Manner
) -> None:
    server.then(manner)
    layer = open_with(server, wire=wire)
    talk(layer, ZH)
    [letter] = layer.dead_jobs()
    assert letter.error.startswith("UnusableAnswer: custom/m1 was asked twice")
    assert stored(layer) == [ZH]
    assert KEPT[ZH] not in texts(layer)
    assert len(server.requests) == 2
    server.then(Manner(GOOD[ZH]))
    layer.retry_job(letter.id)
    layer.work()
    finds(layer, ZH)


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        (ZH, "用户在苏州一家律所上班"),
        (ZH, "用户有两个儿子，周末踢球"),
        (ZH, "用户周末不带儿子踢球"),
        (ZH, "用户对花生过敏"),
        (ZH, "用户2019年起在律所上班"),
        (EN, "User teaches chemistry in York"),
        (EN, "User's sister Emma runs a bakery"),
        (EN, "User does not teach chemistry in Leeds"),
        (EN, "User is allergic to peanuts"),
        (EN, "User has taught chemistry in Leeds since 2019"),
    ],
)
def test_what_was_not_said_is_not_believed(
    server: Provider, open_with: OpenWith, wire: str, text: str, invented: str
) -> None:
    server.then(Manner(items({"content": invented, "messages": [1]}, {"content": KEPT[text], "messages": [1]})))
    layer = open_with(server, wire=wire)
    talk(layer, text)
    finds(layer, text)
    assert not [t for t in texts(layer) if t.startswith(invented)]


def test_the_same_thing_said_again_and_again_is_one_memory(server: Provider, open_with: OpenWith, wire: str) -> None:
    said = {"content": KEPT[ZH], "messages": [1]}
    server.then(Manner(items(*[said] * 5, {"content": "用户周末会带儿子踢球。", "messages": [1]})))
    layer = open_with(server, wire=wire)
    talk(layer, ZH)
    finds(layer, ZH)
    assert sum("踢球" in t for t in texts(layer)) == 1


def test_retry_after_is_honoured(server: Provider, open_with: OpenWith, wire: str, clock: Clock) -> None:
    server.then(Manner(status=429, headers={"Retry-After": "0.01"}), Manner(GOOD[ZH]))
    layer = open_with(server, wire=wire)
    talk(layer, ZH)
    finds(layer, ZH)
    assert len(server.requests) == 2

    # One that is too long to wait for is left to the job, which waits at least as long.
    server.then(Manner(status=429, headers={"Retry-After": "90"}), Manner(items()))
    layer.scope("u1").observe([{"role": "user", "text": EN, "id": "a2"}], session="s2")
    layer.work()
    assert len(server.requests) == 3
    clock.advance(seconds=89)
    layer.work()
    assert len(server.requests) == 3
    clock.advance(seconds=2)
    layer.work()
    assert len(server.requests) == 4
    assert layer.lag().waiting == 0


FAULTS = {
    "500": Manner(status=500, raw=b"<html>oops</html>"),
    "503": Manner(status=503),
    "429": Manner(status=429, raw=b'{"error": {"type": "rate_limit_error"}}'),
    "time-out": Manner(GOOD[ZH], wait=10),
    "slow stream": Manner(GOOD[ZH], pieces=40, pause=0.3),
    "hang-up": Manner(hang_up=True),
    "no JSON": Manner(raw=b"<html>login</html>"),
    "JSON of no use": Manner(raw=b"[1, 2]"),
}


@pytest.mark.parametrize("manner", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_tried_again_and_then_a_dead_letter(
    server: Provider, open_with: OpenWith, wire: str, manner: Manner, clock: Clock
) -> None:
    server.then(manner)
    layer = open_with(server, file=True, wire=wire, timeout_seconds=0.2, deadline_seconds=0.6, retries=0)
    talk(layer, ZH)
    assert stored(layer) == [ZH]
    assert layer.dead_jobs() == []
    assert (layer.lag().waiting, layer.usage().today.failed) == (1, 1)
    clock.advance(hours=2)
    layer.work()
    [letter] = layer.dead_jobs()
    assert letter.attempts == 2
    assert letter.error.startswith("ModelUnavailable: model custom/m1: ")
    assert KEPT[ZH] not in texts(layer)
    server.then(Manner(GOOD[ZH]))
    layer.close()
    # With the usual patience: a busy machine may need longer for an answer than this test waits for a fault.
    patient = open_with(server, file=True, wire=wire)
    patient.retry_job(letter.id)
    patient.work()
    finds(patient, ZH)


@pytest.mark.parametrize("status", [401, 403, 404, 400, 422])
def test_a_refusal_is_a_dead_letter_at_once(server: Provider, open_with: OpenWith, wire: str, status: int) -> None:
    server.then(Manner(status=status, raw=b'{"error": {"type": "authentication_error", "message": "bad key"}}'))
    layer = open_with(server, wire=wire)
    talk(layer, ZH)
    [letter] = layer.dead_jobs()
    assert f": model custom/m1: HTTP {status} (authentication_error)" in letter.error
    assert "bad key" not in letter.error
    assert stored(layer) == [ZH]


def test_observing_goes_on_while_the_model_is_slow(server: Provider, open_with: OpenWith, wire: str) -> None:
    """What waits for the model holds back neither messages nor rules, of this user or another."""
    server.then(Manner(status=503))
    layer = open_with(server, wire=wire, retries=0)
    talk(layer, ZH)
    me = layer.scope("u1")
    me.observe([{"role": "user", "text": "我对虾过敏", "id": "b1"}], session="s1")
    layer.work()
    assert any("虾" in t for t in texts(layer))
    assert layer.lag().waiting > 0


@pytest.mark.parametrize(("limit", "value"), [("tokens_per_day", 6_000), ("money_per_day", 0.02)])
def test_the_spending_limit_stops_calls(
    server: Provider, open_with: OpenWith, wire: str, clock: Clock, limit: str, value: float
) -> None:
    server.then(Manner(items()))
    prices = {"price_in": 2.0, "price_out": 8.0} if limit == "money_per_day" else {}
    layer = open_with(server, file=True, wire=wire, output_tokens=1000, **{limit: value}, **prices)
    for number in range(8):
        layer.scope("u1").observe([{"role": "user", "text": f"{ZH}{number}"}], session=f"s{number}")
    layer.work()
    usage = layer.usage()
    asked = len(server.requests)
    assert 0 < asked < 8
    assert usage.today.calls == asked
    assert usage.today.tokens <= 6_000
    assert usage.today.cost <= 0.02
    letters = layer.dead_jobs()
    assert len(letters) == 8 - asked
    assert all(letter.error.startswith("SpendingLimitReached: ") and limit in letter.error for letter in letters)
    clock.advance(days=1)
    for letter in letters[:asked]:
        layer.retry_job(letter.id)
    layer.work()
    assert len(server.requests) > asked


def test_what_is_refused_is_asked_one_step_lower(server: Provider, open_with: OpenWith) -> None:
    server.refused_ways = {"schema", "tool", "json"}
    server.then(Manner(GOOD[ZH]))
    layer = open_with(server, structured="schema")
    talk(layer, ZH)
    finds(layer, ZH)
    assert len(server.requests) == 4
    layer.scope("u1").observe([{"role": "user", "text": EN}], session="s2")
    layer.work()
    assert len(server.requests) == 5  # what was refused once is not tried again


def test_a_memory_is_read_once_and_its_messages_stay(server: Provider, open_with: OpenWith, wire: str) -> None:
    server.then(Manner(items()))
    layer = open_with(server, file=True, wire=wire, segment_messages=10)
    me = layer.scope("u1")
    for number in range(25):
        me.observe([{"role": "user", "text": f"第{number}次在图书馆看书"}], session="s1")
    layer.work()
    said = [m["content"] for r in server.requests for m in r["messages"] if m["role"] == "user"]
    assert [s.count("图书馆") for s in said] == [10, 10, 5]
    assert len(me.history(session="s1", limit=100).messages) == 25


def test_the_key_is_nowhere_to_be_seen(
    server: Provider, open_with: OpenWith, wire: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = "-".join(["sk", "a1b2c3" * 6])
    monkeypatch.setenv("MY_KEY", key)
    body = json.dumps({"error": {"type": "authentication_error", "message": f"Incorrect API key: {key}"}})
    server.then(Manner(status=401, raw=body.encode()))
    caplog.set_level("DEBUG")
    layer = open_with(server, file=True, wire=wire, key_env="MY_KEY")
    talk(layer, ZH)
    [letter] = layer.dead_jobs()
    sent = server.headers[0]
    assert key in (sent.get("authorization", "") + sent.get("x-api-key", ""))
    place = layer.info().place
    layer.close()
    everything = letter.error + caplog.text + repr(layer.__dict__)
    assert key not in everything
    for path in Path(place).parent.iterdir():
        assert key.encode() not in path.read_bytes()


def test_everything_of_a_reading_can_be_undone(server: Provider, open_with: OpenWith, wire: str) -> None:
    server.then(Manner(GOOD[ZH]))
    layer = open_with(server, file=True, wire=wire)
    me = layer.scope("u1")
    talk(layer, ZH)
    [entry] = [e for e in me.ledger() if e.plan.actor.who == "custom/m1"]
    assert "distil.zh v" in entry.plan.reason
    me.undo(f"p{entry.seq}")
    assert KEPT[ZH] not in [m.text for m in me.memories(status=Status.LIVE)]
