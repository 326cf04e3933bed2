"""Neo4j follows the database through kills, absences, restored backups and forgetting, and nothing waits for it (SPEC G4, O3)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.assembly import open_memory
from jiyi.backends import restore_database
from jiyi.domain.memory import Category, Memory, Triple
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.errors import EngineBusy, EngineUnavailable, SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.graph.following import AWAY, BEHIND, GraphFollower
from jiyi.stores.neo4j import Neo4jEngine
from jiyi.stores.sqlite.store import open_sqlite
from jiyi.testing.contract_base import fresh_scope, memory
from jiyi.testing.embedders import ByCharacters
from tests.conftest import FULL, Clock, count
from tests.graph_engine.server import free_port
from tests.graph_engine.stores import GRAPHING, SHAPE, engine_at
from tests.graph_engine.test_same_answers import Both
from tests.properties.test_graph_properties import memories

Open = Callable[..., MemoryLayer]
TALK = ("我们的竞品是星环云。", "我们的竞品是岚图云。", "我们公司在用 AWS。")


@pytest.fixture
def open_with(tmp_path: Path, clock: Clock) -> Iterator[Open]:
    opened: list[MemoryLayer] = []

    def open_with(engine: str | None, **more: Any) -> MemoryLayer:
        path = more.pop("path", tmp_path / "memory.db")
        layer = open_memory(path, clock=clock, worker=False, synchronous="NORMAL", graph_engine=engine, **more)
        opened.append(layer)
        return layer

    yield open_with
    for layer in opened:
        layer.close()


@pytest.fixture
def away() -> str:
    """The address of a server that is down."""
    return f"bolt://127.0.0.1:{free_port()}"


def say(layer: MemoryLayer, *texts: str, user: str = "ming") -> None:
    layer.scope(user).observe([{"role": "user", "text": text} for text in texts], session="s1")
    layer.work()
    layer._clock.advance(minutes=1)  # type: ignore[attr-defined]


def held(layer: MemoryLayer, user: str = "ming") -> str:
    """All words that the engine holds of a user."""
    follower = layer._engine.follower
    assert follower is not None
    rows = layer._parts.graph_engine.ask(  # type: ignore[union-attr]
        "MATCH (n {owner: $owner}) OPTIONAL MATCH (n)-[r]->() RETURN labels(n), properties(n), type(r), properties(r)",
        {"owner": follower.owner(Scope(user))},
    )
    return repr([row for row in rows if row[0] != ["Scope"]])


def line(layer: MemoryLayer) -> str:
    [found] = [c for c in layer.check() if c.name == "graph engine"]
    return f"{found.ok} {found.detail}"


# ---------------------------------------------------------------------------------- told and asked


def test_neo4j_hears_of_everything_and_answers(open_with: Open, neo4j: str) -> None:
    layer, plain = open_with(neo4j), open_with(None)
    say(layer, *TALK)
    me, other = layer.scope("ming"), plain.scope("ming")
    status = layer.graph_engine()
    assert status is not None
    assert (status.fault, status.scopes, status.lagging, status.waiting) == ("", 1, 0, 0)
    near = me.neighbours("贵司", hops=2)
    assert near.note == ""
    assert {n.entity for n in near} >= {"星环云", "岚图云", "AWS"}
    assert near == other.neighbours("贵司", hops=2)
    assert me.match([("贵司", "竞品", "?x")]) == other.match([("贵司", "竞品", "?x")])
    assert me.paths("星环云", "AWS") == other.paths("星环云", "AWS")
    assert (me.entities(), me.derived(), me.graph()) == (other.entities(), other.derived(), other.graph())
    assert "True Neo4j at 127.0.0.1" in line(layer)
    assert "has heard of everything" in line(layer)
    assert layer.repair() == []


def test_what_was_not_told_yet_the_database_answers_and_says_so(open_with: Open, neo4j: str) -> None:
    layer = open_with(neo4j)
    say(layer, *TALK)
    me = layer.scope("ming")
    me.merge_entities("岚图云", "岚图")
    answer = me.neighbours("贵司")
    assert "岚图" in {n.entity for n in answer}
    assert answer.note == me.graph().note == BEHIND
    assert "1 of 1 users wait to be told" in line(layer)
    layer.work()
    again = me.neighbours("贵司")
    assert (again.items, again.note) == (answer.items, "")


def test_a_server_that_is_down_keeps_nothing_waiting_and_hears_of_it_later(
    open_with: Open, neo4j: str, away: str
) -> None:
    layer = open_with(neo4j)
    say(layer, *TALK)
    layer.close()
    layer = open_with(away)
    me = layer.scope("ming")
    answer = me.neighbours("贵司")
    assert {n.entity for n in answer} >= {"星环云", "岚图云"}
    assert answer.note == AWAY
    say(layer, "我们的竞品是云帆。")
    me.forget(topic="星环云")
    answer = me.neighbours("贵司")
    assert {n.entity for n in answer} >= {"云帆", "岚图云"}
    assert answer.note == BEHIND
    assert [item.text for item in me.recall("竞品").items]
    assert line(layer).startswith("False Neo4j at 127.0.0.1")
    assert "the database answers; 1 of 1 users wait to be told" in line(layer)
    with pytest.raises(EngineUnavailable):
        layer.repair()
    layer.close()
    layer = open_with(neo4j)
    assert "星环云" in held(layer)
    layer.work()
    assert "星环云" not in held(layer)
    assert "云帆" in held(layer)
    assert layer.scope("ming").neighbours("贵司").note == ""
    assert layer.repair() == []


def test_what_changed_while_no_engine_was_set_is_told_when_it_is(open_with: Open, neo4j: str) -> None:
    say(open_with(None), *TALK)
    layer = open_with(neo4j)
    layer.work()
    assert layer.scope("ming").neighbours("贵司").note == ""
    layer.close()
    plain = open_with(None)
    say(plain, "我们的竞品是云帆。")
    say(plain, "我们的竞品是东篱。", user="li")
    plain.close()
    layer = open_with(neo4j)
    assert "wait to be told" in line(layer)
    layer.work()
    assert "云帆" in held(layer)
    assert "东篱" in held(layer, "li")
    assert layer.repair() == []


def test_an_old_backup_in_the_place_of_the_database_is_followed(open_with: Open, neo4j: str, tmp_path: Path) -> None:
    layer = open_with(neo4j)
    say(layer, TALK[0])
    layer.backup(str(tmp_path / "backup.db"))
    say(layer, *TALK[1:])
    say(layer, *TALK, user="li")
    layer.close()
    restore_database(tmp_path / "backup.db", tmp_path / "memory.db", replace=True)
    layer = open_with(neo4j)
    answer = layer.scope("ming").neighbours("贵司")
    assert {n.entity for n in answer} == {"星环云"}
    layer.work()
    assert "岚图云" not in held(layer)
    assert held(layer, "li") == "[]"
    assert layer.repair() == []


def test_it_follows_postgresql_too(open_with: Open, neo4j: str, postgres_url: str) -> None:
    layer = open_with(neo4j, path=postgres_url)
    say(layer, *TALK)
    say(layer, "我们的竞品是东篱。", user="li")
    me = layer.scope("ming")
    assert {n.entity for n in me.neighbours("贵司")} == {"星环云", "岚图云", "AWS"}
    me.forget(topic="星环云")
    assert "星环云" not in held(layer)
    assert me.neighbours("贵司").note == ""
    assert "东篱" in held(layer, "li")
    assert layer.repair() == []


def test_repair_makes_right_what_somebody_else_changed(open_with: Open, neo4j: str) -> None:
    layer = open_with(neo4j)
    say(layer, *TALK)
    follower = layer._engine.follower
    assert follower is not None
    owner = follower.owner(Scope("ming"))
    engine = engine_at(neo4j)
    engine._write(lambda tx: tx.run("MATCH (e:Entity {owner: $o, name: '岚图云'}) DETACH DELETE e", o=owner).consume())
    engine.close()
    assert [told for told in layer.repair() if "told anew" in told]
    assert "岚图云" in held(layer)
    assert layer.repair() == []


# ---------------------------------------------------------------------------------- nobody else's


def test_users_tenants_and_databases_in_one_neo4j_never_mix(open_with: Open, neo4j: str, tmp_path: Path) -> None:
    layer, other = open_with(neo4j), open_with(neo4j, path=tmp_path / "other.db")
    namesake = layer.scope("ming", tenant="acme")
    say(layer, "我们的竞品是星环云。")
    say(layer, "我们的竞品是岚图云。", user="li")
    namesake.observe([{"role": "user", "text": "我们的竞品是云帆。"}], session="s1")
    say(other, "我们的竞品是东篱。")
    layer.work()

    def near(memory: Any) -> set[str]:
        answer = memory.neighbours("贵司", hops=3)
        assert answer.note == ""
        return {n.entity for n in answer}

    expected = [
        (layer.scope("ming"), "星环云"),
        (layer.scope("li"), "岚图云"),
        (namesake, "云帆"),
        (other.scope("ming"), "东篱"),
    ]
    for whose, name in expected:
        assert near(whose) == {name}
    layer.scope("ming").forget(everything=True)
    assert held(layer) == "[]"
    for whose, name in expected[1:]:
        assert near(whose) == {name}
    assert layer.repair() == other.repair() == []


HOSTILE = ["`) DETACH DELETE n //", "'}) RETURN 1 //", "$owner", "a\\u0060b", "名" * 3000]


def test_names_and_relations_change_no_statement_and_leave_no_type_behind(neo4j: str, tmp_path: Path) -> None:
    store, engine = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL"), engine_at(neo4j)
    with_both, scope = Both(store, engine), fresh_scope()
    for seq, name in enumerate(HOSTILE, 1):
        triple = Triple(name, f"绝密关系{seq}`]->() DELETE r //", "Bell")
        with_both.keep(scope, Change(None, memory(seq, category=Category.PROJECT, triple=triple)))
    for seq, relation in enumerate(("COMPETES_WITH", "WORKS_AT", "COMPETES_WITH"), len(HOSTILE) + 1):
        shipped = Triple(f"Shipped {seq}", relation, "Bell")
        with_both.keep(scope, Change(None, memory(seq, category=Category.PROJECT, triple=shipped)))
    with_both.follower.catch_up()
    with_both.same(
        scope, lambda e: (e.graph.listing(scope), e.graph.named(scope, HOSTILE), e.graph.links(scope, "Bell"))
    )
    words = engine.ask("CALL db.relationshipTypes() YIELD relationshipType AS w RETURN w", {})
    words += engine.ask("CALL db.labels() YIELD label AS w RETURN w", {})
    words += engine.ask("CALL db.propertyKeys() YIELD propertyKey AS w RETURN w", {})
    assert "绝密" not in repr(words)
    owner = {"owner": with_both.follower.owner(scope)}
    types = engine.ask("MATCH (:Entity {owner: $owner})-[r {owner: $owner}]->() RETURN type(r), count(*)", owner)
    assert sorted(types) == [["COMPETES_WITH", 2], ["RELATES", len(HOSTILE)], ["WORKS_AT", 1]]
    store.close()
    engine.close()


def test_forgetting_reaches_neo4j(open_with: Open, neo4j: str) -> None:
    layer = open_with(neo4j)
    say(layer, *TALK)
    me = layer.scope("ming")
    receipt = me.forget(topic="星环云")
    assert receipt.proof is not None
    assert receipt.proof.erased["graph"] == 1
    assert "星环云" not in held(layer)
    assert "岚图云" in held(layer)
    me.forget(everything=True)
    assert held(layer) == "[]"
    assert layer.repair() == []


# ---------------------------------------------------------------------------------- killed


KILLED = """
import os, signal, sys
from pathlib import Path
from jiyi.assembly import open_memory
from jiyi.stores import neo4j

class Killed(neo4j.Neo4jEngine):
    left = 1 << 30
    def _write(self, work):
        if Killed.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        Killed.left -= 1
        done = super()._write(work)
        if Killed.left == 0 and Killed.after:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

neo4j.Neo4jEngine = Killed

def told(path, *texts):
    with open_memory(path, worker=False, synchronous="NORMAL", graph_engine=sys.argv[2]) as layer:
        layer.scope("ming").observe([{"role": "user", "text": text} for text in texts], session="s1")
        layer.work()

def repaired(path):
    with open_memory(path, worker=False, synchronous="NORMAL", graph_engine=sys.argv[2]) as layer:
        me = layer.scope("ming")
        layer.repair()
        assert layer.repair() == []
        answer = me.neighbours("贵司", hops=2)
        assert answer.note == "", answer.note
        assert answer.items

def in_child(work, *arguments):
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

for number, step in enumerate(sys.argv[3:]):
    path = str(Path(sys.argv[1]) / f"{number}.db")
    begun, left, after = step.split(",")
    if begun == "changes":
        assert in_child(told, path, "我们的竞品是星环云。") == 0
    Killed.left, Killed.after = int(left), after == "after"
    ended = in_child(told, path, "我们的竞品是岚图云。", "我们公司在用 AWS。")
    Killed.left = 1 << 30
    assert ended == -9, (step, ended)
    assert in_child(repaired, path) == 0, step
"""


# Before each thing that the engine is told, and after the last one, when only the database has still to note it.
WHOLE = [*(f"whole,{step},before" for step in range(3)), "whole,2,after"]  # claim, put, finish
CHANGES = [*(f"changes,{step},before" for step in range(5)), "changes,4,after"]  # claim, take, put, prune, finish


def test_killed_at_any_step_of_telling_repair_makes_it_right(neo4j: str, tmp_path: Path) -> None:
    steps = [*WHOLE, *CHANGES] if FULL else [WHOLE[1], CHANGES[3], CHANGES[-1]]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), neo4j, *steps], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


class Died(BaseException):
    """As when the process is killed: nothing after it is done."""


class Dying(Neo4jEngine):
    """Dies before one of its writes, or after."""

    steps: int | None = None
    after = False

    def _write(self, work: Callable[[Any], Any]) -> Any:
        if self.steps == 0 and not self.after:
            raise Died
        done = super()._write(work)
        if self.steps == 0:
            raise Died
        if self.steps is not None:
            self.steps -= 1
        return done


@pytest.fixture(scope="module")
def dying(neo4j: str) -> Iterator[Dying]:
    with_name = engine_at(neo4j)
    engine = Dying(with_name.name, with_name._connect, None, SHAPE)
    yield engine
    engine.close()


@given(
    rounds=st.lists(
        st.tuples(memories(4), st.sets(st.integers(1, 4), max_size=2), st.integers(0, 7) | st.none(), st.booleans()),
        min_size=1,
        max_size=4,
    )
)
@settings(
    max_examples=count("graph_deaths"), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_whatever_changes_and_dies_in_between_repair_makes_the_engine_equal_to_the_truth(
    dying: Dying,
    tmp_path_factory: pytest.TempPathFactory,
    rounds: list[tuple[list[Memory], set[int], int | None, bool]],
) -> None:
    # A database of its own each time: to repair it is to look at everything that it holds.
    both, scope = (
        Both(open_sqlite(tmp_path_factory.mktemp("died") / "memory.db", synchronous="NORMAL"), dying),
        Scope("ming"),
    )
    now: dict[int, Memory] = {}
    for held, gone, steps, after in rounds:
        for m in held:
            both.keep(scope, Change(now.get(m.seq), m))
            now[m.seq] = m
        for seq in sorted(gone & now.keys()):
            both.keep(scope, Change(now.pop(seq), None))
        dying.steps, dying.after = steps, after
        with suppress(Died):
            GraphFollower(both.store, dying, GRAPHING)._tell(scope)
        dying.steps = None
    both.follower.repair()
    assert both.follower.repair() == []
    both.same(scope, lambda e: (e.graph.listing(scope), e.graph.count(scope)))
    both.store.close()
    dying.drop(both.follower.owner(scope))


def test_of_two_who_tell_at_once_the_later_goes_on(neo4j: str, tmp_path: Path) -> None:
    engine, owner, scope = engine_at(neo4j), f"two/{tmp_path.name}", Scope("ming")
    first = engine.claim(owner, scope, "v1")
    assert first is not None
    second = engine.claim(owner, scope, "v2")
    assert second is not None
    with pytest.raises(EngineBusy, match="another process tells"):
        engine.finish(owner, first, "v1")
    assert engine.version(owner) == ""
    engine.finish(owner, second, "v2")
    assert engine.version(owner) == "v2"
    assert engine.claim(owner, scope, "v3", "v1") is None
    half = engine.claim(owner, scope, "v3", "v2")
    assert half is not None
    # Half told by a process that was killed: only who knows that version goes on from there.
    assert engine.claim(owner, scope, "v9", "v2") is None
    assert engine.claim(owner, scope, "v4", "v2", {"v3"}) is not None
    engine.drop(owner)
    assert engine.owners(owner) == {}
    engine.close()


# ---------------------------------------------------------------------------------- opening


@pytest.mark.parametrize(
    "place",
    [
        "neo4j",
        "http://127.0.0.1",
        "bolt://",
        "bolt://host:port",
        "bolt://u:pw@host/db?x=1",
        "neo4j+x://host",
        "bolt://u:pw@[host",
    ],
)
def test_what_is_no_address_says_how_to_write_one(open_with: Open, place: str) -> None:
    with pytest.raises(SettingsError, match="bolt://USER:PASSWORD@HOST:PORT") as told:
        open_with(place)
    assert "pw" not in str(told.value)


def test_no_password_is_told(open_with: Open, away: str) -> None:
    layer = open_with(away.replace("://", "://neo4j:geheim@"))
    say(layer, TALK[0])
    status = layer.graph_engine()
    assert status is not None
    assert "does not answer" in status.fault
    assert "geheim" not in repr((status, line(layer), layer.scope("ming").neighbours("贵司").note))


def test_without_an_engine_there_is_nothing_to_repair(open_with: Open) -> None:
    layer = open_with(None)
    assert layer.graph_engine() is None
    with pytest.raises(SettingsError, match="graph_engine"):
        layer.repair()


def test_constraints_come_by_migration_and_a_newer_one_is_left_alone(neo4j: str) -> None:
    engine = engine_at(neo4j)
    names = {row[0] for row in engine.ask("SHOW CONSTRAINTS YIELD name", {})}
    assert names >= {"jiyi_scope", "jiyi_entity", "jiyi_name", "jiyi_told"}
    assert engine.ask("MATCH (m:JiyiMigration) RETURN m.number", {}) == [[600]]
    engine._write(lambda tx: tx.run("CREATE (:JiyiMigration {number: 9999})").consume())
    newer = engine_at(neo4j)
    with pytest.raises(EngineUnavailable):
        newer.owners("jiyi-")
    engine._write(lambda tx: tx.run("MATCH (m:JiyiMigration {number: 9999}) DELETE m").consume())
    assert newer.owners("jiyi-nobody") == {}
    engine.close()
    newer.close()


# ---------------------------------------------------------------------------------- with Chroma beside it


def test_neo4j_and_chroma_at_once_answer_what_the_database_answers(open_with: Open, neo4j: str, tmp_path: Path) -> None:
    """Article A4's composition: the graph in Neo4j, meaning in Chroma, the truth in the database."""
    with_both = open_with(neo4j, embedder=ByCharacters(), vector_engine=f"chroma:{tmp_path / 'chroma'}")
    texts = (*TALK, *(f"第{n}天风很大" for n in range(30)))
    say(with_both, *texts)
    checks: Mapping[str, str] = {c.name: c.detail for c in with_both.check()}
    assert "has heard of everything" in checks["graph engine"]
    assert "has heard of everything" in checks["vector engine"]
    me = with_both.scope("ming")
    near, found = me.neighbours("贵司", hops=2), me.recall("哪家是竞品")
    assert near.note == ""
    with_both.close()
    alone = open_with(None, embedder=ByCharacters()).scope("ming")
    assert near == alone.neighbours("贵司", hops=2)
    assert [i.id for i in found.items] == [i.id for i in alone.recall("哪家是竞品").items]
