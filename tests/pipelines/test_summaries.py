"""Summaries of sessions: made from messages alone, findable, and never a second truth (SPEC R6, B6, F6), on every store."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.assembly import assemble, open_memory
from jiyi.domain.memory import Language, Message, Role
from jiyi.domain.summary import WHOLE, SessionSummary, SummaryPolicy, limit, size
from jiyi.errors import NotFound
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.as_of import AsOf, UnitThen
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings
from jiyi.testing.strategies import texts
from tests.conftest import Clock

PARTS = assemble(Settings())
SUMMARISER = PARTS.summariser


def say(me: ScopedMemory, clock: Clock, *texts: str, session: str = "s1", role: str = "user") -> None:
    for text in texts:
        clock.advance(minutes=1)
        me.observe([{"role": role, "text": text}], session=session)


def blocks(me: ScopedMemory, session: str = "s1") -> dict[int, SessionSummary]:
    return {s.block: s for s in me.summaries(session)}


def told(summary: SessionSummary) -> tuple[object, ...]:
    """What a summary says, whoever it belongs to and whenever it was made."""
    return summary.block, summary.messages, summary.first_at, summary.last_at, summary.language, summary.points


# ------------------------------------------------------------------ when they are made


def test_ending_a_session_summarises_it(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "发布脚本 release.sh 报 Permission denied", "原因是没有执行权限，改成 chmod +x release.sh 就好了")
    assert me.summaries() == []
    summary = me.end("s1")
    assert summary is not None
    assert (summary.id, summary.session, summary.block, summary.messages) == ("s1", "s1", WHOLE, (1, 2))
    assert summary.text == (
        "问题：发布脚本 release.sh 报 Permission denied\n结论：原因是没有执行权限，改成 chmod +x release.sh 就好了"
    )
    assert me.summaries() == [summary] == me.summaries("s1")
    assert me.summaries("s2") == []
    assert me.end("never there") is None


def test_a_full_block_is_summarised_while_the_session_goes_on(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, *(f"step {n} failed with exit code {n}" for n in range(1, 20)))
    layer.work()
    assert me.summaries() == []
    say(me, clock, "we decided to use docker 26.1.4")
    layer.work()
    assert set(blocks(me)) == {1}
    assert blocks(me)[1].messages == tuple(range(1, 21))
    say(me, clock, *(f"step {n} failed with exit code {n}" for n in range(20, 45)))
    layer.work()
    assert set(blocks(me)) == {1, 2}
    me.end("s1")
    made = blocks(me)
    assert {n: s.messages for n, s in made.items()} == {
        WHOLE: tuple(range(1, 46)), 1: tuple(range(1, 21)), 2: tuple(range(21, 41))
    }  # fmt: skip
    assert "docker 26.1.4" in made[WHOLE].text


def test_a_session_of_one_block_has_one_summary(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, *(f"步骤 {n} 失败，退出码 {n}" for n in range(1, 21)))
    layer.work()
    assert set(blocks(me)) == {1}
    me.end("s1")
    assert set(blocks(me)) == {WHOLE}


def test_a_session_that_fell_silent_is_summarised(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "The build of api-gateway failed with exit code 137.")
    clock.advance(minutes=40)
    say(me, clock, "Remember to raise the limit to 4GB.", session="s2")
    layer.work()
    assert me.summaries() == []  # nobody was silent for an hour yet
    clock.advance(minutes=30)
    layer.work()
    assert [s.session for s in me.summaries()] == ["s1"]
    clock.advance(minutes=40)
    layer.work()
    assert [s.session for s in me.summaries()] == ["s1", "s2"]
    say(me, clock, "The limit is raised, the build works now.")
    clock.advance(hours=1)
    layer.work()
    [again] = me.summaries("s1")
    assert (again.id, again.messages) == ("s1", (1, 3))
    clock.advance(days=9)
    assert layer.work() == 1  # the night after something was said counts patterns
    clock.advance(days=9)
    assert layer.work() == 0  # nothing is due where nothing was said


def test_more_said_after_the_end_is_taken_in_under_the_same_number(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "登录接口报错 502")
    first = me.end("s1")
    assert first is not None
    assert me.end("s1") == first  # made again of the same messages it is the same, down to when it was made
    say(me, clock, "最后把 nginx 升级到 1.25.4 解决了")
    again = me.end("s1")
    assert again is not None
    assert (again.id, again.messages) == (first.id, (1, 2))
    assert "1.25.4" in again.text


# ------------------------------------------------------------------ made from messages alone


TALK = (
    "部署报错 ModuleNotFoundError: No module named 'flask'", "I want to move the cache to Redis 7.2 in May",
    "预算 30 万元，记得周五前报给财务", "the fix was `pip install flask==3.0.2`", "我喜欢简短的回答", "天气不错",
    "日志在 /var/log/app/error.log", "We decided to use PostgreSQL 16", "哈哈", "the tests time out after 30 s",
)  # fmt: skip


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from(TALK), st.booleans()), min_size=1, max_size=45))
def test_nothing_drifts(talk: list[tuple[str, bool]]) -> None:
    """However often it was summarised on the way, in the end it is what one summary of all messages would have been."""
    clock = Clock()
    with open_memory("reference", clock=clock, worker=False) as layer:
        often, once = layer.scope("often"), layer.scope("once")
        for text, end in talk:
            clock.advance(minutes=1)
            for me in (often, once):
                me.observe([{"role": "user", "text": text, "at": clock.now}], session="s1")
            layer.work()
            if end:
                often.end("s1")
        often.end("s1")
        once.end("s1")
        assert {s.block: told(s) for s in often.summaries()} == {s.block: told(s) for s in once.summaries()}


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(Role), st.one_of(texts(), st.sampled_from(TALK))), max_size=30))
def test_it_quotes_word_for_word_and_keeps_its_length(talk: list[tuple[Role, str]]) -> None:
    clock = Clock()
    messages = [Message(n, f"m{n}", "s1", role, text, clock.now) for n, (role, text) in enumerate(talk, 1)]
    language, points = SUMMARISER.points(messages)
    texts_of = {m.seq: m.text for m in messages}
    roles = {m.seq: m.role for m in messages}
    assert all(p.text == texts_of[p.message][p.start : p.end] for p in points)
    assert all(roles[p.message] is not Role.SYSTEM for p in points)
    text = SessionSummary(
        1, "s1", 0, tuple(texts_of), clock.now, clock.now, language, points, clock.now, "rules/1"
    ).text
    assert size(text, language) <= limit(SummaryPolicy(), language) == 200


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ("sudo systemctl restart caddy", "试了很多办法，最后执行 sudo systemctl restart caddy 才恢复"),
        ("3.12.1-rc.2", "客户端要升级到 3.12.1-rc.2 才支持"),
        ("/srv/data/exports/2026-02.csv", "导出的文件放在 /srv/data/exports/2026-02.csv 里了"),
        ("KeyError: 'order_id'", "跑批的时候抛出 KeyError: 'order_id'"),
        ("1,250 美元", "这个月的账单一共 1,250 美元，比上个月多"),
        ("kubectl rollout undo deploy/web", "If it breaks again run kubectl rollout undo deploy/web"),
        ("v2.7.0", "we shipped v2.7.0 on the old branch"),
        ("C:\\Tools\\sync\\run.bat", "the script is C:\\Tools\\sync\\run.bat on the office machine"),
        ("TimeoutError: deadline exceeded", "the worker logs TimeoutError: deadline exceeded"),
        ("$4,800", "the quote came back at $4,800"),
    ],
)
def test_details_win_their_place(layer: MemoryLayer, clock: Clock, detail: str, said: str) -> None:
    """Among forty sentences that tell something too, the one with the detail is there, and the detail is whole."""
    me = layer.scope("ming")
    say(me, clock, *(f"我打算第 {n} 周整理一下旧的资料和笔记" for n in range(20)))
    say(me, clock, said)
    say(me, clock, *(f"I want to tidy up the notes of week {n} some day" for n in range(20)))
    summary = me.end("s1")
    assert summary is not None
    assert detail in summary.text


def test_the_language_is_that_of_the_talk(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "报错了：TypeError: Cannot read properties of undefined (reading 'map') at OrderList.tsx")
    say(me, clock, "The page fails with 状态码 500", session="s2")
    for session, language in (("s1", Language.ZH), ("s2", Language.EN)):
        summary = me.end(session)
        assert summary is not None
        assert summary.language is language


# ------------------------------------------------------------------ how they are found


def test_a_summary_opens_into_its_messages(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(
        me,
        clock,
        *("随便聊聊",) * 30,
        "上传失败，报 413 错误",
        "把 client_max_body_size 改成 50m 就行",
        *("嗯嗯",) * 30,
    )
    me.end("s1")
    [item] = me.recall("上传失败", kinds={"summary"}, limit=1).items
    assert (item.kind, item.session, item.importance) == ("summary", "s1", None)
    opened = me.history(around=item.id, limit=6).messages
    assert [m.seq for m in opened] == sorted(m.seq for m in opened)
    assert {31, 32} <= {m.seq for m in opened}
    assert len(opened) == 6
    assert len(me.history(around=item.id, limit=500).messages) == len(blocks(me)[WHOLE].messages) == 62
    with pytest.raises(NotFound, match="s99"):
        me.history(around="s99")


def test_what_is_recalled_by_default_holds_no_summaries(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "The import fails with `disk full` on node-7")
    before = me.recall("import fails")
    me.end("s1")
    after = me.recall("import fails")
    assert [i.id for i in after.items] == [i.id for i in before.items]
    assert {i.kind for i in me.recall("import fails", kinds={"summary", "message"}).items} == {"summary", "message"}


def test_filters_hold_for_summaries(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "打印机报错 0x61", session="s1")
    me.end("s1")
    clock.advance(days=10)
    say(me, clock, "打印机又报错 0x83", session="s2")
    me.end("s2")

    def found(**filters: object) -> list[str | None]:
        return sorted(str(i.session) for i in me.recall("打印机报错", kinds={"summary"}, **filters).items)  # type: ignore[arg-type]

    assert found() == ["s1", "s2"]
    assert found(session="s2") == ["s2"]
    assert found(since="2026-03-05T00:00:00+08:00") == ["s2"]
    assert found(until="2026-03-05T00:00:00+08:00") == ["s1"]
    assert found(known_at="2026-03-05T00:00:00+08:00") == ["s1"]
    assert found(categories=["task"]) == []
    assert found(labels={"app": "x"}) == []


# ------------------------------------------------------------------ never a second truth


def test_what_is_no_longer_believed_is_not_told(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "我们的数据库用的是 Oracle。", "记得周五前清理旧表。")
    me.end("s1")
    assert "Oracle" in me.summaries()[0].text
    say(me, clock, "数据库从 Oracle 换成 TiDB 了。", session="s2")
    me.end("s2")
    [first] = me.summaries("s1")
    assert first.text == "待办：记得周五前清理旧表"
    assert [i.text for i in me.recall("旧表", kinds={"summary"}).items] == [first.text]
    assert all("用的是 Oracle" not in i.text for i in me.recall("Oracle", kinds={"summary"}).items)
    # Asked for that time, it says so again.
    then = me.recall("Oracle", kinds={"summary"}, known_at="2026-03-02T09:02:30+08:00").items
    assert ["Oracle" in i.text for i in then] == [True]


def test_undoing_the_change_brings_the_point_back(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "I live in Leeds.")
    me.end("s1")
    moved = me.correct(me.memories()[0].id, "I live in York")
    assert me.summaries() == []
    me.undo(moved.plan_id or "")
    assert "Leeds" in me.summaries()[0].text


def test_forgetting_takes_the_summary_and_makes_it_again_of_what_is_left(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "I live in Zanzibar.", "Remember to water the plants on Friday.")
    say(me, clock, "My dog is called Biscuit.", session="s2")
    ended = [me.end("s1"), me.end("s2")]
    assert ended[0] is not None
    me.forget(memory=next(m.id for m in me.memories() if "Zanzibar" in m.text))
    [again] = me.summaries("s1")
    assert again.text == "To do: Remember to water the plants on Friday"
    assert me.summaries("s2") == [ended[1]]
    assert me.recall("Zanzibar", kinds={"summary"}).items == ()
    assert [c for c in layer.check() if not c.ok] == []


def test_of_a_session_that_is_forgotten_whole_nothing_is_queued(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "I live in Zanzibar.", session="a secret place")
    me.end("a secret place")
    me.forget(memory="m1")
    assert me.summaries() == []
    assert me.lag().waiting == 0


def test_the_past_is_for_reading_only(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    say(me, clock, "The disk is broken.")
    me.end("s1")
    with layer._store.read() as unit:
        then = UnitThen(unit, me.user, AsOf(known_at=clock.now), PARTS.indexing)
        assert then.summaries.listing(me.user) == unit.summaries.listing(me.user)


def test_the_index_is_sound_after_a_rebuild(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    me = layer.scope("ming")
    say(me, clock, "The import fails with `disk full` on node-7")
    summary = me.end("s1")
    layer.reindex()
    assert [c for c in layer.check() if not c.ok] == []
    assert [i.id for i in me.recall("import", kinds={"summary"}).items] == ["s1"]
    me.export(tmp_path / "one.zip")
    again = layer.scope("nora")
    again.import_(tmp_path / "one.zip")
    assert again.summaries() == [summary]
    assert [i.id for i in again.recall("import", kinds={"summary"}).items] == ["s1"]


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("好的，我喜欢 C#。", "我喜欢 C#"),
        ("- 记得周五前交报告；\n", "记得周五前交报告"),
        ("最后把阈值改成 -5 就好了！", "最后把阈值改成 -5 就好了"),
        ("Ok, we decided to use `--dry-run`.", "we decided to use `--dry-run`"),
        (".env 里找不到 DB_URL", ".env 里找不到 DB_URL"),
    ],
)
def test_only_marks_around_a_sentence_go(said: str, quoted: str) -> None:
    message = Message(1, "m1", "s1", Role.USER, said, Clock().now)
    assert [p.text for p in SUMMARISER.points([message])[1]] == [quoted]
