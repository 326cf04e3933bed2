from __future__ import annotations

from datetime import timedelta

import pytest

from jiyi.domain.memory import Category, Source
from jiyi.errors import SettingsError
from jiyi.settings import Settings, read_settings


def test_later_origins_win() -> None:
    file = {"timezone": "Asia/Tokyo", "limits": {"query_chars": 5}}
    environment = {
        "JIYI_TIMEZONE": "Asia/Shanghai",
        "JIYI_LIMITS__BATCH_MESSAGES": "7",
        "JIYI_USER": "ming",
        "PATH": "/bin",
    }
    settings = read_settings(environment, file, timezone="Europe/Berlin")
    assert settings.timezone == "Europe/Berlin"
    assert (settings.limits.query_chars, settings.limits.batch_messages) == (5, 7)
    assert read_settings(environment, file).timezone == "Asia/Shanghai"
    assert read_settings({}, {}) == Settings()


def test_text_is_read_as_the_type_of_the_setting() -> None:
    environment = {
        "JIYI_WORKER": "off",
        "JIYI_JOBS__LEASE": "0.5",
        "JIYI_RANKING__PHRASE": "0.3",
        "JIYI_PROFILE__CATEGORIES": "profile, goal",
        "JIYI_CONFIDENCE__CURVES__DECLARED__START": "0.8",
        "JIYI_CONFIDENCE__CURVES__TOOL__GOOD_FOR": "3",
    }
    settings = read_settings(environment)
    assert settings.worker is False
    assert settings.jobs.lease == timedelta(hours=12)
    assert settings.ranking.phrase == 0.3
    assert settings.profile.categories == (Category.PROFILE, Category.GOAL)
    assert settings.confidence.curves[Source.DECLARED].start == 0.8
    assert settings.confidence.curves[Source.TOOL].good_for == timedelta(days=3)
    assert settings.confidence.curves[Source.IMPORTED] == Settings().confidence.curves[Source.IMPORTED]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("JIYI_LIMITS__QUERY_CHARS", "many", "query_chars"),
        ("JIYI_LIMITS__CHARS", "1", "known are"),
        ("JIYI_LIMITS", "1", "limits"),
        ("JIYI_WORKER", "perhaps", "true or false"),
        ("JIYI_TIMEZONE", "Mars/Olympus", "no time zone"),
        ("JIYI_MEMORY_INDEX", "trigram", "postings, native"),
        ("JIYI_PROFILE__CATEGORIES", "pets", "categories"),
        ("JIYI_CONFIDENCE__CURVES__RUMOUR__START", "0.1", "known are"),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_settings({name: value})
