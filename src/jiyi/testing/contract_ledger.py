"""What `ports.Ledger` promises."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.belief import Judgement, Verdict
from jiyi.domain.memory import Memory
from jiyi.domain.plans import Actor, Change, LedgerEntry, Plan, Verb, replay
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Store, Unit
from jiyi.testing.contract_base import (
    ME,
    OTHERS,
    Contract,
    added,
    evidence,
    fresh_scope,
    later,
    memory,
    over,
    plan,
    shared_store,
)
from jiyi.testing.strategies import plans

WORDS = "用户说数据库换成了 PostgreSQL"
JUDGEMENT = Judgement(
    Verdict.REPLACE, "user-changed", ("change said by the user ends m1", WORDS), same=3, ends=(1, 2), lowers=(4,)
)


def append(store: Store, *made: Plan, scope: Scope = ME) -> list[LedgerEntry]:
    return store.write(lambda unit: [unit.ledger.append(scope, one) for one in made])


def erase(store: Store, *memories: int, scope: Scope = ME) -> None:
    store.write(lambda unit: unit.ledger.erase(scope, memories))


class LedgerContract(Contract):
    def test_what_is_not_there_gives_nothing(self, store: Store) -> None:
        with store.read() as unit:
            assert unit.ledger.get(ME, 1) is None
            assert unit.ledger.entries(ME) == unit.ledger.about(ME, 1) == []
            assert unit.ledger.last_seq(ME) == 0

    def test_plans_are_numbered_from_one(self, store: Store) -> None:
        made = [plan(*added(memory(i))) for i in range(1, 4)]
        entries = append(store, *made)
        assert entries == [LedgerEntry(i, one) for i, one in enumerate(made, 1)]
        with store.read() as unit:
            assert [unit.ledger.get(ME, i) for i in range(5)] == [None, *entries, None]
            assert unit.ledger.last_seq(ME) == 3

    def test_what_was_taken_back_is_told_by_verb_and_memory(self, store: Store) -> None:
        one, two = added(memory(1), memory(2))
        append(
            store,
            plan(one, two, verb=Verb.UPKEEP),
            plan(one.reversed(), two.reversed(), verb=Verb.UNDO, undoes=1, at=later(5)),
            plan(one, verb=Verb.UPKEEP, at=later(6)),
            plan(one.reversed(), verb=Verb.UNDO, undoes=3, at=later(7)),
            plan(one, verb=Verb.MERGE, at=later(8)),
            plan(one.reversed(), verb=Verb.UNDO, undoes=5, at=later(9)),
        )
        with store.read() as unit:
            undone = unit.ledger.undone
            assert undone(ME, Verb.UPKEEP, [1, 2, 3]) == {1: later(7), 2: later(5)}
            assert undone(ME, Verb.MERGE, [1, 2]) == {1: later(9)}
            assert (
                undone(ME, Verb.REMEMBER, [1])
                == undone(ME, Verb.UPKEEP, [])
                == undone(OTHERS[0], Verb.UPKEEP, [1])
                == {}
            )

    def test_every_field_comes_back(self, store: Store) -> None:
        one = memory(1, WORDS, evidence=(evidence(7),), keywords=("db",))
        ended = replace(one, **over(), successor=2)
        made = [
            plan(*added(one), verb=Verb.DISTIL, actor=Actor("李明", "http")),
            plan(
                Change(one, ended), *added(memory(2)), Change(ended, None), verb=Verb.CORRECT, judgements=(JUDGEMENT,)
            ),
            plan(verb=Verb.UNDO, undoes=2, reason="", judgements=(Judgement(Verdict.ADD, "new", ended_by=9),)),
        ]
        append(store, *made)
        with store.read() as unit:
            assert [entry.plan for entry in unit.ledger.entries(ME)] == made

    @given(st.data())
    @shared_store
    def test_any_plan_comes_back_and_adds_up(self, store: Store, data: st.DataObject) -> None:
        scope = fresh_scope()
        state: dict[int, Memory] = {}
        entries: list[LedgerEntry] = []
        for number in range(1, 4):
            entries.append(LedgerEntry(number, data.draw(plans(state))))
            state = replay(entries)
        assert append(store, *(e.plan for e in entries), scope=scope) == entries
        with store.read() as unit:
            assert unit.ledger.entries(scope) == entries
            assert replay(unit.ledger.entries(scope)) == state

    def test_entries_go_on_after_a_number(self, store: Store) -> None:
        entries = append(store, *(plan(*added(memory(i))) for i in range(1, 6)))
        with store.read() as unit:
            assert unit.ledger.entries(ME) == entries
            assert unit.ledger.entries(ME, after=2) == entries[2:]
            assert unit.ledger.entries(ME, after=1, limit=2) == entries[1:3]
            assert unit.ledger.entries(ME, after=5) == unit.ledger.entries(ME, limit=0) == []

    def test_about_names_the_entries_that_changed_a_memory(self, store: Store) -> None:
        one, two = memory(1), memory(2)
        entries = append(
            store,
            plan(*added(one, two)),
            plan(*added(memory(3))),
            plan(Change(one, replace(one, importance=5)), Change(replace(one, importance=5), one)),
            plan(Change(two, None), judgements=(JUDGEMENT,)),
        )
        with store.read() as unit:
            assert unit.ledger.about(ME, 1) == [entries[0], entries[2]]
            assert unit.ledger.about(ME, 2) == [entries[0], entries[3]]
            assert unit.ledger.about(ME, 4) == []

    def test_a_failed_write_leaves_no_gap(self, store: Store) -> None:
        append(store, plan(*added(memory(1))))

        def work(unit: Unit) -> None:
            assert unit.ledger.append(ME, plan(*added(memory(2)))).seq == 2
            unit.ledger.erase(ME, [1])
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(work)
        with store.read() as unit:
            assert unit.ledger.entries(ME) == [LedgerEntry(1, plan(*added(memory(1))))]
            assert unit.ledger.about(ME, 2) == []
        assert append(store, plan())[0].seq == 2

    # ------------------------------------------------------------------ forgetting

    def test_erasing_drops_pictures_and_words(self, store: Store) -> None:
        secret, other = memory(1, "密码在抽屉里"), memory(2, "喜欢绿茶")
        append(
            store,
            plan(
                *added(secret, other),
                reason=WORDS,
                judgements=(JUDGEMENT,),
                verb=Verb.CORRECT,
                actor=Actor("李明", "cli"),
            ),
            plan(*added(memory(3)), reason=WORDS, judgements=(JUDGEMENT,)),
            plan(Change(secret, None), reason=WORDS, verb=Verb.FORGET),
            plan(reason=WORDS, verb=Verb.UNDO, undoes=1),
        )
        with store.read() as unit:
            before = unit.ledger.entries(ME)
        erase(store, 1, 99)
        with store.read() as unit:
            after = unit.ledger.entries(ME)
            assert [unit.ledger.get(ME, i) for i in range(1, 5)] == after
            assert unit.ledger.about(ME, 2) == [after[0]]
        assert [e.seq for e in after] == [1, 2, 3, 4]
        assert (after[1], after[3]) == (before[1], before[3])
        first, third = after[0], after[2]
        assert first.forgotten
        assert third.forgotten
        assert first.plan == replace(before[0].plan, reason="", judgements=(), changes=tuple(added(other)))
        assert third.plan == replace(before[2].plan, reason="", judgements=(), changes=())
        assert "密码" not in repr(after)
        assert WORDS not in repr([first, third])

    def test_erasing_reaches_either_picture(self, store: Store) -> None:
        secret = memory(1, "密码在抽屉里")
        append(
            store,
            plan(Change(secret, replace(secret, **over()))),
            plan(Change(None, secret)),
            plan(Change(secret, None)),
        )
        erase(store, 1)
        with store.read() as unit:
            assert [(e.plan.changes, e.forgotten) for e in unit.ledger.entries(ME)] == [((), True)] * 3

    def test_erasing_again_or_nothing_changes_nothing(self, store: Store) -> None:
        append(store, plan(*added(memory(1), memory(2))), plan(*added(memory(3))))
        erase(store, 1)
        with store.read() as unit:
            before = unit.ledger.entries(ME)
        for memories in ((1,), (), (99,)):
            erase(store, *memories)
        with store.read() as unit:
            assert unit.ledger.entries(ME) == before
        erase(store, 2, 3)
        with store.read() as unit:
            assert [(e.plan.changes, e.forgotten) for e in unit.ledger.entries(ME)] == [((), True)] * 2

    def test_numbers_go_on_after_erasing(self, store: Store) -> None:
        append(store, plan(*added(memory(1))), plan(*added(memory(1))))
        erase(store, 1)
        assert append(store, plan(*added(memory(2))))[0].seq == 3

    # ------------------------------------------------------------------ restore

    @given(st.data())
    @shared_store
    def test_restored_entries_are_as_they_were(self, store: Store, data: st.DataObject) -> None:
        scope, entries = fresh_scope(), list[LedgerEntry]()
        for number in range(1, 4):
            entries.append(LedgerEntry(number, data.draw(plans(replay(entries))), data.draw(st.booleans())))
        store.write(lambda unit: unit.ledger.restore(scope, entries[:1]))
        store.write(lambda unit: unit.ledger.restore(scope, entries[1:]))
        with store.read() as unit:
            assert unit.ledger.entries(scope) == entries
            assert unit.ledger.last_seq(scope) == 3
        assert append(store, plan(), scope=scope)[0].seq == 4

    @pytest.mark.parametrize("numbers", [[1], [3], [2, 4], [2, 2], [3, 2]], ids=str)
    def test_entries_follow_on_without_a_gap(self, store: Store, numbers: list[int]) -> None:
        append(store, plan())
        with pytest.raises(InputError, match="number 2"):
            store.write(lambda unit: unit.ledger.restore(ME, [LedgerEntry(n, plan()) for n in numbers]))
        with store.read() as unit:
            assert unit.ledger.entries(ME) == [LedgerEntry(1, plan())]

    # ------------------------------------------------------------------ scopes

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_stay_apart(self, store: Store, other: Scope) -> None:
        mine, theirs = plan(*added(memory(1, "mine"))), plan(*added(memory(1, "theirs")))
        append(store, mine, mine)
        with store.read() as unit:
            assert unit.ledger.get(other, 1) is None
            assert unit.ledger.entries(other) == unit.ledger.about(other, 1) == []
        assert append(store, theirs, scope=other) == [LedgerEntry(1, theirs)]
        erase(store, 1, scope=other)
        with store.read() as unit:
            entries = [LedgerEntry(1, mine), LedgerEntry(2, mine)]
            assert unit.ledger.entries(ME) == unit.ledger.about(ME, 1) == entries
            assert unit.ledger.entries(other)[0].forgotten
