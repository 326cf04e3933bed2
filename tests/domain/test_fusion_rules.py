"""Rules as people write them: what is wrong is told with its line (SPEC G2)."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest

from jiyi.domain.fusion_rules import EFFECTS, GUARD_FIELDS, RULE_FIELDS, Ask, Derive, RuleSet, Weight, parse_rules
from jiyi.domain.memory import Language
from jiyi.errors import SettingsError
from jiyi.graph_files import load_rules, shipped_rules
from jiyi.shipped import load_vocabulary

VOCABULARY = load_vocabulary()
GOOD: dict[str, Any] = {
    "id": "one",
    "zh": "{a}和{b}",
    "en": "{a} and {b}",
    "when": [["?a", "BUYS_FROM", "?b"]],
    "then": {"derive": ["?a", "NEARS", "?b"]},
}
MEANS = {"NEARS": {"zh": "{subject}靠近{object}", "en": "{subject} nears {object}"}}


def written(*rules: Any, relations: Any = MEANS) -> str:
    """As a person would write it: one field a line."""
    return json.dumps({"relations": relations, "rules": list(rules)}, ensure_ascii=False, indent=1)


def read(*rules: Any, relations: Any = MEANS) -> RuleSet:
    return parse_rules(written(*rules, relations=relations), "mine.json", VOCABULARY)


def test_at_least_23_rules_are_shipped_and_each_is_explained_in_both_languages() -> None:
    rules = load_rules(VOCABULARY)
    assert len(rules.rules) >= 23
    for rule in rules.rules:
        assert set(rule.says) == set(Language)
        assert rule.says[Language.ZH] != rule.says[Language.EN]
    effects = [type(rule.effect) for rule in rules.rules]
    assert {Derive, Weight, Ask} == set(effects)
    assert rules.derived == rules.says.keys()
    lines = shipped_rules().split("\n")
    assert all(f'"id": "{rule.id}"' in lines[rule.line - 1] for rule in rules.rules)


def test_the_schema_names_what_is_read() -> None:
    text = resources.files("jiyi").joinpath("vocabulary", "fusion_rules.schema.json").read_text("utf-8")
    rule = json.loads(text)["$defs"]["rule"]["properties"]
    assert set(rule) == set(RULE_FIELDS)
    assert set(rule["guard"]["properties"]) == set(GUARD_FIELDS)
    assert {kind["required"][0] for kind in rule["then"]["oneOf"]} == set(EFFECTS)


def test_a_rule_is_read_whole() -> None:
    [rule] = read({**GOOD, "past": [0], "guard": {"different": [["?a", "?b"]], "sure": 0.5}, "off": False}).rules
    assert (rule.id, rule.level, rule.when[0].past, rule.guard.sure) == ("one", 1, True, 0.5)
    assert rule.told(Language.ZH, {"?a": "甲", "?b": "乙"}) == "甲和乙"
    assert read({**GOOD, "off": True}).asleep[0].id == "one"
    assert read().rules == ()


@pytest.mark.parametrize(
    ("wrong", "field", "told"),
    [
        ({"when": [["?a", "BUYS_FORM", "?b"]]}, "when", "unknown relation BUYS_FORM"),
        ({"when": []}, "when", "needs 1 to 4 triples"),
        ({"when": [["?a", "BUYS_FROM"]]}, "when", "triple 0 is not"),
        ({"when": [["?A", "BUYS_FROM", "?b"]]}, "when", "no variable"),
        ({"when": [["?a", "BUYS_FROM", "?b"], ["?c", "BUYS_FROM", "?d"]]}, "when", "triple 1 shares no variable"),
        ({"when": [["?a", ["*", "BUYS_FROM"], "?b"]]}, "when", "stands alone"),
        ({"id": "Not So"}, "id", "needs an id"),
        ({"zh": " "}, "zh", "explanation in zh"),
        ({"en": "{c} and {b}"}, "en", "{c} is no variable"),
        ({"past": [1]}, "past", "names triples by number"),
        ({"guard": {"diferent": []}}, "diferent", "unknown guard"),
        ({"guard": {"different": [["?a", "?z"]]}}, "different", "?z is no variable"),
        ({"guard": {"later": [[0, 3]]}}, "later", "names triples by number"),
        ({"guard": {"within_days": [[0, 0]]}}, "within_days", "lists of 3"),
        ({"guard": {"sure": 2}}, "sure", "from 0 to 1"),
        ({"guard": {"type": {"?a": ["planet"]}}}, "type", "a list of person"),
        ({"then": {"derive": ["?a", "NEARS", "?z"]}}, "derive", "?z is no variable"),
        ({"then": {"derive": ["?a", "BUYS_FROM", "?b"]}}, "derive", "must say what BUYS_FROM means"),
        ({"then": {"weight": "?z"}}, "weight", "names a variable"),
        ({"then": {"ask": 4}}, "ask", "ask names"),
        ({"then": {"arbitrate": [0]}}, "arbitrate", "two or more"),
        ({"then": {}}, "then", "one of derive"),
        ({"then": {"ask": 0, "by": 1}}, "by", "takes no 'by'"),
        ({"thne": {}}, "thne", "unknown field"),
        ({"off": 1}, "off", "true or false"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(wrong: dict[str, Any], field: str, told: str) -> None:
    bad = {**GOOD, **({} if "id" in wrong else {"id": "two"}), **wrong}
    text = written({**GOOD, "id": "first"}, bad, {**GOOD, "id": "last"})
    with pytest.raises(SettingsError) as error:
        parse_rules(text, "mine.json", VOCABULARY)
    # Within the second rule, the line in which the field stands.
    lines = text.split("\n")
    second = next(n for n, line in enumerate(lines) if f'"id": "{bad["id"]}"' in line)
    expected = next(n for n in range(second, len(lines)) if f'"{field}"' in lines[n]) + 1
    assert any(f"mine.json, line {expected}: " in line and told in line for line in str(error.value).split("\n"))


def test_all_faults_are_told_at_once_and_nothing_is_used() -> None:
    with pytest.raises(SettingsError) as error:
        read({**GOOD, "id": "x y"}, {**GOOD, "then": {}}, 7, {**GOOD, "id": "twice"}, {**GOOD, "id": "twice"})
    assert len(str(error.value).split("\n")) == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n "rules": [\n  {"id": }\n ]\n}', "mine.json, line 3: "),
        ("[]", "line 1: expected"),
        ('{"rules": {}}', "line 1: expected"),
        ('{\n "rules": [],\n "ruels": 1\n}', "line 3: unknown field 'ruels'"),
        ('{"relations": [],\n "rules": []}', "line 1: relations must be an object"),
        (
            '{"relations": {\n"nears": {"zh": "{subject}{object}", "en": "{subject}{object}"}}, "rules": []}',
            "in capitals",
        ),
        (
            '{"relations": {\n"BUYS_FROM": {"zh": "{subject}{object}", "en": "{subject}{object}"}}, "rules": []}',
            "line 2: relation BUYS_FROM is told",
        ),
        ('{"relations": {\n"NEARS": {"zh": "{subject}", "en": "{object}"}}, "rules": []}', "each need"),
        ('{"relations": {\n"NEARS": {"zh": "{subject}{object}"}}, "rules": []}', "needs zh and en"),
    ],
)
def test_a_file_of_another_shape_is_refused(text: str, told: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_rules(text, "mine.json", VOCABULARY)
    assert told in str(error.value)


def test_rules_that_feed_each_other_are_refused_and_those_that_build_up_are_not() -> None:
    means = dict.fromkeys(("NEARS", "FARS"), MEANS["NEARS"])
    up = {**GOOD, "id": "up", "when": [["?a", "NEARS", "?b"]], "then": {"derive": ["?a", "FARS", "?b"]}}
    down = {**GOOD, "id": "down", "when": [["?a", "FARS", "?b"]], "then": {"derive": ["?a", "NEARS", "?b"]}}
    rules = read(up, GOOD, relations=means)
    assert {r.id: r.level for r in rules.rules} == {"up": 2, "one": 1}
    with pytest.raises(SettingsError, match=r"line \d+: rule .*circle: up → down → up"):
        read(up, down, relations=means)
    itself = {
        **GOOD,
        "id": "again",
        "when": [["?a", "NEARS", "?b"], ["?b", "NEARS", "?c"]],
        "then": {"derive": ["?a", "NEARS", "?c"]},
    }
    with pytest.raises(SettingsError, match="circle: again → again"):
        parse_rules(written({**itself, "zh": "{a}", "en": "{a}"}), "mine.json", VOCABULARY)
    # One that is off feeds nobody.
    assert len(read(up, {**down, "off": True}, relations=means).rules) == 1
