"""The user's say over the memory as a whole: the dial, pause and resume, consent, on every store (SPEC C5)."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.assembly import assemble, open_memory
from jiyi.domain.plans import Verb, replay_standing
from jiyi.domain.standing import UNDECIDED, Consent, Detail, RetentionPolicy, Standing
from jiyi.errors import InputError, MemoryPaused, NotFound, PlanRefused, SettingsError, TooLarge
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Lane
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings, read_settings
from jiyi.stores.reference import open_reference
from tests.conftest import Clock


def say(me: ScopedMemory, *texts: str) -> None:
    me.observe([{"role": "user", "text": text} for text in texts], session="s1")


# ------------------------------------------------------------------ the dial


def test_the_deployment_decides_until_the_user_does(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    assert (me.retention().detail, me.retention().chosen_at) == (Detail.BALANCED, None)
    receipt = me.retention("minimal")
    assert (receipt.plan_id, receipt.standing) == ("p1", Standing(Detail.MINIMAL, clock.now))
    assert (me.retention().detail, me.retention().chosen_at) == (Detail.MINIMAL, clock.now)
    clock.advance(days=1)
    assert me.retention("minimal").plan_id is None
    assert me.retention().chosen_at == clock.now - timedelta(days=1)
    assert layer.scope("nora").retention().detail is Detail.BALANCED


def test_the_default_is_a_setting() -> None:
    settings = read_settings({"JIYI_RETENTION__DETAIL": "minimal"})
    assert settings.retention.detail is Detail.MINIMAL
    with pytest.raises(SettingsError, match="use one of minimal, balanced, everything"):
        read_settings({"JIYI_RETENTION__DETAIL": "some"})
    kept = Settings(path="reference", worker=False, retention=RetentionPolicy(detail=Detail.MINIMAL))
    with open_memory(settings=kept) as layer:
        me = layer.scope("ming")
        assert me.retention().detail is Detail.MINIMAL
        me.retention("everything")
        assert me.retention().detail is Detail.EVERYTHING


def test_a_change_stands_in_the_ledger_with_who_when_and_where(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming", surface="console")
    me.retention("everything")
    me.consent(given=True, notice="第 3 版")
    me.pause()
    me.resume()
    entries = me.ledger()
    assert [e.plan.verb for e in entries] == [Verb.RETENTION, Verb.CONSENT, Verb.PAUSE, Verb.RESUME]
    assert {(e.plan.actor.who, e.plan.actor.surface, e.plan.at) for e in entries} == {("user", "console", clock.now)}
    assert replay_standing(entries) == Standing(Detail.EVERYTHING, clock.now, None, Consent(True, "第 3 版", clock.now))


def test_a_preview_changes_nothing(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    receipts = [
        me.retention("minimal", dry_run=True), me.pause(dry_run=True), me.consent(given=False, dry_run=True),
    ]  # fmt: skip
    assert [(r.plan_id, r.plan.standing is None) for r in receipts] == [(None, False)] * 3
    assert me.resume(dry_run=True).plan.standing is None
    assert (me.ledger(), me.retention().detail, me.retention().paused) == ([], Detail.BALANCED, False)


def test_undo_takes_a_decision_back_exactly(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    first = me.consent(given=True, notice="v1")
    clock.advance(days=1)
    second = me.retention("minimal")
    before = me.retention()
    clock.advance(days=1)
    third = me.consent(given=False, notice="v2")
    with pytest.raises(PlanRefused, match=r"what is kept .* changed since"):
        me.undo(second.plan_id or "")
    back = me.undo(third.plan_id or "")
    assert me.retention() == before
    with pytest.raises(PlanRefused, match="is undone already"):
        me.undo(third.plan_id or "")
    me.undo(back.plan_id or "")
    assert me.retention().consent == Consent(False, "v2", clock.now)
    me.undo("p5")
    me.undo(second.plan_id or "")
    me.undo(first.plan_id or "")
    assert me.retention().consent is None
    assert replay_standing(me.ledger()) == UNDECIDED


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda me: me.retention("some"), "use one of minimal, balanced, everything"),
        (lambda me: me.consent(given=True), "consent to what"),
        (lambda me: me.consent(given="yes", notice="v1"), "use True or False"),
        (lambda me: me.consent(given=True, notice=7), "consent to what"),
    ],
)
def test_what_cannot_be_decided(layer: MemoryLayer, call: Callable[[ScopedMemory], Any], says: str) -> None:
    me = layer.scope("ming")
    with pytest.raises(InputError, match=says):
        call(me)
    with pytest.raises(TooLarge):
        me.consent(given=False, notice="x" * 501)
    assert me.ledger() == []


def test_a_notice_is_redacted(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    me.consent(given=True, notice="v1, ask 13812345678")
    consent = me.retention().consent
    assert consent is not None
    assert "13812345678" not in consent.notice
    assert "13812345678" not in repr(me.ledger())


# ------------------------------------------------------------------ pause


@pytest.mark.parametrize(
    ("said", "remembered"), [("我搬到苏州了。", "我的猫叫年糕"), ("I moved to York.", "My dog is called Biscuit")]
)
def test_nothing_said_while_paused_is_kept(layer: MemoryLayer, said: str, remembered: str) -> None:
    me, you = layer.scope("ming"), layer.scope("nora")
    say(me, "我喜欢绿茶。")
    me.pause()
    assert [m.text for m in me.memories()] == ["用户喜欢绿茶"], "what was said before is distilled first"
    observed = me.observe([{"role": "user", "text": said}], session="s1")
    assert (observed.messages, observed.new, observed.paused) == ((), 0, True)
    receipt = me.remember(remembered)
    assert (receipt.plan_id, receipt.paused, receipt.memories) == (None, True, ())
    assert not you.observe([{"role": "user", "text": said}], session="s1").paused
    layer.work()
    assert len(you.memories()) == 1
    assert "绿茶" in me.context("绿茶").text
    me.resume()
    layer.work()
    assert [m.text for m in me.memories()] == ["用户喜欢绿茶"]
    assert len(me.history().messages) == 1
    say(me, said)
    layer.work()
    assert len(me.memories()) == 2


def test_changes_by_hand_name_the_way_on(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    made = me.remember("我喜欢绿茶")
    me.pause()
    for change in (
        lambda: me.correct("m1", "我喜欢红茶"), lambda: me.undo(made.plan_id or ""), lambda: me.undo("p2"),
    ):  # fmt: skip
        with pytest.raises(MemoryPaused, match="until it is resumed"):
            change()
    assert me.forget(memory="m1").plan_id == "p3"
    assert me.memories(status=None) == []
    assert me.retention("minimal").plan_id == "p4"
    assert me.resume().plan_id == "p5"
    assert me.resume().plan_id is None


def test_reads_are_not_counted_while_paused(layer: MemoryLayer) -> None:
    me = layer.scope("ming")
    me.remember("我喜欢绿茶")
    me.pause()
    for _ in range(3):
        assert me.recall("绿茶").items
        assert me.context("绿茶").items
    me.resume()
    layer.work()
    with layer._store.read() as unit:
        assert unit.memories.heat(me.user, [1]) == {}


def test_a_job_in_hand_when_the_pause_comes_leaves_nothing(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, "我喜欢绿茶。")
    store = layer._store
    job = store.write(lambda unit: unit.jobs.claim(clock.now, clock.now + timedelta(minutes=5)))
    assert job is not None
    # Another process has it in hand, so this one's pause cannot wait for it.
    me.pause()
    layer._engine._runners[Lane.QUICK]._run(job)
    assert me.memories() == []
    assert me.retention().unread == 2
    me.resume()
    clock.advance(minutes=6)
    layer.work()
    assert [m.text for m in me.memories()] == ["用户喜欢绿茶"]
    assert me.retention().unread == 0


SCAN = "import hashlib,pathlib,sys\nfor p in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n if not p.name.endswith('-shm'): print(p.name, hashlib.sha256(p.read_bytes()).hexdigest())"


def files(folder: Path) -> str:
    """What the files hold. From another process: reading them beside SQLite in this one would drop its locks."""
    return subprocess.run([sys.executable, "-c", SCAN, str(folder)], capture_output=True, check=True, text=True).stdout


def rows(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()


ACTS = st.lists(
    st.sampled_from(
        [
            lambda me: say(me, "我住在杭州。", "I moved to York."),
            lambda me: me.remember("预算是80万"),
            lambda me: me.recall("绿茶", limit=3),
            lambda me: me.context("what tea do I like"),
            lambda me: me.history("绿茶"),
            lambda me: me.correct("m1", "我喜欢红茶"),
            lambda me: me.undo("p1"),
            lambda me: me.undo("p99"),
            lambda me: me.end("s1"),
            lambda me: me.feedback("m1", "helpful"),
            lambda me: me.redistil(),
            lambda me: me.redistil(dry_run=True),
            lambda me: me.upkeep(),
            lambda me: me.summaries(),
            lambda me: me.pause(),
            lambda me: me.retention("minimal", dry_run=True),
            lambda me: me.forget(memory="m1", dry_run=True),
            lambda me: me.profile(),
        ]
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("index", ["postings", "native"])
@given(acts=ACTS, minutes=st.integers(0, 600))
def test_not_a_byte_changes_while_paused(index: str, acts: list[Callable[[ScopedMemory], Any]], minutes: int) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_memory(
            folder / "memory.db", clock=clock, worker=False, memory_index=index, message_index=index,
            access={"flush_after": 2},
        ) as layer:  # fmt: skip
            me = layer.scope("ming")
            say(me, "我喜欢绿茶。")
            layer.work()
            # A job that could not be done before the pause, and is due again while it lasts.
            layer._store.write(lambda unit: unit.jobs.put(me.user, "of a newer jiyi", {}, clock.now))
            me.pause()
            before = rows(folder), files(folder)
            for act in acts:
                clock.advance(minutes=minutes)
                with suppress(MemoryPaused, NotFound):
                    act(me)
                layer.work()
            assert (rows(folder), files(folder)) == before


@given(acts=ACTS)
def test_not_a_value_changes_while_paused(acts: list[Callable[[ScopedMemory], Any]]) -> None:
    clock, store = Clock(), open_reference()
    layer = MemoryLayer(store, assemble(Settings(worker=False)), clock)
    me = layer.scope("ming")
    say(me, "我喜欢绿茶。")
    me.pause()
    before = store.data.state.scopes
    for act in acts:
        clock.advance(minutes=3)
        with suppress(MemoryPaused, NotFound):
            act(me)
        layer.work()
    assert store.data.state.scopes == before
    layer.close()


@pytest.mark.parametrize("text", ["我喜欢绿茶。", "I like green tea."])
def test_verbs_of_the_user_say_that_they_must_wait(layer: MemoryLayer, tmp_path: Path, text: str) -> None:
    me = layer.scope("ming")
    say(me, text)
    file = tmp_path / "USER.md"
    me.write_profile(file)
    me.pause()
    before = me.ledger()
    for act in (
        lambda: me.correct("m1", "我喜欢红茶"),
        lambda: me.feedback("m1", "helpful"),
        lambda: me.redistil(),
        lambda: me.upkeep(),
        lambda: me.read_profile(file),
        lambda: me.undo("p1"),
    ):
        with pytest.raises(MemoryPaused, match="until it is resumed"):
            act()
    assert layer.redistil() == 0
    assert me.ledger() == before
    assert me.end("s1") is None


def test_forgetting_everything_leaves_what_the_user_decided(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.consent(given=True, notice="v2")
    me.retention("minimal")
    say(me, "我喜欢绿茶。", "I like green tea.")
    layer.work()
    before = me.retention()
    me.pause()
    clock.advance(days=1)
    me.forget(everything=True)
    assert me.memories(status=None) == []
    assert me.retention().paused
    me.resume()
    assert me.retention() == before
    assert [e.plan.verb.value for e in me.ledger() if e.plan.standing] == ["consent", "retention", "pause", "resume"]


# ------------------------------------------------------------------ out and back


def test_decisions_come_back_with_an_export(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    me = layer.scope("ming")
    me.remember("我喜欢绿茶")
    me.consent(given=True, notice="v2 / 第二版")
    clock.advance(days=2)
    me.retention("everything")
    me.pause()
    me.export(tmp_path / "one.zip")
    again = layer.scope("nora")
    again.import_(tmp_path / "one.zip")
    assert again.retention() == me.retention()
    assert again.ledger() == me.ledger()
    assert again.remember("别的").paused
    again.undo(again.resume().plan_id or "")
    assert again.retention() == me.retention()
