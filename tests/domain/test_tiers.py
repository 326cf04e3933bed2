"""Tiers and expiry as pure rules (SPEC F2, F3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.domain.heat import Heat
from jiyi.domain.memory import Category, Memory, Source, Status, Tier, Triple
from jiyi.domain.tiers import (
    KINDS,
    Aging,
    Kind,
    TierPolicy,
    aging,
    first_tier,
    judged,
    moved,
    next_due,
    next_move,
    weight,
)
from jiyi.testing.strategies import heats, instants, memories

START = datetime(2026, 3, 2, tzinfo=UTC)
POLICY = TierPolicy()
BUSINESS = [c for c in Category if KINDS[c] is Kind.BUSINESS]


def known(**more: Any) -> Aging:
    fields: dict[str, Any] = {
        "seq": 1, "tier": Tier.FACT, "category": Category.GENERAL, "importance": 3, "source": Source.DECLARED,
        "start": 0.95, "kept": False, "affirmed_at": START, "learnt_at": START,
    }  # fmt: skip
    return Aging(**(fields | more))


def read(days: float) -> Heat:
    return Heat(1.0, START + timedelta(days=days))


def rule_at(memory: Aging, days: float) -> tuple[str, Tier | None] | None:
    move = next_move(memory, START + timedelta(days=days), POLICY)
    return None if move is None else (move.rule, move.to)


@pytest.mark.parametrize(
    ("memory", "days", "rule", "to"),
    [
        (known(), 90, "unread-3-months", Tier.SEMANTIC),
        (known(category=Category.PREFERENCE), 90, "unread-3-months", Tier.SEMANTIC),
        (known(heat=read(50)), 140, "unread-3-months", Tier.SEMANTIC),
        (known(tier=Tier.SEMANTIC), 180, "unread-6-months", Tier.SEMANTIC),
        (known(tier=Tier.SEMANTIC, low_activity=True), 365, "unread-12-months", Tier.ARCHIVE),
        (known(category=Category.PROJECT, heat=read(179)), 180, "business-not-updated", Tier.ARCHIVE),
        (known(relation="NOT_FOR_NOW", heat=read(179)), 180, "not-for-now", Tier.ARCHIVE),
        (known(importance=1), 90, "trifle-unread", Tier.ARCHIVE),
        (known(valid_to=START + timedelta(days=9)), 9, "over", Tier.ARCHIVE),
        (known(tier=Tier.ARCHIVE, moved_at=START), 365, "archive-term", None),
    ],
)
def test_a_rule_is_due_on_its_day_and_not_a_day_before(memory: Aging, days: int, rule: str, to: Tier | None) -> None:
    earlier = rule_at(memory, days - 1)
    assert earlier is None or earlier[0] != rule
    assert rule_at(memory, days) == (rule, to)


@pytest.mark.parametrize("category", [c for c in Category if KINDS[c] is Kind.PERSONAL])
def test_what_somebody_is_like_is_never_archived_for_silence(category: Category) -> None:
    silent = known(category=category, tier=Tier.SEMANTIC, low_activity=True)
    assert rule_at(silent, 9999) is None


def test_a_trifle_that_somebody_asked_to_keep_is_no_trifle() -> None:
    assert rule_at(known(importance=1, kept=True), 100) == ("unread-3-months", Tier.SEMANTIC)


def test_an_old_letter_read_in_today_is_news_today() -> None:
    letter = known(affirmed_at=START - timedelta(days=999), category=Category.PROJECT)
    assert rule_at(letter, 10) is None
    assert rule_at(known(valid_to=START - timedelta(days=99)), 1) == ("over", Tier.ARCHIVE)


def test_only_reading_and_confirming_bring_a_memory_back() -> None:
    sunk = known(tier=Tier.SEMANTIC, moved_at=START + timedelta(days=90))
    said = replace(sunk, affirmed_at=START + timedelta(days=95))
    assert rule_at(replace(sunk, heat=read(95)), 96) is None
    assert rule_at(said, 96) is None
    assert rule_at(replace(said, heat=read(80)), 96) is None
    assert rule_at(replace(said, heat=read(93)), 96) == ("recalled-and-confirmed", Tier.FACT)
    assert rule_at(replace(said, heat=read(93), start=0.7), 96) is None


def test_the_mark_of_low_activity_goes_when_it_is_used_again() -> None:
    marked = known(tier=Tier.SEMANTIC, low_activity=True, moved_at=START + timedelta(days=180), heat=read(200))
    move = next_move(marked, START + timedelta(days=201), POLICY)
    assert move is not None
    after = moved(marked, move, START + timedelta(days=201))
    assert (move.rule, after.low_activity, after.tier, after.moved_at) == (
        "used-again", False, Tier.SEMANTIC, marked.moved_at,
    )  # fmt: skip


def test_under_minimal_nothing_is_archived() -> None:
    move = next_move(known(importance=1), START + timedelta(days=90), POLICY, at_once=True)
    assert move is not None
    assert move.to is None


# ------------------------------------------------------------------ what always holds


LIVE = memories().map(lambda m: replace(m, status=Status.LIVE))
LATER = instants(datetime(2000, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC))


@given(memory=LIVE, heat=st.one_of(st.none(), heats()), now=LATER, at_once=st.booleans())
def test_a_standing_rule_never_moves(memory: Memory, heat: Heat | None, now: datetime, at_once: bool) -> None:
    rule = aging(replace(memory, category=Category.RULE), heat)
    assert next_move(rule, now, POLICY, at_once=at_once) is None
    assert next_due(rule, now, POLICY) is None


# An import may bring the mark of the long tail with a fact.
MARKED = Memory(
    1, "The user likes quiet rooms", Category.PROFILE, 1, Source.DECLARED, 0.0, START, START, START,
    "quiet rooms", kept=True, tier=Tier.FACT, low_activity=True,
)  # fmt: skip


@example(memory=MARKED, heat=None, now=START + timedelta(days=3650))
@given(memory=LIVE, heat=st.one_of(st.none(), heats()), now=LATER)
def test_a_second_look_changes_nothing(memory: Memory, heat: Heat | None, now: datetime) -> None:
    current = aging(memory, heat)
    move = next_move(current, now, POLICY)
    if move is not None and move.to is not None:
        assert next_move(moved(current, move, now), now, POLICY) is None


@example(memory=MARKED, heat=None, now=START + timedelta(days=3650))
@given(memory=LIVE, heat=st.one_of(st.none(), heats()), now=LATER)
def test_nothing_is_due_between_now_and_when_it_is_next_due(memory: Memory, heat: Heat | None, now: datetime) -> None:
    current = aging(memory, heat)
    if (move := next_move(current, now, POLICY)) is not None:
        if move.to is None:
            return
        current = moved(current, move, now)
    due = next_due(current, now, POLICY)
    assert next_move(current, (due or now + timedelta(days=3650)) - timedelta(microseconds=1), POLICY) is None
    assert due is None or next_move(current, due, POLICY) is not None


@given(memory=LIVE, heat=st.one_of(st.none(), heats()), now=LATER)
def test_silence_never_brings_a_memory_nearer(memory: Memory, heat: Heat | None, now: datetime) -> None:
    current = aging(replace(memory, affirmed_at=memory.learnt_at, moved_at=memory.learnt_at), heat)
    move = next_move(current, now, POLICY)
    order = [Tier.WORKING, Tier.FACT, Tier.SEMANTIC, Tier.ARCHIVE, None]
    assert move is None or order.index(move.to) >= order.index(move.before)


@given(memory=LIVE, now=LATER)
def test_a_memory_asked_to_be_kept_never_goes_as_a_trifle(memory: Memory, now: datetime) -> None:
    move = next_move(aging(replace(memory, kept=True), None), now, POLICY)
    assert move is None or move.rule != "trifle-unread"


# ------------------------------------------------------------------ where a memory starts, and what it weighs


@pytest.mark.parametrize(
    ("source", "start", "tier"),
    [
        (Source.DECLARED, 0.95, Tier.FACT),
        (Source.DECLARED, 0.90, Tier.FACT),
        (Source.VERIFIED, 0.85, Tier.FACT),
        (Source.INFERRED, 0.70, Tier.SEMANTIC),
        (Source.IMPORTED, 0.60, Tier.SEMANTIC),
        (Source.TOOL, 0.50, Tier.SEMANTIC),
    ],
)
def test_sure_or_confirmed_memories_start_as_facts(source: Source, start: float, tier: Tier) -> None:
    assert first_tier(source, start, POLICY) is tier


def plain(**more: Any) -> Memory:
    fields: dict[str, Any] = {
        "seq": 1, "text": "用户喜欢绿茶", "category": Category.PREFERENCE, "importance": 3, "source": Source.DECLARED,
        "start": 0.95, "affirmed_at": START, "valid_from": START, "learnt_at": START, "value": "绿茶",
        "triple": Triple("@user", "LIKES", "绿茶"), "key": "@user|LIKES",
    }  # fmt: skip
    return Memory(**(fields | more))


def test_judgement_puts_a_memory_where_it_starts_and_leaves_others() -> None:
    hearsay = plain(source=Source.INFERRED, start=0.7)
    doubted = judged(None, hearsay, POLICY)
    assert doubted is not None
    assert doubted.tier is Tier.SEMANTIC
    sure = judged(doubted, replace(doubted, source=Source.DECLARED, start=0.95), POLICY)
    assert sure is not None
    assert sure.tier is Tier.FACT
    sunk = plain(tier=Tier.SEMANTIC, moved_at=START)
    again = replace(sunk, affirmed_at=START + timedelta(days=99))
    assert judged(sunk, again, POLICY) == again
    archived = replace(sunk, tier=Tier.ARCHIVE)
    back = judged(archived, replace(archived, affirmed_at=START + timedelta(days=99)), POLICY)
    assert back is not None
    assert (back.tier, back.moved_at) == (Tier.FACT, None)
    assert judged(sunk, None, POLICY) is None


def test_what_somebody_is_like_weighs_half_after_a_year_unmentioned() -> None:
    day = [START + timedelta(days=n) for n in (364, 365)]
    assert [weight(plain(), at, POLICY) for at in day] == [1.0, 0.5]
    assert [weight(plain(category=c), day[1], POLICY) for c in (*BUSINESS, Category.RULE)] == [1.0] * (
        len(BUSINESS) + 1
    )
