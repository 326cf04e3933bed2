"""Is there anything relevant at all? Decided from several signals, since none of them tells it alone (SPEC R4).

    a name that was never mentioned ─▶ silent
    what is asked for by its name, or was said in the time asked about ─▶ relevant
    words covered + nearness in meaning, against what this sort of question needs ─▶ relevant or silent

A cosine orders, but no cut-off of it tells whether anything fits; one word in common is chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelevancePolicy:
    """Tuned on the developer half of `jiyi eval silence` (decision 0025)."""

    # The share of what a question tells that one memory or turn must cover: of a question about the user and what is
    # theirs, and of one that could be asked of anybody.
    own: float = 0.08
    general: float = 0.12
    # How much nearer than all else a text must be in meaning, as a share of what is left to 1, to make up for words. Tuned with
    # other words and kinds taken away as well, since these fit the talks beside which they were written.
    near_from: float = 0.24
    near_enough: float = 0.30
    # What a word counts for that is in every kind of talk (new, work, 今天).
    common: float = 0.15
    # A name never mentioned speaks against what is covered, unless a text is as near in meaning as this.
    veto: bool = True


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for and against a question being about anything that is remembered.

    `coverage`: the largest share of the question's information that one text covers, in [0, 1]. `nearness`: how much nearer the nearest
    text is than the others, None without vectors. `unknown`: names in the question that were never mentioned. `own`: it
    speaks of the user, or names somebody or something known. `keyed`: a fact is asked for by its name. `timely`: it asks
    for a time, and something was said in it.
    """

    coverage: float
    nearness: float | None = None
    unknown: tuple[str, ...] = ()
    own: bool = False
    keyed: bool = False
    timely: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether anything is relevant, and why in words (SPEC R10)."""

    relevant: bool
    reason: str


def judge(signals: Signals, policy: RelevancePolicy) -> Verdict:
    if policy.veto and signals.unknown:
        return Verdict(False, f"{', '.join(signals.unknown)} was never mentioned")
    if signals.keyed:
        return Verdict(True, "a fact was asked for by its name")
    if signals.timely:
        return Verdict(True, "something was said in the time that is asked about")
    needed = policy.own if signals.own else policy.general
    words = signals.coverage / needed if needed > 0 else 1.0
    meaning = _meaning(signals.nearness, policy)
    told = f"its words are covered to {signals.coverage:.2f}, where {needed:.2f} is wanted"
    if signals.nearness is not None:
        told += f", and the nearest in meaning stands out by {signals.nearness:.2f}, where {policy.near_enough:.2f} is wanted"
    return Verdict(words + meaning >= 1, told)


def _meaning(nearness: float | None, policy: RelevancePolicy) -> float:
    """What nearness counts for, 1 where it is enough alone."""
    if nearness is None or nearness <= policy.near_from:
        return 0.0
    return (nearness - policy.near_from) / (policy.near_enough - policy.near_from)


def standing_out(cosines: Sequence[float]) -> float | None:
    """How far the nearest is above the middle of what was looked up, as a share of what is left to 1. Some models put
    everything near everything, so a cosine by itself says little.

    Args:
        cosines: best first.
    """
    if not cosines:
        return None
    middle = cosines[len(cosines) // 2]
    return (cosines[0] - middle) / (1 - middle) if middle < 1 else 0.0
