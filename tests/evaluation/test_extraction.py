"""Precision and recall counted on memories written by hand, so that every number is known beforehand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jiyi.domain.memory import Category, IncomingMessage, Memory, Role, Source, Triple
from jiyi.domain.relations import USER
from jiyi.errors import SettingsError
from jiyi.evaluation.extract_report import content_words, load_map
from jiyi.evaluation.extraction import (
    AttributeMap,
    Chat,
    Fact,
    FactPolicy,
    FactScores,
    Person,
    Scores,
    Talk,
    score_chat,
    score_talk,
)
from jiyi.shipped import load_vocabulary

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
COUSIN = Person(
    "表弟",
    {"姓名": "周砚秋", "身高": "171cm", "家乡": "浙江绍兴", "职业": "质检员", "联系电话": "13900001111"},
    "周砚秋",
)
BOSS = Person("上司", {"姓名": "郑若冰", "身高": "168cm", "家乡": "江西赣州", "工作地": "江西赣州"}, "郑若冰")
BROTHER = Person(
    "brother", {"name": "Tom Reed", "birthday": "5 March", "hometown": "Cork", "profession": "baker"}, "Tom Reed"
)
SELF = Person("", {"兴趣爱好": "攀岩", "职业": "园丁"})


def said(*texts: str) -> tuple[IncomingMessage, ...]:
    return tuple(IncomingMessage(f"m{i}", "s1", Role.USER, text, AT) for i, text in enumerate(texts))


def memory(subject: str, relation: str, value: str, *, negated: bool = False, text: str = "") -> Memory:
    return Memory(
        seq=1, text=text or f"{subject} {relation} {value}", category=Category.RELATIONSHIP, importance=3,
        source=Source.DECLARED, start=0.95, affirmed_at=AT, valid_from=AT, learnt_at=AT, value=value,
        triple=Triple(subject, relation, value, negated),
    )  # fmt: skip


def score(messages: tuple[str, ...], people: tuple[Person, ...], *memories: Memory) -> Scores:
    scores = Scores()
    score_talk(Talk("t", said(*messages), people), memories, load_map(), scores)
    return scores


def counts(scores: Scores) -> dict[str, tuple[int, int, int, int]]:
    names = {*scores.stated, *scores.stored}
    return {a: (scores.stated[a], scores.found[a], scores.stored[a], scores.right[a]) for a in names}


TALK = ("我表弟身高1米71。", "我表弟老家是绍兴的。", "我上司身高168厘米。", "表弟的电话是13900001111。")


def test_everything_right() -> None:
    scores = score(
        TALK, (SELF, COUSIN, BOSS),
        memory("用户的表弟", "HAS_HEIGHT", "171厘米"), memory("表弟", "COMES_FROM", "绍兴"), memory("郑若冰", "HAS_HEIGHT", "168cm"),
    )  # fmt: skip
    assert counts(scores) == {"height": (2, 2, 2, 2), "hometown": (1, 1, 1, 1)}
    assert (scores.recall(), scores.precision(), dict(scores.redacted)) == (1.0, 1.0, {"phone": 1})
    assert not scores.misses
    assert not scores.wrong


def test_the_wrong_person_is_a_miss_and_a_falsehood() -> None:
    scores = score(TALK, (SELF, COUSIN, BOSS), memory("用户的上司", "HAS_HEIGHT", "171厘米"))
    assert counts(scores) == {"height": (2, 0, 1, 0), "hometown": (1, 0, 0, 0)}
    assert [(e.person, e.true) for e in scores.wrong] == [("上司", "168cm")]
    assert [(e.person, e.attribute) for e in scores.misses] == [
        ("表弟", "height"),
        ("表弟", "hometown"),
        ("上司", "height"),
    ]


def test_the_wrong_relation_is_a_miss_and_counts_where_it_claims() -> None:
    scores = score(("我上司老家在赣州。",), (BOSS,), memory("用户的上司", "WORKS_IN", "上饶"))
    assert counts(scores) == {"hometown": (1, 0, 0, 0), "work_location": (0, 0, 1, 0)}


def test_a_denial_finds_nothing_and_denying_the_truth_is_false() -> None:
    people = (SELF, COUSIN, BOSS)
    of_another_value = score(TALK, people, memory("表弟", "HAS_HEIGHT", "160cm", negated=True))
    assert counts(of_another_value)["height"] == (2, 0, 0, 0)
    of_the_truth = score(TALK, people, memory("表弟", "HAS_HEIGHT", "171cm", negated=True))
    assert counts(of_the_truth)["height"] == (2, 0, 1, 0)


def test_what_nobody_said_is_not_asked_for_and_counts_as_stored() -> None:
    right = score(("你好",), (COUSIN,), memory("表弟", "WORKS_AS", "质检员"))
    assert counts(right) == {"occupation": (0, 0, 1, 1)}
    assert right.recall() is None
    assert counts(score(("你好",), (COUSIN,), memory("表弟", "WORKS_AS", "厨师"))) == {"occupation": (0, 0, 1, 0)}
    # An attribute that the data says nothing of cannot be judged.
    assert counts(score(("你好",), (COUSIN,), memory("表弟", "HAS_GENDER", "男"))) == {}


def test_other_words_for_the_truth_bound_precision_from_above() -> None:
    people = (COUSIN,)
    said_so = score(("我表弟是验货的。",), people, memory("表弟", "WORKS_AS", "验货"))
    assert (said_so.unmatched, dict(said_so.reworded), said_so.precision(), said_so.precision_at_most()) == (
        1, {"occupation": 1}, 0.0, 1.0,
    )  # fmt: skip
    made_up = score(("我表弟是验货的。",), people, memory("表弟", "WORKS_AS", "厨师"))
    assert (made_up.unmatched, dict(made_up.reworded), made_up.precision_at_most()) == (1, {}, 0.0)


def test_somebody_unknown_is_counted_apart() -> None:
    scores = score(
        TALK, (SELF, COUSIN, BOSS), memory("表弟的邻居", "HAS_HEIGHT", "171cm"), memory("舅妈", "AGED", "50岁")
    )
    assert (scores.others, scores.stored.total()) == (2, 0)


def test_a_message_about_two_people_or_an_unlisted_one_states_nothing() -> None:
    assert not score(("我表弟和上司一个171cm一个168cm。",), (COUSIN, BOSS)).stated
    mother = Person("母亲", {"身高": "160cm"})
    assert counts(score(("我妈妈身高160厘米。",), (mother,))) == {"height": (1, 0, 0, 0)}
    assert not score(("我舅妈身高160厘米。",), (mother,)).stated  # 舅妈 is not 妈


def test_a_cue_tells_two_equal_values_apart() -> None:
    assert dict(score(("我上司在赣州上班。",), (BOSS,)).stated) == {"work_location": 1}
    assert dict(score(("我上司老家赣州。",), (BOSS,)).stated) == {"hometown": 1}
    unclear = score(("我上司，赣州。",), (BOSS,))
    assert (dict(unclear.stated), unclear.unclear) == ({}, 1)


def test_a_value_inside_a_longer_one_is_not_stated() -> None:
    person = Person("表弟", {"工作地": "浙江绍兴", "单位名称": "绍兴丰源药厂"})
    assert dict(score(("我表弟的单位叫绍兴丰源药厂。",), (person,)).stated) == {"employer": 1}


def test_the_user_states_only_near_a_cue() -> None:
    assert dict(score(("我的爱好是攀岩。",), (SELF, COUSIN)).stated) == {"hobby": 1}
    assert not score(("我要去看一部讲攀岩的片子，听说拍得不错。",), (SELF, COUSIN)).stated
    found = score(("我的爱好是攀岩。",), (SELF, COUSIN), memory(USER, "HAS_HOBBY", "攀岩"))
    assert counts(found) == {"hobby": (1, 1, 1, 1)}


def test_english() -> None:
    scores = score(
        ("My brother's birthday is March 5.", "My brother is from Cork.", "My brother's name is Tom Reed.", "Tom Reed is a baker."),
        (SELF, BROTHER),
        memory("User's brother", "BORN_ON", "March 5"), memory("User's brother", "COMES_FROM", "Derry"),
        memory("User's brother", "RELATIVE_NAMED", "Tom Reed"), memory("Tom Reed", "WORKS_AS", "a baker"),
    )  # fmt: skip
    assert counts(scores) == {
        "birthday": (1, 1, 1, 1), "hometown": (1, 0, 1, 0), "name": (1, 1, 1, 1), "occupation": (1, 1, 1, 1),
    }  # fmt: skip
    assert (scores.recall(), scores.precision()) == (0.75, 0.75)


def test_the_map_names_relations_of_the_vocabulary() -> None:
    vocabulary = load_vocabulary()
    unknown = [r for a in load_map().attributes for r in a.relations if vocabulary.get(r) is None]
    assert unknown == []
    data = {
        "people": {"same": [], "own": [], "lead": []},
        "attribute": {"x": {"names": {"zh": ["甲"]}, "kind": "colour"}},
    }
    with pytest.raises(SettingsError, match="x: kind must be one of"):
        AttributeMap.parse(data)


def facts(texts: list[str], messages: tuple[str, ...], *memories: Memory) -> FactScores:
    scores = FactScores()
    chat = Chat("c", said(*messages), tuple(Fact(f"f{i}", t, "s1", ("Ana",)) for i, t in enumerate(texts)))
    score_chat(chat, memories, content_words, load_vocabulary(), FactPolicy(), scores)
    return scores


def test_facts_by_their_words_and_by_their_key() -> None:
    scores = facts(
        ["Ana keeps three goats behind the barn.", "Ana prefers quiet trains.", "Ana plays the cello.", "安娜在镇上修自行车。"],
        ("I keep three goats behind our barn.", "Cello is hard.", "我在镇上修自行车。"),
        memory(USER, "HAS_PET", "goats", text="User keeps goats behind the barn"),
        memory(USER, "PREFERS", "quiet trains", text="Something else"),
        memory(USER, "LIKES", "cello", text="User likes cello"),
        memory(USER, "DID", "x", text="用户在镇上修自行车"),
    )  # fmt: skip
    assert (scores.facts, scores.stored, scores.sayable, scores.stored_sayable) == (4, 3, 2, 2)
    assert [e.true for e in scores.misses] == ["Ana plays the cello."]
    assert scores.recall == 0.75
    assert scores.recall_sayable == 1.0


def test_a_denied_key_holds_no_fact() -> None:
    assert (
        facts(["Ana prefers quiet trains."], (), memory(USER, "PREFERS", "quiet trains", negated=True, text="-")).stored
        == 0
    )
