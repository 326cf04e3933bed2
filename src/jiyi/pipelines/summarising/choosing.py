"""Which units make the summary: what the talk holds of each kind, and every detail there is room for (SPEC R6)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from jiyi.domain.memory import Language
from jiyi.domain.summary import Point, PointKind, SummaryPolicy, limit, render_points, size
from jiyi.pipelines.summarising.units import Unit
from jiyi.text.details import Detail
from jiyi.text.segmentation import Segmenter

MAX_CHARACTERS = 1400
"""Of an English summary: 200 words of prose have no more, 200 hashes would."""


@dataclass(frozen=True, slots=True)
class ChoicePolicy:
    """What a unit is worth."""

    cue: float = 1.0
    statement: float = 0.6
    central: float = 0.5  # of the unit with the most frequent words of the talk
    detail: float = 0.4  # for each unit of a detail's weight that nothing chosen shows yet
    most_detail: float = 3.0
    new_kind: float = 1.5  # the first of its kind
    late_conclusion: float = 0.4  # how it came out is said last
    alike: float = 0.8  # share of words above which two units say the same


@dataclass(slots=True)
class _Choice:
    language: Language
    policy: SummaryPolicy
    points: list[Point] = field(default_factory=list)
    words: list[frozenset[str]] = field(default_factory=list)
    details: set[str] = field(default_factory=set)

    def fits(self, point: Point) -> bool:
        text = render_points(_ordered([*self.points, point]), self.language)
        return size(text, self.language) <= limit(self.policy, self.language) and len(text) <= MAX_CHARACTERS


def choose(
    found: Sequence[Unit], language: Language, segmenter: Segmenter, policy: SummaryPolicy, weights: ChoicePolicy
) -> tuple[Point, ...]:
    """The points of a summary, by kind and then in the order of the talk; none when nothing is worth telling."""
    words = [
        frozenset(t.text for t in segmenter.query_terms(u.text) if not t.stop and t.kind != "bigram") for u in found
    ]
    counts = Counter(word for unit_words in words for word in unit_words)
    central = [sum(math.log(counts[w]) for w in ws) / math.sqrt(len(ws)) if ws else 0.0 for ws in words]
    most = max(central, default=0.0) or 1.0
    base = [_worth(u, i / max(1, len(found)), central[i] / most, weights) for i, u in enumerate(found)]
    choice = _Choice(language, policy)
    left = [i for i in range(len(found)) if words[i] or found[i].details]
    while left and len(choice.points) < policy.points:
        left.sort(key=lambda i: (-base[i] - _gain(found[i], choice, weights), i))
        taken = next((i for i in left if choice.fits(_point(found[i]))), None)
        if taken is None:
            break
        left.remove(taken)
        _take(choice, found[taken], words[taken])
        left = [i for i in left if not _repeats(found[i], words[i], choice, weights)]
    _add_bare_details(found, choice)
    return tuple(_ordered(choice.points))


def _worth(unit: Unit, place: float, central: float, weights: ChoicePolicy) -> float:
    worth = weights.cue * unit.cued + weights.statement * unit.stated + weights.central * central
    if unit.kind is PointKind.CONCLUSION:
        worth += weights.late_conclusion * place
    return worth


def _gain(unit: Unit, choice: _Choice, weights: ChoicePolicy) -> float:
    """What it adds to those chosen already."""
    new = sum(d.weight for d in unit.details if _shown(unit, d) not in choice.details)
    gain = min(weights.detail * new, weights.most_detail)
    if unit.kind is not PointKind.NOTE and all(p.kind is not unit.kind for p in choice.points):
        gain += weights.new_kind
    return gain


def _take(choice: _Choice, unit: Unit, words: frozenset[str]) -> None:
    choice.points.append(_point(unit))
    choice.words.append(words)
    choice.details |= {_shown(unit, d) for d in unit.details}


def _repeats(unit: Unit, words: frozenset[str], choice: _Choice, weights: ChoicePolicy) -> bool:
    """Whether a chosen unit says the same. What brings a detail of its own does not repeat."""
    if any(_shown(unit, d) not in choice.details for d in unit.details):
        return False
    return any(len(words & other) >= weights.alike * len(words) for other in choice.words)


def _add_bare_details(found: Sequence[Unit], choice: _Choice) -> None:
    """Details whose sentence had no room stand by themselves, the weightiest first, while there is room."""
    missing = [(d, u) for u in found for d in u.details if d.weight > 1 and _shown(u, d) not in choice.details]
    for detail, unit in sorted(missing, key=lambda m: -m[0].weight):
        if (shown := _shown(unit, detail)) in choice.details:
            continue
        kind = PointKind.PROBLEM if detail.kind == "error" else PointKind.NOTE
        point = Point(kind, unit.message.text[detail.start : detail.end], unit.message.seq, detail.start, detail.end)
        if choice.fits(point):
            choice.points.append(point)
            choice.details.add(shown)


def _shown(unit: Unit, detail: Detail) -> str:
    return unit.message.text[detail.start : detail.end].strip("`").lower()


def _point(unit: Unit) -> Point:
    return Point(unit.kind, unit.text, unit.message.seq, unit.start, unit.end)


def _ordered(points: Sequence[Point]) -> list[Point]:
    kinds = list(PointKind)
    return sorted(points, key=lambda p: (kinds.index(p.kind), p.message, p.start))
