"""`jiyi serve` and `jiyi work --stay` as processes: stopped, killed, started again (SPEC O5)."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count as numbers
from pathlib import Path

import httpx2
import pytest

from jiyi import open_memory
from jiyi.errors import SettingsError
from jiyi.settings import IdentityPolicy
from jiyi.surfaces.http.server import address_of, listening
from tests.conftest import count
from tests.surfaces.cli import Cli
from tests.surfaces.issuer import AUDIENCE, ISSUER

QUICK = {"JIYI_JOBS__LEASE": str(1 / 86_400)}
"""A lease of a second, so that nobody waits long for what a killed process had in hand."""
STARTING = 120
"""Seconds that a process may take to start on a busy machine."""


@dataclass
class Process:
    """A `jiyi` that stays, and what it has said."""

    process: subprocess.Popen[bytes]
    file: Path

    @property
    def said(self) -> str:
        return self.file.read_text("utf-8")

    def wait_for(self, words: str) -> str:
        """The first line that holds these words."""
        end = time.monotonic() + STARTING
        while time.monotonic() < end:
            line = next((line for line in self.said.splitlines() if words in line), None)
            if line is not None:
                return line
            assert self.process.poll() is None, self.said
            time.sleep(0.02)
        raise AssertionError(f"not said: {words}")

    @property
    def url(self) -> str:
        event = json.loads(self.wait_for("running on"))["event"]
        return str(event.split(" on ")[1].split()[0])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(60)


@contextmanager
def started(jiyi: Cli, *args: str, **environment: str) -> Iterator[Process]:
    file = jiyi.home / f"said-{len(list(jiyi.home.glob('said-*')))}"
    with file.open("wb") as stream:
        command = [sys.executable, "-m", "jiyi", *args]
        process = subprocess.Popen(command, stderr=stream, cwd=jiyi.home, env=jiyi.environment(**environment))
        try:
            yield Process(process, file)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


@dataclass
class Talker:
    """Sends turns as fast as they are taken, each until it is acknowledged, under one key."""

    name: str
    url: list[str]
    over: threading.Event
    acknowledged: list[str] = field(default_factory=list)
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(trust_env=False, verify=False, timeout=10))

    def run(self) -> None:
        with self.client:
            self._talk()

    def _talk(self) -> None:
        for number in numbers():
            said = f"{self.name}-{number}"
            while not self._send(said):
                if self.over.wait(0.02):
                    return
            self.acknowledged.append(said)
            if self.over.is_set():
                return

    def _send(self, said: str) -> bool:
        turn = {"role": "user", "text": f"I like tea{said.replace('-', 'x')}."}
        body = {"session": said, "messages": [turn]}
        headers = {"Idempotency-Key": said, "X-Jiyi-User": self.name}
        try:
            answer = self.client.post(f"{self.url[0]}/v1/messages", json=body, headers=headers)
        except httpx2.TransportError:
            return False
        assert answer.status_code in (200, 503), answer.text
        return answer.status_code == 200


@pytest.mark.full
@pytest.mark.kills
def test_killed_at_any_moment_nothing_acknowledged_is_lost_and_nothing_is_done_twice(jiyi: Cli) -> None:
    chance, url, over = random.Random(4), [""], threading.Event()
    rules = {"JIYI_SERVICE__REQUESTS_A_MINUTE": "0", **QUICK}
    talkers = [Talker(f"u{n}", url, over) for n in range(3)]
    threads = [threading.Thread(target=talker.run) for talker in talkers]
    with started(jiyi, "serve", "--port", "0", **rules) as server:
        url[0] = server.url
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        server.stop(signal.SIGKILL)
    for _ in range(count("server_kills") - 1):
        with started(jiyi, "serve", "--port", "0", **rules) as server:
            url[0] = server.url
            time.sleep(chance.uniform(0.05, 1.0))
            server.stop(signal.SIGKILL)
    with started(jiyi, "serve", "--port", "0", **rules) as server:
        url[0] = server.url
        time.sleep(0.5)
        over.set()
        for thread in threads:
            thread.join(60)
        assert server.stop() == 0
    with open_memory(jiyi.database, worker=False) as memory:
        while memory.lag().waiting or memory.lag().running:  # what was in hand when it was killed is due again
            memory.work()
            time.sleep(0.05)
        assert memory.lag().dead == 0
        for talker in talkers:
            me = memory.scope(talker.name)
            stored = Counter(m.session for m in me.history(limit=100_000).messages)
            assert set(talker.acknowledged) <= set(stored)
            assert set(stored.values()) == {1}
            assert talker.acknowledged
            learnt = Counter(e.message for m in me.memories(status=None) for e in m.evidence)
            assert learnt == dict.fromkeys(range(1, len(stored) + 1), 1)
            assert len(me.ledger()) == len(stored)


def test_stopped_it_answers_what_it_has_taken_and_loses_nothing(jiyi: Cli) -> None:
    url, over = [""], threading.Event()
    talkers = [Talker(f"u{n}", url, over) for n in range(3)]
    threads = [threading.Thread(target=talker.run) for talker in talkers]
    with started(jiyi, "serve", "--port", "0", JIYI_SERVICE__REQUESTS_A_MINUTE="0") as server:
        url[0] = server.url
        with httpx2.Client(trust_env=False, verify=False) as client:
            assert client.post(f"{server.url}/v1/recall", json={"query": "peanuts"}).status_code == 200
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        assert server.stop() == 0
        over.set()
        for thread in threads:
            thread.join(60)
        assert "peanuts" not in server.said
        assert "tea" not in server.said
    with open_memory(jiyi.database, worker=False) as memory:
        assert [t.query for t in memory.scope("me").traces()] == ["peanuts"]  # written when it stopped
        for talker in talkers:
            stored = Counter(m.session for m in memory.scope(talker.name).history(limit=100_000).messages)
            assert set(talker.acknowledged) <= set(stored)
            assert set(stored.values()) <= {1}


def test_a_worker_beside_the_service_learns_and_is_replaced(jiyi: Cli) -> None:
    with started(jiyi, "serve", "--port", "0", "--no-worker") as server, ExitStack() as stack:
        client = stack.enter_context(httpx2.Client(base_url=f"{server.url}/v1", trust_env=False, verify=False))

        def learn(text: str) -> None:
            body = {"session": "s1", "messages": [{"role": "user", "text": text}]}
            assert client.post("/messages", json=body).status_code == 200
            end = time.monotonic() + STARTING
            while client.get("/lag").json()["waiting"]:
                assert time.monotonic() < end
                time.sleep(0.05)

        with started(jiyi, "work", "--stay", **QUICK) as worker:
            learn("I live in Leeds.")
            worker.stop(signal.SIGKILL)
        with started(jiyi, "work", "--stay", **QUICK) as worker:
            learn("My cat is called Toffee.")
            assert worker.stop(signal.SIGINT) == 0
        found = client.post("/recall", json={"query": "Where do I live?"}).json()
        assert "Leeds" in found["items"][0]["text"]
        plans = client.get("/ledger").json()["plans"]
        assert Counter(p["reason"] for p in plans).most_common(1)[0][1] == 1
        assert server.stop(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [(("work", "--stay"), "Ctrl-C ends it"), (("serve", "--port", "0", "--no-worker"), "running on")],
    ids=["work", "serve"],
)
def test_told_again_and_again_it_ends_as_if_told_once(jiyi: Cli, args: tuple[str, ...], says: str) -> None:
    with started(jiyi, *args) as process:
        process.wait_for(says)
        while process.process.poll() is None:
            process.process.send_signal(signal.SIGINT)
            process.process.send_signal(signal.SIGTERM)
            time.sleep(0.0005)
        assert process.process.returncode == 0, process.said


def test_tokens_of_one_s_own_issuer_open_the_service(jiyi: Cli) -> None:
    trusted = {"JIYI_IDENTITY__ISSUER": ISSUER, "JIYI_IDENTITY__AUDIENCE": AUDIENCE}
    key = str(jiyi.home / "issuer.pem")
    made = jiyi.json("token", "--key", key, "--user", "李明", "--tenant", "acme", **trusted)
    assert made["user"] == "李明"
    assert Path(key).stat().st_mode & 0o077 == 0
    short = jiyi.json("token", "--key", key, "--minutes", "5", "--role", "auditor", **trusted)["token"]
    service = jiyi.json("key", "add", "desk", "--tenant", "acme")
    assert [k["id"] for k in jiyi.json("key", "list")["keys"]] == [service["id"]]
    served = {"JIYI_IDENTITY__MODE": "jwt", "JIYI_IDENTITY__KEY_FILE": f"{key}.pub", **trusted}
    with started(jiyi, "serve", "--port", "0", **served) as server, httpx2.Client(
        base_url=server.url, trust_env=False, verify=False
    ) as client:  # fmt: skip

        def whoami(token: str, **headers: str) -> httpx2.Response:
            return client.get("/v1/whoami", headers={"Authorization": f"Bearer {token}", **headers})

        assert whoami(made["token"]).json() == {
            "proof": "token", "who": "user", "tenant": "acme", "user": "李明", "roles": ["user"],
            "rights": ["audit", "decide", "read", "write"], "shared": {},
        }  # fmt: skip
        assert whoami(short).status_code == 403
        assert whoami(service["key"], **{"X-Jiyi-User": "nora"}).json()["user"] == "nora"
        jiyi("key", "revoke", service["id"])
        assert whoami(service["key"], **{"X-Jiyi-User": "nora"}).status_code == 401
        assert client.get("/v1/whoami").status_code == 401
        assert server.stop() == 0


def test_what_cannot_be_served_is_said_and_not_served(jiyi: Cli) -> None:
    for args, environment, words in (
        (("serve", "--host", "0.0.0.0"), {}, "this machine only"),
        (("serve", "--port", "0"), {"JIYI_IDENTITY__MODE": "jwt"}, "identity."),
        (("token", "--key", str(jiyi.home / "k.pem")), {}, "identity.issuer"),
        (("key", "add", " "), {}, "name"),
        (("key", "revoke", "nothing"), {}, "key list"),
    ):
        failed = jiyi(*args, code=3 if "revoke" in args else 1, **environment)
        assert words in failed.stderr, failed.stderr
    assert not (jiyi.home / "k.pem").exists()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for args in (("serve",), ("mcp", "--http")):
            failed = jiyi(*args, "--port", port, code=1)
            assert "--port" in failed.stderr
            assert "serving" not in failed.stderr
    assert "address" in jiyi("serve", "--host", "192.0.2.1", code=1, JIYI_IDENTITY__MODE="jwt").stderr


def test_a_public_key_signs_no_token(jiyi: Cli) -> None:
    trusted = {"JIYI_IDENTITY__ISSUER": "https://issuer.example", "JIYI_IDENTITY__AUDIENCE": "jiyi"}
    key = str(jiyi.home / "k.pem")
    jiyi("token", "--key", key, **trusted)
    assert "private key" in jiyi("token", "--key", f"{key}.pub", code=1, **trusted).stderr


def test_of_two_that_start_at_one_moment_the_second_is_told() -> None:
    with listening(IdentityPolicy(), "127.0.0.1", 0) as sockets:
        port = sockets[0].getsockname()[1]
        # Before the first has opened its memory and serves.
        with (
            pytest.raises(SettingsError, match="running there already"),
            listening(IdentityPolicy(), "127.0.0.1", port),
        ):
            pass


def test_where_it_listens_is_said_as_an_address() -> None:
    with listening(IdentityPolicy(), "127.0.0.1", 0) as sockets:
        assert address_of("127.0.0.1", sockets) == f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        assert address_of("::1", sockets).startswith("http://[::1]:")
