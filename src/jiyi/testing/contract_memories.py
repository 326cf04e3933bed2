"""What `ports.Memories` promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.heat import Heat
from jiyi.domain.memory import Category, Memory, Mode, Status, Tier, Triple
from jiyi.domain.plans import Change
from jiyi.domain.relations import COMPANY, USER, fact_key
from jiyi.domain.scope import Scope
from jiyi.domain.tiers import aging
from jiyi.ports import Store, Unit
from jiyi.testing.contract_base import (
    ME,
    NOW,
    OTHERS,
    YOU,
    Contract,
    added,
    evidence,
    fresh_scope,
    later,
    memory,
    over,
    put_memories,
    shared_store,
)
from jiyi.testing.strategies import CHINESE, HOSTILE, changes, heats, memories

MYSQL = Triple(COMPANY, "DATABASE", "MySQL")
POSTGRES = Triple(COMPANY, "DATABASE", "PostgreSQL")
TEA = Triple(USER, "LIKES", "绿茶")


def seqs(memories: Sequence[Memory]) -> list[int]:
    return [m.seq for m in memories]


def change(store: Store, *made: Change, scope: Scope = ME) -> None:
    store.write(lambda unit: unit.memories.write(scope, made))


class MemoriesContract(Contract):
    # ------------------------------------------------------------------ write

    def test_a_change_writes_its_second_picture(self, store: Store) -> None:
        first = memory(1, triple=MYSQL)
        put_memories(store, ME, first, memory(2))
        ended = replace(first, **over(), successor=2)
        change(store, Change(first, ended))
        with store.read() as unit:
            assert unit.memories.get(ME, [1, 2]) == [ended, memory(2)]
        change(store, Change(memory(2), None))
        with store.read() as unit:
            assert unit.memories.get(ME, [1, 2]) == unit.memories.listing(ME, status=None) == [ended]

    def test_changes_of_one_memory_are_made_in_order(self, store: Store) -> None:
        one, two, three = memory(1, "一"), memory(1, "二"), memory(1, "三")
        change(store, Change(None, one), Change(one, two), Change(two, three))
        with store.read() as unit:
            assert unit.memories.get(ME, [1]) == [three]
        change(store, Change(three, None), Change(None, one))
        with store.read() as unit:
            assert unit.memories.get(ME, [1]) == [one]

    def test_a_removed_memory_can_come_back_under_its_number(self, store: Store) -> None:
        full = memory(1, triple=TEA, evidence=(evidence(3), evidence(4)), keywords=("tea", "茶"), kept=True)
        put_memories(store, ME, full)
        change(store, Change(full, None))
        with store.read() as unit:
            self._nothing(unit, ME)
        put_memories(store, ME, full)
        with store.read() as unit:
            assert unit.memories.get(ME, [1]) == [full]
            assert unit.memories.resting_on(ME, [3, 4]) == {3: [1], 4: [1]}
            assert unit.memories.of_relations(ME, ["LIKES"]) == [full]

    @pytest.mark.parametrize("text", CHINESE + HOSTILE)
    def test_text_comes_back_to_the_letter(self, store: Store, text: str) -> None:
        triple = Triple(text, text, text, negated=True)
        full = memory(1, text, triple=triple, value=text, keywords=(text, ""))
        put_memories(store, ME, full)
        with store.read() as unit:
            assert unit.memories.get(ME, [1]) == [full]
            assert unit.memories.of_keys(ME, [full.key]) == unit.memories.of_relations(ME, [text]) == [full]

    @given(st.data())
    @shared_store
    def test_any_changes_leave_what_they_say(self, store: Store, data: st.DataObject) -> None:
        scope = fresh_scope()
        expected: dict[int, Memory] = {}
        for _ in range(2):
            drawn = data.draw(changes(expected))
            change(store, *drawn, scope=scope)
            for one in drawn:
                expected.pop(one.seq, None)
                if one.after is not None:
                    expected[one.seq] = one.after
        found = [m for _, m in sorted(expected.items())]
        # 0 is no message, and a case of a pattern carries nothing by itself.
        carried = {m.seq: {e.message for e in m.evidence if e.message and e.mode is not Mode.CASE} for m in found}
        with store.read() as unit:
            assert unit.memories.listing(scope, status=None) == found
            assert unit.memories.believed(scope, {m.key for m in found}, {m.value for m in found}) == found
            assert unit.memories.resting_on(scope, range(20)) == {
                message: [seq for seq, messages in carried.items() if message in messages]
                for message in set().union(*carried.values())
            }

    @given(memories())
    @shared_store
    def test_instants_keep_their_microseconds(self, store: Store, drawn: Memory) -> None:
        scope = fresh_scope()
        put_memories(store, scope, drawn)
        with store.read() as unit:
            (found,) = unit.memories.get(scope, [drawn.seq])
        for moment in (found.affirmed_at, found.valid_from, found.valid_to, found.learnt_at, found.changed_at):
            assert moment is None or moment.tzinfo is not None
        assert found == drawn

    # ------------------------------------------------------------------ numbers

    def test_numbers_count_from_one_and_are_never_used_twice(self, store: Store) -> None:
        assert store.write(lambda unit: [unit.memories.next_seq(ME) for _ in range(3)]) == [1, 2, 3]
        put_memories(store, ME, memory(3))
        change(store, Change(memory(3), None))
        assert store.write(lambda unit: unit.memories.next_seq(ME)) == 4

    def test_a_number_that_was_written_is_not_given_out(self, store: Store) -> None:
        put_memories(store, ME, memory(7))
        assert store.write(lambda unit: unit.memories.next_seq(ME)) == 8

    def test_the_last_number_is_told_and_numbers_can_be_skipped(self, store: Store) -> None:
        with store.read() as unit:
            assert unit.memories.last_seq(ME) == 0
        for skipped, last in ((0, 0), (5, 5), (3, 5)):
            store.write(lambda unit, seq=skipped: unit.memories.skip_to(ME, seq))  # type: ignore[misc]
            with store.read() as unit:
                assert unit.memories.last_seq(ME) == last
        put_memories(store, ME, memory(7))
        change(store, Change(memory(7), None))
        with store.read() as unit:
            assert (unit.memories.last_seq(ME), unit.memories.last_seq(OTHERS[0])) == (7, 0)
        assert store.write(lambda unit: unit.memories.next_seq(ME)) == 8

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_every_scope_counts_for_itself(self, store: Store, other: Scope) -> None:
        assert store.write(lambda unit: [unit.memories.next_seq(s) for s in (ME, other, ME, other)]) == [1, 1, 2, 2]

    # ------------------------------------------------------------------ read

    def test_what_is_not_there_gives_nothing(self, store: Store) -> None:
        with store.read() as unit:
            self._nothing(unit, ME)

    def _nothing(self, unit: Unit, scope: Scope) -> None:
        held = unit.memories
        assert held.get(scope, [1, 2]) == []
        assert held.believed(scope, [memory(1, triple=TEA).key], ["绿茶", "mysql"]) == []
        assert held.of_keys(scope, [memory(1, triple=TEA).key]) == []
        assert held.of_relations(scope, ["LIKES", "DATABASE"]) == []
        assert held.listing(scope, status=None) == []
        assert held.containing(scope, ["P"], 10) == []
        assert held.resting_on(scope, [1, 2, 3]) == {}
        assert held.heat(scope, [1, 2]) == {}

    def test_get_gives_what_exists_by_number(self, store: Store) -> None:
        put_memories(store, ME, memory(5), memory(2), memory(9, **over()))
        with store.read() as unit:
            assert seqs(unit.memories.get(ME, [9, 2, 77, 5, 9, 0])) == [2, 5, 9]
            assert unit.memories.get(ME, []) == []
            assert seqs(unit.memories.get(ME, range(40_000))) == [2, 5, 9]

    def test_believed_by_key_whatever_the_status(self, store: Store) -> None:
        put_memories(
            store, ME,
            memory(4, triple=POSTGRES), memory(1, triple=MYSQL, **over()),
            memory(3, triple=MYSQL, **over(Status.RETRACTED)), memory(2, triple=TEA), memory(5),
        )  # fmt: skip
        database, likes = memory(1, triple=MYSQL).key, memory(1, triple=TEA).key
        with store.read() as unit:
            believed = unit.memories.believed
            assert seqs(believed(ME, [database])) == [1, 3, 4]
            assert seqs(believed(ME, [likes, database, "no such key"])) == [1, 2, 3, 4]
            assert believed(ME, [database.lower()]) == []
            assert believed(ME) == []

    def test_believed_by_value_only_without_a_key(self, store: Store) -> None:
        put_memories(
            store, ME,
            memory(3, "mysql"), memory(1, "MySQL", value="mysql", **over()), memory(2, triple=MYSQL),
            memory(4, "100%"), memory(5, "100 分"),
        )  # fmt: skip
        with store.read() as unit:
            believed = unit.memories.believed
            assert seqs(believed(ME, values=["mysql"])) == [1, 3]
            assert seqs(believed(ME, ["", memory(2, triple=MYSQL).key], ["100%"])) == [2, 4]
            assert believed(ME, [""]) == believed(ME, [""], ["MYSQL", "%"]) == []

    def test_of_keys_gives_live_ones_newest_first(self, store: Store) -> None:
        put_memories(
            store, ME,
            memory(1, triple=MYSQL, at=later(5)), memory(2, triple=POSTGRES, at=later(9)),
            memory(3, triple=POSTGRES, at=later(99), **over()), memory(4, triple=TEA, at=later(5)), memory(5),
        )  # fmt: skip
        database, likes = memory(1, triple=MYSQL).key, memory(1, triple=TEA).key
        with store.read() as unit:
            of_keys = unit.memories.of_keys
            assert seqs(of_keys(ME, [database, likes, database])) == [2, 4, 1]
            assert seqs(of_keys(ME, [database, likes], limit=2)) == [2, 4]
            assert of_keys(ME, []) == of_keys(ME, [""]) == of_keys(ME, ["%"]) == []

    def test_of_relations_gives_live_ones_newest_first(self, store: Store) -> None:
        theirs = Triple("阿里云", "DATABASE", "OceanBase")
        put_memories(
            store, ME,
            memory(1, triple=MYSQL, at=later(5)), memory(2, triple=theirs, at=later(9)),
            memory(3, triple=POSTGRES, at=later(99), **over()), memory(4, triple=TEA, at=later(5)), memory(5),
        )  # fmt: skip
        with store.read() as unit:
            of_relations = unit.memories.of_relations
            assert seqs(of_relations(ME, ["DATABASE", "LIKES"])) == [2, 4, 1]
            assert seqs(of_relations(ME, ["DATABASE"], limit=1)) == [2]
            assert of_relations(ME, []) == of_relations(ME, ["LIKE"]) == of_relations(ME, ["%"]) == []

    def test_newest_compares_instants_not_clocks(self, store: Store) -> None:
        hour = timedelta(hours=1)
        put_memories(
            store, ME,
            memory(1, triple=TEA, at=(NOW + hour).astimezone()), memory(2, triple=TEA, at=NOW),
            memory(3, triple=TEA, at=NOW + timedelta(microseconds=1)),
        )  # fmt: skip
        with store.read() as unit:
            assert seqs(unit.memories.of_relations(ME, ["LIKES"])) == [1, 3, 2]

    def test_fact_lists_hold_64_unless_told(self, store: Store) -> None:
        put_memories(store, ME, *(memory(i, triple=TEA) for i in range(1, 71)))
        with store.read() as unit:
            newest = list(range(70, 6, -1))
            assert seqs(unit.memories.of_relations(ME, ["LIKES"])) == newest
            assert seqs(unit.memories.of_keys(ME, [memory(1, triple=TEA).key])) == newest
            assert len(unit.memories.of_relations(ME, ["LIKES"], limit=100)) == 70

    def test_foremost_are_the_important_then_the_fresh(self, store: Store) -> None:
        learn = [
            memory(1, importance=3, affirmed_at=later(5)), memory(2, importance=5, affirmed_at=later(1)),
            memory(3, importance=3, affirmed_at=later(9)), memory(4, importance=3, affirmed_at=later(9)),
            memory(5, importance=5, category=Category.RULE), memory(6, importance=5, **over()),
        ]  # fmt: skip
        put_memories(store, ME, *learn)
        with store.read() as unit:
            foremost = unit.memories.foremost
            categories = [c for c in Category if c is not Category.RULE]
            assert seqs(foremost(ME, categories, 9)) == [2, 4, 3, 1]
            assert seqs(foremost(ME, categories, 2)) == [2, 4]
            assert seqs(foremost(ME, [Category.RULE], 9)) == [5]
            assert foremost(ME, [], 9) == foremost(ME, categories, 0) == []

    def test_ahead_are_tasks_not_over_and_events_still_to_come(self, store: Store) -> None:
        task, event = Category.TASK, Category.EVENT
        learn = [
            memory(1, category=task), memory(2, category=task, valid_to=later(1)), memory(3, category=task, valid_to=later(9)),
            memory(4, category=event), memory(5, category=event, valid_to=later(1)),
            memory(6, category=event, valid_to=later(9), importance=5), memory(7, valid_to=later(9)),
            memory(8, category=event, valid_to=later(9), tier=Tier.ARCHIVE), memory(9, category=event, **over()),
        ]  # fmt: skip
        put_memories(store, ME, *learn)
        with store.read() as unit:
            ahead = unit.memories.ahead
            assert seqs(ahead(ME, later(1), 9)) == [6, 3, 1]
            assert seqs(ahead(ME, later(0), 9)) == [6, 5, 3, 2, 1]
            assert seqs(ahead(ME, later(1), 1)) == [6]
            assert ahead(ME, later(1), 0) == []

    def test_only_facts_are_always_on_and_found_by_key(self, store: Store) -> None:
        put_memories(store, ME, *(memory(n, triple=TEA, tier=tier) for n, tier in enumerate(Tier, 1)))
        with store.read() as unit:
            memories, key = unit.memories, fact_key(USER, "LIKES")
            assert seqs(memories.foremost(ME, [Category.PROJECT], 9)) == [2]
            assert seqs(memories.of_relations(ME, ["LIKES"])) == [2]
            assert seqs(memories.of_keys(ME, [key])) == [3, 2, 1]
            assert seqs(memories.believed(ME, [key])) == seqs(memories.listing(ME)) == [1, 2, 3, 4]
            assert seqs(memories.listing(ME, tiers=[Tier.SEMANTIC, Tier.ARCHIVE])) == [3, 4]

    def test_aging_is_narrow_and_goes_on_from_a_number(self, store: Store) -> None:
        learn = [
            memory(1, triple=TEA, tier=Tier.SEMANTIC, moved_at=later(3), low_activity=True), memory(2, **over()),
            memory(3, kept=True, valid_to=later(9)), memory(5, importance=1),
        ]  # fmt: skip
        put_memories(store, ME, *learn)
        store.write(lambda unit: unit.memories.set_heat(ME, {5: Heat(2.0, later(4)), 2: Heat(1.0, NOW)}))
        with store.read() as unit:
            told = unit.memories.aging
            assert told(ME, 0, 9) == [
                aging(learn[0], None), aging(learn[2], None), aging(learn[3], Heat(2.0, later(4))),
            ]  # fmt: skip
            assert [a.seq for a in told(ME, 1, 1)] == [3]
            assert told(ME, 5, 9) == told(ME, 2**40, 9) == told(OTHERS[0], 0, 9) == []

    @shared_store
    @given(drawn=memories())
    def test_aging_says_what_the_memory_says(self, store: Store, drawn: Memory) -> None:
        scope = fresh_scope()
        put_memories(store, scope, replace(drawn, status=Status.LIVE))
        with store.read() as unit:
            assert unit.memories.aging(scope, 0, 9) == [aging(drawn, None)]

    def test_what_a_memory_replaced_is_found_by_it(self, store: Store) -> None:
        learn = [memory(1, **over(), successor=3), memory(2, **over(Status.RETRACTED), successor=3), memory(3)]
        put_memories(store, ME, *learn, memory(4, **over(), successor=5))
        with store.read() as unit:
            assert unit.memories.replaced_by(ME, [3]) == learn[:2]
            assert seqs(unit.memories.replaced_by(ME, [5, 3, 99])) == [1, 2, 4]
            assert unit.memories.replaced_by(ME, []) == unit.memories.replaced_by(OTHERS[0], [3]) == []

    def test_listing_filters(self, store: Store) -> None:
        put_memories(
            store, ME,
            memory(4, category=Category.RULE), memory(1, category=Category.GOAL),
            memory(2, category=Category.GOAL, **over()), memory(3, category=Category.TASK, **over(Status.RETRACTED)),
        )  # fmt: skip
        with store.read() as unit:
            listing = unit.memories.listing
            assert seqs(listing(ME)) == [1, 4]
            assert seqs(listing(ME, status=None)) == [1, 2, 3, 4]
            assert seqs(listing(ME, status=Status.ENDED)) == [2]
            assert seqs(listing(ME, status=Status.RETRACTED)) == [3]
            assert seqs(listing(ME, categories=[Category.GOAL])) == [1]
            assert seqs(listing(ME, status=None, categories=[Category.GOAL, Category.TASK])) == [1, 2, 3]
            assert seqs(listing(ME, status=None, limit=2)) == [1, 2]
            assert listing(ME, limit=0) == listing(ME, categories=[Category.EVENT]) == []

    def test_containing_is_byte_for_byte(self, store: Store) -> None:
        put_memories(
            store, ME,
            memory(1, "进度 100% 完成 it's a_b"), memory(2, "进度 100 分 itXs aXb"), memory(3, "café Proxy_Pass"),
            memory(4, 'cafe\u0301 proxy_pass "hi" \\ *'), memory(5, "进度 100%", **over()),
        )  # fmt: skip
        expected = {
            "100%": [1], "a_b": [1], "'": [1], "%": [1], "é": [3], "e\u0301": [4], "proxy_pass": [4], '"hi"': [4],
            "\\": [4], "*": [4], "进度": [2, 1], "进": [2, 1], "CAF": [],
        }  # fmt: skip
        with store.read() as unit:
            containing = unit.memories.containing
            found = {needle: seqs(containing(ME, [needle], 10)) for needle in expected}
            assert seqs(containing(ME, ["café", "a_b", "nothing"], 10)) == [3, 1]
            assert seqs(containing(ME, ["a", "进"], 3)) == [4, 3, 2]
            assert containing(ME, [], 10) == []
        assert found == expected

    def test_live_lists_follow_the_changes(self, store: Store) -> None:
        first = memory(1, "数据库：MySQL", triple=MYSQL)
        put_memories(store, ME, first)
        change(store, Change(first, replace(first, **over())))
        with store.read() as unit:
            assert unit.memories.of_keys(ME, [first.key]) == unit.memories.of_relations(ME, ["DATABASE"]) == []
            assert unit.memories.listing(ME) == unit.memories.containing(ME, ["MySQL"], 5) == []
            assert seqs(unit.memories.believed(ME, [first.key])) == [1]
        moved = memory(1, "喜欢绿茶", triple=TEA)
        change(store, Change(replace(first, **over()), moved))
        with store.read() as unit:
            assert unit.memories.believed(ME, [first.key], ["mysql"]) == []
            assert unit.memories.of_relations(ME, ["DATABASE", "LIKES"]) == [moved]
            assert unit.memories.containing(ME, ["MySQL", "绿茶"], 5) == [moved]

    # ------------------------------------------------------------------ evidence

    def test_resting_on_names_memories_of_any_status(self, store: Store) -> None:
        put_memories(
            store, ME,
            memory(3, evidence=(evidence(7), evidence(8))),
            memory(1, evidence=(evidence(7, 0, 2), evidence(7, 3, 5)), **over()),
            memory(2, evidence=(evidence(9),), **over(Status.RETRACTED)), memory(4),
        )  # fmt: skip
        with store.read() as unit:
            resting_on = unit.memories.resting_on
            assert resting_on(ME, [7, 8, 9, 10]) == {7: [1, 3], 8: [3], 9: [2]}
            assert resting_on(ME, [7, 7]) == {7: [1, 3]}
            assert resting_on(ME, []) == resting_on(ME, [10]) == {}
            assert resting_on(ME, range(40_000)) == {7: [1, 3], 8: [3], 9: [2]}

    def test_what_was_counted_from_a_message_does_not_rest_on_it(self, store: Store) -> None:
        case = replace(evidence(7), mode=Mode.CASE)
        put_memories(store, ME, memory(1, evidence=(case,)), memory(2, evidence=(evidence(7),)))
        with store.read() as unit:
            assert unit.memories.resting_on(ME, [7]) == {7: [2]}
            assert unit.memories.get(ME, [1])[0].evidence == (case,)

    def test_resting_on_follows_the_changes(self, store: Store) -> None:
        first = memory(1, evidence=(evidence(7), evidence(8)))
        second = replace(first, evidence=(evidence(8), evidence(9)))
        put_memories(store, ME, first)
        change(store, Change(first, second))
        with store.read() as unit:
            assert unit.memories.resting_on(ME, [7, 8, 9]) == {8: [1], 9: [1]}
        change(store, Change(second, None))
        with store.read() as unit:
            assert unit.memories.resting_on(ME, [7, 8, 9]) == {}

    # ------------------------------------------------------------------ heat

    def test_heat_is_kept_for_memories_only(self, store: Store) -> None:
        put_memories(store, ME, memory(1), memory(2, **over()))
        warm, hot = Heat(1.5, NOW), Heat(3.25, later(7))
        store.write(lambda unit: unit.memories.set_heat(ME, {1: warm, 2: warm, 99: hot}))
        store.write(lambda unit: unit.memories.set_heat(ME, {1: hot}))
        with store.read() as unit:
            assert unit.memories.heat(ME, [1, 2, 3, 99]) == {1: hot, 2: warm}
            assert unit.memories.heat(ME, [2]) == {2: warm}
            assert unit.memories.heat(ME, []) == {}
        # The number that was ignored starts cold when a memory takes it.
        put_memories(store, ME, memory(99))
        with store.read() as unit:
            assert unit.memories.heat(ME, [99]) == {}

    def test_heat_outlives_a_change_and_goes_with_the_memory(self, store: Store) -> None:
        put_memories(store, ME, memory(1))
        store.write(lambda unit: unit.memories.set_heat(ME, {1: Heat(2.0, NOW)}))
        changed = memory(1, "改了")
        change(store, Change(memory(1), changed))
        with store.read() as unit:
            assert unit.memories.heat(ME, [1]) == {1: Heat(2.0, NOW)}
            assert unit.memories.get(ME, [1]) == [changed]
        change(store, Change(changed, None))
        with store.read() as unit:
            assert unit.memories.heat(ME, [1]) == {}

    @given(heats())
    @shared_store
    def test_any_heat_comes_back(self, store: Store, heat: Heat) -> None:
        scope = fresh_scope()
        put_memories(store, scope, memory(1))
        store.write(lambda unit: unit.memories.set_heat(scope, {1: heat}))
        with store.read() as unit:
            assert unit.memories.heat(scope, [1]) == {1: heat}

    # ------------------------------------------------------------------ scopes

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_another_scope_sees_nothing(self, store: Store, other: Scope) -> None:
        put_memories(store, ME, memory(1, triple=TEA, evidence=(evidence(1),)), memory(2, "mysql P"))
        store.write(lambda unit: unit.memories.set_heat(ME, {1: Heat(1.0, NOW)}))
        with store.read() as unit:
            self._nothing(unit, other)

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_with_the_same_numbers_stay_apart(self, store: Store, other: Scope) -> None:
        mine = memory(1, "mine", triple=TEA, evidence=(evidence(1),))
        theirs = memory(1, "theirs", triple=TEA, evidence=(evidence(1),))
        put_memories(store, ME, mine)
        put_memories(store, other, theirs)
        store.write(lambda unit: unit.memories.set_heat(other, {1: Heat(9.0, NOW)}))
        with store.read() as unit:
            for scope, one in ((ME, mine), (other, theirs)):
                held = unit.memories
                assert held.get(scope, [1]) == held.believed(scope, [one.key]) == held.listing(scope) == [one]
                assert held.of_keys(scope, [one.key]) == held.of_relations(scope, ["LIKES"]) == [one]
                assert held.containing(scope, ["e"], 9) == [one]
                assert held.resting_on(scope, [1]) == {1: [1]}
            assert unit.memories.heat(ME, [1]) == {}
        change(store, Change(theirs, None), scope=other)
        with store.read() as unit:
            assert unit.memories.listing(ME, status=None) == [mine]
            assert unit.memories.resting_on(ME, [1]) == {1: [1]}
            self._nothing(unit, other)

    def test_nothing_of_a_failed_write_is_kept(self, store: Store) -> None:
        first = memory(1, evidence=(evidence(7),))
        put_memories(store, ME, first)

        def work(unit: Unit) -> None:
            unit.memories.write(ME, [Change(first, None), *added(memory(2))])
            unit.memories.set_heat(ME, {2: Heat(1.0, NOW)})
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(work)
        with store.read() as unit:
            assert unit.memories.listing(ME, status=None) == [first]
            assert unit.memories.resting_on(ME, [7]) == {7: [1]}
            assert unit.memories.heat(ME, [2]) == {}

    def test_which_distiller_has_read_a_scope(self, store: Store, reopen: Callable[[], Store]) -> None:
        with store.read() as unit:
            assert unit.memories.distilled_by(ME) == ""
        for identity in ("00ab12cd34ef", "ffffffffffff"):
            store.write(lambda unit, name=identity: unit.memories.mark_distilled_by(ME, name))  # type: ignore[misc]
            with reopen().read() as unit:
                assert (unit.memories.distilled_by(ME), unit.memories.distilled_by(YOU)) == (identity, "")
