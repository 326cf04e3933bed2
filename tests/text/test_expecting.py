"""What a question expects of its answer, and what holds anything of the kind."""

from __future__ import annotations

import pytest

from jiyi.shipped import load_expecting

EXPECTING = load_expecting()


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("when did we paint the boat?", "time"),
        ("so when is the wedding?", "time"),
        ("which month is the rent due?", "time"),
        ("how long have we had the boat?", "time"),
        ("我们什么时候刷的漆？", "time"),
        ("婚礼是哪天？", "time"),
        ("那条船买了多久？", "time"),
        ("what do i say when the boat leaks?", None),
        ("who painted the boat?", None),
        ("船漏水的时候怎么办？", None),
        ("谁刷的漆？", None),
        ("when i was ill, who helped me?", None),
        ("when my back hurts, what do i do?", None),
        ("when was i ill, and who helped me?", None),
        ("when’s the wedding?", "time"),
        ("when?", "time"),
        ("which day nursery did we choose?", None),
        ("what time machine did he draw?", None),
        ("which day is it?", "time"),
        ("tell me what year we met", "time"),
        ("what day of the week did we meet?", "time"),
        ("the wedding is in what month?", "time"),
        ("我什么时候生病是谁帮的？", None),
        ("他什么时候去的，去了哪里？", None),
        ("你什么时候买了什么？", None),
        ("什么时候头疼该怎么办？", None),
        ("我们是什么时候，什么时间见的？", "time"),
        ("他读几年级？", None),
        ("他住几号楼？", None),
        ("会议几点开始？", "time"),
    ],
)
def test_what_is_asked_for(question: str, kind: str | None) -> None:
    expected = EXPECTING.of(question)
    assert (expected and expected.name) == kind


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("we painted it last spring", True),
        ("on saturday we sailed", True),
        ("it took two weeks", True),
        ("we may paint it", False),
        ("the boat is green", False),
        ("去年春天刷的", True),
        ("上周刷完了", True),
        ("花了三个月", True),
        ("船是绿的", False),
        ("一个人刷的", False),
        *(
            (text, True)
            for text in (
                "at 3 pm",
                "at 10:30",
                "in 2023",
                "2023/05/01",
                "in the 90s",
                "back in 1998.",
                "on the 5th",
                "on 7/12",
                "it took 2 weeks",
                "at noon",
                "around midnight",
                "at nine o'clock",
                "at nine o’clock",
                "at christmas",
                "over easter",
                "on my birthday",
                "on my sister's 30th birthday",
                "until after the exam",
                "not until after lunch",
                "after the wedding",
                "before the move",
                "before my sister's wedding",
                "on may 5",
                "3点见",
                "下午一点",
                "一点半到",
                "1点钟",
                "11点",
                "5号交",
                "10月",
                "2023年",
                "3天",
                "两周",
                "半年",
                "国庆去的",
                "中秋见",
                "端午那次",
                "元旦",
                "清明回家",
                "除夕",
                "五一去的",
                "月底交",
                "月初",
                "年底",
                "年初",
                "搬家之后",
                "考试之前",
                "毕业以后",
                "生日那天",
                "十五日",
            )
        ),
        *(
            (text, False)
            for text in (
                "room 5",
                "4 pounds",
                "it weighs 4.5 kg",
                "i just painted it",
                "since it leaks, we stay",
                "a birthday cake",
                "look after the school",
                "half of it, 1/2 cup",
                "we are open 24/7",
                "2000 steps",
                "on the 5th floor",
                "a 3 year old",
                "the last one is green",
                "3桌",
                "会议室3号",
                "3号楼",
                "3号线",
                "中山路5号",
                "5号电池",
                "便宜一点",
                "早点睡",
                "三点建议",
                "三年级",
                "月饼",
                "刚刚好",
                "早上好",
                "一日常",
            )
        ),
    ],
)
def test_what_holds_a_time(text: str, held: bool) -> None:
    [time] = EXPECTING.kinds
    assert bool(time.holds.search(text)) is held
