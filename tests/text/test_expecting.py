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
    ],
)
def test_what_holds_a_time(text: str, held: bool) -> None:
    [time] = EXPECTING.kinds
    assert bool(time.holds.search(text)) is held
