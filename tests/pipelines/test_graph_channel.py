"""What a question names brings up what stands near it in the graph (SPEC R1, G2), through the façade on every store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.recalling.items import Item, Recollection
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock

SMALL_TALK = ("周末去爬山了。", "The weather is nice today.", "我把周报改了一下。", "I bought a new lamp.")
LANGUAGES = pytest.mark.parametrize(
    ("rival", "there", "question", "way"),
    [
        ("我们的竞品是远山软件。", "王芳在远山软件工作。", "竞品那边有谁", "竞品 → 远山软件 → 王芳"),
        ("Our competitor is Farhill.", "Nora works at Farhill.", "who is at the competitor?", "competitor → Farhill → Nora"),
    ],
)  # fmt: skip


def say(layer: MemoryLayer, me: ScopedMemory, *texts: str) -> None:
    for text in texts:
        me.observe([{"role": "user", "text": text}], session=f"about {text}")
    layer.work()


def near(found: Recollection) -> list[Item]:
    """What the graph led to, and nothing else did."""
    return [i for i in found.items if dict(i.parts).get("graph") and not dict(i.parts).get("words")]


@LANGUAGES
def test_who_something_is_to_the_user_leads_to_it_and_on_from_there(
    layer: MemoryLayer, rival: str, there: str, question: str, way: str
) -> None:
    me = layer.scope("ming")
    say(layer, me, rival, there, *SMALL_TALK)
    found = me.recall(question)
    [linked] = [i for i in found.items if i.text == there.rstrip("。.")]
    assert f"is linked: {way}" in linked.why
    told = me.explain(found.trace_id, why=linked.id).account
    assert told is not None
    assert " graph" in told.reason
    assert way in told.reason
    assert near(me.recall("weather 天气")) == []


@LANGUAGES
def test_the_names_of_what_is_meant_are_looked_for_in_what_was_said(
    layer: MemoryLayer, rival: str, there: str, question: str, way: str
) -> None:
    me = layer.scope("ming")
    name = way.split(" → ")[1]
    say(layer, me, rival, f"{name} 的展台很大 / had a large booth", *SMALL_TALK)
    [best, *_] = me.recall(question, kinds={"message"}, limit=1).items
    asked = me.recall(f"{way.split(' → ')[0]} booth 展台", kinds={"message"}).items
    assert name in best.text
    assert asked[0].text.endswith("booth")
    assert f"(for {way.split(' → ')[0]})" in asked[0].why


@LANGUAGES
def test_what_is_over_or_undone_leads_nowhere_but_at_its_time(
    layer: MemoryLayer, clock: Clock, rival: str, there: str, question: str, way: str
) -> None:
    me, other = layer.scope("ming"), layer.scope("li")
    say(layer, me, rival)
    say(layer, me, there, *SMALL_TALK)
    say(layer, other, there, *SMALL_TALK)
    stood, text = clock.now, there.rstrip("。.")
    assert text not in [i.text for i in other.recall(question).items]
    clock.advance(days=1)
    me.undo("p1")
    assert text not in [i.text for i in me.recall(question).items]
    before = me.recall(question, known_at=stood)
    assert way in " ".join(i.why for i in before.items)


@LANGUAGES
def test_without_weight_there_is_no_such_channel(
    tmp_path: Path, clock: Clock, rival: str, there: str, question: str, way: str
) -> None:
    with open_memory(tmp_path / "m.db", clock=clock, worker=False, activation={"weight": 0}) as layer:
        me = layer.scope("ming")
        say(layer, me, rival, there, *SMALL_TALK)
        assert [i for i in me.recall(question).items if "linked" in i.why or "graph" in dict(i.parts)] == []


@pytest.mark.parametrize(
    ("stated", "question"),
    [
        (("我用 TiDB。", "我在云帆工作。"), "我在用什么"),
        (("I use TiDB.", "I work at Bluefern."), "what do I use?"),
    ],
)
def test_the_users_own_side_leads_to_nothing_that_is_not_asked_for(
    layer: MemoryLayer, stated: Sequence[str], question: str
) -> None:
    me = layer.scope("ming")
    say(layer, me, *stated)
    assert near(me.recall(question)) == []
