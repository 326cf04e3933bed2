"""Whatever is edited and whatever happens meanwhile: reading USER.md back loses no line (SPEC B7)."""

from __future__ import annotations

import random
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, note
from hypothesis import strategies as st

from jiyi.assembly import open_memory
from jiyi.domain.language import language_of
from jiyi.domain.memory import Memory, Status
from jiyi.domain.profile import ProfileLine
from jiyi.domain.read_back import READ_BACK, Said
from jiyi.domain.scope import Scope
from jiyi.domain.user_file import digest, read_user_file, write_user_file
from jiyi.errors import InputError
from jiyi.scoped_memory import ScopedMemory
from jiyi.testing.strategies import memories
from tests.conftest import Clock

SAID = (
    "我住在绍兴。", "我住在嘉兴。", "我住在湖州。", "我们的数据库是 MySQL", "我们的数据库是 TiDB", "喜欢乌龙茶",
    "不喜欢乌龙茶", "喜欢安静的工作环境", "预算是30万", "I live in Bath.", "I live in Leeds.", "I like oolong tea",
    "I don't like oolong tea", "Our database is PostgreSQL.", "Prefers short answers", "Allergic to peanuts",
)  # fmt: skip
said = st.sampled_from(SAID)


@dataclass(frozen=True)
class Story:
    """What is remembered, what the user does to each line of the file, what they add, what happens meanwhile."""

    first: list[str]
    edits: list[str | None]
    added: list[str]
    meanwhile: list[tuple[str, int, str]]
    keep_base: bool
    keep_ids: bool
    seed: int


stories = st.builds(
    Story,
    first=st.lists(said, max_size=5, unique=True),
    edits=st.lists(st.one_of(st.just(""), st.none(), said), max_size=5),
    added=st.lists(said, max_size=2),
    meanwhile=st.lists(
        st.tuples(st.sampled_from(["remember", "correct", "wrong", "undo"]), st.integers(0, 5), said), max_size=3
    ),
    keep_base=st.booleans(),
    keep_ids=st.sampled_from([True, True, False]),
    seed=st.integers(0, 99),
)


def edited(text: str, story: Story) -> str:
    """The file as the user leaves it: an edit is None to delete, empty to keep, or the new words."""
    lines, edits, kept = text.split("\n"), iter(story.edits), []
    for line in lines:
        edit = next(edits, "") if re.search(r"\[m\d+\]$", line) else ""
        if edit is None:
            continue
        kept.append(re.sub(r"^- .*(?= \[m)", f"- {edit}", line) if edit else line)
    cut = next(i for i, line in enumerate(kept) if line.startswith("<!-- jiyi profile"))
    head, base = kept[:cut] + [f"- {line}" for line in story.added], kept[cut:]
    random.Random(story.seed).shuffle(head)
    head = head if story.keep_ids else [re.sub(r" \[m\d+\]$", "", line) for line in head]
    return "\n".join([*head, *(base if story.keep_base else [])])


def happen(me: ScopedMemory, what: str, which: int, text: str) -> None:
    live = me.memories()
    if what == "remember":
        me.remember(text)
    elif what == "undo" and (done := me.ledger(latest=1)):
        me.undo(f"p{done[-1].seq}")
    elif live and what == "correct":
        me.correct(live[which % len(live)].id, text)
    elif live and what == "wrong":
        me.feedback(live[which % len(live)].id, "wrong")


def told(stored: list[Memory]) -> set[str]:
    """What stands anywhere: live, waiting for an answer, or in history."""
    texts = {digest(m.text) for m in stored}
    return texts | {e.session.removeprefix(READ_BACK) for m in stored for e in m.evidence}


@given(stories)
def test_no_line_is_ever_lost(story: Story) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, open_memory("reference", clock=clock, worker=False) as layer:
        me, path = layer.scope("u1"), Path(folder) / "USER.md"
        for text in story.first:
            me.remember(text)
        me.write_profile(path)
        path.write_text(edited(path.read_text("utf-8"), story), "utf-8")
        for what, which, text in story.meanwhile:
            clock.advance(hours=1)
            happen(me, what, which, text)
        clock.advance(hours=1)
        before = me.memories(status=None)
        asked = {m.seq for q in me.questions() for m in q.options}
        try:
            found = me.read_profile(path)
        except InputError:
            # With most lines changed and the comment gone nobody can tell whose file it is.
            assert (story.keep_base, me.memories(status=None)) == (False, before)
            return
        note(path.read_text("utf-8"))
        after = {m.seq: m for m in me.memories(status=None)}
        note("\n".join(f"{m.id} {m.status} {m.text} {m.doubted}" for m in after.values()))

        lines = read_user_file(path.read_text("utf-8")).lines
        assert {line.digest for line in lines} <= told([*after.values(), *_undone(me)])
        assert {m.seq for m in before} <= after.keys()
        rejected = {e.memory.seq for e in found.edits if e.memory is not None}
        for memory in before:
            if memory.status is Status.LIVE and after[memory.seq].status is not Status.LIVE:
                now = {m.seq for q in me.questions() for m in q.options} - asked
                assert memory.seq in rejected or after[memory.seq].successor is not None or memory.seq in now
        declared = {e.line.digest for e in found.edits if e.line is not None and e.said is not Said.DISPUTED}
        for edit in found.edits:
            if edit.said is Said.DISPUTED and edit.line is not None and edit.line.digest not in declared:
                assert _is_open(me, before, edit.line.digest)
        assert me.read_profile(path).plan_id is None
        if found.plan_id is not None:
            me.undo(found.plan_id)
            assert me.memories(status=None) == before


def _is_open(me: ScopedMemory, before: list[Memory], mark: str) -> bool:
    """Whether the user is asked about what a line says, unless it was believed anyway."""
    asked = {m.seq for q in me.questions() for m in q.options}
    believed = {m.seq for m in before if m.status is Status.LIVE}
    told = {m.seq for m in me.memories(status=None) if any(e.session == READ_BACK + mark for e in m.evidence)}
    return not told or bool(told & (asked | believed))


def _undone(me: ScopedMemory) -> list[Memory]:
    """What was taken back with the plan that added it: in the ledger, and nowhere else."""
    return [c.after for entry in me.ledger() for c in entry.plan.changes if c.after is not None]


@given(st.lists(memories(), max_size=5, unique_by=lambda m: m.seq))
def test_what_is_written_is_read_as_it_was_written(stored: list[Memory]) -> None:
    lines = [ProfileLine(f"- {' '.join(m.text.split())} [{m.id}]", m, unverified=False) for m in stored]
    file = read_user_file(write_user_file(Scope("u1"), lines, Clock().now))
    assert file.base is not None
    assert {line.cites: line.digest for line in file.lines} == dict(file.base.digests)
    assert file.others == ()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_read(text: str) -> None:
    for line in read_user_file(text).lines:
        assert line.text == " ".join(line.text.split())
        assert language_of(line.text) is not None
