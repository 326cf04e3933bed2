"""Several processes on one database (SPEC O2, O5): no error, nothing acknowledged is lost, no row of another user, no job twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import jiyi
from jiyi.stores.postgres.store import open_postgres
from tests.conftest import count
from tests.postgres.stores import one_server, open_on
from tests.stores.facts import ME, NOW, YOU

TESTS = Path(__file__).parents[2]
PROCESSES = count("service_processes")

pytestmark = one_server


def start(*arguments: object) -> subprocess.Popen[str]:
    folders = [str(Path(jiyi.__file__).parents[1]), str(TESTS)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.postgres.burst", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )


@pytest.mark.full
@pytest.mark.writers
def test_a_service_of_several_processes(postgres_url: str, tmp_path: Path) -> None:
    users, seconds = count("service_users"), count("service_seconds")
    open_postgres(postgres_url).close()
    running = [start(postgres_url, tmp_path, f"p{i}", seconds, users) for i in range(PROCESSES)]
    said: list[dict[str, Any]] = []
    for process in running:
        out, err = process.communicate(timeout=seconds + 240)
        assert (process.returncode, err) == (0, "")
        said += map(json.loads, out.splitlines())
    assert [line for line in said if "error" in line] == []
    assert [line for line in said if "foreign" in line] == []
    acknowledged = {(line["user"], line["message"]) for line in said if "message" in line}
    done = sum((Counter(line["done"]) for line in said if "done" in line), Counter[str]())
    print(f"{PROCESSES} processes, {seconds} s, {users} users: {len(acknowledged)} messages acknowledged; {dict(done)}")
    assert len(acknowledged) > PROCESSES
    with open_on(postgres_url, tmp_path, lambda: datetime.now(UTC)) as layer:  # noqa: TID251
        layer.work()
        lag = layer.lag()
        assert (lag.waiting, lag.running, lag.dead) == (0, 0, 0)
        with layer._engine.store.read() as unit:
            stored = {(scope.user, m.id) for scope in unit.scopes() for m in unit.messages.window(scope, limit=100_000)}
            given = {scope.user: unit.messages.last_seq(scope) for scope in unit.scopes()}
        # Forgetting may have taken a message's words and id since, but its number was given out.
        assert given == {user: sum(1 for u, _ in acknowledged if u == user) for user in given}
        assert {user for user, _ in acknowledged} <= given.keys()
        assert stored <= acknowledged
        assert [c for c in layer.check() if not c.ok] == []


def test_a_job_of_a_worker_that_hangs_runs_again_once_and_its_late_end_is_fenced_off(postgres_url: str) -> None:
    store = open_postgres(postgres_url)
    store.write(lambda unit: unit.jobs.put(ME, "index", {}, NOW))
    hanging = start("hang", postgres_url)
    assert hanging.stdout is not None
    hung = json.loads(hanging.stdout.readline())
    assert hung["attempt"] == 1
    now = datetime.now(UTC)  # noqa: TID251
    lease = now + timedelta(minutes=5)
    assert store.write(lambda unit: unit.jobs.claim(now, lease)) is None  # It has the lease still.
    later = now + timedelta(seconds=10)
    again = store.write(lambda unit: unit.jobs.claim(later, lease))
    assert again is not None
    assert (again.id, again.attempt) == (hung["hung"], 2)
    out, err = hanging.communicate("\n", timeout=60)
    assert (json.loads(out), err) == ({"late": False}, "")
    assert store.write(lambda unit: unit.jobs.finish(again))
    assert store.write(lambda unit: unit.jobs.claim(later, lease)) is None
    store.close()


def test_a_worker_that_is_killed_leaves_its_job_to_another(postgres_url: str) -> None:
    store = open_postgres(postgres_url)
    store.write(lambda unit: [unit.jobs.put(scope, "index", {}, NOW) for scope in (ME, YOU)])
    hanging = start("hang", postgres_url)
    assert hanging.stdout is not None
    hung = json.loads(hanging.stdout.readline())
    hanging.send_signal(signal.SIGKILL)
    hanging.communicate()
    taken = []
    for wait in (0, 10):
        now = datetime.now(UTC) + timedelta(seconds=wait)  # noqa: TID251
        while job := store.write(lambda unit, now=now: unit.jobs.claim(now, now + timedelta(minutes=5))):  # type: ignore[misc]
            taken.append((job.id, job.attempt))
    assert sorted(taken) == sorted({(1, 1), (2, 1), (hung["hung"], 2)} - {(hung["hung"], 1)})
    store.close()
