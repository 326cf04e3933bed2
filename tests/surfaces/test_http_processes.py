"""Several processes at one address (SPEC U2, O5): all serve, a killed one is replaced, and none outlives its keeper."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from jiyi import open_memory
from jiyi.surfaces.http import processes
from jiyi.surfaces.http.processes import STOPPING
from tests.surfaces.cli import Cli
from tests.surfaces.test_http_process import STARTING, Process, Talker, started

UNLIMITED = {"JIYI_SERVICE__REQUESTS_A_MINUTE": "0"}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def children(process: Process) -> list[int]:
    pid = process.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]


def until_there_are(server: Process, number: int, *, without: int = 0) -> list[int]:
    end = time.monotonic() + STARTING
    while len(found := children(server)) != number or without in found:
        assert time.monotonic() < end, server.said
        time.sleep(0.02)
    return found


def served_by(url: str) -> set[str]:
    """The processes that answer, each connection being a new one."""
    found = set()
    for _ in range(40):
        text = httpx2.get(f"{url}/metrics", trust_env=False).text
        found |= {line.split('process="')[1].split('"')[0] for line in text.splitlines() if 'process="' in line}
    return found


def test_all_serve_and_a_killed_one_is_replaced(jiyi: Cli) -> None:
    url, over = [""], threading.Event()
    talkers = [Talker(f"u{n}", url, over) for n in range(4)]
    threads = [threading.Thread(target=talker.run) for talker in talkers]
    with started(jiyi, "serve", "--port", "0", "--processes", "2", **UNLIMITED) as server:
        url[0] = server.url
        both = until_there_are(server, 2)
        for thread in threads:
            thread.start()
        end = time.monotonic() + STARTING
        while served_by(server.url) != {"1", "2"}:
            assert time.monotonic() < end
        for killed in both:
            os.kill(killed, signal.SIGKILL)
            until_there_are(server, 2, without=killed)
        over.set()
        for thread in threads:
            thread.join(60)
        assert server.said.count("is started again") == 2
        assert server.stop() == 0
    with open_memory(jiyi.database, worker=False) as memory:
        for talker in talkers:
            stored = Counter(m.session for m in memory.scope(talker.name).history(limit=100_000).messages)
            assert set(talker.acknowledged) <= set(stored)
            assert set(stored.values()) == {1}


def test_none_outlives_its_keeper(jiyi: Cli) -> None:
    with started(jiyi, "serve", "--port", "0", "--processes", "2") as server:
        url = server.url
        both = until_there_are(server, 2)
        server.stop(signal.SIGKILL)
        end = time.monotonic() + STARTING
        while any(Path(f"/proc/{child}").exists() for child in both):
            assert time.monotonic() < end
            time.sleep(0.02)
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"{url}/health", trust_env=False)


def test_a_signal_that_comes_as_a_process_ends_ends_not_the_keeper() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    keeper = processes._Keeper(2, running={gone.pid: 1})
    try:
        keeper._told(signal.SIGTERM, None)
        assert keeper.ending
    finally:
        for number in STOPPING:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        for end in keeper._watched:
            os.close(end)


def test_what_keeps_the_first_from_serving_is_said_once(jiyi: Cli) -> None:
    with started(jiyi, "serve", "--port", "0", "--processes", "3", JIYI_IDENTITY__MODE="jwt") as server:
        assert server.process.wait(STARTING) == 1
        assert server.said.count("Error:") == 1, server.said
