from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.nights import NightPolicy, next_night
from jiyi.testing.strategies import instants

SHANGHAI, BERLIN = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("2026-03-02T09:00:00+08:00", "2026-03-03T03:00:00+08:00"),
        ("2026-03-02T02:59:59+08:00", "2026-03-02T03:00:00+08:00"),
        ("2026-03-02T03:00:00+08:00", "2026-03-03T03:00:00+08:00"),
        ("2026-03-01T20:00:00+00:00", "2026-03-03T03:00:00+08:00"),
    ],
)
def test_the_next_night_is_ahead_in_the_users_zone(after: str, expected: str) -> None:
    assert next_night(datetime.fromisoformat(after), SHANGHAI, NightPolicy()) == datetime.fromisoformat(expected)


def test_a_night_whose_hour_is_skipped_is_not_skipped() -> None:
    # In Berlin 2026-03-29 goes from 02:00 to 03:00.
    night = next_night(datetime(2026, 3, 28, 12, tzinfo=UTC), BERLIN, NightPolicy(hour=2))
    assert night.astimezone(UTC) == datetime(2026, 3, 29, 1, tzinfo=UTC)


@given(
    after=instants(datetime(1990, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)),
    zone=st.sampled_from([SHANGHAI, BERLIN, UTC, ZoneInfo("America/New_York"), ZoneInfo("Pacific/Apia")]),
    hour=st.integers(0, 23),
)
def test_it_is_always_ahead_and_never_two_days_off(after: datetime, zone: ZoneInfo, hour: int) -> None:
    night = next_night(after, zone, NightPolicy(hour))
    ahead = night.astimezone(UTC) - after
    assert timedelta(0) < ahead <= timedelta(hours=49)  # Apia left a whole day out in 2011.
