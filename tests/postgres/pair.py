"""A primary and the standby that it waits for: what a commit is told of is in both (SPEC O2)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.postgres.server import Installed, Server, free_port, installed

# Neither waits for a disk: nothing of them outlives the run, and no machine goes down.
COMMON = "-c fsync=off -c max_connections=60 -c shared_buffers=32MB -c jit=off -c autovacuum=off"
PRIMARY = f"{COMMON} -c wal_level=replica -c max_wal_senders=4"


@dataclass(slots=True)
class Pair:
    here: Installed
    primary: Server
    standby: Server

    @property
    def url(self) -> str:
        """Both, of which a client takes the one that can be written to."""
        ports = f"{self.primary.port},{self.standby.port}"
        return f"postgresql://postgres@127.0.0.1,127.0.0.1/postgres?port={ports}&target_session_attrs=read-write"

    def kill_primary(self) -> None:
        """All of its processes at once, as if its machine were gone."""
        [pid, *_] = (self.here.folder / "primary" / "postmaster.pid").read_text("ascii").split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        for process in (pid, *children):
            os.kill(int(process), signal.SIGKILL)

    def promote(self) -> None:
        self.here.run(self.here.binaries / "pg_ctl", "-D", self.here.folder / "standby", "-w", "promote")


@contextmanager
def pair(binaries: Path) -> Iterator[Pair]:
    with installed(binaries) as here:
        first, second = free_port(), free_port()
        here.init(here.folder / "primary")
        here.start(here.folder / "primary", first, PRIMARY)
        here.run(
            here.binaries / "pg_basebackup", "-R", "--no-sync", "-c", "fast", "-D", here.folder / "standby",
            "-d", f"host=127.0.0.1 port={first} user=postgres application_name=standby",
        )  # fmt: skip
        here.start(here.folder / "standby", second, COMMON)
        found = Pair(here, Server(first, here.folder), Server(second, here.folder))
        found.primary.run("ALTER SYSTEM SET synchronous_standby_names TO 'standby'", "SELECT pg_reload_conf()")
        _wait_for_standby(found.primary)
        yield found


def _wait_for_standby(primary: Server) -> None:
    with psycopg.connect(primary.url(), autocommit=True) as connection:
        for _ in range(600):
            if connection.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone():
                return
            time.sleep(0.05)
    raise AssertionError("the standby does not follow")
