"""The profile: a rendering of memories, never a second truth (SPEC B7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jiyi.domain.memory import Category, Language, Memory
from jiyi.domain.scope import handle_in


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
    """One line and the memory it cites; `shared` names the shared scope that this one is of."""

    text: str
    memory: Memory
    unverified: bool
    shared: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """Lines in order; `left_out` counts those that did not fit the budget."""

    lines: tuple[ProfileLine, ...]
    left_out: int

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


UNVERIFIED = {Language.ZH: "（待验证）", Language.EN: " (unverified)"}


def render_profile(
    memories: Iterable[Memory], now: datetime, policy: ProfilePolicy, shared: str | None = None
) -> Profile:
    """Lines of the live memories that describe the user and are not over, most important first, within `max_chars`.

    Args:
        shared: the name of the shared scope that they are of; its lines say so.
    """
    chosen = [m for m in memories if m.category in policy.categories and not m.over(now)]
    chosen.sort(key=lambda m: (policy.categories.index(m.category), -m.importance, -m.affirmed_at.timestamp(), m.seq))
    lines = [_line(memory, now, policy, shared) for memory in chosen]
    kept = _within(lines, policy.max_chars)
    return Profile(tuple(kept), len(lines) - len(kept))


def _line(memory: Memory, now: datetime, policy: ProfilePolicy, shared: str | None) -> ProfileLine:
    unverified = now - memory.affirmed_at >= policy.unverified_after
    text = " ".join(memory.text.split())
    mark = UNVERIFIED[memory.language] if unverified else ""
    return ProfileLine(f"- {text}{mark} [{handle_in(memory.id, shared)}]", memory, unverified, shared)


def _within(lines: Sequence[ProfileLine], max_chars: int) -> list[ProfileLine]:
    kept: list[ProfileLine] = []
    used = 0
    for line in lines:
        cost = len(line.text) + (1 if kept else 0)
        if used + cost <= max_chars:
            kept.append(line)
            used += cost
    return kept


AHEAD = (Category.TASK, Category.EVENT)
"""What is to be done, and what is to happen."""


def lies_ahead(memory: Memory, now: datetime) -> bool:
    """Whether it is a task that is not over, or an event whose day is still to come: what happened on no day that is known
    may be past."""
    if memory.valid_to is None:
        return memory.category is Category.TASK
    return memory.category in AHEAD and memory.valid_to > now


def within_room(memories: Iterable[Memory], max_chars: int) -> list[Memory]:
    """Of what is ahead as much as `max_chars` have room for, the most important first and then the next."""
    soonest = sorted(memories, key=lambda m: (-m.importance, m.valid_to is None, m.valid_to or m.affirmed_at, -m.seq))
    kept, room = [], max_chars
    for memory in soonest:
        if len(memory.text) <= room:
            kept.append(memory)
            room -= len(memory.text)
    return kept


def joined(own: Profile, others: Iterable[Profile], max_chars: int) -> Profile:
    """The user's own profile, and as much of the shared ones as is room for behind it (SPEC S6)."""
    theirs = [profile for profile in others if profile.lines or profile.left_out]
    lines = _within([*own.lines, *(line for profile in theirs for line in profile.lines)], max_chars)
    every = sum(len(profile.lines) + profile.left_out for profile in (own, *theirs))
    return Profile(tuple(lines), every - len(lines))


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
