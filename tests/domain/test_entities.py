"""Which names mean one thing, and why (SPEC G1)."""

from __future__ import annotations

from itertools import permutations

import pytest

from jiyi.domain.entities import EntityType, EntityWords, Reason, grouped, parse_entities, why_named
from jiyi.errors import SettingsError
from jiyi.shipped import load_entities, load_segmenter, load_vocabulary


@pytest.fixture(scope="module")
def words() -> EntityWords:
    return load_entities(load_segmenter())


@pytest.mark.parametrize(
    "names",
    [
        ("阿里云", "Aliyun", "ALIYUN", "Alibaba Cloud", "阿里雲", "Ａｌｉｙｕｎ", "alibaba  cloud"),
        ("AWS", "Amazon Web Services", "亚马逊云", "aws"),
        ("Acme", "Acme Inc.", "Acme, Inc", "The Acme Corp", "acme ltd"),
        ("云帆科技", "云帆科技有限公司", "云帆科技股份有限公司", "雲帆科技"),
        ("Kubernetes", "K8s"),
    ],
)
def test_names_of_one_thing_have_one_base(words: EntityWords, names: tuple[str, ...]) -> None:
    assert len({words.named(name).base for name in names}) == 1


@pytest.mark.parametrize(
    "names",
    [
        ("阿里云", "阿里巴巴", "腾讯云", "华为云"),
        ("Alibaba", "Alibaba Cloud"),
        ("C", "C++", "C#", "c/s"),
        ("Google", "Google Cloud"),
        ("有限公司", "Inc", "The"),
        ("@user", "@company", "用户"),
        ("王芳", "王方"),
    ],
)
def test_names_of_two_things_have_two(words: EntityWords, names: tuple[str, ...]) -> None:
    assert len({words.named(name).base for name in names}) == len(names)


def test_the_shortest_name_stands_for_all(words: EntityWords) -> None:
    names = [words.named(n) for n in ("Alibaba Cloud", "Aliyun", "阿里云", "@user", "李明", "小李")]
    nodes = grouped(names, [("@user", "李明"), ("小李", "@user")], [])
    assert nodes == {
        "Alibaba Cloud": "阿里云", "Aliyun": "阿里云", "阿里云": "阿里云", "@user": "@user", "李明": "@user", "小李": "@user",
    }  # fmt: skip


def test_what_is_denied_is_never_joined_by_any_way(words: EntityWords) -> None:
    names = [words.named(n) for n in ("阿里云", "Aliyun", "Alibaba Cloud", "Big Cloud")]
    nodes = grouped(names, [("Big Cloud", "Aliyun")], [("Aliyun", "阿里云")])
    assert nodes["Aliyun"] == nodes["Big Cloud"] == "Aliyun"
    assert nodes["阿里云"] == nodes["Alibaba Cloud"] == "阿里云"
    # What was said joins before what is known; two writings of one name are always one.
    both = grouped([*names, words.named("aliyun")], [("阿里云", "aliyun")], [("Aliyun", "Alibaba Cloud")])
    assert both["aliyun"] == both["Aliyun"] == both["阿里云"] != both["Alibaba Cloud"]


def test_the_order_in_which_names_come_does_not_matter(words: EntityWords) -> None:
    names = [words.named(n) for n in ("阿里云", "Aliyun", "Big Cloud", "Alibaba Cloud", "Acme")]
    said, denied = [("Big Cloud", "Aliyun"), ("Acme", "Big Cloud")], [("Acme", "阿里云"), ("Alibaba Cloud", "Acme")]
    outcomes = {
        tuple(sorted(grouped(some, list(reversed(said)) if turned else said, [(b, a) for a, b in denied]).items()))
        for some in permutations(names)
        for turned in (True, False)
    }
    assert len(outcomes) == 1


def test_every_name_has_its_reason(words: EntityWords) -> None:
    names = {n: words.named(n) for n in ("阿里云", "Aliyun", "阿里雲", "Acme", "Acme Inc", "大云")}
    cloud = [names["阿里云"], names["Aliyun"], names["大云"]]
    assert why_named(names["Aliyun"], cloud, [("大云", "阿里云")]) is Reason.KNOWN
    assert why_named(names["大云"], cloud, [("大云", "阿里云")]) is Reason.SAID
    assert why_named(names["阿里雲"], [*cloud, names["阿里雲"]], []) is Reason.SPELLING
    assert why_named(names["Acme Inc"], [names["Acme"], names["Acme Inc"]], []) is Reason.FORM
    assert why_named(names["Acme"], [names["Acme"]], []) is Reason.ALONE


def test_what_it_is_follows_from_the_lists_or_from_its_relations(words: EntityWords) -> None:
    get = load_vocabulary().get
    works, price, rival = get("WORKS_AT"), get("HAS_PRICE"), get("COMPETES_WITH")
    assert works is not None
    assert price is not None
    assert rival is not None
    assert words.type_of(words.named("k8s").base, [], []) is EntityType.PRODUCT
    assert words.type_of("lin", [works], []) is EntityType.PERSON
    assert words.type_of("acme", [price], [works, rival]) is EntityType.COMPANY
    assert words.type_of("80 CNY", [], [price]) is EntityType.VALUE
    assert words.type_of("@company", [], []) is EntityType.COMPANY
    assert words.type_of("", [], []) is EntityType.THING


def test_a_file_of_names_is_checked() -> None:
    rest = {"forms": {"zh": [], "en": [], "articles": []}, "types": {}}
    group = {"type": "company", "names": ["A", "B"]}
    with pytest.raises(SettingsError, match="two groups"):
        parse_entities({"known": [group, {**group, "names": ["C", "b"]}], **rest}, str.lower)
    with pytest.raises(SettingsError, match="planet"):
        parse_entities({"known": [{**group, "type": "planet"}], **rest}, str.lower)
    with pytest.raises(SettingsError, match="known"):
        parse_entities(rest, str.lower)
