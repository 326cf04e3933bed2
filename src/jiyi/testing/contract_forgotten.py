"""What forgetting leaves and needs of a store: tombstones, receipts, known copies, rewriting, taking jobs back (SPEC F6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Reach, Tombstone
from jiyi.domain.memory import Message, Role
from jiyi.domain.plans import LedgerEntry, Plan
from jiyi.domain.scope import Scope
from jiyi.ports import Store
from jiyi.testing.contract_base import ME, NOW, OTHERS, Contract, added, later, memory, message, plan, put_messages

STONE = Tombstone(Mark.TOPIC, b"0123456789abcdef", NOW, 3, 1)
RECEIPT = ForgettingReceipt(
    1, 7, NOW, later(1), Reach.SESSION, {"memories": 2}, (Copy("backup", "/数据/a.db", NOW),), None, 0
)


class ForgottenContract(Contract):
    def test_tombstones_come_back_as_they_were(self, store: Store) -> None:
        other = Tombstone(Mark.ID, bytes(16), later(5), 0, 2)
        store.write(lambda unit: unit.forgotten.add(ME, [STONE, other]))
        with store.read() as unit:
            assert unit.forgotten.tombstones(ME) == [other, STONE]
            assert unit.forgotten.lengths(ME, Mark.TOPIC) == [3]
            assert unit.forgotten.lengths(ME, Mark.WORDS) == []
            assert unit.forgotten.find(ME, Mark.TOPIC, [STONE.digest, b"x" * 16]) == {STONE.digest: STONE.at}
            assert unit.forgotten.find(ME, Mark.ID, [STONE.digest]) == {}

    def test_of_two_alike_the_later_stays(self, store: Store) -> None:
        for at in (later(5), later(9), later(7)):
            store.write(lambda unit, at=at: unit.forgotten.add(ME, [replace(STONE, at=at)]))  # type: ignore[misc]
        with store.read() as unit:
            assert unit.forgotten.tombstones(ME) == [replace(STONE, at=later(9))]

    def test_many_are_found_at_once(self, store: Store) -> None:
        stones = [replace(STONE, digest=i.to_bytes(16, "big")) for i in range(1200)]
        store.write(lambda unit: unit.forgotten.add(ME, stones))
        with store.read() as unit:
            assert len(unit.forgotten.find(ME, Mark.TOPIC, [s.digest for s in stones])) == 1200

    def test_receipts_are_kept_and_replaced_by_number(self, store: Store) -> None:
        second = replace(RECEIPT, number=2, horizon=later(3))
        for receipt in (second, RECEIPT):
            store.write(lambda unit, receipt=receipt: unit.forgotten.write(ME, receipt))  # type: ignore[misc]
        with store.read() as unit:
            assert unit.forgotten.receipts(ME) == [RECEIPT, second]
            assert unit.forgotten.horizon(ME) == later(3)
        verified = replace(RECEIPT, verified_at=later(60), returned=3)
        store.write(lambda unit: unit.forgotten.write(ME, verified))
        with store.read() as unit:
            assert unit.forgotten.receipts(ME) == [verified, second]
            assert unit.forgotten.size() == (2, 0)

    def test_copies_of_all_and_of_one(self, store: Store) -> None:
        whole, mine = Copy("backup", "/a.db", NOW), Copy("export", "/我的.zip", later(1))
        store.write(lambda unit: unit.forgotten.note_copy(None, whole))
        store.write(lambda unit: unit.forgotten.note_copy(ME, mine))
        with store.read() as unit:
            assert unit.forgotten.copies(ME) == [whole, mine]
            assert unit.forgotten.copies(OTHERS[0]) == [whole]

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_stay_apart(self, store: Store, other: Scope) -> None:
        store.write(lambda unit: unit.forgotten.add(ME, [STONE]))
        store.write(lambda unit: unit.forgotten.write(ME, RECEIPT))
        with store.read() as unit:
            assert unit.forgotten.tombstones(other) == []
            assert unit.forgotten.receipts(other) == []
            assert unit.forgotten.horizon(other) is None
            assert unit.forgotten.key(other) != unit.forgotten.key(ME)

    def test_messages_are_rewritten_whole(self, store: Store) -> None:
        put_messages(store, ME, message("a", "一", name="李"), message("b", "二"), message("c", "三"))
        buried = Message(2, "~x", "forgotten", Role.USER, "", NOW, forgotten=True)
        with store.read() as unit:
            [first] = unit.messages.get(ME, [1])
        store.write(lambda unit: unit.messages.rewrite(ME, [replace(first, text="▇", name=None), buried]))
        store.write(lambda unit: unit.messages.rewrite(ME, [replace(buried, seq=9, id="~y")]))
        with store.read() as unit:
            found = unit.messages.get(ME, [1, 2, 3, 9])
            assert [(m.id, m.text, m.name, m.forgotten, m.altered) for m in found] == [
                ("a", "▇", None, False, True),
                ("~x", "", None, True, True),
                ("c", "三", None, False, False),
            ]
            assert [m.id for m in unit.messages.after_seq(ME, 0, 9)] == ["a", "c"]
            assert unit.messages.by_id(ME, "b") is None

    def test_ledger_entries_are_rewritten_whole(self, store: Store) -> None:
        one, two = memory(1, "甲"), memory(2, "乙")
        plans = [plan(*added(one, two), reason="said in s1"), plan(*added(memory(3)))]
        entries = store.write(lambda unit: [unit.ledger.append(ME, p) for p in plans])
        left = replace(entries[0], plan=replace(entries[0].plan, reason="", changes=tuple(added(two))), forgotten=True)
        gone = LedgerEntry(9, Plan(left.plan.verb, left.plan.actor, NOW, "", ()))
        store.write(lambda unit: unit.ledger.rewrite(ME, [left, gone]))
        with store.read() as unit:
            assert unit.ledger.entries(ME) == [left, entries[1]]
            assert unit.ledger.about(ME, 1) == []

    def test_a_job_taken_back_cannot_be_ended_by_who_had_it(self, store: Store) -> None:
        store.write(lambda unit: (unit.jobs.put(ME, "distil", {}, NOW), unit.jobs.put(OTHERS[0], "distil", {}, NOW)))
        mine = store.write(lambda unit: unit.jobs.claim(NOW, later(5)))
        theirs = store.write(lambda unit: unit.jobs.claim(NOW, later(5)))
        assert mine is not None
        assert theirs is not None
        assert store.write(lambda unit: unit.jobs.recall(ME, NOW)) == 1
        assert not store.write(lambda unit: unit.jobs.finish(mine))
        again = store.write(lambda unit: unit.jobs.claim(NOW, later(5)))
        assert again is not None
        assert (again.id, again.attempt) == (mine.id, mine.attempt + 1)
        assert not store.write(lambda unit: unit.jobs.finish(mine))
        assert store.write(lambda unit: unit.jobs.finish(again))
        assert store.write(lambda unit: unit.jobs.finish(theirs))

    def test_all_jobs_of_a_scope_are_dropped(self, store: Store) -> None:
        for scope in (ME, ME, OTHERS[0]):
            store.write(lambda unit, scope=scope: unit.jobs.put(scope, "distil", {}, NOW))  # type: ignore[misc]
        job = store.write(lambda unit: unit.jobs.claim(NOW, later(5)))
        assert job is not None
        store.write(lambda unit: unit.jobs.fail(job, "wrong", NOW, None))
        assert store.write(lambda unit: unit.jobs.drop(ME)) == 2
        with store.read() as unit:
            assert unit.jobs.dead() == []
            assert [unit.jobs.counts(s, NOW).waiting for s in (ME, OTHERS[0])] == [0, 1]
