"""What the proxy adds to a streamed answer: the wait for its first piece, and the time until its last (SPEC U2).

    python -m benchmarks.streaming --dir DIR --report FILE

A stand-in model, a process of its own, answers at once or thinks as long as a fast model does, then sends a thousand pieces. The
same question goes straight to it and through `jiyi serve`, which recalls, injects and records; the two take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import table
from benchmarks.service import percentile, serving
from jiyi.assembly import open_memory

PIECES = 1_000
PIECE = b'data: {"choices": [{"index": 0, "delta": {"content": "."}}]}\n\n'
"""Without words: what is recorded of the answers shall not make the next question dearer."""
THINKING = (0.0, 0.3)
"""Seconds before the first piece; 0.3 is soon for a real model."""
MEMORIES, ROUNDS = 200, 60
THINGS = ("tea", "coffee", "cycling", "chess", "jazz", "hiking", "pottery", "sailing", "drawing", "running")
QUESTION = "Which of the things that I like have to do with jazz?"


async def stand_in(port_file: Path) -> None:
    """A model that says nothing, piece by piece; how long it thinks is the name it is called by."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            length = next(int(h.split(b":")[1]) for h in head.lower().split(b"\r\n") if h.startswith(b"content-length"))
            asked = json.loads(await reader.readexactly(length))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            await asyncio.sleep(float(asked["model"]))
            for event in (*[PIECE] * PIECES, b"data: [DONE]\n\n"):
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port_file.write_text(str(server.sockets[0].getsockname()[1]), "ascii")
    await server.serve_forever()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


@contextmanager
def standing_in(directory: Path) -> Iterator[int]:
    port_file = directory / "stand-in.port"
    port_file.unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.streaming", "--stand-in", str(port_file)])
    try:
        while not (port_file.exists() and port_file.read_text("ascii")):
            if process.poll() is not None:
                raise RuntimeError("the stand-in model does not start")
            time.sleep(0.02)
        yield int(port_file.read_text("ascii"))
    finally:
        process.terminate()
        process.wait(20)


@dataclass(slots=True)
class Heard:
    """Seconds until the first piece, and until the last, of each answer."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)


def ask(connection: http.client.HTTPConnection, thinking: float, heard: Heard) -> bytes:
    body = {"model": str(thinking), "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    came = answer.read1(1)
    heard.first.append(time.perf_counter() - began)
    came += answer.read()
    heard.last.append(time.perf_counter() - began)
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {came[:200]!r}")
    return came


def measure(directory: Path, rounds: int) -> dict[tuple[str, float], Heard]:
    store = directory / "streaming.db"
    for left in directory.glob("streaming.db*"):
        left.unlink()
    with open_memory(store) as memory:
        for n in range(MEMORIES):
            memory.scope("me").remember(f"Number {n}: I like {THINGS[n % len(THINGS)]} and {THINGS[n // 20]}.")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JIYI_")}
    environment |= {"PYTHONPATH": str(Path.cwd()), "JIYI_SERVICE__REQUESTS_A_MINUTE": "0"}
    heard = {(name, thinking): Heard() for thinking in THINKING for name in ("straight", "through jiyi")}
    with standing_in(directory) as port:
        command = ["jiyi", "serve", "--port", "0", "--db", str(store), "--upstream", f"http://127.0.0.1:{port}/v1"]
        with serving(command, directory, environment, "streaming") as server:
            doors = {"straight": port, "through jiyi": server.port}
            connections = {name: http.client.HTTPConnection("127.0.0.1", at, timeout=60) for name, at in doors.items()}
            for turn in range(-3, rounds):
                for thinking in THINKING:
                    names = list(connections) if turn % 2 else list(reversed(connections))
                    kept = {name: heard[name, thinking] if turn >= 0 else Heard() for name in names}
                    came = {name: ask(connections[name], thinking, kept[name]) for name in names}
                    if came["straight"] != came["through jiyi"]:
                        raise RuntimeError("the bytes that came through are not those that were sent")
    return heard


def markdown(heard: dict[tuple[str, float], Heard], rounds: int) -> str:
    rows = []
    for thinking in THINKING:
        straight, through = heard["straight", thinking], heard["through jiyi", thinking]
        for what, one, other in (
            ("first piece", straight.first, through.first),
            (f"all {PIECES:,} pieces", straight.last, through.last),
        ):
            at = [percentile(some, share) for some in (one, other) for share in (0.5, 0.95)]
            rows.append([f"{1000 * thinking:.0f} ms", what, *(f"{ms:.2f}" for ms in at), f"{at[2] / at[0]:.2f}"])
    said = f"{rounds} answers each, {MEMORIES} memories; the bytes that came through are those that were sent"
    head = ["model thinks", "until", "straight p50 ms", "p95", "through jiyi p50 ms", "p95", "ratio of p50"]
    return f"{said}\n\n{table(head, rows)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--stand-in", type=Path, metavar="PORT_FILE", help="be the model, and nothing else")
    chosen = parser.parse_args(arguments)
    if chosen.stand_in:
        asyncio.run(stand_in(chosen.stand_in))
        return
    if chosen.dir is None or chosen.report is None:
        parser.error("give --dir and --report")
    directory = chosen.dir.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    heard = measure(directory, chosen.rounds)
    chosen.report.write_text(markdown(heard, chosen.rounds) + "\n", "utf-8")
    if chosen.json:
        said = {f"{name}, thinks {thinking}": [h.first, h.last] for (name, thinking), h in heard.items()}
        chosen.json.write_text(json.dumps(said), "utf-8")


if __name__ == "__main__":
    main()
