from typing import Any

import pytest
from hypothesis import given

from jiyi.domain.memory import Category, Language
from jiyi.domain.relations import COMPANY, USER, Phrases, fact_key, parse_vocabulary, render
from jiyi.errors import SettingsError
from jiyi.testing.strategies import texts


def table(**more: Any) -> dict[str, Any]:
    return {
        "category": "project",
        "single": True,
        "subject": "company",
        "names": {"zh": ["数据库", "DB"], "en": ["database"]},
    } | more


LIKES = table(
    category="preference", single=False, subject="user", names={}, verbs={"zh": ["喜欢"], "en": ["likes"]},
    says={"zh": "{subject}喜欢{object}", "en": "{subject} likes {object}"}, importance=4, object="thing",
    antonym="DISLIKES",
)  # fmt: skip
DISLIKES = LIKES | {"verbs": {"zh": ["讨厌"]}, "antonym": "LIKES", "says": {}}


def test_a_table_becomes_a_relation() -> None:
    vocabulary = parse_vocabulary({"LIKES": LIKES, "DISLIKES": DISLIKES, "DATABASE": table()})
    assert [relation.name for relation in vocabulary] == ["LIKES", "DISLIKES", "DATABASE"]
    assert len(vocabulary) == 3
    assert vocabulary.get("likes") is None
    likes, database = vocabulary.get("LIKES"), vocabulary.get("DATABASE")
    assert likes is not None
    assert database is not None
    assert (likes.category, likes.single, likes.subject, likes.importance) == (Category.PREFERENCE, False, USER, 4)
    assert (likes.verbs, likes.object_type, likes.antonym) == (Phrases(("喜欢",), ("likes",)), "thing", "DISLIKES")
    assert (database.single, database.subject, database.importance) == (True, COMPANY, 3)
    assert database.names.of(Language.ZH) == ("数据库", "DB")
    assert database.names.all == ("数据库", "DB", "database")
    assert (database.object_type, database.inverse, database.antonym, dict(database.says)) == ("text", None, None, {})


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"colour": "red", "shape": "round"}, "unknown field colour, shape"),
        ({"category": "nonsense"}, "missing or wrong value 'nonsense'"),
        ({"subject": "them"}, "missing or wrong value 'them'"),
        ({"importance": "high"}, "missing or wrong value"),
        ({"says": {"fr": "{object}"}}, "missing or wrong value"),
        ({"names": {}}, "needs names or verbs"),
        ({"says": {"zh": "喜欢"}}, "says needs {object}"),
        ({"antonym": "NOWHERE"}, "names NOWHERE, which the vocabulary does not hold"),
        ({"inverse": "NOWHERE"}, "names NOWHERE, which the vocabulary does not hold"),
    ],
)
def test_a_wrong_table_is_refused_with_its_name(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE") as raised:
        parse_vocabulary({"DATABASE": table(**wrong)})
    assert reason in str(raised.value)


@pytest.mark.parametrize("missing", ["category", "single", "subject"])
def test_a_missing_field_is_named(missing: str) -> None:
    held = table()
    del held[missing]
    with pytest.raises(SettingsError, match=f"DATABASE.*{missing}"):
        parse_vocabulary({"DATABASE": held})


def test_something_else_than_a_table_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"DATABASE: expected a table \[DATABASE\]"):
        parse_vocabulary({"DATABASE": "PostgreSQL"})


def test_the_label_is_the_everyday_name() -> None:
    vocabulary = parse_vocabulary(
        {
            "BOTH": table(),
            "ONE": table(names={"zh": ["数据库"]}),
            "VERB": table(names={}, verbs={"zh": ["讨厌", "不爱"]}),
        }
    )
    labels = {r.name: (r.label(Language.ZH), r.label(Language.EN)) for r in vocabulary}
    assert labels == {"BOTH": ("数据库", "database"), "ONE": ("数据库", "数据库"), "VERB": ("讨厌", "讨厌")}


def test_a_memory_reads_in_the_language_it_was_said_in() -> None:
    vocabulary = parse_vocabulary({"LIKES": LIKES, "DISLIKES": DISLIKES, "DATABASE": table()})
    likes, database = vocabulary.get("LIKES"), vocabulary.get("DATABASE")
    assert likes is not None
    assert database is not None
    zh, en = Language.ZH, Language.EN
    assert render(likes, USER, "绿茶", zh) == "用户喜欢绿茶"
    assert render(likes, USER, "tea", en) == "User likes tea"
    assert render(likes, "李明", "绿茶", zh) == "李明喜欢绿茶"
    assert render(database, COMPANY, "PostgreSQL", zh) == "数据库：PostgreSQL"
    assert render(database, COMPANY, "PostgreSQL", en) == "Database: PostgreSQL"
    assert render(database, "阿里云", "OceanBase", zh) == "阿里云的数据库：OceanBase"
    assert render(database, USER, "SQLite", en) == "User's database: SQLite"
    assert render(database, COMPANY, "MySQL", zh, negated=True) == "不再成立：数据库：MySQL"
    assert render(likes, USER, "tea", en, negated=True) == "No longer true: User likes tea"


@given(texts(), texts())
def test_the_value_is_rendered_to_the_letter(subject: str, value: str) -> None:
    vocabulary = parse_vocabulary({"LIKES": LIKES, "DISLIKES": DISLIKES})
    for relation in vocabulary:
        for language in Language:
            text = render(relation, subject, value, language)
            assert value in text
            assert subject in text


def test_a_fact_is_found_by_subject_and_relation() -> None:
    assert fact_key(COMPANY, "DATABASE") == "@company|DATABASE"
    assert fact_key(COMPANY, "DATABASE") != fact_key(USER, "DATABASE")
