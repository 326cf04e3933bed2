"""Passages of history through the façade: what stands around a turn, other words, names and times (SPEC R1, R5, R7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi import open_memory
from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.recalling.passages import SPARE
from jiyi.scoped_memory import ScopedMemory
from jiyi.testing.embedders import ByCharacters
from tests.conftest import Clock


@pytest.fixture
def me(layer: MemoryLayer) -> ScopedMemory:
    return layer.scope("ming")


def talk(me: ScopedMemory, *lines: str, session: str = "s1", day: str = "2026-03-01") -> None:
    """Lines such as `Ann: hello`, said one minute after the other."""
    named = [line.split(": ", 1) for line in lines]
    me.observe(
        [
            {"role": "user", "name": name, "text": text, "at": f"{day}T09:{minute:02}:00Z", "id": f"{session}.{minute}"}
            for minute, (name, text) in enumerate(named)
        ],
        session=session,
    )


def found(me: ScopedMemory, query: str, limit: int = 8) -> list[str]:
    return [item.text for item in me.recall(query, kinds={"message"}, limit=limit).items]


@pytest.fixture(params=["indexed", "just said"])
def caught_up(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "indexed")


def test_the_answer_is_found_beside_its_question(me: ScopedMemory, layer: MemoryLayer, caught_up: bool) -> None:
    talk(me, "Ann: The ferry was late", "Bob: Where did you leave the bicycle?", "Ann: Behind the bakery", "Bob: Right")
    talk(me, "Ann: It snowed", "Bob: Nice", session="s2")
    if caught_up:
        layer.work()
    items = me.recall("Where is the bicycle?", kinds={"message"}).items
    assert [item.text for item in items][:2] == ["Behind the bakery", "Where did you leave the bicycle?"]
    assert "stands beside h2" in items[0].why
    assert "matches bicycl" in items[1].why


def test_key_words_alone_want_what_holds_them(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: The bicycle is green", "Bob: Behind the bakery")
    layer.work()
    assert found(me, "bicycle green") == ["The bicycle is green"]
    assert found(me, "Is the bicycle green?") == ["The bicycle is green", "Behind the bakery"]


def test_notes_of_one_person_lend_nothing(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: 自行车是绿色的", "Ann: 周末去爬山", "Ann: 面包店关门了")
    layer.work()
    items = me.recall("自行车是什么颜色的？", kinds={"message"}).items
    assert items[0].text == "自行车是绿色的"
    assert all("stands beside" not in item.why for item in items)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("我母亲退休了", "妈妈退休了吗？"),
        ("上周购入一台冰箱", "什么时候买的冰箱？"),
        ("She swam across the lake", "Who can swim?"),
        ("My mom retired", "Has your mother retired?"),
    ],
)
def test_other_words_for_the_same(me: ScopedMemory, layer: MemoryLayer, said: str, asked: str) -> None:
    talk(me, f"Ann: {said}", "Ann: 别的事情", session="s1")
    talk(me, "Ann: something else", session="s2")
    layer.work()
    assert found(me, asked)[0] == said


def test_why_says_what_another_word_stands_for(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: 我母亲退休了")
    layer.work()
    assert "母亲 (for 妈妈)" in me.recall("妈妈呢", kinds={"message"}).items[0].why


def test_a_short_statement_leads_to_what_else_is_said_of_the_same(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: 我表姐是牙医", "Ann: 表姐住在青岛", "Ann: 今天下雨", "Ann: 隔壁老王住在大连", "Ann: 晚上吃鱼")
    layer.work()
    items = me.recall("那位牙医喜欢什么", kinds={"message"}).items
    assert [item.text for item in items] == ["我表姐是牙医", "表姐住在青岛"]
    assert "shares 表姐 with a turn that answers half of the question" in items[1].why


def test_a_named_speaker_comes_first(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Bob: I adore jazz", session="s1")
    talk(me, "Ann: I adore jazz", session="s2")
    layer.work()
    first = me.recall("Does Bob adore jazz?", kinds={"message"}).items[0]
    assert first.name == "Bob"
    assert "said by whom the question names" in first.why


@pytest.mark.parametrize(
    ("names", "line", "asked", "first"),
    [
        (("Tom Baker", "Priya Nair"), "I adore jazz", "Does Priya adore jazz?", "Priya Nair"),
        (("赵一凡", "林晓彤"), "爵士乐我听得很多", "晓彤听爵士乐吗？", "林晓彤"),
    ],
)
def test_a_speaker_is_named_by_what_they_are_called(
    me: ScopedMemory, layer: MemoryLayer, names: tuple[str, str], line: str, asked: str, first: str
) -> None:
    for number, name in enumerate(reversed(names)):
        talk(me, f"{name}: {line}", session=f"s{number}")
    layer.work()
    item = me.recall(asked, kinds={"message"}).items[0]
    assert item.name == first
    assert "said by whom the question names" in item.why


@pytest.mark.parametrize(
    ("name", "line", "asked"),
    [
        ("Jan Van Dyke", "The van is out of petrol", "Where is the van?"),
        ("April Young", "The boat is painted in April", "What is painted in April?"),
        ("Emma Stone", "The stone wall fell over", "Which stone wall fell over?"),
        ("系统消息", "消息都看过了", "消息看过没有？"),
        ("方昨天", "昨天吃了火锅", "昨天谁吃了火锅？"),
    ],
)
def test_a_word_that_is_also_a_part_of_a_name_names_nobody(
    me: ScopedMemory, layer: MemoryLayer, name: str, line: str, asked: str
) -> None:
    talk(me, f"{name}: {line}", f"Tom: {line}")
    layer.work()
    items = me.recall(asked, kinds={"message"}).items
    assert {item.name for item in items} == {name, "Tom"}
    assert all("said by whom the question names" not in item.why for item in items)


@pytest.mark.parametrize(
    ("asked", "first", "second"),
    [
        ("When I was ill, who helped me?", "My aunt helped when I was ill", "I was ill at noon"),
        ("我什么时候生病是谁帮的？", "生病是姑姑帮的", "中秋生病了"),
    ],
)
def test_who_only_says_when_wants_no_time(
    me: ScopedMemory, layer: MemoryLayer, asked: str, first: str, second: str
) -> None:
    talk(me, f"Ann: {first}", session="s1")
    talk(me, f"Ann: {second}", session="s2")
    layer.work()
    items = me.recall(asked, kinds={"message"}).items
    assert items[0].text == first
    assert all("holds something of the kind that is asked for" not in item.why for item in items)


@pytest.mark.parametrize(
    ("asked", "plain", "dated", "other"),
    [
        (
            "When did we paint the boat?",
            "We are going to paint the boat",
            "We got the boat painted last spring",
            "Nice",
        ),
        ("我们什么时候给船刷漆的？", "我们要给船刷漆", "去年春天我们要给船刷漆", "不错"),
    ],
)
def test_who_asks_when_wants_a_time(
    me: ScopedMemory, layer: MemoryLayer, asked: str, plain: str, dated: str, other: str
) -> None:
    talk(me, f"Ann: {dated}", f"Bob: {other}", session="s1")
    talk(me, f"Ann: {plain}", f"Bob: {other}", session="s2")
    layer.work()
    first = me.recall(asked, kinds={"message"}).items[0]
    assert first.text == dated
    assert "holds something of the kind that is asked for" in first.why


def test_what_wants_a_time_gets_the_same_first_turns_however_few_it_wants(me: ScopedMemory, layer: MemoryLayer) -> None:
    """Only those turns are read that can still come among the first."""
    words = ("boat", "oar", "net", "船", "网", "桨")
    lines = [
        f"Ann: {words[n % 6]} {words[n % 5]} {'x' * (n % 7)}{(' on Monday', ' 周末', '', '', '')[n % 5]}"
        for n in range(58)
    ]
    talk(me, *lines)
    layer.work()
    recall, now = me._engine.parts.recall, me._engine.clock()
    with me._engine.store.read(me.user) as unit:
        for query in ("When did the boat and the net come?", "船和网是什么时候买的？", "when was the oar lost?"):
            question = recall.read(query, now)
            words_found = recall.passages.find(unit, me.user, question)
            every = recall.passages(unit, me.user, question, words_found, 60)
            assert any(match.parts and match.parts.expected for match in every)
            for limit in (1, 4, 9):
                few = recall.passages(unit, me.user, question, words_found, limit)
                assert few == every[: limit + SPARE]


def test_a_time_in_the_question_boosts_and_does_not_filter(me: ScopedMemory, layer: MemoryLayer, clock: Clock) -> None:
    talk(me, "Ann: 今天吃了火锅", session="s1", day="2025-12-10")
    talk(me, "Ann: 今天吃了火锅，加了毛肚", session="s2", day="2026-02-10")
    layer.work()
    items = me.recall("2025年12月吃火锅了吗", kinds={"message"}).items
    assert [item.session for item in items] == ["s1", "s2"]
    assert "said in the time that the question names" in items[0].why
    assert [
        item.session for item in me.recall("吃火锅了吗", kinds={"message"}, since="2026-01-01T00:00:00Z").items
    ] == ["s2"]


def test_the_question_at_the_end_of_a_long_message_leads(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: 护照放在书房的抽屉里", session="s1")
    for n in range(12):
        talk(me, f"Ann: 电影很好看，天气也很热，第{n}次出门散步", session=f"t{n}")
    layer.work()
    long = "今天天气好热啊。昨天的电影很好看，还想出门散步。哎呀，差点忘了。我想问的是，护照放在哪里了？"
    assert found(me, long)[0] == "护照放在书房的抽屉里"


def test_quoted_words_are_verified_in_the_text(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: winter of the long light", session="s1")
    talk(me, "Ann: the long winter", session="s2")
    layer.work()
    assert found(me, 'who mentioned "the long winter" in winter')[0] == "the long winter"
    assert "as a phrase" in me.recall('who mentioned "the long winter"', kinds={"message"}).items[0].why


def test_filters_hold_for_what_stands_around(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: Where did you leave the bicycle?", "Bob: Behind the bakery")
    layer.work()
    items = me.recall("Where is the bicycle?", kinds={"message"}, since="2026-03-01T09:01:00Z").items
    assert [item.text for item in items] == ["Behind the bakery"]
    assert me.recall("Where is the bicycle?", kinds={"message"}, session="s9").items == ()


def test_an_unknown_word_is_taken_for_what_it_nearly_is(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: The restaurant by the harbour", session="s1")
    talk(me, "Ann: The harvest was early", session="s2")
    layer.work()
    for misspelt in ("restuarant", "resturant", "restourant", "restaurrant"):
        [item] = me.recall(f"which {misspelt}", kinds={"message"}).items
        assert item.text == "The restaurant by the harbour"
        assert "(for " in item.why
    # Words that are known are never doubted.
    assert found(me, "harvest") == ["The harvest was early"]


def test_synonyms_of_ones_own(tmp_path: Path, clock: Clock) -> None:
    own = tmp_path / "synonyms.toml"
    own.write_text('[en]\nsame = [["zorbing", "globe-riding"]]\n', encoding="utf-8")
    with open_memory(tmp_path / "memory.db", clock=clock, worker=False, synonyms=str(own)) as memory:
        me = memory.scope("ming")
        talk(me, "Ann: We tried globe-riding", "Ann: My mom retired")
        memory.work()
        assert found(me, "Did you go zorbing?") == ["We tried globe-riding"]
        # Beside the shipped ones.
        assert found(me, "Has your mother retired?")[0] == "My mom retired"


def test_a_broken_file_of_synonyms_is_an_error(tmp_path: Path) -> None:
    own = tmp_path / "synonyms.toml"
    for text in ('[en]\nsame = ["a", "b"]', "[en", '[en]\nlike = [["a", "b"]]'):
        own.write_text(text, encoding="utf-8")
        with pytest.raises(SettingsError, match=r"synonyms\.toml"):
            open_memory("reference", synonyms=str(own))
    with pytest.raises(SettingsError, match="synonyms"):
        open_memory("reference", synonyms=str(tmp_path / "absent.toml"))


def test_whoever_announces_two_questions_asks_both(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: 护照放在书房的抽屉里", session="s1")
    talk(me, "Ann: 钢琴课改到星期四了", session="s2")
    for n in range(12):
        talk(me, f"Ann: 电影很好看，天气也很热，第{n}次出门散步", session=f"t{n}")
    layer.work()
    long = "天气好热啊。我想问的是，护照放在哪里了？昨天的电影很好看，还出门散步了。不好意思，请问钢琴课改到哪天了？"
    assert set(found(me, long)[:2]) == {"护照放在书房的抽屉里", "钢琴课改到星期四了"}


def test_a_talk_that_is_handed_over_is_asked_as_a_whole(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: We tuned the old cello", session="s1")
    talk(me, "Ann: We should bring more chairs next time", session="s2")
    layer.work()
    handed = "<Ann>: My cello sounds dull.\n<Bob>: Is it the strings?\n<Ann>: What should I bring?"
    # What is asked last leads (decision 0049), what it is about is found as well.
    assert found(me, handed) == ["We should bring more chairs next time", "We tuned the old cello"]


def test_what_was_said_on_a_day_is_found_without_a_word(me: ScopedMemory, layer: MemoryLayer) -> None:
    talk(me, "Ann: We tuned the old cello", "Bob: Nice", session="s1", day="2026-01-12")
    talk(me, "Ann: The bus broke down again", "Bob: Oh", session="s2", day="2026-01-20")
    layer.work()
    assert found(me, "What did we do on 12.01.2026?")[0] == "We tuned the old cello"


def test_a_named_speaker_is_no_part_of_the_meaning(tmp_path: Path, clock: Clock) -> None:
    embedder = ByCharacters()
    with open_memory(tmp_path / "m.db", clock=clock, embedder=embedder, worker=False) as layer:
        me = layer.scope("ming")
        talk(me, "Ann: The cello is out of tune", "Bob: Ann, wow! Ann!")
        layer.work()
        me.recall("Where is Ann's cello?", kinds={"message"})
    assert embedder.questions == ["Where is cello?"]
