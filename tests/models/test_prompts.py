"""The shipped prompts ask for what the reader of answers and the check of support take (SPEC C7), in both languages."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.language import language_of
from jiyi.domain.memory import Language, Memory, Role
from jiyi.models.scripted import Scripted
from jiyi.pipelines.modelling.answers import read_answer
from jiyi.shipped import load_prompts, load_schema
from tests.conftest import Clock
from tests.models.server import items

SPEAKERS = {"user": Role.USER, "other person": Role.OTHER, "用户": Role.USER, "其他人": Role.OTHER}
LINE = re.compile(rf"^\[\d+\] ({'|'.join(SPEAKERS)}) (\w+): (.+)$", re.MULTILINE)
ANSWER = re.compile(r'^\{"memories": \[.+\]\}$', re.MULTILINE)


def example(language: Language) -> tuple[list[tuple[Role, str, str]], str]:
    """The lines of a prompt's example and the answer to them."""
    text = load_prompts()[language].text
    answer = ANSWER.search(text)
    assert answer is not None
    return [(SPEAKERS[who], name, said) for who, name, said in LINE.findall(text)], answer.group()


def believed(clock: Clock, talk: list[tuple[Role, str, str]], answer: str) -> list[Memory]:
    """What stands after a talk that the model answers so."""
    model, start = Scripted(), datetime.fromisoformat("2026-03-01T09:00:00+08:00")
    with open_memory(
        "reference", chat=model, clock=clock, worker=False, timezone="Asia/Shanghai", model={"quiet_seconds": 0.0}
    ) as layer:
        me = layer.scope("u1")
        me.observe(
            [
                {"role": role.value, "name": name, "text": text, "at": start + timedelta(minutes=n), "id": f"t{n}"}
                for n, (role, name, text) in enumerate(talk)
            ],
            session="s1",
        )
        model.say(answer)
        layer.work()
        assert layer.dead_jobs() == []
        return me.memories()


@pytest.mark.parametrize("language", Language)
def test_the_example_is_an_answer_of_the_schema(language: Language) -> None:
    talk, answer = example(language)
    given = json.loads(answer)["memories"]
    shape = load_schema()["properties"]["memories"]["items"]
    assert all(list(item) == shape["required"] for item in given)
    assert all(item["category"] in shape["properties"]["category"]["enum"] for item in given)
    reading = read_answer(answer, whole=True, lines=len(talk), max_chars=500)
    assert (len(reading.candidates), reading.dropped, reading.fault) == (len(given), {}, "")
    assert {language_of(item["content"]) for item in given} == {language}


@pytest.mark.parametrize(
    ("language", "home", "other"),
    [
        (Language.EN, "User lives in York", "Bob took his nephew to the mill museum yesterday (2026-02-28)"),
        (Language.ZH, "用户住在无锡", "小李昨天（2026-02-28）带外甥去了丝绸博物馆"),
    ],
)
def test_the_example_is_believed_on_the_lines_that_it_cites(
    clock: Clock, language: Language, home: str, other: str
) -> None:
    talk, answer = example(language)
    cited = {m.text: [e.message for e in m.evidence] for m in believed(clock, talk, answer)}
    assert (cited[home], cited[other]) == ([1, 3], [2])


@pytest.mark.parametrize(
    ("line", "content"),
    [
        # the user is named once
        ((Role.USER, "Ann", "I keep my canoe in the shed behind my house"), "User keeps their canoe in the shed behind their house"),
        ((Role.USER, "小周", "我把皮划艇放在我家后面的棚子里"), "用户把皮划艇放在自己家后面的棚子里"),
        # a name that stands only before the line
        ((Role.OTHER, "Bob", "I keep bees on my roof, and my dad died in 2019"), "Bob keeps bees on his roof"),
        ((Role.OTHER, "Bob", "I keep bees on my roof, and my dad died in 2019"), "Bob's dad died in 2019"),
        ((Role.OTHER, "小李", "我在屋顶养蜂，我爸爸2019年去世了"), "小李在屋顶养蜂"),
        ((Role.OTHER, "小李", "我在屋顶养蜂，我爸爸2019年去世了"), "小李的爸爸2019年去世了"),
        # a step that is considered, and a worry with a cause
        ((Role.USER, "Ann", "Lately, letting out the attic is something I'm considering"), "User is considering letting out the attic"),
        ((Role.USER, "小周", "阁楼要不要租出去，我在考虑"), "用户在考虑阁楼要不要租出去"),
        ((Role.USER, "Ann", "The knee operation in June, that worries me a lot"), "The knee operation in June worries User"),
        ((Role.USER, "小周", "下个月膝盖要开刀，我一直担心麻醉"), "用户担心下个月膝盖开刀的麻醉"),
    ],
)  # fmt: skip
def test_what_is_written_as_the_prompt_asks_is_believed(
    clock: Clock, line: tuple[Role, str, str], content: str
) -> None:
    without = {m.text for m in believed(clock, [line], items())}
    found = [m for m in believed(clock, [line], items({"content": content})) if m.text not in without]
    assert [re.sub(r"\s?[（(][^）)]+[）)]", "", m.text) for m in found] == [content]


@pytest.mark.parametrize(
    ("asks", "answers", "content"),
    [
        ("Is that your third canoe?", "Yep, and it floats.", "User has a third canoe"),
        ("那是你的第三条皮划艇吗？", "对，还没下过水。", "用户有第三条皮划艇"),
    ],
)
def test_a_thing_that_only_another_person_names_is_left_out_as_the_prompt_says(
    clock: Clock, asks: str, answers: str, content: str
) -> None:
    talk = [(Role.OTHER, "Bob", asks), (Role.USER, "Ann", answers)]
    found = believed(clock, talk, items({"content": content, "messages": [1, 2]}))
    assert content not in {m.text for m in found}
