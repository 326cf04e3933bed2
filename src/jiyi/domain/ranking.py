"""What comes first: relevance, then a bounded say for importance, confidence, recency and heat (SPEC R1)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """Weights of the rescoring. Together the side signals stay below one clear step of relevance,
    so popular or recent items cannot feed on themselves."""

    importance: float = 0.04  # per step above or below 3
    confidence: float = 0.20  # share of the score that confidence scales
    recency: float = 0.04
    recency_half_life: timedelta = timedelta(days=60)
    # The same for what was said: the fusion knows the time that a question names, and age alone says little of a passage.
    passage_recency: float = 0.0
    heat: float = 0.04
    heat_saturation: float = 8.0  # visits at which heat has half its say
    phrase: float = 0.15  # the whole question, or its longest run, stands in the text
    message: float = 0.85  # history speaks a little quieter than what was distilled from it
    # What was so before stands this much above what is so now, where the question asks for it.
    former: float = 0.5
    # What a memory counts for that tells something else than what the question asks for outright.
    beside_asked: float = 0.75
    # A hit must cover this share of the question's information, or it counts as chance.
    min_coverage: float = 0.15
    # A turn that covers less is no chance where it is so relevant by its meaning.
    min_meaning: float = 0.30
    # What the nearest text counts for, as a share of what words leave open.
    meaning: float = 0.90
    # How far it must stand out among the others to count so (`domain.relevance.standing_out`). Half where it does not at all.
    stands_out: float = 0.38


def inverse_frequency(documents: int, holding: int) -> float:
    """BM25's inverse document frequency: how much a term tells apart inside one scope."""
    return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))


COVERS = 0.3
"""The share of a question's information from which a hit by words is measured by the best hit alone."""


def yardstick(best: float, covered: float) -> float:
    """What hits by words are measured by: the best of them, and more where even that one hardly covers anything. Else a chance
    word, the best there is, would stand before what means the same (decision 0051).

    Args:
        covered: the largest share of the question's information that a hit covers, in [0, 1].
    """
    return best * COVERS / covered if 0 < covered < COVERS else best


def relevance(score: float, best: float, coverage: float) -> float:
    """In [0, 1]: half how well it does against the best hit, half how much of the question it covers.

    The first orders; the second is absolute, so that a poor best hit stays visibly poor.
    """
    return 0.5 * (score / best if best > 0 else 0.0) + 0.5 * coverage


def meanings(shares: Iterable[float], nearness: float | None, policy: RankingPolicy) -> list[float]:
    """How relevant texts are by their meaning, in [0, 1], as `relevance` is by words: half how near each is beside the nearest,
    half how far that stands out, since in every store something is nearest.

    Args:
        shares: how near each is, in [0, 1], 1 for the nearest.
        nearness: how far the nearest stands out.
    """
    stands = 1.0 if policy.stands_out <= 0 else min(1.0, max(0.0, nearness or 0.0) / policy.stands_out)
    most, half = policy.meaning, 0.5 + 0.5 * stands
    return [most * share * share * half for share in shares]


def fused(words: float, meant: float, linked: float = 0.0) -> ScoreParts:
    """Relevance by words, by meaning and by the graph as one, in [0, 1]: meaning fills a part of what words leave open, the
    graph of what both do. So none hides another, what several find comes first, and without vectors the words stand as they are."""
    parts = (("words", words), ("meaning", (1 - words) * meant), ("graph", (1 - words) * (1 - meant) * linked))
    return tuple((name, value) for name, value in parts if value)


ScoreParts = tuple[tuple[str, float], ...]
"""The named parts of a score, which is their sum (SPEC R10)."""


def score_of(parts: ScoreParts) -> float:
    """The score that parts make, quantised so that every engine returns the same order."""
    return float(round(max(sum([value for _, value in parts]), 0.0), 4))


def rescore(
    relevance: ScoreParts,
    *,
    now: datetime,
    at: datetime,
    policy: RankingPolicy,
    importance: int = 3,
    confidence: float = 1.0,
    heat: float = 0.0,
    phrase: bool = False,
    message: bool = False,
    weight: float = 1.0,
) -> ScoreParts:
    """What the final score is made of; parts that add nothing are left out.

    Args:
        relevance: in all in [0, 1].
        at: when the item was last stated or said.
        importance: 1–5.
        heat: decayed visits, 0 or more.
        weight: what the whole counts for (SPEC F3).
    """
    scale = weight * (policy.message if message else 1.0)
    trusted = 1 - policy.confidence + policy.confidence * confidence
    recency = policy.passage_recency if message else policy.recency
    if recency:
        recency *= 0.5 ** (max(now - at, _NO_TIME) / policy.recency_half_life)
    parts = [(name, trust * scale) for name, value in relevance if (trust := value * trusted)]
    for name, value in (
        ("importance", policy.importance * (importance - 3)),
        ("recency", recency),
        ("heat", policy.heat * heat / (heat + policy.heat_saturation) if heat else 0.0),
        ("phrase", policy.phrase if phrase else 0.0),
    ):
        if value:
            parts.append((name, value * scale))
    return tuple(parts)


_NO_TIME = timedelta(0)
