"""Upkeep through the façade: moves, archive, merging, undo, and resuming where it was killed (SPEC F2–F5, O5, W1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jiyi.assembly import assemble, open_memory
from jiyi.domain.memory import Memory, Tier
from jiyi.domain.plans import Verb
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, MemoryPaused, PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.gateway import UPKEEP
from jiyi.pipelines.upkeep import RULES, keep_up
from jiyi.ports import Store, Unit
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings, UpkeepPolicy
from jiyi.stores.reference import open_reference
from jiyi.stores.sqlite.store import open_sqlite
from tests.conftest import Clock

ME = Scope("li")
TEXTS = ["备用钥匙在门卫室", "The fuse box is behind the coat rack", "打印机的驱动在共享盘里"]


def tiers(me: ScopedMemory) -> dict[str, Tier]:
    return {m.id: m.tier for m in me.memories(status=None)}


def wait(layer: MemoryLayer, clock: Clock, days: float) -> None:
    clock.advance(days=days)
    layer.work()


# ------------------------------------------------------------------ moving


def test_each_night_does_what_is_due_and_says_why(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    for text in TEXTS:
        me.remember(text)
    wait(layer, clock, 91)
    assert set(tiers(me).values()) == {Tier.SEMANTIC}
    entry = me.ledger()[-1]
    assert (entry.plan.verb, entry.plan.actor.who, len(entry.plan.changes)) == (Verb.UPKEEP, "rules", 3)
    assert {j.rule for j in entry.plan.judgements} == {"unread-3-months"}
    assert entry.plan.judgements[0].reasons == ("m1: fact → semantic, last used on 2026-03-02",)
    wait(layer, clock, 90)
    assert [m.low_activity for m in me.memories()] == [True] * 3
    wait(layer, clock, 185)
    assert me.memories() == []
    assert {m.id for m in me.memories(tiers=["archive"])} == {"m1", "m2", "m3"}
    wait(layer, clock, 366)
    assert me.memories(status=None) == []
    assert all(text not in repr(me.ledger()) for text in TEXTS)


def test_a_second_run_changes_nothing(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    for text in [*TEXTS, f"{TEXTS[0]}。"]:
        me.remember(text)
    for days in (1, 91, 90, 185, 366):
        clock.advance(days=days)
        me.upkeep()
        before = me.memories(status=None), me.ledger()
        again = me.upkeep()
        assert (again.moves, again.merges, again.plans) == ((), (), ())
        assert (me.memories(status=None), me.ledger()) == before
        assert layer.work() == 0


def test_a_dry_run_says_what_would_move_and_moves_nothing(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember(TEXTS[0])
    me.remember(f"{TEXTS[0]}。")
    clock.advance(days=91)
    before = me.memories(), me.ledger()
    planned = me.upkeep(dry_run=True)
    assert (me.memories(), me.ledger()) == before
    assert [(m.seq, m.before, m.to, m.rule) for m in planned.moves] == [
        (1, Tier.FACT, Tier.SEMANTIC, "unread-3-months"), (2, Tier.FACT, Tier.SEMANTIC, "unread-3-months"),
    ]  # fmt: skip
    assert planned.plans == ()
    assert me.upkeep().moves == planned.moves


def test_an_undone_move_is_exact_and_stays_undone(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember(TEXTS[0], category="project")
    before = me.memories()
    clock.advance(days=181)
    [plan] = me.upkeep().plans
    assert tiers(me) == {"m1": Tier.ARCHIVE}
    me.undo(plan)
    assert me.memories() == before
    for _ in range(6):
        wait(layer, clock, 29)
        assert me.memories() == before
    wait(layer, clock, 10)
    assert tiers(me) == {"m1": Tier.ARCHIVE}


def test_the_archive_is_recalled_by_who_asks_for_it(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember(TEXTS[1], category="project")
    wait(layer, clock, 181)
    found = me.recall("where is the fuse box")
    assert found.items == ()
    assert ("m1", "is in the archive") in found.dropped
    assert "fuse box" not in me.context("where is the fuse box").text
    [item] = me.recall("where is the fuse box", tiers=["archive"]).items
    assert (item.id, item.tier) == ("m1", "archive")
    with pytest.raises(InputError, match="tier"):
        me.recall("fuse box", tiers=["attic"])
    with pytest.raises(InputError, match="tier"):
        me.memories(tiers=[])


def test_filters_by_tier_and_by_when_it_was_learnt_and_read(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember("The garden gate has a green lock")
    clock.advance(days=10)
    me.remember("The cellar door has a red lock")
    me.observe([{"role": "user", "text": "which lock was it again?"}], session="s1")
    layer.work()
    assert {i.id for i in me.recall("lock").items} >= {"m1", "m2"}
    layer.work()
    day = clock.now - timedelta(days=5)
    assert [i.id for i in me.recall("lock", created_since=day).items] == ["m2"]
    assert [i.id for i in me.recall("lock", created_until=day).items] == ["m1"]
    assert me.recall("lock", read_until=day).items == ()
    assert {i.id for i in me.recall("lock", read_since=day).items} == {"m1", "m2"}
    assert me.recall("lock", tiers=["semantic"]).items == ()
    assert {i.kind for i in me.recall("lock", tiers=["fact"]).items} == {"memory"}


def test_the_long_tail_is_not_always_on_and_says_so(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember("我的生日是五月三日")
    me.remember("我们的数据库用的是 TiDB")
    assert "画像" in me.context("你好呀朋友").text
    assert [i.kind for i in me.recall("数据库用什么").items] == ["fact"]
    wait(layer, clock, 91 + 1)
    me.profile()
    wait(layer, clock, 91)
    assert "画像" not in me.context("你好呀朋友").text
    assert "生日" in me.profile().text
    assert "低活跃" in me.context("我的生日是哪天").text


def test_what_the_profile_shows_in_context_counts_as_read(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember("I play the cello", category="profile")
    for _ in range(8):
        wait(layer, clock, 30)
        assert "cello" in me.context("hello there").text
    layer.work()
    assert tiers(me) == {"m1": Tier.FACT}


def test_a_standing_rule_stays_for_good(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember("永远不要用感叹号", category="rule", importance=1)
    before = me.memories()
    for _ in range(5):
        wait(layer, clock, 1000)
    assert me.memories() == before
    assert "感叹号" in me.context("写一封邮件").text


def test_a_night_in_which_nothing_is_due_asks_for_no_other(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember("永远不要用感叹号", category="rule")
    clock.advance(days=1)
    assert layer.work() == 1
    for _ in range(5):
        clock.advance(days=400)
        assert layer.work() == 0


def test_more_is_moved_in_one_plan_than_w1_lets_anyone_else_end(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    for name in ("Ada", "Bea", "Cai", "Dov", "Eli", "Fay", "Gus"):
        me.remember(f"We are signing a contract with {name} Ltd next Tuesday")
    assert sum(m.triple is not None for m in me.memories()) == 7
    wait(layer, clock, 20)
    assert len(me.memories(tiers=["archive"])) == 7


def test_what_lay_its_time_in_the_archive_leaves_no_trace(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "memory.db"
    with open_memory(path, clock=clock, worker=False) as layer:
        me = layer.scope("li")
        me.remember("The old boat was called zanzibar", category="project")
        me.remember("The old boat was really called zanzibar", category="project")
        clock.advance(days=1)
        assert me.upkeep().merges
        for days in (181, 366):
            clock.advance(days=days)
            receipt = me.upkeep()
        assert [m.to for m in receipt.moves] == [None]
        assert me.ledger()[-1].plan.verb is Verb.FORGET
        with pytest.raises(PlanRefused):
            me.undo(receipt.plans[0])
        assert all(check.ok for check in layer.check())
    data = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"zanzibar" not in data


def test_what_was_replaced_by_an_erased_memory_points_nowhere(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember("我们的预算是50万")
    clock.advance(days=1)
    me.remember("我们的预算从50万改成80万了")
    for days in (190, 366):
        wait(layer, clock, days)
    assert [(m.successor, m.valid_to is not None) for m in me.memories(status=None)] == [(None, True)]


def test_under_minimal_what_goes_is_erased_at_once(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.retention("minimal")
    me.remember(TEXTS[0], category="project")
    clock.advance(days=181)
    assert [m.to for m in me.upkeep(dry_run=True).moves] == [None]
    assert [m.to for m in me.upkeep().moves] == [None]
    assert me.memories(status=None) == []


@pytest.mark.parametrize("said", ["我们的预算是50万。今天路上很堵。", "Our budget is 50k. Traffic was awful today."])
def test_under_minimal_the_words_that_were_left_go_with_the_memory(layer: MemoryLayer, clock: Clock, said: str) -> None:
    me = layer.scope("li")
    me.retention("minimal")
    me.observe([{"role": "user", "text": said}])
    layer.work()
    assert any("50" in m.text for m in me.history().messages)
    clock.advance(days=800)
    assert None in [m.to for m in me.upkeep().moves]
    assert me.memories(status=None) == []
    assert not any("50" in m.text for m in me.history().messages)


def test_while_paused_nothing_is_kept_up(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    me.remember(TEXTS[0], category="project")
    me.pause()
    before = me.ledger()
    wait(layer, clock, 190)
    with pytest.raises(MemoryPaused, match="resume"):
        me.upkeep()
    assert me.upkeep(dry_run=True).moves
    assert (me.ledger(), [m.tier for m in me.memories()]) == (before, [Tier.FACT])
    me.resume()
    wait(layer, clock, 1)
    assert me.memories() == []


# ------------------------------------------------------------------ merging


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        (["备用钥匙在门卫室", "备用钥匙就是在门卫室的。"], 1),
        (["The spare key is under the mat", "A spare key is really under the mat."], 1),
        (["备用钥匙在门卫室", "备用钥匙在门卫室，由老周保管"], 1),
        (["备用钥匙在门卫室", "备用钥匙不在门卫室"], 2),
        (["The key opens gate 12", "The key opens gate 21"], 2),
        (["The key opens gate 12", "The key does not open gate 12"], 2),
        (["The cellar is at -5 degrees", "The cellar is at 5 degrees"], 2),
        (["李四管着仓库的钥匙", "王五管着仓库的钥匙"], 2),
        (["Ada is taller than Bo", "Bo is taller than Ada"], 2),
        (["备用钥匙在门卫室", "备用钥匙在门卫室，但是老周拿走了"], 2),
    ],
)
def test_what_says_the_same_is_merged_and_nothing_else(
    layer: MemoryLayer, clock: Clock, texts: list[str], left: int
) -> None:
    me = layer.scope("li")
    for text in texts:
        me.remember(text)
        clock.advance(minutes=1)
    before = me.memories()
    upkept = me.upkeep()
    after = me.memories()
    assert (len(after), len(upkept.merges)) == (left, 2 - left)
    if left == 1:
        assert after[0].text in texts
        assert after[0].learnt_at == min(m.learnt_at for m in before)
        assert after[0].affirmed_at == max(m.affirmed_at for m in before)
        me.undo(upkept.plans[0])
        assert me.memories() == before
        assert all(check.ok for check in layer.check())
        assert me.upkeep().merges == ()


def test_a_merged_memory_keeps_all_evidence_and_is_forgotten_with_it(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("li")
    for text in ("请记住：zanzibar 保险箱在二楼", "请记住：zanzibar 的保险箱就是在二楼。"):
        clock.advance(minutes=1)
        me.observe([{"role": "user", "text": text}], session="s1")
    layer.work()
    assert len(me.memories()) == 2
    [merge] = me.upkeep().merges
    [memory] = me.memories()
    assert {e.message for e in memory.evidence} == {1, 2}
    assert memory.id == f"m{merge.into}"
    me.forget(memory=memory.id)
    assert me.memories(status=None) == []
    assert "zanzibar" not in repr((me.ledger(), me.history().messages))


# ------------------------------------------------------------------ batches


SMALL = replace(assemble(Settings()).upkeep, policy=UpkeepPolicy(batch=3))


def filled(store: Store, clock: Clock, count: int) -> None:
    layer = MemoryLayer(store, assemble(Settings(worker=False)), clock)
    me = layer.scope("li")
    for number in range(count):
        me.remember(f"shelf {number} holds box {number * number}")


@pytest.mark.parametrize("kind", ["reference", "sqlite"])
def test_batches_come_to_the_same_as_one_run_and_each_is_a_plan(tmp_path: Path, clock: Clock, kind: str) -> None:
    store: Store = open_reference() if kind == "reference" else open_sqlite(tmp_path / "memory.db")
    filled(store, clock, 8)
    later = clock.now + timedelta(days=95)
    upkept = keep_up(store, ME, SMALL, RULES, later)
    assert (upkept.scanned, len(upkept.moves), len(upkept.plans)) == (8, 8, 3)
    with store.read() as unit:
        assert {m.tier for m in unit.memories.listing(ME)} == {Tier.SEMANTIC}
    store.close()


@pytest.mark.parametrize("kind", ["reference", "sqlite"])
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, clock: Clock, kind: str) -> None:
    store: Store = open_reference() if kind == "reference" else open_sqlite(tmp_path / "memory.db")
    filled(store, clock, 8)
    now = clock.now + timedelta(days=95)

    def one_job(failing: bool = False) -> bool:
        """What the runner does with a job; `failing` dies just before it is done."""

        def work(unit: Unit) -> bool:
            for due in unit.schedule.take(now, 9):
                unit.jobs.put(due.scope, due.kind, {}, now)
            job = unit.jobs.claim(now, now + timedelta(minutes=5))
            if job is None:
                return False
            assert job.kind == UPKEEP
            SMALL.job(unit, job.scope, job.payload, now)
            if failing:
                raise KeyError("killed")
            return unit.jobs.finish(job)

        return store.write(work)

    def sunk() -> int:
        with store.read() as unit:
            return sum(m.tier is Tier.SEMANTIC for m in unit.memories.listing(ME))

    assert one_job()
    assert sunk() == 3
    with pytest.raises(KeyError):
        one_job(failing=True)
    assert sunk() == 3
    while one_job():
        pass
    assert sunk() == 8
    with store.read() as unit:
        assert [len(e.plan.changes) for e in unit.ledger.entries(ME) if e.plan.verb is Verb.UPKEEP] == [3, 3, 2]
        due = unit.schedule.get(ME, UPKEEP)
    assert due is not None
    assert due > now
    store.close()


def test_an_imported_memory_is_kept_up_too(tmp_path: Path, clock: Clock) -> None:
    with open_memory(tmp_path / "a.db", clock=clock, worker=False) as layer:
        me = layer.scope("li")
        me.remember(TEXTS[0])
        wait(layer, clock, 91)
        me.export(tmp_path / "li.zip")
        told: list[Memory] = me.memories()
    with open_memory(tmp_path / "b.db", clock=clock, worker=False) as layer:
        me = layer.scope("li")
        me.import_(tmp_path / "li.zip")
        assert me.memories() == told
        assert told[0].tier is Tier.SEMANTIC
        wait(layer, clock, 300)
        assert tiers(me) == {"m1": Tier.ARCHIVE}
        assert datetime(2026, 3, 2, tzinfo=UTC) < clock.now
