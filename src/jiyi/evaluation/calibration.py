"""How well confidence tells the truth, on a simulated population whose truth is known (SPEC B1).

People have facts that change now and then. Sources speak of them, each with its own share of errors, and sometimes
again. After a while every memory is asked how sure it is, and compared with what is so then. The assumptions below are
ours and are printed with the result; the curves under test are those of the settings, and nothing is fitted to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from types import MappingProxyType
from typing import Any

from jiyi.domain.belief import Observation, weigh
from jiyi.domain.confidence import ConfidencePolicy, confidence
from jiyi.domain.memory import Category, Evidence, Memory, Source, Status, Triple
from jiyi.domain.relations import USER, Relation
from jiyi.domain.revision import revise
from jiyi.domain.settling import ArbitrationPolicy

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
BINS = 10

# Mean days until such a fact changes: home and employer in years, tools in a year and a half, plans in weeks.
LIFETIMES: Mapping[str, float] = MappingProxyType(
    {"home": 5 * 365.0, "employer": 3 * 365.0, "tool": 540.0, "budget": 180.0, "plan": 60.0}
)
# How often what a source says is so when it says it.
RIGHT: Mapping[Source, float] = MappingProxyType(
    {Source.DECLARED: 0.97, Source.INFERRED: 0.72, Source.VERIFIED: 0.99, Source.IMPORTED: 0.65, Source.TOOL: 0.55}
)
RESTATED = 0.3
"""Share of statements that are made a second time before they are asked about."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Memories whose confidence lies in `[low, low + 0.1)`."""

    low: float
    memories: int
    confidence: float
    true: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """`error` is the expected calibration error: the mean distance of confidence from the share that is true."""

    source: Source
    memories: int
    bins: tuple[Bin, ...]
    error: float


def calibrate(
    people: int,
    seed: int,
    policy: ConfidencePolicy | None = None,
    arbitration: ArbitrationPolicy | None = None,
) -> list[Calibration]:
    """Simulate and compare, one result a source. The same for the same seed.

    Args:
        people: simulated persons; each has one fact of each kind, told by each source.
    """
    policy, arbitration = policy or ConfidencePolicy(), arbitration or ArbitrationPolicy()
    random = Random(seed)
    seen: dict[Source, list[tuple[float, bool]]] = {source: [] for source in Source}
    for _ in range(people):
        for kind, lifetime in LIFETIMES.items():
            for source in Source:
                memory, right = _told(random, kind, lifetime, source, policy, arbitration)
                asked = START + random.uniform(0, 365) * DAY
                if memory is not None and asked >= memory.affirmed_at:
                    seen[source].append((confidence(memory, asked, policy), right(asked) == memory.value))
    return [_table(source, told) for source, told in seen.items()]


class _Truth:
    """What is so of one fact over time: a value that changes at random instants."""

    def __init__(self, random: Random, lifetime: float) -> None:
        self._changes = [START]
        while self._changes[-1] < START + 400 * DAY:
            self._changes.append(self._changes[-1] + random.expovariate(1 / lifetime) * DAY)

    def __call__(self, at: datetime) -> str:
        return f"value {sum(change <= at for change in self._changes)}"


def _told(
    random: Random,
    kind: str,
    lifetime: float,
    source: Source,
    policy: ConfidencePolicy,
    arbitration: ArbitrationPolicy,
) -> tuple[Memory | None, _Truth]:
    """The live memory after a source spoke once or twice, judged as talk is."""
    truth, relation = _Truth(random, lifetime), Relation(kind, Category.PROFILE, True, USER)
    beliefs: dict[int, Memory] = {}
    at = START + random.uniform(0, 180) * DAY
    for number in count(1):
        value = truth(at) if random.random() < RIGHT[source] else f"error {random.randrange(10**6)}"
        said = _said(relation, value, at, source, number, policy)
        held = [m for _, m in sorted(beliefs.items())]
        settlement = weigh(said, held, relation, policy, arbitration)
        for change in revise(said, settlement, held, count(max(beliefs, default=0) + 1), at, "", policy, arbitration):
            if change.after is not None:
                beliefs[change.seq] = change.after
        if number == 2 or random.random() >= RESTATED:
            break
        at += random.uniform(1, 60) * DAY
    live = [m for m in beliefs.values() if m.status is Status.LIVE]
    return (live[0] if live else None), truth


def _said(
    relation: Relation, value: str, at: datetime, source: Source, number: int, policy: ConfidencePolicy
) -> Observation:
    observation = Observation(
        text=value,
        category=Category.PROFILE,
        importance=3,
        source=source,
        start=policy.start(source),
        at=at,
        value=value,
        triple=Triple(USER, relation.name, value),
    )
    return replace(observation, evidence=(Evidence(number, 0, 1, at, f"s{number}"),))


def _table(source: Source, told: Sequence[tuple[float, bool]]) -> Calibration:
    bins, error = [], 0.0
    for place in range(BINS):
        here = [(sure, right) for sure, right in told if min(int(sure * BINS), BINS - 1) == place]
        if not here:
            continue
        sure, right = (sum(values) / len(here) for values in zip(*here, strict=True))
        bins.append(Bin(place / BINS, len(here), sure, right))
        error += len(here) / len(told) * abs(sure - right)
    return Calibration(source, len(told), tuple(bins), error)


def document(results: Sequence[Calibration], people: int, seed: int) -> dict[str, Any]:
    """For machines."""
    return {
        "people": people,
        "seed": seed,
        "assumed": {
            "mean_days_until_change": dict(LIFETIMES),
            "right_when_said": {source.value: share for source, share in RIGHT.items()},
            "said_twice": RESTATED,
        },
        "sources": [
            {
                "source": r.source.value,
                "memories": r.memories,
                "error": round(r.error, 4),
                "bins": [
                    {
                        "low": b.low,
                        "memories": b.memories,
                        "confidence": round(b.confidence, 4),
                        "true": round(b.true, 4),
                    }
                    for b in r.bins
                ],
            }
            for r in results
        ],
    }


def lines(results: Sequence[Calibration], people: int, seed: int) -> list[str]:
    """For people: one table a source, as Markdown."""
    kinds = ", ".join(f"{kind} {days:.0f} d" for kind, days in LIFETIMES.items())
    shares = ", ".join(f"{source.value} {share:.2f}" for source, share in RIGHT.items())
    out = [
        f"{people} people, seed {seed}. Assumed: mean time until a fact changes {kinds}; right when said {shares}; "
        f"{RESTATED:.0%} said twice."
    ]
    for r in results:
        out += ["", f"### {r.source.value}: {r.memories} memories, mean error {r.error:.3f}", ""]
        out += ["| confidence | memories | mean confidence | true |", "|---|---:|---:|---:|"]
        out += [
            f"| {b.low:.1f}–{b.low + 1 / BINS:.1f} | {b.memories} | {b.confidence:.2f} | {b.true:.2f} |" for b in r.bins
        ]
    return out
