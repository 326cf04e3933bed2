"""One user's memory and shared ones beside it, through the façade (SPEC S6)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jiyi import open_memory, open_memory_async
from jiyi.domain.access import Access, Grant, Right, parse_grant, read_grants
from jiyi.domain.scope import shared_name, shared_scope
from jiyi.errors import InputError, NotFound
from tests.conftest import Clock

TALKS = [
    ("数据库：PostgreSQL", "数据库用什么", "我对花生过敏", "花生能吃吗", "共享"),
    (
        "The database is PostgreSQL",
        "Which database do we use?",
        "I am allergic to peanuts",
        "May I eat peanuts?",
        "shared",
    ),
]


@pytest.mark.parametrize("index", ["reference", "postings", "native"])
@pytest.mark.parametrize(("team", "asked", "own", "of_me", "word"), TALKS)
def test_each_piece_says_of_which_memory_it_is(
    tmp_path: Path, index: str, team: str, asked: str, own: str, of_me: str, word: str
) -> None:
    where = "reference" if index == "reference" else tmp_path / "memory.db"
    chosen = {} if index == "reference" else {"memory_index": index, "message_index": index}
    with open_memory(where, clock=Clock(), worker=False, **chosen) as memory:
        me, ours = memory.scope("lena"), memory.shared("研发组")
        me.remember(own)
        ours.remember(team)
        both = memory.together("lena", ["研发组", "home", "研发组"])
        assert [memory.user for memory in both.shared] == [shared_scope("home"), shared_scope("研发组")]
        for question, item in ((asked, ("m1", "研发组", team)), (of_me, ("m1", None, own))):
            first = both.recall(question).items[0]
            assert (first.id, first.shared, first.text) == item
        block = both.context(asked)
        assert f"(m1@研发组 · {word})" in block.text
        assert block.read_shared == {"研发组": (1,)}
        assert own in block.text
        assert [(line.memory.id, line.shared) for line in both.profile().lines] == [("m1", None), ("m1", "研发组")]
        assert both.profile(max_chars=len(own) + 15).left_out == 1
        # A question leaves its trace with who asked it, and explains only what is theirs.
        assert ours.traces() == []
        trace = both.recall(asked).trace_id
        assert me.explain(trace).trace.query == asked
        with pytest.raises(NotFound):
            ours.explain(trace)
        memory.work()  # reads are written
        assert ours.recall(asked, read_since=Clock().now).items
        assert (len(me.ledger()), len(ours.ledger())) == (1, 1)
        ours.forget(everything=True)
        assert (len(me.memories()), both.recall(asked).items == ()) == (1, True)


def test_what_fits_as_asked_comes_before_what_fits_by_its_letters(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", clock=Clock(), worker=False) as memory:
        memory.scope("lena").remember("酒店订好了")
        memory.shared("home").remember("店在街角")
        both = memory.together("lena", ["home"])
        assert [(i.id, i.shared) for i in both.recall("酒店").items] == [("m1", None)]


def test_an_echo_of_a_shared_memory_is_learnt_by_nobody(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", clock=Clock(), worker=False) as memory:
        memory.shared("home").remember("I am allergic to walnuts")
        both, me = memory.together("lena", ["home"]), memory.scope("lena")
        block = both.context("May I eat walnuts?").text
        line = next(line for line in block.splitlines() if "walnuts" in line)
        profile = both.profile().text
        for text in (block, line, profile):
            me.observe([{"role": "user", "text": text}], session="s1")
        memory.work()
        assert me.memories(status=None) == []


def test_a_day_together_with_await(tmp_path: Path) -> None:
    async def live() -> None:
        async with open_memory_async(tmp_path / "memory.db", worker=False) as memory:
            await memory.shared("home").remember("The router is in the cupboard")
            both = memory.together("lena", ["home"])
            found = await both.recall("Where is the router?")
            assert [i.shared for i in found.items] == ["home"]
            assert "@home" in (await both.context("Where is the router?")).text
            assert (await both.own.recall("Where is the router?")).items == ()
            assert await memory.is_there(shared_scope("home"))
            assert not await memory.is_there(shared_scope("other"))

    asyncio.run(live())


@pytest.mark.parametrize("name", ["", " ", "a b", "a@b", "a:b", "a,b", "x" * 101, "a\nb", "\ud800"])
def test_a_name_that_cannot_be_one(name: str) -> None:
    with pytest.raises(InputError):
        shared_scope(name)
    assert read_grants([f"{name}:write"]) == ()


def test_grants_as_tokens_bring_them() -> None:
    team, home = Grant("team"), Grant("home", Access.WRITE)
    for value in (
        ["home:write", "team"],
        "team:read home:write",
        {"team": "read", "home": "write"},
        ["home", "home:write", "team"],
    ):
        assert read_grants(value) == (home, team)
    for nothing in (None, 7, [], "", {"team": "own"}, ["team:", ":write", 7, None], {"team": None}):
        assert read_grants(nothing) == ()
    with pytest.raises(InputError, match="NAME:write"):
        parse_grant("team:own")
    every, agent = frozenset(Right), frozenset({Right.READ, Right.WRITE, Right.DECIDE})
    assert team.rights(every) == {Right.READ}
    assert home.rights(every) == {Right.READ, Right.WRITE, Right.AUDIT, Right.DECIDE}
    assert home.rights(agent) == {Right.READ, Right.WRITE}
    assert team.rights(frozenset({Right.AUDIT})) == frozenset()
    assert shared_name(shared_scope("团队", "acme")) == "团队"
