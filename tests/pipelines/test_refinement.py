"""A precise word after a coarse one, through the façade and the command line, on every store (SPEC B2, W2, F7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi.domain.memory import Status
from jiyi.memory_layer import MemoryLayer
from tests.conftest import Clock
from tests.surfaces.cli import Cli, lines

TALKS = [
    ("我们的数据库是 MariaDB。", "我们的数据库是 MariaDB 11。", "数据库", "mariadb", "mariadb 11"),
    ("我住在厦门。", "我住在厦门思明区。", "我住在哪里", "厦门", "厦门思明区"),
    ("Our database is MariaDB.", "Our database is MariaDB 11.", "database", "mariadb", "mariadb 11"),
    ("My wife is Greta.", "My wife is Greta Holm.", "my wife's name", "greta", "greta holm"),
    ("The deadline is May 2026.", "The deadline is May 22.", "deadline", "2026-05", "2026-05-22"),
]


@pytest.mark.parametrize(("coarse", "precise", "asked", "old", "new"), TALKS)
def test_the_precise_one_is_current_and_undo_and_export_are_exact(
    layer: MemoryLayer, clock: Clock, tmp_path: Path, coarse: str, precise: str, asked: str, old: str, new: str
) -> None:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": coarse}], session="s1")
    layer.work()
    before = me.memories(status=None)
    clock.advance(days=1)
    me.observe([{"role": "user", "text": precise}], session="s2")
    layer.work()
    assert [(m.value, m.status) for m in me.memories(status=None)] == [(old, Status.ENDED), (new, Status.LIVE)]
    (judgement,) = me.ledger()[-1].plan.judgements
    assert (judgement.verdict, judgement.rule, judgement.ends) == ("refine", "refine", (1,))
    assert me.questions() == []
    block = me.context(asked, session="s3").text
    assert f"{me.memories()[0].text} (m2" in block
    assert f"{before[0].text} (m1" not in block
    path = tmp_path / "ming.zip"
    me.export(path)
    twin = layer.scope("twin")
    twin.import_(path)
    assert twin.memories(status=None) == me.memories(status=None)
    assert twin.ledger() == me.ledger()
    me.undo(f"p{me.ledger()[-1].seq}")
    assert me.memories(status=None) == before


@pytest.fixture
def jiyi(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.mark.parametrize(("coarse", "precise"), [TALKS[0][:2], TALKS[2][:2]])
def test_the_command_line_names_the_verdict(jiyi: Cli, coarse: str, precise: str) -> None:
    jiyi("observe", "--session", "s1", stdin=lines({"role": "user", "text": coarse}))
    told = jiyi("observe", "--session", "s2", stdin=lines({"role": "user", "text": precise})).stdout
    assert "why: refine (refine); the same, more precisely; than m1" in told
    assert "(kept as history, then m2)" in told
    assert "refine (refine)" in jiyi("ledger").stdout
    restated = jiyi("observe", "--session", "s3", stdin=lines({"role": "user", "text": coarse})).stdout
    assert "why: corroborate (less-precise); m2 says it more precisely" in restated
    assert [m["fact"]["object"] for m in jiyi.json("memories")["memories"]] == ["MariaDB 11"]


@pytest.mark.parametrize(("first", "second"), [("我养了一只狗。", "我养了一只叫豆豆的狗。")])
def test_a_pet_gets_its_name(layer: MemoryLayer, first: str, second: str) -> None:
    me = layer.scope("ming")
    for session, text in enumerate([first, second, first]):
        me.observe([{"role": "user", "text": text}], session=f"s{session}")
        layer.work()
    assert [m.value for m in me.memories()] == ["叫豆豆的狗"]
