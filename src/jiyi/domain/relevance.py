"""Is there anything relevant at all? Decided from several signals, since none of them tells it alone (SPEC R4).

    a name that was never mentioned ─▶ silent
    what is asked for by its name, or was said in the time asked about ─▶ relevant
    words covered; with vectors nearness in meaning, how much is asked and how, weighed together ─▶ relevant or silent

A cosine orders, but no cut-off of it tells whether anything fits; one word in common is chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelevancePolicy:
    """By words alone two shares, and with vectors the weights of a logistic regression over the signals: from 0 on something is
    relevant. Fitted on the developer talks of `jiyi eval silence`, each person's left out in turn (decision 0054)."""

    # By words alone: the share of what a question tells that one memory or turn must cover, of a question about the user and
    # what is theirs, and of one that could be asked of anybody.
    own: float = 0.08
    general: float = 0.12
    # With vectors: against everything, so that chance is silent.
    chance: float = 0.54
    # For the root of the share of the question that one text covers.
    coverage: float = 3.6
    # For how far the nearest text stands out in meaning.
    nearness: float = 26.3
    # Against, where it asks as anybody might.
    worldly: float = 3.7
    # Against, for how much nearer it is to what anybody asks of the world than to what is asked of one's own.
    leaning: float = 11.6
    # Against, for the logarithm of one more than the content words: the more is asked, the less one word in common tells.
    length: float = 4.2
    # Words that are counted for that at the most.
    counted: int = 5
    # What a word counts for that is in every kind of talk (new, work, 今天).
    common: float = 0.15
    # A name never mentioned speaks against what is covered, whatever that is.
    veto: bool = True


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for and against a question being about anything that is remembered.

    `coverage`: the largest share of the question's information that one text covers, in [0, 1]. `nearness`: how much nearer the nearest
    text is than the others, None without vectors. `leaning`: how much nearer the question is to questions of the world than to
    those of one's own, 0 where that is not known. `unknown`: names in the question that were never mentioned. `own`: it
    speaks of the user, or names somebody or something known. `keyed`: a fact is asked for by its name. `timely`: it asks
    for a time, and something was said in it. `worldly`: it is put as one asks of the world or wants something done (如何, write
    me), and is not `own`. `words`: content words of the question.
    """

    coverage: float
    nearness: float | None = None
    unknown: tuple[str, ...] = ()
    own: bool = False
    keyed: bool = False
    timely: bool = False
    worldly: bool = False
    words: int = 1
    leaning: float = 0.0


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
    if signals.nearness is None:
        needed = policy.own if signals.own else policy.general
        told = f"its words are covered to {signals.coverage:.2f}, where {needed:.2f} is wanted"
        return Verdict(signals.coverage >= needed, told)
    odds = _odds(signals, signals.nearness, policy)
    told = f"its words are covered to {signals.coverage:.2f} and the nearest in meaning stands out by {signals.nearness:.2f}"
    return Verdict(odds >= 0, f"{told}, which makes {odds:.2f} where 0 is wanted")


def _odds(signals: Signals, nearness: float, policy: RelevancePolicy) -> float:
    """The logarithm of the odds that something is relevant."""
    told = policy.coverage * math.sqrt(signals.coverage) + policy.nearness * nearness - policy.chance
    length = math.log1p(min(signals.words, policy.counted))
    return told - policy.length * length - policy.worldly * signals.worldly - policy.leaning * signals.leaning


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
