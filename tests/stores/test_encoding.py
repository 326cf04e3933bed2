"""What goes into a database comes out the same."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.belief import Judgement, Verdict
from jiyi.domain.encoding import instant, instant_at, micros, to_json, utc_offset
from jiyi.domain.memory import Memory
from jiyi.errors import InputError, InstantWithoutZone
from jiyi.stores.encoding import judgements_from_json, judgements_to_json, memory_from_json, memory_to_json
from jiyi.testing.strategies import instants, memories

judgements = st.builds(
    Judgement,
    verdict=st.sampled_from(Verdict),
    rule=st.text(max_size=10),
    reasons=st.lists(st.text(max_size=10), max_size=3).map(tuple),
    same=st.none() | st.integers(1, 99),
    ends=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    lowers=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    ended_by=st.none() | st.integers(1, 99),
)


@given(memories())
def test_any_picture_comes_back(memory: Memory) -> None:
    assert memory_from_json(memory_to_json(memory)) == memory


@given(st.lists(judgements, max_size=3))
def test_any_judgement_comes_back(given_: list[Judgement]) -> None:
    assert judgements_from_json(judgements_to_json(given_)) == tuple(given_)


@given(instants())
def test_any_instant_comes_back_with_its_offset(at: datetime) -> None:
    assert instant(micros(at)) == at
    again = instant_at(micros(at), utc_offset(at))
    assert (again, again.utcoffset()) == (at, at.utcoffset())


@pytest.mark.parametrize(
    "at",
    [
        datetime(1900, 1, 1, tzinfo=ZoneInfo("Asia/Shanghai")),  # +08:05:43
        datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=14))),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=-12))),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
    ids=str,
)
def test_odd_instants_come_back(at: datetime) -> None:
    again = instant_at(micros(at), utc_offset(at))
    assert (again, again.utcoffset()) == (at, at.utcoffset())
    assert instant(micros(at)) == at


def test_instants_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(InstantWithoutZone):
        micros(datetime(2026, 3, 1))  # noqa: DTZ001 - that is the point
    with pytest.raises(InputError, match="years 1 to 9999"):
        micros(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=8))))
    with pytest.raises(InputError, match="years 1 to 9999"):
        micros(datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-8))))


@pytest.mark.parametrize("value", [{"at": date(2026, 3, 1)}, {(1, 2): 3}, b"bytes"], ids=repr)
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="JSON"):
        to_json(value)


def test_json_stays_readable() -> None:
    assert to_json({"茶": ["绿茶", None]}) == '{"茶":["绿茶",null]}'
