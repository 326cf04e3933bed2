"""Periodic work: waits outside the queues, becomes a job when it is due, costs idle scopes nothing (SPEC O5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.plans import Verb
from jiyi.domain.scope import Scope
from jiyi.jobs import Handler, Runner
from jiyi.ports import Job, Store, Unit
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import JobPolicy
from jiyi.stores.reference import open_reference
from jiyi.stores.sqlite.connection import connect
from jiyi.stores.sqlite.schedule import TAKE
from jiyi.stores.sqlite.store import open_sqlite
from tests.conftest import Clock

LI, WANG = Scope("li"), Scope("wang")


@pytest.fixture(params=["reference", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store: Store = open_reference() if request.param == "reference" else open_sqlite(tmp_path / "memory.db")
    yield store
    store.close()


def runner(store: Store, clock: Clock, **handlers: Handler) -> Runner:
    return Runner(store, handlers, clock, JobPolicy())


def test_nightly_work_runs_each_night_and_not_before(store: Store) -> None:
    clock, ran = Clock(), list[datetime]()

    def nightly(unit: Unit, job: Job, now: datetime) -> None:
        ran.append(now)
        unit.schedule.put(job.scope, "nightly", now + timedelta(days=1))

    work = runner(store, clock, nightly=nightly)
    store.write(lambda unit: unit.schedule.put(LI, "nightly", clock.now + timedelta(hours=3)))
    assert work.run_until_idle() == 0
    for hours in (2, 1, 23, 1, 24):
        clock.now += timedelta(hours=hours)
        work.run_until_idle()
    assert [(at - ran[0]) // timedelta(hours=1) for at in ran] == [0, 24, 48]


def test_what_waits_for_its_night_holds_nobody_up(store: Store) -> None:
    clock, ran = Clock(), list[str]()
    note: Handler = lambda unit, job, now: ran.append(job.kind)  # noqa: E731
    work = runner(store, clock, nightly=note, distil=note)

    def queue(unit: Unit) -> None:
        unit.schedule.put(LI, "nightly", clock.now + timedelta(hours=3))
        unit.jobs.put(LI, "distil", {}, clock.now)

    store.write(queue)
    work.run_until_idle()
    assert ran == ["distil"]
    with store.read() as unit:
        assert unit.jobs.counts(LI, clock.now).waiting == 0


def test_what_fails_is_tried_again_and_given_up_like_any_job(store: Store) -> None:
    clock = Clock()

    def broken(unit: Unit, job: Job, now: datetime) -> None:
        raise ZeroDivisionError

    work = runner(store, clock, nightly=broken)
    store.write(lambda unit: unit.schedule.put(LI, "nightly", clock.now))
    for _ in range(JobPolicy().attempts):
        assert work.run_until_idle() == 1
        clock.now += timedelta(days=2)
    assert work.run_until_idle() == 0
    with store.read() as unit:
        assert [(d.scope, d.kind) for d in unit.jobs.dead()] == [(LI, "nightly")]


def test_many_scopes_due_in_one_night_all_run_once(store: Store) -> None:
    clock, ran = Clock(), list[Scope]()
    work = runner(store, clock, nightly=lambda unit, job, now: ran.append(job.scope))
    scopes = [Scope(f"u{n}") for n in range(150)]

    def put(unit: Unit) -> None:
        for scope in scopes:
            unit.schedule.put(scope, "nightly", clock.now)

    store.write(put)
    assert work.run_until_idle() == 150
    assert sorted(ran, key=str) == sorted(scopes, key=str)
    assert work.run_until_idle() == 0


def test_what_one_scope_has_queued_can_be_done_alone(store: Store) -> None:
    """Neither what comes round by itself nor what others wait for."""
    clock, ran = Clock(), list[tuple[Scope, str]]()
    note: Handler = lambda unit, job, now: ran.append((job.scope, job.kind))  # noqa: E731
    work, other = runner(store, clock, nightly=note, distil=note), Scope("other")

    def queue(unit: Unit) -> None:
        for scope in (other, LI):
            unit.schedule.put(scope, "nightly", clock.now)
            unit.jobs.put(scope, "distil", {}, clock.now)

    store.write(queue)
    assert work.run_until_idle(scope=LI) == 1
    assert ran == [(LI, "distil")]
    assert work.run_until_idle(scope=Scope("nobody")) == 0
    assert work.run_until_idle() == 3


VERBS: dict[str, Callable[[ScopedMemory, Path], object]] = {
    "forget": lambda me, _: me.forget(memory="m1"),
    "forget, seen first": lambda me, _: me.forget(topic="Leeds", dry_run=True),
    "end": lambda me, _: me.end("s1"),
    "export": lambda me, folder: me.export(folder / "me.zip"),
    "write profile": lambda me, folder: me.write_profile(folder / "USER.md"),
    "redistil": lambda me, _: me.redistil(),
    "pause": lambda me, _: me.pause(),
    "minimal": lambda me, _: me.retention("minimal", past=True),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_reads_what_its_user_said_and_does_nothing_else(verb: str, tmp_path: Path) -> None:
    """Whoever asks for one thing does not wait for the talk of others, nor set off upkeep that is due (SPEC W1, O5)."""
    clock = Clock()
    with open_memory("reference", worker=False, clock=clock) as layer:
        me, hong = layer.scope("ming"), layer.scope("hong")
        for each in (me, hong):
            each.observe([{"role": "user", "text": "I live in Leeds."}], session="s1")
        layer.work()
        clock.advance(days=100)
        for each in (me, hong):
            each.observe([{"role": "user", "text": "我喜欢绿茶。"}], session="s2")
        before = hong.ledger(), hong.memories(status=None)
        VERBS[verb](me, tmp_path)
        assert (hong.ledger(), hong.memories(status=None)) == before
        verbs = [entry.plan.verb for entry in me.ledger()]
        assert (verbs.count(Verb.DISTIL), verbs.count(Verb.UPKEEP)) == (2, 0)
        layer.work()
        assert "绿茶" in {m.value for m in hong.memories()}
        assert Verb.UPKEEP in {entry.plan.verb for entry in hong.ledger()}


def test_looking_for_due_work_reads_what_is_due_and_no_idle_scope(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db")
    store.write(lambda unit: unit.schedule.put(LI, "nightly", Clock().now))
    store.close()
    with closing(connect(tmp_path / "memory.db")) as connection:
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {TAKE}", (0, 9))]
    assert steps == [
        "SEARCH s USING COVERING INDEX schedule_due (due_at<?)",
        "CORRELATED SCALAR SUBQUERY 1", "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)",  # whether it is paused
        "SEARCH owner USING INTEGER PRIMARY KEY (rowid=?)",
    ]  # fmt: skip
