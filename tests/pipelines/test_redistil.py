"""Messages are distilled again after the rules changed; the preview is the effect, and twice changes nothing (SPEC C13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.assembly import assemble, open_memory
from jiyi.domain.memory import Memory, Status
from jiyi.domain.plans import Change, Verb
from jiyi.domain.relations import Vocabulary, parse_vocabulary
from jiyi.engine import Parts
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.redistil import BATCH, REDISTIL, Redistilled
from jiyi.ports import Store
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings
from jiyi.shipped import load_constructions, load_times, load_vocabulary
from jiyi.stores.reference import open_reference
from jiyi.stores.sqlite.store import open_sqlite
from tests.conftest import Clock

TREASURE: Mapping[str, Any] = {
    "HAS_TREASURE": {
        "category": "project", "single": True, "subject": "company", "object": "text",
        "names": {"zh": ["镇店之宝"], "en": ["house treasure"]},
    }
}  # fmt: skip
"""A relation that the shipped rules do not know."""


def rules(*, known: bool) -> Parts:
    """The parts of a memory whose rules know the treasure, or do not."""
    shipped = load_vocabulary()
    more = parse_vocabulary(TREASURE)
    vocabulary = Vocabulary([*shipped, *more]) if known else shipped
    parts = assemble(Settings(worker=False, timezone="Asia/Shanghai"))
    distiller = Distiller(vocabulary, load_constructions(), load_times(), parts.indexing.segmenter.fold)
    judging = replace(parts.judging, vocabulary=vocabulary)
    retaining = replace(parts.retaining, distiller=distiller)
    redistiller = replace(
        parts.redistiller,
        retaining=retaining,
        judging=judging,
        identity="00000000000b" if known else "00000000000a",
    )
    return replace(
        parts, vocabulary=vocabulary, distiller=distiller, judging=judging, retaining=retaining, redistiller=redistiller
    )


BEFORE, AFTER = rules(known=False), rules(known=True)


@pytest.fixture(params=["reference", "postings", "native"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "reference":
        opened: Store = open_reference()
    else:
        opened = open_sqlite(tmp_path / "memory.db", text_index=request.param, synchronous="NORMAL")
    yield opened
    opened.close()


def me_with(store: Store, parts: Parts, clock: Clock) -> ScopedMemory:
    return MemoryLayer(store, parts, clock).scope("ming")


def said(me: ScopedMemory, clock: Clock, *texts: str, session: str = "s1") -> None:
    for text in texts:
        clock.advance(days=1)
        me.observe([{"role": "user", "text": text}], session=session)
    me.end(session)


def memories(me: ScopedMemory) -> dict[int, Memory]:
    return {m.seq: m for m in me.memories(status=None)}


def carried_out(before: dict[int, Memory], changes: tuple[Change, ...]) -> dict[int, Memory]:
    after = dict(before)
    for change in changes:
        assert after.get(change.seq) == change.before
        if change.after is None:
            del after[change.seq]
        else:
            after[change.seq] = change.after
    return after


def run(me: ScopedMemory) -> Redistilled:
    """Previews, does it, and sees that both come to the same."""
    before, plans = memories(me), me.ledger()
    preview = me.redistil(dry_run=True)
    assert (memories(me), me.ledger()) == (before, plans)
    done = me.redistil()
    assert memories(me) == carried_out(before, preview.changes)
    assert set(done.changes) == set(preview.changes)
    assert done.unsupported == preview.unsupported
    assert (done.messages, done.refused) == (preview.messages, preview.refused)
    return done


@pytest.mark.parametrize(
    ("text", "value"),
    [("我们的镇店之宝是一把老算盘。", "老算盘"), ("Our house treasure is an old abacus.", "old abacus")],
)
def test_new_rules_find_what_was_said_before_them(store: Store, clock: Clock, text: str, value: str) -> None:
    old = me_with(store, BEFORE, clock)
    said(old, clock, text, "我喜欢围棋。")
    when = old.history().messages[0].at
    assert not any(value in m.text for m in old.memories())
    clock.advance(days=30)
    me = me_with(store, AFTER, clock)
    done = run(me)
    [found] = done.added
    assert value in found.text
    # As of when it was said, not of when it was read again (SPEC C8).
    assert (found.affirmed_at, found.valid_from, found.learnt_at) == (when, when, clock.now)
    assert [e.message for e in found.evidence] == [1]
    assert (done.ended, done.retired) == ((), ())


def test_the_same_again_leaves_no_trace(store: Store, clock: Clock) -> None:
    old = me_with(store, BEFORE, clock)
    said(
        old,
        clock,
        "我们的镇店之宝是一把老算盘。",
        "数据库用的是 MySQL。",
        "数据库从 MySQL 换成 PostgreSQL 了。",
        "I live in Leeds.",
        "I moved to York.",
    )
    assert old.redistil() == old.redistil(dry_run=True)
    assert all(e.plan.verb is not Verb.REDISTIL for e in old.ledger())
    me = me_with(store, AFTER, clock)
    run(me)
    held, plans = memories(me), me.ledger()
    assert me.redistil(dry_run=True).changes == me.redistil().changes == ()
    assert (memories(me), me.ledger()) == (held, plans)


def test_an_old_statement_never_overrides_a_later_one(store: Store, clock: Clock) -> None:
    old = me_with(store, BEFORE, clock)
    said(old, clock, "我们的镇店之宝是一把老算盘。")
    me = me_with(store, AFTER, clock)
    said(me, clock, "镇店之宝换成一只青花碗了。", session="s2")
    assert ["青花碗" in m.text for m in me.memories()] == [True]
    run(me)
    assert ["青花碗" in m.text for m in me.memories()] == [True]
    assert any("老算盘" in m.text and m.status is Status.ENDED for m in me.memories(status=None))


def test_what_the_rules_no_longer_find_is_retired_and_can_be_brought_back(store: Store, clock: Clock) -> None:
    old = me_with(store, AFTER, clock)
    said(old, clock, "我们的镇店之宝是一把老算盘。", "我喜欢围棋。")
    held = memories(old)
    me = me_with(store, BEFORE, clock)
    done = run(me)
    assert ["老算盘" in m.text for m in done.retired] == [True]
    assert ["围棋" in m.text for m in me.memories()] == [True]
    [plan] = done.plans
    me.undo(plan)
    assert memories(me) == held
    # The user brought it back, so it is not taken away again.
    again = run(me)
    assert again.retired == ()
    assert [bool(u.kept_because) for u in again.unsupported] == [True]
    assert memories(me) == held


@pytest.mark.parametrize("spoken_for", ["remembered", "kept", "forgotten beside it", "took a place"])
def test_what_somebody_else_speaks_for_stays(store: Store, clock: Clock, spoken_for: str) -> None:
    old = me_with(store, AFTER, clock)
    text = "我们的镇店之宝是一把老算盘"
    match spoken_for:
        case "remembered":
            said(old, clock, text)
            old.remember(text)
        case "kept":
            said(old, clock, f"请记住，{text}。")
        case "forgotten beside it":
            said(old, clock, f"{text}，我住在湘西凤凰。")
            old.forget(memory=next(m.id for m in old.memories() if "凤凰" in m.text))
        case "took a place":
            said(old, clock, "我们的镇店之宝是一只青花碗。", "镇店之宝换成一把老算盘了。")
    assert any("老算盘" in m.text for m in old.memories())
    done = run(me_with(store, BEFORE, clock))
    assert done.retired == ()
    assert [u.kept_because != "" for u in done.unsupported if "老算盘" in u.memory.text] in ([True], [])
    assert any("老算盘" in m.text for m in old.memories())


@pytest.mark.parametrize("how", ["correct", "undo"])
def test_what_the_user_took_back_does_not_return(store: Store, clock: Clock, how: str) -> None:
    old = me_with(store, BEFORE, clock)
    said(old, clock, "我们的镇店之宝是一把老算盘。", "I live in Leeds.")
    [leeds] = old.memories()
    if how == "correct":
        old.correct(leeds.id, "I live in York")
    else:
        old.undo(old.ledger()[-1].plan and "p1")
    me = me_with(store, AFTER, clock)
    done = run(me)
    assert ["老算盘" in m.text for m in done.added] == [True]
    assert not any("Leeds" in m.text for m in me.memories())
    # And what distilling again has brought, and the user undoes, is not learnt a second time.
    me.undo(done.plans[0])
    assert run(me).changes == ()
    # A new statement still is (SPEC F6, B8).
    said(me, clock, "我们的镇店之宝是一把老算盘。", session="s9")
    assert any("老算盘" in m.text for m in me.memories())


def test_what_was_forgotten_does_not_return(store: Store, clock: Clock) -> None:
    old = me_with(store, BEFORE, clock)
    said(old, clock, "I live in Zanzibar.", "数据库从 Oracle 换成 TiDB 了。", "我们的镇店之宝是一把老算盘。")
    for text in ("Zanzibar", "Oracle"):
        old.forget(memory=next(m.id for m in old.memories(status=None) if text in m.text))
    me = me_with(store, AFTER, clock)
    run(me)
    shown = repr((me.memories(status=None), me.ledger(), me.history().messages))
    assert "Zanzibar" not in shown
    assert "Oracle" not in shown
    assert "▇" not in repr(me.memories(status=None))
    assert {"TiDB", "老算盘"} <= {w for w in ("TiDB", "老算盘") for m in me.memories() if w in m.text}


def test_a_run_that_was_cut_off_goes_on(store: Store, clock: Clock) -> None:
    old = me_with(store, BEFORE, clock)
    clock.advance(days=1)
    old.observe(
        [
            {"role": "user", "text": "我们的镇店之宝是一把老算盘。" if n == BATCH + 7 else f"第 {n} 次闲聊"}
            for n in range(BATCH + 20)
        ],
        session="s1",
    )
    MemoryLayer(store, BEFORE, clock).work()
    layer = MemoryLayer(store, AFTER, clock)
    me = layer.scope("ming")
    assert layer.redistil() == 1
    assert layer.work(limit=1) == 1  # the first batch is done; then the process is gone
    with store.read() as unit:
        assert unit.jobs.counts(me.user, clock.now).waiting == 1
    assert me.memories() == []
    MemoryLayer(store, AFTER, clock).work()
    assert ["老算盘" in m.text for m in me.memories()] == [True]
    assert len([e for e in me.ledger() if e.plan.verb is Verb.REDISTIL]) == 1
    assert layer.lag().dead == 0


def test_retiring_much_at_once_is_refused(store: Store, clock: Clock) -> None:
    """SPEC W1: rules gone wrong must not empty a memory unseen."""
    more = {
        f"HAS_TREASURE_{n}": {**TREASURE["HAS_TREASURE"], "names": {"zh": [f"镇店之宝{'甲乙丙丁戊己'[n]}"]}}
        for n in range(6)
    }
    vocabulary = Vocabulary([*load_vocabulary(), *parse_vocabulary(more)])
    distiller = Distiller(vocabulary, load_constructions(), load_times(), AFTER.indexing.segmenter.fold)
    judging = replace(AFTER.judging, vocabulary=vocabulary)
    retaining = replace(AFTER.retaining, distiller=distiller)
    many = replace(AFTER, vocabulary=vocabulary, distiller=distiller, judging=judging, retaining=retaining)
    old = me_with(store, many, clock)
    said(old, clock, *(f"我们的镇店之宝{name}是一把老算盘。" for name in "甲乙丙丁戊己"))
    held = memories(old)
    assert len(held) == 6
    layer = MemoryLayer(store, BEFORE, clock)
    me = layer.scope("ming")
    preview, done = me.redistil(dry_run=True), me.redistil()
    assert memories(me) == held
    assert preview.changes == done.changes == ()
    assert "6 relations" in preview.refused == done.refused
    assert [job.kind for job in layer.dead_jobs()] == [REDISTIL]


def test_doctor_says_when_it_would_pay(store: Store, clock: Clock) -> None:
    said(me_with(store, BEFORE, clock), clock, "我们的镇店之宝是一把老算盘。")

    def line(parts: Parts) -> str:
        return next(c.detail for c in MemoryLayer(store, parts, clock).check() if c.name == "distilling")

    assert "redistil" not in line(BEFORE)
    assert "1 of 1 users" in line(AFTER)
    me_with(store, AFTER, clock).redistil()
    assert "redistil" not in line(AFTER)


TALK = (
    "我们的镇店之宝是一把老算盘。", "镇店之宝换成一只青花碗了。", "记错了，镇店之宝是一口铜钟。", "我喜欢围棋。", "我不喜欢围棋了。", "I live in Leeds.",
    "I moved to York.", "数据库从 MySQL 换成 PostgreSQL 了。", "数据库用的是 MySQL。", "Our house treasure is an old abacus.", "哈哈",
)  # fmt: skip


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(TALK), st.booleans()), min_size=1, max_size=12), st.booleans())
def test_the_preview_is_always_the_effect(talk: list[tuple[str, bool]], known: bool) -> None:
    """Whatever was said under whichever rules, and whatever of it was undone."""
    clock, store = Clock(), open_reference()
    both = {True: me_with(store, AFTER, clock), False: me_with(store, BEFORE, clock)}
    for text, rules_then in talk:
        said(both[rules_then], clock, text)
    if len(both[known].ledger()) % 2:
        both[known].undo(f"p{len(both[known].ledger())}")
    run(both[known])
    held = memories(both[known])
    assert run(both[known]).changes == ()
    assert memories(both[known]) == held


def test_an_empty_memory_has_nothing_to_change(tmp_path: Path, clock: Clock) -> None:
    with open_memory(tmp_path / "memory.db", clock=clock, worker=False) as layer:
        done = layer.scope("nora").redistil()
        assert (done.messages, done.changes, done.plans) == (0, (), ())
