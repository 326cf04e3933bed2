"""Shared memories on PostgreSQL, where row-level security holds one transaction to one scope after another (SPEC S6, S4)."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Clock
from tests.postgres.stores import one_server, open_on


@one_server
def test_two_scopes_are_read_in_one_question(postgres_url: str, tmp_path: Path) -> None:
    with open_on(postgres_url, tmp_path, Clock()) as memory:
        memory.scope("lena", tenant="acme").remember("我对花生过敏")
        team = memory.shared("研发组", tenant="acme")
        team.remember("数据库：PostgreSQL")
        team.remember("Always answer briefly", category="rule")
        memory.shared("研发组", tenant="beta").remember("数据库：Oracle")
        both = memory.together("lena", ["研发组", "nowhere"], tenant="acme")
        assert [(i.id, i.shared) for i in both.recall("数据库用什么").items] == [("m1", "研发组")]
        block = both.context("数据库用什么")
        for line in ("我对花生过敏 (m1)", "数据库：PostgreSQL (m1@研发组 · 共享)", "briefly (m2@研发组 · 共享)"):
            assert line in block.text
        assert "Oracle" not in block.text
        assert [(p.memory.id, p.shared) for p in both.profile().lines] == [("m1", None), ("m1", "研发组")]
        memory.work()
        assert team.traces() == []
        key, text = memory.make_service_key("desk", tenant="acme", shared=["研发组:write"])
        assert text.startswith("jiyi_sk_")
        assert memory.service_key(key.id) == key
