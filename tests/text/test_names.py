"""Names in a question, by how they are written; things by their kind."""

from __future__ import annotations

import pytest

from jiyi.errors import SettingsError
from jiyi.shipped import load_kinds, load_relevance, load_segmenter
from jiyi.text.kinds import Kinds
from jiyi.text.names import names_in


def names(text: str) -> list[str]:
    segmenter = load_segmenter()
    return [name.text for name in names_in(text, load_relevance(segmenter).names, segmenter)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Where does Ottilie keep the ladder?", ["Ottilie"]),
        ("What did aunt Zelda's plumber say?", ["Zelda", "aunt"]),
        ("Where did we eat on Monday in May?", []),
        ("Who looks in on Saturdays and Sundays?", []),
        ("Which SQL dialect do I use over HTTPS?", []),
        ("What Is The Colour Of My Boat?", []),
        ("MarketCat 我们用的哪个版本", ["MarketCat"]),
        ("傅律师怎么说", []),
        ("裘医生说了什么", []),
        ("何医生说了什么", ["何医生"]),
        ("老詹的电话是多少", ["老詹"]),
        ("我同事豆豆喜欢什么", ["豆豆"]),
        ("我姑姑住在哪里", ["姑姑"]),
        ("大连那家店卖什么", ["大连"]),
        ("我外孙女朵朵多高了", ["朵朵", "外孙女"]),
        ("韩梦瑶考了多少分", ["韩梦瑶"]),
        ("孟凡的电话是多少", ["孟凡"]),
        ("曾姐哪天请客", ["曾姐", "姐"]),
        ("欧阳医生说了什么", ["欧阳医生"]),
        ("我在云南待了几天", ["云南"]),
        ("那两张票放在哪里", []),
        ("他们马上出发吗", []),
        ("墨西哥的首都是哪里", []),
        ("钥匙放在哪里", []),
        ("帮我给老婆写首诗", []),
        ("给闺蜜送本书好吗", []),
    ],
)
def test_names_are_told_from_words(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_a_kind_asks_for_its_things_and_not_the_other_way_round() -> None:
    segmenter = load_segmenter()
    kinds = load_kinds(segmenter)

    def asked(text: str) -> set[str]:
        terms = [t for t in segmenter.query_terms(text) if not t.stop]
        return {thing.text for found in kinds.asked(terms, segmenter.fold(text)) for thing in found.things}

    assert {"cello", "钢琴"} <= asked("Which instrument do I play?")
    assert {"cello", "钢琴"} <= asked("我会什么乐器")
    assert not asked("cello")


def test_a_file_of_kinds_in_another_shape_is_refused() -> None:
    with pytest.raises(SettingsError, match="number 1"):
        Kinds({"kind": [{"ask": "fruit", "is": ["plum"]}]}, load_segmenter())
