"""How questions ask for relations: by their names, their verbs, and the ways of asking that are data (SPEC R1, R3)."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from jiyi.domain.relations import parse_vocabulary
from jiyi.errors import SettingsError
from jiyi.pipelines.recalling.asking import Asking
from jiyi.shipped import load_segmenter, load_vocabulary

DATA = tomllib.loads(files("jiyi").joinpath("vocabulary", "asking.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def asking():
    return Asking(DATA, load_vocabulary(), load_segmenter(()).fold)


def outright(asking, question):
    return {ask.relation: ask.who for ask in asking(question) if ask.outright}


@pytest.mark.parametrize(
    ("question", "relation", "who"),
    [
        ("你知道我是谁吗？", "NAMED", "我"),
        ("我老婆是做什么的", "WORKS_AS", "我老婆"),
        ("小樱几岁了呀", "AGED", "小樱"),
        ("我平时几点起床", "WAKES_AT", "我"),
        ("我最害怕什么", "AFRAID_OF", "我"),
        ("我喜欢哪个颜色？", "FAVOURITE_COLOUR", "我"),
        ("我穿多大码的鞋", "SHOE_SIZE", "我"),
        ("Who am I?", "NAMED", "i"),
        ("Do you remember how old my sister is?", "AGED", "my sister"),
        ("What does my uncle do for a living?", "WORKS_AS", "my uncle"),
        ("Hey, which instrument do I play?", "PLAYS", "i"),
        ("What time do I usually get up?", "WAKES_AT", "i"),
        ("What colour do I like best?", "FAVOURITE_COLOUR", "i"),
        ("What am I afraid of?", "AFRAID_OF", "i"),
        ("what size shoes do I wear", "SHOE_SIZE", "i"),
    ],
)
def test_a_clause_asks_for_a_relation_and_says_whose(asking, question, relation, who):
    found = outright(asking, question)
    assert relation in found
    assert found[relation].split()[-len(who.split()) :] == who.split()


@pytest.mark.parametrize(
    "question",
    [
        "我做什么的时候最容易忘记喝水而且头疼呢",
        "构建失败的时候我该做什么来排查网络",
        "What do I do when the build fails?",
        "Who does my taxes?",
        "How do I install this on Windows without admin rights?",
        "Where do I click to open the report of last month?",
    ],
)
def test_a_form_must_explain_its_whole_clause(asking, question):
    assert not outright(asking, question)


@pytest.mark.parametrize(
    ("question", "former"),
    [
        ("我以前住哪", True), ("我现在住哪", False), ("我上一家公司叫什么", True),
        ("where did I live before?", True), ("what was my old job?", True), ("how old am I?", False),
        ("what did I use to drive?", True), ("what do I use for notes?", False),
    ],
)  # fmt: skip
def test_before_is_told_from_now(asking, question, former):
    assert asking.former(question) is former


def test_every_relation_is_asked_for_by_each_of_its_names(asking):
    for relation in load_vocabulary():
        for name in relation.names.all:
            assert relation.name in {ask.relation for ask in asking(name)}, (relation.name, name)


def test_every_way_of_asking_is_there_in_both_languages():
    assert all(ask["zh"] and ask["en"] and ask["of"] for ask in DATA["ask"])


def test_a_relation_that_is_not_there_is_an_error():
    data = {**DATA, "ask": [{"of": ["SNORES"], "zh": ["打呼噜"], "en": ["{who} snore"]}]}
    with pytest.raises(SettingsError, match="SNORES"):
        Asking(data, load_vocabulary(), str.casefold)


def test_a_relation_of_ones_own_is_asked_for_by_its_verb():
    table = {"category": "preference", "single": False, "subject": "user", "names": {"en": ["whittling"]}}
    table["verbs"] = {"zh": ["雕刻"], "en": ["whittle"]}
    own = Asking({**DATA, "ask": []}, parse_vocabulary({"WHITTLES": table}), str.casefold)
    assert outright(own, "我雕刻什么") == {"WHITTLES": "我"}
    assert outright(own, "What do I whittle?") == {"WHITTLES": "i"}
