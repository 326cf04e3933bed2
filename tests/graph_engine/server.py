"""A real Neo4j Community, from its Maven artifact, as a process of its own. All workers of a test run share one."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.graph_engine.stores import engine_at

POM = Path(__file__).with_name("pom.xml")
JARS = Path(sys.prefix) / "neo4j-5.26.0"
CONF = """
server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=false
dbms.usage_report.enabled=false
server.memory.heap.initial_size=256m
server.memory.heap.max_size=384m
server.memory.pagecache.size=32m
db.tx_log.preallocate=false
"""
JAVA = ("-Xms256m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# As Neo4j's own launcher passes it.
OPENED = ("java.nio", "java.lang", "java.io", "java.util", "sun.nio.ch")


def missing() -> str:
    """Why there can be no server on this machine; empty when there can. Fetches what it needs on first use."""
    if shutil.which("java") is None:
        return "there is no Java (17 or newer)"
    if JARS.is_dir():
        return ""
    if shutil.which("mvn") is None:
        return "there is no Maven to fetch Neo4j with"
    part = JARS.with_name(f"{JARS.name}.{os.getpid()}")
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={part}"],
        cwd=POM.parent,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        return f"Maven could not fetch Neo4j: {done.stdout[-300:]}"
    part.rename(JARS)
    return ""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def start(home: Path, port: int) -> subprocess.Popen[bytes]:
    (home / "conf").mkdir(parents=True, exist_ok=True)
    (home / "conf" / "neo4j.conf").write_text(CONF.format(port=port))
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
    command = ["java", *JAVA, *opened, "-cp", f"{JARS}/*", "org.neo4j.server.CommunityEntryPoint"]
    with (home / "neo4j.out").open("ab") as log:
        return subprocess.Popen(
            [*command, f"--home-dir={home}", f"--config-dir={home / 'conf'}"],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def wait_for(server: subprocess.Popen[bytes], port: int, home: Path) -> None:
    until = time.monotonic() + 180
    while True:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, (home / "neo4j.out").read_text()
        assert time.monotonic() < until, "Neo4j did not start"
        time.sleep(0.1)


def stop(server: subprocess.Popen[bytes]) -> None:
    """What it holds is thrown away, so it need not end well."""
    server.kill()
    server.wait(30)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "neo4j.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetched(folder: Path) -> str:
    """`missing`, by one worker at a time."""
    with _locked(folder):
        return missing()


@contextmanager
def shared_server(folder: Path) -> Iterator[str]:
    """The address of the server that all who name this folder share: the first starts it, and stops it when all are done."""
    users, address = folder / "neo4j-users", folder / "neo4j-address"
    own = None
    with _locked(folder):
        users.mkdir(exist_ok=True)
        if not address.exists():
            port, home = free_port(), folder / "neo4j"
            own = start(home, port)
            wait_for(own, port, home)
            # Constraints are made before two workers can both want to.
            engine = engine_at(f"bolt://127.0.0.1:{port}")
            engine.owners("nobody")
            engine.close()
            address.write_text(f"bolt://127.0.0.1:{port}")
        me = users / str(os.getpid())
        me.touch()
    try:
        yield address.read_text()
    finally:
        me.unlink()
        if own is not None:
            while any(_alive(int(user.name)) for user in users.iterdir()):
                time.sleep(0.2)
            with _locked(folder):
                address.unlink()
            stop(own)
            shutil.rmtree(folder / "neo4j", ignore_errors=True)


def _alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
