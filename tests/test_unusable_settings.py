"""Settings that no rule can work with are refused when they are read, and the error names the one at fault."""

from __future__ import annotations

from contextlib import chdir
from datetime import timedelta
from pathlib import Path

import pytest

from jiyi.assembly import load_settings, open_memory
from jiyi.backends import without_password
from jiyi.domain.heat import HeatPolicy
from jiyi.errors import SettingsError, StoreError
from jiyi.settings import ContextPolicy, Settings, read_settings
from jiyi.surfaces.cli.calls import Common
from jiyi.surfaces.cli.origins import effective


@pytest.mark.parametrize(
    "name",
    ["heat.half_life", "ranking.recency_half_life", "jobs.lease", "confidence.curves.declared.period"],
)
@pytest.mark.parametrize("value", ["0", "-5"])
def test_a_time_needs_a_length(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^settings\.{name} = .*above 0"):
        read_settings({"JIYI_" + name.upper().replace(".", "__"): value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ranking.importance", "nan"), ("ranking.heat", "inf"), ("ranking.phrase", "-1"), ("limits.query_chars", "-5"),
        ("context.passage_chars", "-1"), ("confidence.curves.tool.start", "nan"),
    ],
)  # fmt: skip
def test_a_number_is_neither_negative_nor_endless(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^settings\.{name} = .*from 0 on"):
        read_settings({"JIYI_" + name.upper().replace(".", "__"): value})


def test_settings_put_together_by_hand_are_held_to_the_same() -> None:
    with pytest.raises(SettingsError, match=r"settings\.heat\.half_life"):
        Settings(heat=HeatPolicy(half_life=timedelta(0)))


def test_none_of_something_is_a_setting_like_any_other() -> None:
    nothing = ContextPolicy(passages=0, session_turns=0, passage_chars=0)
    with open_memory(settings=Settings(path="reference", worker=False, context=nothing)) as layer:
        me = layer.scope("ming")
        me.observe([{"role": "user", "text": "我喜欢绿茶。"}], session="s1")
        assert "绿茶" not in me.context("绿茶", session="s2").text


def test_the_error_is_about_the_setting_and_not_about_the_table_around_it() -> None:
    with pytest.raises(SettingsError, match=r"^settings\.limits\.query_chars = 'x': invalid"):
        read_settings({"JIYI_LIMITS__QUERY_CHARS": "x"})


@pytest.mark.parametrize("content", [b"\xff\xfe", b"timezone = ", b"x = " + b"[" * 5000], ids=["bytes", "half", "deep"])
def test_a_file_of_settings_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "jiyi.toml").write_bytes(content)
    with chdir(tmp_path), pytest.raises(SettingsError, match=r"jiyi\.toml"):
        load_settings()


def test_a_home_that_is_not_there_is_named() -> None:
    with pytest.raises(SettingsError, match="home"):
        open_memory("~nobody-of-that-name/memory.db")
    with pytest.raises(SettingsError, match="home"):
        open_memory("reference", dictionary="~nobody-of-that-name/words.txt")


@pytest.mark.parametrize(
    "path",
    ["host=db user=me password={}", " dbname=memory password='{}'", " postgresql://me:{}@db/memory", "postgresql+psycopg://me:{}@db", "postgres:me:{}@db"],
)  # fmt: skip
def test_an_address_is_no_name_of_a_file_and_its_password_is_not_shown(path: str, tmp_path: Path) -> None:
    secret = "pass" + "word-of-mine"
    with chdir(tmp_path), pytest.raises(SettingsError, match="PostgreSQL as") as told:
        open_memory(path.format(secret))
    assert secret not in str(told.value)
    assert list(tmp_path.iterdir()) == []
    assert secret not in without_password(path.format(secret))


@pytest.mark.parametrize("scheme", ["neo4j", "neo4j+s", "bolt+ssc", "bolt"])
def test_the_password_of_a_graph_engine_is_not_shown(scheme: str) -> None:
    secret = "pass" + "/word@of:mine"
    settings = Settings(graph_engine=f"{scheme}://me:{secret}@db:7687")
    shown = {s.name: str(s.value) for s in effective(settings, {}, Common())}
    assert shown["graph_engine"] == f"{scheme}://me:***@db:7687"
    assert secret not in repr(settings)


@pytest.mark.parametrize("path", ["/dev/null", "a\0b"])
def test_what_can_be_no_database_is_refused_at_once(path: str) -> None:
    with pytest.raises(StoreError, match="give"):
        open_memory(path)
