"""Arbitration and what waits: one rule at a time (SPEC B4, B8)."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.domain.belief import Observation, Verdict
from jiyi.domain.memory import Mode, Source, Status
from jiyi.domain.revision import retracted
from tests.domain.observations import (
    AVOIDS,
    DATABASE,
    LEARNT,
    USES,
    Beliefs,
    believe,
    believe_all,
    day,
    live,
    observations,
    said,
)


def clerk(observation: Observation) -> Observation:
    return replace(observation, evidence=tuple(replace(e, own=False) for e in observation.evidence))


def statuses(beliefs: Beliefs) -> list[tuple[str, Status]]:
    return [(m.value, m.status) for m in beliefs.values()]


TWICE = [said("B", 5, session="s2", message=2), said("B", 5.1, session="s2", message=3)]


def test_said_twice_in_a_session_the_users_word_takes_the_old_ones_place() -> None:
    beliefs = believe_all([said("A"), *TWICE])
    assert live(beliefs) == {("b", False)}
    old, new = beliefs[1], beliefs[2]
    # The old one drops to inferred, to be verified; it is past, and not given up.
    assert (old.status, old.source, old.start, old.valid_to, old.successor) == (
        Status.HELD, Source.INFERRED, 0.7, day(5), 2,
    )  # fmt: skip
    assert (new.valid_from, new.retired_at) == (day(5), None)


def test_said_in_two_sessions_it_still_waits() -> None:
    beliefs = believe_all([said("A"), said("B", 5, session="s2"), said("B", 6, session="s3", message=2)])
    assert statuses(beliefs) == [("a", Status.LIVE), ("b", Status.HELD)]


def test_twice_in_one_breath_is_once() -> None:
    beliefs = believe_all([said("A"), said("B", 5, session="s2"), said("B", 5, session="s2", message=2)])
    assert live(beliefs) == {("a", False)}


def test_a_clerk_may_say_it_as_often_as_they_like() -> None:
    beliefs = believe_all([said("A"), *map(clerk, TWICE)])
    assert live(beliefs) == {("a", False)}


def test_asked_to_remember_once_is_enough() -> None:
    beliefs = believe_all([said("A"), replace(said("B", 5, session="s2"), kept=True)])
    assert live(beliefs) == {("b", False)}


@pytest.mark.parametrize(("after", "wins"), [(30, False), (119, False), (121, True)])
def test_two_conditions_are_enough_against_what_has_faded(after: int, wins: bool) -> None:
    """0.95 falls below 0.75 after four months."""
    beliefs = believe_all([said("A"), said("B", after, session="s2")])
    assert live(beliefs) == {("b" if wins else "a", False)}


def test_what_is_in_use_does_not_give_way_to_age_alone() -> None:
    used = [said("A", n, session=f"u{n}", message=n + 1) for n in range(3)]
    assert live(believe_all([*used, said("B", 200, session="s2")])) == {("a", False)}


def test_two_conditions_are_enough_against_what_is_about_to_be_over() -> None:
    soon = replace(said("A"), until=day(20))
    assert live(believe_all([soon, said("B", 5, session="s2")])) == {("b", False)}


def test_at_odds_with_two_things_it_waits_though_said_twice() -> None:
    opposed = [said("B", relation=AVOIDS), said("B", 1, Mode.DENIAL, relation=USES, message=2)]
    twice = [said("B", n, session="s2", message=9 + int(n), relation=USES) for n in (5, 6)]
    assert live(believe_all([*opposed, *twice])) == {("b", False), ("b", True)}


def test_saying_again_what_stands_settles_what_waits() -> None:
    beliefs = believe_all([said("A"), said("B", 5, session="s2", message=2), said("A", 6, session="s3", message=3)])
    assert statuses(beliefs) == [("a", Status.LIVE), ("b", Status.RETRACTED)]


def test_a_change_settles_everything_that_waits() -> None:
    beliefs = believe_all([said("A"), said("B", 5, session="s2", message=2), said("C", 6, Mode.CHANGE, message=3)])
    assert statuses(beliefs) == [("a", Status.ENDED), ("b", Status.RETRACTED), ("c", Status.LIVE)]


def test_what_waits_is_believed_once_nothing_stands_against_it() -> None:
    weak = said("B", 2, source=Source.IMPORTED, message=2)
    beliefs = believe_all([said("A"), weak, said("A", 5, Mode.DENIAL, message=3)])
    assert live(beliefs) == {("b", False), ("a", True)}
    assert beliefs[2].source is Source.IMPORTED


def test_what_lost_is_given_up_once_the_new_one_is_borne_out_in_another_session() -> None:
    beliefs = believe_all([said("A"), *TWICE, said("B", 9, session="s3", message=4)])
    assert statuses(beliefs) == [("a", Status.ENDED), ("b", Status.LIVE)]
    assert beliefs[1].valid_to == day(5)


@pytest.mark.parametrize("weak", [Source.IMPORTED, Source.TOOL, Source.INFERRED])
def test_what_the_user_rejected_is_not_learnt_again_from_elsewhere(weak: Source) -> None:
    beliefs = believe_all([said("A")])
    beliefs[1] = retracted(beliefs[1], day(3), LEARNT)
    for on in (1, 9):
        judgement, _ = believe(beliefs, said("A", on, source=weak, message=5))
        assert live(beliefs) == set()
    assert (judgement.verdict, judgement.rule, judgement.same) == (Verdict.REFUSE, "rejected-before", 1)
    # It is kept with what was rejected, and counts for nothing.
    (rejected,) = beliefs.values()
    assert (rejected.status, rejected.source, rejected.affirmed_at) == (Status.RETRACTED, Source.DECLARED, day(0))
    # The user's own old words are older than the rejection, and new ones count.
    believe(beliefs, said("A", 2, message=6))
    assert live(beliefs) == set()
    believe(beliefs, said("A", 8, message=7))
    assert live(beliefs) == {("a", False)}


def test_an_inference_borne_out_in_two_sessions_counts_as_declared() -> None:
    once = believe_all([said("A", source=Source.INFERRED)])
    twice = believe_all([said("A", n, source=Source.INFERRED, session=f"s{n}", message=n) for n in (1, 2)])
    same = believe_all([said("A", n, source=Source.INFERRED, message=n) for n in (1, 2)])
    assert [(b[1].source, b[1].start) for b in (once, twice, same)] == [
        (Source.INFERRED, 0.7), (Source.DECLARED, 0.95), (Source.INFERRED, 0.7),
    ]  # fmt: skip


def test_a_new_word_renews_a_verification_that_is_past_as_a_declaration() -> None:
    verified = said("A", source=Source.VERIFIED)
    soon, late = (believe_all([verified, said("A", on, message=2)])[1] for on in (10, 60))
    assert (soon.source, late.source, late.affirmed_at) == (Source.VERIFIED, Source.DECLARED, day(60))


IMPORTED, INFERRED = Source.IMPORTED, Source.INFERRED
# Found by the properties below: once an outgrown form came back beside another spell of the same, or beside a finer one.
REJECTED_FORMS = [
    [said("A 1.2", 1), said("A", 2, source=INFERRED, message=2), said("A", 2, Mode.CORRECTION, old="A 1.2", source=IMPORTED, message=3),
     said("A", 4, Mode.CORRECTION, old="A 1.2", source=Source.VERIFIED, message=4)],
    [said("A 1.2"), said("B", 3, Mode.CORRECTION, message=2), said("A", 3, Mode.CHANGE, source=INFERRED, message=3),
     said("A", 4, Mode.CHANGE, old="A 1", message=4)],
]  # fmt: skip


@given(st.lists(observations(tuple(Source), relations=(DATABASE, USES, AVOIDS)), max_size=7))
@example(REJECTED_FORMS[0])
@example(REJECTED_FORMS[1])
def test_what_is_believed_never_contradicts_itself(talk: list[Observation]) -> None:
    stands = [m for m in believe_all(talk).values() if m.status is Status.LIVE]
    singles = [m for m in stands if m.triple and m.triple.relation == DATABASE.name and not m.triple.negated]
    assert len(singles) <= 1
    held = {(m.triple.relation, m.value) for m in stands if m.triple and not m.triple.negated}
    denied = {(m.triple.relation, m.value) for m in stands if m.triple and m.triple.negated}
    assert not held & denied
    assert not any((AVOIDS.name, value) in held for relation, value in held if relation == USES.name)


@given(st.lists(observations(tuple(Source), relations=(DATABASE, USES, AVOIDS)), max_size=7))
@example(
    [
        said("A", 1, Mode.CORRECTION, old="B"),
        said("B", 3, source=IMPORTED, message=2),
        said("B 1", 3, source=IMPORTED, message=3),
    ]
)  # once what was refused left no mark
def test_every_word_stays_evidence(talk: list[Observation]) -> None:
    beliefs = believe_all(talk)
    kept = {(m.value, e.message, e.at, e.source) for m in beliefs.values() for e in m.evidence}
    assert {(o.value, e.message, o.at, o.source) for o in talk for e in o.evidence} <= kept
