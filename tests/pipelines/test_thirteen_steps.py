"""The forgetting test in thirteen steps (SPEC F6): whatever is done afterwards, nothing comes back, in any byte.

Views that later work adds take part by themselves: `Gateway.views` lists them, and each is asked to rebuild.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.backends import restore_database
from jiyi.errors import PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.testing.embedders import ByCharacters
from tests.conftest import Clock

SCAN = """
import pathlib, sys
words = sys.stdin.buffer.read().split(b"\\n")
for file in pathlib.Path(sys.argv[1]).iterdir():
    data = file.read_bytes()
    for word in words:
        if word in data or word.decode().encode("utf-16-le") in data:
            print(file.name, word.decode())
"""


@dataclass(frozen=True)
class Story:
    """What is said, what of it is forgotten, and which words must then be nowhere."""

    talk: tuple[tuple[str, str], ...]
    forget: dict[str, str]
    secret: tuple[str, ...]
    kept: tuple[str, ...]
    anew: str


STORIES = {
    "zh-topic": Story(
        (
            ("user", "我们的数据库是金枝库。我住在葫芦岛。"),
            ("assistant", "好的，数据库是金枝库，我记下了。"),
            ("user", "数据库从金枝库换成玉叶库了。"),
            ("user", "我喜欢皮影戏。"),
        ),
        {"topic": "数据库"},
        ("金枝库", "玉叶库"),
        ("葫芦岛", "皮影戏"),
        "我们的数据库是金枝库。",
    ),
    "en-topic": Story(
        (
            ("user", "Our database is Goldbranch. I live in Timbuktu."),
            ("assistant", "Noted, the database is Goldbranch."),
            ("user", "We switched the database from Goldbranch to Jadeleaf."),
            ("user", "I like puppetry."),
        ),
        {"topic": "database"},
        ("Goldbranch", "Jadeleaf"),
        ("Timbuktu", "puppetry"),
        "Our database is Goldbranch.",
    ),
    "zh-memory": Story(
        (("user", "我住在葫芦岛。"), ("assistant", "葫芦岛的海真好看。"), ("user", "我喜欢皮影戏。")),
        {"memory": "葫芦岛"},
        ("葫芦岛",),
        ("皮影戏",),
        "我住在葫芦岛。",
    ),
    "en-memory": Story(
        (("user", "I live in Timbuktu."), ("assistant", "Timbuktu is lovely."), ("user", "I like puppetry.")),
        {"memory": "Timbuktu"},
        ("Timbuktu",),
        ("puppetry",),
        "I live in Timbuktu.",
    ),
}


def left_in(folder: Path, words: tuple[str, ...]) -> list[str]:
    """`file word` for each that a file holds. From another process: reading a database's file beside SQLite in this
    one would drop its locks."""
    done = subprocess.run(
        [sys.executable, "-c", SCAN, str(folder)], input="\n".join(words).encode(), capture_output=True, check=True
    )
    return done.stdout.decode().splitlines()


class Walk:
    def __init__(self, folder: Path, index: str, clock: Clock, story: Story) -> None:
        self.home, self.away = folder / "home", folder / "away"
        self.home.mkdir()
        self.away.mkdir()
        self.index, self.clock, self.story = index, clock, story
        self.source = [
            {"role": role, "text": text, "at": datetime.fromisoformat(f"2026-03-01T09:0{i}:00+08:00").isoformat()}
            for i, (role, text) in enumerate(story.talk)
        ]
        self.layer = self.open()

    def open(self) -> MemoryLayer:
        vectors = self.index == "vectors"
        index = "postings" if vectors else self.index
        return open_memory(
            self.home / "memory.db",
            clock=self.clock,
            worker=False,
            embedder=ByCharacters() if vectors else None,
            memory_index=index,
            message_index=index,
        )

    @property
    def me(self) -> ScopedMemory:
        return self.layer.scope("ming")

    def shown(self) -> str:
        """Everything that can be asked for."""
        me = self.me
        asked = [
            item.text for word in (*self.story.secret, *self.story.kept) for item in me.recall(word, limit=50).items
        ]
        asked += [me.context(word).text for word in (*self.story.secret, *self.story.kept)]
        return repr(
            (
                asked,
                me.memories(status=None),
                me.ledger(),
                me.history(limit=200).messages,
                me.profile().text,
                me.summaries(),
            )
        )

    def assert_gone(self, step: str) -> None:
        self.clock.advance(minutes=1)
        told = self.shown()
        assert [w for w in self.story.secret if w in told] == [], step
        assert [w for w in self.story.kept if w not in told] == [], step
        assert left_in(self.home, self.story.secret) == [], step
        assert [c for c in self.layer.check() if not c.ok] == [], step


@pytest.mark.parametrize("index", ["postings", "native", "vectors"])
@pytest.mark.parametrize("name", STORIES)
def test_thirteen_steps(tmp_path: Path, clock: Clock, index: str, name: str) -> None:
    story = STORIES[name]
    walk = Walk(tmp_path, index, clock, story)
    # 1 write: a conversation, with ids and without.
    walk.me.observe(walk.source, session="s1")
    # 2 derive: memories, summary, profile and views by jobs; a read that makes heat; copies that hold it.
    walk.layer.work()
    walk.me.end("s1")
    assert any(word in repr(walk.me.summaries()) for word in story.secret)
    walk.me.recall(story.secret[0])
    walk.me.export(walk.away / "export.zip")
    walk.layer.backup(str(walk.away / "backup.db"))
    assert [w for w in (*story.secret, *story.kept) if w not in walk.shown()] == []
    # 3 preview: says what would go, and does nothing.
    wanted = dict(story.forget)
    if "memory" in wanted:
        [wanted["memory"]] = [m.id for m in walk.me.memories() if wanted["memory"] in m.text]
    preview = walk.me.forget(**wanted, dry_run=True)
    assert preview.plan_id is None
    assert story.secret[0] in walk.shown()
    # 4 forget.
    clock.advance(days=1)
    receipt = walk.me.forget(**wanted)
    assert {k: preview.proof.erased[k] for k in ("memories", "messages")} == {
        k: receipt.proof.erased[k] for k in ("memories", "messages")
    }
    assert [(c.kind, Path(c.path).name) for c in receipt.proof.copies] == [
        ("export", "export.zip"),
        ("backup", "backup.db"),
    ]
    # 5 checkpoint and 6 scan of every byte: database, log, freed pages, key, tombstones, while open and after closing.
    walk.assert_gone("forgotten")
    walk.layer.close()
    assert left_in(walk.home, story.secret) == []
    walk.layer = walk.open()
    # 7 the source again: the same file, the same under other ids, the same sentences in another file.
    walk.me.observe(walk.source, session="s1")
    walk.me.observe([m | {"id": f"copy{i}"} for i, m in enumerate(walk.source)], session="s2")
    walk.me.observe([{"role": "user", "text": "……".join(t for _, t in story.talk), "at": walk.source[0]["at"]}])
    # 8 all jobs.
    walk.layer.work()
    walk.assert_gone("the source again")
    # 9 undo of whatever can be undone.
    for entry in walk.me.ledger():
        try:
            walk.me.undo(f"p{entry.seq}")
        except PlanRefused:
            continue
        walk.me.undo(f"p{walk.me.ledger(latest=1)[0].seq}")
    walk.assert_gone("undone")
    # 10 rebuild every view.
    walk.layer.reindex()
    walk.assert_gone("rebuilt")
    # 11 the export again: refused where a memory is.
    with pytest.raises(PlanRefused):
        walk.me.import_(walk.away / "export.zip")
    # 12 a backup from before, in the place of the database.
    walk.layer.close()
    kept = restore_database(walk.away / "backup.db", walk.home / "memory.db", replace=True)
    assert kept is not None
    walk.layer = walk.open()
    walk.assert_gone("restored")
    walk.me.observe(walk.source, session="s1")
    walk.layer.work()
    walk.assert_gone("restored, and the source again")
    # 13 the receipt.
    proofs = walk.me.verify_forgotten()
    assert [p.returned for p in proofs] == [0] * len(proofs)
    assert (proofs[0].reach, proofs[0].at) == (receipt.proof.reach, receipt.proof.at)
    assert {Path(c.path).name for c in proofs[0].copies} >= {"export.zip", "backup.db"}
    assert [w for w in story.secret if w in json.dumps([repr(p) for p in proofs], ensure_ascii=False)] == []
    # What is said anew is learnt anew.
    clock.advance(days=1)
    walk.me.observe([{"role": "user", "text": story.anew}], session="s9")
    walk.layer.work()
    assert story.secret[0] in repr(walk.me.memories())
    assert walk.me.verify_forgotten()[-1].returned == 0
    walk.layer.close()
