"""The channel of meaning: what is near a question, of each kind, and how relevant that makes it (SPEC R1, R11)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jiyi.domain.activation import Activated
from jiyi.domain.fusion import FusionPolicy
from jiyi.domain.ranking import RankingPolicy, meanings
from jiyi.domain.relevance import standing_out
from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Neighbour
from jiyi.pipelines.recalling.matching import Match
from jiyi.pipelines.vectors import Embedding, match_vectors, shares_of
from jiyi.ports import Kind, Unit


@dataclass(frozen=True, slots=True)
class Meaning:
    """The nearest texts of each kind, best first; how far the nearest of all stands out, None without vectors; and how
    relevant each is by its meaning, by number. Kinds are compared with one another: a cosine is a cosine. `mind`: memories that
    the graph leads to."""

    near: Mapping[Kind, Sequence[Neighbour]] = field(default_factory=dict)
    nearness: float | None = None
    relevant: Mapping[Kind, Mapping[int, float]] = field(default_factory=dict)
    mind: Mapping[int, Activated] = field(default_factory=dict)

    def of(self, kind: Kind) -> Sequence[Neighbour]:
        return self.near.get(kind, ())

    def beside(self, kind: Kind, matches: Iterable[Match]) -> list[Match]:
        """Matches by words, with what their meaning adds, and of memories the graph."""
        relevant, mind = self.relevant.get(kind, {}), self.mind if kind is Kind.MEMORY else {}
        if not (relevant or mind):
            return list(matches)
        return [m.beside(relevant.get(m.item.seq, 0.0), mind.get(m.item.seq)) for m in matches]


def find_meaning(
    unit: Unit,
    scope: Scope,
    question: str,
    kinds: Sequence[Kind],
    embedding: Embedding | None,
    fusion: FusionPolicy,
    ranking: RankingPolicy,
) -> Meaning:
    """What means the same as a question, of each kind; looked up once."""
    if embedding is None:
        return Meaning()
    found = {kind: match_vectors(unit, scope, kind, question, embedding, fusion.near) for kind in kinds}
    nearness = standing_out(sorted([cosine for some in found.values() for _, cosine in some], reverse=True))
    # Best first, so those that are too far come last.
    near = {kind: some[: bisect_right(some, -fusion.min_cosine, key=_farness)] for kind, some in found.items()}
    ends = [n.cosine for some in near.values() if some for n in (some[0], some[-1])]
    relevant = {
        kind: dict(zip((seq for seq, _ in some), meanings(shares_of(some, ends), nearness, ranking), strict=True))
        for kind, some in near.items()
    }
    return Meaning(near, nearness, relevant)


def _farness(near: Neighbour) -> float:
    return -near.cosine
