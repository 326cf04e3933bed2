"""Visitors on PostgreSQL, where a unit enters one scope after another: the visitor's, and the user's (SPEC S3)."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Clock
from tests.postgres.stores import one_server, open_on


@one_server
def test_a_visitor_is_linked_and_dies(postgres_url: str, tmp_path: Path, clock: Clock) -> None:
    with open_on(postgres_url, tmp_path, clock) as memory:
        visitor = memory.open_visitor(tenant="acme", fingerprint="device 7")
        assert memory.open_visitor(tenant="acme", fingerprint="device 7") == visitor
        its, me = (memory.scope(user, tenant="acme") for user in (visitor.scope.user, "ming"))
        its.observe(
            [{"role": "user", "text": "I moved to Leeds."}, {"role": "user", "text": "我喜欢喝绿茶。"}], session="s1"
        )
        me.remember("I live in York.", source="tool")
        before = me.memories(status=None)
        shown = memory.link(visitor.token, "ming", tenant="acme", dry_run=True)
        done = memory.link(visitor.token, "ming", tenant="acme")
        assert [c.after and c.after.text for c in shown.plan.changes] == [
            c.after and c.after.text for c in done.plan.changes
        ]
        assert "I live in York." in {m.text for m in me.memories()}
        assert len(me.memories()) == 2
        assert done.plan_id is not None
        me.undo(done.plan_id)
        assert me.memories(status=None) == before
        clock.advance(hours=72)
        memory.work()
        assert memory.visitor(visitor.token) is None
        assert its.memories(status=None) == []
        assert its.history().messages == ()
        assert memory.dead_jobs() == []
