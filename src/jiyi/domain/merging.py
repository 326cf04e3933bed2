"""Two memories that say the same become one that keeps all evidence (SPEC F4).

What counts as the same is strict, since a wrong merge is worse than two lines: every word that is not idle must be the
same and in the same place, so nothing is ever merged across a negation, a number, a date or a name that differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jiyi.domain.heat import Heat, HeatPolicy
from jiyi.domain.memory import Memory, Source, Status, Tier
from jiyi.domain.tiers import Aging

CLAUSE = "¶"
"""Among the words of a text: where a clause ends."""

NUMERALS = frozenset("零〇一二两三四五六七八九十百千万亿半")
STRENGTH = {Source.TOOL: 0, Source.INFERRED: 1, Source.IMPORTED: 1, Source.DECLARED: 2, Source.VERIFIED: 3}
NEARNESS = {Tier.WORKING: 0, Tier.FACT: 1, Tier.SEMANTIC: 2, Tier.ARCHIVE: 3}


@dataclass(frozen=True, slots=True)
class Merge:
    """One memory that stays, and those that went into it."""

    into: int
    gone: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergingPolicy:
    """Which memories are looked at, and how much of a longer text its beginning must be to be merged into it."""

    nominees: int = 8  # of a batch of upkeep, the hottest first
    recent: timedelta = timedelta(days=30)  # learnt so lately, or read so that this much heat is left
    least_heat: float = 0.5
    search_terms: int = 4  # words of a nominee, the longest ones, by which others that hold them are looked for
    candidates: int = 8  # that share words with a nominee
    fragment_share: float = 0.5


def nominees(known: Iterable[Aging], now: datetime, policy: MergingPolicy, heat: HeatPolicy) -> list[int]:
    """Access statistics nominate: what is read, or was learnt lately, the hottest first."""
    chosen = []
    for memory in known:
        warmth = memory.heat.value(now, heat) if memory.heat else 0.0
        lately = now - memory.learnt_at <= policy.recent
        if memory.tier is not Tier.ARCHIVE and (lately or warmth >= policy.least_heat):
            chosen.append((-warmth, memory.seq))
    return [seq for _, seq in sorted(chosen)[: policy.nominees]]


def may_merge(one: Memory, other: Memory) -> bool:
    """Whether the two are of one kind at all, whatever their words: both believed, about one fact or about none, and
    equally long (one with an end, and one without, say different things)."""
    return (
        one.seq != other.seq
        and one.status is other.status is Status.LIVE
        and Tier.ARCHIVE not in (one.tier, other.tier)
        and (one.category, one.language, one.key, one.valid_to) == (other.category, other.language, other.key, other.valid_to)
        and _negated(one) == _negated(other)
    )  # fmt: skip


def same_words(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two texts read the same, their clauses aside."""
    return _plain(one) == _plain(other) != []


def same_value(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two values read the same, wherever the gaps between their words are (VS Code, VSCode); not those of numbers."""
    numbers = [[w for w in words if any(c.isdigit() for c in w)] for words in (one, other)]
    return "".join(_plain(one)) == "".join(_plain(other)) != "" and numbers[0] == numbers[1]


def is_fragment(short: Sequence[str], long: Sequence[str], turns: Collection[str], share: float) -> bool:
    """Whether the longer text says what the shorter says and goes on behind it, without taking any of it back."""
    begun = len(short)
    if not short or long[:begun] != short or long[begun : begun + 1] != [CLAUSE]:
        return False
    more = [word for word in long[begun:] if word != CLAUSE]
    return bool(more) and begun >= share * len(long) and not any(_turns(word, turns) for word in more)


def merged(winner: Memory, others: Sequence[Memory]) -> Memory:
    """One memory on the evidence of all: the strongest word counts, the earliest beginning, the highest importance."""
    all_ = [winner, *others]
    strongest = max(all_, key=lambda m: (STRENGTH[m.source], m.start))
    equally = [m for m in all_ if m.source is strongest.source]
    changed = [m.changed_at for m in all_ if m.changed_at is not None]
    return replace(
        winner,
        importance=max(m.importance for m in all_),
        source=strongest.source,
        start=strongest.start,
        affirmed_at=max(m.affirmed_at for m in equally),
        valid_from=min(m.valid_from for m in all_),
        learnt_at=min(m.learnt_at for m in all_),
        changed_at=max(changed, default=None),
        evidence=tuple(dict.fromkeys(e for m in all_ for e in m.evidence)),
        keywords=tuple(dict.fromkeys(word for m in all_ for word in m.keywords)),
        kept=any(m.kept for m in all_),
        doubted=any(m.doubted for m in all_),
        tier=min((m.tier for m in all_), key=NEARNESS.__getitem__),
        low_activity=all(m.low_activity for m in all_),
    )


def merged_heat(heats: Mapping[int, Heat], winner: int, now: datetime, policy: HeatPolicy) -> Heat | None:
    """The visits of all, as of now or of the last of them."""
    if not heats:
        return heats.get(winner)
    at = max(heat.at for heat in heats.values())
    return Heat(sum(heat.value(at, policy) for heat in heats.values()), at)


def _negated(memory: Memory) -> bool:
    return memory.triple is not None and memory.triple.negated


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if word != CLAUSE]


def _turns(word: str, turns: Collection[str]) -> bool:
    counts = any(c.isdigit() for c in word) or NUMERALS.issuperset(word)
    return counts or word in turns or word.endswith(("n't", "n’t"))
