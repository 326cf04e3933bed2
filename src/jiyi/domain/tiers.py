"""Which tier a memory belongs in, and when it goes (SPEC F2, F3): pure rules with `now` as an argument.

Silence alone moves a memory down; only being read *and* confirmed brings it up again. There is no way from a standing
rule to the archive. What a user took back (`undone_at`) is left alone for a good while.

    fact ──3 months unread──▶ semantic ──12 months unread──▶ archive ──12 months──▶ erased
     ▲                            │  personal: stays, and weighs half after 12 months unmentioned
     └── recalled and confirmed ──┘
    business, 6 months without update · not for now, 6 months · over by itself · a trifle, 90 days unread ──▶ archive
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, TypeVar

from jiyi.domain.heat import Heat
from jiyi.domain.memory import Category, Memory, Source, Tier, memory_id

MONTH = timedelta(days=30)
YEAR = timedelta(days=365)


class Kind(StrEnum):
    """What a memory is to forgetting (SPEC §1)."""

    BUSINESS = "business"
    PERSONAL = "personal"
    STANDING = "standing"
    OTHER = "other"


KINDS = {
    Category.PROJECT: Kind.BUSINESS,
    Category.TASK: Kind.BUSINESS,
    Category.GOAL: Kind.BUSINESS,
    Category.EVENT: Kind.BUSINESS,
    Category.PROFILE: Kind.PERSONAL,
    Category.PREFERENCE: Kind.PERSONAL,
    Category.RELATIONSHIP: Kind.PERSONAL,
    Category.RULE: Kind.STANDING,
    Category.GENERAL: Kind.OTHER,
}


@dataclass(frozen=True, slots=True)
class TierPolicy:
    """The numbers of F2 and F3. Times count from when a memory was last read, said, or learnt."""

    # At this confidence, or confirmed, a memory starts as a fact (article A4: > 0.9).
    sure: float = 0.9
    demoted_after: timedelta = 3 * MONTH  # fact → semantic, unread
    low_activity_after: timedelta = 6 * MONTH  # semantic, unread
    archived_after: timedelta = YEAR  # semantic → archive, unread
    business_after: timedelta = 6 * MONTH  # without update
    not_for_now_after: timedelta = 6 * MONTH
    not_for_now: tuple[str, ...] = ("NOT_FOR_NOW",)  # relations that put something off (暂不考虑…)
    trifle_after: timedelta = timedelta(days=90)  # unread, importance 1, and nobody asked to keep it
    faint_after: timedelta = YEAR  # personal, unmentioned
    faint_weight: float = 0.5  # in ranking
    archive_term: timedelta = YEAR  # from the archive to nowhere
    # What a user took back from upkeep is left as it is for this long.
    left_alone: timedelta = 6 * MONTH


@dataclass(frozen=True, slots=True)
class Aging:
    """What upkeep must know of a live memory, without its words: one narrow row (SPEC F2)."""

    seq: int
    tier: Tier
    category: Category
    importance: int
    source: Source
    start: float
    kept: bool
    affirmed_at: datetime
    learnt_at: datetime
    valid_to: datetime | None = None
    moved_at: datetime | None = None
    low_activity: bool = False
    relation: str | None = None
    heat: Heat | None = None

    @property
    def kind(self) -> Kind:
        return KINDS[self.category]

    @property
    def mentioned_at(self) -> datetime:
        """When it was last said, or came to us: an old letter that was read in today is news today."""
        return max(self.affirmed_at, self.learnt_at)

    @property
    def used_at(self) -> datetime:
        """When it was last said or read."""
        return self.mentioned_at if self.heat is None else max(self.mentioned_at, self.heat.at)


def aging(memory: Memory, heat: Heat | None) -> Aging:
    return Aging(
        memory.seq, memory.tier, memory.category, memory.importance, memory.source, memory.start, memory.kept,
        memory.affirmed_at, memory.learnt_at, memory.valid_to, memory.moved_at, memory.low_activity,
        memory.triple.relation if memory.triple else None, heat,
    )  # fmt: skip


M = TypeVar("M", Memory, Aging)


@dataclass(frozen=True, slots=True)
class Move:
    """What a rule does to one memory. `to` is None when it is erased for good; `at` is when it became due."""

    seq: int
    before: Tier
    to: Tier | None
    rule: str
    reason: str
    at: datetime
    low_activity: bool = False

    @property
    def words(self) -> str:
        """For the ledger: `m4: fact → semantic, last used on 2026-03-02`."""
        to = "erased for good" if self.to is None else self.to.value
        return f"{memory_id(self.seq)}: {self.before.value} → {to}, {self.reason}"


# ------------------------------------------------------------------ where a memory starts


def first_tier(source: Source, start: float, policy: TierPolicy) -> Tier:
    """Confirmed or sure memories are facts, others wait in the long tail until they are confirmed (SPEC F2)."""
    return Tier.FACT if source is Source.VERIFIED or start >= policy.sure else Tier.SEMANTIC


def judged(before: Memory | None, after: Memory | None, policy: TierPolicy) -> Memory | None:
    """`after`, as a judgement leaves it, in its tier: a new one where it starts; one that became sure, or was said again
    while it lay in the archive, likewise. Any other keeps its place: saying alone is not being recalled."""
    if after is None:
        return None
    said_again = before is not None and after.affirmed_at > before.affirmed_at
    if before is None:
        return replace(after, tier=first_tier(after.source, after.start, policy))
    confirmed = after.start >= policy.sure > before.start and after.tier is Tier.SEMANTIC
    if confirmed or (said_again and after.tier is Tier.ARCHIVE):
        return replace(after, tier=first_tier(after.source, after.start, policy), moved_at=None, low_activity=False)
    return after


# ------------------------------------------------------------------ where it goes


def next_move(memory: Aging, now: datetime, policy: TierPolicy, *, at_once: bool = False) -> Move | None:
    """The move that is due for a memory at `now`; None when it stays.

    Args:
        at_once: what would be archived is erased instead (SPEC C5: `minimal`).
    """
    return outlook(memory, now, policy, at_once=at_once)[0]


def next_due(memory: Aging, now: datetime, policy: TierPolicy) -> datetime | None:
    """When the memory has to be looked at again if nobody touches it; None when silence never moves it."""
    return outlook(memory, now, policy)[1]


def outlook(
    memory: Aging, now: datetime, policy: TierPolicy, *, at_once: bool = False
) -> tuple[Move | None, datetime | None]:
    """`next_move` and `next_due` in one look: of a million memories most stay where they are."""
    first: _Coming | None = None
    due: datetime | None = None
    for coming in _coming(memory, now, policy):
        at = coming[0]
        if at > now:
            due = at if due is None or at < due else due
        elif first is None:
            first = coming
    if first is None:
        return None, due
    at, to, rule, since, low_activity = first
    reason = WHY[rule].format(day=since.date())
    if at_once and to is Tier.ARCHIVE:
        to, reason = None, f"{reason}; nothing is archived here"
    return Move(memory.seq, memory.tier, to, rule, reason, at, low_activity), due


_Coming: TypeAlias = tuple[datetime, Tier | None, str, datetime, bool]
"""When a move is due, where to, by which rule, since when that runs, and whether it marks low activity."""

WHY = {
    "archive-term": "in the archive since {day}",
    "over": "its day was {day}",
    "not-for-now": "put off on {day}, not for good",
    "trifle-unread": "a trifle, last used on {day}",
    "business-not-updated": "last said on {day}",
    "unread-12-months": "last used on {day}",
    "recalled-and-confirmed": "said again on {day}",
    "unread-6-months": "last used on {day}",
    "used-again": "last used on {day}",
    "unread-3-months": "last used on {day}",
}
"""The rules, and the reason that each gives in the ledger."""


def _coming(memory: Aging, now: datetime, policy: TierPolicy) -> Iterator[_Coming]:
    """Every move that silence, or a confirmation, will come to; the farthest first, so that the first due one counts."""
    kind, tier = KINDS[memory.category], memory.tier
    if kind is Kind.STANDING:
        return  # SPEC F3: standing rules never.
    if tier is Tier.ARCHIVE:
        since = memory.moved_at or memory.used_at
        yield since + policy.archive_term, None, "archive-term", since, False
    elif tier is not Tier.WORKING:
        used = memory.used_at
        yield from _to_archive(memory, kind, used, policy)
        yield from _within(memory, used, now, policy)


def _to_archive(memory: Aging, kind: Kind, used: datetime, policy: TierPolicy) -> Iterator[_Coming]:
    said, archive = memory.mentioned_at, Tier.ARCHIVE
    if memory.valid_to is not None:
        yield max(memory.valid_to, memory.learnt_at), archive, "over", memory.valid_to, False
    if memory.relation in policy.not_for_now:
        yield said + policy.not_for_now_after, archive, "not-for-now", said, False
    if memory.importance <= 1 and not memory.kept:
        yield used + policy.trifle_after, archive, "trifle-unread", used, False
    if kind is Kind.BUSINESS:
        yield said + policy.business_after, archive, "business-not-updated", said, False
    # SPEC §11: each by its own kind. What somebody is like stays, and only weighs less (`weight`).
    if kind is not Kind.PERSONAL:
        yield used + policy.archived_after, archive, "unread-12-months", used, False


def _within(memory: Aging, used: datetime, now: datetime, policy: TierPolicy) -> Iterator[_Coming]:
    semantic, low = Tier.SEMANTIC, used + policy.low_activity_after
    if memory.tier is semantic and (confirmed := _confirmed_at(memory, policy)) is not None:
        yield confirmed, Tier.FACT, "recalled-and-confirmed", memory.affirmed_at, False
    # The mark belongs to the long tail: on a memory that an import brought with it elsewhere it says nothing.
    if not (memory.low_activity and memory.tier is semantic):
        yield low, semantic, "unread-6-months", used, True
    elif memory.moved_at is not None and used > memory.moved_at and now < low:
        yield used, semantic, "used-again", used, False
    if memory.tier is Tier.FACT:
        yield used + policy.demoted_after, semantic, "unread-3-months", used, False


def _confirmed_at(memory: Aging, policy: TierPolicy) -> datetime | None:
    """When a memory of the long tail had been both read and said again since it came there (SPEC F2)."""
    if first_tier(memory.source, memory.start, policy) is not Tier.FACT:
        return None
    moved, read = memory.moved_at, memory.heat.at if memory.heat else None
    if moved is None or read is None or read <= moved or memory.affirmed_at <= moved:
        return None
    return max(read, memory.affirmed_at)


def moved(memory: M, move: Move, now: datetime) -> M:
    """The memory, or what is known of it, where a move puts it."""
    assert move.to is not None
    # The archive's term, and what counts as read since, run from here; that it is used again starts nothing anew.
    since = now if move.to is not memory.tier or move.low_activity else memory.moved_at
    return replace(memory, tier=move.to, moved_at=since, low_activity=move.low_activity)


def weight(memory: Memory, now: datetime, policy: TierPolicy) -> float:
    """What a memory counts for in ranking: a personal one half after 12 months unmentioned (SPEC F3)."""
    faint = now - max(memory.affirmed_at, memory.learnt_at) >= policy.faint_after
    return policy.faint_weight if faint and KINDS[memory.category] is Kind.PERSONAL else 1.0
