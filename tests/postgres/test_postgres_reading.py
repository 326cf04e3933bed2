"""What is read from standbys, and what is kept in memory: never older than promised (SPEC O2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.domain.memory import Memory
from jiyi.errors import JiyiError, SettingsError, StoreLost
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Unit
from jiyi.settings import PostgresPolicy
from jiyi.stores.postgres.connection import place_of
from jiyi.stores.postgres.hot import HotScopes
from jiyi.stores.postgres.standbys import check_standbys, standbys_of
from jiyi.stores.postgres.store import PostgresStore, open_postgres
from tests.conftest import binaries_of, count
from tests.postgres.pair import Pair, pair
from tests.postgres.server import Emptied
from tests.postgres.stores import one_server, open_on
from tests.stores.facts import ME, learn

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def two() -> Iterator[Pair]:
    with pair(binaries_of("wheel")) as running:
        yield running


def opened(two: Pair, seconds: float, **policy: Any) -> PostgresStore:
    standbys = f"127.0.0.1:{two.standby.port}"
    return open_postgres(two.url, PostgresPolicy(standbys=standbys, staleness_seconds=seconds, **policy))


def texts(store: PostgresStore) -> list[str]:
    with store.read(ME) as unit:
        return [m.text for m in unit.messages.window(ME)]


def server_of(store: PostgresStore) -> str:
    """Which server a snapshot of ME comes from."""
    with store.read(ME) as unit:
        return str(unit.access.value("SHOW port"))  # type: ignore[attr-defined]


def test_own_writes_at_once_and_those_of_others_within_the_bound(two: Pair) -> None:
    """The standby is held up, so that what is read there is old."""
    writer, patient, strict = opened(two, 1000), opened(two, 1000), opened(two, 0)
    try:
        writer.write(lambda unit: learn(unit, ME, "a", "first"))
        _caught_up(two)
        standby, primary = str(two.standby.port), str(two.primary.port)
        assert (server_of(writer), server_of(patient), server_of(strict)) == (standby, standby, standby)
        two.standby.run("SELECT pg_wal_replay_pause()")
        writer.write(lambda unit: learn(unit, ME, "b", "second"))
        assert texts(writer) == texts(strict) == ["first", "second"]
        assert (server_of(writer), server_of(strict)) == (primary, primary)
        assert texts(patient) == ["first"]  # It asked the primary less than a thousand seconds ago.
        two.standby.run("SELECT pg_wal_replay_resume()")
        _caught_up(two)
        assert texts(patient) == ["first", "second"]
        assert (server_of(writer), server_of(strict)) == (standby, standby)
    finally:
        two.standby.run("SELECT pg_wal_replay_resume()")
        for store in (writer, patient, strict):
            store.close()


def _caught_up(two: Pair) -> None:
    with psycopg.connect(two.primary.url(), autocommit=True) as primary:
        [(position,)] = primary.execute("SELECT pg_current_wal_lsn()").fetchall()
    with psycopg.connect(two.standby.url(), autocommit=True) as standby:
        while standby.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (position,)).fetchone() != (True,):
            pass


def test_a_standby_that_goes_away_is_done_without(two: Pair) -> None:
    store = opened(two, 1000)
    try:
        store.write(lambda unit: learn(unit, ME, "c", "third"))
        _caught_up(two)
        assert server_of(store) == str(two.standby.port)
        with pytest.raises(StoreLost, match="try again"):
            _read_and_lose(store, two)
        # Asked again, as the verbs do: for a while without the standby.
        assert texts(store)[-1] == "third"
        assert server_of(store) == str(two.primary.port)
    finally:
        store.close()
    nobody = open_postgres(two.url, PostgresPolicy(standbys="127.0.0.1:1"))
    assert texts(nobody)[-1] == "third"
    place = standbys_of(nobody.place)
    assert place is not None
    assert [(c.name, c.ok) for c in check_standbys(place)] == [("standby 127.0.0.1:1", False)]
    nobody.close()


def _read_and_lose(store: PostgresStore, two: Pair) -> None:
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'jiyi' AND pid <> pg_backend_pid()"
    with store.read(ME) as unit:
        two.standby.run(end)
        unit.messages.window(ME)


def test_a_user_is_served_from_the_standby(two: Pair, tmp_path: Path) -> None:
    """All verbs, through the façade, while what is read is all on the standby."""
    policy = PostgresPolicy(folder=str(tmp_path), standbys=f"127.0.0.1:{two.standby.port}")
    with open_on(two.url, tmp_path, lambda: NOW, postgres=policy) as layer:
        me = layer.scope("zhou", tenant="t1")
        me.observe([{"role": "user", "text": "我住在杭州，喜欢喝龙井。"}], session="s1")
        layer.work()
        for question in ("我住在哪里", "喝什么"):
            assert me.recall(question).items
        assert "杭州" in me.context("我住在哪里").text
        me.observe([{"role": "user", "text": "我搬到上海了。"}], session="s1")
        layer.work()
        assert "上海" in me.profile().text
        assert "杭州" not in me.profile().text


@pytest.mark.parametrize(
    ("written", "hosts", "ports"),
    [("db2", "db2", "5432"), ("db2, db3:5433", "db2,db3", "5432,5433"), ("[::1]:7,[fe80::2]", "::1,fe80::2", "7,5432")],
)
def test_how_standbys_are_written(written: str, hosts: str, ports: str) -> None:
    place = standbys_of(place_of("postgresql://web:secret@db1/memory", PostgresPolicy(standbys=written)))
    assert place is not None
    assert f"host={hosts} port={ports}" in place.url.replace("'", "") or (
        f"host={hosts}" in place.url and f"port={ports}" in place.url
    )
    assert "secret" not in place.shown


def test_what_is_no_list_of_servers_is_told() -> None:
    with pytest.raises(SettingsError, match="write HOST or HOST:PORT"):
        standbys_of(place_of("postgresql://web@db1/memory", PostgresPolicy(standbys="db2;db3 x")))


# ---------------------------------------------------------------------------------- what is kept

WORDS = (
    "我住在杭州。",
    "我搬到上海了。",
    "I like tea.",
    "I don't like tea any more.",
    "我的猫叫豆豆。",
    "预算是 30 万。",
)
ACTIONS = st.one_of(
    st.tuples(st.just("observe"), st.integers(0, 1), st.sampled_from(WORDS)),
    st.tuples(st.just("correct"), st.integers(0, 1), st.sampled_from(WORDS)),
    st.tuples(st.just("forget"), st.integers(0, 1), st.sampled_from(("杭州", "tea", "豆豆"))),
    st.tuples(st.just("undo"), st.integers(0, 1), st.just("")),
    st.tuples(st.just("read"), st.integers(0, 1), st.sampled_from(("我住在哪里", "what do I like", "猫"))),
)


@one_server
@settings(max_examples=count("same_reads"), deadline=None)
@given(actions=st.lists(ACTIONS, max_size=6))
def test_what_is_kept_is_never_older_than_the_database(
    emptied: Emptied, tmp_path_factory: pytest.TempPathFactory, actions: list[Any]
) -> None:
    """Two processes and one that keeps nothing: whatever the two do, all three read the same after every step."""
    emptied.empty()
    folder, url = tmp_path_factory.mktemp("keys"), emptied.url
    with ExitStack() as stack:
        keeping = [stack.enter_context(open_on(url, folder, lambda: NOW)) for _ in range(2)]
        policy = PostgresPolicy(folder=str(folder), kept_entries=0)
        plain = stack.enter_context(open_on(url, folder, lambda: NOW, postgres=policy))
        for action, by, words in actions:
            _do(keeping[by], action, words)
            assert shown(keeping[0]) == shown(keeping[1]) == shown(plain)


def _do(layer: MemoryLayer, action: str, words: str) -> None:
    me = layer.scope("zhou")
    held = me.memories()
    if action == "observe":
        me.observe([{"role": "user", "text": words}], session="s1")
        layer.work()
    elif action == "correct" and held:
        me.correct(held[-1].id, words)
    elif action == "forget":
        me.forget(topic=words)
    elif action == "undo" and (plans := [e for e in me.ledger() if e.plan.undoes is None and not e.forgotten]):
        try:
            me.undo(f"p{plans[-1].seq}")
        except JiyiError:
            return  # it was undone already
    elif action == "read":
        me.recall(words)


def shown(layer: MemoryLayer) -> tuple[object, ...]:
    me = layer.scope("zhou")
    found = me.recall("我住在哪里 tea 猫 预算")
    return (
        [(i.id, i.text) for i in found.items], me.context("我住在哪里").text, me.profile().text, _plain(me.memories(status=None)),
        me.history().messages, me.summaries(),
    )  # fmt: skip


def _plain(memories: list[Memory]) -> list[tuple[object, ...]]:
    return [(m.id, m.text, m.status, m.evidence, m.valid_to) for m in memories]


@one_server
def test_a_snapshot_that_is_older_keeps_to_itself(postgres_url: str) -> None:
    store, other = open_postgres(postgres_url), open_postgres(postgres_url)
    store.write(lambda unit: learn(unit, ME, "a", "first"))
    assert [m.text for m in _messages(store)] == ["first"]
    with store.read(ME) as unit:
        assert unit.messages.last_seq(ME) == 1
        other.write(lambda unit: learn(unit, ME, "b", "second"))
        assert [m.text for m in _of(unit)] == ["first"]
    assert [m.text for m in _messages(store)] == ["first", "second"]
    store.close()
    other.close()


def _messages(store: PostgresStore) -> list[Any]:
    with store.read(ME) as unit:
        return _of(unit)


def _of(unit: Unit) -> list[Any]:
    return unit.messages.get(ME, range(1, unit.messages.last_seq(ME) + 1))


def test_as_much_is_kept_as_there_is_room_for() -> None:
    hot = HotScopes(entries=10, seconds=60)
    for owner in range(5):
        hot.kept(owner, 1).what("memory").update(dict.fromkeys(range(4)))
    hot.kept(4, 1)
    assert [hot.kept(owner, 1).size for owner in (3, 4)] == [4, 4]
    assert hot.kept(0, 1).size == 0
    assert hot.kept(4, 2).size == 0
    hot.kept(4, 2).what("memory")[1] = None
    assert hot.kept(4, 1).size == 0  # an older snapshot
    assert hot.kept(4, 2).size == 1
    hot.drop([4])
    assert hot.kept(4, 2).size == 0
    gone = HotScopes(entries=10, seconds=0)
    gone.kept(1, 1).what("memory")[1] = None
    assert gone.kept(2, 1).size == gone.kept(1, 1).size == 0
