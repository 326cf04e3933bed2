"""The verdicts of `judge`, one rule at a time."""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.domain.belief import Judgement, Observation, Verdict, judge
from jiyi.domain.memory import Memory, Mode, Source, Status
from jiyi.domain.settling import DECLARED, ENDING, RANK
from jiyi.testing.strategies import memories
from tests.domain.observations import (
    AVOIDS,
    DATABASE,
    REFINING,
    USES,
    VOCABULARY,
    Beliefs,
    believe,
    believe_all,
    day,
    live,
    observations,
    said,
    without_key,
)

ALL_MODES = tuple(m for m in Mode if m not in (Mode.OVER, Mode.WRONG))
ALL_SOURCES = tuple(Source)


def verdict_on(observation: Observation, *before: Observation) -> Judgement:
    return believe(believe_all(before), observation)[0]


def test_what_is_new_is_added() -> None:
    assert verdict_on(said("MySQL")) == Judgement(Verdict.ADD, "new")
    assert verdict_on(said("MySQL", relation=USES), said("Redis", relation=USES)) == Judgement(Verdict.ADD, "new")


def test_what_is_restated_is_corroborated() -> None:
    judgement = verdict_on(said("mysql", 3), said("MySQL"))
    assert (judgement.verdict, judgement.rule, judgement.same) == (Verdict.CORROBORATE, "restated", 1)
    assert judgement.reasons == ("says what m1 says",)


def test_a_text_without_a_triple_is_compared_as_it_is() -> None:
    first = without_key(said("MySQL"))
    assert verdict_on(first, first).verdict is Verdict.CORROBORATE
    assert verdict_on(without_key(said("Redis")), first).verdict is Verdict.ADD
    # The same words as the value of a fact are another thing.
    assert verdict_on(first, said("MySQL")).verdict is Verdict.ADD


@pytest.mark.parametrize("source", [Source.DECLARED, Source.VERIFIED])
@pytest.mark.parametrize(
    ("mode", "rule"), [(Mode.CHANGE, "user-changed"), (Mode.CORRECTION, "user-corrected"), (Mode.DENIAL, "user-denied")]
)
def test_said_outright_it_replaces_at_once(mode: Mode, rule: str, source: Source) -> None:
    value = "MySQL" if mode is Mode.DENIAL else "PostgreSQL"
    judgement = verdict_on(said(value, 3, mode), said("MySQL", source=source))
    assert (judgement.verdict, judgement.rule, judgement.ends) == (Verdict.REPLACE, rule, (1,))
    assert judgement.reasons == (f"{mode} said outright", "ends m1")


def test_a_change_ends_every_rival_and_restates_what_already_says_it() -> None:
    judgement = verdict_on(said("C", 5, Mode.CHANGE), said("A"), said("B", 1), said("C", 2))
    assert (judgement.verdict, judgement.ends, judgement.same) == (Verdict.REPLACE, (1,), 3)


def test_a_bare_contradiction_ends_nothing() -> None:
    judgement = verdict_on(said("PostgreSQL", 3), said("MySQL"))
    assert (judgement.verdict, judgement.rule, judgement.ends) == (Verdict.PROVISIONAL, "bare-contradiction", ())
    assert judgement.reasons == (
        "the user's own words", "said 1 time(s) in this session", "contradicts nothing else",
    )  # fmt: skip


def test_a_shift_of_concern_lowers_what_it_displaces() -> None:
    shift = said("交付周期", 3, Mode.SHIFT, relation=USES)
    judgement = verdict_on(shift, said("价格", relation=USES), said("质量", relation=USES))
    assert (judgement.verdict, judgement.rule, judgement.lowers) == (Verdict.COEXIST, "concern-shift", (1, 2))
    assert verdict_on(shift).verdict is Verdict.ADD


@pytest.mark.parametrize("weak", [Source.INFERRED, Source.IMPORTED, Source.TOOL])
@pytest.mark.parametrize("mode", [Mode.STATEMENT, Mode.CHANGE, Mode.CORRECTION])
def test_a_weaker_source_is_held(weak: Source, mode: Mode) -> None:
    judgement = verdict_on(said("PostgreSQL", 9, mode, source=weak), said("MySQL"))
    assert (judgement.verdict, judgement.rule) == (Verdict.HOLD, "weaker-source")
    assert judgement.reasons == (f"{weak} does not outweigh what is declared",)


@pytest.mark.parametrize("weak", [Source.INFERRED, Source.IMPORTED, Source.TOOL])
def test_a_stronger_source_ends_a_weaker_one(weak: Source) -> None:
    judgement = verdict_on(said("PostgreSQL", 3), said("MySQL", source=weak))
    assert (judgement.verdict, judgement.rule, judgement.ends) == (Verdict.REPLACE, "stronger-source", (1,))
    # Also when the weaker one was stated later, and as a change.
    judgement = verdict_on(said("PostgreSQL", 3), said("MySQL", 7, Mode.CHANGE, source=weak))
    assert (judgement.verdict, judgement.ends, judgement.ended_by) == (Verdict.REPLACE, (1,), None)


def test_what_a_later_change_had_ended_enters_as_history() -> None:
    judgement = verdict_on(said("MySQL", 1), said("PostgreSQL", 3, Mode.CHANGE))
    assert (judgement.verdict, judgement.rule, judgement.ended_by) == (Verdict.ADD, "older-than-a-change", 1)
    beliefs = believe_all([said("A", 5, Mode.CHANGE), said("B", 3, Mode.CHANGE), said("C", 1)])
    # The first change after the moment is the one that ended it.
    assert [(m.value, m.status, m.valid_to, m.successor) for m in beliefs.values()] == [
        ("a", Status.LIVE, None, None),
        ("b", Status.ENDED, day(5), 1),
        ("c", Status.ENDED, day(3), 2),
    ]


def test_a_change_that_a_denial_had_ended_still_ends_what_came_before_it() -> None:
    changed, denied = said("A", 2, Mode.CHANGE), said("A", 3, Mode.DENIAL)
    for order in ([said("B", 1), changed, denied], [said("B", 1), denied, changed]):
        assert live(believe_all(order)) == {("a", True)}
    judgement = verdict_on(changed, said("B", 1), denied)
    assert (judgement.verdict, judgement.rule) == (Verdict.REPLACE, "older-than-a-change")
    assert (judgement.ends, judgement.ended_by) == ((1,), 2)


def test_a_value_of_the_past_may_come_back() -> None:
    back = [said("A", 1), said("B", 2, Mode.CHANGE), said("A", 3, Mode.CHANGE)]
    beliefs = believe_all(back)
    assert live(beliefs) == {("a", False)}
    assert [m.status for m in beliefs.values()] == [Status.ENDED, Status.ENDED, Status.LIVE]
    assert live(believe_all(back[::-1])) == {("a", False)}


def test_there_and_back_in_one_breath() -> None:
    there, back = said("A", 3, Mode.CHANGE, old="B"), said("B", 3, Mode.CHANGE)
    assert live(believe_all([there, back])) == live(believe_all([back, there])) == {("b", False)}


def test_a_change_says_nothing_of_what_was_stated_after_it() -> None:
    """It was believed when that was said, so that is arbitrated like any bare word against a declaration."""
    judgement = verdict_on(said("PostgreSQL", 3, Mode.CHANGE), said("MySQL", 7))
    assert (judgement.verdict, judgement.rule, judgement.ends) == (Verdict.REPLACE, "told-late", (1,))
    twice = [said("MySQL", 7), said("MySQL", 8, message=2), said("PostgreSQL", 3, Mode.CHANGE, message=3)]
    assert live(believe_all(twice)) == live(believe_all(twice[::-1])) == {("mysql", False)}


def test_many_values_stand_side_by_side_unless_one_is_named_as_old() -> None:
    redis = said("Redis", relation=USES)
    assert verdict_on(said("Kafka", 3, Mode.CHANGE, relation=USES), redis).verdict is Verdict.ADD
    named = verdict_on(said("Kafka", 3, Mode.CHANGE, old="Redis", relation=USES), redis)
    assert (named.verdict, named.ends) == (Verdict.REPLACE, (1,))
    # The one that replaced it stays when the old one is taken up again.
    again = [said("Kafka", 3, Mode.CHANGE, old="Redis", relation=USES), said("Redis", 5, Mode.CHANGE, relation=USES)]
    assert live(believe_all(again)) == live(believe_all(again[::-1])) == {("kafka", False), ("redis", False)}


def test_opposites_and_denials_exclude_each_other() -> None:
    uses = said("Redis", relation=USES)
    assert verdict_on(said("Redis", 3, relation=AVOIDS), uses).rule == "bare-contradiction"
    assert verdict_on(said("Redis", 3, Mode.CHANGE, relation=AVOIDS), uses).ends == (1,)
    assert verdict_on(said("Kafka", 3, Mode.CHANGE, relation=AVOIDS), uses).verdict is Verdict.ADD
    assert verdict_on(said("Redis", 3, Mode.DENIAL, relation=USES), uses).ends == (1,)
    assert verdict_on(said("Kafka", 3, Mode.DENIAL, relation=USES), uses).verdict is Verdict.ADD
    assert verdict_on(said("Redis", 3, negated=True, relation=USES), uses).rule == "bare-contradiction"
    denied_twice = verdict_on(
        said("Redis", 5, Mode.DENIAL, relation=USES), said("Redis", 3, Mode.DENIAL, relation=USES)
    )
    assert denied_twice.verdict is Verdict.CORROBORATE


# ---------------------------------------------------------------------------------- promises


@given(
    observations(ALL_SOURCES, ALL_MODES, (DATABASE, USES, AVOIDS)),
    st.lists(memories(), max_size=5, unique_by=lambda m: m.seq),
)
def test_judge_is_total_and_deterministic(observation: Observation, believed: list[Memory]) -> None:
    relation = VOCABULARY.get(observation.triple.relation) if observation.triple else None
    for known in (relation, None):
        judgement = judge(observation, believed, known)
        assert judgement == judge(observation, list(believed), known)
        assert judgement.rule
        seqs = {m.seq for m in believed}
        assert seqs.issuperset(judgement.ends + judgement.lowers)
        assert {judgement.same, judgement.ended_by} <= seqs | {None}


@given(
    st.lists(observations(ALL_SOURCES, ALL_MODES, (DATABASE, USES, AVOIDS)), max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_order_in_which_memories_are_read_does_not_matter(talk: list[Observation], random: Random) -> None:
    if not talk:
        return
    believed = list(believe_all(talk[:-1]).values())
    shuffled = list(believed)
    random.shuffle(shuffled)
    relation = VOCABULARY.get(talk[-1].triple.relation) if talk[-1].triple else None
    one, other = (judge(talk[-1], held, relation) for held in (believed, shuffled))
    assert (one.verdict, one.rule, one.same, one.ended_by) == (other.verdict, other.rule, other.same, other.ended_by)
    assert (sorted(one.ends), sorted(one.lowers)) == (sorted(other.ends), sorted(other.lowers))


INFERRED, IMPORTED, TOOL = Source.INFERRED, Source.IMPORTED, Source.TOOL
# Found by the property below: each once ended what was declared, or gave it another number.
WEAK_WORDS = [
    # What was said coarsely before a finer guess goes on once it is declared.
    ([said("A 1", 0, source=INFERRED, relation=AVOIDS), said("A 1", 1, relation=AVOIDS)], said("A 1.2", source=INFERRED, relation=AVOIDS)),
    ([said("A 1", 2, source=INFERRED), said("A 1", 4)], said("A 1.2", 0, Mode.CORRECTION, source=INFERRED)),
    # A part that is split off as past takes no number away.
    ([said("A 1.2", 3, Mode.CHANGE), said("A 1.2", 1, source=IMPORTED)], said("A", 2, Mode.CORRECTION, old="A 1.2", source=INFERRED)),
    # In the same breath, but on a weaker word.
    ([said("A 1"), said("A", 4, Mode.CORRECTION, message=2)], said("A 1", 4, source=INFERRED, message=4)),
    # What two sessions bear out stands on a better word than one finer guess.
    ([said("A 1", on, source=INFERRED, relation=USES, session=f"s{on}", message=3) for on in (2, 1)],
     said("A 1.2", 1, source=INFERRED, relation=USES, message=2)),
]  # fmt: skip


@given(
    st.lists(observations(ALL_SOURCES, ALL_MODES, (DATABASE, USES, AVOIDS)), max_size=6),
    observations((INFERRED, IMPORTED, TOOL), ALL_MODES, (DATABASE, USES, AVOIDS)),
)
@example(*WEAK_WORDS[0])
@example(*WEAK_WORDS[1])
@example(*WEAK_WORDS[2])
@example(*WEAK_WORDS[3])
@example(*WEAK_WORDS[4])
def test_a_weaker_source_never_ends_a_declared_memory(talk: list[Observation], weak: Observation) -> None:
    beliefs = believe_all(talk)
    before = dict(beliefs)
    judgement, changes = believe(beliefs, weak)
    declared = {seq for seq, m in before.items() if m.status is Status.LIVE and stands_declared(m, weak)}
    declared -= {seq for seq in declared if made_precise(beliefs, seq)}
    assert not declared & set(judgement.ends)
    assert all(not change.ends_belief for change in changes if change.seq in declared)
    assert all(beliefs[seq].source in (Source.DECLARED, Source.VERIFIED) for seq in declared)
    assert all(beliefs[seq].affirmed_at == before[seq].affirmed_at for seq in declared)


def stands_declared(memory: Memory, weak: Observation) -> bool:
    """Whether a memory is declared, whatever a weaker word says. What counts as declared only because inferences of
    several sessions bear it out is so from the last of them on: a word from between them may part them."""
    if memory.source not in (Source.DECLARED, Source.VERIFIED):
        return False
    words = [e for e in memory.evidence if e.mode not in ENDING]
    return any(RANK[e.source] >= DECLARED for e in words) or weak.at > max(e.at for e in memory.evidence)


def made_precise(beliefs: Beliefs, seq: int) -> bool:
    """Whether inferences of two sessions, which count as declared (SPEC B1), tell now more precisely what it tells."""
    memory, by = beliefs[seq], beliefs.get(beliefs[seq].successor or 0)
    precise = by is not None and REFINING.of(DATABASE)(by.value, memory.value)
    return precise and by is not None and by.status is Status.LIVE and by.source is Source.DECLARED


def test_inferences_that_a_word_from_between_parts_bear_nothing_out_together() -> None:
    twice = [said("A", on, source=INFERRED, relation=AVOIDS, session=f"s{on}", message=on) for on in (1, 4)]
    assert believe_all(twice)[1].source is Source.DECLARED
    beliefs = believe_all([*twice, said("A", 2, Mode.CHANGE, source=INFERRED, relation=USES, message=3)])
    assert [m.source for m in beliefs.values() if m.status is Status.LIVE] == [INFERRED]
