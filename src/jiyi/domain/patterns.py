"""What repeats over sessions (SPEC G5): whenever this comes up, the user wants that. Counting, and nothing else.

Support is the number of sessions in which both hold: what is wanted is wanted in the turn that brings the occasion up, or
in the user's next one. Everything follows from the sessions as a set, so it does not matter in which order they came.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jiyi.domain.memory import Evidence, Language
from jiyi.domain.relations import USER, fact_key

PATTERN = "PATTERN"
"""The relation of memories that tell a pattern. No vocabulary holds it, for nobody states one: it is counted."""
PATTERN_KEY = fact_key(USER, PATTERN)


@dataclass(frozen=True, slots=True)
class PatternPolicy:
    """When what repeats is a pattern (SPEC G5)."""

    # Sessions in which both hold, and their share of those in which the occasion comes up.
    min_sessions: int = 3
    min_share: float = 0.6
    # What is wanted in most sessions anyway is wanted on no occasion: the share must be so many times that among the sessions
    # without the occasion, once there are min_sessions of those.
    min_lift: float = 1.5
    # How sure a pattern is at first, and with each further case.
    start: float = 0.70
    step: float = 0.02
    surest: float = 0.85
    importance: int = 3
    # Sessions that are looked at, the latest; turns of the user in each, the first; and characters of a turn: a longer one is
    # a text that was pasted. They bound the work of a night.
    sessions: int = 500
    turns: int = 100
    chars: int = 1000
    # What was counted and then taken back (an undo) is left alone for so long.
    left_alone: timedelta = timedelta(days=180)


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """An occasion and what is wanted on it, by their names in `patterns.toml`."""

    condition: str
    consequence: str

    @property
    def value(self) -> str:
        """What stands for the pair in a memory: the same in every language."""
        return f"{self.condition} > {self.consequence}"

    @classmethod
    def of(cls, value: str) -> Pair | None:
        condition, mark, consequence = value.partition(" > ")
        return cls(condition, consequence) if mark else None


@dataclass(frozen=True, slots=True)
class Case:
    """One session in which both held: when, the words that show it, and their language."""

    session: str
    at: datetime
    evidence: tuple[Evidence, ...]
    language: Language

    @property
    def messages(self) -> frozenset[int]:
        return frozenset(e.message for e in self.evidence)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one session shows: when each occasion came up last, all that was wanted, and the earliest case of each pair."""

    session: str
    occasions: Mapping[str, datetime]
    wanted: frozenset[str]
    cases: Mapping[Pair, Case]


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """One session in which the occasion came up: when it last did, and whether the session is a case."""

    at: datetime
    session: str
    is_case: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the sessions say of one pair. `course`: those in which the occasion came up, in order of time. `others`: how many
    there are in which it did not, of which `elsewhere` show the same wish."""

    pair: Pair
    cases: tuple[Case, ...] = ()
    course: tuple[Turn, ...] = ()
    others: int = 0
    elsewhere: int = 0

    @property
    def support(self) -> int:
        return len(self.cases)

    @property
    def held(self) -> int:
        return len(self.course)

    @property
    def share(self) -> float:
        return self.support / self.held if self.held else 0.0

    @property
    def language(self) -> Language:
        """That of most cases."""
        return Language.ZH if 2 * sum(c.language is Language.ZH for c in self.cases) >= self.support else Language.EN

    def without(self, cases: Collection[Case]) -> Pattern:
        """The pattern without these sessions, as if they had not been."""
        gone = {case.session for case in cases}
        return replace(
            self,
            cases=tuple(c for c in self.cases if c.session not in gone),
            course=tuple(turn for turn in self.course if turn.session not in gone),
        )

    def fell_at(self, policy: PatternPolicy) -> datetime:
        """When it was no pattern any more: since the session that brought it below, or since the last case if that is later.
        More sessions without a case do not change that."""
        support, stood, fell = 0, False, self.course[-1].at
        for held, turn in enumerate(self.course, 1):
            support += turn.is_case
            stands = support >= policy.min_sessions and support >= policy.min_share * held
            if stood and not stands:
                fell = turn.at
            stood = stands
        return max([fell, *(case.at for case in self.cases)])

    def why_not(self, policy: PatternPolicy) -> str:
        """What keeps it from being a pattern, in words; empty when it is one."""
        if self.support < policy.min_sessions:
            return f"seen in {self.support} session(s), and {policy.min_sessions} are needed"
        if self.share < policy.min_share:
            return f"in {self.support} of {self.held} sessions, below {policy.min_share:.0%}"
        if self.others >= policy.min_sessions and self.share * self.others < policy.min_lift * self.elsewhere:
            return f"wanted in {self.elsewhere} of {self.others} other sessions as well"
        return ""

    def trust(self, policy: PatternPolicy) -> float:
        """How sure we are of it at first (SPEC B1): more cases, surer."""
        more = policy.start + policy.step * (self.support - policy.min_sessions)
        return max(0.0, min(policy.surest, more))


def counted(sessions: Iterable[Seen]) -> list[Pattern]:
    """Every pair that was seen at least once, in order of their names."""
    seen = list(sessions)
    cases: dict[Pair, list[Case]] = {}
    for session in seen:
        for pair, case in session.cases.items():
            cases.setdefault(pair, []).append(case)
    return [_pattern(pair, cases[pair], seen) for pair in sorted(cases)]


def _pattern(pair: Pair, cases: list[Case], seen: list[Seen]) -> Pattern:
    others = [s for s in seen if pair.condition not in s.occasions]
    held = [s for s in seen if pair.condition in s.occasions]
    return Pattern(
        pair,
        tuple(sorted(cases, key=lambda case: (case.at, case.session))),
        tuple(sorted(Turn(s.occasions[pair.condition], s.session, pair in s.cases) for s in held)),
        len(others),
        sum(pair.consequence in s.wanted for s in others),
    )
