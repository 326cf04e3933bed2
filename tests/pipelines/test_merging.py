"""What counts as the same, and what never does (SPEC F4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.assembly import assemble
from jiyi.domain.heat import Heat, HeatPolicy
from jiyi.domain.memory import Memory, Source, Status, Tier, Triple
from jiyi.domain.merging import MergingPolicy, may_merge, merged, merged_heat, nominees
from jiyi.domain.tiers import aging
from jiyi.settings import Settings
from jiyi.testing.contract_base import NOW, evidence, later, memory
from jiyi.testing.strategies import memories

MERGING = assemble(Settings()).upkeep.merging
WORDS = [
    "备份",
    "脚本",
    "放在",
    "仓库",
    "客户",
    "安静",
    "报告",
    "backup",
    "script",
    "office",
    "quiet",
    "report",
    "blue",
]
NAMES = ["李四", "Ada"]
APART = [
    "不",
    "没有",
    "别",
    "not",
    "never",
    "12",
    "21",
    "3.5",
    "三百",
    "2026-03-02",
    "-7",
    "v1.2",
    "如果",
    "but",
    *NAMES,
]
"""Negations, numbers, dates, names, signs: whatever else two texts share, these keep them apart."""


def alike(one: str, other: str) -> bool:
    return MERGING.alike(memory(1, one), memory(2, other))


@given(
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=9),
    place=st.integers(0, 9),
    differing=st.lists(st.sampled_from(APART), min_size=2, max_size=2, unique=True),
    end=st.sampled_from(["", "。", ".", "，", ", "]),
)
def test_negations_numbers_dates_and_names_always_keep_apart(
    words: list[str], place: int, differing: list[str], end: str
) -> None:
    one, other = differing
    plain = " ".join(words)
    first, second = (" ".join([*words[:place], odd, *words[place:]]) for odd in (one, other))
    assert not alike(first, second)
    assert not alike(plain, first + end)
    if one not in NAMES:  # A clause more about somebody takes nothing back.
        assert not alike(plain, f"{plain}{end or '，'}{one}")


@given(words=st.lists(st.sampled_from(WORDS), min_size=2, max_size=6, unique=True), data=st.data())
def test_another_order_is_another_statement(words: list[str], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(words))
    assert alike(" ".join(words), " ".join(shuffled)) is (shuffled == words)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("用户喜欢安静的办公室", "我偏好安静的办公室。"),
        ("The user likes a quiet office", "User like quiet office"),
        ("備份腳本放在倉庫", "备份脚本放在仓库"),
        ("Ｎｇｉｎｘ 在 8080 端口", "nginx 在 8080 端口"),
        ("备份脚本放在仓库", "备份脚本放在仓库，每晚运行"),
        ("The script is in the office", "The script is in the office, beside the printer"),
    ],
)
def test_near_duplicates_and_beginnings_are_the_same(one: str, other: str) -> None:
    assert alike(one, other)
    assert alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The script is in the office", "The script is in the office building"),
        ("备份脚本放在仓库", "旧的备份脚本放在仓库"),
        ("报告", "报告，脚本在仓库里，客户在办公室里等"),
        ("5 > 3", "5 < 3"),
        ("", ""),
        ("。", "，"),
    ],
)
def test_what_only_looks_alike_is_not(one: str, other: str) -> None:
    assert not alike(one, other)


def fact(seq: int, value: str, **more: object) -> Memory:
    made = memory(seq, f"编辑器：{value}", triple=Triple("@user", "EDITOR", value, bool(more.pop("negated", False))))
    return replace(made, **more)  # type: ignore[arg-type]


def test_keyed_facts_are_the_same_by_their_value() -> None:
    assert MERGING.alike(fact(1, "VS Code"), fact(2, "VSCode"))
    assert not MERGING.alike(fact(1, "VS Code"), fact(2, "Zed"))
    assert not MERGING.alike(fact(1, "Emacs 2 9"), fact(2, "Emacs 29"))
    assert not MERGING.alike(fact(1, "VS Code"), fact(2, "VSCode", negated=True))
    assert not MERGING.alike(fact(1, "VS Code"), memory(2, "编辑器：VS Code"))


def test_only_what_is_believed_and_near_is_merged() -> None:
    one = memory(1, "安静")
    for odd in ({"status": Status.ENDED}, {"tier": Tier.ARCHIVE}, {"valid_to": later(9)}):
        assert not may_merge(one, replace(memory(2, "安静"), **odd))  # type: ignore[arg-type]
    assert not may_merge(one, one)
    assert may_merge(one, memory(2, "安静"))


@given(winner=memories(), others=st.lists(memories(), min_size=1, max_size=3))
def test_all_evidence_words_and_wishes_are_kept(winner: Memory, others: list[Memory]) -> None:
    one, all_ = merged(winner, others), [winner, *others]
    assert (one.seq, one.text, one.triple) == (winner.seq, winner.text, winner.triple)
    assert set(one.evidence) == {e for m in all_ for e in m.evidence}
    assert set(one.keywords) == {word for m in all_ for word in m.keywords}
    assert one.kept is any(m.kept for m in all_)
    assert one.importance == max(m.importance for m in all_)
    assert one.valid_from == min(m.valid_from for m in all_)


def test_the_strongest_word_counts() -> None:
    said = memory(1, "安静", source=Source.DECLARED, start=0.95, affirmed_at=later(1), evidence=(evidence(1),))
    heard = memory(2, "安静", source=Source.INFERRED, start=0.7, affirmed_at=later(9), tier=Tier.SEMANTIC)
    one = merged(heard, [said])
    assert (one.source, one.start, one.affirmed_at, one.tier) == (Source.DECLARED, 0.95, later(1), Tier.FACT)


def test_access_nominates_the_hottest_first() -> None:
    old = NOW - timedelta(days=99)
    known = [
        aging(memory(seq, at=old, tier=tier), None if visits is None else Heat(visits, NOW))
        for seq, visits, tier in (
            (1, None, Tier.FACT), (2, 3.0, Tier.FACT), (3, 9.0, Tier.SEMANTIC), (4, 0.1, Tier.FACT), (5, 9.0, Tier.ARCHIVE),
        )
    ]  # fmt: skip
    known.append(aging(memory(6), None))
    assert nominees(known, NOW, MergingPolicy(), HeatPolicy()) == [3, 2, 6]
    assert nominees(known, NOW, MergingPolicy(nominees=1), HeatPolicy()) == [3]


def test_what_was_read_of_each_was_read_of_the_one_that_stays() -> None:
    heats = {1: Heat(4.0, NOW), 2: Heat(2.0, NOW + HeatPolicy().half_life)}
    assert merged_heat(heats, 1, NOW, HeatPolicy()) == Heat(4.0, NOW + HeatPolicy().half_life)
    assert merged_heat({}, 1, NOW, HeatPolicy()) is None
