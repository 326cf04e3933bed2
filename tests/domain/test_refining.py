"""A more precise value of what is believed already: when it is one, and what it does (SPEC B2)."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.domain.belief import Judgement, Verdict
from jiyi.domain.memory import Mode, Source, Status
from jiyi.domain.refining import never_finer, parse_refining
from jiyi.domain.relations import Detail
from jiyi.domain.revision import retracted
from jiyi.errors import SettingsError
from jiyi.shipped import load_vocabulary
from tests.domain.observations import (
    LEARNT,
    REFINING,
    USES,
    Beliefs,
    believe,
    believe_all,
    day,
    live,
    observations,
    said,
)

# ---------------------------------------------------------------------------------- when

FINER = [
    (Detail.DATE, "2026-03", "2026-03-15"),
    (Detail.DATE, "2015", "2015-03"),
    (Detail.DATE, "5月12日", "1990年5月12日"),
    (Detail.DATE, "1990年", "1990年5月12号"),
    (Detail.DATE, "may 12", "may 12th, 1990"),
    (Detail.DATE, "may", "the 12th of may"),
    (Detail.PLACE, "杭州", "杭州西湖区"),
    (Detail.PLACE, "杭州市", "杭州西湖区"),
    (Detail.PLACE, "杭州", "浙江杭州"),
    (Detail.PLACE, "吉林", "吉林市"),
    (Detail.PLACE, "公司", "公司三楼会议室"),
    (Detail.PLACE, "portland", "portland, oregon"),
    (Detail.PLACE, "berlin", "kreuzberg, berlin"),
    (Detail.PLACE, "berlin", "a flat in berlin"),
    (Detail.PLACE, "leeds", "central leeds"),
    (Detail.RELEASE, "postgresql", "postgresql 16"),
    (Detail.RELEASE, "postgresql 16", "postgresql 16.2"),
    (Detail.RELEASE, "ubuntu", "ubuntu 24.04 lts"),
    (Detail.RELEASE, "mysql", "mysql8"),
    (Detail.RELEASE, "达梦", "达梦 企业版"),
    (Detail.MODEL, "iphone", "iphone 15 pro"),
    (Detail.MODEL, "toyota", "toyota corolla"),
    (Detail.MODEL, "华为", "华为mate 60"),
    (Detail.NAME, "anna", "anna keller"),
    (Detail.NAME, "anna", "anna o'neill"),
    (Detail.CALLED, "dog", "dog named biscuit"),
    (Detail.CALLED, "狗", "叫豆豆的狗"),
    (Detail.CALLED, "猫", "猫，名叫咪咪"),
]
OTHER = [
    (Detail.DATE, "2026-03", "2026-04-15"),
    (Detail.DATE, "2026-03", "2026-03"),
    (Detail.DATE, "2026-01", "2026-q1"),
    (Detail.DATE, "may 12", "mayor 12"),
    (Detail.DATE, "march", "mary"),
    (Detail.DATE, "5月", "农历五月"),
    (Detail.PLACE, "北京", "北京烤鸭"),
    (Detail.PLACE, "北京", "北京"),
    (Detail.PLACE, "北京", "北京人"),
    (Detail.PLACE, "南京", "南京东路"),
    (Detail.PLACE, "南京", "南京西路100号"),
    (Detail.PLACE, "virginia", "west virginia"),
    (Detail.PLACE, "kansas", "kansas city"),
    (Detail.PLACE, "york", "new york"),
    (Detail.RELEASE, "java", "javascript"),
    (Detail.RELEASE, "java", "java card"),
    (Detail.RELEASE, "visual studio", "visual studio code"),
    (Detail.RELEASE, "sql", "sql server"),
    (Detail.RELEASE, "postgresql", "postgresql or mysql"),
    (Detail.RELEASE, "postgresql 1", "postgresql 16"),
    (Detail.RELEASE, "s", "s3"),
    (Detail.RELEASE, "50", "500"),
    (Detail.RELEASE, "5", "5.5"),
    (Detail.MODEL, "iphone", "iphone and ipad"),
    (Detail.MODEL, "iphone 1", "iphone 15"),
    (Detail.NAME, "anna", "annabel keller"),
    (Detail.NAME, "anna", "anna and tom"),
    (Detail.NAME, "anna", "anna's sister"),
    (Detail.NAME, "李明", "李明华"),
    (Detail.CALLED, "狗", "热狗"),
    (Detail.CALLED, "dog", "hot dog"),
    (Detail.CALLED, "dog", "dog bed"),
]


@pytest.mark.parametrize(("detail", "coarse", "fine"), FINER)
def test_a_finer_form_is_seen_and_no_coarser_one(detail: Detail, coarse: str, fine: str) -> None:
    finer = REFINING.of(replace(USES, refines=detail))
    assert finer(fine, coarse)
    assert not finer(coarse, fine)


@pytest.mark.parametrize(("detail", "coarse", "other"), OTHER)
def test_in_doubt_another_value_is_another_value(detail: Detail, coarse: str, other: str) -> None:
    finer = REFINING.of(replace(USES, refines=detail))
    assert not finer(other, coarse)


@given(
    st.sampled_from(Detail),
    st.text("杭州市区5年月日ab19 -.'", max_size=9),
    st.text("杭州市区5年月日ab19 -.'", max_size=9),
)
def test_no_value_is_finer_than_itself_and_no_two_than_each_other(detail: Detail, one: str, other: str) -> None:
    finer = REFINING.of(replace(USES, refines=detail))
    assert not finer(one, one)
    assert not (finer(one, other) and finer(other, one))


def test_amounts_and_whatever_says_nothing_are_never_refined() -> None:
    for name in ("HAS_BUDGET", "ANNUAL_REVENUE", "LISTENS_ON_PORT", "LIKES", "FAVOURITE_PLACE", "WORKS_AT"):
        assert REFINING.of(load_vocabulary().get(name)) is never_finer
    assert REFINING.of(None) is never_finer


def test_a_file_of_words_that_lacks_a_table_is_told() -> None:
    with pytest.raises(SettingsError, match=r"write \[joining\] as lists"):
        parse_refining({"joining": {"en": "and"}}, lambda text: (), lambda text: ())


# ---------------------------------------------------------------------------------- what it does


def statuses(beliefs: Beliefs) -> list[tuple[str, Status]]:
    return [(m.value, m.status) for m in beliefs.values()]


A, A1, A2 = said("A"), said("A 1", 3, session="s2", message=2), said("A 2", 5, session="s3", message=3)


def test_the_precise_value_is_current_at_once_and_the_coarse_one_history() -> None:
    beliefs = believe_all([A])
    judgement, _ = believe(beliefs, A1)
    assert judgement == Judgement(Verdict.REFINE, "refine", ("the same, more precisely", "than m1"), ends=(1,))
    assert live(beliefs) == {("a 1", False)}
    coarse = beliefs[1]
    assert (coarse.status, coarse.valid_to, coarse.successor, coarse.source, coarse.start) == (
        Status.ENDED, day(3), 2, Source.DECLARED, 0.95,
    )  # fmt: skip


def test_said_coarsely_again_it_bears_the_precise_one_out() -> None:
    beliefs = believe_all([A, A1])
    judgement, _ = believe(beliefs, said("A", 40, session="s4", message=4))
    assert judgement == Judgement(Verdict.CORROBORATE, "less-precise", ("m2 says it more precisely",), same=2)
    assert statuses(beliefs) == [("a", Status.ENDED), ("a 1", Status.LIVE)]
    assert beliefs[2].affirmed_at == day(40)
    # What was said stays evidence of what was said.
    assert (len(beliefs[1].evidence), len(beliefs[2].evidence)) == (2, 1)


def test_a_coarse_guess_makes_nothing_surer() -> None:
    guess = said("A", 40, source=Source.INFERRED, session="s4", message=4)
    assert believe_all([A1, guess])[1].affirmed_at == day(3)


def test_the_coarse_value_told_late_is_history_at_once() -> None:
    beliefs = believe_all([A1])
    assert believe(beliefs, A)[0].verdict is Verdict.CORROBORATE
    assert statuses(beliefs) == [("a 1", Status.LIVE), ("a", Status.ENDED)]


def test_the_precise_value_told_late_still_refines() -> None:
    judgement, _ = believe(believe_all([said("A", 9)]), A1)
    assert (judgement.verdict, judgement.ends) == (Verdict.REFINE, (1,))


def test_another_precise_value_is_another_value() -> None:
    assert statuses(believe_all([A, A1, A2])) == [
        ("a", Status.ENDED), ("a 1", Status.LIVE), ("a 2", Status.HELD),
    ]  # fmt: skip
    assert live(believe_all([A, A1, said("A 2", 5, Mode.CHANGE, message=3)])) == {("a 2", False)}


def test_who_says_outright_that_it_changed_means_what_they_say() -> None:
    assert live(believe_all([A1, said("A", 5, Mode.CHANGE, message=3)])) == {("a", False)}
    corrected = believe_all([A1, said("A", 5, Mode.CORRECTION, old="A 1", message=3)])
    assert statuses(corrected) == [("a 1", Status.RETRACTED), ("a", Status.LIVE)]
    # Both in one breath: it changed to A, in the form A 1.
    breath = [said("B"), said("A", 5, Mode.CHANGE, old="B", message=3), said("A 1", 5, message=4)]
    assert live(believe_all(breath)) == live(believe_all(breath[::-1])) == {("a 1", False)}


@pytest.mark.parametrize("relation", [None, USES])
def test_what_is_over_is_over_in_every_detail(relation: object) -> None:
    of = {} if relation is None else {"relation": USES}
    refined = [said("A", **of), said("A 1", 3, message=2, **of)]  # type: ignore[arg-type]
    denied = said("A", 5, Mode.DENIAL, message=3, **of)  # type: ignore[arg-type]
    replaced = said("B", 5, Mode.CHANGE, old="A", message=3, **of)  # type: ignore[arg-type]
    assert live(believe_all([*refined, denied])) == {("a", True)}
    assert live(believe_all([*refined, replaced])) == {("b", False)}


def test_what_is_over_in_one_detail_does_not_bring_the_rest_back() -> None:
    assert live(believe_all([A, A1, said("A 1", 5, Mode.DENIAL, message=3)])) == {("a 1", True)}


def test_a_detail_that_was_wrong_leaves_what_was_said_before_it() -> None:
    beliefs = believe_all([A, A1])
    beliefs[2] = retracted(beliefs[2], day(6), LEARNT)
    believe(beliefs, said("A", 1, session="s9", message=9))
    assert live(beliefs) == {("a", False)}


@pytest.mark.parametrize("weak", [Source.INFERRED, Source.IMPORTED, Source.TOOL])
def test_a_weaker_word_makes_nothing_more_precise(weak: Source) -> None:
    guess = said("A 1", 3, source=weak, message=2)
    judgement, _ = believe(believe_all([A]), guess)
    assert (judgement.verdict, judgement.rule) == (Verdict.HOLD, "weaker-source")
    # Once the user says it themselves, it does.
    assert live(believe_all([A, guess, said("A 1", 4, message=3)])) == {("a 1", False)}


def test_what_waited_is_believed_once_the_coarse_form_of_it_is() -> None:
    waiting = [said("B"), A1]
    assert statuses(believe_all(waiting)) == [("b", Status.LIVE), ("a 1", Status.HELD)]
    assert live(believe_all([*waiting, said("A", 5, Mode.CHANGE, message=4)])) == {("a 1", False)}


def test_the_rejected_value_is_not_learnt_again_in_a_finer_form() -> None:
    beliefs = believe_all([A])
    beliefs[1] = retracted(beliefs[1], day(2), LEARNT)
    assert believe(beliefs, said("A 1", 3, source=Source.IMPORTED, message=2))[0].verdict is Verdict.REFUSE


def test_of_many_values_only_the_same_one_is_refined() -> None:
    many = [said("A", relation=USES), said("B", relation=USES, message=2), said("A 1", 3, relation=USES, message=3)]
    assert live(believe_all(many)) == {("a 1", False), ("b", False)}
    beliefs = believe_all([*many, said("A 2", 4, relation=USES, message=4), said("A", 5, relation=USES, message=5)])
    assert live(beliefs) == {("a 1", False), ("a 2", False), ("b", False)}


def test_a_coarse_word_settles_nothing_between_two_precise_ones() -> None:
    open_question = [A1, A2]
    assert statuses(believe_all(open_question)) == [("a 1", Status.LIVE), ("a 2", Status.HELD)]
    beliefs = believe_all([*open_question, said("A", 7, session="s4", message=4)])
    assert statuses(beliefs) == [("a 1", Status.LIVE), ("a 2", Status.HELD), ("a", Status.ENDED)]
    # Said precisely, it is settled.
    assert statuses(believe_all([*open_question, said("A 1", 7, session="s4", message=4)]))[1] == (
        "a 2",
        Status.RETRACTED,
    )


def test_said_coarsely_on_a_better_word_it_goes_on() -> None:
    guess = [said("A", source=Source.INFERRED), said("A 1", 1, source=Source.INFERRED, message=2)]
    beliefs = believe_all([*guess, said("A", 3, message=3)])
    assert [(m.value, m.status, m.valid_from) for m in beliefs.values()] == [
        ("a", Status.LIVE, day(0)), ("a 1", Status.ENDED, day(1)),
    ]  # fmt: skip


# Found by the property below: what was released stood beside its coarser form.
RELEASED = [
    [said("A 1", 1, Mode.CHANGE, relation=USES), said("A 1.2", 2, relation=USES, message=2),
     said("A", 2, Mode.CORRECTION, old="A 1.2", relation=USES, message=3)],
    [said("A", 1, Mode.DENIAL, relation=USES), said("A 1", 4, Mode.CHANGE, relation=USES, message=2),
     said("A 1.2", 4, relation=USES, message=3)],
]  # fmt: skip


@given(st.lists(observations(tuple(Source), relations=(USES,)), max_size=7))
@example(RELEASED[0])
@example(RELEASED[1])
def test_no_coarse_form_is_current_beside_a_finer_one_on_as_good_a_word(talk: list[object]) -> None:
    beliefs = believe_all(talk)  # type: ignore[arg-type]
    finer = REFINING.of(USES)
    stands = [m for m in beliefs.values() if m.status is Status.LIVE and m.source is Source.DECLARED]
    assert not any(finer(one.value, other.value) for one in stands for other in stands)
