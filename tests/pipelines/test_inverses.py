"""The same fact told from both sides: one side ends with the other, in one plan, or the two are reported (SPEC W2, B9)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.assembly import open_memory
from jiyi.domain.memory import Status
from jiyi.domain.plans import replay
from jiyi.domain.relations import parse_vocabulary
from jiyi.errors import SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.shipped import load_vocabulary
from tests.conftest import FULL, Clock
from tests.properties.test_belief_promises import applied, stored


def tell(layer: MemoryLayer, me: ScopedMemory, clock: Clock, *talk: str) -> None:
    for text in talk:
        clock.advance(days=1)
        me.observe([{"role": "user", "text": text}], session=f"s{clock.now.toordinal()}")
        layer.work()


BOTH_SIDES = [
    ("Rosa supervises Emil.", "Emil's line manager is Rosa.", "Emil now reports to Ines.", "rosa", "ines"),
    ("李芳带着王强。", "王强向李芳汇报。", "王强现在向赵敏汇报。", "李芳", "赵敏"),
]


@pytest.mark.parametrize(("one", "other", "change", "old", "new"), BOTH_SIDES)
@pytest.mark.parametrize("known", [1, 2])
def test_what_is_over_on_one_side_is_over_on_the_other_in_the_same_plan(
    layer: MemoryLayer, clock: Clock, one: str, other: str, change: str, old: str, new: str, known: int
) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, *[one, other][:known])
    before, entries = stored(me), len(me.ledger())
    tell(layer, me, clock, change)
    assert [m.value for m in me.memories()] == [new]
    (entry,) = me.ledger()[entries:]
    assert "other-side" in [j.rule for j in entry.plan.judgements]
    assert applied(before, entry.plan.changes) == stored(me) == replay(me.ledger())
    me.undo(f"p{entry.seq}")
    assert stored(me) == before
    assert me.questions() == []


@pytest.mark.parametrize(
    ("one", "denied"),
    [("Rosa supervises Emil.", "Emil no longer reports to Rosa."), ("王强向李芳汇报。", "李芳不再带着王强了。")],
)
def test_what_is_denied_on_one_side_is_over_on_the_other(
    layer: MemoryLayer, clock: Clock, one: str, denied: str
) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, one, denied)
    assert [m.status for m in me.memories(status=None) if not (m.triple and m.triple.negated)] == [Status.ENDED]


@pytest.mark.parametrize(
    ("one", "against"),
    [("Rosa supervises Emil.", "Emil's line manager is Ines."), ("李芳带着王强。", "王强向赵敏汇报。")],
)
def test_two_sides_that_cannot_both_hold_are_reported_and_asked_about(
    layer: MemoryLayer, clock: Clock, one: str, against: str
) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, one)
    before = stored(me)
    tell(layer, me, clock, against)
    assert [m.status for m in me.memories(status=None)] == [Status.LIVE, Status.LIVE]
    judgement = me.ledger()[-1].plan.judgements[-1]
    assert (judgement.verdict, judgement.rule) == ("coexist", "sides-disagree")
    assert {"m1", "m2"} <= set(judgement.reasons[0].split())
    (question,) = me.questions()
    assert question.options[0].seq == 1
    known = len(me.ledger())
    me.answer(question.id, "no")
    assert [m.seq for m in me.memories()] == [2]
    assert me.questions() == []
    for entry in reversed(me.ledger()[known - 1 :]):
        me.undo(f"p{entry.seq}")
    assert stored(me) == before


def test_what_was_corrected_was_wrong_from_both_sides(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, "Rosa supervises Emil.", "Emil's line manager is Rosa.")
    clock.advance(days=1)
    receipt = me.correct("m2", "Emil's line manager is Ines")
    assert {(m.id, m.status) for m in me.memories(status=None)} == {
        ("m1", Status.RETRACTED), ("m2", Status.RETRACTED), ("m3", Status.LIVE),
    }  # fmt: skip
    assert {m.id for m in receipt.ended} == {"m1", "m2"}


def test_what_was_said_since_does_not_end(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    tell(layer, me, clock, "Emil now reports to Ines.", "Ines supervises Emil.", "Emil now reports to Rosa.")
    tell(layer, me, clock, "Ines supervises Emil.")
    assert sorted(m.value for m in me.memories()) == ["emil", "rosa"]


SAYINGS = (
    "Rosa supervises Emil.", "Emil's line manager is Rosa.", "Emil now reports to Ines.", "Emil no longer reports to Rosa.",
    "Rosa no longer supervises Emil.", "Ines supervises Emil.", "I was wrong, Emil's line manager is Rosa.",
    "Globex Group acquired Acme Labs.", "Acme Labs was acquired by Initech Group.",
)  # fmt: skip


@settings(max_examples=200 if FULL else 15)
@given(st.lists(st.sampled_from(SAYINGS), min_size=2, max_size=7))
def test_each_plan_tells_all_that_it_changed_and_undo_is_exact(talk: list[str]) -> None:
    clock = Clock()
    with open_memory("reference", worker=False, clock=clock) as layer:
        me = layer.scope("ming")
        pictures = [stored(me)]
        for text in talk:
            known = len(me.ledger())
            tell(layer, me, clock, text)
            assert applied(pictures[-1], [c for e in me.ledger()[known:] for c in e.plan.changes]) == stored(me)
            pictures += [stored(me)] * (len(me.ledger()) - known)
        for entry, before in reversed(list(zip(me.ledger(), pictures, strict=False))):
            me.undo(f"p{entry.seq}")
            assert stored(me) == before


def test_every_inverse_has_its_inverse() -> None:
    assert any(r.inverse for r in load_vocabulary())
    one = {"category": "relationship", "single": True, "subject": "user", "names": {"en": ["one"]}}
    with pytest.raises(SettingsError, match="TWO must name ONE as its inverse too"):
        parse_vocabulary({"ONE": one | {"inverse": "TWO"}, "TWO": one})
