"""Memories to be moved: one that has something of everything, and many plain ones; and what they are, for comparing."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from jiyi.domain.access import Role
from jiyi.domain.asking import OK, ModelCall
from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Vector
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Kind, Unit
from jiyi.stores.moving import Progress
from tests.conftest import Clock
from tests.stores.facts import learn

RARE = "\0 and \ufdd0 and \U0001f9e0"
OWN = (
    "migration",
    "store_setting",
    "sqlite_sequence",
    "vector_outbox",
    "vector_fresh",
    "vector_chunk",
    "vector_version",
    "copy",
)
"""Tables of which two databases of the same memory may hold different rows."""


def live(layer: MemoryLayer, clock: Clock, folder: Path) -> None:
    """Something of everything, also of what is rare, for two users."""
    for user, tenant in (("ming", "default"), ("李明", "别处")):
        me = layer.scope(user, tenant=tenant)
        secret = "sk-" + "test" * 8 + user
        for text in (
            "我住在杭州。我喜欢绿茶。",
            "我的同事是老王，老王住在上海。",
            "I moved to York.",
            f"我的密钥是 {secret}",
            RARE,
        ):
            clock.advance(hours=2)
            me.observe([{"role": "user", "text": text, "name": "李明"}], session="s1")
            layer.work()
        me.remember("以后都用英文回答我", category="rule", importance=5)
        me.correct(me.remember("预算是80万").memories[0].id, "预算是90万")
        me.forget(memory=next(m.id for m in me.memories() if "绿茶" in m.text))
        me.once("a key", b"asked").remember("The staging server is heron")
        me.export(folder / f"{user}.zip")
        me.end("s1")
        layer.work()
        me.pause()
        me.resume()
        me.retention("everything")
        me.consent(given=True, notice="first")
        clock.advance(hours=1)
        me.recall("杭州")
        me.recall("York")
        me.observe([{"role": "user", "text": "我的猫叫年糕。"}], session="s2")  # waits in the queue
        call = ModelCall(clock.now, 7, "distil", "a-model", 1, 2, 0.5, 0.25, OK)
        layer._store.write(lambda unit, s=me._scope, c=call: _rare(unit, s, c))  # type: ignore[misc]
    layer._store.write(lambda unit: unit.model_calls.add(None, replace(call, cost=0.1)))
    layer.make_service_key("desk", tenant="acme", roles={Role.AGENT})


def _rare(unit: Unit, scope: Scope, call: ModelCall) -> None:
    unit.segments.open_at(scope, 1)
    unit.model_calls.add(scope, call)
    # A graph engine has heard of everything but one edge.
    unit.graph_feed.begin(scope)
    if (followed := unit.graph_feed.state(scope)) is not None:
        unit.graph_feed.told(scope, followed.version, {})
    unit.graph_feed.note(scope, [1])
    # More than lie side by side in one place of a file, and a rest.
    unit.vectors.begin(scope, "another model", 4)
    unit.vectors.add(
        scope, Kind.MESSAGE, "another model", {n: Vector(bytes([n % 100, 1, 2, 3]), n) for n in range(1, 301)}
    )


def learn_many(layer: MemoryLayer, memories: int, per_user: int = 100) -> None:
    """So many memories, each with its message, evidence, index entries and plan."""
    rng = random.Random(5)
    words = [f"word{i}" for i in range(2000)] + [f"词{i}" for i in range(2000)]

    def some(unit: Unit, user: int) -> None:
        for number in range(min(per_user, memories - user * per_user)):
            learn(unit, Scope(f"user {user}"), f"{user}-{number}", " ".join(rng.choices(words, k=12)))

    for user in range(-(-memories // per_user)):
        layer._store.write(lambda unit, u=user: some(unit, u))  # type: ignore[misc]


def tables(path: Path) -> Mapping[str, list[tuple[Any, ...]]]:
    """Every row of a closed database, but for what is the database's own."""
    with closing(sqlite3.connect(path)) as connection:
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in names
            if name not in OWN and not name.startswith("fts_")
        }


def exports(layer: MemoryLayer, folder: Path) -> Mapping[str, bytes]:
    """The bytes of the export of every user."""
    folder.mkdir()
    found = {}
    for scope in layer.scopes():
        file = folder / f"{len(found)}.zip"
        layer.scope(scope.user, tenant=scope.tenant).export(file)
        found[str(scope)] = file.read_bytes()
    return found


def migrate_killed(
    arguments: list[str], environment: Mapping[str, str], come: Callable[[], Progress | None], at: int
) -> int:
    """Run `jiyi migrate` as a process and kill it when it has moved `at` rows; gives how many it had."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jiyi", "migrate", *arguments, "--quiet"], env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        while True:
            if process.poll() is not None:
                raise AssertionError(f"ended before it was killed: {process.communicate()}")
            progress = come()
            if progress is not None and progress.rows >= at:
                break
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return progress.rows
