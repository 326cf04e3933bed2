"""Times in running text (SPEC C8): right or absent."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.shipped import load_times
from jiyi.text.calendars import Grain
from jiyi.text.time_patterns import signs_of, wordings_of
from jiyi.text.time_reading import Lean, Words
from jiyi.text.times import TimeExpression
from tests.text.time_tables import EN, ZH, rows

TIMES = load_times()
TOML = tomllib.loads((files("jiyi") / "vocabulary" / "times.toml").read_text("utf-8"))
WORDINGS = wordings_of(Words(TOML["zh"], TOML["en"]))
SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")
WEDNESDAY = datetime(2026, 3, 11, 8, tzinfo=SHANGHAI)
TABLE = rows(ZH) + rows(EN)


def find(text: str, anchor: datetime = WEDNESDAY, lean: Lean | None = None) -> list[TimeExpression]:
    return list(TIMES.find(text, anchor, lean))


def label(text: str, anchor: datetime = WEDNESDAY, lean: Lean | None = None) -> str | None:
    [found] = find(text, anchor, lean)
    return found.when.label if found.when else None


@pytest.mark.parametrize(("words", "value"), TABLE, ids=[w for w, _ in TABLE])
def test_what_a_time_means(words: str, value: str) -> None:
    found = find(words)
    if value == "-":
        assert found == []
        return
    [expression] = found
    got = expression.when.label if expression.when else "again" if expression.recurring else "?"
    assert got == value


@pytest.mark.parametrize(("words", "value"), TABLE, ids=[w for w, _ in TABLE])
def test_it_means_the_same_in_a_sentence(words: str, value: str) -> None:
    chinese = any("\u4e00" <= c <= "\u9fff" for c in words)
    before, after = ("我记得，", "，就是那次。") if chinese else ("I do remember: ", ", that was it.")
    found = find(before + words + after)
    assert [(e.when and e.when.label, e.recurring) for e in found] == [
        (e.when and e.when.label, e.recurring) for e in find(words)
    ]
    for expression in found:
        assert expression.text in words


def test_the_tables_are_broad() -> None:
    assert len({w for w, _ in rows(ZH)}) >= 80
    assert len({w for w, _ in rows(EN)}) >= 80


@pytest.mark.parametrize(
    ("text", "grain"),
    [
        ("3月11号下午三点半", Grain.MINUTE), ("昨天", Grain.DAY), ("下周", Grain.WEEK), ("两个月前", Grain.MONTH),
        ("第三季度", Grain.QUARTER), ("去年", Grain.YEAR), ("昨晚", Grain.SPAN), ("this weekend", Grain.SPAN),
        ("half an hour ago", Grain.MINUTE), ("next Friday", Grain.DAY), ("last week", Grain.WEEK), ("next month", Grain.MONTH),
        ("Q3", Grain.QUARTER), ("last year", Grain.YEAR), ("last spring", Grain.SPAN),
    ],
)  # fmt: skip
def test_a_time_is_as_exact_as_its_words(text: str, grain: Grain) -> None:
    [found] = find(text)
    assert found.when is not None
    assert found.when.grain is grain


def test_an_evening_has_its_hours() -> None:
    [found] = find("昨晚")
    assert found.when is not None
    assert found.when.start == datetime(2026, 3, 10, 17, tzinfo=SHANGHAI)
    assert found.when.end == datetime(2026, 3, 11, tzinfo=SHANGHAI)


# ---------------------------------------------------------------------------------- conventions


def test_the_two_languages_count_weeks_as_their_speakers_do() -> None:
    sunday = datetime(2026, 11, 29, 18, tzinfo=SHANGHAI)
    assert label("上周五", sunday) == "2026-11-20"
    assert label("last Friday", sunday) == "2026-11-27"
    assert label("下周三", sunday) == label("next Wednesday", sunday) == "2026-12-02"


def test_what_is_moved_from_one_time_to_another_names_two_times() -> None:
    monday = datetime(2026, 3, 2, 9, tzinfo=SHANGHAI)
    for text in ("We moved it from Tuesday to Thursday", "it was pushed back from 3 March to 5 March"):
        found = find(text, monday, Lean.FUTURE)
        assert [e.when.label for e in found if e.when] == ["2026-03-03", "2026-03-05"]
    [stay] = find("I was there from 3 March to 5 March", monday)
    assert stay.when is not None
    assert stay.when.label == "2026-03-03/2026-03-05"
    [hours] = find("The shop is open from Tuesday to Thursday. We moved.", monday)
    assert hours.recurring


def test_next_friday_said_on_a_monday_is_in_the_next_week() -> None:
    monday = datetime(2026, 3, 2, 9, tzinfo=SHANGHAI)
    assert label("next Friday", monday) == "2026-03-13"
    assert label("this Friday", monday) == "2026-03-06"


@pytest.mark.parametrize(
    ("text", "future", "past"),
    [
        ("周五", "2026-03-13", "2026-03-06"), ("周三", "2026-03-11", "2026-03-11"), ("周末", "2026-03-14/2026-03-15", "2026-03-07/2026-03-08"),
        ("5号", "2026-04-05", "2026-03-05"), ("15号", "2026-03-15", "2026-02-15"), ("3月5日", "2027-03-05", "2026-03-05"),
        ("Friday", "2026-03-13", "2026-03-06"), ("on the 5th", "2026-04-05", "2026-03-05"), ("March 5", "2027-03-05", "2026-03-05"),
        ("十天内", "2026-03-11/2026-03-21", None), ("within two weeks", "2026-03-11/2026-03-25", None),
        ("Q1", "2026-Q1", "2026-Q1"), ("in May", "2026-05", "2025-05"),
    ],
)  # fmt: skip
def test_a_lean_settles_what_is_open(text: str, future: str, past: str | None) -> None:
    assert label(text, lean=Lean.FUTURE) == future
    assert label(text, lean=Lean.PAST) == past


@pytest.mark.parametrize(
    ("anchor", "text", "value"),
    [
        ((2026, 12, 20), "1月5日", "2027-01-05"), ((2026, 1, 5), "12月20日", "2025-12-20"), ((2026, 3, 4), "10月20日", "2026-10-20"),
        ((2026, 11, 10), "3月5日", None), ((2026, 12, 20), "January 5", "2027-01-05"), ((2026, 11, 10), "March 5", None),
        ((2027, 12, 30), "2月29日", "2028-02-29"),
    ],
)  # fmt: skip
def test_the_year_that_is_not_said(anchor: tuple[int, int, int], text: str, value: str | None) -> None:
    assert label(text, datetime(*anchor, 12, tzinfo=SHANGHAI)) == value


@pytest.mark.parametrize(
    ("text", "relative", "names_day"),
    [
        ("昨天", True, True), ("3月15日", True, True), ("2026年3月15日", False, True), ("明年3月15日", True, True),
        ("下午三点", True, False), ("yesterday", True, True), ("March 15", True, True), ("March 15, 2026", False, True),
        ("3:30 pm", True, False), ("2026-03-15", False, True), ("Q3 2026", False, True),
    ],
)  # fmt: skip
def test_what_needs_the_day_of_speaking(text: str, relative: bool, names_day: bool) -> None:
    [found] = find(text)
    assert (found.relative, found.names_day) == (relative, names_day)


def test_several_times_in_one_text() -> None:
    found = find("我昨天提交了，下周三上午10点评审；每周五例会。")
    assert [(e.text, e.when and e.when.label) for e in found] == [
        ("昨天", "2026-03-10"), ("下周三上午10点", "2026-03-18 10:00"), ("每周五", None),
    ]  # fmt: skip
    found = find("I sent it last Monday, and we meet next Tuesday at 2 pm or on March 20.")
    assert [(e.text, e.when and e.when.label) for e in found] == [
        ("last Monday", "2026-03-09"), ("next Tuesday at 2 pm", "2026-03-17 14:00"), ("March 20", "2026-03-20"),
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- zones, clocks, leap years


def test_the_day_is_the_day_where_it_was_said() -> None:
    late = datetime(2026, 3, 10, 17, 30, tzinfo=UTC)  # already the 11th in Shanghai
    assert label("昨天", late) == "2026-03-09"
    assert label("昨天", late.astimezone(SHANGHAI)) == "2026-03-10"
    assert label("tomorrow", late.astimezone(NEW_YORK)) == "2026-03-11"


def test_days_are_as_long_as_the_clocks_make_them() -> None:
    saturday = datetime(2026, 3, 7, 12, tzinfo=NEW_YORK)
    [found] = find("tomorrow", saturday)
    assert found.when is not None
    assert found.when.end.astimezone(UTC) - found.when.start.astimezone(UTC) == timedelta(hours=23)
    [found] = find("in 20 hours", saturday)
    assert found.when is not None
    assert found.when.start.astimezone(UTC) == saturday.astimezone(UTC) + timedelta(hours=20)


def test_an_hour_that_the_clocks_skip() -> None:
    [found] = find("tomorrow at 2:30 am", datetime(2026, 3, 7, 12, tzinfo=NEW_YORK))
    assert found.when is not None
    assert found.when.label == "2026-03-08 03:30"


@pytest.mark.parametrize(
    ("anchor", "text", "value"),
    [
        ((2028, 2, 28), "明天", "2028-02-29"), ((2026, 2, 28), "明天", "2026-03-01"), ((2028, 2, 10), "月底", "2028-02-29"),
        ((2026, 2, 10), "end of the month", "2026-02-28"), ((2028, 3, 1), "yesterday", "2028-02-29"),
        ((2026, 12, 31), "后天", "2027-01-02"), ((2026, 12, 30), "next week", "2027-01-04/2027-01-10"),
        ((2026, 1, 15), "上个月", "2025-12"), ((2026, 11, 15), "in three months", "2027-02"), ((2026, 1, 15), "last quarter", "2025-Q4"),
        ((2028, 2, 29), "去年", "2027"), ((9999, 12, 31), "明天", None), ((1, 1, 2), "a year ago", None),
    ],
)  # fmt: skip
def test_edges_of_the_calendar(anchor: tuple[int, int, int], text: str, value: str | None) -> None:
    assert label(text, datetime(*anchor, 12, tzinfo=UTC)) == value


def test_an_anchor_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        TIMES.find("昨天", datetime(2026, 3, 11))  # noqa: DTZ001


# ---------------------------------------------------------------------------------- promises

WORDS = (
    sorted({w for w, _ in TABLE})
    + list("0123456789年月日号点半前后内底初周个每到至-/:., 的(（TZ+")
    + ["the", "of", "at"]
)
ANY = st.lists(st.sampled_from(WORDS), max_size=6).flatmap(
    lambda words: st.sampled_from(["".join(words), " ".join(words), ", ".join(words)])
)


@given(
    ANY | st.text(max_size=60),
    st.sampled_from([None, Lean.PAST, Lean.FUTURE]),
    st.datetimes(timezones=st.sampled_from([UTC, SHANGHAI, NEW_YORK])),
)
@example("二月三十日", None, WEDNESDAY)
@example("14 June.", None, WEDNESDAY)
def test_any_text_has_times_inside_it_or_none(text: str, lean: Lean | None, anchor: datetime) -> None:
    found = find(text, anchor, lean)
    assert found == find(text, anchor, lean)
    end = 0
    for expression in found:
        assert end <= expression.start < expression.end <= len(text)
        assert text[expression.start : expression.end] == expression.text
        end = expression.end
        if expression.when is not None:
            assert not expression.recurring
            assert expression.when.start.astimezone(UTC) < expression.when.end.astimezone(UTC)
            assert expression.when.first_day <= expression.when.last_day
            assert expression.when.label
    assert TIMES.may_hold(text) or not found


@given(ANY | st.lists(st.sampled_from([w for w, _ in TABLE]), max_size=4).map("".join))
def test_a_wording_is_put_aside_only_where_it_does_not_match(text: str) -> None:
    signs = signs_of(text)
    for wording in WORDINGS:
        if wording.needs.isdisjoint(signs) and wording.needs:
            assert wording.pattern.search(text) is None


@pytest.mark.parametrize("text", ["1" * 4000, "月" * 4000, "at 3 " * 800, "三" * 4000, "3月3日 " * 600, "last " * 800])
def test_hostile_texts_come_to_an_end(text: str) -> None:
    # A pattern that backtracks would not return here at all.
    assert all(0 <= e.start < e.end <= len(text) for e in find(text))


def test_text_without_times_is_not_even_looked_at() -> None:
    plain = (
        "这个方案不错，但还有很多细节要讨论，比如接口和权限。 We should talk about it, as there is a lot of it left. "
    )
    assert not TIMES.may_hold(plain * 3)
