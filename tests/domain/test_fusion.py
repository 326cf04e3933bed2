"""One score from several channels, and what stands around a passage (SPEC R1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.encoding import micros
from jiyi.domain.fusion import USUAL, Asked, FusionPolicy, Place, Surroundings, best_of, fuse, neighbours

POLICY = FusionPolicy()
NOTHING = Asked()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def place(
    seq: int, voice: str = "user", *, session: str = "s1", asks: bool = False, days: int = 0, size: int = USUAL
) -> Place:
    return Place(seq, session, voice, micros(NOON + timedelta(days=days, minutes=seq)), asks, size)


def around(scores: dict[int, float], *places: Place, asked: Asked = NOTHING) -> Surroundings:
    return Surroundings(scores, {p.seq: p for p in places}, asked, POLICY)


def test_channels_are_shares_of_their_best_and_summed_by_weight() -> None:
    fused = fuse([({1: 10.0, 2: 5.0}, 1.0), ({2: 0.8, 3: 0.4}, 0.5), ({}, 1.0), ({4: 0.0}, 1.0)])
    assert fused == pytest.approx({1: 1.0, 2: 1.0, 3: 0.25})


@given(st.dictionaries(st.integers(1, 50), st.floats(0.001, 1000)), st.floats(0.1, 100))
def test_a_channel_counts_the_same_on_every_scale(scores: dict[int, float], scale: float) -> None:
    assert fuse([({seq: scale * s for seq, s in scores.items()}, 1.0)]) == pytest.approx(fuse([(scores, 1.0)]))


def test_the_turn_after_a_question_is_its_answer() -> None:
    turns = around({2: 1.0}, place(1, "ann"), place(2, "bob", asks=True), place(3, "ann"), place(4, "bob"))
    assert turns.parts(3).total > turns.parts(1).total > turns.parts(4).total
    assert turns.parts(3).beside == 2
    assert turns.parts(3).own == 0
    # It says what is wanted, its question only asks for it.
    assert turns.parts(3).total > turns.parts(2).total


def test_a_monologue_lends_nothing() -> None:
    notes = around({2: 1.0}, place(1), place(2), place(3))
    assert notes.parts(1).neighbours == notes.parts(3).neighbours == 0.0
    assert notes.parts(1).beside is None


def test_nothing_is_lent_across_sessions() -> None:
    turns = around({2: 1.0}, place(1, "ann", session="s0"), place(2, "bob"), place(3, "ann", session="s2"))
    assert turns.parts(1).total == turns.parts(3).total == 0.0


def test_the_best_turn_speaks_for_its_session() -> None:
    scores = {1: 1.0, 9: 0.5, 30: 0.5, 39: 0.5}
    turns = around(scores, place(1), place(9, "other"), place(30, session="s2"), place(39, "other", session="s2"))
    assert turns.parts(9).total == pytest.approx(0.5 + POLICY.session)
    assert turns.parts(30).total == pytest.approx(0.5 + 0.5 * POLICY.session)


def test_a_turn_that_asks_or_says_little_counts_less() -> None:
    turns = {1: 1.0, 9: 1.0, 19: 1.0}
    talk = around(turns, place(1), place(9, "other", asks=True), place(19, size=USUAL // 2))
    list_of_one = around(turns, place(1), place(9, asks=True), place(19, size=USUAL // 2))
    assert talk.parts(9).total == pytest.approx((1 - POLICY.asking) * talk.parts(1).total)
    assert talk.parts(19).total == pytest.approx((1 - POLICY.size) * talk.parts(1).total)
    assert list_of_one.parts(19).total == list_of_one.parts(1).total > list_of_one.parts(9).total


def test_a_list_of_remarks_is_about_nothing_in_common() -> None:
    turns = around({1: 1.0, 9: 0.5}, place(1), place(9))
    assert turns.parts(9).total == 0.5


def test_a_named_speaker_and_a_named_time_count_more() -> None:
    asked = Asked({"ann"}, [(NOON, NOON + timedelta(days=1))])
    turns = around(
        dict.fromkeys((1, 2, 3, 4), 1.0),
        place(1, "ann"),
        place(2, "bob"),
        place(3, "bob", days=-2),
        place(4, "bob", days=30),
        asked=asked,
    )
    parts = {seq: turns.parts(seq) for seq in (1, 2, 3, 4)}
    assert parts[1].own > parts[2].own > parts[3].own == parts[4].own
    assert [(p.spoken, p.timely) for p in parts.values()] == [
        (True, True),
        (False, True),
        (False, False),
        (False, False),
    ]
    # What happened is told within the days after it.
    told = around({1: 1.0}, place(1, days=5), asked=asked)
    assert told.parts(1).timely


def test_who_is_named_answers_also_with_a_turn_that_holds_no_word_of_the_question() -> None:
    turns = around({2: 1.0}, place(1, "ann"), place(2, "bob"), place(3, "tom"), asked=Asked({"ann"}))
    assert turns.parts(1).total == pytest.approx((1 + POLICY.speaker) * turns.parts(3).total)
    # Who is named lends no more than anybody else.
    assert around({2: 1.0}, place(1, "ann"), place(2, "bob"), asked=Asked({"bob"})).parts(1).own == turns.parts(3).own


VOICES, SESSIONS = st.sampled_from(["ann", "bob"]), st.sampled_from(["s1", "s2"])
TALK = st.dictionaries(
    st.integers(1, 9),
    st.tuples(VOICES, SESSIONS, st.booleans(), st.integers(0, 9), st.sampled_from([1, 40, USUAL, 900])),
    min_size=1,
)


@given(TALK, st.dictionaries(st.integers(1, 9), st.floats(0, 2), max_size=6), st.booleans())
def test_a_total_is_the_sum_of_the_parts_of_what_may_answer(
    talk: dict[int, tuple[str, str, bool, int, int]], scores: dict[int, float], lent: bool
) -> None:
    told = [
        place(seq, voice, session=session, asks=asks, days=days, size=size)
        for seq, (voice, session, asks, days, size) in talk.items()
    ]
    turns = around(scores, *told, asked=Asked({"bob"}, [(NOON, NOON + timedelta(days=1))]))
    parts = {seq: turns.parts(seq) for seq in talk}
    able = {seq for seq in talk if seq in scores or (lent and parts[seq].beside is not None)}
    assert turns.totals(lent=lent) == {seq: pytest.approx(parts[seq].total) for seq in able}


def test_only_the_best_have_their_neighbours_read() -> None:
    scores = {10 * i: 1 / i for i in range(1, 100)}
    assert neighbours(scores, FusionPolicy(around=2)) == {8, 9, 11, 12, 18, 19, 21, 22}
    assert neighbours({1: 1.0}, POLICY) == {2, 3}


@given(
    st.dictionaries(st.integers(1, 40), st.sampled_from([0.0, 0.25, 0.2500004, 0.2500006, 0.250001, 1 / 3, 1.0, 7.5])),
    st.integers(0, 12),
)
def test_the_best_are_those_of_all_in_order(scores: dict[int, float], count: int) -> None:
    exact = sorted(scores, key=lambda seq: (-scores[seq], -seq))[:count]
    rounded = sorted(scores, key=lambda seq: (-round(scores[seq], 6), -seq))[:count]
    assert best_of(scores, count) == exact
    assert best_of(scores, count, places=6) == rounded
