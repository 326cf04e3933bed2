"""Why this, why not that: every recall can be explained afterwards, and leaves nothing that should be gone (SPEC R10)."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from jiyi.assembly import open_memory
from jiyi.backends import REFERENCE
from jiyi.domain.ranking import score_of
from jiyi.domain.traces import TracePolicy
from jiyi.errors import NotFound
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.explaining import Stage
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings
from tests.conftest import Clock

STORES = ["reference", "postings", "native"]


def opened(store: str, folder: Path, clock: Clock, **settings: object) -> MemoryLayer:
    where = {} if store == "reference" else {"memory_index": store, "message_index": store}
    path = REFERENCE if store == "reference" else str(folder / "memory.db")
    return open_memory(settings=Settings(path=path, worker=False, **where, **settings), clock=clock)  # type: ignore[arg-type]


def stage_of(me: ScopedMemory, trace: str, item: str) -> tuple[Stage, str]:
    account = me.explain(trace, why=item).account
    assert account is not None
    return account.stage, account.reason


@pytest.mark.parametrize("store", STORES)
def test_each_stage_is_named(store: str, tmp_path: Path, clock: Clock) -> None:
    with opened(store, tmp_path, clock) as layer:
        me = layer.scope("ming")
        me.observe([{"role": "user", "text": "我们的数据库是 MySQL。"}], session="s1")
        layer.work()
        me.observe([{"role": "user", "text": "数据库从 MySQL 换成 PostgreSQL 了。"}], session="s2")
        me.observe([{"role": "user", "text": "I love hiking in the hills."}], session="s2")
        layer.work()
        for shop in ("one", "two", "three"):
            me.remember(f"Shop {shop} is painted every spring")
        found = me.recall("数据库 database", limit=2)
        clock.now += timedelta(minutes=1)
        late = me.remember("The database team sits in Leeds").memories[0]
        by_text = {m.text: m.id for m in me.memories(status=None)}
        new, old = (next(i for text, i in by_text.items() if value in text) for value in ("PostgreSQL", "MySQL"))
        hiking = next(i for text, i in by_text.items() if "hiking" in text)
        explained = me.explain(found.trace_id)
        assert explained.account is None
        assert explained.trace.query == "数据库 database"
        assert [c.id for c in explained.trace.considered if c.shown] == [i.id for i in found.items]
        assert stage_of(me, found.trace_id, new)[0] is Stage.SHOWN
        assert stage_of(me, found.trace_id, old)[0] in (Stage.LEFT_OUT, Stage.ABSENT)
        assert stage_of(me, found.trace_id, hiking)[0] is Stage.UNMATCHED
        assert stage_of(me, found.trace_id, late.id)[0] is Stage.ABSENT
        painted = me.recall("which shop is painted every spring", limit=1)
        shops = [i for text, i in by_text.items() if "painted" in text and i != painted.items[0].id]
        assert [stage_of(me, painted.trace_id, i)[0] for i in shops] == [Stage.CUT, Stage.CUT]
        with pytest.raises(NotFound, match="m99"):
            me.explain(found.trace_id, why="m99")
        with pytest.raises(NotFound, match="trace"):
            layer.scope("nora").explain(found.trace_id)
        for taken_for_one, said in ((new, "is a memory, and a trace is called like"), (" ", "no trace is named")):
            with pytest.raises(NotFound, match=said):
                me.explain(taken_for_one)


def test_an_empty_answer_names_its_cause(clock: Clock) -> None:
    with opened("reference", Path(), clock) as layer:
        me = layer.scope("ming")
        me.remember("我喜欢绿茶")
        block = me.context("鹦鹉能吃牛油果吗")
        trace = me.explain(block.trace_id).trace
        assert (trace.verb, trace.considered) == ("context", ())
        assert trace.nothing_because


def test_traces_outlive_the_process_and_are_not_many(tmp_path: Path, clock: Clock) -> None:
    kept = TracePolicy(keep=3, days=2)
    with opened("postings", tmp_path, clock, traces=kept) as layer:
        me = layer.scope("ming")
        me.remember("I love tea")
        made = []
        for _ in range(5):
            clock.now += timedelta(minutes=1)
            made.append(me.recall("tea").trace_id)
    with opened("postings", tmp_path, clock, traces=kept) as layer:
        me = layer.scope("ming")
        assert [t.id for t in me.traces()] == made[:1:-1]
        clock.now += timedelta(days=3)
        last = me.context("tea").trace_id
        assert [t.id for t in me.traces()] == [last]


def test_none_are_kept_where_none_are_wanted(clock: Clock) -> None:
    with opened("reference", Path(), clock, traces=TracePolicy(keep=0)) as layer:
        me = layer.scope("ming")
        assert me.recall("tea").trace_id == me.context("tea").trace_id == ""
        assert me.traces() == []


@pytest.mark.parametrize("store", ["postings", "native"])
def test_forgetting_drops_them_and_late_ones_do_not_come_back(store: str, tmp_path: Path, clock: Clock) -> None:
    with opened(store, tmp_path, clock) as layer, opened(store, tmp_path, clock) as other:
        me, elsewhere = layer.scope("ming"), other.scope("ming")
        memory = me.remember("I love zabaglione").memories[0]
        traced = me.recall("who loves zabaglione").trace_id
        # The other process has read it too, and not written its trace yet.
        elsewhere.recall("zabaglione?")
        assert me.explain(traced).trace.query == "who loves zabaglione"
        clock.now += timedelta(minutes=1)
        me.forget(memory=memory.id)
        assert elsewhere.traces() == []
        assert me.traces() == []
        layer.work()
    assert [f.name for f in tmp_path.iterdir() if b"zabaglione" in f.read_bytes()] == []


def test_minimal_keeps_no_words_and_a_pause_nothing(tmp_path: Path, clock: Clock) -> None:
    with opened("postings", tmp_path, clock) as layer:
        me = layer.scope("ming")
        me.remember("请记住：我喜欢普洱茶")
        me.retention("minimal")
        traced = me.recall("我喜欢喝什么茶").trace_id
        trace = me.explain(traced).trace
        assert (trace.query, trace.terms) == ("", ())
        assert [(c.id, c.why) for c in trace.considered if c.shown] == [("m1", "")]
        me.pause()
        paused = me.recall("我喜欢喝什么茶").trace_id
        with pytest.raises(NotFound):
            me.explain(paused)


def test_what_held_when_it_was_asked_counts(tmp_path: Path, clock: Clock) -> None:
    with opened("postings", tmp_path, clock) as layer:
        me = layer.scope("ming")
        me.remember("I love durian")
        me.pause()
        assert me.recall("durian zebraquery").trace_id == ""
        me.resume()
        me.retention("minimal")
        me.context("durian giraffequery")
        me.retention("everything")
        assert [t.query for t in me.traces()] == [""]
    held = b"".join(f.read_bytes() for f in tmp_path.iterdir())
    assert (b"zebraquery" in held, b"giraffequery" in held) == (False, False)


def test_no_part_of_a_secret_stays_in_a_reason(clock: Clock) -> None:
    with opened("reference", Path(), clock) as layer:
        me = layer.scope("ming")
        me.remember("The battery of my car is a staple problem")
        secret = "-".join(["horse", "battery", "staple"])
        trace = me.explain(me.recall(f"my password is {secret}").trace_id).trace
        assert "battery" not in trace.query
        assert {c.why for c in trace.considered} <= {""}


def test_feedback_names_the_recall_it_is_about(clock: Clock) -> None:
    with opened("reference", Path(), clock) as layer:
        me = layer.scope("ming")
        me.remember("I love tea")
        traced = me.recall("tea").trace_id
        me.feedback("m1", "helpful", trace=traced)
        assert traced in me.ledger()[-1].plan.reason
        with pytest.raises(NotFound):
            me.feedback("m1", "helpful", trace="tnone")


TOLD = [
    "我们的数据库是 PostgreSQL，部署在杭州的机房。", "I love hiking in the hills with my sister Nora.", "我妹妹在苏州当老师，喜欢养猫。",
    "The budget of the harbour project is 500,000 dollars.", "下周三要和供应商开会，讨论交付周期。", "My sister Nora adopted a cat in May.",
    "我对花生过敏，去餐厅要先说。", "We moved the meeting with the vendor to Thursday.", "周会改到周四下午三点了。", "I'm learning to play the cello.",
]  # fmt: skip


def test_the_logged_parts_make_the_ranking(tmp_path: Path, clock: Clock) -> None:
    with opened("postings", tmp_path, clock, synchronous="NORMAL", traces=TracePolicy(keep=1000)) as layer:
        me = layer.scope("ming")
        for i, text in enumerate(TOLD * 4):
            clock.now += timedelta(hours=7)
            me.observe([{"role": "user" if i % 3 else "assistant", "text": text}], session=f"s{i % 5}")
        layer.work()
        rng = Random(5)
        words = sorted({word for text in TOLD for word in re.findall(r"[a-zA-Z]{3,}|[\u4e00-\u9fff]{2}", text)})
        explained = 0
        for _ in range(1000):
            query, limit = " ".join(rng.sample(words, rng.randint(1, 4))), rng.randint(1, 9)
            found = me.recall(query, limit=limit)
            trace = me.explain(found.trace_id).trace
            assert [c.score for c in trace.considered] == [score_of(c.parts) for c in trace.considered]
            assert [c.id for c in trace.considered] == [i.id for i in found.ranked][: TracePolicy().candidates]
            again = sorted(trace.considered, key=lambda c: -score_of(c.parts))
            assert [c.id for c in again] == [c.id for c in trace.considered]
            assert [c.id for c in trace.considered if c.shown] == [i.id for i in found.items]
            explained += bool(trace.considered)
        assert explained > 900
