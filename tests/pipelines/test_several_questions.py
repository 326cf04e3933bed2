"""What a message asks in several questions, over a person, at the end of a talk, or of a day (SPEC R1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.fusion import FusionPolicy
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.recalling.question import QuestionReader
from jiyi.scoped_memory import ScopedMemory
from jiyi.shipped import load_announcements, load_people, load_segmenter, load_synonyms, load_times, load_voice
from jiyi.text.query_reading import Announcements
from tests.conftest import Clock

SEGMENTER = load_segmenter()
READ = QuestionReader(
    SEGMENTER, load_synonyms(SEGMENTER), load_announcements(), load_times(), FusionPolicy(), load_voice()
)
NOW = Clock()()


@pytest.fixture
def me(layer: MemoryLayer) -> ScopedMemory:
    return layer.scope("ming")


def say(me: ScopedMemory, *lines: tuple[str, str], session: str = "s1", day: str = "2026-02-10") -> None:
    """Who says what, one minute after the other."""
    me.observe(
        [
            {"role": "user", "name": who, "text": text, "at": f"{day}T09:{minute:02}:00Z", "id": f"{session}.{minute}"}
            for minute, (who, text) in enumerate(lines)
        ],
        session=session,
    )


def found(me: ScopedMemory, query: str, limit: int = 8) -> list[str]:
    return [item.text for item in me.recall(query, kinds={"message"}, limit=limit).items]


FAIR = {
    "zh": (
        *(f"烘焙展的{what}" for what in ("主题是面包", "地点在苏州", "时间是三月", "规模不小", "门票很贵")),
        "我骑的是折叠车",
    ),
    "en": (
        *(
            f"The baking fair {what}"
            for what in ("is about bread", "is in the hall", "is in March", "is huge", "is dear")
        ),
        "I ride a folding bike",
    ),
}


@pytest.mark.parametrize(
    ("language", "asked"),
    [
        ("zh", ["烘焙展的主题是什么？", "我骑什么车？"]),
        ("en", ["What is this year's baking fair about? ", "Which bike do I ride? "]),
    ],
)
def test_each_of_two_questions_is_asked(me: ScopedMemory, layer: MemoryLayer, language: str, asked: list[str]) -> None:
    lines = FAIR[language]
    say(me, *(("Ann", line) for line in lines))
    layer.work()
    for questions in (asked, asked[::-1]):
        assert set(found(me, "".join(questions), limit=2)) == {lines[0], lines[-1]}


def test_what_two_questions_matched_is_told_in_their_words(me: ScopedMemory, layer: MemoryLayer) -> None:
    say(me, *(("Ann", line) for line in FAIR["zh"]))
    layer.work()
    items = me.recall("我骑的是什么车？烘焙展在哪个城市？", kinds={"message"}).items
    why = {item.text: item.why for item in items}
    assert "骑" in why["我骑的是折叠车"]
    assert "烘焙" in why["烘焙展的地点在苏州"]
    assert "烘焙" not in why["我骑的是折叠车"]


@pytest.mark.parametrize(
    ("statement", "answer", "others", "question"),
    [
        ("我表姐是牙医", "表姐住在青岛", ["住宅区在城北", "住户都在开会", "街上到处堵车"], "那位牙医住在哪个城里？"),
        (
            "My cousin is a dentist",
            "My cousin has an old van",
            ["The car wash is shut", "A car stood outside", "I sold the car"],
            "What car does the dentist drive?",
        ),
    ],
)
def test_a_person_leads_further_than_another_word(
    me: ScopedMemory, layer: MemoryLayer, statement: str, answer: str, others: list[str], question: str
) -> None:
    say(me, *(("Ann", line) for line in [statement, *others, "Rain again", answer]))
    layer.work()
    assert found(me, question, limit=2) == [statement, answer]


def test_people_are_named_in_both_languages() -> None:
    people = load_people(SEGMENTER)
    assert {"表妹", "同事", "上司", "cousin", "colleagu", "neighbour"} <= people
    assert not {"younger", "femal", "的", "the"} & people


@pytest.mark.parametrize(
    ("talk", "told", "asked"),
    [
        ("小王：周末去爬山\n小李：好啊\n小王：我的帐篷呢", "帐篷在阁楼", "爬山很累"),
        (
            "<Ann>: the mountain was steep\n<Bob>: yes\n<Ann>: now my tent",
            "A tent hangs in the attic",
            "A mountain again",
        ),
    ],
)
def test_what_was_said_last_in_a_talk_leads(
    me: ScopedMemory, layer: MemoryLayer, talk: str, told: str, asked: str
) -> None:
    say(me, ("Ann", told), ("Ann", asked))
    layer.work()
    assert found(me, talk) == [told, asked]


def test_the_end_of_a_long_talk_is_not_cut_off() -> None:
    words = [f"word{n}x" for n in range(200)]
    question = READ("\n".join(f"Ann: {a} {b}" for a, b in zip(words[::2], words[1::2], strict=True)), NOW)
    assert {"word198x", "word199x"} <= {t.text for t in question.content}


def test_a_day_finds_what_its_speaker_said_in_a_talk(me: ScopedMemory, layer: MemoryLayer) -> None:
    day = [("Ann", "Morning!"), ("Bob", "Rain here"), ("Ann", "Oh"), ("Bob", "I am at the harbour"), ("Ann", "Lucky")]
    say(me, *day, session="s1")
    say(me, ("Bob", "My weekend plan is sleep"), ("Ann", "Good"), session="s2", day="2026-01-05")
    layer.work()
    items = me.recall("What was the plan of Bob on 2026-02-10?", kinds={"message"}).items
    why = {item.text: item.why for item in items}
    assert "said in the time that the question names" in why["I am at the harbour"]


def test_a_day_of_remarks_finds_only_their_words(me: ScopedMemory, layer: MemoryLayer) -> None:
    say(me, ("Ann", "港口很大"), ("Ann", "晚上吃鱼"), session="s1", day="2026-02-10")
    say(me, ("Ann", "计划是睡觉"), session="s2", day="2026-01-05")
    layer.work()
    assert found(me, "2026年2月10日的计划是什么？") == ["计划是睡觉"]


questions = st.lists(
    st.sampled_from(["我的车停在哪里", "What is the name of my dog", "老板喜欢什么", "the", "妈妈几岁", "Who swims"]),
    max_size=4,
)


@given(questions)
def test_parts_are_made_of_the_terms_of_the_whole(asked: list[str]) -> None:
    question = READ("？".join([*asked, ""]), NOW)
    for terms in question.parts:
        part, origins = question.part(terms)
        assert part.content
        assert part.search == [question.search[i] for i in origins]
        assert not part.parts


@pytest.mark.parametrize(
    ("lending", "answer", "beside", "question"),
    [
        ("我老师借给我一架望远镜", "望远镜七月坏了", "我老师搬去了大理", "望远镜什么时候坏的？"),
        ("My aunt gave me a kettle", "The kettle broke in June", "My aunt moved to Cork", "When did the kettle break?"),
    ],
)
def test_who_lends_a_word_does_not_stand_before_the_answer(
    me: ScopedMemory, layer: MemoryLayer, lending: str, answer: str, beside: str, question: str
) -> None:
    say(me, *(("Ann", line) for line in [lending, answer, beside]))
    layer.work()
    assert found(me, question, limit=1) == [answer]


@pytest.mark.parametrize(
    ("talk", "last"),
    [
        ("Ann: Where is the key?\nBob: Let me see.\nAnn: I will cook meanwhile.", ""),
        ("小王：钥匙在哪？\n小李：我看看。\n小王：我先去做饭。", ""),
        ("Ann: What would you like?\nBob: The red one.", "The red one."),
        ("小王：你想要哪个？\n小李：红的。", "红的。"),
        ("小王：我在找钥匙。\n小李：嗯。\n小王：在哪？", "在哪？"),
    ],
)
def test_what_was_said_last_leads_unless_its_speaker_still_waits_for_an_answer(talk: str, last: str) -> None:
    assert Announcements([]).isolate(talk).last.strip() == last
