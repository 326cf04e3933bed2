"""Activation goes from thing to thing and only ever fades (SPEC G2, R1)."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.domain.activation import OWN_SIDE, Activated, ActivationPolicy, spread
from jiyi.domain.graph import Edge, Link
from jiyi.domain.memory import Source

NOW = datetime(2026, 3, 2, tzinfo=UTC)
THINGS = ("@company", "Farhill", "Nora", "Anna", "80000", "Bluefern")
RELATIONS = ("COMPETES_WITH", "WORKS_AT", "HAS_PRICE")
POLICY = ActivationPolicy()


def link(memory: int, start: str, relation: str, end: str) -> Link:
    edge = Edge(memory, start, relation, end, end == "80000", Source.DECLARED, 0.9, NOW, NOW)
    return Link(edge, start, end)


def go(
    links: list[Link], starts: dict[str, Activated], asked: dict[str, str], policy: ActivationPolicy = POLICY
) -> tuple[dict[str, Activated], dict[int, Activated]]:
    return spread(
        starts, asked, (), lambda n: [k for k in links if n in (k.start, k.end)], lambda edge: edge.start, policy
    )


WORLD = [
    link(1, "@company", "COMPETES_WITH", "Farhill"),
    link(2, "Farhill", "HAS_PRICE", "80000"),
    link(3, "Nora", "WORKS_AT", "Farhill"),
    link(4, "Anna", "WORKS_AT", "Bluefern"),
    link(5, "Bluefern", "HAS_PRICE", "80000"),
]
OWN = {"@company": Activated(1.0, ())}


def test_what_is_asked_for_leads_on_at_full_strength_and_what_is_not_fades() -> None:
    things, memories = go(WORLD, OWN, {"COMPETES_WITH": "rival", "HAS_PRICE": "price"})
    assert memories[1] == Activated(0.9, ("rival", "Farhill"), meant=True)
    assert memories[2] == Activated(0.81, ("rival", "Farhill", "80000"))
    assert memories[3] == Activated(round(0.9 * POLICY.decay * 0.9, 6), ("rival", "Farhill", "Nora"))
    assert things["Nora"] == memories[3]


def test_no_way_leads_through_a_value_or_through_the_users_own_side() -> None:
    things, memories = go(WORLD, {"Nora": Activated(1.0, ("nora",))}, {"WORKS_AT": "works", "HAS_PRICE": "price"})
    assert set(memories) == {1, 2, 3}
    assert "80000" not in things
    assert not OWN_SIDE & things.keys()
    assert go(WORLD, OWN, {"WORKS_AT": "works"})[1] == {}


def test_what_the_question_takes_for_granted_does_not_come_to_mind() -> None:
    named = {"Farhill": Activated(1.0, ("farhill",)), "Nora": Activated(1.0, ("nora",))}
    assert set(go(WORLD, named, {})[1]) == {2}  # neither that it is a rival of the user's, nor that she works there
    assert set(go(WORLD, named, {"WORKS_AT": "works"})[1]) == {2, 3}


def test_in_a_crowd_little_is_left() -> None:
    crowd = [link(n, f"person {n}", "WORKS_AT", "Farhill") for n in range(1, 101)]
    named = {"Farhill": Activated(1.0, ("farhill",))}
    assert go(crowd, named, {})[1] == {}
    assert len(go(crowd, named, {}, replace(POLICY, fan=100))[1]) == POLICY.memories


@given(
    pairs=st.lists(
        st.tuples(st.sampled_from(THINGS), st.sampled_from(RELATIONS), st.sampled_from(THINGS)), max_size=14
    ),
    named=st.sets(st.sampled_from(THINGS), min_size=1),
    asked=st.sets(st.sampled_from(RELATIONS)),
    seed=st.integers(0, 9),
)
@example(  # two of one level of whom one reaches the other on a stronger way
    pairs=[
        ("Farhill", "HAS_PRICE", "Nora"),
        ("Farhill", "HAS_PRICE", "Anna"),
        ("Nora", "COMPETES_WITH", "Anna"),
        ("Nora", "COMPETES_WITH", "80000"),
        ("Anna", "COMPETES_WITH", "Bluefern"),
    ],
    named={"Bluefern"},
    asked={"HAS_PRICE"},
    seed=0,
)
def test_it_never_grows_never_goes_too_far_and_never_depends_on_order(
    pairs: list[tuple[str, str, str]], named: set[str], asked: set[str], seed: int
) -> None:
    links = [link(n, *pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[2]]
    starts = {name: Activated(1.0, (name,)) for name in named}
    wanted = {relation: relation.lower() for relation in asked}
    things, memories = go(links, starts, wanted)
    for activated in (*things.values(), *memories.values()):
        assert POLICY.least <= activated.energy <= 1.0
        assert len(activated.way) <= POLICY.hops + 1
    for number in memories:
        edge = links[[k.edge.memory for k in links].index(number)]
        assert (
            max((things[n].energy for n in (edge.start, edge.end) if n in things), default=0) > memories[number].energy
        )
    shuffled = random.Random(seed).sample(links, len(links))
    assert go(shuffled, starts, wanted) == (things, memories)
