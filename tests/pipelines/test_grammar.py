"""The constructions file: what it must hold, what it is read into, and how it refuses (SPEC C6)."""

from __future__ import annotations

import copy
import re
import tomllib
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import pytest

from jiyi.domain.memory import Language, Message, Mode, Role
from jiyi.domain.relations import parse_vocabulary
from jiyi.errors import SettingsError
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.distilling.grammar import Constructions, compiled, parse_constructions
from jiyi.pipelines.distilling.narrowing import Narrowing
from jiyi.shipped import load_times, load_vocabulary
from jiyi.text.segmentation import Segmenter
from tests.pipelines.distil_sentences import CLAIMS, NOTHING, SMALL_TALK
from tests.pipelines.reach_sentences import REACH

SHIPPED = tomllib.loads((files("jiyi.vocabulary") / "constructions.toml").read_text(encoding="utf-8"))
FOLD = Segmenter().fold


def data() -> dict[str, Any]:
    return copy.deepcopy(SHIPPED)


def shipped() -> Constructions:
    return parse_constructions(SHIPPED)


def read(constructions: Constructions, text: str) -> list[str]:
    message = Message(1, "a", "s", Role.USER, text, datetime(2026, 3, 2, tzinfo=UTC))
    distiller = Distiller(load_vocabulary(), constructions, load_times(), FOLD)
    return [o.text for o in distiller.distil(message, zone=UTC)]


def test_every_shipped_pattern_compiles() -> None:
    constructions = shipped()
    sources = [*constructions.types.values(), *constructions.vague.values()]
    for grammar in constructions.grammars.values():
        sources += [*grammar.patterns.values(), grammar.joint, *(source for _, source in grammar.subjects)]
        sources += [s for f in grammar.forms for s in (f.before, f.bare, f.after)]
        sources += [m.pattern for m in grammar.markers]
    assert all(isinstance(compiled(source), re.Pattern) for source in sources)
    assert len(sources) > 300


SAID = [*(c.text for c in CLAIMS), *NOTHING, *SMALL_TALK, *(text for _, zh, en in REACH for text in (zh, en))]


@pytest.mark.parametrize("language", Language)
def test_a_pattern_is_put_aside_only_where_it_does_not_match(language: Language) -> None:
    grammar = shipped().grammars[language]
    narrowing = Narrowing(grammar.forms, grammar.cues)
    sources = {**grammar.patterns, **{source: source for _, source in grammar.subjects}}
    aside = 0
    for text in map(FOLD, SAID):
        signs = narrowing.signs(text, 0, len(text))
        idle = [source for name, source in sources.items() if not narrowing.may(name, signs)]
        assert [source for source in idle if compiled(source).search(text)] == []
        aside += len(idle)
    assert aside > len(SAID) * len(sources) / 3  # else nothing is gained


def test_every_shipped_relation_exists() -> None:
    vocabulary = load_vocabulary()
    constructions = shipped()
    named = {*constructions.relations, *constructions.who, *constructions.written, *constructions.introduces}
    named |= {name for route in constructions.routes.values() for name in route}
    assert {name for name in named if vocabulary.get(name) is None} == set()
    assert len(vocabulary) >= 40


def test_every_mode_is_said_in_both_languages() -> None:
    for grammar in shipped().grammars.values():
        assert {form.mode for form in grammar.forms} == set(Mode) - {Mode.REQUEST, Mode.OVER, Mode.WRONG, Mode.CASE}


def test_names_that_only_find_are_names_of_the_vocabulary() -> None:
    names = {name for relation in load_vocabulary() for name in relation.names.all}
    assert shipped().only_find - names == set()


def test_a_new_wording_needs_no_code() -> None:
    changed = data()
    assert read(shipped(), "我的主场是苏州") == []
    changed["construction"].append({"relation": "LIVES_IN", "zh": ["{subject}的主场是{object:place}"]})
    assert read(parse_constructions(changed), "我的主场是苏州") == ["用户住在苏州"]


def test_a_new_relation_needs_no_code() -> None:
    table = {
        "category": "preference",
        "single": True,
        "subject": "user",
        "names": {"zh": ["座右铭"], "en": ["motto"]},
        "says": {"zh": "{subject}的座右铭：{object}", "en": "{subject}'s motto: {object}"},
    }
    distiller = Distiller(parse_vocabulary({**_vocabulary_data(), "HAS_MOTTO": table}), shipped(), load_times(), FOLD)
    for text, line in [
        ("我的座右铭是日拱一卒", "用户的座右铭：日拱一卒"),
        ("My motto is slow is smooth", "User's motto: slow is smooth"),
    ]:
        message = Message(1, "a", "s", Role.USER, text, datetime(2026, 3, 2, tzinfo=UTC))
        assert [o.text for o in distiller.distil(message, zone=UTC)] == [line]


def _vocabulary_data() -> dict[str, Any]:
    return tomllib.loads((files("jiyi.vocabulary") / "relations.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"zh": ["{subject}{verb}"]}, "{object}"),
        ({"zh": ["{subject}{verb}{object}{object}"]}, "{object} once"),
        ({"zh": ["{subject}喜欢{object}"]}, "needs one {name}, {verb} or {deed}"),
        ({"zh": ["{name}{verb}{object}"]}, "needs one {name}, {verb} or {deed}"),
        ({"zh": ["{subject}{verb}{object}"], "relation": "LIKES"}, "needs one {name}, {verb} or {deed}"),
        ({"zh": ["{subject}{often_said}{verb}{object}"]}, "often_said"),
        ({"zh": ["{subject}{verb}{object:colour}"]}, "colour"),
        ({"zh": ["{subject}{verb}[了{object}"]}, "brackets"),
        ({"zh": ["{subject}{verb}{object"]}, "cannot read"),
        ({"zh": ["{subject}{verb}{object}"], "mode": "shout"}, "shout"),
        ({"zh": ["{subject}{verb}{object}"], "tone": "loud"}, "unknown field tone"),
    ],
)
def test_a_broken_form_is_refused_with_its_reason(form: dict[str, Any], problem: str) -> None:
    changed = data()
    changed["construction"].append(form)
    with pytest.raises(SettingsError, match=re.escape(problem)):
        parse_constructions(changed)


@pytest.mark.parametrize(
    "missing", ["zh", "en", "types", "members", "construction", "marker", "routes", "who", "only_find"]
)
def test_a_missing_part_is_named(missing: str) -> None:
    changed = data()
    del changed[missing]
    with pytest.raises(SettingsError, match=missing):
        parse_constructions(changed)


def test_a_list_written_as_text_is_refused() -> None:
    changed = data()
    changed["zh"]["cut"] = "因为"
    with pytest.raises(SettingsError, match=re.escape("zh.cut: expected a list")):
        parse_constructions(changed)


def test_words_that_refer_to_each_other_are_refused() -> None:
    changed = data()
    changed["zh"]["words"]["adv"] = ["{kind}"]
    changed["zh"]["words"]["kind"] = ["{adv}"]
    with pytest.raises(SettingsError, match="circle"):
        parse_constructions(changed)


def test_a_relation_that_the_vocabulary_lacks_is_refused() -> None:
    changed = data()
    changed["construction"].append({"relation": "HAS_WINGS", "zh": ["{subject}长了{object}"]})
    with pytest.raises(SettingsError, match="HAS_WINGS"):
        Distiller(load_vocabulary(), parse_constructions(changed), load_times(), FOLD)


def test_both_languages_are_there() -> None:
    assert set(shipped().grammars) == set(Language)
