"""Whatever was said in whatever order, whatever is forgotten is in no byte afterwards, and nothing else is harmed (SPEC F6)."""

from __future__ import annotations

import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.assembly import open_memory
from jiyi.domain.memory import Memory, Message
from jiyi.errors import PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.forgetting import all_messages
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

WORDS = ("zanzibar", "Timbuktu", "Quillfish", "marrowbone", "葫芦岛", "金枝库", "皮影戏", "核桃酥")
"""Nothing else in these stories says one of them."""
SAYINGS = (
    "I like {0}.",
    "I live in {0}.",
    "I moved from {0} to {1}.",
    "Our database is {0}. I like {1}.",
    "I no longer like {0}.",
    "我喜欢{0}。",
    "我住在{0}。",
    "我们的数据库用的是{0}。",
    "数据库从{0}换成{1}了。",
    "我现在不喜欢{0}了。我的猫叫{1}。",
    "{0}, you know, and then nothing",
    "请记住：{0}的事以后再说",
)
REPLIES = ("Noted: {0}.", "好的，{0}，记下了。", "OK.")
STATEMENTS = ("My dog is called {0}", "我的猫叫{0}", "预算是{0}")


@dataclass(frozen=True)
class Turn:
    kind: str
    text: str
    session: str
    work: bool


def texts(templates: tuple[str, ...]) -> st.SearchStrategy[str]:
    pair = st.lists(st.sampled_from(WORDS), min_size=2, max_size=2, unique=True)
    return st.builds(lambda template, words: template.format(*words), st.sampled_from(templates), pair)


TURNS = st.lists(
    st.one_of(
        st.builds(Turn, st.just("user"), texts(SAYINGS), st.sampled_from(["s1", "s2", "s3"]), st.booleans()),
        st.builds(Turn, st.just("assistant"), texts(REPLIES), st.sampled_from(["s1", "s2", "s3"]), st.booleans()),
        st.builds(Turn, st.just("remember"), texts(STATEMENTS), st.just(""), st.booleans()),
        st.just(Turn("undo", "", "", False)),
    ),
    min_size=3,
    max_size=14,
)


def live(me: ScopedMemory, layer: MemoryLayer, clock: Clock, turns: list[Turn]) -> list[dict[str, str]]:
    """Live through the turns; gives what could be read again from a source."""
    source: list[dict[str, str]] = []
    for number, turn in enumerate(turns):
        clock.advance(minutes=1)
        if turn.kind == "remember":
            me.remember(turn.text)
        elif turn.kind == "undo":
            for entry in reversed(me.ledger()):
                try:
                    me.undo(f"p{entry.seq}")
                    break
                except PlanRefused:
                    continue
        else:
            message = {
                "role": turn.kind, "text": turn.text, "session": turn.session, "id": f"t{number}",
                "at": clock.now.isoformat(),
            }  # fmt: skip
            me.observe([message])
            source.append(message)
        if turn.work:
            layer.work()
    layer.work()
    return source


def everything(me: ScopedMemory) -> tuple[list[Message], list[Memory]]:
    with me._store.read() as unit:
        return list(all_messages(unit, me.user)), unit.memories.listing(me.user, status=None)


def remembered(me: ScopedMemory) -> list[Memory]:
    """What was told without a message, undone or not."""
    pictures = [c.after or c.before for e in me.ledger() for c in e.plan.changes]
    return [m for m in pictures if m is not None and any(e.message == 0 for e in m.evidence)]


def says(item: Message | Memory, word: str) -> bool:
    return word.lower() in repr(item).lower()


def held(folder: Path, words: set[str]) -> set[str]:
    """The words that a file holds; what is packed is unpacked."""
    data = b"".join(file.read_bytes() for file in folder.iterdir() if file.suffix != ".zip").lower()
    for file in folder.glob("*.zip"):
        with zipfile.ZipFile(file) as archive:
            data += b"".join(archive.read(name) for name in archive.namelist()).lower()
    return {word for word in words if word.lower().encode() in data or word.lower().encode("utf-16-le") in data}


@pytest.mark.parametrize("index", ["postings", "native"])
@given(turns=TURNS, data=st.data())
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
def test_what_is_forgotten_is_in_no_byte_and_nothing_else_is_harmed(
    index: str, turns: list[Turn], data: st.DataObject
) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def opened() -> MemoryLayer:
            return open_memory(
                folder / "memory.db", clock=clock, worker=False, memory_index=index, message_index=index,
                synchronous="NORMAL",
            )  # fmt: skip

        with opened() as layer:
            me, other = layer.scope("ming"), layer.scope("nora")
            other.remember("User of another scope")
            source = live(me, layer, clock, turns)
            messages, memories = everything(me)
            reach = data.draw(st.sampled_from(["topic", "memory", "session", "time", "everything"]))
            clock.advance(days=1)
            secret: set[str] = set()
            touched = set[int]()  # messages that may change
            match reach:
                case "topic":
                    word = data.draw(st.sampled_from(WORDS))
                    me.forget(topic=word)
                    secret, touched = {word}, {m.seq for m in messages if says(m, word)}
                case "memory" if memories:
                    gone = data.draw(st.sampled_from(memories))
                    others = [m for m in memories if m.seq != gone.seq]
                    own = {w for w in WORDS if says(gone, w)}
                    me.forget(memory=gone.id)
                    secret = {
                        w for w in own if gone.triple is not None and says_value(gone, w) and not any(says(m, w) for m in others)
                    }  # fmt: skip
                    touched = {m.seq for m in messages if any(says(m, w) for w in own)}
                case "session" if messages:
                    session = data.draw(st.sampled_from(sorted({m.session for m in messages})))
                    touched = {m.seq for m in messages if m.session == session}
                    declared = remembered(me)
                    me.forget(session=session)
                    elsewhere = [m for m in messages if m.session != session]
                    secret = {w for w in WORDS if not any(says(i, w) for i in (*elsewhere, *declared))}
                case "time" if messages:
                    pivot = data.draw(st.sampled_from(messages)).at
                    touched = {m.seq for m in messages if m.at >= pivot}
                    declared = [m for m in remembered(me) if any(e.message == 0 and e.at < pivot for e in m.evidence)]
                    me.forget(since=pivot)
                    before = [m for m in messages if m.at < pivot]
                    secret = {w for w in WORDS if not any(says(i, w) for i in (*before, *declared))}
                case _:
                    me.forget(everything=True)
                    secret, touched = set(WORDS), {m.seq for m in messages}
            left_messages, left_memories = everything(me)
            # Nothing else is harmed.
            kept = {m.seq: m for m in left_messages}
            assert [m for m in messages if m.seq not in touched] == [
                kept.get(m.seq) for m in messages if m.seq not in touched
            ]
            if reach in ("topic", "memory"):
                named = {m.seq: m.text for m in left_memories}
                spared = [m for m in memories if not any(says(m, w) for w in WORDS if w in secret)]
                lost = [m.text for m in spared if m.seq not in named]
                assert len(lost) <= (reach == "memory"), lost
            assert len(other.memories()) == 1
            assert [c for c in layer.check() if not c.ok] == []
            # The source again, under the same ids and under others, and whatever can be undone.
            me.observe(source)
            me.observe([m | {"id": f"again {m['id']}"} for m in source])
            layer.work()
            for entry in me.ledger():
                try:
                    me.undo(f"p{entry.seq}")
                except PlanRefused:
                    continue
            layer.reindex()
            assert [r.returned for r in me.verify_forgotten() if r.returned] == []
            assert [c for c in layer.check() if not c.ok] == []
            me.export(folder / "ming.zip")
            exported = everything(me), me.ledger()
        assert held(folder, secret) == set()
        with opened() as layer:
            again = layer.scope("ming again")
            again.import_(folder / "ming.zip")
            assert (everything(again), again.ledger()) == exported


def says_value(memory: Memory, word: str) -> bool:
    return memory.triple is not None and word.lower() in memory.triple.object.lower()
