"""What is said about the user, in their own words; what is about users of something stays."""

from __future__ import annotations

import pytest

from jiyi.shipped import load_voice
from jiyi.text.voice import Voice


@pytest.mark.parametrize(
    ("said", "own"),
    [
        ("用户的猫叫什么", "我的猫叫什么"),
        ("用户怕黑", "我怕黑"),
        ("用戶的貓", "我的貓"),
        ("does the user own a boat", "do I own a boat"),
        ("Why is  the user late?", "Why am I late?"),
        ("the user's aunt", "my aunt"),
        ("User has a cat", "I have a cat"),
        ("where was the user's boat", "where was my boat"),
        ("is the user’s aunt well", "is my aunt well"),
        ("pets of the user", "pets of mine"),
        ("what suits the user", "what suits me"),
        ("User's cat's name is Momo", "my cat's name is Momo"),
    ],
)
def test_the_user_speaks(said: str, own: str) -> None:
    assert load_voice()(said) == own


@pytest.mark.parametrize(
    "said",
    [
        "用户表有多大",
        "用戶體驗很好",
        "the user table is full",
        "users of the app",
        "a power user",
        "我怕黑",
        "",
        "reuser is",
    ],
)
def test_what_is_about_others_stays(said: str) -> None:
    assert load_voice()(said) == said


def test_without_ways_nothing_changes() -> None:
    assert Voice({})("the user") == "the user"
