"""The profile: a rendering of memories, never a second truth (SPEC B7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jiyi.domain.memory import Category, Language, Memory


@dataclass(frozen=True, slots=True)
class ProfilePolicy:
    max_chars: int = 400
    candidates: int = 200  # of the most important memories the profile is rendered from
    unverified_after: timedelta = timedelta(days=180)  # article A1: six months untouched
    categories: tuple[Category, ...] = (
        Category.PROFILE, Category.PREFERENCE, Category.RELATIONSHIP, Category.GOAL, Category.PROJECT,
    )  # fmt: skip
    # What USER.md holds besides: the user goes over everything lasting there, under no budget.
    file_categories: tuple[Category, ...] = (Category.RULE, Category.GENERAL)


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One line and the memory it cites."""

    text: str
    memory: Memory
    unverified: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """Lines in order; `left_out` counts those that did not fit the budget."""

    lines: tuple[ProfileLine, ...]
    left_out: int

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


UNVERIFIED = {Language.ZH: "（待验证）", Language.EN: " (unverified)"}


def render_profile(memories: Iterable[Memory], now: datetime, policy: ProfilePolicy) -> Profile:
    """Lines of the live memories that describe the user and are not over, most important first, within `max_chars`."""
    chosen = [m for m in memories if m.category in policy.categories and not m.over(now)]
    chosen.sort(key=lambda m: (policy.categories.index(m.category), -m.importance, -m.affirmed_at.timestamp(), m.seq))
    lines = [_line(memory, now, policy) for memory in chosen]
    kept = _within(lines, policy.max_chars)
    return Profile(tuple(kept), len(lines) - len(kept))


def _line(memory: Memory, now: datetime, policy: ProfilePolicy) -> ProfileLine:
    unverified = now - memory.affirmed_at >= policy.unverified_after
    text = " ".join(memory.text.split())
    mark = UNVERIFIED[memory.language] if unverified else ""
    return ProfileLine(f"- {text}{mark} [{memory.id}]", memory, unverified)


def _within(lines: Sequence[ProfileLine], max_chars: int) -> list[ProfileLine]:
    kept: list[ProfileLine] = []
    used = 0
    for line in lines:
        cost = len(line.text) + (1 if kept else 0)
        if used + cost <= max_chars:
            kept.append(line)
            used += cost
    return kept


@dataclass(frozen=True, slots=True)
class ProfileDifference:
    """Lines that came and lines that went from one profile to another, each in the order it is shown."""

    added: tuple[ProfileLine, ...]
    removed: tuple[ProfileLine, ...]


def diff_profiles(before: Profile, after: Profile) -> ProfileDifference:
    """What the user sees change between two profiles (SPEC B7); a line is the same when it reads the same."""
    old, new = ({line.text for line in profile.lines} for profile in (before, after))
    return ProfileDifference(
        tuple(line for line in after.lines if line.text not in old),
        tuple(line for line in before.lines if line.text not in new),
    )
