"""The simulation behind `jiyi eval calibration`: what it counts, and that it is the same for the same seed."""

from jiyi.domain.memory import Source
from jiyi.evaluation.calibration import LIFETIMES, calibrate, document, lines

PEOPLE = 60


def test_the_same_seed_gives_the_same_table() -> None:
    once, again, other = calibrate(20, 3), calibrate(20, 3), calibrate(20, 4)
    assert once == again != other


def test_every_bin_holds_what_it_says() -> None:
    for result in calibrate(PEOPLE, 1):
        assert sum(b.memories for b in result.bins) == result.memories
        assert result.memories > PEOPLE * len(LIFETIMES) // 2
        for b in result.bins:
            assert b.low <= b.confidence <= b.low + 0.1 + 1e-9
            assert 0 <= b.true <= 1
        weighted = sum(b.memories * abs(b.confidence - b.true) for b in result.bins) / result.memories
        assert abs(weighted - result.error) < 1e-9


def test_being_surer_means_being_right_more_often() -> None:
    by_source = {r.source: r for r in calibrate(PEOPLE, 1)}
    declared = by_source[Source.DECLARED]
    low = [b for b in declared.bins if b.confidence < 0.7]
    high = [b for b in declared.bins if b.confidence >= 0.9]
    share = [sum(b.true * b.memories for b in some) / sum(b.memories for b in some) for some in (low, high)]
    assert share[0] < share[1]
    assert declared.error < 0.15


def test_the_assumptions_stand_beside_the_numbers() -> None:
    results = calibrate(10, 1)
    assert document(results, 10, 1)["assumed"]["mean_days_until_change"] == dict(LIFETIMES)
    assert "Assumed" in lines(results, 10, 1)[0]
