"""What comes to mind because of what a question names: activation goes from thing to thing and fades (SPEC G2, R1).

Steps that the question asks for (竞品, price) lose nothing but doubt, nor does what a thing is called; any other step loses
most, and in a crowd nearly all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from jiyi.domain.graph import Edge, Link
from jiyi.domain.relations import COMPANY, USER

OWN_SIDE = frozenset((USER, COMPANY))
"""Stands in nearly every triple, so only what is asked for leads on from it."""


@dataclass(frozen=True, slots=True)
class ActivationPolicy:
    """How far a question goes into the graph, and what is found there counts for (decision 0040)."""

    # What a memory counts for beside its words and meaning, where every step to it was asked for. 0: no such channel.
    weight: float = 0.8
    # What is left after a step that was not asked for; divided further where more than `fan` triples stand alike.
    decay: float = 0.5
    fan: int = 8
    hops: int = 3
    # Things whose triples are looked at, triples of each name and direction, memories that come to mind, and below which
    # activation none does.
    nodes: int = 24
    edges: int = 64
    memories: int = 16
    least: float = 0.15
    # What a name counts for as a word that stands for what was asked for (云枢 for 竞品), and how many of them.
    name_word: float = 0.8
    names: int = 6
    # Words or Chinese characters of a question among which names are looked for, and of one name.
    looked_through: int = 96
    longest: int = 8


@dataclass(frozen=True, slots=True)
class Activated:
    """How much something comes to mind, in [0, 1], and by which way: a word of the question, then the things it led by. `meant`:
    it is what the question speaks of (the competitor), not what may be said of that."""

    energy: float
    way: tuple[str, ...]
    meant: bool = False

    @property
    def rank(self) -> tuple[float, int, tuple[str, ...], bool]:
        return (-self.energy, len(self.way), self.way, not self.meant)


def spread(
    starts: Mapping[str, Activated],
    asked: Mapping[str, str],
    calling: Collection[str],
    links_of: Callable[[str], Iterable[Link]],
    sure: Callable[[Edge], float],
    policy: ActivationPolicy,
) -> tuple[dict[str, Activated], dict[int, Activated]]:
    """The things that come to mind, by node, and the memories, by number; each by its strongest way. Nothing depends on the
    order in which links are given.

    Args:
        starts: what the question names. The user's own side leads only to what is asked for.
        asked: relations that the question names, each with the word for it.
        calling: relations that tell what something is called.
        links_of: the links of a node that count now. It is called for `policy.nodes` nodes at the most.
    """
    things, memories = dict(starts), dict[int, Activated]()
    level, looked = sorted(starts), 0
    for _ in range(policy.hops):
        ahead = set()
        # As they were before this step: what is reached anew on the way goes on with the next one.
        reached = {node: things[node] for node in level[: policy.nodes - looked]}
        looked += len(reached)
        for node, here in reached.items():
            for link, step in _steps(node, here, list(links_of(node)), asked, calling, sure, policy):
                number, other = link.edge.memory, link.other(node)
                # What joins a thing to another that is named too, or to the user, the question takes for granted: that the
                # user has a boat tells nothing about where the boat lies.
                told = link.edge.relation in asked or not (node in starts and (other in starts or other in OWN_SIDE))
                if told and (number not in memories or step.rank < memories[number].rank):
                    memories[number] = step
                if link.edge.literal or other in OWN_SIDE or step.energy < policy.least:
                    continue
                if other not in things or step.rank < things[other].rank:
                    things[other] = step
                    ahead.add(other)
        level = sorted(ahead, key=lambda n: (things[n].rank, n))
    strongest = sorted(memories, key=lambda m: (memories[m].rank, m))[: policy.memories]
    return things, {m: memories[m] for m in strongest if memories[m].energy >= policy.least}


def _steps(
    node: str,
    here: Activated,
    links: list[Link],
    asked: Mapping[str, str],
    calling: Collection[str],
    sure: Callable[[Edge], float],
    policy: ActivationPolicy,
) -> Iterable[tuple[Link, Activated]]:
    whole = {k.edge.relation for k in links if k.edge.relation in asked or k.edge.relation in calling}
    alike = Counter(k.edge.relation if k.edge.relation in whole else "" for k in links)
    for link in links:
        relation, other = link.edge.relation, link.other(node)
        if relation not in asked and node in OWN_SIDE:
            continue
        name, left = (relation, 1.0) if relation in whole else ("", policy.decay)
        left *= min(1.0, policy.fan / alike[name])
        way = here.way or (asked[relation],)
        energy = round(here.energy * left * sure(link.edge), 6)
        meant = node in OWN_SIDE or (here.meant and relation in calling)
        yield link, Activated(energy, way if other.startswith("@") else (*way, other), meant)
