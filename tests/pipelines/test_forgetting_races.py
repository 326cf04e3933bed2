"""A job that another process has in hand while something is forgotten cannot bring it back (SPEC F6, O5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.plans import Actor, Verb
from jiyi.errors import PlanRefused
from jiyi.pipelines.judging import Occasion
from jiyi.ports import Unit
from tests.conftest import Clock
from tests.pipelines.test_forgetting import WORD, said, shown


def test_what_a_late_job_read_before_is_not_written_after(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "memory.db"
    with (
        open_memory(file, clock=clock, worker=False) as here,
        open_memory(file, clock=clock, worker=False) as there,
    ):
        me, store, parts = here.scope("ming"), there._store, there._parts
        said(me, clock, "I love zanzibar tea. I live in Leeds.")
        # The other process takes the job in hand and reads the message, as one does that asks a model.
        index = store.write(lambda unit: unit.jobs.claim(clock(), clock.now.replace(year=2027)))
        assert index is not None
        assert store.write(lambda unit: unit.jobs.finish(index))
        job = store.write(lambda unit: unit.jobs.claim(clock(), clock.now.replace(year=2027)))
        assert job is not None
        with store.read() as unit:
            [message] = unit.messages.get(me.user, [1])
        read = parts.distiller.distil(message, zone=clock.now.tzinfo)
        assert len(read) == 2
        # Meanwhile it is forgotten here.
        clock.advance(minutes=5)
        me.forget(topic=WORD)
        occasion = Occasion(Verb.DISTIL, Actor("model", "job"), clock(), "said in h1, session s1")

        def learn(unit: Unit) -> None:
            plan = parts.judging.all(unit, me.user, read, occasion)
            parts.gateway.apply(unit, me.user, plan)

        with pytest.raises(PlanRefused, match="bring back what was forgotten"):
            store.write(learn)
        # It cannot even end its job, so nothing that it did in that transaction is kept.
        assert not store.write(lambda unit: unit.jobs.finish(job))
        # Whoever asks first learns the rest of it.
        with store.read() as unit:
            assert [o.value for o in parts.gateway.admit(unit, me.user, read)] == []
        there.work()
        assert WORD not in shown(me)


def test_what_rests_on_a_buried_message_is_not_learnt(tmp_path: Path, clock: Clock) -> None:
    """Words of another memory are in no tombstone, but the message that they stand in is gone."""
    with open_memory(tmp_path / "memory.db", clock=clock, worker=False) as layer:
        me, parts = layer.scope("ming"), layer._parts
        said(me, clock, "I live in Leeds.")
        with layer._store.read() as unit:
            [message] = unit.messages.get(me.user, [1])
        read = parts.distiller.distil(message, zone=clock.now.tzinfo)
        layer.work()
        me.undo("p1")
        me.forget(session="s1")
        with layer._store.read() as unit:
            assert parts.gateway.admit(unit, me.user, read) == []


def test_what_a_model_has_not_read_yet_is_still_to_be_read(tmp_path: Path, clock: Clock) -> None:
    """The open segment began with a message that is gone now: it begins with the next one that is left."""
    with open_memory(tmp_path / "memory.db", clock=clock, worker=False) as layer:
        me, store = layer.scope("ming"), layer._store
        said(me, clock, "Is zanzibar far?", "And York?", "And Leeds?")
        store.write(lambda unit: unit.segments.open_at(me.user, 1))
        me.forget(topic=WORD)
        with store.read() as unit:
            assert unit.segments.open_from(me.user, "s1") == 2
        me.forget(session="s1")
        with store.read() as unit:
            assert unit.segments.open_from(me.user, "s1") is None
