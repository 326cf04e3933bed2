"""What `ports.Messages` promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.encoding import micros
from jiyi.domain.fusion import Place
from jiyi.domain.memory import IncomingMessage, Message, Role
from jiyi.domain.scope import Scope
from jiyi.errors import ConflictingMessage, InputError
from jiyi.ports import SessionInfo, Store, Unit
from jiyi.testing.contract_base import (
    ME,
    NOW,
    OTHERS,
    Contract,
    blot,
    fresh_scope,
    later,
    message,
    put_messages,
    shared_store,
)
from jiyi.testing.strategies import CHINESE, HOSTILE, incoming_messages


def stored(seq: int, incoming: IncomingMessage) -> Message:
    return Message(
        seq, incoming.id, incoming.session, incoming.role, incoming.text, incoming.at, incoming.name, incoming.labels
    )


def seqs(messages: Sequence[Message]) -> list[int]:
    return [m.seq for m in messages]


def forget(store: Store, seq: int, scope: Scope = ME) -> None:
    store.write(lambda unit: blot(unit, scope, seq))


class MessagesContract(Contract):
    # ------------------------------------------------------------------ add

    def test_messages_are_numbered_in_the_given_order(self, store: Store) -> None:
        batch = [message("b", at=later(9)), message("a", at=later(1)), message("c", at=later(5))]
        answer = store.write(lambda unit: unit.messages.add(ME, batch))
        assert answer == [(stored(1, batch[0]), True), (stored(2, batch[1]), True), (stored(3, batch[2]), True)]
        assert put_messages(store, ME, message("d")) == [4]

    def test_an_empty_batch_changes_nothing(self, store: Store) -> None:
        assert store.write(lambda unit: unit.messages.add(ME, [])) == []
        with store.read() as unit:
            assert unit.messages.last_seq(ME) == 0

    def test_every_field_comes_back(self, store: Store) -> None:
        batch = [
            message("a", "李明说他负责华东区", role=Role.OTHER, name="李明", labels={"channel": "微信", "run": "7"}),
            message("b", "", role=Role.TOOL, session="会话 2"),
            *(message(f"role-{role}", role=role) for role in Role),
        ]
        put_messages(store, ME, *batch)
        with store.read() as unit:
            assert unit.messages.get(ME, range(1, 20)) == [stored(i, m) for i, m in enumerate(batch, 1)]

    @pytest.mark.parametrize("text", CHINESE + HOSTILE)
    def test_text_comes_back_to_the_letter(self, store: Store, text: str) -> None:
        put_messages(store, ME, message("a", text))
        with store.read() as unit:
            assert unit.messages.by_id(ME, "a") == stored(1, message("a", text))

    @given(st.lists(incoming_messages(), max_size=5, unique_by=lambda m: m.id))
    @shared_store
    def test_any_message_comes_back(self, store: Store, batch: list[IncomingMessage]) -> None:
        scope = fresh_scope()
        numbers = put_messages(store, scope, *batch)
        assert numbers == list(range(1, len(batch) + 1))
        with store.read() as unit:
            found = unit.messages.get(scope, numbers)
            assert found == [stored(i, m) for i, m in enumerate(batch, 1)]
            assert [m.at.utcoffset() for m in found] == [m.at.utcoffset() for m in batch]
            assert [unit.messages.by_id(scope, m.id) for m in batch] == found

    @pytest.mark.parametrize("minutes", [0, 480, -210, 345, 840, -720])
    def test_an_instant_keeps_its_offset_and_its_microseconds(self, store: Store, minutes: int) -> None:
        at = datetime(2026, 3, 1, 23, 59, 59, 999999, tzinfo=timezone(timedelta(minutes=minutes)))
        put_messages(store, ME, message("a", at=at))
        with store.read() as unit:
            found = unit.messages.window(ME)[0].at
        assert found == at
        assert found.utcoffset() == timedelta(minutes=minutes)
        assert found.replace(tzinfo=None) == at.replace(tzinfo=None)

    def test_a_known_id_with_the_same_text_changes_nothing(self, store: Store) -> None:
        first = message("a", name="李明")
        put_messages(store, ME, first, message("b"))
        again = replace(first, at=later(5), session="s9", role=Role.TOOL, name=None)
        answer = store.write(lambda unit: unit.messages.add(ME, [message("c"), again]))
        assert answer == [(stored(3, message("c")), True), (stored(1, first), False)]
        with store.read() as unit:
            assert unit.messages.by_id(ME, "a") == stored(1, first)
            assert unit.messages.last_seq(ME) == 3

    def test_the_same_message_twice_in_one_batch_is_stored_once(self, store: Store) -> None:
        answer = store.write(lambda unit: unit.messages.add(ME, [message("a"), message("a"), message("b")]))
        assert answer == [
            (stored(1, message("a")), True),
            (stored(1, message("a")), False),
            (stored(2, message("b")), True),
        ]

    @pytest.mark.parametrize("other", ["x", "我们用 PostgreSQL ", "", "我们用 postgresql"])
    def test_a_known_id_with_another_text_is_refused(self, store: Store, other: str) -> None:
        put_messages(store, ME, message("a"))
        with pytest.raises(ConflictingMessage, match="'a'") as raised:
            put_messages(store, ME, message("new"), message("a", other), message("newer"))
        assert raised.value.message_id == "a"
        with store.read() as unit:
            assert unit.messages.get(ME, range(9)) == [stored(1, message("a"))]
            assert unit.messages.by_id(ME, "new") is None

    def test_a_refused_batch_leaves_nothing_even_where_the_caller_goes_on(self, store: Store) -> None:
        put_messages(store, ME, message("a"))

        def work(unit: Unit) -> None:
            with pytest.raises(ConflictingMessage):
                unit.messages.add(ME, [message("new"), message("a", "x")])
            assert unit.messages.by_id(ME, "new") is None
            unit.messages.add(ME, [message("b")])

        store.write(work)
        with store.read() as unit:
            assert unit.messages.get(ME, range(9)) == [stored(1, message("a")), stored(2, message("b"))]

    def test_a_batch_that_contradicts_itself_is_refused(self, store: Store) -> None:
        with pytest.raises(ConflictingMessage):
            put_messages(store, ME, message("a"), message("b"), message("a", "x"))
        with store.read() as unit:
            assert unit.messages.last_seq(ME) == 0

    def test_ids_are_compared_to_the_letter(self, store: Store) -> None:
        ids = ["a", "A", "é", "e\u0301", "%", "_", "a ", "a'"]
        assert put_messages(store, ME, *(message(i, f"text of {i}") for i in ids)) == list(range(1, len(ids) + 1))
        with store.read() as unit:
            assert [unit.messages.by_id(ME, i) for i in ids] == unit.messages.get(ME, range(20))

    # ------------------------------------------------------------------ read

    def test_what_is_not_there_gives_nothing(self, store: Store) -> None:
        with store.read() as unit:
            self._nothing(unit, ME)

    def _nothing(self, unit: Unit, scope: Scope) -> None:
        messages = unit.messages
        assert messages.get(scope, [1, 2]) == []
        assert messages.by_id(scope, "a") is None
        assert messages.window(scope) == []
        assert messages.after_seq(scope, 0, 10) == []
        assert messages.last_seq(scope) == 0
        assert messages.containing(scope, ["P"], 10) == []
        assert messages.sessions(scope) == []

    def test_get_gives_what_exists_by_number(self, store: Store) -> None:
        put_messages(store, ME, *(message(i) for i in "abc"))
        with store.read() as unit:
            assert seqs(unit.messages.get(ME, [3, 1, 99, 3, 0, -1])) == [1, 3]
            assert unit.messages.get(ME, []) == []
            assert seqs(unit.messages.get(ME, range(40_000))) == [1, 2, 3]

    def test_the_window_is_ordered_by_instant_then_number(self, store: Store) -> None:
        put_messages(store, ME, message("1", at=later(5)), message("2", at=later(1)), message("3", at=later(5)))
        # 03:00 UTC comes after 09:00 in Shanghai, whatever the clock on the wall says.
        put_messages(store, ME, message("4", at=datetime(2026, 3, 1, 3, 0, tzinfo=UTC)))
        with store.read() as unit:
            assert seqs(unit.messages.window(ME)) == [2, 1, 3, 4]

    def test_the_window_includes_since_and_excludes_until(self, store: Store) -> None:
        put_messages(store, ME, *(message(str(i), at=later(i)) for i in range(5)))
        one = timedelta(microseconds=1)
        with store.read() as unit:
            window = unit.messages.window
            assert seqs(window(ME, since=later(1), until=later(3))) == [2, 3]
            assert seqs(window(ME, since=later(1) + one, until=later(3) + one)) == [3, 4]
            assert seqs(window(ME, since=later(1).astimezone(UTC))) == [2, 3, 4, 5]
            assert seqs(window(ME, until=later(1))) == [1]
            assert window(ME, since=later(3), until=later(1)) == []

    def test_the_window_goes_on_after_and_before_a_message(self, store: Store) -> None:
        put_messages(store, ME, *(message(str(i), at=later(i // 2)) for i in range(6)))
        with store.read() as unit:
            window = unit.messages.window
            assert seqs(window(ME, after=(later(1), 3))) == [4, 5, 6]
            assert seqs(window(ME, after=(later(1), 4))) == [5, 6]
            assert seqs(window(ME, before=(later(1), 4))) == [1, 2, 3]
            assert seqs(window(ME, before=(later(1), 3))) == [1, 2]
            assert seqs(window(ME, after=(later(0), 1), before=(later(2), 6))) == [2, 3, 4, 5]
            assert seqs(window(ME, after=(later(0), 1), since=later(1), limit=2)) == [3, 4]
            # The place need not be one where a message is.
            assert seqs(window(ME, after=(later(0.5), 99))) == [3, 4, 5, 6]
            assert seqs(window(ME, before=(later(1), 0))) == [1, 2]

    def test_the_window_gives_the_first_or_the_last(self, store: Store) -> None:
        put_messages(store, ME, *(message(str(i), at=later(-i)) for i in range(60)))
        with store.read() as unit:
            window = unit.messages.window
            assert seqs(window(ME, limit=3)) == [60, 59, 58]
            assert seqs(window(ME, limit=3, latest=True)) == [3, 2, 1]
            assert seqs(window(ME, limit=2, latest=True, before=(later(0), 1))) == [3, 2]
            assert seqs(window(ME, limit=99, latest=True)) == list(range(60, 0, -1))
            assert len(window(ME)) == 50
            assert window(ME, limit=0) == window(ME, limit=0, latest=True) == []

    def test_the_window_looks_at_one_session(self, store: Store) -> None:
        put_messages(store, ME, *(message(str(i), session=("s1", "S1", "s")[i % 3], at=later(i)) for i in range(6)))
        with store.read() as unit:
            assert seqs(unit.messages.window(ME, session="s1")) == [1, 4]
            assert seqs(unit.messages.window(ME, session="s1", latest=True, limit=1)) == [4]
            assert seqs(unit.messages.window(ME, session="s1", since=later(1))) == [4]
            assert unit.messages.window(ME, session="%") == []

    def test_after_a_number_come_the_next_ones(self, store: Store) -> None:
        put_messages(store, ME, *(message(str(i), at=later(-i)) for i in range(5)))
        with store.read() as unit:
            assert seqs(unit.messages.after_seq(ME, 2, 10)) == [3, 4, 5]
            assert seqs(unit.messages.after_seq(ME, 0, 2)) == [1, 2]
            assert unit.messages.after_seq(ME, 5, 10) == []
            assert unit.messages.last_seq(ME) == 5

    def test_places_tell_where_messages_stand(self, store: Store) -> None:
        put_messages(
            store, ME,
            message("1", "昨天去哪儿了？", name="李明"), message("2", "The pool. And you?\n:)", session="s2", at=later(1)),
            message("3", "? is what I typed, and then so much more than that"), message("4", "gone"),
        )  # fmt: skip
        forget(store, 4)
        expected = [
            Place(1, "s1", "李明", micros(NOW), True, 21), Place(2, "s2", "user", micros(later(1)), True, 21),
            Place(3, "s1", "user", micros(NOW), False, 50),
        ]  # fmt: skip
        with store.read() as unit:
            assert unit.messages.places(ME, [3, 1, 2, 4, 99, 1]) == expected
            assert unit.messages.places(ME, []) == [] == unit.messages.places(OTHERS[0], [1])

    def test_containing_is_byte_for_byte(self, store: Store) -> None:
        put_messages(
            store, ME,
            message("1", "进度 100% 完成 it's a_b"), message("2", "进度 100 分 itXs aXb"), message("3", "café Proxy_Pass"),
            message("4", "cafe\u0301 proxy_pass"), message("5", 'say "hi" \\ * [a-z]'), message("6", "库存超卖"),
        )  # fmt: skip
        expected = {
            "100%": [1], "a_b": [1], "'": [1], "%": [1], "é": [3], "e\u0301": [4], "proxy_pass": [4], "Proxy": [3],
            '"hi"': [5], "\\": [5], "*": [5], "[a-z]": [5], "a-z": [5], "超卖": [6], "卖": [6], "进度": [2, 1], "XX": [],
            "超 卖": [], "CAF": [],
        }  # fmt: skip
        with store.read() as unit:
            found = {needle: seqs(unit.messages.containing(ME, [needle], 10)) for needle in expected}
        assert found == expected

    def test_containing_gives_the_newest_numbers_of_any_needle(self, store: Store) -> None:
        put_messages(store, ME, *(message(str(i), f"第{i}句", at=later(-i)) for i in range(1, 7)))
        with store.read() as unit:
            containing = unit.messages.containing
            assert seqs(containing(ME, ["第2句", "第5句", "第", "第2句"], 10)) == [6, 5, 4, 3, 2, 1]
            assert seqs(containing(ME, ["第2句", "nothing", "第5句"], 10)) == [5, 2]
            assert seqs(containing(ME, ["第"], 2)) == [6, 5]
            assert containing(ME, [], 10) == []

    def test_sessions_come_by_their_last_instant(self, store: Store) -> None:
        put_messages(
            store, ME,
            message("1", session="old", at=later(8)), message("2", session="new", at=later(3)),
            message("3", session="old", at=later(0)), message("4", session="new", at=later(9)),
            message("5", session="mid", at=later(8.5)),
        )  # fmt: skip
        expected = [
            SessionInfo("new", later(3), later(9), 2),
            SessionInfo("mid", later(8.5), later(8.5), 1),
            SessionInfo("old", later(0), later(8), 2),
        ]
        with store.read() as unit:
            assert unit.messages.sessions(ME) == expected
            assert unit.messages.sessions(ME, limit=2) == expected[:2]

    # ------------------------------------------------------------------ forgetting

    def test_a_text_can_be_overwritten(self, store: Store) -> None:
        put_messages(store, ME, message("a", "我的电话是 138"), message("b"))
        store.write(lambda unit: blot(unit, ME, 1, "我的电话是 ███"))
        expected = replace(stored(1, message("a", "我的电话是 ███")), altered=True)
        with store.read() as unit:
            assert unit.messages.get(ME, [1]) == [unit.messages.by_id(ME, "a")] == [expected]
            assert unit.messages.window(ME)[0] == unit.messages.after_seq(ME, 0, 1)[0] == expected
            assert unit.messages.containing(ME, ["138"], 9) == []
            assert unit.messages.containing(ME, ["███"], 9) == [expected]
        # An old source that still holds the whole text brings nothing back, and is no error.
        again = store.write(lambda unit: unit.messages.add(ME, [message("a", "我的电话是 138")]))
        assert again == [(expected, False)]

    def test_a_digest_takes_the_place_of_what_was_said(self, store: Store, reopen: Callable[[], Store]) -> None:
        put_messages(store, ME, message("a", "昨天去了趟医院", name="李明", labels={"app": "微信"}), message("b"))
        store.write(lambda unit: blot(unit, ME, 1, "医院", digest=True))
        expected = replace(stored(1, message("a", "医院")), altered=True, digest=True)
        for handle in (store, reopen()):
            with handle.read() as unit:
                assert unit.messages.get(ME, [1]) == [unit.messages.by_id(ME, "a")] == [expected]
                assert unit.messages.window(ME)[0] == unit.messages.after_seq(ME, 0, 1)[0] == expected
                assert unit.messages.containing(ME, ["昨天"], 9) == []
        assert store.write(lambda unit: unit.messages.add(ME, [message("a", "昨天去了趟医院")])) == [(expected, False)]
        other = fresh_scope()
        store.write(lambda unit: unit.messages.restore(other, [expected]))
        with store.read() as unit:
            assert unit.messages.get(other, [1]) == [expected]

    def test_a_forgotten_message_is_given_only_by_number_and_id(self, store: Store) -> None:
        put_messages(
            store, ME,
            message("a", "secret one", at=later(1)), message("b", "secret two", at=later(2)),
            message("c", "secret three", at=later(3), session="s2"),
        )  # fmt: skip
        forget(store, 1)
        forget(store, 3)
        tombstone = replace(stored(1, message("a", "", at=later(1))), forgotten=True, altered=True)
        with store.read() as unit:
            assert unit.messages.get(ME, [1]) == [unit.messages.by_id(ME, "a")] == [tombstone]
            assert seqs(unit.messages.window(ME)) == [2]
            assert seqs(unit.messages.window(ME, latest=True)) == [2]
            assert unit.messages.window(ME, session="s2") == []
            assert seqs(unit.messages.after_seq(ME, 0, 10)) == [2]
            assert seqs(unit.messages.containing(ME, ["secret"], 10)) == [2]
            assert unit.messages.sessions(ME) == [SessionInfo("s1", later(2), later(2), 1)]
            assert unit.messages.last_seq(ME) == 3
        assert put_messages(store, ME, message("d")) == [4]

    @pytest.mark.parametrize("text", ["secret one", "another", ""])
    def test_a_forgotten_message_does_not_come_back(self, store: Store, text: str) -> None:
        put_messages(store, ME, message("a", "secret one"))
        forget(store, 1)
        tombstone = replace(stored(1, message("a", "")), forgotten=True, altered=True)
        answer = store.write(lambda unit: unit.messages.add(ME, [message("a", text), message("b")]))
        assert answer == [(tombstone, False), (stored(2, message("b")), True)]
        with store.read() as unit:
            assert unit.messages.by_id(ME, "a") == tombstone
            assert seqs(unit.messages.window(ME)) == [2]

    # ------------------------------------------------------------------ scopes

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_another_scope_sees_nothing(self, store: Store, other: Scope) -> None:
        put_messages(store, ME, message("a"))
        with store.read() as unit:
            self._nothing(unit, other)

    # ------------------------------------------------------------------ restore

    @given(st.lists(incoming_messages(), max_size=5, unique_by=lambda m: m.id), st.data())
    @shared_store
    def test_restored_messages_are_as_they_were(
        self, store: Store, batch: list[IncomingMessage], data: st.DataObject
    ) -> None:
        numbers = sorted(data.draw(st.sets(st.integers(1, 99), min_size=len(batch), max_size=len(batch))))
        states = st.sampled_from([(False, False), (False, True), (True, True)])
        messages = []
        for number, incoming in zip(numbers, batch, strict=True):
            forgotten, altered = data.draw(states)
            messages.append(replace(stored(number, incoming), forgotten=forgotten, altered=altered))
        scope = fresh_scope()
        store.write(lambda unit: unit.messages.restore(scope, messages))
        with store.read() as unit:
            found = unit.messages.get(scope, range(1, 100))
            assert found == messages
            assert [m.at.utcoffset() for m in found] == [m.at.utcoffset() for m in messages]
            assert unit.messages.after_seq(scope, 0, 99) == [m for m in messages if not m.forgotten]
            assert unit.messages.last_seq(scope) == max(numbers, default=0)
        new = message("x" * 201)
        assert put_messages(store, scope, new) == [max(numbers, default=0) + 1]

    @pytest.mark.parametrize(
        "given_",
        [
            [stored(1, message("new"))],  # that number is taken
            [stored(4, message("new")), stored(4, message("newer"))],
            [stored(5, message("new")), stored(4, message("newer"))],
            [stored(4, message("a"))],  # that id is taken
            [stored(4, message("new")), stored(5, message("new"))],
        ],
    )
    def test_a_number_or_an_id_is_not_restored_twice(self, store: Store, given_: list[Message]) -> None:
        put_messages(store, ME, message("a"), message("b"))
        with pytest.raises(InputError):
            store.write(lambda unit: unit.messages.restore(ME, given_))
        with store.read() as unit:
            assert unit.messages.get(ME, range(9)) == [stored(1, message("a")), stored(2, message("b"))]

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_with_the_same_numbers_and_ids_stay_apart(self, store: Store, other: Scope) -> None:
        mine, theirs = message("a", "mine P"), message("a", "theirs P", at=later(3))
        assert put_messages(store, ME, mine) == put_messages(store, other, theirs) == [1]
        with store.read() as unit:
            for scope, incoming in ((ME, mine), (other, theirs)):
                expected = [stored(1, incoming)]
                assert unit.messages.get(scope, [1]) == [unit.messages.by_id(scope, "a")] == expected
                assert unit.messages.window(scope) == unit.messages.after_seq(scope, 0, 9) == expected
                assert unit.messages.containing(scope, ["P"], 9) == expected
                assert unit.messages.sessions(scope) == [SessionInfo("s1", incoming.at, incoming.at, 1)]
        forget(store, 1, other)
        with store.read() as unit:
            assert unit.messages.window(ME) == [stored(1, mine)]
            assert unit.messages.window(other) == []

    def test_nothing_of_a_failed_write_is_kept(self, store: Store) -> None:
        put_messages(store, ME, message("a", at=NOW))

        def work(unit: Unit) -> None:
            unit.messages.add(ME, [message("b")])
            blot(unit, ME, 1)
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(work)
        with store.read() as unit:
            assert unit.messages.get(ME, range(9)) == [stored(1, message("a"))]
        assert put_messages(store, ME, message("b")) == [2]
