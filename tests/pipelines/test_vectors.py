"""Vectors as a view: embedded behind the scenes, found by meaning, followed by every change of a text (SPEC R11)."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.scope import Scope
from jiyi.domain.vectors import VectorSet, quantise
from jiyi.errors import ModelRefused, ModelUnavailable
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.vectors import match_vectors
from jiyi.ports import Kind
from jiyi.stores.sqlite.store import SqliteStore
from jiyi.stores.sqlite.vectors import SIZE
from jiyi.testing.embedders import ByCharacters
from tests.conftest import Clock

ME = Scope("ming")
Open = Callable[..., MemoryLayer]


@pytest.fixture(params=["reference", "sqlite"])
def open_with(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Open:
    place = "reference" if request.param == "reference" else str(tmp_path / "memory.db")
    return lambda embedder, **more: open_memory(place, clock=clock, worker=False, embedder=embedder, **more)


@pytest.fixture
def open_file(tmp_path: Path, clock: Clock) -> Open:
    return lambda embedder, **more: open_memory(
        tmp_path / "memory.db", clock=clock, worker=False, embedder=embedder, **more
    )


def say(layer: MemoryLayer, *texts: str, session: str = "s1") -> None:
    layer.scope("ming").observe([{"role": "user", "text": text} for text in texts], session=session)


def held(layer: MemoryLayer, kind: Kind, model: str = "testing/characters") -> set[int]:
    with layer._store.read() as unit:
        return unit.vectors.held(ME, kind, model)


def sets(layer: MemoryLayer) -> list[str]:
    with layer._store.read() as unit:
        return [s.model for s in unit.vectors.sets(ME)]


def line(layer: MemoryLayer) -> str:
    [found] = [c for c in layer.check() if c.name == "vectors"]
    assert found.ok
    return found.detail


def near(layer: MemoryLayer, question: str, kind: Kind = Kind.MESSAGE) -> list[int]:
    with layer._store.read() as unit:
        return [n.seq for n in match_vectors(unit, ME, kind, question, layer._parts.embedding, 5)]


def test_texts_are_embedded_behind_the_scenes_and_found(open_with: Open) -> None:
    embedder = ByCharacters()
    with open_with(embedder) as layer:
        say(layer, "我住在葫芦岛。", "我喜欢皮影戏。")
        assert embedder.texts == []
        assert near(layer, "葫芦岛") == []
        layer.work()
        assert held(layer, Kind.MESSAGE) == {1, 2}
        assert held(layer, Kind.MEMORY) == {m.seq for m in layer.scope("ming").memories(status=None)} != set()
        assert near(layer, "岛芦葫在哪") == [1, 2]
        assert len(embedder.texts) == len(set(embedder.texts))
        layer.scope("ming").end("s1")
        layer.work()
        assert held(layer, Kind.SUMMARY) == {1}
        assert "; everything is embedded" in line(layer)
        assert layer.lag().waiting == 0


def test_what_is_near_is_recalled_below_what_matches(open_with: Open) -> None:
    with open_with(ByCharacters()) as layer:
        say(layer, "我住在葫芦岛。", "我喜欢皮影戏。", "岛上风很大")
        layer.work()
        items = layer.scope("ming").recall("影皮是什么", kinds={"message"}).items
        assert "near in meaning" in items[0].why
        assert items[0].text == "我喜欢皮影戏。"
        items = layer.scope("ming").recall("皮影戏，海岛", kinds={"message"}).items
        assert [("near in meaning" in i.why) for i in items] == [False, True]
        # What has nothing to do with the question is not called near.
        assert layer.scope("ming").recall("quantum", kinds={"message"}).items == ()


def test_a_memory_that_only_meaning_finds_comes_before_one_of_a_chance_word(open_with: Open) -> None:
    with open_with(ByCharacters(dimension=256)) as layer:
        me = layer.scope("ming")
        chance = me.remember("周末去爬山看日出拍照片").memories[0]
        meant = me.remember("台桌机脑").memories[0]
        both = me.remember("电脑在桌上").memories[0]
        for n in range(12):
            me.remember(f"第{n}集讲海豚")
        layer.work()
        found = {i.id: i for i in me.recall("周末 电脑 机桌脑台", limit=20).items}
        assert found[meant.id].score > found[chance.id].score
        assert [name for name, _ in found[meant.id].parts if name in ("words", "meaning")] == ["meaning"]
        assert [name for name, _ in found[both.id].parts if name in ("words", "meaning")] == ["words", "meaning"]


def test_a_changed_memory_is_embedded_again_and_a_removed_one_is_not_found(open_with: Open) -> None:
    embedder = ByCharacters()
    with open_with(embedder) as layer:
        me = layer.scope("ming")
        kept = me.remember("用户喜欢安静的办公室").memories[0]
        layer.work()
        receipt = me.correct(kept.id, "用户喜欢热闹的咖啡馆")
        layer.work()
        now = [m.seq for m in me.memories()]
        assert near(layer, "热闹的咖啡馆", Kind.MEMORY)[0] in now
        # In the user's own words.
        assert embedder.texts[-1] == "我喜欢热闹的咖啡馆"
        me.undo(receipt.plan_id)
        assert held(layer, Kind.MEMORY) <= {m.seq for m in me.memories(status=None)}
        layer.work()
        assert held(layer, Kind.MEMORY) == {m.seq for m in me.memories(status=None)}


def test_embedding_goes_in_batches_and_goes_on_where_it_was_broken_off(open_file: Open) -> None:
    texts = [f"第{n}件事发生在{n}号" for n in range(1, 26)]
    first = ByCharacters()
    with open_file(first, embedding={"batch": 10}) as layer:
        say(layer, *texts)
        assert layer.work(limit=6) == 6
        done = held(layer, Kind.MESSAGE)
        assert 0 < len(done) < 25
        assert "still to embed for ming: `jiyi work`" in line(layer)
    second = ByCharacters()
    with open_file(second) as layer:
        layer.work()
        assert held(layer, Kind.MESSAGE) == set(range(1, 26))
        # Nothing is embedded twice.
        assert len(first.texts) + len(second.texts) == 25 + len(layer.scope("ming").memories(status=None))


def test_an_embedder_that_fails_is_asked_again_and_what_is_refused_is_told(open_with: Open, clock: Clock) -> None:
    embedder = ByCharacters()
    with open_with(embedder) as layer:
        say(layer, "风很大")
        embedder.fail(ModelUnavailable("busy"))
        layer.work()
        assert held(layer, Kind.MESSAGE) == set()
        assert layer.lag().waiting == 1
        clock.advance(minutes=1)
        layer.work()
        assert held(layer, Kind.MESSAGE) == {1}
        say(layer, "雨很大")
        embedder.fail(ModelRefused("the key is wrong"))
        layer.work()
        [dead] = layer.dead_jobs()
        assert (dead.kind, "the key is wrong" in dead.error) == ("embed", True)
        say(layer, "雪很大")
        layer.work()
        assert held(layer, Kind.MESSAGE) == {1, 2, 3}


def test_recall_goes_without_vectors_while_the_embedder_does_not_answer(open_with: Open) -> None:
    embedder = ByCharacters()
    with open_with(embedder) as layer:
        say(layer, "风很大，我住在葫芦岛")
        layer.work()
        embedder.fail(ModelUnavailable("busy"))
        assert [i.kind for i in layer.scope("ming").recall("葫芦岛").items]


def test_without_an_embedder_nothing_is_queued_and_vectors_still_go_with_their_texts(open_file: Open) -> None:
    with open_file(ByCharacters()) as layer:
        say(layer, "我住在葫芦岛。", "风很大")
        layer.work()
    with open_file(None) as layer:
        assert "no embedder" in line(layer)
        layer.scope("ming").forget(topic="葫芦岛")
        say(layer, "雨很大")
        layer.work()
        assert layer.dead_jobs() == []
        assert held(layer, Kind.MESSAGE) == {2}
    with open_file(ByCharacters()) as layer:
        layer.work()
        assert held(layer, Kind.MESSAGE) == {2, 3}


def test_what_is_left_of_a_message_is_embedded_again(open_file: Open) -> None:
    embedder = ByCharacters()
    with open_file(embedder) as layer:
        say(layer, "我住在葫芦岛。我喜欢皮影戏。", "风很大")
        layer.work()
        layer.scope("ming").forget(topic="葫芦岛")
        layer.work()
        assert held(layer, Kind.MESSAGE) == {1, 2}
        [left] = [m.text for m in layer.scope("ming").history().messages if m.seq == 1]
        assert "葫芦岛" not in left
        assert left in embedder.texts


SCAN = """
import pathlib, sys
wanted = [bytes.fromhex(line) for line in sys.stdin.read().split()]
for file in pathlib.Path(sys.argv[1]).iterdir():
    data = file.read_bytes()
    for number, numbers in enumerate(wanted):
        if numbers in data:
            print(file.name, number)
"""


def files_with(folder: Path, *numbers: bytes) -> list[str]:
    """From another process: reading a database's file beside SQLite in this one would drop its locks."""
    told = "\n".join(n.hex() for n in numbers)
    done = subprocess.run(
        [sys.executable, "-c", SCAN, str(folder)], input=told.encode(), capture_output=True, check=True
    )
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("count", [3, 300])
def test_forgetting_leaves_no_byte_of_a_vector(open_file: Open, tmp_path: Path, count: int) -> None:
    """Fresh ones, and those folded into chunks."""
    embedder = ByCharacters()
    with open_file(embedder) as layer:
        say(layer, "我住在葫芦岛。", *(f"第{n}天风很大" for n in range(count)))
        layer.work()
        texts = sorted({text for text in embedder.texts if text.strip("。") == "我住在葫芦岛"})
        secret = [quantise(embedder._vector(text).tolist()).numbers for text in texts]
        assert {found.split()[1] for found in files_with(tmp_path, *secret)} == {"0", "1"}
        store = layer._store
        assert isinstance(store, SqliteStore)
        assert [near(layer, "葫芦岛在哪")[0] for _ in range(3)] == [1] * 3
        assert (store.kept.vectors.bytes > 0) is (count > SIZE)
        receipt = layer.scope("ming").forget(topic="葫芦岛")
        assert receipt.proof.erased["vectors"] == 2
        assert files_with(tmp_path, *secret) == []
        assert store.kept.vectors.bytes == 0
        assert [n for _ in range(3) for n in near(layer, "葫芦岛在哪") if n == 1] == []
        layer.work()
        assert files_with(tmp_path, *secret) == []
        layer.scope("ming").forget(everything=True)
        assert sum(len(held(layer, kind)) for kind in Kind) == 0


def test_a_turn_is_embedded_with_what_it_answers_and_forgotten_with_it(open_file: Open, tmp_path: Path) -> None:
    embedder = ByCharacters()
    with open_file(embedder) as layer:
        me = layer.scope("ming")
        told = [("user", "葫芦岛的自行车放在哪？"), ("assistant", "在面包店后面"), ("assistant", "不客气")]
        me.observe([{"role": role, "text": text} for role, text in told], session="s1")
        layer.work()
        both = "葫芦岛的自行车放在哪？\n在面包店后面"
        assert [both in embedder.texts, "不客气" in embedder.texts] == [True, True]
        secret = quantise(embedder._vector(both).tolist()).numbers
        assert files_with(tmp_path, secret)
        me.forget(topic="葫芦岛")
        assert files_with(tmp_path, secret) == []
        layer.work()
        assert files_with(tmp_path, secret) == []
        left = [m.seq for m in me.history().messages]
        assert held(layer, Kind.MESSAGE) == set(left) >= {2, 3}


def test_reindexing_makes_the_vectors_again(open_file: Open) -> None:
    with open_file(ByCharacters()) as layer:
        say(layer, "我住在葫芦岛。")
        layer.work()
        layer.reindex()
        assert sets(layer) == []
        layer.work()
        assert held(layer, Kind.MESSAGE) == {1}


def test_an_import_is_embedded_and_a_backup_holds_the_vectors(open_file: Open, tmp_path: Path, clock: Clock) -> None:
    embedder = ByCharacters()
    with open_file(embedder) as layer:
        say(layer, "我住在葫芦岛。", "风很大")
        layer.work()
        layer.scope("ming").export(tmp_path / "export.zip")
        layer.backup(str(tmp_path / "backup.db"))
        before = len(embedder.texts)
        with open_memory(tmp_path / "backup.db", clock=clock, worker=False, embedder=embedder) as copy:
            copy.work()
            assert held(copy, Kind.MESSAGE) == {1, 2}
        assert len(embedder.texts) == before
    with open_memory(tmp_path / "other.db", clock=clock, worker=False, embedder=embedder) as other:
        other.scope("ming").import_(tmp_path / "export.zip")
        other.work()
        assert held(other, Kind.MESSAGE) == {1, 2}


# ---------------------------------------------------------------------------------- another model


def test_the_old_set_answers_until_the_new_one_is_whole(open_file: Open) -> None:
    old, new = ByCharacters("testing/old"), ByCharacters("testing/new", 48)
    texts = [f"第{n}件事" for n in range(30)]
    with open_file(old) as layer:
        say(layer, "我住在葫芦岛。", *texts)
        layer.work()
    with open_file(new, embedding={"batch": 10}) as layer:
        # Assembly opens the former ones by their names; this one has none in a package.
        layer._parts.embedding._known["testing/old"] = old
        seen, told = set(), []
        while layer.work(limit=1):
            assert near(layer, "葫芦岛")[0] == 1
            with layer._store.read() as unit:
                seen.add(layer._parts.embedding.answering(unit, ME).model)
            if len(sets(layer)) == 2:
                told.append(line(layer))
        assert seen == {"testing/old", "testing/new"}
        assert "still to embed for ming (still by testing/old)" in told[0]
        assert (sets(layer), near(layer, "葫芦岛")[0]) == (["testing/new"], 1)
        with layer._store.read() as unit:
            assert unit.vectors.sets(ME) == [VectorSet("testing/new", 48)]


KILLED = """
import os, signal, sys
from datetime import datetime
from jiyi.assembly import open_memory
from jiyi.testing.embedders import ByCharacters

class Killed(ByCharacters):
    def documents(self, texts):
        if len(self.texts) >= 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().documents(texts)

path, clock = sys.argv[1], lambda: datetime.fromisoformat(sys.argv[2])
killed = Killed("testing/new", 48)
with open_memory(path, clock=clock, worker=False, embedder=killed, embedding={"batch": 10}) as layer:
    layer.work()
"""


def test_killed_while_embedding_with_another_model_it_goes_on(open_file: Open, tmp_path: Path, clock: Clock) -> None:
    old, new = ByCharacters("testing/old"), ByCharacters("testing/new", 48)
    with open_file(old) as layer:
        say(layer, "我住在葫芦岛。", *(f"第{n}件事" for n in range(40)))
        layer.work()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "memory.db"), clock().isoformat()], check=False)
    assert done.returncode == -signal.SIGKILL
    clock.advance(minutes=10)  # until then the job is leased to the one that was killed
    with open_file(new) as layer:
        layer._parts.embedding._known["testing/old"] = old
        assert sets(layer) == ["testing/old", "testing/new"]
        assert near(layer, "葫芦岛")[0] == 1
        layer.work()
        assert (sets(layer), near(layer, "葫芦岛")[0]) == (["testing/new"], 1)
        texts = 41 + len(layer.scope("ming").memories(status=None))
        # What the killed one had embedded is not embedded again, but for the batch it was at.
        assert len(new.texts) == texts - 21


def test_where_the_old_model_cannot_be_asked_words_answer_until_the_new_one_has_begun(open_file: Open) -> None:
    with open_file(ByCharacters("testing/old")) as layer:
        say(layer, "我住在葫芦岛。")
        layer.work()
    with open_file(ByCharacters("testing/new", 48)) as layer:
        assert near(layer, "葫芦岛") == []
        assert layer.scope("ming").recall("葫芦岛").items
        layer.work()
        assert (near(layer, "葫芦岛"), sets(layer)) == ([1], ["testing/new"])
