"""The profile as USER.md: written, edited by hand, read back (SPEC B7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from jiyi.domain.memory import Category, Memory, Status
from jiyi.domain.plans import Verb
from jiyi.domain.questions import Topic
from jiyi.domain.read_back import Said
from jiyi.domain.user_file import digest
from jiyi.errors import InputError, UnreadableLines
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.user_file import ReadProfile
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

ZH = ("我住在绍兴。", "我们的数据库是 MySQL", "喜欢安静的工作环境", "以后回答先说结论。")
EN = ("I live in Bath.", "Our database is MySQL.", "Prefers a quiet office", "Always answer with the conclusion first.")
BOTH = pytest.mark.parametrize("told", [ZH, EN], ids=["zh", "en"])


class Desk:
    """One user with a memory and a file of it."""

    def __init__(self, me: ScopedMemory, path: Path, told: tuple[str, ...]) -> None:
        self.me, self.path = me, path
        self.memories = [me.remember(text).memories[0] for text in told]
        self.write()

    def write(self) -> None:
        self.me.write_profile(self.path)

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode()

    def edit(self, change: Callable[[str], str]) -> None:
        before = self.text
        self.path.write_bytes(change(before).encode())
        assert self.text != before, "the edit must change something"

    def replace(self, old: str, new: str) -> None:
        self.edit(lambda text: text.replace(old, new))

    def delete(self, memory: Memory) -> None:
        self.edit(lambda text: re.sub(rf".*\[{memory.id}\]\n", "", text))

    def add(self, *lines: str) -> None:
        self.edit(lambda text: text.replace("\n<!-- jiyi profile", "\n".join(["", *lines, "", "<!-- jiyi profile"])))

    def read(self) -> ReadProfile:
        return self.me.read_profile(self.path)

    def now(self, memory: Memory) -> Memory:
        [found] = [m for m in self.me.memories(status=None) if m.seq == memory.seq]
        return found

    def live(self) -> set[str]:
        return {m.text for m in self.me.memories()}


@pytest.fixture
def sit(layer: MemoryLayer, tmp_path: Path) -> Callable[..., Desk]:
    return lambda told, user="u1": Desk(layer.scope(user), tmp_path / f"{user}.md", told)


Sit = Callable[..., Desk]


def said(found: ReadProfile) -> list[Said]:
    return [edit.said for edit in found.edits]


# ------------------------------------------------------------------ writing


@BOTH
def test_the_file_holds_every_line_with_its_memory_under_headings_of_the_language(
    sit: Sit, told: tuple[str, ...]
) -> None:
    desk = sit(told)
    title, headings = ("# 我的记忆", ("## 个人信息", "## 项目")) if told is ZH else (
        "# What is remembered of me", ("## Profile", "## Projects"))  # fmt: skip
    assert desk.text.startswith(title)
    assert all(heading in desk.text for heading in headings)
    for memory in desk.memories:
        assert f"- {memory.text} [{memory.id}]\n" in desk.text
    assert desk.path.stat().st_mode & 0o777 == 0o600


def test_the_language_of_headings_can_be_chosen(sit: Sit) -> None:
    desk = sit(ZH)
    desk.me.write_profile(desk.path, language="en")
    assert "## Profile" in desk.text
    assert said(desk.read()) == []


def test_it_is_under_no_budget(sit: Sit) -> None:
    desk = sit(tuple(f"喜欢第{i}种乌龙茶，产地各不相同" for i in range(60)))
    assert len(desk.me.profile().text) <= 400
    assert desk.text.count("- 喜欢第") == 60


@BOTH
def test_an_old_line_says_that_it_is_unverified_and_is_no_edit(sit: Sit, clock: Clock, told: tuple[str, ...]) -> None:
    desk = sit(told)
    clock.advance(days=200)
    desk.write()
    mark = "（待验证）" if told is ZH else " (unverified)"
    assert f"{told[0]}{mark} [m1]" in desk.text
    assert said(desk.read()) == []
    desk.replace(mark, "")
    assert said(desk.read()) == []


def test_writing_never_loses_what_was_typed(sit: Sit) -> None:
    desk = sit(ZH)
    desk.replace("绍兴", "嘉兴")
    with pytest.raises(InputError, match=r"line \d+\): read it back first"):
        desk.write()
    desk.read()
    desk.write()
    assert "嘉兴" in desk.text
    desk.add("一段随手写的话")
    with pytest.raises(InputError, match="read it back first"):
        desk.write()
    desk.me.write_profile(desk.path, overwrite=True)
    assert "随手" not in desk.text
    desk.delete(desk.memories[1])
    with pytest.raises(InputError, match="m2 is deleted"):
        desk.write()
    desk.path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        desk.write()


# ------------------------------------------------------------------ reading edits


@BOTH
def test_a_file_as_it_was_written_says_nothing(sit: Sit, told: tuple[str, ...]) -> None:
    desk = sit(told)
    found = desk.read()
    assert (said(found), found.plan_id, found.ignored) == ([], None, ())


@BOTH
def test_edits_become_one_plan_that_can_be_previewed_and_undone(sit: Sit, clock: Clock, told: tuple[str, ...]) -> None:
    desk = sit(told)
    city, database, _, rule = desk.memories
    before = desk.me.memories(status=None)
    clock.advance(days=1)
    desk.replace("绍兴" if told is ZH else "Bath", "嘉兴" if told is ZH else "Leeds")
    desk.replace("MySQL", "PostgreSQL")
    desk.delete(rule)
    desk.add("- 对花生过敏" if told is ZH else "- Allergic to peanuts")
    preview = desk.me.read_profile(desk.path, dry_run=True)
    assert desk.me.memories(status=None) == before, "nothing happened yet"
    plans = len(desk.me.ledger())
    found = desk.read()
    assert sorted(said(found)) == sorted([Said.CORRECTED, Said.CORRECTED, Said.ADDED, Said.REJECTED])
    assert preview.receipt.plan.changes == found.receipt.plan.changes
    assert [e.plan.verb for e in desk.me.ledger(after=plans)] == [Verb.PROFILE]
    assert [desk.now(m).status for m in (city, database, rule)] == [Status.RETRACTED] * 3
    assert desk.now(database).successor is not None
    texts = " ".join(desk.live())
    for word in ("嘉兴", "PostgreSQL", "花生") if told is ZH else ("Leeds", "PostgreSQL", "peanuts"):
        assert word in texts
    assert desk.me.questions() == []
    assert found.plan_id is not None
    desk.me.undo(found.plan_id)
    assert desk.me.memories(status=None) == before
    assert said(desk.read()) == said(found), "what was undone can be read again"


@BOTH
def test_reading_twice_changes_nothing(sit: Sit, clock: Clock, told: tuple[str, ...]) -> None:
    desk = sit(told)
    desk.replace("MySQL", "PostgreSQL")
    desk.delete(desk.memories[0])
    desk.add("- 昨天开始学吉他" if told is ZH else "- Started learning the guitar yesterday")
    clock.advance(days=1)
    desk.read()
    everything = desk.me.memories(status=None)
    clock.advance(days=30)
    again = desk.read()
    assert (said(again), again.plan_id) == ([], None)
    assert desk.me.memories(status=None) == everything
    desk.write()
    assert said(desk.read()) == []


def test_a_line_may_be_edited_again_and_back_without_writing_the_file(sit: Sit, clock: Clock) -> None:
    desk = sit(ZH)
    for old, new in (("绍兴", "嘉兴"), ("嘉兴", "湖州"), ("湖州", "嘉兴")):
        clock.advance(days=1)
        desk.replace(old, new)
        assert said(desk.read()) == [Said.CORRECTED]
        assert [m.text for m in desk.me.memories(categories=["profile"])] == [f"我住在{new}。"]
    assert desk.me.questions() == []
    clock.advance(days=1)
    desk.delete(desk.memories[0])
    assert said(desk.read()) == [Said.REJECTED]
    assert desk.me.memories(categories=["profile"]) == []


def test_a_new_line_takes_the_category_of_its_heading(sit: Sit) -> None:
    desk = sit(EN)
    desk.add("## 目标", "* Run a marathon", "", "## Something else", "1. Owns two bicycles")
    desk.read()
    categories = {m.text: m.category for m in desk.me.memories()}
    assert categories["Run a marathon"] is Category.GOAL
    assert "Owns two bicycles" in categories
    desk.me.write_profile(desk.path, overwrite=True)
    assert "Owns two bicycles [" in desk.text


@BOTH
def test_other_words_for_the_same_are_kept(sit: Sit, told: tuple[str, ...]) -> None:
    desk = sit(told)
    new = "喜欢安静的、工作环境" if told is ZH else "PREFERS a quiet office"
    desk.replace(told[2], new)
    desk.read()
    assert new in desk.live()
    assert told[2] not in desk.live()
    assert said(desk.read()) == []


def test_a_changed_line_that_says_what_another_says_rejects_its_own(sit: Sit) -> None:
    desk = sit(("喜欢乌龙茶", "喜欢龙井茶"))
    desk.replace("龙井", "乌龙")
    assert said(desk.read()) == [Said.REJECTED]
    assert desk.live() == {"喜欢乌龙茶"}
    assert said(desk.read()) == []


def test_secrets_never_get_in(sit: Sit) -> None:
    desk = sit(ZH)
    number = "138" + "0013" + "8000"
    desk.add(f"- 我的手机号是 {number}，晚上打")
    desk.read()
    assert all(number not in m.text for m in desk.me.memories())
    assert said(desk.read()) == []


# ------------------------------------------------------------------ what changed meanwhile


@BOTH
def test_a_fact_changed_on_both_sides_becomes_a_question(sit: Sit, clock: Clock, told: tuple[str, ...]) -> None:
    desk = sit(told)
    clock.advance(days=1)
    right = "我们的数据库是 TiDB" if told is ZH else "Our database is TiDB."
    desk.me.correct(desk.memories[1].id, right)
    desk.replace("MySQL", "PostgreSQL")
    clock.advance(days=1)
    assert said(desk.read()) == [Said.DISPUTED]
    assert right in desk.live()
    [asked] = desk.me.questions()
    assert asked.topic is Topic.CONFLICT
    assert "PostgreSQL" in asked.text
    assert "TiDB" in asked.text
    assert said(desk.read()) == []
    clock.advance(days=1)
    desk.me.answer(asked.id, "PostgreSQL")
    assert "PostgreSQL" in " ".join(desk.live())
    assert desk.me.questions() == []
    assert said(desk.read()) == []


@BOTH
def test_a_free_line_changed_on_both_sides_becomes_a_question(sit: Sit, clock: Clock, told: tuple[str, ...]) -> None:
    desk = sit(told)
    clock.advance(days=1)
    desk.me.correct(desk.memories[2].id, "喜欢热闹的咖啡馆" if told is ZH else "Prefers a busy cafe")
    new = "喜欢安静的图书馆" if told is ZH else "Prefers a quiet library"
    desk.replace(told[2], new)
    clock.advance(days=1)
    assert said(desk.read()) == [Said.DISPUTED]
    [asked] = desk.me.questions()
    assert asked.topic is Topic.DOUBT
    assert new in asked.text
    assert said(desk.read()) == []
    clock.advance(days=1)
    desk.me.answer(asked.id, "不是" if told is ZH else "no")
    assert new not in desk.live()
    assert said(desk.read()) == []


def test_a_deleted_line_whose_memory_changed_is_asked_about(sit: Sit, clock: Clock) -> None:
    desk = sit(ZH)
    clock.advance(days=1)
    desk.me.remember("我住在绍兴。")
    desk.delete(desk.memories[0])
    clock.advance(days=1)
    assert said(desk.read()) == [Said.DOUBTED]
    assert "我住在绍兴。" in desk.live()
    [asked] = desk.me.questions()
    assert desk.read().plan_id is None
    clock.advance(days=1)
    desk.me.answer(asked.id, "是")
    assert said(desk.read()) == [], "it was settled since"


def test_a_deleted_line_whose_memory_is_gone_anyway_says_nothing(sit: Sit, clock: Clock) -> None:
    desk = sit(ZH)
    clock.advance(days=1)
    desk.me.correct(desk.memories[0].id, "我住在嘉兴。")
    desk.delete(desk.memories[0])
    assert said(desk.read()) == []
    assert "我住在嘉兴。" in desk.live()


def test_a_stale_line_brings_nothing_back(sit: Sit, clock: Clock) -> None:
    desk = sit(ZH)
    old = desk.text
    clock.advance(days=1)
    desk.me.correct(desk.memories[0].id, "我住在嘉兴。")
    desk.write()
    desk.path.write_text(old, "utf-8")
    assert said(desk.read()) == []
    assert "我住在绍兴。" not in desk.live()


def test_an_older_file_is_merged_from_what_it_was(sit: Sit, clock: Clock) -> None:
    desk = sit(ZH)
    old = desk.text
    clock.advance(days=1)
    desk.me.remember("喜欢乌龙茶")
    desk.write()
    desk.path.write_text(old.replace("绍兴", "嘉兴"), "utf-8")
    assert said(desk.read()) == [Said.CORRECTED]
    assert {"喜欢乌龙茶", "我住在嘉兴。"} <= desk.live(), "what the older file never held was not taken out of it"


# ------------------------------------------------------------------ forgetting, export


def test_a_forgotten_line_is_not_learnt_again_from_the_file(sit: Sit) -> None:
    desk = sit(ZH)
    desk.me.forget(memory=desk.memories[2].id)
    assert said(desk.read()) == []
    assert "安静" not in " ".join(m.text for m in desk.me.memories(status=None))
    desk.replace("喜欢安静的工作环境", "喜欢靠窗的座位")
    assert said(desk.read()) == [Said.ADDED], "typed anew, it is a new statement"


def test_forgetting_what_a_line_said_leaves_not_even_its_digest(sit: Sit, clock: Clock) -> None:
    desk = sit(ZH)
    for old, new in (("绍兴", "嘉兴"), ("喜欢安静的工作环境", "喜欢靠窗的座位")):
        desk.replace(old, new)
    clock.advance(days=1)
    marks = [digest(text) for text in ("我住在嘉兴。", "喜欢靠窗的座位")]
    added = [c.after for c in desk.read().receipt.plan.changes if c.before is None and c.after is not None]
    assert all(any(mark in str(m.evidence) for m in added) for mark in marks)
    for memory in added:
        desk.me.forget(memory=memory.id)
    kept = f"{desk.me.memories(status=None)}{desk.me.ledger()}"
    assert not any(mark in kept for mark in marks)


def test_a_file_is_read_back_after_export_and_import(
    layer: MemoryLayer, sit: Sit, tmp_path: Path, clock: Clock
) -> None:
    from jiyi.assembly import open_memory

    desk = sit(ZH)
    desk.replace("绍兴", "嘉兴")
    desk.me.export(tmp_path / "u1.zip")
    with open_memory(tmp_path / "other.db", clock=clock, worker=False, timezone="Asia/Shanghai") as other:
        me = other.scope("u1")
        me.import_(tmp_path / "u1.zip")
        assert said(me.read_profile(desk.path)) == [Said.CORRECTED]


# ------------------------------------------------------------------ other tools, other files


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "  \n").replace("- ", "* "),
        lambda text: "\n".join(line for line in text.split("\n") if not line.startswith("#")),
        lambda text: text.replace(" [m", " \\[m").replace("] ", "\\] "),
        lambda text: text.replace(" [m", "［m").replace("]\n", "］\n"),
        lambda text: re.sub(r" \[m\d+\]", "", text),
        lambda text: text.replace("- ", "  1. "),
        lambda text: text.replace("m1:", "\n   m1:"),
        lambda text: re.sub(r"- (.*)\n- (.*)\n", r"- \2\n- \1\n", text),
        lambda text: text.replace("的 ", "的\n  ").replace("is ", "is\n    "),
    ],
    ids=["crlf", "bom", "stars", "no headings", "escaped", "full width", "no ids", "numbers", "reflowed comment",
         "reordered", "wrapped"],
)  # fmt: skip
@BOTH
def test_what_other_tools_leave_is_no_edit(sit: Sit, told: tuple[str, ...], spoil: Callable[[str], str]) -> None:
    desk = sit((*told, "我喜欢乌龙茶" if told is ZH else "I like oolong tea"))
    desk.path.write_bytes(spoil(desk.text).encode())
    assert said(desk.read()) == []


def test_utf_16_is_read(sit: Sit) -> None:
    desk = sit(ZH)
    desk.path.write_bytes(desk.text.replace("绍兴", "嘉兴").encode("utf-16"))
    assert said(desk.read()) == [Said.CORRECTED]


def test_prose_comments_and_code_are_left_alone(sit: Sit) -> None:
    desk = sit(EN)
    desk.edit(lambda text: f"Some words of mine.\n<!-- - a note\n- another -->\n```\n- not a line\n```\n{text}")
    found = desk.read()
    assert (said(found), found.plan_id) == ([], None)
    assert found.ignored == (1, 2, 4, 5, 6)


def test_a_comment_left_open_swallows_no_line(sit: Sit) -> None:
    desk = sit(EN)
    desk.edit(lambda text: f"<!-- a note\n{text}")
    desk.replace("Bath", "Leeds")
    assert said(desk.read()) == [Said.CORRECTED]


def test_a_file_cut_off_rejects_nothing(sit: Sit) -> None:
    desk = sit(ZH)
    desk.edit(lambda text: text[: text.index("[m1]") + 4])
    assert said(desk.read()) == []
    assert desk.live() == {m.text for m in desk.memories}
    desk.me.write_profile(desk.path, overwrite=True)
    desk.edit(lambda text: text[: text.index("m4:") + 6])
    desk.delete(desk.memories[1])
    assert said(desk.read()) == []
    desk.path.write_bytes(b"")
    assert said(desk.read()) == []


@pytest.mark.parametrize(
    ("told", "right", "relation"),
    [
        ("User has a dog", "User has one dog, Pickle", "HAS_PET"),
        ("User is considering learning Gaelic", "User gave up learning Gaelic", None),
        ("用户养了一只狗", "用户养了两只狗，豆豆和毛毛", "HAS_PET"),
    ],
)
def test_a_changed_line_is_read_as_the_sentence_it_is(sit: Sit, told: str, right: str, relation: str | None) -> None:
    desk = sit((told,))
    desk.replace(told, right)
    assert said(desk.read()) == [Said.CORRECTED]
    (memory,) = desk.me.memories()
    assert memory.text == right
    assert (memory.triple.relation if memory.triple else None) == relation


def test_without_its_comment_lines_are_still_corrected(sit: Sit) -> None:
    desk = sit(ZH)
    desk.edit(lambda text: re.sub(r"<!-- jiyi profile.*", "", text, flags=re.DOTALL).replace("绍兴", "嘉兴"))
    desk.delete(desk.memories[1])
    assert said(desk.read()) == [Said.CORRECTED]


def test_a_file_of_another_user_is_refused(sit: Sit) -> None:
    mine, theirs = sit(ZH), sit(EN, user="u2")
    with pytest.raises(InputError, match="another user"):
        mine.me.read_profile(theirs.path)
    theirs.edit(lambda text: re.sub(r"<!-- jiyi profile.*", "", text, flags=re.DOTALL))
    with pytest.raises(InputError, match="ever said"):
        mine.me.read_profile(theirs.path)
    assert mine.live() == {m.text for m in mine.memories}


def test_a_file_of_another_memory_of_the_same_user_is_refused(sit: Sit, tmp_path: Path, clock: Clock) -> None:
    from jiyi.assembly import open_memory

    desk = sit(ZH)
    with open_memory(tmp_path / "other.db", clock=clock, worker=False) as other:
        me = other.scope("u1")
        me.remember("I live in Bath.")
        with pytest.raises(InputError, match="not written from this memory"):
            me.read_profile(desk.path)


def test_lines_that_cannot_be_read_are_named_and_nothing_is_half_done(sit: Sit) -> None:
    desk = sit(ZH)
    before = desk.me.memories(status=None)
    desk.replace("绍兴", "嘉兴")
    desk.replace("喜欢安静的工作环境 ", "")
    desk.add("- 一条新的 [m99]", f"- {'长' * 600}")
    with pytest.raises(UnreadableLines) as caught:
        desk.read()
    lines = desk.text.split("\n")
    assert [lines[number - 1][:6] for number, _ in caught.value.problems] == ["- [m3]", "- 一条新的", "- 长长长长"]
    assert "Nothing was changed" in str(caught.value)
    assert desk.me.memories(status=None) == before


def test_two_changed_lines_that_cite_the_same_are_named(sit: Sit) -> None:
    desk = sit(ZH)
    desk.replace("- 我住在绍兴。 [m1]", "- 我住在嘉兴。 [m1]\n- 我住在湖州。 [m1]")
    with pytest.raises(UnreadableLines, match="more than one changed line cites m1"):
        desk.read()


def test_a_line_copied_with_its_id_is_a_new_one(sit: Sit) -> None:
    desk = sit(ZH)
    desk.replace("- 我住在绍兴。 [m1]", "- 我住在绍兴。 [m1]\n- 喜欢乌龙茶 [m1]")
    assert said(desk.read()) == [Said.ADDED]
    assert {"我住在绍兴。", "喜欢乌龙茶"} <= desk.live()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "no such file"),
        ("# 记忆 · What is remembered\n- x (2026-03-01, declared) [m1]\n".encode(), "export"),
        ("我住在绍兴".encode("gbk"), "UTF-8"),
        (b"<!-- jiyi profile 9 2026-03-02T09:00:00+08:00 000000000000 -->", "version 9"),
        (b"- x\n" * 2_000_000, "limit"),
    ],
)
def test_what_is_no_such_file_is_refused(sit: Sit, data: bytes | None, problem: str) -> None:
    desk = sit(ZH)
    if data is None:
        desk.path.unlink()
    else:
        desk.path.write_bytes(data)
    with pytest.raises(InputError, match=problem):
        desk.read()


def test_the_reading_is_one_user_s_alone(sit: Sit) -> None:
    mine, theirs = sit(ZH), sit(ZH, user="u2")
    mine.replace("绍兴", "嘉兴")
    mine.read()
    assert theirs.live() == {m.text for m in theirs.memories}
