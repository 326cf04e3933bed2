"""How good a ranking is, given what should be in it. Pure; a rank counts from 1, and every measure lies in [0, 1] (SPEC R12).

- *recall@k*: the share of the gold that is among the first k.
- *hit@k*: 1 where any of the gold is.
- *MRR*: 1 / rank of the first gold item, 0 where none is.
- *nDCG@k*: gold at rank r counts 1 / log2(r + 1); the sum, divided by that of a ranking with all gold in front.

A ranked item counts once: what is named again later is passed over. Without gold nothing can be measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

CUTS = (1, 5, 10, 20)
"""The k that is measured."""
RANKED = max(CUTS)
"""So many items of a ranking are looked at."""
DCG_CUT = 10

Measures = Mapping[str, float]


def measures(ranked: Sequence[Hashable], gold: Collection[Hashable]) -> dict[str, float]:
    """All measures of one ranking by name: R@1 … R@20, hit@10, MRR, nDCG@10.

    Raises:
        ValueError: there is no gold.
    """
    wanted = frozenset(gold)
    if not wanted:
        raise ValueError("without gold nothing can be measured")
    right = [item in wanted for item in dict.fromkeys(ranked)]
    found = {f"R@{k}": sum(right[:k]) / len(wanted) for k in CUTS}
    return {
        **found,
        "hit@10": float(any(right[:DCG_CUT])),
        "MRR": _reciprocal_rank(right),
        "nDCG@10": _ndcg(right, len(wanted)),
    }


def _reciprocal_rank(right: Sequence[bool]) -> float:
    return next((1 / rank for rank, is_gold in enumerate(right[:RANKED], 1) if is_gold), 0.0)


def _ndcg(right: Sequence[bool], gold: int) -> float:
    gained = sum(1 / math.log2(rank + 1) for rank, is_gold in enumerate(right[:DCG_CUT], 1) if is_gold)
    return gained / sum(1 / math.log2(rank + 1) for rank in range(1, min(DCG_CUT, gold) + 1))


def mean(rows: Sequence[Measures]) -> dict[str, float]:
    """Each measure's mean over questions; every question counts the same. Empty for no rows."""
    return {name: math.fsum(row[name] for row in rows) / len(rows) for name in rows[0]} if rows else {}


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed; 0.0 of nothing.

    Args:
        share: in (0, 1].
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def rounded(values: Mapping[str, float], digits: int = 4) -> dict[str, Any]:
    return {name: round(value, digits) for name, value in values.items()}
