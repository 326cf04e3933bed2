"""The text index `native` on PostgreSQL, past what the contract holds it to: chosen, changed, locked, forgotten, moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from jiyi.assembly import open_memory
from jiyi.errors import InputError, SegmenterMismatch, StoreError
from jiyi.ports import Document, Kind, Store
from jiyi.settings import PostgresPolicy, Settings, TextIndexName
from jiyi.stores.postgres.connection import connect, place_of
from jiyi.stores.postgres.native import BASE, PART, counted, lexeme, positions, term_of
from jiyi.stores.postgres.schema import migrate_down, shipped
from jiyi.stores.postgres.store import PostgresStore, open_postgres
from jiyi.stores.postings import TermHash
from jiyi.stores.sqlite.store import open_sqlite
from tests.conftest import Clock
from tests.postgres.server import Server
from tests.postgres.stores import one_server, open_on
from tests.postgres.test_postgres_erasure import still_there
from tests.stores.facts import ME, YOU, document, failures, forget, learn
from tests.surfaces.cli import Cli

pytestmark = one_server

HELD = "SELECT count(*) FROM {} WHERE owner = %s"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = open_postgres(postgres_url, text_index="native")
    yield store
    store.close()


def held(store: PostgresStore, table: str) -> int:
    """Rows of ME in a table of a text index."""
    with store._snapshot() as unit:
        owner = unit.access.owner(ME)
        return int(unit.access.value(HELD.format(table), (owner,)))


def found(store: Store, word: str, kind: Kind = Kind.MEMORY) -> list[int]:
    with store.read() as unit:
        return [hit.seq for hit in unit.text.search(ME, kind, [(word, 1.0)], 50)]


# ---------------------------------------------------------------------------------- which index


def test_another_index_is_refused_and_named(postgres_url: str) -> None:
    open_postgres(postgres_url, text_index="postings", message_index="native").close()
    with pytest.raises(StoreError, match=r"memory texts.*postings, not by native.*jiyi reindex --text-index native"):
        open_postgres(postgres_url, text_index="native")
    with pytest.raises(StoreError, match=r"message texts.*native, not by postings.*jiyi reindex --text-index postings"):
        open_postgres(postgres_url, text_index="postings")
    store = open_postgres(postgres_url)  # One that is not named is kept.
    assert (store.info().details["memory index"], store.info().details["message index"]) == ("postings", "native")
    with pytest.raises(InputError, match="postings or native"):
        store.rebuild_text_index(memory=cast(TextIndexName, "bm42"))
    store.close()


def test_a_change_of_index_leaves_nothing_behind_and_is_followed(postgres_url: str, store: PostgresStore) -> None:
    other = open_postgres(postgres_url)
    store.write(lambda unit: learn(unit, ME, "a", "绿茶 tea"))
    assert (held(store, "native_text"), held(store, "posting")) == (2, 0)
    assert found(other, "tea") == [1]
    store.rebuild_text_index(memory="postings")
    assert (held(store, "native_text"), held(store, "posting")) == (0, 0)
    assert (found(store, "tea"), found(other, "tea")) == ([], [])
    # A program that had the database open before goes on with the index of each kind.
    for kind in (Kind.MEMORY, Kind.MESSAGE):
        other.write(lambda unit, k=kind: unit.text.add(ME, k, [document(1, "绿茶 tea")]))  # type: ignore[misc]
    assert (held(store, "native_text"), held(store, "posting")) == (1, 2)
    assert (found(store, "tea"), found(other, "tea", Kind.MESSAGE)) == ([1], [1])
    other.close()


def test_it_is_made_of_what_is_there_and_asked_for_again_after_the_way_back(
    postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    with open_on(postgres_url, tmp_path, clock) as layer:
        layer.scope("u001").remember("我住在杭州")
    reindexed(postgres_url, tmp_path, memory_index="native", message_index="native")
    with open_on(postgres_url, tmp_path, clock) as layer:
        assert layer.info().details["memory index"] == "native"
        assert [i.text for i in layer.scope("u001").recall("杭州", kinds={"memory"}).items] == ["我住在杭州"]
        assert [c for c in layer.check() if not c.ok] == []
    place = place_of(postgres_url, PostgresPolicy())
    with connect(place) as connection:
        migrate_down(connection, place, max(step.number for step in shipped() if step.number < 410), shipped())
    with pytest.raises(SegmenterMismatch, match="jiyi reindex"):
        open_on(postgres_url, tmp_path, clock)
    reindexed(postgres_url, tmp_path)
    with open_on(postgres_url, tmp_path, clock) as layer:
        assert layer.info().details["memory index"] == "postings"
        assert [i.text for i in layer.scope("u001").recall("杭州", kinds={"memory"}).items] == ["我住在杭州"]


def reindexed(url: str, folder: Path, **options: Any) -> None:
    """What `jiyi reindex` does."""
    settings = Settings(path=url, worker=False, postgres=PostgresPolicy(folder=str(folder)), **options)
    with open_memory(settings=settings, reindexing=True) as layer:
        layer.reindex()


# ---------------------------------------------------------------------------------- what is entered


@pytest.mark.parametrize("tf", [1, 2, 63, 64, 65, 255, 256, 4_095, 4_096, 262_143, 262_144, BASE**4 - 1])
def test_the_server_counts_what_positions_stand_for(postgres_url: str, tf: int) -> None:
    entered = lexeme(77, 1, 123_456_789)
    assert term_of(entered) == 123_456_789
    ours = positions(tf).split(",")
    assert counted(["".join(filter(str.isalpha, place)) for place in ours]) == tf
    with psycopg.connect(postgres_url) as connection:
        sql = (
            "SELECT ts_rank_cd('{3.814697265625e-06,0.000244140625,0.015625,1}', %s::tsvector, %s::tsquery) * 262144::float8,"
            " weights FROM unnest(%s::tsvector)"
        )
        text = f"'other':7 '{entered}':{positions(tf)}"
        rows = connection.execute(sql, (text, f"'{entered}'", f"'{entered}':{positions(tf)}")).fetchall()
    assert [(rank, counted(weights)) for rank, weights in rows] == [(tf, tf)]


def test_texts_that_are_very_long_score_as_elsewhere(store: PostgresStore, tmp_path: Path) -> None:
    texts = [
        Document(1, {f"w{i}": 1 + i % 3 for i in range(2 * PART + 5)}, 4 * PART),
        Document(2, {"w0": 300, "w1": 70_000, "x": 1}, 70_301),
        document(3, "w1 w8000 x"),
    ]
    other = open_sqlite(tmp_path / "memory.db")
    answers = []
    for each in (store, other):
        each.write(lambda unit: unit.text.add(ME, Kind.MEMORY, texts))
        with each.read() as unit:
            query = [("w0", 1.0), ("w1", 2.0), ("w8000", 1.0), ("x", 0.5)]
            words = [word for word, _ in query]
            answers.append([
                unit.text.search(ME, Kind.MEMORY, query, 9), unit.text.frequencies(ME, Kind.MEMORY, words),
                sorted(unit.text.occurrences(ME, Kind.MEMORY, words, [1, 2, 3])),
            ])  # fmt: skip
    assert answers[0] == answers[1]
    store.write(lambda unit: unit.text.remove(ME, Kind.MEMORY, texts))
    assert held(store, "native_text") == 0
    other.close()


# ---------------------------------------------------------------------------------- locks


def test_the_functions_answer_for_the_scope_that_was_entered_and_no_other(
    store: PostgresStore, postgres_url: str
) -> None:
    for scope in (ME, YOU):
        store.write(lambda unit, s=scope: learn(unit, s, "a", f"only {s.user} 暗号"))  # type: ignore[misc]
    hashed = TermHash(store.secret)
    with store._snapshot() as unit:
        mine, theirs = unit.access.owner(ME), unit.access.owner(YOU)
    assert mine is not None
    assert theirs is not None
    words = [lexeme(owner, 1, hashed("暗号")) for owner in (mine, theirs)]
    count = "SELECT lexeme, holders FROM native_count(1, %s)"
    search = "SELECT seq FROM native_search(1, %s, '{1,2}', '{1,1}', 0.5, 0.1, 1000000, 9)"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for entered, expected in ((None, [0, 0]), (mine, [1, 0]), (theirs, [0, 1])):
            connection.execute("BEGIN; SET LOCAL ROLE jiyi_app; SET LOCAL search_path TO jiyi")
            connection.execute("SELECT set_config('jiyi.owner', %s, true)", ("" if entered is None else str(entered),))
            rows: list[Any] = connection.execute(count, (words,)).fetchall()
            assert [holders for _, holders in rows] == expected
            assert connection.execute(search, (words,)).fetchall() == ([(1,)] if entered else [])
            connection.execute("COMMIT")


# ---------------------------------------------------------------------------------- damage


def test_what_changed_behind_its_back_is_found_and_mended(store: PostgresStore, postgres_url: str) -> None:
    store.write(lambda unit: [learn(unit, ME, str(i), f"事实 fact {i}") for i in range(5)])
    assert failures(store) == []
    changes = (
        "UPDATE jiyi.native_text SET terms = terms || '''1x00000000'':1' WHERE kind = 1 AND seq = 2",
        "INSERT INTO jiyi.native_text SELECT owner, kind, 99, part, len, terms FROM jiyi.native_text WHERE kind = 1 AND seq = 3",
    )
    for change in changes:
        with psycopg.connect(postgres_url) as connection:
            connection.execute(change)  # type: ignore[arg-type]
        assert "memory text index" in {check.name for check in failures(store)}
    assert [line for line in store.repair() if "taken out" in line]
    assert found(store, "fact") == [5, 4, 3, 2, 1]
    store.write(lambda unit: unit.text.remove(ME, Kind.MEMORY, [document(2, "事实 fact 1")]))
    store.write(lambda unit: unit.text.add(ME, Kind.MEMORY, [document(2, "事实 fact 1")]))
    store.repair()
    assert failures(store) == []


# ---------------------------------------------------------------------------------- forgetting


def test_what_was_entered_for_a_forgotten_word_is_gone_from_every_file(postgres: Server, store: PostgresStore) -> None:
    store.write(lambda unit: [learn(unit, ME, str(i), f"事实 {i} 留下") for i in range(40)])
    number = store.write(lambda unit: learn(unit, ME, "secret", "密码 庚辛壬癸 password"))
    with store._snapshot() as unit:
        owner = unit.access.owner(ME)
    assert owner is not None
    entered = {word: lexeme(owner, 1, TermHash(store.secret)(word)) for word in ("庚辛壬癸", "留下")}
    assert still_there(postgres, list(entered.values())) == list(entered.values())
    store.write(lambda unit: forget(unit, ME, number))
    store.purge()
    assert still_there(postgres, list(entered.values())) == [entered["留下"]]


def test_forgetting_everything_through_the_facade_empties_it(postgres_url: str, tmp_path: Path, clock: Clock) -> None:
    options: dict[str, Any] = {"memory_index": "native", "message_index": "native"}
    with open_on(postgres_url, tmp_path, clock, **options) as layer:
        me = layer.scope(ME.user)
        me.observe(
            [{"role": "user", "text": text, "id": text} for text in ("我的猫叫年糕。", "I live in Leeds.")],
            session="s1",
        )
        layer.work()
        assert [i.text for i in me.recall("年糕", kinds={"message"}).items] == ["我的猫叫年糕。"]
        me.forget(topic="猫")
        assert me.recall("年糕", kinds={"message"}).items == ()
        assert [c for c in layer.check() if not c.ok] == []
        me.forget(everything=True)
    store = open_postgres(postgres_url)
    assert held(store, "native_text") == 0
    store.close()


# ---------------------------------------------------------------------------------- moving


def test_it_is_made_again_by_a_move_there_and_back(postgres_url: str, tmp_path: Path, clock: Clock) -> None:
    jiyi = Cli(tmp_path)
    place = {"JIYI_POSTGRES__FOLDER": str(tmp_path / "beside")}
    options: dict[str, Any] = {"memory_index": "native", "message_index": "native"}
    with open_memory(jiyi.database, worker=False, clock=clock, **options) as layer:
        layer.scope("me").observe(
            [{"role": "user", "text": "我住在杭州。"}, {"role": "user", "text": "I like tea."}], session="s1"
        )
        layer.work()
    jiyi.json("migrate", "--to", postgres_url, **place)
    jiyi.json("migrate", "--from", postgres_url, "--to", str(tmp_path / "back.db"), **place)
    with (
        open_on(postgres_url, tmp_path / "beside", clock, **options) as there,
        open_memory(str(tmp_path / "back.db"), worker=False, clock=clock, **options) as back,
    ):
        for layer in (there, back):
            assert [i.text for i in layer.scope("me").recall("杭州", kinds={"message"}).items] == ["我住在杭州。"]
            assert [c for c in layer.check() if not c.ok] == []
