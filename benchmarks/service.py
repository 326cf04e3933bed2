"""The service under load on this machine, beside the same door with nothing behind it and A2's recipe as a service.

    python -m benchmarks.service --entries 1132000 --dir DIR --report FILE

64 clients keep their connections and ask as fast as they are answered, for ten thousand users with tokens of their own: nine
recalls to one observe. The servers, of two processes each, take turns of some seconds, so that a noisy machine hurts all alike.
Who asks runs on the same machine: so besides requests a second there is the CPU time of the server's processes for one request,
which the one who asks has no part in.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from benchmarks.data import Corpus, Query
from benchmarks.report import table
from benchmarks.storage import Bench, copied, fill_some, say
from jiyi.domain.access import Role
from jiyi.settings import IdentityPolicy
from jiyi.shipped import load_segmenter
from jiyi.surfaces.auth.testing import issue, make_key_pair

ENTRIES = 1_132_000
"""So that besides the planted owners there are 10 000, of about a hundred entries each."""
LARGEST_OWNER = 1_000
CLIENTS, PROCESSES = 64, 2
ASKING = 0.9
SLICES, SLICE_SECONDS = 6, 10.0
POLICY = IdentityPolicy(mode="jwt", issuer="https://issuer.example", audience="jiyi")


@dataclass(frozen=True, slots=True)
class Mix:
    """One kind of load: how a request is made, and the share of those that ask."""

    name: str
    server: str
    asking: float
    ask: Callable[[Query, str], bytes]
    tell: Callable[[Query, str, str], bytes] | None = None


@dataclass(slots=True)
class Heard:
    """What came back in all turns of one mix: seconds of each request, those that failed, CPU seconds of the server."""

    asked: list[float] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def rate(self) -> float:
        return (len(self.asked) + len(self.told)) / self.seconds

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu / (len(self.asked) + len(self.told))


def percentile(seconds: Sequence[float], share: float) -> float:
    if not seconds:
        return float("nan")
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


# ------------------------------------------------------------------ requests, as bytes


def _post(path: str, body: dict[str, object], token: str) -> bytes:
    data = json.dumps(body, ensure_ascii=False).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def _recall(path: str) -> Callable[[Query, str], bytes]:
    return lambda query, token: _post(path, {"query": query.text, "limit": 8}, token)


def _observe(path: str) -> Callable[[Query, str, str], bytes]:
    def made(query: Query, token: str, number: str) -> bytes:
        turn = {"role": "user", "text": query.text, "id": number}
        return _post(path, {"session": f"s{number[:8]}", "messages": [turn]}, token)

    return made


def _search_a2(query: Query, _: str) -> bytes:
    where = f"/memory/search?user_id={quote(query.owner)}&q={quote(query.text)}&top_k=8"
    return f"GET {where} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


MIXES = (
    Mix("jiyi, recall and observe", "jiyi", ASKING, _recall("/v1/recall"), _observe("/v1/messages")),
    Mix("jiyi, recall; bare insert", "bare", ASKING, _recall("/v1/recall"), _observe("/v1/insert")),
    Mix("fixed answer and bare insert", "bare", ASKING, _recall("/v1/fixed"), _observe("/v1/insert")),
    Mix("jiyi, recall", "jiyi", 1.0, _recall("/v1/recall")),
    Mix("fixed answer", "bare", 1.0, _recall("/v1/fixed")),
    Mix("A2, search", "a2", 1.0, _search_a2),
)


async def _client(
    port: int, mix: Mix, questions: Sequence[Query], tokens: dict[str, str], end: float, heard: Heard, seed: str
) -> None:
    rng = random.Random(seed)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = 0
    while (began := time.perf_counter()) < end:
        query = rng.choice(questions)
        asks = mix.tell is None or rng.random() < mix.asking
        if mix.tell is None or asks:
            writer.write(mix.ask(query, tokens[query.owner]))
        else:
            number += 1
            writer.write(mix.tell(query, tokens[query.owner], f"{seed}-{number}"))
        status, length = await _head(reader)
        await reader.readexactly(length)
        if status == 200:
            (heard.asked if asks else heard.told).append(time.perf_counter() - began)
        else:
            heard.failed.append(f"{mix.name}: {status}")
    writer.close()


async def _head(reader: asyncio.StreamReader) -> tuple[int, int]:
    """Status and length of the answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return status, int(length.split(b":")[1])


async def _load(
    port: int, mix: Mix, questions: Sequence[Query], tokens: dict[str, str], seconds: float, heard: Heard, turn: str
) -> None:
    began = time.perf_counter()
    clients = [
        _client(port, mix, questions, tokens, began + seconds, heard, f"{turn}-{mix.name[:1]}-{n}")
        for n in range(CLIENTS)
    ]
    await asyncio.gather(*clients)
    heard.seconds += time.perf_counter() - began


# ------------------------------------------------------------------ servers


@dataclass(frozen=True, slots=True)
class Server:
    process: subprocess.Popen[bytes]
    port: int

    def cpu(self) -> float:
        """CPU seconds of its processes so far."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        ticks = [Path(f"/proc/{one}/stat").read_text("ascii").rsplit(")", 1)[1].split() for one in children]
        return sum(int(stat[11]) + int(stat[12]) for stat in ticks) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(command: Sequence[str], directory: Path, environment: dict[str, str], name: str) -> Iterator[Server]:
    log = directory / f"{name}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen([sys.executable, "-m", *command], stderr=stream, env=environment, cwd=directory)
    try:
        while (line := next((one for one in log.read_text("utf-8").splitlines() if "running on" in one), None)) is None:
            if process.poll() is not None:
                raise RuntimeError(f"{name} does not start: {log.read_text('utf-8')[-2000:]}")
            time.sleep(0.05)
        yield Server(process, int(json.loads(line)["event"].rsplit(":", 1)[1]))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def measure(bench: Bench, seconds: float, slices: int) -> dict[str, Heard]:
    directory = bench.directory
    key = directory / "issuer.pem"
    key.unlink(missing_ok=True)
    make_key_pair(key)
    store = copied(bench, "postings", "served")
    questions = _questions(bench.corpus)
    now, hour = datetime.now(UTC), 3600.0
    owners = sorted({query.owner for query in questions})
    say(f"{len(questions):,} questions of {len(owners):,} users")
    tokens = {owner: issue(key, POLICY, owner, "default", [Role.USER], now, 6 * hour) for owner in owners}
    identity = {"MODE": "jwt", "ISSUER": POLICY.issuer, "AUDIENCE": POLICY.audience, "KEY_FILE": f"{key}.pub"}
    rules = {f"JIYI_IDENTITY__{name}": value for name, value in identity.items()}
    rules |= {"JIYI_SERVICE__REQUESTS_A_MINUTE": "0", "JIYI_SERVICE__TENANT_REQUESTS_A_MINUTE": "0"}
    rules |= {"JIYI_SERVICE__PROCESSES": str(PROCESSES), "PYTHONPATH": str(Path.cwd())}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JIYI_")} | rules
    recipe = copied(bench, "A2", "served")
    peers = "benchmarks.service_peers"
    heard = {mix.name: Heard() for mix in MIXES}
    with ExitStack() as stack:
        served = {
            "jiyi": ["jiyi", "serve", "--port", "0", "--db", str(store)],
            "bare": [peers, "bare", str(directory / "bare.port"), str(copied(bench, "postings", "bare"))],
            "a2": [peers, "a2", str(directory / "a2.port"), str(recipe)],
        }
        servers = {
            name: stack.enter_context(serving(command, directory, environment, name))
            for name, command in served.items()
        }
        for turn in range(slices):
            for mix in random.Random(turn).sample(MIXES, len(MIXES)):
                say(f"turn {turn + 1} of {slices}: {mix.name}")
                server, began = servers[mix.server], servers[mix.server].cpu()
                asyncio.run(
                    _load(server.port, mix, questions, tokens, seconds, heard[mix.name], f"{turn:04d}{os.getpid():06d}")
                )
                heard[mix.name].cpu += server.cpu() - began
    return heard


def _questions(corpus: Corpus) -> list[Query]:
    """Two of each user whose memory is not larger than usual."""
    rng = random.Random(7)
    owners = [owner for owner, size in corpus.sizes.items() if size <= LARGEST_OWNER and owner.startswith("user-")]
    return [query for owner in owners for query in corpus.queries_of(owner, 2, rng)]


def markdown(heard: dict[str, Heard], bench: Bench) -> str:
    rows = []
    for name, one in heard.items():
        rows.append(
            [
                name, f"{one.rate:,.0f}", f"{one.cpu_ms:.2f}",
                *(f"{percentile(one.asked, share):.1f}" for share in (0.5, 0.95, 0.99)),
                *(f"{percentile(one.told, share):.1f}" if one.told else "" for share in (0.5, 0.95, 0.99)),
                str(len(one.failed)),
            ]
        )  # fmt: skip
    head = ["load", "requests/s", "server CPU ms", *(f"{v} {p} ms" for v in ("ask", "tell") for p in ("p50", "p95", "p99")), "failed"]  # fmt: skip
    ours, door, a2 = heard["jiyi, recall"], heard["fixed answer"], heard["A2, search"]
    mixed = heard["jiyi, recall and observe"]
    slower, alone = (
        percentile(mixed.told, 0.95) / percentile(heard[beside].told, 0.95)
        for beside in ("jiyi, recall; bare insert", "fixed answer and bare insert")
    )
    ratios = [
        ["recall against the fixed answer, requests/s", "≥ 0.6", f"{ours.rate / door.rate:.2f}", f"{door.cpu_ms / ours.cpu_ms:.2f}"],
        ["recall against A2's search, requests/s", "≥ 20", f"{ours.rate / a2.rate:.1f}", f"{a2.cpu_ms / ours.cpu_ms:.1f}"],
        ["observe against a bare insert beside the same recalls, p95", "≤ 3", f"{slower:.2f}", ""],
        ["observe against a bare insert beside fixed answers, p95", "", f"{alone:.2f}", ""],
    ]  # fmt: skip
    said = f"{bench.corpus.entries:,} entries; {CLIENTS} clients; {PROCESSES} processes a server; {mixed.seconds:.0f} s each"
    return "\n\n".join(
        [said, table(head, rows), table(["ratio", "wanted", "measured", "by CPU of the server"], ratios)]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=SLICE_SECONDS, help="of a turn")
    parser.add_argument("--slices", type=int, default=SLICES, help="turns of each load")
    chosen = parser.parse_args(arguments)
    directory = chosen.dir.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    bench = Bench(Corpus(chosen.entries), directory, load_segmenter())
    fill_some(bench, ["A2"], ["postings"])
    heard = measure(bench, chosen.seconds, chosen.slices)
    chosen.report.write_text(markdown(heard, bench) + "\n", "utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps({name: [h.asked, h.told, h.failed] for name, h in heard.items()}), "utf-8")
    failed = [said for one in heard.values() for said in one.failed]
    if failed:
        print(f"{len(failed)} failed: {sorted(set(failed))}", file=sys.stderr)


if __name__ == "__main__":
    main()
