"""What is over once something happened, though nobody names it, through the façade (SPEC B3, W1, W2)."""

from __future__ import annotations

import pytest

from jiyi.domain.closing import BY_AN_EVENT, parse_closings
from jiyi.domain.memory import Status
from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.shipped import load_closings, load_constructions, load_segmenter, load_vocabulary
from tests.conftest import Clock

# What is told, a month apart; the memories that are over then, and one that still stands, if any.
ENDS = [
    (["我在远帆造船公司上班。", "我离职了。"], ["远帆造船公司"], "离职"),
    (["I work at Larkspur Labs.", "I got laid off."], ["larkspur labs"], "laid off"),
    (["I work at Siemens.", "I'm no longer at Siemens, I work at Larkspur Labs now."], ["siemens"], "Larkspur"),
    (["I work at Larkspur Labs.", "I lost my job."], ["larkspur labs"], "lost or left"),
    (["I work at Larkspur Labs.", "I resigned."], ["larkspur labs"], "resigned"),
    (["I work at Larkspur Labs.", "I got fired from Larkspur Labs."], ["larkspur labs"], "got fired"),
    (["I work at Larkspur Labs.", "I quit my job to travel."], ["larkspur labs"], "to travel"),
    (["我在远帆造船公司上班。", "我辞掉了工作。"], ["远帆造船公司"], "不再做"),
    (["我在远帆造船公司上班。", "我把工作辞了。"], ["远帆造船公司"], "辞"),
    (["我在远帆造船公司上班。", "我从公司离职了。"], ["远帆造船公司"], "离职"),
    (["My manager is Solveig.", "My manager is now Torben."], ["solveig"], "Torben"),
    (["My boss is Solveig.", "My new boss is Torben."], ["solveig"], "Torben"),
    (["我的经理是柳青青。", "我的经理现在是洪开山。"], ["柳青青"], "洪开山"),
    (["我的上司是柳青青。", "我的上司换成洪开山了。"], ["柳青青"], "洪开山"),
    (["我的上司是柳青青。", "我的新上司是洪开山。"], ["柳青青"], "洪开山"),
    (["我老婆叫柳青青。", "我离婚了。"], ["柳青青"], "离婚"),
    (["I have a wife.", "My wife is Solveig.", "We got divorced."], ["wife", "solveig"], "divorced"),
    (["My girlfriend is Solveig.", "Solveig and I broke up last week."], ["solveig"], "broke up"),
    (["我养了一只叫芝麻的狗。", "我的狗上周死了。"], ["叫芝麻的狗"], "死"),
    (["I have a dog named Pickles.", "Pickles passed away."], ["dog"], "dog's name is Pickles"),
    (["我爷爷叫洪开山。", "我爷爷住在绍兴。", "我爷爷去世了。"], ["绍兴"], "洪开山"),
    (["我住在绍兴。", "我搬走了。"], ["绍兴"], "搬走"),
    (["I live in Bath.", "I moved out."], ["bath"], "moved out"),
    # told in other words, or by half a sentence
    (["I work at Larkspur Labs.", "I've been laid off."], ["larkspur labs"], "laid off"),
    (["I work at Larkspur Labs.", "I got let go last week."], ["larkspur labs"], "let go"),
    (["I work at Larkspur Labs.", "Got fired by my boss today."], ["larkspur labs"], "got fired"),
    (["I work at Larkspur Labs.", "I quit!"], ["larkspur labs"], "quit"),
    (["I work at Fernhill.", "I left Fernhill."], ["fernhill"], "left Fernhill"),
    (["I work at Fernhill.", "I'm no longer with Fernhill."], ["fernhill"], "no longer with"),
    (["I work at Larkspur Labs.", "I don't work there anymore."], ["larkspur labs"], "no longer works there"),
    (["我在青禾种业上班。", "我上周离开青禾种业了。"], ["青禾种业"], "离开"),
    (["我在远帆造船公司上班。", "被炒鱿鱼了"], ["远帆造船公司"], "炒鱿鱼"),
    (["我在远帆造船公司上班。", "上周被裁了。"], ["远帆造船公司"], "被裁"),
    (["我在远帆造船公司上班。", "今天正式离职"], ["远帆造船公司"], "正式离职"),
    (["我在远帆造船公司上班。", "我不在那里上班了。"], ["远帆造船公司"], "不在那里上班"),
    (["My dog's name is Toffee.", "I have a dog.", "Toffee died last week."], ["dog"], "died"),
    (["我养了一只叫豆豆的狗。", "豆豆昨天去世了。"], ["叫豆豆的狗"], "去世"),
    (["My manager is Solveig.", "Torben is my manager now."], ["solveig"], "Torben"),
    (["我的经理是柳青青。", "洪开山现在是我的经理了。"], ["柳青青"], "洪开山"),
    (["我女朋友叫柳青青。", "我和柳青青分手了。"], ["柳青青"], "分手"),
    (["My girlfriend is Solveig.", "I broke up with my girlfriend."], ["solveig"], "broke up"),
]
STAYS = [
    # long ago, said of somebody else, wished for, or taken up again
    ["I work at Larkspur Labs.", "I quit my job in 2014."],
    ["我在远帆造船公司上班。", "我爸爸2014年辞职了。"],
    ["I work at Larkspur Labs.", "I want to quit my job."],
    ["I quit my job.", "I work at Larkspur Labs."],
    ["My girlfriend is Solveig.", "My sister got divorced."],
    # what was something else
    ["I work at Larkspur Labs.", "I got fired from Fernhill Partners."],
    ["I work at Larkspur Labs.", "I quit Fernhill Partners last Friday."],
    ["I work at Larkspur Labs.", "I was fired up about the talk."],
    ["I work at Larkspur Labs.", "I left my job at 5pm today."],
    ["I work at Larkspur Labs.", "I left Fernhill."],
    ["I work at Fernhill.", "I left Fernhill in 2014."],
    ["I work at Larkspur Labs.", "I was laid off in 2014."],
    ["我在远帆造船公司上班。", "我2014年被裁了。"],
    # nobody knows of a dog of that name, or it is a machine's
    ["I have a dog named Pickles.", "Toffee died."],
    ["我养了一只叫芝麻的狗。", "豆豆去世了。"],
    # what is no such thing, and what happened with another
    ["I work at Larkspur Labs.", "I got fired by my own cat lol"],
    ["I work at Larkspur Labs.", "I got fired in the new video game."],
    ["我在远帆造船公司上班。", "代码被优化了。"],
    ["我在远帆造船公司上班。", "我弟弟昨天来了，被裁了。"],
    ["I have a dog named Pickles.", "My dog died in the game."],
    ["I have a phone.", "I have a dog named Pickles.", "My phone died."],
    ["我女朋友叫柳青青。", "我和前女友分手了。"],
    ["我女朋友叫柳青青。", "我们跟供应商分手了。"],
    ["我女朋友叫柳青青。", "我和洪开山分手了。"],
    ["My girlfriend is Solveig.", "I broke up with my ex-girlfriend."],
    ["My girlfriend is Solveig.", "We broke up with our supplier."],
    # nobody says that there is but one, or the place is another's
    ["My manager is Solveig.", "My manager is Torben."],
    ["My friend is Solveig.", "My friend is now Torben."],
    ["My manager is Solveig.", "My boss is now Torben."],
    ["我的经理是柳青青。", "我的经理以前是洪开山。"],
    # one of two, and nobody says which
    ["I have a dog named Pickles.", "I have a dog named Waffle.", "My dog died."],
    ["I have a dog named Pickles.", "I have a dog named Waffle.", "Waffle passed away."],
    ["我养了一只叫芝麻的狗。", "我养了一只叫绿豆的狗。", "我的狗死了。"],
]


def tell(layer: MemoryLayer, me: ScopedMemory, clock: Clock, talk: list[str]) -> None:
    for number, text in enumerate(talk):
        clock.advance(days=30)
        me.observe([{"role": "user", "text": text}], session=f"s{number}")
        layer.work()


@pytest.mark.parametrize(("talk", "over", "stands"), ENDS)
def test_what_happened_ends_what_nobody_names(
    layer: MemoryLayer, clock: Clock, talk: list[str], over: list[str], stands: str
) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, talk[:-1])
    before = me.memories(status=None)
    tell(layer, me, clock, talk[-1:])
    assert [m.value for m in me.memories(status=Status.ENDED)] == over
    assert any(stands in m.text for m in me.memories())
    assert me.questions() == []
    me.undo(f"p{me.ledger()[-1].seq}")
    assert me.memories(status=None) == before


@pytest.mark.parametrize("talk", STAYS)
def test_nothing_else_is_over(layer: MemoryLayer, clock: Clock, talk: list[str]) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, talk)
    assert me.memories(status=Status.ENDED) == []


def test_the_ledger_names_the_event(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, ["I work at Larkspur Labs.", "I quit my job."])
    judgement = me.ledger()[-1].plan.judgements[-1]
    assert (judgement.rule, judgement.ends, judgement.reasons) == (BY_AN_EVENT, (1,), ("m2 tells what ended m1",))


def test_what_waited_is_over_as_well(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, ["I work at Larkspur Labs.", "I work at Fernhill Partners.", "I quit my job."])
    assert not any("works at" in m.text for m in me.memories())
    assert me.questions() == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_successors_come_to_the_same_in_any_order(layer: MemoryLayer, clock: Clock, order: tuple[int, ...]) -> None:
    talk = ["My manager is Solveig.", "My manager is now Torben.", "My manager is now Ingrid."]
    me = layer.scope("ming")
    for number in order:
        at = f"2026-01-{number + 1:02}T09:00:00+00:00"
        me.observe([{"role": "user", "text": talk[number], "at": at}], session=f"s{number}")
        layer.work()
    assert [m.value for m in me.memories()] == ["ingrid"]
    assert sorted(m.value for m in me.memories(status=Status.ENDED)) == ["solveig", "torben"]
    assert me.questions() == []


def test_who_comes_back_takes_the_place_again(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, ["My manager is Solveig.", "My manager is now Torben.", "My manager is now Solveig."])
    assert [m.value for m in me.memories()] == ["solveig"]


def test_a_successor_that_was_wrong_or_forgotten(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, ["My manager is Solveig.", "My manager is now Torben."])
    [new] = me.memories()
    me.correct(new.id, "My manager is now Ingrid.")
    assert [m.value for m in me.memories()] == ["ingrid"]
    me.forget(topic="Ingrid")
    assert not any("Ingrid" in m.text for m in me.memories(status=None))


def test_the_shipped_events_name_what_there_is() -> None:
    closings = load_closings(load_segmenter())
    assert all(kind.ends or kind.told for kind in closings.kinds)
    assert {one for kind in closings.kinds for one in kind.kin} <= set(closings.kin)
    # What has a name is told by it as well: my favourite team is …
    told = {relation.name for relation in load_vocabulary() if relation.deeds.all or relation.names.all}
    assert load_constructions().relations | told >= {kind.event for kind in closings.kinds}


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"event": "DID"}, "neither ends nor told"),
        ({"event": "DID", "ends": ["NOTHING"]}, "NOTHING"),
        ({"event": "DID", "ends": ["WORKS_AT"], "kin": ["nobody"]}, "nobody"),
        ({"event": "DID", "ends": ["WORKS_AT"], "often": True}, "often"),
    ],
)
def test_a_file_that_names_what_nobody_knows_is_told(entry: dict[str, object], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        parse_closings({"closing": [entry]}, load_vocabulary(), {}, {}, str, str.split)
