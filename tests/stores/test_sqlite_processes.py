"""Several processes on one file, and processes that die (SPEC O1)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import jiyi
from jiyi.domain.scope import Scope
from jiyi.stores.sqlite.store import open_sqlite
from tests.conftest import count
from tests.stores.facts import failures, learn

TESTS = Path(__file__).parents[2]


def start(path: Path, name: str, seconds: float) -> subprocess.Popen[str]:
    folders = [str(Path(jiyi.__file__).parents[1]), str(TESTS)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.stores.burst", str(path), name, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )


def acknowledged(output: str) -> set[tuple[str, str]]:
    """User and message of each whole line; the last may have been cut off by the kill."""
    whole = output[: output.rfind("\n") + 1]
    return {(user, message_id) for user, message_id in (line.split() for line in whole.splitlines())}


def stored(path: Path) -> set[tuple[str, str]]:
    store = open_sqlite(path)
    try:
        assert failures(store) == []
        with store.read() as unit:
            return {(s.user, m.id) for s in unit.scopes() for m in unit.messages.window(s, limit=1_000_000)}
    finally:
        store.close()


@pytest.mark.full
@pytest.mark.kills
def test_killed_in_a_burst_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    promised: set[tuple[str, str]] = set()
    for kill in range(int(os.environ.get("JIYI_TEST_KILLS", count("kills")))):
        process = start(path, f"k{kill}", 60)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(0.05 + 0.07 * (kill % 5))
        process.kill()
        rest, _ = process.communicate()
        new = acknowledged(first + rest)
        assert new
        promised |= new
        assert promised <= stored(path)


@pytest.mark.full
@pytest.mark.writers
def test_four_writing_processes_never_meet_a_busy_error(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    seconds = float(os.environ.get("JIYI_TEST_WRITER_SECONDS", count("writer_seconds")))
    # All four also open, and so create, the same new file at the same moment.
    processes = [start(path, f"p{i}", seconds) for i in range(4)]
    outputs = [process.communicate(timeout=seconds + 60) for process in processes]
    assert [(process.returncode, errors) for process, (_, errors) in zip(processes, outputs, strict=True)] == [
        (0, "")
    ] * 4
    promised = [acknowledged(output) for output, _ in outputs]
    assert all(promised)
    assert set().union(*promised) == stored(path)


def test_readers_see_whole_transactions_while_others_write(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "memory.db", synchronous="NORMAL")
    scope, torn, done = Scope("u1"), [], threading.Event()

    def read() -> None:
        while not done.is_set():
            with store.read() as unit:
                counts = (
                    unit.messages.last_seq(scope),
                    len(unit.memories.listing(scope)),
                    len(unit.ledger.entries(scope)),
                    unit.text.indexed_up_to(scope),
                )
            if len(set(counts)) != 1:
                torn.append(counts)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(60):
        store.write(partial(learn, scope=scope, message_id=str(number), text=f"事实 {number}"))
    done.set()
    for reader in readers:
        reader.join()
    store.close()
    assert torn == []
