"""The channel of meaning: what is near a question, of each kind, and how relevant that makes it (SPEC R1, R11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jiyi.domain.activation import Activated
from jiyi.domain.fusion import FusionPolicy
from jiyi.domain.ranking import RankingPolicy, meaning
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
        return [replace(m, meaning=relevant.get(m.item.seq, 0.0), linked=mind.get(m.item.seq)) for m in matches]


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
    nearness = standing_out(sorted((n.cosine for some in found.values() for n in some), reverse=True))
    near = {kind: [n for n in some if n.cosine >= fusion.min_cosine] for kind, some in found.items()}
    cosines = [n.cosine for some in near.values() for n in some]
    relevant = {
        kind: {
            n.seq: meaning(share, nearness, ranking) for n, share in zip(some, shares_of(some, cosines), strict=True)
        }
        for kind, some in near.items()
    }
    return Meaning(near, nearness, relevant)
