"""What is forgotten is in none of the tables' files any more (SPEC F6). The write-ahead log is the server's own."""

from __future__ import annotations

from pathlib import Path

from jiyi.stores.postgres.store import open_postgres
from tests.conftest import Clock
from tests.postgres.server import Server
from tests.postgres.stores import open_on
from tests.stores.facts import ME, YOU, forget, learn


def still_there(server: Server, words: list[str]) -> list[str]:
    """The words that a file of a table or an index holds, after everything was written out."""
    server.run("CHECKPOINT")
    data = b"".join(path.read_bytes() for path in (server.folder / "data" / "base").rglob("*") if path.is_file())
    return [word for word in words if word.encode() in data]


def test_a_forgotten_memory_is_gone_from_every_file(postgres: Server, postgres_url: str) -> None:
    store = open_postgres(postgres_url)
    secret, kept = "庚辛壬癸暗语甲乙", "留下的话子丑寅卯"
    store.write(lambda unit: [learn(unit, ME, str(i), f"事实 {i} {kept}") for i in range(40)])
    number = store.write(lambda unit: learn(unit, ME, "secret", f"密码 {secret} password"))
    store.write(lambda unit: [learn(unit, YOU, f"later{i}", f"事实 {i}") for i in range(5)])
    assert still_there(postgres, [secret, kept]) == [secret, kept]
    store.write(lambda unit: forget(unit, ME, number))
    assert store.erased()
    store.purge()
    assert not store.erased()
    assert still_there(postgres, [secret, kept]) == [kept]
    with store.read() as unit:
        assert len(unit.memories.listing(ME)) == 40
        assert len(unit.memories.listing(YOU)) == 5
    store.close()


def test_forgetting_through_the_facade_leaves_nothing(
    postgres: Server, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    with open_on(postgres_url, tmp_path, clock) as layer:
        me = layer.scope("u001")
        me.observe([{"role": "user", "text": "我的猫叫年糕团子七七。", "id": "a"}], session="s1")
        me.observe([{"role": "user", "text": "我住在绍兴越城某处。", "id": "b"}], session="s1")
        layer.work()
        me.recall("猫")
        assert still_there(postgres, ["年糕团子七七", "绍兴越城某处"]) == ["年糕团子七七", "绍兴越城某处"]
        me.forget(topic="猫")
        assert still_there(postgres, ["年糕团子七七", "绍兴越城某处"]) == ["绍兴越城某处"]
        assert [c for c in layer.check() if not c.ok] == []
